//! This host and the processes on it: who we are, and whether somebody else still lives.

use std::fs;

use crate::model::Timestamp;
use crate::store::{AtWork, Claim, Owner, RunRow};

/// The inode that Linux gives the first pid namespace (`PROC_PID_INIT_INO`).
#[cfg(target_os = "linux")]
const MACHINE_NAMESPACE: &str = "4026531836";

/// Whether the holder of a claim can still be at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// The process runs, or cannot be seen from here.
    Alive,
    Dead,
    /// It is on another host or in another pid namespace, or processes cannot be seen at all: only its lease tells whether it
    /// is at work.
    Elsewhere,
}

/// Answers questions about processes; tests bring their own.
pub trait Host {
    fn owner(&self) -> Owner;
    fn liveness(&self, owner: &Owner) -> Liveness;
}

/// Whether a process here was stopped by Ctrl-Z or a signal: it lives and does nothing until it is continued. `false` where
/// that cannot be seen.
pub fn is_stopped(host: &dyn Host, owner: &Owner) -> bool {
    host.liveness(owner) == Liveness::Alive && process_state(owner.pid).as_deref() == Some("T")
}

#[derive(Debug, Clone)]
pub struct ThisHost {
    name: String,
}

impl ThisHost {
    pub fn new() -> Self {
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self { name }
    }
}

impl Default for ThisHost {
    fn default() -> Self {
        Self::new()
    }
}

impl Host for ThisHost {
    fn owner(&self) -> Owner {
        let pid = std::process::id();
        let pid_started = process_start(pid).unwrap_or_default();
        Owner { host: self.name.clone(), pid, pid_started }
    }

    fn liveness(&self, owner: &Owner) -> Liveness {
        if owner.host != self.name || !sees_processes() || is_of_other_namespace(&owner.pid_started) {
            return Liveness::Elsewhere;
        }
        match process_start(owner.pid) {
            // The same process, not another one that got its id since.
            Some(started) if started == owner.pid_started => Liveness::Alive,
            Some(_) => Liveness::Dead,
            None if cfg!(target_os = "linux") => Liveness::Dead,
            None => exists(owner.pid),
        }
    }
}

/// A process of this host as the store names it; none if it is gone.
pub fn process_owner(host: String, pid: rustix::process::Pid) -> Option<Owner> {
    let pid = u32::try_from(pid.as_raw_nonzero().get()).ok()?;
    let pid_started = process_start(pid)?;
    Some(Owner { host, pid, pid_started })
}

/// Whether a process was started from inside an attempt: an ancestor holds a claim, and no hook is in between. Ancestors
/// come nearest first.
pub fn is_inside(ancestors: impl IntoIterator<Item = Owner>, at_work: &AtWork) -> bool {
    for ancestor in ancestors {
        // The start names the boot too, so no other host has the same process; a host's name can be changed.
        let is_ancestor = |one: &Owner| one.pid == ancestor.pid && one.pid_started == ancestor.pid_started;
        if at_work.hooks.iter().any(is_ancestor) {
            return false;
        }
        if at_work.claim_holders.iter().any(is_ancestor) {
            return true;
        }
    }
    false
}

/// Whether this process can see processes, itself at least. It cannot where `/proc` is not mounted or is hidden.
pub fn sees_processes() -> bool {
    !cfg!(target_os = "linux") || process_state(std::process::id()).is_some()
}

/// The ancestors of this process, nearest first. Ralph and its guard adopt orphans, so whatever an attempt started has them
/// among its ancestors, however it was started.
#[cfg(target_os = "linux")]
pub fn ancestors(host: &ThisHost) -> impl Iterator<Item = Owner> {
    let name = host.name.clone();
    let own = ProcessStat::read(std::process::id());
    let parent = |stat: &ProcessStat| ProcessStat::read(stat.parent);
    // A chain of parents has an end; one that changes while it is walked might seem to have none.
    let chain = std::iter::successors(own.as_ref().and_then(parent), parent).take(10_000);
    chain.collect::<Vec<_>>().into_iter().map(move |stat| Owner {
        host: name.clone(),
        pid: stat.pid,
        pid_started: start_mark(&stat.start),
    })
}

/// Elsewhere they cannot be seen.
#[cfg(not(target_os = "linux"))]
pub fn ancestors(_host: &ThisHost) -> impl Iterator<Item = Owner> {
    std::iter::empty()
}

/// Whether a claim may be taken from its holder: its process here is dead, or its lease elsewhere is over. A live
/// process is never robbed, however long the machine slept.
pub fn is_stale(claim: &Claim, liveness: Liveness, now: Timestamp) -> bool {
    is_gone(liveness, Some(claim.expires_at), now)
}

/// Whether a run that has no end on record can no longer be at work; by the same rule.
pub fn is_over(run: &RunRow, liveness: Liveness, now: Timestamp) -> bool {
    is_gone(liveness, run.expires_at, now)
}

fn is_gone(liveness: Liveness, expires_at: Option<Timestamp>, now: Timestamp) -> bool {
    match liveness {
        Liveness::Alive => false,
        Liveness::Dead => true,
        Liveness::Elsewhere => expires_at.is_none_or(|expires| expires < now),
    }
}

#[cfg(target_os = "linux")]
struct ProcessStat {
    pid: u32,
    state: String,
    parent: u32,
    start: String,
}

#[cfg(target_os = "linux")]
impl ProcessStat {
    fn read(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The program's name stands in parentheses and may itself hold some.
        let after_name = stat.get(stat.rfind(')')? + 1..)?;
        let mut fields = after_name.split_whitespace();
        Some(Self {
            pid,
            state: fields.next()?.to_owned(),
            parent: fields.next()?.parse().ok()?,
            start: fields.nth(17)?.to_owned(),
        })
    }
}

#[cfg(target_os = "linux")]
fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

#[cfg(target_os = "linux")]
pub(crate) fn process_state(pid: u32) -> Option<String> {
    ProcessStat::read(pid).map(|stat| stat.state)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn process_state(_pid: u32) -> Option<String> {
    None
}

/// Boot and start time of a process that is not a zombie; `None` if there is none.
#[cfg(target_os = "linux")]
fn process_start(pid: u32) -> Option<String> {
    let stat = ProcessStat::read(pid)?;
    if matches!(stat.state.as_str(), "Z" | "X") {
        return None;
    }
    Some(start_mark(&stat.start))
}

/// What tells a process from every other one that has or had its id: the boot, its start, and the pid namespace where that
/// is not the machine's own.
#[cfg(target_os = "linux")]
fn start_mark(start: &str) -> String {
    let namespace = pid_namespace().map(|namespace| format!("@{namespace}"));
    format!("{}:{start}{}", boot_id(), namespace.unwrap_or_default())
}

/// This process's pid namespace, if it is another than the machine's own: in containers and sandboxes.
#[cfg(target_os = "linux")]
fn pid_namespace() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    let link = link.to_str()?.to_owned();
    let number = link.strip_prefix("pid:[")?.strip_suffix(']')?;
    (number != MACHINE_NAMESPACE).then(|| number.to_owned())
}

/// Whether a process was started since the last boot in another pid namespace, where the same id means another process.
#[cfg(target_os = "linux")]
fn is_of_other_namespace(pid_started: &str) -> bool {
    let (start, namespace) = match pid_started.split_once('@') {
        Some((start, namespace)) => (start, Some(namespace)),
        None => (pid_started, None),
    };
    let boot = start.split_once(':').map(|(boot, _)| boot);
    boot == Some(boot_id().as_str()) && namespace != pid_namespace().as_deref()
}

#[cfg(not(target_os = "linux"))]
fn is_of_other_namespace(_pid_started: &str) -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
fn process_start(_pid: u32) -> Option<String> {
    None
}

fn exists(pid: u32) -> Liveness {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    match pid.map(rustix::process::test_kill_process) {
        Some(Err(rustix::io::Errno::SRCH)) | None => Liveness::Dead,
        Some(_) => Liveness::Alive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{RunId, TaskId, Token};
    use crate::store::{Purpose, UnfinishedAttempt};

    fn claim(expires_at: i64) -> Claim {
        Claim {
            task_id: TaskId::from_stored("t-000001"),
            run_id: RunId::from_stored("r-1"),
            worker: "w1".into(),
            owner: Owner { host: "h".into(), pid: 1, pid_started: "x".into() },
            token: Token::from_stored("k"),
            expires_at: Timestamp::from_secs(expires_at),
            claimed_at: Timestamp::from_secs(0),
            heartbeat_at: Timestamp::from_secs(0),
            purpose: Purpose::Attempt,
            stage: None,
            attempt: UnfinishedAttempt::default(),
        }
    }

    #[test]
    fn plan_07_a_live_process_is_never_stale_however_late_it_is() {
        let now = Timestamp::from_secs(1_000_000);
        assert!(!is_stale(&claim(0), Liveness::Alive, now));
        assert!(is_stale(&claim(2_000_000), Liveness::Dead, now));
        assert!(is_stale(&claim(0), Liveness::Elsewhere, now));
        assert!(!is_stale(&claim(2_000_000), Liveness::Elsewhere, now));
    }

    #[test]
    fn we_live_and_a_reused_process_id_does_not() {
        let host = ThisHost::new();
        let own = host.owner();
        assert_eq!(host.liveness(&own), Liveness::Alive);
        let reused = Owner { pid_started: "boot:1".into(), ..own.clone() };
        assert_eq!(host.liveness(&reused), Liveness::Dead);
        let elsewhere = Owner { host: format!("not-{}", own.host), ..own };
        assert_eq!(host.liveness(&elsewhere), Liveness::Elsewhere);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_same_process_id_in_another_pid_namespace_is_another_process() {
        let host = ThisHost::new();
        let own = host.owner();
        let plain = own.pid_started.split('@').next().unwrap().to_owned();
        let of = |pid_started: String| host.liveness(&Owner { pid_started, ..own.clone() });
        assert_eq!(of(own.pid_started.clone()), Liveness::Alive);
        assert_eq!(of(format!("{plain}@1")), Liveness::Elsewhere);
        // After a boot no process of before is left, in any namespace.
        assert_eq!(of("another-boot:1@1".into()), Liveness::Dead);
    }

    #[test]
    fn a_stopped_process_lives_and_is_known_as_stopped() {
        use rustix::process::{Pid, Signal, kill_process};
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let host = ThisHost::new();
        let pid = child.id();
        let owner = Owner { host: host.owner().host, pid, pid_started: process_start(pid).unwrap() };
        assert!(!is_stopped(&host, &owner));
        kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
        while !is_stopped(&host, &owner) {
            std::thread::yield_now();
        }
        assert_eq!(host.liveness(&owner), Liveness::Alive);
        let elsewhere = Owner { host: format!("not-{}", owner.host), ..owner };
        assert!(!is_stopped(&host, &elsewhere));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_claim_above_is_inside_unless_a_hook_is_in_between() {
        let process = |pid: u32| Owner { host: "h".into(), pid, pid_started: format!("b:{pid}") };
        let at_work = AtWork { claim_holders: vec![process(10)], hooks: vec![process(20)] };
        let inside = |pids: &[u32]| is_inside(pids.iter().map(|pid| process(*pid)), &at_work);
        assert!(inside(&[40, 30, 10, 1]));
        assert!(!inside(&[40, 20, 10, 1]));
        // A hook above the run does not speak for what the run's agents do.
        assert!(inside(&[40, 10, 20, 1]));
        assert!(!inside(&[40, 30, 1]));
        let reused = Owner { pid_started: "b:11".into(), ..process(10) };
        assert!(!is_inside([reused], &at_work));
    }

    #[test]
    fn a_zombie_is_dead() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let host = ThisHost::new();
        let pid = child.id();
        let pid_started = process_start(pid).unwrap_or_else(|| "gone".into());
        let owner = Owner { host: host.owner().host, pid, pid_started };
        // Not waited for: the process stays in the table as a zombie.
        while host.liveness(&owner) != Liveness::Dead {
            std::thread::yield_now();
        }
        child.wait().unwrap();
    }
}
