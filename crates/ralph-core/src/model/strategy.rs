//! How the model of an attempt is chosen, and what the choice rests on.

use serde::{Deserialize, Serialize};

names! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Strategy as "a strategy" {
        Fixed => "fixed",
        /// Start at the bottom, one rung up per counted failure.
        Escalate => "escalate",
        /// The middle rung, up when it fails.
        CostOptimized => "cost-optimized",
        /// The strongest for planning tasks and the first attempt, the middle afterwards.
        PlanThenExecute => "plan-then-execute",
        /// What is worth most by all that was learned.
        #[default]
        Adaptive => "adaptive",
    }
}

/// The model in the record of a parent's own gate, which no agent ran.
pub const NO_MODEL: &str = "none";

/// Who chose the model of an attempt, the weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChosenBy {
    #[default]
    Strategy,
    /// The task, which names its model.
    Task,
    /// The attempt before, which asked for it.
    Hint,
    CommandLine,
    /// The user, for this attempt of this task.
    User,
}

impl ChosenBy {
    /// The reason that is given where it was not the strategy.
    pub fn rationale(self) -> Option<&'static str> {
        match self {
            Self::Strategy => None,
            Self::Task => Some("the task's own model"),
            Self::Hint => Some("hinted by previous iteration"),
            Self::CommandLine => Some("given on the command line"),
            Self::User => Some("chosen by the user for this attempt"),
        }
    }

    pub fn from_rationale(text: &str) -> Self {
        [Self::Task, Self::Hint, Self::CommandLine, Self::User]
            .into_iter()
            .find(|by| by.rationale() == Some(text))
            .unwrap_or_default()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelChoice {
    pub model: String,
    /// Why, for people and for the agent.
    pub rationale: String,
}

names! {
    /// The five values of `<difficulty-estimate>`, easiest first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Difficulty {
        Trivial => "trivial",
        Easy => "easy",
        /// Ordinary feature work over several modules.
        Moderate => "moderate",
        Hard => "hard",
        /// Nothing more can be done without a person.
        Blocked => "blocked",
    }
}

/// A task that was attempted and is like the one in question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Neighbour {
    pub name: String,
    pub likeness: f64,
    pub difficulty: Option<Difficulty>,
    pub failed: Vec<String>,
    pub done: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::Difficulty;

    #[test]
    fn dif_01_exactly_five_names() {
        for value in Difficulty::ALL {
            assert_eq!(Difficulty::parse(value.as_str()), Some(value));
        }
        for wrong in ["", "super-hard", "Hard", "trivial|easy|moderate|hard|blocked", "hard easy"] {
            assert_eq!(Difficulty::parse(wrong), None, "{wrong:?}");
        }
    }
}
