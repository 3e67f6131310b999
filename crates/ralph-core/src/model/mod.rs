//! The words of the domain: ids, statuses, outcomes, models. Plain data, no behavior beyond itself.

/// Gives the variants of an enum the names that the database, JSON and the command line use.
macro_rules! names {
    ($type:ident { $($variant:ident => $name:literal,)* }) => {
        impl $type {
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The variant with exactly this name.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.as_str() == text)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

pub(crate) use names;

mod attempt;
mod cost;
mod ids;
mod learning;
mod outcome;
mod strategy;
mod task;
mod time;

pub use attempt::{
    Attempt, CommitIntent, FailureMark, GateOutcome, GateRecord, GitRecord, LeftoverFile, MarkSource,
    ReportRow, TaskMetrics,
};
pub use cost::{
    AttemptCost, CategorySums, Cost, ModelSums, Recent, RetrySums, SpentOnTask, Stats, Sums, TaskSums,
    dollars,
};
pub use ids::{IdError, Key, LearningId, Phase, RunId, TaskId, Token};
pub use learning::{Learning, LearningState, NewLearning, Record, Source, UnknownSource, counted};
pub use outcome::{ErrorType, FailureClass, Outcome};
pub use strategy::{ChosenBy, Difficulty, ModelChoice, NO_MODEL, Neighbour, Strategy, UnknownStrategy};
pub use task::{DoneBy, NewTask, Status, TITLE_CHARS, Task, TaskEdit, UnknownStatus};
pub use time::Timestamp;
