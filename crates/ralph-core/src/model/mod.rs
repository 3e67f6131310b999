//! The words of the domain: ids, statuses, outcomes, models. Plain data, no behaviour beyond itself.

mod attempt;
mod difficulty;
mod ids;
mod learning;
mod left_file;
mod neighbour;
mod outcome;
mod spent;
mod stats;
mod strategy;
mod task;
mod time;

pub use attempt::{
    Attempt, AttemptDetail, CommitIntent, FailureMark, GateOutcome, GateRecord, GitRecord,
    MarkSource, ReportRow, TaskMetrics,
};
pub use difficulty::Difficulty;
pub use ids::{IdError, Key, LearningId, Phase, RunId, TaskId, Token};
pub use learning::{Learning, LearningState, NewLearning, Record, Source, UnknownSource, counted};
pub use left_file::LeftFile;
pub use neighbour::Neighbour;
pub use outcome::{ErrorType, FailureClass, Outcome};
pub use spent::{AttemptCost, Cost, SpentOnTask, dollars};
pub use stats::{CategorySums, ModelSums, Recent, RetrySums, Stats, Sums, TaskSums};
pub use strategy::{ChosenBy, ModelChoice, NO_MODEL, Strategy, UnknownStrategy};
pub use task::{DoneBy, NewTask, Status, TITLE_CHARS, Task, TaskEdit, UnknownStatus};
pub use time::Timestamp;
