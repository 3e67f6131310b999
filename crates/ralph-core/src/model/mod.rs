//! The words of the domain: ids, statuses, outcomes, models. Plain data, no behaviour beyond itself.

mod attempt;
mod difficulty;
mod ids;
mod learning;
mod outcome;
mod stats;
mod strategy;
mod task;
mod time;

pub use attempt::{
    Attempt, AttemptDetail, FailureMark, GateOutcome, GateRecord, GitRecord, ReportRow, TaskMetrics,
};
pub use difficulty::Difficulty;
pub use ids::{IdError, Key, LearningId, Phase, RunId, TaskId, Token};
pub use learning::{Learning, LearningState, NewLearning, Record, Source, UnknownSource, counted};
pub use outcome::{ErrorType, FailureClass, Outcome};
pub use stats::{CategorySums, ModelSums, RetrySums, Stats, Sums, TaskSums};
pub use strategy::{ModelChoice, Strategy, UnknownStrategy};
pub use task::{NewTask, Status, Task, TaskEdit, UnknownStatus};
pub use time::Timestamp;
