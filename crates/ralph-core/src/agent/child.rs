//! A running process as the loop in [`super::process`] sees it, whether Ralph or its guard is the parent.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::Exit;

/// Ralph's ends of a child's standard streams.
pub(crate) struct Ends {
    pub stdin: Option<OwnedFd>,
    pub out: Option<OwnedFd>,
    pub err: Option<OwnedFd>,
}

/// Where a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Running,
    /// It has ended, and its id stays its own until [`Attended::collect`].
    Ended,
    /// The guard that started it is gone. The process may run on, as a child of Ralph.
    GuardLost,
}

/// A process that is attended to until its end.
pub(crate) trait Attended {
    /// Its id, which is that of its group too.
    fn pid(&self) -> Pid;
    /// Takes Ralph's ends of its streams.
    fn take_ends(&mut self) -> Ends;
    /// Something `poll` can wait for that happens when the process ends; where there is none, its state is looked at
    /// regularly.
    fn end_notice(&self) -> Option<OwnedFd>;
    fn state(&mut self) -> State;
    /// Takes note of its end.
    fn collect(&mut self) -> Exit;
}

impl Attended for Child {
    fn pid(&self) -> Pid {
        Pid::from_child(self)
    }

    fn take_ends(&mut self) -> Ends {
        Ends {
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

    fn collect(&mut self) -> Exit {
        // A status nobody kept for us counts as a failure.
        self.wait().map_or(Exit::Code(-1), exit)
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

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Code(-1),
    }
}
