//! What a prompt is made from: plain data, already chosen and ranked by the caller.

use super::further::FurtherPart;

/// The task's own part of the prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskPart {
    /// The task's id, as signals name it.
    pub id: String,
    /// The task's title.
    pub title: String,
    /// The task's description: the user's text, shown as it is.
    pub description: String,
    /// When its author calls it done: the user's text.
    pub done_when: Option<String>,
    /// The commit message its author wishes.
    pub commit: Option<String>,
    /// Further sections, safe to show.
    pub further: Vec<FurtherPart>,
    /// The task above this one, if any.
    pub parent: Option<ParentPart>,
    /// Dependencies that are done, in plan order.
    pub prerequisites: Vec<Prerequisite>,
    /// The directory of reference documents, if the project has one.
    pub specs_dir: Option<String>,
}

/// The parent of the task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParentPart {
    /// The parent's title.
    pub title: String,
    /// The parent's description; may be empty.
    pub description: String,
}

/// A dependency that is done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prerequisite {
    /// The dependency's id.
    pub id: String,
    /// The dependency's title.
    pub title: String,
    /// What its done attempt said it did: an agent's words, so they are neutralised.
    pub summary: Option<String>,
}

/// One failed, counted attempt of this task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PastAttempt {
    /// The ordinal among counted attempts.
    pub number: u32,
    /// The model that made the attempt.
    pub model: String,
    /// How it ended: `failed`, `no_sigil` or `error`.
    pub outcome: String,
    /// How long it took.
    pub duration_ms: u64,
    /// The account of the failure, if there is one.
    pub report: Option<AttemptReport>,
}

/// An account of a failed attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttemptReport {
    /// Whether Ralph wrote it because the agent gave none.
    pub auto: bool,
    /// The approach that was taken.
    pub what_was_tried: String,
    /// Why it did not work.
    pub why_it_failed: String,
    /// The kind of error, such as `test_failure`.
    pub error_category: Option<String>,
    /// The files the failure is about.
    pub relevant_files: Vec<String>,
    /// Part of the error output, as the agent reported it.
    pub stack_trace: Option<String>,
    /// What the agent would try next.
    pub retry_suggestion: Option<String>,
    /// The most telling piece of output Ralph found itself.
    pub excerpt: Option<String>,
}

/// A learning that is relevant to the task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownLearning {
    /// The learning's id, given back in [`RenderedMemory`](super::RenderedMemory) if shown.
    pub id: String,
    /// Its category, such as `pitfall`.
    pub category: String,
    /// Its text.
    pub content: String,
}

/// Where the run and the task stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopStatus {
    /// The iteration of this run that now starts.
    pub iteration: u32,
    /// The run's limit of iterations; none, or 0, is `unlimited`.
    pub limit: Option<u32>,
    /// One more than the task's recorded attempts.
    pub attempt: u32,
    /// The task's failures in a row.
    pub consecutive_failures: u32,
    /// Attempts of this run that ended done.
    pub run_successes: u32,
    /// Attempts of this run.
    pub run_total: u32,
    /// The model chosen for this attempt.
    pub model: String,
    /// Why that model was chosen.
    pub rationale: String,
    /// Whether the task counts as stuck, which brings the warning.
    pub stuck: bool,
    /// Further lines, quoted after the warning (stance, split hint); shown only when stuck.
    pub further_lines: Vec<String>,
    /// Whether the rules of this prompt say how to ask for a change to the plan; then the warning says so too.
    pub may_change_plan: bool,
}

/// A failure of another task of the same phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseFailure {
    /// The other task's key, or its id.
    pub key: String,
    /// When it failed, as it is to be shown.
    pub time: String,
    /// The error.
    pub error: String,
}

/// Everything remembered that may be worth telling this attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// This task's failed attempts, oldest first.
    pub attempts: Vec<PastAttempt>,
    /// Relevant learnings, best first, without near-duplicates, all above the floor.
    pub learnings: Vec<ShownLearning>,
    /// Where the run and the task stand.
    pub status: LoopStatus,
    /// Failures of other tasks of the phase, newest first.
    pub phase_failures: Vec<PhaseFailure>,
    /// The file that has the phase's failures in full; `AGENTS.md` if not given, none if empty.
    pub agents_md: Option<String>,
}
