//! The one place with SQL: the plan, its history and its learnings in one database. The rest of the program speaks in
//! domain types.
//!
//! Each file holds one topic: its records, its queries and its changes. What only SQLite has is in `sqlite/`.

mod agents_md;
mod baselines;
mod breaker;
mod capture;
mod claims;
mod completion;
mod connection;
mod copy;
mod decisions;
mod edits;
mod events;
mod experience;
mod fixes;
mod history;
mod learnings;
mod leftovers;
mod notes;
mod outline;
mod place;
mod plan;
mod plan_changes;
#[cfg(feature = "postgres")]
mod postgres;
mod protected_files;
mod runs;
mod side_sessions;
mod sources;
mod sql;
mod sqlite;
mod stats;
mod status;
mod task_changes;
mod undo;
mod workers;

use std::path::PathBuf;

pub use agents_md::*;
pub use baselines::*;
pub use breaker::*;
pub use capture::*;
pub use claims::*;
pub use completion::*;
pub use decisions::*;
pub use edits::*;
pub use events::*;
pub use experience::*;
pub use fixes::*;
pub use history::*;
pub use learnings::*;
pub use leftovers::*;
pub use notes::*;
pub use outline::*;
pub use place::*;
pub use plan::*;
pub use plan_changes::*;
#[cfg(feature = "postgres")]
pub use postgres::{ServerAddress, ServerFault};
pub use protected_files::*;
pub use runs::*;
pub use side_sessions::*;
pub use sources::*;
pub use sqlite::{
    Absent, LockWait, Patience, Rescued, Store, WaitCause, has_wal, newest_copy, rescued, rescued_since,
    restore_command, wal_path,
};
pub use undo::{ActionKind, FieldChange, PlanAction};
pub use workers::*;

use sqlite::Durability;

use crate::model::{LearningId, LearningState, RunId, TaskId};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no task `{0}`")]
    UnknownTask(String),
    /// Several specs have a task of this key.
    #[error("several tasks have the key `{key}`: {}", .choices.join(", "))]
    AmbiguousKey { key: String, choices: Vec<String> },
    #[error("the key `{key}` is taken by {holder} ({title})")]
    DuplicateKey { key: String, holder: TaskId, title: String },
    #[error("that would create a cycle: {}", .0.join(" → "))]
    Cycle(Vec<String>),
    #[error("`{task}` has subtasks: {}", .children.join(", "))]
    HasChildren { task: String, children: Vec<String> },
    #[error("`{task}` is being attempted by run {run_id} (process {pid} on {host})")]
    InProgress { task: String, run_id: RunId, pid: u32, host: String },
    /// The claim is no longer held; somebody else has taken or recorded the attempt.
    #[error("another process took over {0}")]
    ClaimMoved(TaskId),
    /// Something that a person did cannot be taken back.
    #[error("cannot undo this: {why}")]
    CannotUndo { why: String },
    #[error("there is no learning `{0}`")]
    UnknownLearning(String),
    #[error("the learning {id} is {state}{}", .successor.as_ref().map(|id| format!(" by {id}")).unwrap_or_default())]
    LearningNotActive { id: LearningId, state: LearningState, successor: Option<LearningId> },
    #[error("the id `{0}` is taken by another learning")]
    LearningIdTaken(LearningId),
    #[error("{path} has schema version {found}; this Ralph supports versions up to {known}")]
    NewerSchema { path: PathBuf, found: u32, known: u32 },
    #[error("there is no database at {path}")]
    Missing { path: PathBuf },
    #[error("the database {path} was deleted or replaced while Ralph was using it")]
    Vanished { path: PathBuf },
    #[error("the database {path} was damaged while Ralph was using it")]
    Overwritten { path: PathBuf },
    #[error("the database {path} is locked by another process")]
    Locked { path: PathBuf },
    #[error("the disk is full: cannot write {path}")]
    DiskFull { path: PathBuf },
    #[error("cannot write {path}: {why}")]
    NotWritable { path: PathBuf, why: String },
    #[error("{path} is corrupt or not a database: {why}")]
    Damaged { path: PathBuf, why: String },
    #[error("database {path}: {source}")]
    Engine { path: PathBuf, source: rusqlite::Error },
    #[error("{path} is not empty: it has a plan or learnings already")]
    NotEmpty { path: PathBuf },
    /// A database server refused something or cannot be reached. Its address has no password.
    #[cfg(feature = "postgres")]
    #[error("database {server}: {why}")]
    Server { server: String, fault: ServerFault, why: String },
}

impl StoreError {
    /// Whether it comes from the engine and not from the plan.
    fn is_of_engine(&self) -> bool {
        match self {
            Self::Engine { .. } => true,
            #[cfg(feature = "postgres")]
            Self::Server { .. } => true,
            _ => false,
        }
    }

    /// Whether the connection to a server broke while it was used.
    fn is_connection_lost(&self) -> bool {
        match self {
            #[cfg(feature = "postgres")]
            Self::Server { fault, .. } => *fault == ServerFault::Lost,
            _ => false,
        }
    }

    /// Whether a row would contradict others: its key is taken, or what it points to is gone.
    fn is_conflict(&self) -> bool {
        match self {
            Self::Engine { source, .. } => {
                source.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation)
            }
            #[cfg(feature = "postgres")]
            Self::Server { fault, .. } => *fault == ServerFault::Conflict,
            _ => false,
        }
    }
}

/// Statements know no file; the caller adds its path.
impl From<rusqlite::Error> for StoreError {
    fn from(source: rusqlite::Error) -> Self {
        let path = PathBuf::new();
        Self::Engine { path, source }
    }
}

pub type Result<T> = std::result::Result<T, StoreError>;

/// Source of ids; passed in so that tests choose them.
pub type Random<'a> = &'a mut dyn FnMut() -> u64;

#[cfg(test)]
mod tests;
