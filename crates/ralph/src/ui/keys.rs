//! Keys as they are pressed, from a terminal that gives whole lines otherwise.

use std::io::{IsTerminal, stdin};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

pub enum Input {
    Nothing,
    Ended,
    Bytes(Vec<u8>),
}

/// Whether keys are shown as they are pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    On,
    Off,
}

/// Whether this process may read the terminal: in the background that would stop it for ever.
pub fn is_foreground() -> bool {
    stdin().is_terminal() && tcgetpgrp(stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Waits for input, but no longer than this.
pub fn read_some(nap: Duration) -> Input {
    let input = stdin();
    let mut fds = [PollFd::new(&input, PollFlags::IN)];
    match poll(&mut fds, Timespec::try_from(nap).ok().as_ref()) {
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

/// How the terminal was before a mode was set. Static, for an end of the process that drops nothing.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Puts the terminal back as it was, where a mode is in force.
pub fn restore_terminal() {
    restore(OptionalActions::Now);
}

fn restore(action: OptionalActions) {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before.filter(|_| is_foreground()) {
        let _ = tcsetattr(stdin(), action, &before);
    }
}

/// A mode of the terminal that lasts until this is dropped; signals work as ever. There is one at a time.
pub struct TerminalMode {
    action: OptionalActions,
}

impl TerminalMode {
    /// Every key arrives as it is pressed.
    pub fn single_keys(echo: Echo) -> Self {
        // Flush: what was typed before is not meant for us, and the rest of a line whose letter was read is no command
        // for the shell.
        Self::set(OptionalActions::Flush, |modes| {
            modes.remove(LocalModes::ICANON);
            modes.set(LocalModes::ECHO, echo == Echo::On);
        })
    }

    /// Keys are not shown: an echoed `^C` would move the cursor away from the live lines.
    pub fn no_echo() -> Self {
        Self::set(OptionalActions::Now, |modes| modes.remove(LocalModes::ECHO))
    }

    fn set(action: OptionalActions, change: impl FnOnce(&mut LocalModes)) -> Self {
        // In the background this would stop the process.
        if is_foreground()
            && let Ok(before) = tcgetattr(stdin())
        {
            let mut modes = before.clone();
            change(&mut modes.local_modes);
            *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
            let _ = tcsetattr(stdin(), action, &modes);
        }
        Self { action }
    }
}

impl Drop for TerminalMode {
    fn drop(&mut self) {
        restore(self.action);
    }
}
