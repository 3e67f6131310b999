//! The words of the domain: ids, statuses, outcomes, models. Plain data, no behavior beyond itself.

/// Gives the variants of an enum the names that the database, JSON and the command line use: `names! { enum … }` declares
/// the enum too. With a noun (`pub enum Status as "a status"`), people may type them.
macro_rules! names {
    ($(#[$attribute:meta])* pub enum $type:ident $(as $what:literal)? {
        $($(#[$of_variant:meta])* $variant:ident => $name:literal,)*
    }) => {
        $(#[$attribute])*
        pub enum $type {
            $($(#[$of_variant])* $variant,)*
        }

        names!($type $(, $what)? { $($variant => $name,)* });
    };
    ($type:ident, $what:literal { $($variant:ident => $name:literal,)* }) => {
        names!($type { $($variant => $name,)* });

        impl std::str::FromStr for $type {
            type Err = $crate::model::UnknownName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::parse(text).ok_or_else(|| Self::Err::new(text, $what, &[$($name),*]))
            }
        }
    };
    ($type:ident { $($variant:ident => $name:literal,)* }) => {
        impl $type {
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The variant with exactly this name.
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

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not {what}: use {choices}")]
pub struct UnknownName {
    name: String,
    what: &'static str,
    choices: String,
}

impl UnknownName {
    pub(crate) fn new(name: &str, what: &'static str, choices: &[&str]) -> Self {
        let (last, others) = choices.split_last().unwrap_or((&"", &[]));
        Self { name: name.to_owned(), what, choices: format!("{} or {last}", others.join(", ")) }
    }
}

mod attempt;
mod cost;
mod ids;
mod learning;
mod outcome;
mod strategy;
mod task;
mod time;
mod verification;

pub use attempt::{
    Attempt, AttemptOutput, CommitIntent, FailureMark, GateOutcome, GateRecord, GitRecord, LandingIntent,
    LeftoverFile, MarkSource, ReportRow, TaskMetrics,
};
pub use cost::{
    AttemptCost, CategorySums, Cost, FlakySums, ModelSums, Recent, RetrySums, ReviewSums, SpentOnTask, Stats,
    Sums, TaskSums, dollars,
};
pub use ids::{IdError, Key, LearningId, Phase, RunId, TaskId, Token};
pub use learning::{Learning, LearningState, NewLearning, Record, Source, counted};
pub use outcome::{ErrorType, FailureClass, Outcome};
pub use strategy::{ChosenBy, Difficulty, ModelChoice, NO_MODEL, Neighbour, Strategy};
pub use task::{DoneBy, NewTask, Status, TITLE_CHARS, Task, TaskEdit};
pub use time::Timestamp;
pub use verification::{
    Baseline, BaselineRun, GateOf, GateRun, Level, Review, ReviewVerdict, TestCounts, Verification,
};
