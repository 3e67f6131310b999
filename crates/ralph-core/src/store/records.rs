//! What is recorded of attempts: what goes into the store, and what comes out of it.

use serde::Serialize;

use super::{Lesson, NewFix, PlanChange, RecoveryEnd};
use crate::breaker::BreakerChange;
use crate::event::RunEvent;
use crate::model::{
    Attempt, Cost, ErrorType, Key, LearningId, NewLearning, Outcome, ReportRow, RunId, TaskId, TaskMetrics,
    Timestamp, Token,
};

/// Recorded tries of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tries {
    pub recorded: u32,
    pub counted: u32,
}

/// What is known when an attempt begins.
#[derive(Clone, Debug)]
pub struct AttemptStart {
    pub task_id: TaskId,
    pub token: Token,
    /// The try's number in the database.
    pub attempt_number: u32,
    /// Which attempt of the run.
    pub iteration: u32,
    pub agent: String,
    pub model: String,
    pub rationale: String,
    pub started_at: Timestamp,
    pub commit_before: Option<String>,
    pub log_path: Option<String>,
    pub work_dir: String,
    /// The learnings its prompt shows, best first.
    pub learnings: Vec<LearningId>,
}

/// What a claim knows of its attempt; empty until the attempt began.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnfinishedAttempt {
    pub attempt_number: Option<u32>,
    /// Which attempt of the run.
    pub iteration: Option<u32>,
    pub agent: Option<String>,
    pub model: Option<String>,
    pub rationale: Option<String>,
    pub started_at: Option<Timestamp>,
    pub commit_before: Option<String>,
    pub log_path: Option<String>,
    pub work_dir: Option<String>,
    /// The learnings its prompt showed, best first.
    pub learnings: Vec<LearningId>,
}

impl From<AttemptStart> for UnfinishedAttempt {
    fn from(start: AttemptStart) -> Self {
        Self {
            attempt_number: Some(start.attempt_number),
            iteration: Some(start.iteration),
            agent: Some(start.agent),
            model: Some(start.model),
            rationale: Some(start.rationale),
            started_at: Some(start.started_at),
            commit_before: start.commit_before,
            log_path: start.log_path,
            work_dir: Some(start.work_dir),
            learnings: start.learnings,
        }
    }
}

/// What becomes of the task after an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskNext {
    Done,
    /// It can be claimed again.
    Pending,
    /// It waits for a person.
    Blocked {
        reason: String,
    },
}

/// Everything one attempt leaves behind.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Its record; the store numbers it.
    pub attempt: Attempt,
    /// The report of a counted failure.
    pub report: Option<ReportRow>,
    pub learnings: Vec<NewLearning>,
    /// What the attempt teaches about its model and its task; none for what no agent's work decided.
    pub lesson: Option<Lesson>,
    /// Counters after this attempt.
    pub metrics: TaskMetrics,
    pub next: TaskNext,
    /// It goes to a person because it failed too often.
    pub gave_up: bool,
    /// The fix task that the failure asks for.
    pub fix: Option<NewFix>,
    /// A recovery that ends with it, without success.
    pub recovery_end: Option<RecoveryEnd>,
    /// Changes of the plan that the agent asked for.
    pub changes: Vec<PlanChange>,
    pub breaker: BreakerChange,
    /// A parent's own gate failed: it is now to be worked on itself.
    pub own_work: bool,
    pub events: Vec<RunEvent>,
}

/// A counted failure with its report.
#[derive(Clone, Debug, PartialEq)]
pub struct PastFailure {
    pub attempt: Attempt,
    pub report: Option<ReportRow>,
}

/// Which failures are wanted; all conditions must hold.
#[derive(Clone, Debug, Default)]
pub struct FailureFilter {
    pub task: Option<TaskId>,
    pub category: Option<String>,
    /// At this time or later.
    pub since: Option<Timestamp>,
    pub run: Option<RunId>,
}

/// A report with the attempt it belongs to, as `ralph failures --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailureRow {
    pub task_id: TaskId,
    pub key: Option<Key>,
    pub title: String,
    /// The ordinal among the task's counted tries.
    pub attempt: u32,
    /// The try's number in the database.
    pub attempt_number: u32,
    pub run_id: Option<RunId>,
    pub model: String,
    pub outcome: Outcome,
    pub error_type: Option<ErrorType>,
    /// When the report was made.
    pub created_at: Timestamp,
    #[serde(flatten)]
    pub report: ReportRow,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Counted attempts.
    pub attempts: u64,
    pub cost: Cost,
}
