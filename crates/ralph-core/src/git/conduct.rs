//! What every call of git shares: its deadline, the way to interrupt it, and the first failure after which git is not
//! called again.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::GitError;
use super::programs::{NewProgram, Overrides, Programs};
use super::regular::{self, Repository};
use crate::agent::Interrupt;

/// How long git may take.
#[derive(Clone, Debug)]
pub struct GitLimits {
    /// A call that only reads. Repositories with a large index, and those where a call took long before, get more.
    pub query: Duration,
    /// A call that writes an index, objects, references or files; it may run the filters of the repository.
    pub change: Duration,
    /// Whether Ralph was told to stop.
    pub interrupt: Interrupt,
}

impl Default for GitLimits {
    fn default() -> Self {
        Self {
            query: Duration::from_secs(10),
            change: Duration::from_secs(600),
            interrupt: Interrupt::default(),
        }
    }
}

/// What a call does, which decides how long it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallKind {
    /// It only reads.
    Query,
    /// It writes.
    Change,
    /// It is part of the one real commit: it may take this long, and runs the hooks and filters as they are now.
    Commit(Duration),
}

/// A query may take this many times as long as the slowest one so far.
const TIMES_SLOWEST: u32 = 5;
/// A query gets a second more for each of these in the index.
const BYTES_PER_SECOND: u64 = 1024 * 1024;
/// What a call may still take after the first signal to stop; the second one ends it at once.
const AFTER_SIGNAL: Duration = Duration::from_secs(3);

/// Why git is not called again in this run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GitFault {
    /// A call did not end in time.
    TimedOut {
        command: String,
        after: Duration,
        held_up_by: Option<String>,
    },
    /// Opening this file could block for ever.
    NotRegular(PathBuf),
    /// The index was deleted.
    NoIndex(PathBuf),
    /// Git cannot read its configuration, and says why.
    Config(String),
    /// Git's directory is gone.
    Gone(PathBuf),
    /// Git refuses to work in the repository, and says why.
    Unusable(String),
}

impl GitFault {
    pub(super) fn error(&self) -> GitError {
        match self.clone() {
            Self::TimedOut {
                command,
                after,
                held_up_by,
            } => GitError::TimedOut {
                command,
                after,
                held_up_by,
            },
            Self::NotRegular(path) => GitError::NotRegular(path),
            Self::NoIndex(path) => GitError::NoIndex(path),
            Self::Config(message) => GitError::Config(message),
            Self::Gone(path) => GitError::Gone(path),
            Self::Unusable(message) => GitError::Unusable(message),
        }
    }
}

/// While this lives, calls of git are not interrupted.
pub(super) struct Finishing<'c>(&'c Conduct);

impl Drop for Finishing<'_> {
    fn drop(&mut self) {
        self.0.finishing.store(false, Ordering::Relaxed);
    }
}

/// Shared by all calls of git in a repository.
#[derive(Debug, Default)]
pub(super) struct Conduct {
    pub(super) limits: GitLimits,
    /// Of all queries so far, in milliseconds.
    slowest: AtomicU64,
    fault: OnceLock<GitFault>,
    /// A call was ended because Ralph is to stop: the next one does not get its own time to end.
    interrupted: AtomicBool,
    /// A commit was made and its record is being brought up to date, which no signal interrupts.
    finishing: AtomicBool,
    /// Known once the repository is found.
    repository: OnceLock<Repository>,
    /// What git called the root of the work tree when it was first asked.
    pub(super) first_top: OnceLock<String>,
    /// A program that appeared during the run held up a commit: the later commits run none of them either.
    distrusts_new_programs: AtomicBool,
    /// Which programs git may run by itself; none where nobody asked to watch them.
    programs: Mutex<Option<Programs>>,
}

impl Conduct {
    pub(super) fn new(limits: GitLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// From now on the files of this repository are checked before each call.
    pub(super) fn found(&self, repository: Repository) {
        let _ = self.repository.set(repository);
    }

    pub(super) fn repository(&self) -> Option<&Repository> {
        self.repository.get()
    }

    pub(super) fn programs(&self) -> MutexGuard<'_, Option<Programs>> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether git may be called at all.
    pub(super) fn check(&self) -> Result<(), GitError> {
        if let Some(fault) = self.fault.get() {
            return Err(fault.error());
        }
        if self.interrupted.load(Ordering::Relaxed) && !self.is_finishing() {
            return Err(GitError::Interrupted);
        }
        match self.repository.get().and_then(regular::irregular) {
            None => Ok(()),
            Some(path) => Err(self.fail(GitFault::NotRegular(path))),
        }
    }

    /// What a call must turn off: programs that appeared since the run began. A commit runs them until one held it up.
    pub(super) fn overrides(&self, kind: CallKind) -> Result<Overrides, GitError> {
        let is_commit = matches!(kind, CallKind::Commit(_));
        if is_commit && !self.distrusts_new_programs.load(Ordering::Relaxed) {
            return Ok(Overrides::default());
        }
        match self.programs().as_mut() {
            None => Ok(Overrides::default()),
            Some(programs) => programs.overrides(self),
        }
    }

    /// From now on commits run no program that appeared during the run.
    pub(super) fn distrust_new_programs(&self) {
        self.distrusts_new_programs.store(true, Ordering::Relaxed);
    }

    /// The programs that appeared or changed since the run began and that a commit runs.
    pub(super) fn new_in_commits(&self) -> Result<Vec<NewProgram>, GitError> {
        if self.distrusts_new_programs.load(Ordering::Relaxed) {
            return Ok(Vec::new());
        }
        match self.programs().as_mut() {
            None => Ok(Vec::new()),
            Some(programs) => programs.new_in_commits(self),
        }
    }

    /// Notes a fault: the first one stays.
    pub(super) fn fail(&self, fault: GitFault) -> GitError {
        self.fault.get_or_init(|| fault).error()
    }

    /// Until the result is dropped no signal interrupts a call; deadlines hold.
    pub(super) fn finish(&self) -> Finishing<'_> {
        self.finishing.store(true, Ordering::Relaxed);
        Finishing(self)
    }

    pub(super) fn is_finishing(&self) -> bool {
        self.finishing.load(Ordering::Relaxed)
    }

    /// Notes that a call was ended because Ralph is to stop.
    pub(super) fn interrupt(&self) -> GitError {
        self.interrupted.store(true, Ordering::Relaxed);
        GitError::Interrupted
    }

    pub(super) fn fault(&self) -> Option<&GitFault> {
        self.fault.get()
    }

    /// How long a call may take.
    pub(super) fn deadline(&self, kind: CallKind) -> Duration {
        match kind {
            CallKind::Query => {
                let slowest = Duration::from_millis(self.slowest.load(Ordering::Relaxed));
                let index = self.repository.get().map_or(0, Repository::index_bytes);
                query_deadline(self.limits.query, index, slowest)
            }
            CallKind::Change => self.limits.change,
            CallKind::Commit(limit) => limit,
        }
    }

    /// How long a call may go on after the first signal to stop.
    pub(super) fn patience(&self) -> Duration {
        let slowest = Duration::from_millis(self.slowest.load(Ordering::Relaxed));
        AFTER_SIGNAL.max(slowest * 2)
    }

    /// Notes how long a call took.
    pub(super) fn took(&self, kind: CallKind, time: Duration) {
        if kind == CallKind::Query {
            let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            self.slowest.fetch_max(time, Ordering::Relaxed);
        }
    }
}

/// The deadline of a query: longer for a large index, and where one took long before.
fn query_deadline(least: Duration, index_bytes: u64, slowest: Duration) -> Duration {
    let for_index = Duration::from_secs(index_bytes / BYTES_PER_SECOND);
    (least + for_index).max(slowest * TIMES_SLOWEST)
}

/// What may have held git up, found after it was stopped: another process of its group, or a pipe that it reads as a file.
pub(super) fn held_up_by(group: i32, top: &Path) -> Option<String> {
    let program = regular::others_in_group(group).into_iter().next();
    let program = program.map(|program| format!("it was running `{program}`"));
    program.or_else(|| {
        let pipe = regular::special_rules_file(top)?;
        let pipe = crate::text::one_line(&pipe.display().to_string(), 300);
        Some(format!("{pipe} is not a regular file"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_ordinary_repository_has_ten_seconds_and_a_slow_one_more() {
        let least = GitLimits::default().query;
        let seconds =
            |index, slowest| query_deadline(least, index, Duration::from_secs(slowest)).as_secs();
        assert_eq!(seconds(100_000, 0), 10);
        assert_eq!(seconds(100_000, 1), 10);
        assert_eq!(seconds(0, 7), 35);
        assert_eq!(seconds(30 * 1024 * 1024, 0), 40);
    }

    #[test]
    fn the_first_fault_stays() {
        let conduct = Conduct::default();
        assert!(conduct.check().is_ok());
        let first = conduct.fail(GitFault::NotRegular("/a".into()));
        let second = conduct.fail(GitFault::NotRegular("/b".into()));
        assert_eq!(first.to_string(), second.to_string());
        assert!(conduct.check().is_err());
    }

    proptest! {
        #[test]
        fn no_deadline_is_shorter_than_the_setting(index: u32, slowest in 0..100_000_u64, least in 1..100_u64) {
            let least = Duration::from_secs(least);
            let slowest = Duration::from_millis(slowest);
            prop_assert!(query_deadline(least, index.into(), slowest) >= least);
        }
    }
}
