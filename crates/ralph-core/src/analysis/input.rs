//! What the analysis is made from.

/// A counted failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fact {
    /// The task's key or id: equal means the same task.
    pub task: String,
    /// The name its author gave it.
    pub key: Option<String>,
    /// The phase it belongs to.
    pub phase: Option<String>,
    /// The model that tried.
    pub model: String,
    /// What kind of failure it was, such as `test_failure`, `timeout` or `crash`.
    pub error_type: Option<String>,
    /// `failed`, `no_sigil` or `error`.
    pub outcome: String,
    /// The coarse fingerprint: equal means the same failure.
    pub coarse: Option<String>,
    /// Why it failed, in one or more lines.
    pub message: String,
    /// Files the report names, then files the attempt changed.
    pub files: Vec<String>,
    /// The verify command that failed.
    pub gate: Option<String>,
    /// The names of failing tests.
    pub failing: Vec<String>,
}

/// What stands around the failures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Failures of late that count against no task, by `error_type`, and how often.
    pub recent_uncounted: Vec<(String, u32)>,
    /// The agent's models, cheapest first.
    pub ladder: Vec<String>,
    /// How long an attempt may take; 0 is less than a minute.
    pub attempt_timeout_minutes: u64,
    /// Whether failed tasks get fix tasks.
    pub recovery: bool,
}
