//! Children that are meant to stay: no sweep after an attempt ends them or takes note of their end.

use std::io;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::Pid;

/// Which processes a sweep leaves alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spared {
    /// The child and everything below it.
    WithDescendants,
    /// The child alone: what is below it belongs to attempts. That is the guard.
    Alone,
}

static SPARED: Mutex<Vec<(Pid, Spared)>> = Mutex::new(Vec::new());

/// While this is held, no spared child is started or forgotten.
pub(super) fn spared() -> MutexGuard<'static, Vec<(Pid, Spared)>> {
    SPARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A child of another thread, or one that outlives attempts. Its keeper waits for it; when this is dropped it is a
/// left-over like any other.
#[derive(Debug)]
pub(super) struct SparedChild(Child);

impl SparedChild {
    /// Starts one. A sweep that is under way sees it either not at all or as spared.
    pub(super) fn start(command: &mut Command, how: Spared) -> io::Result<Self> {
        let mut spared = spared();
        let child = command.spawn()?;
        spared.push((Pid::from_child(&child), how));
        Ok(Self(child))
    }

    /// The child itself.
    pub(super) fn child(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for SparedChild {
    fn drop(&mut self) {
        let own = Pid::from_child(&self.0);
        spared().retain(|(pid, _)| *pid != own);
    }
}
