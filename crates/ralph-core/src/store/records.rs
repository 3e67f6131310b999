//! Plain data that goes into the store and comes out of it.

use serde::{Deserialize, Serialize};

use super::{Lesson, NewFix, PlanChange, RecoveryEnd, RunRequest};
use crate::agent::{LimitNotice, Usage};
use crate::event::RunEvent;
use crate::model::{
    AttemptCost, Cost, ErrorType, FailureMark, GateOutcome, GateRecord, GitRecord, Key, LearningId,
    NewLearning, Outcome, ReportRow, RunId, Status, Task, TaskId, TaskMetrics, Timestamp, Token,
};

/// Which tasks a run may touch.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Scope {
    /// The whole plan.
    #[default]
    All,
    /// These tasks and their descendants.
    Below(Vec<TaskId>),
}

/// The gate of a task that is not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenGate {
    /// The task.
    pub task: TaskId,
    /// Its key, else its id.
    pub name: String,
    /// The gate's command; none where the task has none of its own.
    pub command: Option<String>,
}

/// How many tasks have each status, and how many of the done ones are verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "PlanCountsJson")]
#[expect(missing_docs, reason = "the names are the statuses")]
pub struct PlanCounts {
    pub total: u64,
    pub pending: u64,
    pub in_progress: u64,
    pub done: u64,
    /// Done, with a gate that passed. Events of older versions do not say.
    #[serde(default)]
    pub verified: u64,
    pub failed: u64,
    pub blocked: u64,
    pub skipped: u64,
}

/// The counts as programs read them, with those that follow from others.
#[derive(Serialize)]
struct PlanCountsJson {
    total: u64,
    pending: u64,
    in_progress: u64,
    done: u64,
    verified: u64,
    unverified: u64,
    failed: u64,
    blocked: u64,
    skipped: u64,
    waiting: u64,
}

impl From<PlanCounts> for PlanCountsJson {
    fn from(counts: PlanCounts) -> Self {
        Self {
            total: counts.total,
            pending: counts.pending,
            in_progress: counts.in_progress,
            done: counts.done,
            verified: counts.verified,
            unverified: counts.unverified(),
            failed: counts.failed,
            blocked: counts.blocked,
            skipped: counts.skipped,
            waiting: counts.pending,
        }
    }
}

impl PlanCounts {
    /// One task went from a status to another.
    pub fn moved(&mut self, from: Status, to: Status) {
        let count = self.of(from);
        *count = count.saturating_sub(1);
        *self.of(to) += 1;
    }

    fn of(&mut self, status: Status) -> &mut u64 {
        match status {
            Status::Pending => &mut self.pending,
            Status::InProgress => &mut self.in_progress,
            Status::Done => &mut self.done,
            Status::Failed => &mut self.failed,
            Status::Blocked => &mut self.blocked,
            Status::Skipped => &mut self.skipped,
        }
    }

    /// Done without a gate that passed.
    pub fn unverified(&self) -> u64 {
        self.done.saturating_sub(self.verified)
    }

    /// Whether no task needs more work. Skipped tasks need none, but they are not done.
    pub fn is_settled(&self) -> bool {
        self.done.saturating_add(self.skipped) >= self.total
    }

    /// How far the plan is, in the one form that every display uses:
    /// `14 of 18 done (12 verified, 2 unverified) · 1 skipped · 2 blocked · 1 waiting`. Zeros are left out.
    pub fn summary(&self) -> String {
        let present = |parts: &[(u64, &str)]| -> Vec<String> {
            let parts = parts.iter().filter(|(n, _)| *n > 0);
            parts.map(|(n, word)| format!("{n} {word}")).collect()
        };
        let rests_on = present(&[
            (self.verified, "verified"),
            (self.unverified(), "unverified"),
        ]);
        let rests_on = match rests_on.is_empty() {
            true => String::new(),
            false => format!(" ({})", rests_on.join(", ")),
        };
        let mut parts = vec![format!("{} of {} done{rests_on}", self.done, self.total)];
        parts.extend(present(&[
            (self.skipped, "skipped"),
            (self.blocked, "blocked"),
            (self.failed, "failed"),
            (self.in_progress, "running"),
            (self.pending, "waiting"),
        ]));
        parts.join(" · ")
    }
}

/// A task reduced to what the shape of the plan needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanNode {
    /// The task.
    pub id: TaskId,
    /// Its key.
    pub key: Option<Key>,
    /// Where it stands.
    pub status: Status,
    /// Its parent.
    pub parent: Option<TaskId>,
    /// What it waits for.
    pub depends_on: Vec<TaskId>,
    /// Its own gate failed after its children were done.
    pub own_work: bool,
    /// The task that Ralph made it for, to mend it or on its agent's wish.
    pub made_for: Option<TaskId>,
}

impl PlanNode {
    /// The name people use.
    pub fn name(&self) -> &str {
        self.key.as_ref().map_or(self.id.as_str(), Key::as_str)
    }
}

/// A task that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Held {
    /// The task.
    pub task_id: TaskId,
    /// What people call it.
    pub name: String,
    /// Blocked or failed.
    pub status: Status,
    /// Why, where that is known.
    pub reason: Option<String>,
}

/// A person's word on a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It is done.
    Done,
    /// It is done, and its gate passed.
    Verified,
    /// It is given up.
    Failed {
        /// Why.
        reason: Option<String>,
    },
    /// It is left out; what depends on it may go on.
    Skipped {
        /// Why.
        reason: Option<String>,
    },
    /// It is to be done again.
    Pending,
}

/// What to do with the children of a deleted task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Children {
    /// Refuse if there are any.
    Refuse,
    /// Delete them too.
    Delete,
}

/// What a deletion did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deleted {
    /// Ids of the deleted tasks.
    pub tasks: Vec<TaskId>,
    /// Tasks that waited for one of them and no longer do.
    pub freed: Vec<TaskId>,
}

/// A process that can hold a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Owner {
    /// Its host.
    pub host: String,
    /// Its id there.
    pub pid: u32,
    /// When it started, so that a reused id is not mistaken for it.
    pub pid_started: String,
}

/// A run about to start.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// Its id.
    pub id: RunId,
    /// When.
    pub started_at: Timestamp,
    /// Who runs it.
    pub owner: Owner,
    /// Its settings as JSON.
    pub settings: String,
    /// Where it prints, where nobody looks on.
    pub output: Option<String>,
    /// Until when it may be taken to live without a further sign.
    pub expires_at: Timestamp,
    /// Which built-in defaults it is made with.
    pub defaults_revision: u32,
}

/// A run's end.
#[derive(Clone, Debug)]
pub struct RunEnd {
    /// Its id.
    pub id: RunId,
    /// When.
    pub ended_at: Timestamp,
    /// In a word.
    pub outcome: String,
    /// The exit code.
    pub exit_code: i32,
}

/// A run as recorded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunRow {
    /// Its id.
    pub id: RunId,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// How, in a word.
    pub outcome: Option<String>,
    /// With which exit code.
    pub exit_code: Option<i32>,
    /// Who ran it.
    #[serde(flatten)]
    pub owner: Owner,
    /// Counted attempts.
    pub attempts: u64,
    /// Of those, done.
    pub done: u64,
    /// What it cost.
    #[serde(flatten)]
    pub cost: Cost,
    /// Until when it may be taken to live, where it cannot be seen.
    #[serde(skip)]
    pub expires_at: Option<Timestamp>,
    /// What a person asked it to do.
    pub request: Option<RunRequest>,
    /// Where it prints, where nobody looks on.
    pub output: Option<String>,
}

/// Attempts of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunRates {
    /// Done ones.
    pub done: u32,
    /// Counted ones.
    pub counted: u32,
    /// What they cost, uncounted ones included.
    pub cost: Cost,
}

/// What a claim is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// An agent's attempt.
    Attempt,
    /// Running a parent's own gate after its children are done.
    ParentGate,
}

impl Purpose {
    /// The stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Attempt => "attempt",
            Self::ParentGate => "gate",
        }
    }
}

/// A wish for work.
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    /// What kind of work.
    pub purpose: Purpose,
    /// Within which tasks.
    pub scope: Scope,
    /// For which run.
    pub run_id: RunId,
    /// By which worker of it.
    pub worker: String,
    /// In which process.
    pub owner: Owner,
    /// The secret of the new claim.
    pub token: Token,
    /// Now.
    pub now: Timestamp,
    /// When the lease is over unless it is extended.
    pub expires_at: Timestamp,
}

/// A task that was claimed, with what the next stages need.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// The task.
    pub task: Task,
    /// Its counters.
    pub metrics: TaskMetrics,
    /// Numbers of the try that begins.
    pub tries: Tries,
}

/// Recorded tries of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tries {
    /// All of them.
    pub recorded: u32,
    /// Those that count.
    pub counted: u32,
}

/// What is known when an attempt begins.
#[derive(Clone, Debug)]
pub struct AttemptStart {
    /// The task.
    pub task_id: TaskId,
    /// The claim's secret.
    pub token: Token,
    /// The try's number in the database.
    pub attempt_number: u32,
    /// Which attempt of the run.
    pub iteration: u32,
    /// The agent.
    pub agent: String,
    /// The model.
    pub model: String,
    /// Why that model.
    pub rationale: String,
    /// When it began.
    pub started_at: Timestamp,
    /// HEAD.
    pub commit_before: Option<String>,
    /// Where the stream goes.
    pub log_path: Option<String>,
    /// Where the agent works.
    pub work_dir: String,
    /// The learnings its prompt shows, best first.
    pub learnings: Vec<LearningId>,
}

/// A claim as stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// The task.
    pub task_id: TaskId,
    /// The run.
    pub run_id: RunId,
    /// The worker.
    pub worker: String,
    /// The process.
    #[serde(flatten)]
    pub owner: Owner,
    /// Its secret.
    #[serde(skip)]
    pub token: Token,
    /// When the lease is over.
    pub expires_at: Timestamp,
    /// When it was taken.
    pub claimed_at: Timestamp,
    /// When its holder last gave a sign of life.
    #[serde(skip)]
    pub heartbeat_at: Timestamp,
    /// What it is for.
    pub purpose: Purpose,
    /// What was known of the attempt under way.
    #[serde(skip)]
    pub attempt: UnfinishedAttempt,
}

/// What a claim knows of its attempt; empty until the attempt began.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnfinishedAttempt {
    /// The try's number.
    pub attempt_number: Option<u32>,
    /// Which attempt of the run.
    pub iteration: Option<u32>,
    /// The agent.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Why that model.
    pub rationale: Option<String>,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// HEAD then.
    pub commit_before: Option<String>,
    /// Where the stream went.
    pub log_path: Option<String>,
    /// Where the agent worked.
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
    /// It is done.
    Done,
    /// It can be claimed again.
    Pending,
    /// It waits for a person.
    Blocked {
        /// Why.
        reason: String,
    },
}

/// Everything one attempt leaves behind.
#[derive(Clone, Debug)]
pub struct Capture {
    /// The task.
    pub task_id: TaskId,
    /// The claim's secret.
    pub token: Token,
    /// What the claim had recorded when the attempt began.
    pub start: UnfinishedAttempt,
    /// The run and worker that made it.
    pub run_id: RunId,
    /// The worker.
    pub worker: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What went wrong.
    pub error_type: Option<ErrorType>,
    /// Whether it counts.
    pub counted: bool,
    /// One line on what happened, masked.
    pub message: Option<String>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// What it cost, where that is known.
    pub cost: Option<AttemptCost>,
    /// Tokens, session and so on, as the agent reported them.
    pub usage: Usage,
    /// The agent's session.
    pub session_id: Option<String>,
    /// The model that answered.
    pub agent_model: Option<String>,
    /// Tools it was denied.
    pub denials: Vec<String>,
    /// Retries of its service.
    pub service_retries: u64,
    /// The last limit it spoke of.
    pub limit: Option<LimitNotice>,
    /// What git says.
    pub git: GitRecord,
    /// What the gate said.
    pub gate: Option<GateRecord>,
    /// The gate was green before the first attempt.
    pub gate_green_before: Option<bool>,
    /// First sentence of a done attempt's result.
    pub summary: Option<String>,
    /// The report of a counted failure.
    pub report: Option<ReportRow>,
    /// What that failure is recognised by.
    pub mark: Option<FailureMark>,
    /// What the agent learnt.
    pub learnings: Vec<NewLearning>,
    /// What the attempt teaches about its model and its task; none for what no agent's work decided.
    pub lesson: Option<Lesson>,
    /// Counters after this attempt.
    pub metrics: TaskMetrics,
    /// What becomes of the task.
    pub next: TaskNext,
    /// It goes to a human because it failed too often.
    pub gave_up: bool,
    /// The fix task that the failure asks for.
    pub fix: Option<NewFix>,
    /// A recovery that ends with it, without success.
    pub recovery_end: Option<RecoveryEnd>,
    /// Changes of the plan that the agent asked for.
    pub changes: Vec<PlanChange>,
    /// Failures in a row, over all tasks, that may open the breaker.
    pub breaker_threshold: u32,
    /// A parent's own gate failed: it is now to be worked on itself.
    pub own_work: bool,
    /// Events of this stage.
    pub events: Vec<RunEvent>,
}

/// A counted failure with its report.
#[derive(Clone, Debug, PartialEq)]
pub struct PastFailure {
    /// The ordinal among counted tries.
    pub attempt: u32,
    /// The model.
    pub model: String,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub duration_ms: u64,
    /// Its report.
    pub report: Option<ReportRow>,
    /// What it is recognised by.
    pub mark: Option<FailureMark>,
    /// Whether git saw a change; unknown without a repository.
    pub changed: Option<bool>,
    /// Whether it made commits.
    pub committed: bool,
    /// What it cost, as far as is known.
    pub cost_usd: Option<f64>,
    /// Why its model was chosen.
    pub rationale: Option<String>,
    /// What its gate said, where it was run.
    pub gate: Option<GateOutcome>,
}

/// Which failures are wanted; all conditions must hold.
#[derive(Clone, Debug, Default)]
pub struct FailureFilter {
    /// Of this task.
    pub task: Option<TaskId>,
    /// With this error category.
    pub category: Option<String>,
    /// At this time or later.
    pub since: Option<Timestamp>,
    /// Of this run.
    pub run: Option<RunId>,
}

/// A report with the attempt it belongs to, as `ralph failures --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailureRow {
    /// The task.
    pub task_id: TaskId,
    /// Its key.
    pub key: Option<Key>,
    /// Its title.
    pub title: String,
    /// The ordinal among the task's counted tries.
    pub attempt: u32,
    /// The try's number in the database.
    pub attempt_number: u32,
    /// The run.
    pub run_id: Option<RunId>,
    /// The model.
    pub model: String,
    /// How the attempt ended.
    pub outcome: Outcome,
    /// What went wrong.
    pub error_type: Option<ErrorType>,
    /// When the report was made.
    pub created_at: Timestamp,
    /// The report.
    #[serde(flatten)]
    pub report: ReportRow,
}

/// Sums over all time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Counted attempts.
    pub attempts: u64,
    /// What all tries cost.
    pub cost: Cost,
}

/// The circuit breaker as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Breaker {
    /// Whether it lets attempts through.
    pub state: BreakerState,
    /// Counted failures in a row over all tasks.
    pub failures: u64,
    /// When it opened.
    pub opened_at: Option<Timestamp>,
    /// Of how many tasks those failures are.
    pub tasks: u64,
    /// Whether the attempt that probes is under way.
    pub probing: bool,
}

/// Whether the circuit breaker lets attempts through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakerState {
    /// Attempts go through.
    Closed,
    /// Too many failures: nothing goes through.
    Open,
    /// One attempt goes through, to see.
    HalfOpen,
}

impl BreakerState {
    /// Reads the stored name; an unknown one lets attempts through.
    pub fn from_stored(text: &str) -> Self {
        match text {
            "open" => Self::Open,
            "half_open" => Self::HalfOpen,
            _ => Self::Closed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(done: u64, verified: u64, rest: [u64; 5]) -> PlanCounts {
        let [skipped, blocked, failed, in_progress, pending] = rest;
        PlanCounts {
            total: done + rest.iter().sum::<u64>(),
            done,
            verified,
            skipped,
            blocked,
            failed,
            in_progress,
            pending,
        }
    }

    #[test]
    fn exit_01_the_summary_counts_each_kind_apart() {
        for (counts, text) in [
            (
                counts(14, 12, [1, 2, 0, 0, 1]),
                "14 of 18 done (12 verified, 2 unverified) · 1 skipped · 2 blocked · 1 waiting",
            ),
            (counts(18, 18, [0; 5]), "18 of 18 done (18 verified)"),
            (counts(2, 0, [0; 5]), "2 of 2 done (2 unverified)"),
            (counts(0, 0, [0, 0, 0, 0, 3]), "0 of 3 done · 3 waiting"),
            (
                counts(1, 1, [1, 1, 1, 1, 1]),
                "1 of 6 done (1 verified) · 1 skipped · 1 blocked · 1 failed · 1 running · 1 waiting",
            ),
            (counts(0, 0, [0; 5]), "0 of 0 done"),
        ] {
            assert_eq!(counts.summary(), text);
        }
    }

    #[test]
    fn counts_as_json_have_the_kinds_that_follow_and_are_read_back() {
        let counts = counts(3, 2, [1, 1, 0, 0, 4]);
        let json = serde_json::to_value(counts).unwrap();
        let expected = serde_json::json!({
            "total": 9, "pending": 4, "in_progress": 0, "done": 3, "verified": 2, "unverified": 1,
            "failed": 0, "blocked": 1, "skipped": 1, "waiting": 4,
        });
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_value::<PlanCounts>(json).unwrap(), counts);
    }
}
