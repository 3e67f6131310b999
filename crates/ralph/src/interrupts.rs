//! INT and TERM: the first asks the run to end in order, the second at once.

use std::thread;

use ralph_core::agent::{Interrupt, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::command_error::CommandError;

/// Listens from now on.
pub fn listen() -> Result<Interrupt, CommandError> {
    let interrupt = Interrupt::default();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|e| CommandError::environment(format_args!("signals cannot be caught: {e}")))?;
    let raised = interrupt.clone();
    thread::spawn(move || {
        for signal in &mut signals {
            // A closed terminal ends a run the way TERM does.
            raised.raise(if signal == SIGINT {
                Signal::Interrupt
            } else {
                Signal::Terminate
            });
        }
    });
    Ok(interrupt)
}
