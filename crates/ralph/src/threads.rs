//! Threads where their number is limited: one that cannot be started is an error or a loss of comfort, never a panic.

use std::io;
use std::thread::{Builder, JoinHandle};

use crate::command_error::CommandError;

/// Starts a thread that the program cannot do without.
pub fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name.to_owned()).spawn(work)
}

/// Whether a thread can be started now. For libraries that start one by themselves and panic where they cannot.
pub fn can_start() -> bool {
    Builder::new().spawn(|| {}).is_ok_and(|thread| thread.join().is_ok())
}

/// A thread that is needed could not be started.
pub fn refused(error: &io::Error) -> CommandError {
    CommandError::environment(format_args!("cannot start a thread: {error}"))
        .hint("the process limit is reached; check `ulimit -u` and the container's limits")
}
