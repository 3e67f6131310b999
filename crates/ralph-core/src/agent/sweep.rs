//! Processes that agents leave behind: tools in sessions of their own, servers put in the background. They are found in `/proc`;
//! where there is none, orphans cannot be followed.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};

use super::Interrupt;
use super::child::{Exemption, exempt};
use crate::model::RunId;
use crate::store::Owner;

static ADOPTING: AtomicBool = AtomicBool::new(false);
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// How long left-overs may take to end by themselves.
const MOMENT: Duration = Duration::from_millis(150);

/// From now on, orphans of our children become our own children and can be ended. For a process whose
/// only children are agents, gates and git, and those that are exempt: every child that is none of these, is a left-over.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    if rustix::process::set_child_subreaper(Some(getpid())).is_ok() {
        ADOPTING.store(true, Ordering::SeqCst);
    }
}

/// Ends what is left of a child that has itself ended: TERM, grace, KILL. Returns how many there were.
/// `own` is that child while it has not been waited for; its end is not ours to take note of.
pub fn end_left_overs(grace: Duration, interrupt: &Interrupt, own: Option<Pid>) -> usize {
    if !ADOPTING.load(Ordering::SeqCst) {
        return 0;
    }
    end(grace, interrupt, || surely_living(own))
}

/// Takes note of orphans that have ended, so that they do not stay in the process table.
pub(super) fn reap(own: Option<Pid>) {
    living(own, &mut Vec::new());
}

/// Ends processes of runs that are dead, found by `RALPH_RUN_ID` in their environment.
pub fn end_of_runs(runs: &[RunId], grace: Duration) -> usize {
    end(grace, &Interrupt::default(), || of_runs(runs))
}

/// The variable by which everything that a process of Ralph starts is found when that process is dead: its value is
/// [`holder_mark`].
pub const HOLDER: &str = "RALPH_HOLDER";

/// Names a process, and no other that had or gets its id.
pub fn holder_mark(owner: &Owner) -> String {
    format!("{}@{}", owner.pid, owner.pid_started)
}

/// Ends what processes of Ralph started that are dead. What others of the same run started goes on.
pub fn end_of_holders(marks: &[String], grace: Duration) -> usize {
    let marks: Vec<Vec<u8>> = marks.iter().map(|mark| format!("{HOLDER}={mark}").into_bytes()).collect();
    end(grace, &Interrupt::default(), || with_environment(&marks))
}

/// Ids of processes of these runs, found by `RALPH_RUN_ID` in their environment.
pub fn processes_of_runs(runs: &[RunId]) -> Vec<u32> {
    let found = of_runs(runs).into_iter();
    found.filter_map(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok()).collect()
}

/// Signals everything `list` finds until it finds nothing: ending one may orphan another. What is on its way
/// out anyway is left to it: a moment for everybody, the whole grace for git, which tidies up after a commit.
/// Nobody is given time when Ralph was asked twice to stop. Returns how many had to be told.
fn end(grace: Duration, interrupt: &Interrupt, list: impl Fn() -> Vec<Pid>) -> usize {
    let started = Instant::now();
    // A process that not even KILL ends is stuck in the kernel; it is not waited for for ever.
    let give_up = 2 * grace + Duration::from_secs(5);
    let mut told: Vec<(Pid, Instant)> = Vec::new();
    loop {
        let living = list();
        let elapsed = started.elapsed();
        if living.is_empty() || elapsed > give_up {
            return told.len();
        }
        let hurry = interrupt.at_once();
        for pid in living {
            match told.iter().find(|(known, _)| *known == pid) {
                Some((_, at)) if hurry || at.elapsed() >= grace => {
                    let _ = kill_process(pid, Signal::KILL);
                }
                Some(_) => {}
                None if !hurry && (elapsed < MOMENT || (elapsed < grace && is_git(pid))) => {}
                None => {
                    let _ = kill_process(pid, Signal::TERM);
                    told.push((pid, Instant::now()));
                }
            }
        }
        thread::sleep(LOOK_AGAIN);
    }
}

fn is_git(pid: Pid) -> bool {
    fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_nonzero()))
        .is_ok_and(|name| name.trim_end() == "git")
}

/// The same as [`living`], but an empty answer is certain: a process that ends between being listed and being looked at leaves
/// orphans that only the next list has. So the list is taken until nobody new has ended.
fn surely_living(own: Option<Pid>) -> Vec<Pid> {
    let mut known = Vec::new();
    loop {
        let mut ended = Vec::new();
        let living = living(own, &mut ended);
        if !living.is_empty() || ended == known {
            return living;
        }
        known = ended;
    }
}

/// What everything below this process uses that no exempt child started.
pub(super) struct Usage {
    pub processes: u32,
    /// In bytes, without what processes share.
    pub memory: u64,
}

pub(super) fn usage(with_memory: bool) -> Usage {
    let living = living(None, &mut Vec::new());
    let memory = if with_memory { living.iter().filter_map(|pid| own_memory(*pid)).sum() } else { 0 };
    Usage { processes: u32::try_from(living.len()).unwrap_or(u32::MAX), memory }
}

fn own_memory(pid: Pid) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{}/statm", pid.as_raw_nonzero())).ok()?;
    let mut pages = statm.split_whitespace().skip(1).map_while(|field| field.parse::<u64>().ok());
    let (resident, shared) = (pages.next()?, pages.next()?);
    Some(resident.saturating_sub(shared) * rustix::param::page_size() as u64)
}

/// Everything below this process that runs, except what is exempt, and what was found to have ended. Children that ended
/// are reaped on the way.
fn living(own: Option<Pid>, ended: &mut Vec<Pid>) -> Vec<Pid> {
    let mut living = Vec::new();
    // Held until the end: another thread's child must not be reaped between its start and its being exempt.
    let exempt = exempt();
    for pid in children(getpid()) {
        if Some(pid) == own {
            continue;
        }
        match exempt.iter().find(|(known, _)| *known == pid) {
            Some((_, Exemption::WithDescendants)) => {}
            Some((_, Exemption::Alone)) => add_descendants(pid, &mut living, ended),
            None if matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(None)) => {
                living.push(pid);
                add_descendants(pid, &mut living, ended);
            }
            None => ended.push(pid),
        }
    }
    living
}

/// Adds everything that runs below a process. The list itself is the queue, so a tree of any depth is no deep
/// recursion.
fn add_descendants(root: Pid, living: &mut Vec<Pid>, ended: &mut Vec<Pid>) {
    let mut next = living.len();
    let mut add = |parent: Pid, living: &mut Vec<Pid>| {
        for pid in children(parent) {
            if has_ended(pid) { ended.push(pid) } else { living.push(pid) }
        }
    };
    add(root, living);
    while let Some(pid) = living.get(next).copied() {
        next += 1;
        add(pid, living);
    }
}

fn children(pid: Pid) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()));
    let threads = threads.into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let lists: Vec<String> = lists.collect();
    let ids = lists.iter().flat_map(|list| list.split_whitespace());
    ids.filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw)).collect()
}

/// Whether a process only waits for its parent to take note of its end. One whose first thread has ended looks the
/// same while its other threads run on.
fn has_ended(pid: Pid) -> bool {
    let path = format!("/proc/{}", pid.as_raw_nonzero());
    let Ok(stat) = fs::read_to_string(format!("{path}/stat")) else { return true };
    let state = stat.rfind(')').and_then(|at| stat.get(at + 2..at + 3));
    matches!(state, Some("Z" | "X"))
        && fs::read_dir(format!("{path}/task")).is_ok_and(|threads| threads.count() <= 1)
}

/// Whether a process has this variable with this value: `NAME=value`.
pub(crate) fn is_in_an_environment(variable: &[u8]) -> bool {
    !with_environment(&[variable.to_vec()]).is_empty()
}

fn of_runs(runs: &[RunId]) -> Vec<Pid> {
    let marks: Vec<Vec<u8>> = runs.iter().map(|run| format!("RALPH_RUN_ID={run}").into_bytes()).collect();
    with_environment(&marks)
}

fn with_environment(marks: &[Vec<u8>]) -> Vec<Pid> {
    let own = getpid();
    let is_marked = |pid: &Pid| {
        // Other users' processes cannot be read, and a zombie's environment is empty.
        let all = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).unwrap_or_default();
        all.split(|byte| *byte == 0).any(|one| marks.iter().any(|mark| mark == one))
    };
    let processes = fs::read_dir("/proc").ok().filter(|_| !marks.is_empty());
    let pids = processes.into_iter().flatten().flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw))
        .filter(|pid| *pid != own && is_marked(pid))
        .collect()
}
