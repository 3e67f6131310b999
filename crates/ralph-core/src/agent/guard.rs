//! A guard: a small process that outlives Ralph by a moment. Should Ralph die without a word, be it by kill -9, it
//! tells the run's agents to end.
//!
//! A parent-death signal would reach only the agent itself, not what it runs in other groups and sessions, and asking
//! for one costs every attempt a full fork. The guard is started once per run and finds them all.

use std::ffi::OsString;
use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::spared::SparedChild;
use super::sweep;
use crate::model::RunId;

/// The word that says Ralph has ended in order.
const DISMISSED: &str = "dismissed";

/// A guard on duty. It hears of Ralph's death by the end of the pipe.
#[derive(Debug)]
pub struct Guard {
    process: SparedChild,
    orders: ChildStdin,
}

impl Guard {
    /// Starts one: `command` and the run's id, which must lead to [`stand_guard`].
    pub fn start(command: &[OsString], run: &RunId) -> std::io::Result<Self> {
        let (program, args) = command
            .split_first()
            .ok_or(std::io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command
            .args(args)
            .arg(run.as_str())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C is Ralph's to deal with.
            .process_group(0);
        let mut process = SparedChild::start(&mut command)?;
        let orders = process.child().stdin.take();
        let orders = orders.ok_or(std::io::ErrorKind::BrokenPipe)?;
        Ok(Self { process, orders })
    }

    /// Tells it of an agent, which may have no environment to be found by.
    pub(crate) fn watch(&mut self, group: Pid) {
        // A guard that is gone is no reason to stop: the next run finds left-overs too.
        let _ = writeln!(self.orders, "{}", group.as_raw_nonzero());
    }

    /// The agent has ended; its number may soon be somebody else's.
    pub(crate) fn stand_easy(&mut self) {
        let _ = writeln!(self.orders, "nobody");
    }

    /// Ralph ends in order.
    pub fn dismiss(mut self) {
        let _ = writeln!(self.orders, "{DISMISSED}");
        drop(self.orders);
        let _ = self.process.child().wait();
    }
}

/// What the guard process does: listens until it is dismissed. Without that word, Ralph has died, and what is left
/// of the run gets TERM, the grace, KILL.
pub fn stand_guard(run: &RunId, orders: impl BufRead, grace: Duration) {
    let mut group = None;
    for line in orders.lines().map_while(Result::ok) {
        if line == DISMISSED {
            return;
        }
        group = line.parse().ok().and_then(Pid::from_raw);
    }
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::TERM);
    }
    sweep::end_of_runs(std::slice::from_ref(run), grace);
    let Some(group) = group else { return };
    let asked = Instant::now();
    while test_kill_process_group(group).is_ok() {
        if asked.elapsed() >= grace {
            let _ = kill_process_group(group, Signal::KILL);
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use std::process::Child;

    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep")
            .arg("600")
            .process_group(0)
            .spawn()
            .unwrap()
    }

    #[test]
    fn without_a_word_the_last_group_is_told_to_end() {
        let mut sleeper = sleeper();
        let run = RunId::from_stored("r-of-the-guards-test");
        let orders = format!("1999999\n{}\n", sleeper.id());
        stand_guard(&run, orders.as_bytes(), Duration::from_millis(10));
        assert!(!sleeper.wait().unwrap().success());
    }

    #[test]
    fn a_dismissed_guard_does_nothing() {
        let mut sleeper = sleeper();
        let run = RunId::from_stored("r-of-the-guards-test");
        let orders = format!("{}\n{DISMISSED}\n", sleeper.id());
        stand_guard(&run, orders.as_bytes(), Duration::from_millis(10));
        assert!(sleeper.try_wait().unwrap().is_none());
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
    }
}
