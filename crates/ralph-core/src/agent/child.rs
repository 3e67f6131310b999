//! Running processes as the loop in [`super::process`] sees them, whether Ralph or its guard is the parent, and the children
//! that no sweep touches.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::Exit;

/// Ralph's ends of a child's standard streams.
#[derive(Default)]
pub(crate) struct ChildStreams {
    pub stdin: Option<OwnedFd>,
    pub out: Option<OwnedFd>,
    pub err: Option<OwnedFd>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Running,
    /// It has ended, and its id stays its own until [`Supervised::reap`].
    Ended,
    /// The guard that started it is gone. The process may run on, as a child of Ralph.
    GuardLost,
}

pub(crate) trait Supervised {
    /// Its id, which is that of its group too.
    fn pid(&self) -> Pid;
    fn take_streams(&mut self) -> ChildStreams;
    /// Something `poll` can wait for that happens when the process ends; where there is none, its state is looked at
    /// regularly.
    fn end_notice(&self) -> Option<OwnedFd>;
    fn state(&mut self) -> State;
    /// Takes note of its end.
    fn reap(&mut self) -> Exit;
}

impl Supervised for Child {
    fn pid(&self) -> Pid {
        Pid::from_child(self)
    }

    fn take_streams(&mut self) -> ChildStreams {
        ChildStreams {
            stdin: self.stdin.take().map(OwnedFd::from),
            out: self.stdout.take().map(OwnedFd::from),
            err: self.stderr.take().map(OwnedFd::from),
        }
    }

    fn end_notice(&self) -> Option<OwnedFd> {
        end_notice(self.pid())
    }

    fn state(&mut self) -> State {
        match exit_of(self.pid()) {
            Some(_) => State::Ended,
            None => State::Running,
        }
    }

    fn reap(&mut self) -> Exit {
        let exit = exit_of(self.pid());
        // A status nobody kept for us counts as a failure.
        self.wait().ok().and(exit).unwrap_or(Exit::Code(-1))
    }
}

/// How a child of this process ended, if it has. It is not reaped, so that its id stays its own.
pub(super) fn exit_of(pid: Pid) -> Option<Exit> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    match waitid(WaitId::Pid(pid), look) {
        Ok(None) => None,
        Ok(Some(status)) => Some(match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, Some(signal)) => Exit::Signal(signal),
            (None, None) => Exit::Code(-1),
        }),
        // Gone already: Ralph was started with SIGCHLD ignored, so the kernel reaped it.
        Err(error) => (error == rustix::io::Errno::CHILD).then_some(Exit::Code(-1)),
    }
}

/// Becomes readable when a process ends.
#[cfg(target_os = "linux")]
pub(super) fn end_notice(pid: Pid) -> Option<OwnedFd> {
    use rustix::process::{PidfdFlags, pidfd_open};
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn end_notice(_pid: Pid) -> Option<OwnedFd> {
    None
}

/// Which processes a sweep leaves alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exemption {
    WithDescendants,
    /// The child alone: what is below it belongs to attempts. That is the guard.
    Alone,
}

static EXEMPT: Mutex<Vec<(Pid, Exemption)>> = Mutex::new(Vec::new());

/// While this is held, no exempt child is started or forgotten.
pub(super) fn exempt() -> MutexGuard<'static, Vec<(Pid, Exemption)>> {
    EXEMPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A child of another thread, or one that outlives attempts. Its keeper waits for it; when this is dropped it is a
/// left-over like any other.
#[derive(Debug)]
pub(super) struct ExemptChild(Child);

impl ExemptChild {
    /// Starts one. A sweep that is under way sees it either not at all or as exempt.
    pub(super) fn start(command: &mut Command, how: Exemption) -> io::Result<Self> {
        let mut children = exempt();
        let child = command.spawn()?;
        children.push((Pid::from_child(&child), how));
        Ok(Self(child))
    }

    pub(super) fn child(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for ExemptChild {
    fn drop(&mut self) {
        let own = Pid::from_child(&self.0);
        exempt().retain(|(pid, _)| *pid != own);
    }
}
