//! The terminal bell.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use super::sender::{Cutoff, Delivery, Parcel, Sender};

/// The one byte that rings.
const BELL: &[u8] = b"\x07";

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
            return Ok(Delivery::Nowhere("no terminal"));
        };
        rung.map(|()| Delivery::Sent)
            .map_err(|error| error.to_string())
    }
}

fn ring(terminal: &mut dyn Write) -> io::Result<()> {
    terminal.write_all(BELL)?;
    terminal.flush()
}
