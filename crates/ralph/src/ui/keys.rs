//! Keys as they are pressed, from a terminal that gives whole lines otherwise.

use std::io::{IsTerminal, stdin};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// What arrived.
pub enum Input {
    /// Nothing, in the time given.
    Nothing,
    /// The end.
    Ended,
    /// Something.
    Bytes(Vec<u8>),
}

/// Whether keys are shown as they are pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// They are.
    On,
    /// They are not.
    Off,
}

/// Whether this process may read the terminal: in the background that would stop it for ever.
pub fn is_foreground() -> bool {
    stdin().is_terminal()
        && tcgetpgrp(stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Waits for input, but no longer than this.
pub fn read_some(nap: Duration) -> Input {
    let input = stdin();
    let mut fds = [PollFd::new(&input, PollFlags::IN)];
    let nap = Timespec {
        tv_sec: i64::try_from(nap.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(nap.subsec_nanos()),
    };
    match poll(&mut fds, Some(&nap)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Input::Nothing,
        Err(_) => return Input::Ended,
        Ok(_) => {}
    }
    let mut buffer = [0_u8; 256];
    match rustix::io::read(&input, &mut buffer) {
        Ok(0) => Input::Ended,
        Ok(length) => Input::Bytes(buffer.get(..length).unwrap_or_default().to_vec()),
        Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Input::Nothing,
        Err(_) => Input::Ended,
    }
}

/// The terminal gives every key at once until this is dropped; signals work as ever.
pub struct SingleKeys {
    before: Option<Termios>,
}

impl SingleKeys {
    /// From now on.
    pub fn set(echo: Echo) -> Self {
        let before = tcgetattr(stdin()).ok();
        if let Some(before) = &before {
            let mut keys = before.clone();
            keys.local_modes.remove(LocalModes::ICANON);
            if echo == Echo::Off {
                keys.local_modes.remove(LocalModes::ECHO);
            }
            // Flush: what was typed before is not meant for us.
            let _ = tcsetattr(stdin(), OptionalActions::Flush, &keys);
        }
        Self { before }
    }
}

impl Drop for SingleKeys {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // Flush: the rest of a line whose letter was heard is no command for anybody.
            let _ = tcsetattr(stdin(), OptionalActions::Flush, before);
        }
    }
}
