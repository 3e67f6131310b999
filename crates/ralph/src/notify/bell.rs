//! The terminal bell.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use rustix::process::getpgrp;
use rustix::termios::{LocalModes, tcgetattr, tcgetpgrp};

use super::sender::{Cutoff, Delivery, Parcel, Sender};

/// The one byte that rings.
const BELL: &[u8] = b"\x07";
/// The terminal that a process belongs to, wherever its output goes.
const OWN_TERMINAL: &str = "/dev/tty";
const NO_TERMINAL: Delivery = Delivery::Nowhere("no terminal");

/// Rings the terminal that Ralph was started from. A bell moves no cursor, so no display is garbled by it.
pub struct Bell;

impl Sender for Bell {
    fn name(&self) -> &'static str {
        "bell"
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn send(&self, _parcel: &Parcel, _cutoff: &Cutoff) -> Result<Delivery, String> {
        let rung = if io::stderr().is_terminal() {
            ring(&mut io::stderr().lock())
        } else if io::stdout().is_terminal() {
            ring(&mut io::stdout().lock())
        } else {
            // A run in the background has left its terminal: there is none to open.
            let Some(mut terminal) = own_terminal() else {
                return Ok(NO_TERMINAL);
            };
            // One that was closed meanwhile is none.
            return Ok(ring(&mut terminal).map_or(NO_TERMINAL, |()| Delivery::Sent));
        };
        rung.map(|()| Delivery::Sent)
            .map_err(|error| error.to_string())
    }
}

/// The terminal of this session, where writing to it does not stop the whole program (`stty tostop`).
fn own_terminal() -> Option<File> {
    let terminal = OpenOptions::new().write(true).open(OWN_TERMINAL).ok()?;
    let modes = tcgetattr(&terminal).ok()?.local_modes;
    let is_in_front = || tcgetpgrp(&terminal).is_ok_and(|group| group == getpgrp());
    let may_ring = !modes.contains(LocalModes::TOSTOP) || is_in_front();
    may_ring.then_some(terminal)
}

fn ring(terminal: &mut dyn Write) -> io::Result<()> {
    terminal.write_all(BELL)?;
    terminal.flush()
}
