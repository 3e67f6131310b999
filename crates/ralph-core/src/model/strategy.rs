//! The names of the ways to choose a model, and a choice made.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A way to choose the model of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Always the same model.
    Fixed,
    /// Start at the bottom, one rung up per counted failure.
    Escalate,
    /// The middle rung, up when it fails.
    CostOptimized,
    /// The strongest for planning tasks and the first attempt, the middle afterwards.
    PlanThenExecute,
    /// What is worth most by all that was learned.
    #[default]
    Adaptive,
}

/// A strategy that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a strategy: use fixed, escalate, cost-optimized, plan-then-execute or adaptive"
)]
pub struct UnknownStrategy(pub String);

impl Strategy {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Fixed,
        Self::Escalate,
        Self::CostOptimized,
        Self::PlanThenExecute,
        Self::Adaptive,
    ];

    /// Its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Escalate => "escalate",
            Self::CostOptimized => "cost-optimized",
            Self::PlanThenExecute => "plan-then-execute",
            Self::Adaptive => "adaptive",
        }
    }
}

impl std::str::FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(text: &str) -> Result<Self, UnknownStrategy> {
        Self::ALL
            .into_iter()
            .find(|strategy| strategy.as_str() == text)
            .ok_or_else(|| UnknownStrategy(text.to_owned()))
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The model in the record of a parent's own gate, which no agent ran.
pub const NO_MODEL: &str = "none";

/// Who chose the model of an attempt, the weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChosenBy {
    /// The strategy.
    #[default]
    Strategy,
    /// The task, which names its model.
    Task,
    /// The attempt before, which asked for it.
    Hint,
    /// `--model`.
    CommandLine,
}

impl ChosenBy {
    /// The reason that is given where it was not the strategy.
    #[must_use]
    pub fn rationale(self) -> Option<&'static str> {
        match self {
            Self::Strategy => None,
            Self::Task => Some("the task's own model"),
            Self::Hint => Some("hinted by previous iteration"),
            Self::CommandLine => Some("given on the command line"),
        }
    }

    /// Who it was, by the reason that was recorded.
    #[must_use]
    pub fn from_rationale(text: &str) -> Self {
        [Self::Task, Self::Hint, Self::CommandLine]
            .into_iter()
            .find(|by| by.rationale() == Some(text))
            .unwrap_or_default()
    }
}

/// The model of one attempt, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelChoice {
    /// The model's name as given to the agent.
    pub model: String,
    /// Why, for people and for the agent.
    pub rationale: String,
}
