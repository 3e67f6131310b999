//! Ralph's guard: a small process that starts a run's agents and gates. It adopts whatever they leave behind, so that
//! nothing of theirs can get out from below it, and ends all of it when Ralph dies, be it by kill -9.
//!
//! The guard runs as the same user as the agents, so an agent can kill or stop it. Ralph notices: what was below a guard
//! that is gone becomes Ralph's own, and a stopped guard is continued.

use std::ffi::OsString;
use std::io::{self, ErrorKind, PipeWriter, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

use super::child::{ChildStreams, ExemptChild, Exemption, State, Supervised, end_notice};
use super::guard_protocol::{self, DISMISS, RELEASE, REPORT, Report};
use super::{Exit, Launch};
use crate::host::process_state;

const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// A guard that answers nothing for so long is given up: somebody keeps it from running.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// How long it may take to end when it is dismissed.
const DISMISS_TIMEOUT: Duration = Duration::from_secs(5);

/// Why the guard started nothing that Ralph knows of.
#[derive(Debug)]
pub(super) enum LaunchError {
    NotStarted(io::Error),
    /// The guard is gone, or does not answer. The process may have run for a moment.
    GuardLost,
}

impl From<io::Error> for LaunchError {
    fn from(error: io::Error) -> Self {
        Self::NotStarted(error)
    }
}

#[derive(Debug)]
pub struct Guard {
    process: ExemptChild,
    channel: UnixStream,
    /// The beginning of a report that has not arrived completely.
    partial: Vec<u8>,
    looked: Instant,
    was_stopped: bool,
    is_lost: bool,
}

impl Guard {
    /// Starts one: `command` and the mark of this process, which must lead to [`super::stand_guard`].
    pub fn start(command: &[OsString], holder: &str) -> io::Result<Self> {
        let (program, args) = command.split_first().ok_or(ErrorKind::InvalidInput)?;
        let (channel, its_end) = UnixStream::pair()?;
        channel.set_nonblocking(true)?;
        let mut command = Command::new(program);
        command
            .args(args)
            .arg(holder)
            .stdin(Stdio::from(OwnedFd::from(its_end)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C is Ralph's to deal with.
            .process_group(0);
        let process = ExemptChild::start(&mut command, Exemption::Alone)?;
        Ok(Self {
            process,
            channel,
            partial: Vec::new(),
            looked: Instant::now(),
            was_stopped: false,
            is_lost: false,
        })
    }

    /// Whether it is gone. Then it can do nothing more.
    pub fn is_lost(&mut self) -> bool {
        if !matches!(self.process.child().try_wait(), Ok(None)) {
            self.is_lost = true;
        }
        self.is_lost
    }

    /// Whether it was found stopped, and continued, since the last question.
    pub fn was_stopped(&mut self) -> bool {
        std::mem::take(&mut self.was_stopped)
    }

    pub fn dismiss(mut self) {
        let _ = guard_protocol::send_order(&self.channel, DISMISS);
        let _ = self.channel.shutdown(std::net::Shutdown::Both);
        let asked = Instant::now();
        while matches!(self.process.child().try_wait(), Ok(None)) {
            self.looked = asked;
            self.continue_if_stopped();
            if asked.elapsed() >= DISMISS_TIMEOUT {
                let _ = self.process.child().kill();
                let _ = self.process.child().wait();
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Has it start a process, in a group of its own.
    pub(super) fn launch(&mut self, launch: &Launch) -> Result<Guarded<'_>, LaunchError> {
        let (stdin, its_stdin) = stdin_pipe(launch)?;
        let (out, its_out) = io::pipe()?;
        let (err, its_err) = io::pipe()?;
        let streams = [its_stdin.as_fd(), its_out.as_fd(), its_err.as_fd()];
        let file = guard_protocol::launch_file(launch)?;
        // Only what says that nobody is there means that: limits of descriptors or memory are Ralph's own.
        let gone = [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset];
        match guard_protocol::send_launch(&self.channel, &file, streams) {
            Err(error) if gone.contains(&error.kind()) => return Err(self.give_up()),
            sent => sent?,
        }
        drop((its_stdin, its_out, its_err));
        let pid = match self.wait_for_report()? {
            Report::Started(pid) => Pid::from_raw(pid),
            Report::NotStarted(errno) => return Err(io::Error::from_raw_os_error(errno).into()),
            Report::Ended(_) => None,
        };
        let Some(pid) = pid else { return Err(self.give_up()) };
        Ok(Guarded {
            streams: ChildStreams {
                stdin: stdin.map(OwnedFd::from),
                out: Some(out.into()),
                err: Some(err.into()),
            },
            notice: end_notice(pid),
            guard: self,
            pid,
            exit: None,
            silent_since: None,
        })
    }

    fn wait_for_report(&mut self) -> Result<Report, LaunchError> {
        let asked = Instant::now();
        loop {
            match self.next_report() {
                Err(()) => return Err(self.give_up()),
                Ok(Some(report)) => return Ok(report),
                Ok(None) if asked.elapsed() >= ANSWER_TIMEOUT => return Err(self.give_up()),
                Ok(None) => {}
            }
            self.continue_if_stopped();
            wait_for(&self.channel, CHECK_INTERVAL);
        }
    }

    /// The next report, if one has arrived; an error when the guard is gone.
    fn next_report(&mut self) -> Result<Option<Report>, ()> {
        let mut bytes = [0; REPORT];
        let missing = REPORT.saturating_sub(self.partial.len());
        let read = bytes.get_mut(..missing).map_or(Ok(0), |part| self.channel.read(part));
        match read {
            Ok(0) => Err(()),
            Ok(n) => {
                self.partial.extend(bytes.get(..n).unwrap_or_default());
                let Ok(whole) = <[u8; REPORT]>::try_from(self.partial.as_slice()) else { return Ok(None) };
                self.partial.clear();
                Report::decode(whole).map(Some).ok_or(())
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
            Err(_) => Err(()),
        }
    }

    fn continue_if_stopped(&mut self) {
        if self.looked.elapsed() < CHECK_INTERVAL {
            return;
        }
        self.looked = Instant::now();
        let pid = self.process.child().id();
        if process_state(pid).as_deref() == Some("T") {
            self.was_stopped = true;
            let _ = kill_process(Pid::from_child(self.process.child()), Signal::CONT);
        }
    }

    /// Ends a guard that is of no use any more, if it still lives. What is below it becomes Ralph's own.
    fn give_up(&mut self) -> LaunchError {
        let _ = self.process.child().kill();
        let _ = self.process.child().wait();
        self.is_lost = true;
        LaunchError::GuardLost
    }
}

pub(super) struct Guarded<'g> {
    guard: &'g mut Guard,
    pid: Pid,
    streams: ChildStreams,
    /// Tells of the process's end without the guard.
    notice: Option<OwnedFd>,
    exit: Option<Exit>,
    /// When the process was first seen to have ended without the guard saying so.
    silent_since: Option<Instant>,
}

impl Supervised for Guarded<'_> {
    fn pid(&self) -> Pid {
        self.pid
    }

    fn take_streams(&mut self) -> ChildStreams {
        std::mem::take(&mut self.streams)
    }

    fn end_notice(&self) -> Option<OwnedFd> {
        // Readable when a report arrives, and when the guard is gone.
        self.guard.channel.as_fd().try_clone_to_owned().ok()
    }

    fn state(&mut self) -> State {
        if self.guard.is_lost {
            return State::GuardLost;
        }
        self.guard.continue_if_stopped();
        match self.guard.next_report() {
            Ok(Some(Report::Ended(exit))) => {
                self.exit = Some(exit);
                return State::Ended;
            }
            Ok(Some(Report::Started(_) | Report::NotStarted(_)) | None) => {}
            Err(()) => {
                self.guard.give_up();
                return State::GuardLost;
            }
        }
        let ended = self.notice.as_ref();
        if ended.is_some_and(|notice| wait_for(notice, Duration::ZERO)) {
            let since = *self.silent_since.get_or_insert_with(Instant::now);
            if since.elapsed() >= ANSWER_TIMEOUT {
                self.guard.give_up();
                return State::GuardLost;
            }
        }
        State::Running
    }

    fn reap(&mut self) -> Exit {
        let _ = guard_protocol::send_order(&self.guard.channel, RELEASE);
        // Without a guard nobody knows.
        self.exit.unwrap_or(Exit::Code(-1))
    }
}

/// Waits until something can be read, for so long at most; `true` if it can.
fn wait_for(source: impl AsFd, most: Duration) -> bool {
    let mut fds = [PollFd::new(&source, PollFlags::IN)];
    let timeout = Timespec { tv_sec: 0, tv_nsec: most.subsec_nanos().into() };
    poll(&mut fds, Some(&timeout)).is_ok_and(|ready| ready > 0)
}

/// A pipe for the prompt; without one the other end is closed at once, and a child reads nothing.
fn stdin_pipe(launch: &Launch) -> io::Result<(Option<PipeWriter>, OwnedFd)> {
    let (its, own) = io::pipe()?;
    Ok(((!launch.stdin.is_empty()).then_some(own), its.into()))
}
