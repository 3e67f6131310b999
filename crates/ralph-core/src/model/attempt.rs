//! What is recorded of an attempt.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::diagnose::{Diagnosis, denies_error};
use crate::sandbox::SandboxRecord;

use super::{
    BaselineRun, ChosenBy, Difficulty, ErrorType, GateOf, GateRun, Key, Outcome, RunId, Task, TaskId,
    Timestamp, Verification,
};

/// One attempt on one task: built by the engine, stored, and read back as `ralph history --json` prints it. Fields that
/// are skipped there are recorded all the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    pub task_id: TaskId,
    pub key: Option<Key>,
    pub spec: Option<String>,
    /// What people call the task.
    pub name: String,
    /// The ordinal among the task's counted attempts; an uncounted one bears the number it would have had.
    pub attempt: u32,
    pub run_id: Option<RunId>,
    pub iteration: Option<u32>,
    pub model: String,
    pub outcome: Outcome,
    /// Whether it is done and a gate passed.
    pub verified: bool,
    /// What the word done rests on; where it is not done, what is known all the same.
    pub verification: Verification,
    pub error_type: Option<ErrorType>,
    pub started_at: Timestamp,
    pub duration_ms: u64,
    pub cost_usd: Option<f64>,
    /// Whether Ralph estimated the cost from tokens and prices.
    pub cost_estimated: bool,
    pub tokens_input: Option<u64>,
    pub tokens_output: Option<u64>,
    pub commit_before: Option<String>,
    pub commit_after: Option<String>,
    /// Where its work is kept that was rolled back.
    pub undone_ref: Option<String>,
    /// Files the attempt changed, Ralph's own left out; none where there is no repository.
    pub files_changed: Option<Vec<String>>,
    pub rationale: Option<String>,
    /// Whether it counts for or against the task.
    pub counted: bool,
    /// Its number in the database, uncounted attempts included.
    pub attempt_number: u32,
    pub worker: Option<String>,
    /// Who worked; none where only a parent's gate was run.
    pub agent: Option<String>,
    pub session_id: Option<String>,
    pub tokens_cache_read: Option<u64>,
    pub tokens_cache_write: Option<u64>,
    pub message: Option<String>,
    pub gate: Option<GateOutcome>,
    /// The gate failed at first and passed when run again.
    pub gate_flaky: bool,
    /// The gate was green before the attempt.
    pub gate_green_before: Option<bool>,
    /// Protected files that the attempt changed; Ralph put them back before the gate ran.
    pub gate_files_changed: Vec<String>,
    pub gate_output: Option<String>,
    /// Whether git saw no change at all.
    pub changed_nothing: Option<bool>,
    pub denials: Vec<String>,
    /// How often the agent had to try its service again.
    pub service_retries: u64,
    pub log_path: Option<String>,
    /// The learnings its prompt showed, best first.
    pub learnings_shown: Vec<String>,
    /// What confined it, and what the sandbox denied; none in attempts of earlier versions.
    pub sandbox: Option<SandboxRecord>,
    pub fingerprint_coarse: Option<String>,
    /// Equal: the same to the message.
    pub fingerprint_fine: Option<String>,
    pub failing_tests: Vec<String>,
    #[serde(skip_serializing, default)]
    pub fingerprint_source: MarkSource,
    #[serde(skip_serializing, default)]
    pub work_dir: Option<String>,
    /// The model by the agent's own account.
    #[serde(skip_serializing, default)]
    pub agent_model: Option<String>,
    /// First sentence of a done attempt's result.
    #[serde(skip_serializing, default)]
    pub summary: Option<String>,
    /// The last usage limit that the service spoke of, as JSON.
    #[serde(skip_serializing, default)]
    pub limit_notice: Option<String>,
}

impl Attempt {
    /// An attempt of which nothing is known but its begin.
    pub fn new(task: &Task, started_at: Timestamp) -> Self {
        Self {
            task_id: task.id.clone(),
            key: task.key.clone(),
            spec: task.spec.clone(),
            name: task.name.clone(),
            attempt: 1,
            attempt_number: 1,
            model: "unknown".to_owned(),
            counted: true,
            started_at,
            ..Self::default()
        }
    }

    pub fn ended_at(&self) -> Timestamp {
        self.started_at.plus(Duration::from_millis(self.duration_ms))
    }

    /// Takes the rest from what is known: whether it is verified, and whether anything changed.
    pub fn derive(mut self) -> Self {
        self.verified = self.outcome == Outcome::Done && self.verification.level.is_verified();
        self.changed_nothing = self.files_changed.as_ref().map(Vec::is_empty);
        self
    }

    pub fn set_git(&mut self, git: GitRecord) {
        self.commit_before = git.commit_before;
        self.commit_after = git.commit_after;
        self.files_changed = git.files_changed;
        self.undone_ref = git.undone_ref;
    }

    pub fn set_gate(&mut self, gate: &GateRecord) {
        self.gate = Some(gate.outcome);
        self.gate_flaky = gate.flaky;
        self.gate_output = Some(gate.output_tail.clone());
    }

    pub fn set_mark(&mut self, mark: FailureMark) {
        self.fingerprint_coarse = Some(mark.coarse);
        self.fingerprint_fine = Some(mark.fine);
        self.failing_tests = mark.failing;
        self.fingerprint_source = mark.source;
    }

    /// What its failure is recognized by when it happens again.
    pub fn mark(&self) -> Option<FailureMark> {
        Some(FailureMark {
            source: self.fingerprint_source,
            coarse: self.fingerprint_coarse.clone()?,
            fine: self.fingerprint_fine.clone()?,
            failing: self.failing_tests.clone(),
        })
    }

    /// Its commit, where it made one.
    pub fn commit(&self) -> Option<&str> {
        self.commit_after.as_deref().filter(|_| self.committed())
    }

    /// Whether it made commits.
    pub fn committed(&self) -> bool {
        self.commit_after.is_some() && self.commit_before != self.commit_after
    }

    /// Its model, where a person chose it for this attempt.
    pub fn users_model(&self) -> Option<&str> {
        let by = ChosenBy::from_rationale(self.rationale.as_deref()?);
        (by == ChosenBy::User).then_some(self.model.as_str())
    }

    /// Whether an agent worked and nobody knows for how much.
    pub fn cost_is_unknown(&self) -> bool {
        let worked = self.agent.is_some() && self.error_type != Some(ErrorType::Spawn);
        worked && self.cost_usd.is_none()
    }
}

names! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum GateOutcome {
        Passed => "passed",
        Failed => "failed",
        /// The gate of a fix task's original still fails, but no longer with the error that the task was to fix.
        FailedDifferently => "failed_differently",
        /// It timed out after it may.
        TimedOut => "timed_out",
        /// It could not run: a program it needs could not be started.
        Broken => "broken",
    }
}

impl GateOutcome {
    pub fn passed(self) -> bool {
        self == Self::Passed
    }
}

/// A gate that was run, as capture records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateRecord {
    pub of: GateOf,
    /// The command, shortened to a line.
    pub command: String,
    /// The whole command, masked.
    pub full_command: String,
    /// What it said in the end.
    pub outcome: GateOutcome,
    /// None where it was killed, timed out or could not be started.
    pub exit_code: Option<i32>,
    /// How long all its runs took.
    pub duration_ms: u64,
    /// How its last run ended, as the end of a sentence: `exited with code 1`.
    pub ended: String,
    /// It failed at first and passed when run again.
    pub flaky: bool,
    /// The tests that failed at first, where it is flaky.
    pub flaky_tests: Vec<String>,
    /// What it said before the task's first attempt.
    pub baseline: BaselineRun,
    /// Tests that fail now and did not before.
    pub regressions: Vec<String>,
    /// It fails, but only as it did before the task.
    pub excused: bool,
    /// What its output says of the failure. Not stored.
    pub diagnosis: Box<Diagnosis>,
    /// The end of its output, which is stored.
    pub output_tail: String,
    /// What makes a broken gate run: `install npm`.
    pub fix: Option<String>,
}

impl GateRecord {
    pub fn passed(&self) -> bool {
        self.outcome.passed()
    }

    /// What is stored of it as evidence.
    pub fn evidence(&self) -> GateRun {
        GateRun {
            of: self.of,
            command: self.full_command.clone(),
            outcome: self.outcome,
            exit_code: self.exit_code,
            duration_ms: self.duration_ms,
            flaky: self.flaky,
            flaky_tests: self.flaky_tests.clone(),
            tests: self.diagnosis.tests,
            regressions: self.regressions.clone(),
            excused: self.excused,
            baseline: self.baseline.clone(),
        }
    }

    /// What its output says went wrong, in one line; its last line where nothing in it looks like an error.
    pub fn headline(&self) -> Option<String> {
        let last = || {
            let mut lines = self.output_tail.lines().map(str::trim);
            lines.rfind(|line| !line.is_empty()).map(str::to_owned)
        };
        // A bare number says nothing, and neither does a line that tells of no error or the last one before a time limit.
        let is_late = self.outcome == GateOutcome::TimedOut;
        let last = || last().filter(|line| !is_late && !denies_error(line));
        self.diagnosis.headline().or_else(last).filter(|line| line.contains(char::is_alphabetic))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitRecord {
    pub commit_before: Option<String>,
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
    /// Whether the attempt works in a tree of Ralph's own: then it is done only when it has landed.
    #[serde(default)]
    pub isolated: bool,
    /// The commit that the branch is about to be moved to.
    #[serde(default)]
    pub landing: Option<LandingIntent>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingIntent {
    pub branch: String,
    pub commit: String,
}

names! {
    /// What a failure's fingerprint was taken from.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum MarkSource {
        #[default]
        Gate => "gate",
        /// The trace in the agent's report.
        Trace => "trace",
        /// What the agent said: the same words mean the same failure, but other words mean nothing.
        Text => "text",
    }
}

/// What a failure is recognized by when it happens again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureMark {
    pub source: MarkSource,
    pub coarse: String,
    pub fine: String,
    /// The tests that failed, sorted; empty where none are named.
    pub failing: Vec<String>,
}

/// What an attempt said last and the end of its log, masked, for machines that do not have the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptOutput {
    /// The machine that has the log.
    pub host: String,
    pub final_text: String,
    /// Whole lines.
    pub tail: String,
}

/// A structured account of a failed attempt, as stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportRow {
    pub what_was_tried: String,
    pub why_it_failed: String,
    pub error_category: Option<String>,
    /// Files named in the report, then those changed.
    pub relevant_files: Vec<String>,
    /// What the agent's report quotes, else the telling part of what the gate or the commit printed.
    pub stack_trace_snippet: Option<String>,
    pub retry_suggestion: Option<String>,
    /// Start of the result text, where Ralph wrote the report.
    pub excerpt: Option<String>,
    /// Ralph wrote it for want of a report.
    pub auto: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskMetrics {
    pub total_attempts: u32,
    pub consecutive_failures: u32,
    /// Three or more of them.
    pub stuck: bool,
    pub difficulty: Option<Difficulty>,
    /// The model the last attempt asked for.
    pub next_model: Option<String>,
    /// The model that a person chose for the next attempt.
    pub users_model: Option<String>,
    pub lost_in_a_row: u32,
    /// Attempts in a row whose work was good and did not go together with what others had landed.
    pub landing_failures: u32,
    /// How often its failures were forgiven.
    pub forgiven: u32,
}

/// A file that an attempt changed and nobody committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftoverFile {
    pub path: Vec<u8>,
    /// How it was left, as `git/` describes it.
    pub state: String,
}
