//! What the word done rests on.

use serde::{Deserialize, Serialize};

use super::GateOutcome;

names! {
    /// The strongest evidence that a task is done.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Level {
        /// The task's own gate passed.
        Gate => "gate",
        /// The task has no gate of its own, and the project's passed.
        Project => "project",
        /// Another agent accepted it; no gate passed.
        Review => "review",
        #[default]
        None => "none",
    }
}

impl Level {
    /// Whether a gate passed.
    pub fn is_verified(self) -> bool {
        matches!(self, Self::Gate | Self::Project)
    }
}

names! {
    /// What a gate said of the tree before the task's first attempt.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Baseline {
        /// It passed without the task's work, so that passing later shows little.
        Green => "green",
        Red => "red",
        /// It was not run, took too long or could not run.
        #[default]
        Unknown => "unknown",
    }
}

names! {
    /// Whose gate it is.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum GateOf {
        /// The task's own.
        #[default]
        Task => "task",
        /// `[gate] default`, for tasks without their own.
        Default => "default",
        /// `[gate] always`, which runs after every task's gate.
        Always => "always",
    }
}

impl Baseline {
    pub fn from_green(green: Option<bool>) -> Self {
        match green {
            Some(true) => Self::Green,
            Some(false) => Self::Red,
            None => Self::Unknown,
        }
    }

    pub fn is_green(self) -> Option<bool> {
        match self {
            Self::Green => Some(true),
            Self::Red => Some(false),
            Self::Unknown => None,
        }
    }
}

/// How many tests a runner says it had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCounts {
    pub collected: u64,
    pub passed: u64,
    pub failed: u64,
    /// Those that were left out on purpose: skipped, ignored, to do.
    pub skipped: u64,
}

/// What a gate said before the task's first attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineRun {
    pub result: Baseline,
    pub tests: Option<TestCounts>,
    pub failing: Vec<String>,
}

/// A gate that judged an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateRun {
    pub of: GateOf,
    /// The whole command, masked.
    pub command: String,
    pub outcome: GateOutcome,
    /// None where it was killed, timed out or could not be started.
    pub exit_code: Option<i32>,
    pub duration_ms: u64,
    pub flaky: bool,
    /// The tests that failed at first, where it is flaky.
    pub flaky_tests: Vec<String>,
    pub tests: Option<TestCounts>,
    /// Tests that fail now and did not before.
    pub regressions: Vec<String>,
    /// It fails, but only as it did before the task.
    pub excused: bool,
    pub baseline: BaselineRun,
}

names! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ReviewVerdict {
        Accepted => "accepted",
        Rejected => "rejected",
        /// The reviewer failed or gave no verdict.
        NotGiven => "not_given",
    }
}

/// What another agent said of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    pub verdict: ReviewVerdict,
    pub agent: String,
    /// Each one line, cleaned and masked. Of a review that was not given: why not.
    pub findings: Vec<String>,
}

/// What the word done rests on, as JSON shows it: `verification` of a task and of an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Verification {
    pub level: Level,
    /// Of the task's own gate, else of the project's.
    pub baseline: Baseline,
    /// The gate that verified it passed before any work was done, and no more tests were collected afterwards.
    pub already_green: bool,
    /// A gate failed at first and passed when run again on the same tree.
    pub flaky: bool,
    /// Protected files that the attempt changed, and that the gate was judged without.
    pub protected: Vec<String>,
    /// Signs in what the attempt changed that tests check less than before. Nothing follows from them.
    pub weakened: Vec<String>,
    pub review: Option<Review>,
    /// Why nothing had to be changed, in the agent's words.
    pub no_change_needed: Option<String>,
    pub gates: Vec<GateRun>,
}

impl BaselineRun {
    pub fn red() -> Self {
        Self { result: Baseline::Red, ..Self::default() }
    }

    /// Whether more tests were collected afterwards.
    pub fn has_fewer_tests(&self, after: Option<TestCounts>) -> bool {
        self.tests.zip(after).is_some_and(|(before, after)| after.collected > before.collected)
    }
}

impl GateRun {
    /// Whether it passed before any work and shows no more now.
    pub fn is_already_green(&self) -> bool {
        self.baseline.result == Baseline::Green && !self.baseline.has_fewer_tests(self.tests)
    }
}

impl Verification {
    pub fn of_level(level: Level) -> Self {
        Self { level, ..Self::default() }
    }
}
