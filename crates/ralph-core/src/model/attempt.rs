//! What is recorded of an attempt.

use serde::{Deserialize, Serialize};

use crate::diagnose::Diagnosis;

use super::{Difficulty, ErrorType, Key, Outcome, RunId, TaskId, Timestamp};

/// One try on one task, as `ralph history --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attempt {
    /// The task.
    pub task_id: TaskId,
    /// The task's key.
    pub key: Option<Key>,
    /// The ordinal among the task's counted tries; an uncounted try bears the number it would have had.
    pub attempt: u32,
    /// The run it belongs to.
    pub run_id: Option<RunId>,
    /// Which attempt of the run.
    pub iteration: Option<u32>,
    /// The model asked for.
    pub model: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether it is done and the gate passed.
    pub verified: bool,
    /// What went wrong.
    pub error_type: Option<ErrorType>,
    /// When it began.
    pub started_at: Timestamp,
    /// How long it took.
    pub duration_ms: u64,
    /// What it cost, where that is known.
    pub cost_usd: Option<f64>,
    /// Whether Ralph estimated the cost from tokens and prices.
    pub cost_estimated: bool,
    /// Input tokens as reported.
    pub tokens_input: Option<u64>,
    /// Output tokens as reported.
    pub tokens_output: Option<u64>,
    /// HEAD before.
    pub commit_before: Option<String>,
    /// HEAD after.
    pub commit_after: Option<String>,
    /// Where its work is kept that was rolled back.
    pub undone_ref: Option<String>,
    /// Files the attempt changed; none where there is no repository.
    pub files_changed: Option<Vec<String>>,
    /// Why this model.
    pub rationale: Option<String>,
    /// Whether it counts for or against the task.
    pub counted: bool,
    /// The rest of what is known.
    #[serde(flatten)]
    pub detail: AttemptDetail,
}

/// Further facts of an attempt that `history --json` adds to the contract's fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AttemptDetail {
    /// The try's number in the database, uncounted tries included.
    pub attempt_number: u32,
    /// The worker that made it.
    pub worker: Option<String>,
    /// The agent's name.
    pub agent: Option<String>,
    /// The agent's session id.
    pub session_id: Option<String>,
    /// Tokens read from a cache.
    pub tokens_cache_read: Option<u64>,
    /// Tokens written to a cache.
    pub tokens_cache_write: Option<u64>,
    /// One line on what happened.
    pub message: Option<String>,
    /// What the gate said.
    pub gate: Option<GateOutcome>,
    /// The gate failed at first and passed when run again.
    pub gate_flaky: bool,
    /// The gate was green before the first attempt.
    pub gate_green_before: Option<bool>,
    /// Files the gate's command names that the attempt changed.
    pub gate_files_changed: Vec<String>,
    /// End of the gate's output.
    pub gate_output: Option<String>,
    /// Whether git saw no change at all.
    pub changed_nothing: Option<bool>,
    /// Tools the agent was denied.
    pub denials: Vec<String>,
    /// How often the agent had to try its service again.
    pub service_retries: u64,
    /// The raw event stream.
    pub log_path: Option<String>,
    /// The learnings its prompt showed, best first.
    pub learnings_shown: Vec<String>,
    /// Equal: the same failure.
    pub fingerprint_coarse: Option<String>,
    /// Equal: the same to the message.
    pub fingerprint_fine: Option<String>,
    /// The tests that failed, where they are named.
    pub failing_tests: Vec<String>,
}

/// What the gate said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateOutcome {
    /// Exit 0.
    Passed,
    /// Any other exit.
    Failed,
    /// It timed out after it may.
    TimedOut,
    /// It could not run: a program it needs could not be started.
    Broken,
}

impl GateOutcome {
    /// The stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Broken => "broken",
        }
    }

    /// Reads the stored name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Passed, Self::Failed, Self::TimedOut, Self::Broken]
            .into_iter()
            .find(|g| g.as_str() == text)
    }
}

/// A gate that was run, as capture records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateRecord {
    /// The command, shortened to a line.
    pub command: String,
    /// What it said in the end.
    pub outcome: GateOutcome,
    /// How its last run ended, as the end of a sentence: `exited with code 1`.
    pub ended: String,
    /// It failed at first and passed when run again.
    pub flaky: bool,
    /// What its output says of the failure. Not stored.
    pub diagnosis: Box<Diagnosis>,
    /// The end of its output, which is stored.
    pub output_tail: String,
    /// Files its command names that the attempt changed.
    pub touched: Vec<String>,
    /// What makes a broken gate run: `install npm`.
    pub fix: Option<String>,
}

impl GateRecord {
    /// What its output says went wrong, in one line; its last line where nothing in it looks like an error.
    pub fn headline(&self) -> Option<String> {
        let last = || {
            let mut lines = self.output_tail.lines().map(str::trim);
            lines.rfind(|line| !line.is_empty()).map(str::to_owned)
        };
        self.diagnosis.headline().or_else(last)
    }
}

/// What git says an attempt did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitRecord {
    /// HEAD before.
    pub commit_before: Option<String>,
    /// HEAD after.
    pub commit_after: Option<String>,
    /// Files changed, Ralph's own left out; `None` without a repository.
    pub files_changed: Option<Vec<String>>,
    /// Where the work is kept that was rolled back.
    pub undone_ref: Option<String>,
}

/// A commit that is about to be made: should its maker die, it is found by this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitIntent {
    /// HEAD before; none before the first commit.
    pub head: Option<String>,
    /// The full name of the branch; none on none.
    pub branch: Option<String>,
    /// The object that holds the files to be committed, unless a hook changes them.
    pub tree: String,
    /// The first line of the message, unless a hook changes it.
    pub subject: String,
}

/// What a failure's fingerprint was taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MarkSource {
    /// The gate's output.
    #[default]
    Gate,
    /// The trace in the agent's report.
    Trace,
    /// What the agent said: the same words mean the same failure, but other words mean nothing.
    Text,
}

impl MarkSource {
    /// The stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Trace => "trace",
            Self::Text => "text",
        }
    }

    /// Reads the stored name; what older versions stored came from the gate.
    pub fn from_stored(text: Option<&str>) -> Self {
        [Self::Trace, Self::Text]
            .into_iter()
            .find(|source| Some(source.as_str()) == text)
            .unwrap_or_default()
    }
}

/// What a failure is recognised by when it happens again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureMark {
    /// What it was taken from.
    pub source: MarkSource,
    /// Equal: the same failure.
    pub coarse: String,
    /// Equal: to the message.
    pub fine: String,
    /// The tests that failed, sorted; empty where none are named.
    pub failing: Vec<String>,
}

/// A structured account of a failed attempt, as stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReportRow {
    /// What the agent did.
    pub what_was_tried: String,
    /// The cause.
    pub why_it_failed: String,
    /// Its category.
    pub error_category: Option<String>,
    /// Files named in the report, then those changed.
    pub relevant_files: Vec<String>,
    /// Start of the trace.
    pub stack_trace_snippet: Option<String>,
    /// What the agent would try next.
    pub retry_suggestion: Option<String>,
    /// Start of the result text, where Ralph wrote the report.
    pub excerpt: Option<String>,
    /// Ralph wrote it for want of a report.
    pub auto: bool,
}

/// The kept counters of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskMetrics {
    /// Counted attempts.
    pub total_attempts: u32,
    /// Counted failures since the last success.
    pub consecutive_failures: u32,
    /// Three or more of them.
    pub stuck: bool,
    /// The agent's last estimate.
    pub difficulty: Option<Difficulty>,
    /// The model the last attempt asked for.
    pub next_model: Option<String>,
    /// Lost tries in a row.
    pub lost_in_a_row: u32,
    /// How often its failures were forgiven.
    pub forgiven: u32,
}
