//! The guard process: starts what Ralph orders, and ends all of it when Ralph dies.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

use super::child::{end_notice, exit_of};
use super::guard_protocol::{self as protocol, Order, Report};
use super::process::command;
use super::{Interrupt, Launch, sweep};

/// How often orphans that have ended are taken note of while something runs.
const TIDY: Duration = Duration::from_millis(500);

struct Launched {
    child: Child,
    notice: Option<OwnedFd>,
    told: bool,
}

impl Launched {
    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

/// Starts what Ralph orders over `channel` and reports its end. When the channel closes without a dismissal, Ralph has
/// died: everything below this process, and what else that Ralph process started, gets TERM, the grace, KILL. Other workers
/// of the run, and what they started, are left alone.
pub fn stand_guard(holder: &str, channel: impl AsFd, grace: Duration) {
    sweep::adopt_orphans();
    wake_when_ralph_dies();
    let mut launched: Option<Launched> = None;
    loop {
        if wait(&channel, launched.as_ref()) {
            match protocol::receive(&channel) {
                Ok(Some(Order::Dismiss)) => return,
                Ok(Some(Order::Release)) => release(&mut launched),
                Ok(Some(Order::Launch(launch, streams))) => {
                    release(&mut launched);
                    let started = launch.and_then(|launch| start(&launch, holder, streams));
                    let report = match &started {
                        Ok(started) => Report::Started(started.pid().as_raw_nonzero().get()),
                        Err(error) => {
                            let invalid = Errno::INVAL.raw_os_error();
                            Report::NotStarted(error.raw_os_error().unwrap_or(invalid))
                        }
                    };
                    launched = started.ok();
                    // A Ralph that hears nothing any more has died; the channel says so next.
                    let _ = protocol::send_report(&channel, report);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(None) | Err(_) => break,
            }
        }
        if let Some(launched) = &mut launched
            && !launched.told
            && let Some(exit) = exit_of(launched.pid())
        {
            launched.told = true;
            launched.notice = None;
            let _ = protocol::send_report(&channel, Report::Ended(exit));
        }
        sweep::reap(launched.as_ref().map(Launched::pid));
    }
    let group = launched.as_ref().map(Launched::pid);
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::TERM);
    }
    sweep::end_left_overs(grace, &Interrupt::default(), None);
    // Ralph's own children: hooks and commands that carry a notice.
    sweep::end_of_holders(&[holder.to_owned()], grace);
    // Where orphans cannot be adopted, the group is all that is known.
    if let Some(group) = group.filter(|_| cfg!(not(target_os = "linux"))) {
        std::thread::sleep(grace);
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Waits for an order or for the end of what was launched; `true` if the channel has something.
fn wait(channel: &impl AsFd, launched: Option<&Launched>) -> bool {
    let mut fds = vec![PollFd::new(channel, PollFlags::IN)];
    if let Some(notice) = launched.and_then(|launched| launched.notice.as_ref()) {
        fds.push(PollFd::new(notice, PollFlags::IN));
    }
    let regularly = Timespec { tv_sec: 0, tv_nsec: TIDY.subsec_nanos().into() };
    let timeout = launched.is_some().then_some(&regularly);
    poll(&mut fds, timeout).is_ok() && fds.first().is_some_and(|fd| !fd.revents().is_empty())
}

fn start(launch: &Launch, holder: &str, streams: [OwnedFd; 3]) -> io::Result<Launched> {
    let [stdin, stdout, stderr] = streams;
    let child = command(launch)
        .env(sweep::HOLDER, holder)
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr))
        .spawn()?;
    Ok(Launched { notice: end_notice(Pid::from_child(&child)), child, told: false })
}

/// The end was heard of; its id may be somebody else's from now on. One that Ralph does not wait for any longer although
/// it runs is an orphan like any other.
fn release(launched: &mut Option<Launched>) {
    if let Some(mut launched) = launched.take() {
        let _ = launched.child.try_wait();
    }
}

/// An agent may have stopped this process before it killed Ralph.
#[cfg(target_os = "linux")]
fn wake_when_ralph_dies() {
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::CONT));
}

#[cfg(not(target_os = "linux"))]
fn wake_when_ralph_dies() {}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn sleeper() -> Launch {
        Launch {
            program: "sleep".into(),
            args: vec!["600".into()],
            env: Vec::new(),
            cwd: "/".into(),
            stdin: String::new(),
            confined: None,
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_told_with_the_systems_reason() {
        let (ralph, guard) = UnixStream::pair().unwrap();
        let null = std::fs::File::open("/dev/null").unwrap();
        let streams = [null.as_fd(); 3];
        let mut launch = sleeper();
        launch.program = "no-such-program-anywhere".into();
        let file = protocol::launch_file(&launch).unwrap();
        protocol::send_launch(&ralph, &file, streams).unwrap();
        protocol::send_order(&ralph, protocol::DISMISS).unwrap();
        stand_guard("1@x", &guard, Duration::from_millis(10));
        let mut report = [0; protocol::REPORT];
        io::Read::read_exact(&mut &ralph, &mut report).unwrap();
        let expected = Report::NotStarted(Errno::NOENT.raw_os_error());
        assert_eq!(Report::decode(report), Some(expected));
    }

    #[test]
    fn without_a_dismissal_what_was_launched_is_ended() {
        let (ralph, guard) = UnixStream::pair().unwrap();
        let null = std::fs::File::open("/dev/null").unwrap();
        let file = protocol::launch_file(&sleeper()).unwrap();
        protocol::send_launch(&ralph, &file, [null.as_fd(); 3]).unwrap();
        ralph.shutdown(std::net::Shutdown::Write).unwrap();
        stand_guard("1@x", &guard, Duration::from_secs(5));
        let mut report = [0; protocol::REPORT];
        io::Read::read_exact(&mut &ralph, &mut report).unwrap();
        let Some(Report::Started(pid)) = Report::decode(report) else {
            panic!("{report:?}");
        };
        let pid = Pid::from_raw(pid).unwrap();
        assert!(rustix::process::test_kill_process(pid).is_err());
    }
}
