//! The one place that knows how things are kept. The rest of the program speaks in domain types, so that a
//! second engine can stand beside SQLite: it implements these traits and passes the same tests.

mod agents_md;
mod control;
mod experience;
mod file;
mod learnings;
mod left_work;
mod logs;
mod names;
mod records;
mod recovery;
mod safety;
mod sources;
mod sqlite;

use std::path::PathBuf;

pub use agents_md::*;
pub use control::*;
pub use experience::*;
pub use file::*;
pub use learnings::*;
pub use left_work::*;
pub use logs::*;
pub use names::*;
pub use records::*;
pub use recovery::*;
pub use safety::*;
pub use sources::*;
pub use sqlite::{
    Absent, LockWait, Patience, SqliteStore, has_log, log_path, rescued, rescued_since,
    restore_command,
};

use crate::analysis::Fact;
use crate::event::{RunEvent, TaskRef};
use crate::model::{
    Attempt, DoneBy, LearningId, LearningState, NewTask, RunId, Stats, Status, Task, TaskEdit,
    TaskId, TaskMetrics, Timestamp, Token,
};

/// Why the store refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No task has this id or key.
    #[error("there is no task `{0}`")]
    UnknownTask(String),
    /// Another task has the key.
    #[error("the key `{key}` is taken by {holder} ({title})")]
    DuplicateKey {
        /// The key.
        key: String,
        /// Whose it is.
        holder: TaskId,
        /// That task's title.
        title: String,
    },
    /// The change would make tasks wait for each other.
    #[error("that would create a cycle: {}", .0.join(" → "))]
    Cycle(Vec<String>),
    /// The task has children.
    #[error("`{task}` has children: {}", .children.join(", "))]
    HasChildren {
        /// The task.
        task: String,
        /// Names of its children.
        children: Vec<String>,
    },
    /// The task is being attempted right now.
    #[error("`{task}` is being attempted by run {run_id} (process {pid} on {host})")]
    InProgress {
        /// The task.
        task: String,
        /// The run that holds it.
        run_id: RunId,
        /// The process.
        pid: u32,
        /// Its host.
        host: String,
    },
    /// The claim is no longer held; somebody else has taken or recorded the attempt.
    #[error("another process took over {0}")]
    ClaimMoved(TaskId),
    /// No learning has this id.
    #[error("there is no learning `{0}`")]
    UnknownLearning(String),
    /// The learning is not in use.
    #[error("the learning {id} is {state}{}", .successor.as_ref().map(|id| format!(" by {id}")).unwrap_or_default())]
    LearningNotActive {
        /// The learning.
        id: LearningId,
        /// Where it stands.
        state: LearningState,
        /// What took its place.
        successor: Option<LearningId>,
    },
    /// Another learning has the id a file gives.
    #[error("the id `{0}` is taken by another learning")]
    LearningIdTaken(LearningId),
    /// The file was written by a newer Ralph.
    #[error("{path} has schema version {found}; this Ralph supports versions up to {known}")]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest this binary knows.
        known: u32,
    },
    /// There is no database, and none is to be made.
    #[error("there is no database at {path}")]
    Missing {
        /// Where it would be.
        path: PathBuf,
    },
    /// The file was deleted, renamed or replaced while it was open.
    #[error("the database {path} was deleted or replaced while Ralph was using it")]
    Vanished {
        /// Where it was.
        path: PathBuf,
    },
    /// Another process held its lock for too long.
    #[error("the database {path} is locked by another process")]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The disk is full.
    #[error("the disk is full: cannot write {path}")]
    DiskFull {
        /// The file.
        path: PathBuf,
    },
    /// The file or its directory may not be written.
    #[error("cannot write {path}: {why}")]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        why: String,
    },
    /// The file is no database, or a damaged one.
    #[error("{path} is corrupt or not a database: {why}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// SQLite's reason.
        why: String,
    },
    /// Anything else the engine says.
    #[error("database {path}: {source}")]
    Engine {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        source: rusqlite::Error,
    },
}

/// Shorthand for what store methods return.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Source of ids; passed in so that tests choose them.
pub type Random<'a> = &'a mut dyn FnMut() -> u64;

/// The plan: reading and changing tasks.
pub trait PlanStore {
    /// The task with this id or key.
    fn task(&self, name: &str) -> Result<Task>;
    /// Tasks in plan order, those with `status` only if one is given.
    fn tasks(&self, status: Option<Status>) -> Result<Vec<Task>>;
    /// A task's children in plan order.
    fn children(&self, id: &TaskId) -> Result<Vec<Task>>;
    /// Ids of tasks that could be claimed now, in the order they would be.
    fn ready(&self, scope: &Scope, limit: usize) -> Result<Vec<TaskId>>;
    /// How many tasks have each status; kept, so that it costs nothing.
    fn counts(&self) -> Result<PlanCounts>;
    /// How many tasks could be claimed now.
    fn ready_count(&self) -> Result<u64>;
    /// Tasks that are blocked or failed, in plan order.
    fn held(&self, limit: usize) -> Result<Vec<Held>>;
    /// Tasks in scope that an agent may still be asked to do and that have no gate of their own; every such task where
    /// gates are off. Parents are done by their children.
    fn ungated(&self, scope: &Scope, gates_on: bool) -> Result<Vec<TaskRef>>;
    /// The gates of tasks that are not finished, in plan order.
    fn open_gates(&self, limit: usize) -> Result<Vec<OpenGate>>;
    /// The plan's skeleton, for questions about the whole of it.
    fn skeleton(&self) -> Result<Vec<PlanNode>>;
    /// Adds a task.
    fn add_task(&mut self, new: &NewTask, now: Timestamp, random: Random<'_>) -> Result<TaskId>;
    /// Changes a task.
    fn edit_task(&mut self, id: &TaskId, edit: &TaskEdit, now: Timestamp) -> Result<()>;
    /// A person's word on a task.
    fn mark(&mut self, id: &TaskId, mark: &Mark, now: Timestamp) -> Result<()>;
    /// Removes tasks with all that was recorded of them; learnings stay.
    fn delete_task(&mut self, id: &TaskId, children: Children, now: Timestamp) -> Result<Deleted>;
    /// Makes `blocked` wait for `blocker`. `false` if it did already.
    fn add_dependency(
        &mut self,
        blocked: &TaskId,
        blocker: &TaskId,
        now: Timestamp,
    ) -> Result<bool>;
    /// Ends that. `false` if there was no such dependency.
    fn remove_dependency(
        &mut self,
        blocked: &TaskId,
        blocker: &TaskId,
        now: Timestamp,
    ) -> Result<bool>;
}

/// Runs, claims and what attempts leave behind.
pub trait RunStore {
    /// Records the start of a run.
    fn start_run(&mut self, run: &NewRun, event: &RunEvent) -> Result<()>;
    /// The newest built-in defaults that any run was made with: 0 by a Ralph that did not record it; none without a run.
    fn defaults_revision(&self) -> Result<Option<u32>>;
    /// Records its end.
    fn end_run(&mut self, end: &RunEnd, event: &RunEvent) -> Result<()>;
    /// Runs that have not ended, by their own account.
    fn open_runs(&self) -> Result<Vec<RunRow>>;
    /// Marks a run whose process died as ended.
    fn close_dead_run(&mut self, id: &RunId, now: Timestamp) -> Result<()>;
    /// The run that started last.
    fn last_run(&self) -> Result<Option<RunRow>>;
    /// A run by its id.
    fn run(&self, id: &RunId) -> Result<Option<RunRow>>;
    /// Attempts of a run so far: done and counted.
    fn run_rates(&self, id: &RunId) -> Result<RunRates>;
    /// Takes the next ready task, or a parent whose gate is due, in one atomic statement.
    fn claim(&mut self, request: &ClaimRequest) -> Result<Option<Claimed>>;
    /// Records what the claim's attempt is about to do.
    fn begin_attempt(&mut self, start: &AttemptStart, event: &RunEvent) -> Result<()>;
    /// Extends the lease of every claim of a run.
    fn heartbeat(&mut self, run: &RunId, now: Timestamp, expires: Timestamp) -> Result<()>;
    /// All claims.
    fn claims(&self) -> Result<Vec<Claim>>;
    /// Gives a claim back without recording a try.
    fn release(&mut self, task: &TaskId, token: &Token) -> Result<()>;
    /// Gives back what a run claimed and did not begin to work on.
    fn release_unbegun(&mut self, run: &RunId) -> Result<()>;
    /// Outcome, report, learnings, metrics, task status and events of an attempt: all of it or nothing.
    fn capture(&mut self, capture: &Capture, random: Random<'_>) -> Result<()>;
    /// A parent's children are done and nothing speaks against it: it is done, by its own gate or without one.
    fn complete_parent(
        &mut self,
        task: &TaskId,
        token: &Token,
        by: DoneBy,
        event: &RunEvent,
        now: Timestamp,
    ) -> Result<()>;
    /// Counted attempts since a person last gave a go-ahead, on this task and on all that belong to the same recovery
    /// chain; those that other runs have under way included.
    fn attempts_used(&self, task: &TaskId) -> Result<u32>;
    /// Sends a claimed task to a person without trying it, and with it the recovery chain that ends here.
    fn hand_over(
        &mut self,
        task: &TaskId,
        token: &Token,
        reason: &str,
        end: Option<&RecoveryEnd>,
        event: &RunEvent,
        now: Timestamp,
    ) -> Result<()>;
    /// An open breaker lets one attempt through from now on. `false` if it was not open.
    fn half_open_breaker(&mut self) -> Result<bool>;
    /// Closes the breaker and sets its count back; no task is forgiven.
    fn reset_breaker(&mut self) -> Result<()>;
    /// A person closes the breaker, and the failures that opened it are forgiven.
    fn close_breaker(&mut self, now: Timestamp) -> Result<()>;
    /// Writes events that belong to no other transaction.
    fn append_events(&mut self, events: &[RunEvent]) -> Result<()>;
}

/// What was recorded.
pub trait HistoryStore {
    /// Tries, oldest first; of one task, or of all.
    fn history(&self, task: Option<&TaskId>) -> Result<Vec<Attempt>>;
    /// Tries of one run, oldest first.
    fn run_history(&self, run: &RunId) -> Result<Vec<Attempt>>;
    /// Counted failures of a task with their reports, oldest first.
    fn failures(&self, task: &TaskId) -> Result<Vec<PastFailure>>;
    /// Reports of counted failures, oldest first.
    fn failure_reports(&self, filter: &FailureFilter) -> Result<Vec<FailureRow>>;
    /// The last attempts, newest first.
    fn newest_attempts(&self, most: u32) -> Result<Vec<Attempt>>;
    /// The last try on each task that is not done.
    fn last_tries(&self) -> Result<Vec<Attempt>>;
    /// The last counted failures, newest first, as an analysis sees them.
    fn newest_failures(&self, most: u64) -> Result<Vec<Fact>>;
    /// Tries of the last run that do not count, by kind.
    fn recent_faults(&self) -> Result<Vec<(String, u32)>>;
    /// Sums over attempts, of one run or of all.
    fn stats(&self, run: Option<&RunId>) -> Result<Stats>;
    /// The kept counters of a task.
    fn metrics(&self, task: &TaskId) -> Result<TaskMetrics>;
    /// How many tries of a task are recorded, and how many of them count.
    fn tries(&self, task: &TaskId) -> Result<Tries>;
    /// What a done attempt of the task said in one sentence.
    fn summary(&self, task: &TaskId) -> Result<Option<String>>;
    /// Counted attempts and cost over all time.
    fn totals(&self) -> Result<Totals>;
    /// The circuit breaker's state.
    fn breaker(&self) -> Result<Breaker>;
    /// A run's events after `after`, oldest first, as JSON texts.
    fn events(&self, run: &RunId, after: u64) -> Result<Vec<String>>;
}

/// Everything a store can do.
pub trait Store:
    PlanStore
    + RunStore
    + ControlStore
    + LeftWorkStore
    + HistoryStore
    + LogStore
    + LearningStore
    + ExperienceStore
    + AgentsMdStore
    + SourceStore
    + RecoveryStore
    + NameStore
    + FileStore
    + SafetyStore
    + Send
{
}

impl<T> Store for T where
    T: PlanStore
        + RunStore
        + ControlStore
        + LeftWorkStore
        + HistoryStore
        + LogStore
        + LearningStore
        + ExperienceStore
        + AgentsMdStore
        + SourceStore
        + RecoveryStore
        + NameStore
        + FileStore
        + SafetyStore
        + Send
{
}
