//! `RunEvent`: the one stream that every display, `--json` and the event log read.

use serde::{Deserialize, Serialize};

use crate::agent::Activity;
use crate::analysis::Analysis;
use crate::decide::{Budget, Meter};
use crate::hooks::HookPoint;
use crate::model::{
    Attempt, Cost, ErrorType, GateOf, GateOutcome, Key, LearningId, ModelChoice, Outcome, ReviewVerdict,
    RunId, Status, Task, TaskId, Timestamp, Verification,
};
use crate::sandbox::Enforced;
use crate::store::{ConflictKind, Merged, PlanCounts};

pub const EVENT_VERSION: u32 = 1;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunEvent {
    pub v: u32,
    /// Rises within a run; events of interest only to live displays leave gaps in the log.
    pub seq: u64,
    pub at: Timestamp,
    pub run_id: RunId,
    pub worker: String,
    #[serde(flatten)]
    pub kind: EventKind,
}

/// The name of a run's first worker.
pub const WORKER: &str = "w1";

impl RunEvent {
    /// An event of a run's first worker.
    pub fn new(seq: u64, at: Timestamp, run_id: &RunId, kind: EventKind) -> Self {
        Self { v: EVENT_VERSION, seq, at, run_id: run_id.clone(), worker: WORKER.to_owned(), kind }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskRef {
    pub task_id: TaskId,
    pub key: Option<Key>,
    /// The plan file whose keys it shares; none for tasks from no file, and in events of older versions.
    #[serde(default)]
    pub spec: Option<String>,
    /// What people call it. Events of older versions do not say.
    #[serde(default)]
    pub name: String,
    pub title: String,
}

impl TaskRef {
    pub fn name(&self) -> &str {
        let older = || self.key.as_ref().map_or(self.task_id.as_str(), Key::as_str);
        if self.name.is_empty() { older() } else { &self.name }
    }
}

impl From<&Task> for TaskRef {
    fn from(task: &Task) -> Self {
        Self {
            task_id: task.id.clone(),
            key: task.key.clone(),
            spec: task.spec.clone(),
            name: task.name.clone(),
            title: task.title.clone(),
        }
    }
}

/// What a run was asked to do, beside its settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRequested {
    /// The names of the first tasks that it was to cover, with their subtasks; empty for the whole plan.
    pub tasks: Vec<String>,
    /// How many these were.
    pub task_count: u64,
    /// The model that wins over everything.
    pub model: Option<String>,
    pub max_cost_usd: Option<f64>,
    pub max_task_cost_usd: Option<f64>,
    pub max_daily_cost_usd: Option<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventKind {
    RunStarted {
        agent: String,
        strategy: String,
        limit: Option<u32>,
        tasks: PlanCounts,
        /// Tasks in scope that are still to be done and have no gate.
        #[serde(default)]
        without_gate: u64,
        /// The names of the first of them.
        #[serde(default)]
        ungated: Vec<String>,
        /// Whether the run was told to run no gates.
        #[serde(default)]
        gates_off: bool,
        /// The names of the first open tasks whose gate passed before any work.
        #[serde(default)]
        already_green: Vec<String>,
        #[serde(default)]
        asked: RunRequested,
        /// How many workers the run has.
        #[serde(default = "one")]
        jobs: u32,
        /// The branch that their work lands on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
        /// What confines agents and gates.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sandbox: Option<Enforced>,
    },
    /// A try whose process died was found and recorded.
    LostFound {
        #[serde(flatten)]
        task: TaskRef,
        lost_run_id: RunId,
        /// Whether it counts (every third in a row does).
        counted: bool,
        status: Status,
        /// Whether it is done and its gate had passed.
        #[serde(default)]
        verified: bool,
    },
    AttemptStarted {
        #[serde(flatten)]
        task: TaskRef,
        attempt: u32,
        iteration: u32,
        agent: String,
        #[serde(flatten)]
        choice: ModelChoice,
        log_path: Option<String>,
        /// The learnings its prompt shows, best first.
        learnings: Vec<LearningId>,
        /// The notes from the user that its prompt shows.
        #[serde(default)]
        notes: Vec<i64>,
    },
    /// A person told the task's next attempt something.
    NoteAdded {
        #[serde(flatten)]
        task: TaskRef,
        note: String,
        /// Whether the attempt under way ends for it.
        now: bool,
    },
    /// What the agent is doing; not in the log.
    Activity {
        task_id: TaskId,
        activity: Activity,
    },
    /// The work is combined with what others landed, and put on the branch; not in the log.
    LandingStarted {
        #[serde(flatten)]
        task: TaskRef,
    },
    /// The task's work is on the branch of the run.
    Landed {
        #[serde(flatten)]
        task: TaskRef,
        commit: String,
        branch: String,
    },
    /// The work of a run is on a branch that is not merged into what is checked out. Told at its end, and by later runs.
    Unmerged {
        branch: String,
        commits: u64,
        /// What is checked out.
        into: Option<String>,
    },
    /// Good work does not go together with what others landed.
    Conflict {
        #[serde(flatten)]
        task: TaskRef,
        kind: ConflictKind,
        files: Vec<String>,
        /// The names of the tasks whose work it is.
        others: Vec<String>,
    },
    /// The gate is running; not in the log.
    GateStarted {
        #[serde(flatten)]
        task: TaskRef,
        command: String,
        run: u32,
    },
    GateFinished {
        #[serde(flatten)]
        task: TaskRef,
        outcome: GateOutcome,
        #[serde(default)]
        of: GateOf,
        /// Whether it ran before the task's first attempt, to see what it says without the task's work.
        #[serde(default)]
        baseline: bool,
        /// It failed first and passed when run again.
        flaky: bool,
        /// How long all runs took.
        duration_ms: u64,
    },
    /// Another agent reviews the work; not in the log.
    ReviewStarted {
        #[serde(flatten)]
        task: TaskRef,
        agent: String,
        model: String,
    },
    ReviewFinished {
        #[serde(flatten)]
        task: TaskRef,
        agent: String,
        /// None where the reviewer failed for reasons of its own.
        verdict: Option<ReviewVerdict>,
        findings: Vec<String>,
        duration_ms: u64,
        cost_usd: Option<f64>,
    },
    /// The gate passed before anything was done: it proves nothing.
    GateGreenBefore {
        #[serde(flatten)]
        task: TaskRef,
        command: String,
    },
    GateChanged {
        #[serde(flatten)]
        task: TaskRef,
        before: Option<String>,
        /// The command from the next attempt on.
        after: Option<String>,
        by: GateAuthor,
    },
    /// A task's gate was changed in its plan's file while an agent was at work: the plan keeps its gate until a person
    /// imports the file.
    GateWaiting {
        #[serde(flatten)]
        task: TaskRef,
        path: String,
        before: Option<String>,
        after: Option<String>,
    },
    AttemptFinished(Box<AttemptFinished>),
    /// The plan as it stands now; not in the log.
    Progress {
        tasks: PlanCounts,
        #[serde(flatten)]
        cost: Cost,
    },
    /// A parent's children are done and its own gate was run.
    ParentGate {
        #[serde(flatten)]
        task: TaskRef,
        passed: bool,
    },
    BreakerOpened {
        failures: u64,
        tasks: u64,
        analysis: Analysis,
    },
    /// The breaker is half open: one attempt, to see.
    BreakerProbes,
    /// A person is asked; not in the log.
    Paused,
    /// The person answered, or nobody did; not in the log.
    Resumed,
    Skipped {
        #[serde(flatten)]
        task: TaskRef,
    },
    /// A task was given to a person instead of being tried.
    HandedOver {
        #[serde(flatten)]
        task: TaskRef,
        /// Why a person is worth more than another attempt.
        reason: String,
    },
    Waiting {
        waiting_for: WaitingFor,
        reason: String,
        until: Option<Timestamp>,
    },
    /// The run has waited long enough; not in the log, unless a person ended the wait.
    WaitOver,
    AgentChanged {
        agent: String,
        instead_of: String,
        /// Why, where that one cannot work now.
        #[serde(default)]
        reason: Option<String>,
        #[serde(default)]
        limited_until: Option<Timestamp>,
    },
    BudgetNear {
        #[serde(flatten)]
        meter: Meter,
        message: String,
    },
    FixCreated {
        #[serde(flatten)]
        task: TaskRef,
        fix: String,
        fix_title: String,
        failure: Box<crate::recovery::Failure>,
    },
    PlanChange {
        #[serde(flatten)]
        task: TaskRef,
        kind: Option<String>,
        reasoning: String,
        added: Vec<String>,
        refusal: Option<String>,
    },
    /// A task was given up: what there is to say about it, line by line.
    GivenUp {
        #[serde(flatten)]
        task: TaskRef,
        lines: Vec<String>,
    },
    /// A plan's file was read again because somebody changed it.
    PlanFileRead {
        path: String,
        added: usize,
        updated: usize,
        /// Tasks that somebody ticked off.
        finished: usize,
        removed: usize,
    },
    BranchChanged {
        branch: String,
    },
    Committed {
        #[serde(flatten)]
        task: TaskRef,
        commit: String,
        files: usize,
    },
    RolledBack {
        #[serde(flatten)]
        task: TaskRef,
        reference: String,
        files: usize,
        commits: u32,
    },
    HookFailed {
        hook: HookPoint,
        message: String,
    },
    Warning {
        message: String,
    },
    /// At the end of a run, learnings were merged or archived.
    LearningsTidied {
        merged: Vec<Merged>,
        pruned: Vec<LearningId>,
        /// The name of all of it: `ralph learnings restore --merge NAME` undoes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        undo: Option<String>,
    },
    LogsPruned {
        files: u64,
        bytes: u64,
    },
    Interrupted {
        signal: String,
        #[serde(default)]
        by_command: bool,
    },
    RunFinished {
        exit_code: i32,
        outcome: String,
        reason: String,
        hint: Option<String>,
        /// The budget that was used up, if that is why.
        budget: Option<Budget>,
        attempts: u32,
        done: u32,
        #[serde(flatten)]
        cost: Cost,
        duration_ms: u64,
        tasks: PlanCounts,
    },
}

/// Runs of earlier versions had one worker.
fn one() -> u32 {
    1
}

/// Where a change of a gate came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateAuthor {
    /// The run read it in a plan's file that a person changed.
    PlanFile,
    /// Another process: `ralph task edit`, `ralph import`, or a program that wrote to the database.
    Elsewhere,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingFor {
    Limit,
    Service,
    /// Work that another run holds.
    OtherRun,
    /// Work that other workers of the run have under way; not in the log.
    Workers,
    /// The circuit breaker, to cool down.
    Cooldown,
    /// A person, who paused the run.
    Resume,
    /// A person, who is asked in the run's terminal.
    Answer,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AttemptFinished {
    #[serde(flatten)]
    pub task: TaskRef,
    pub attempt: u32,
    /// Its number with uncounted attempts included; 0 in events of older versions.
    #[serde(default)]
    pub attempt_number: u32,
    pub iteration: u32,
    /// Who worked; none where only a parent's gate was run.
    #[serde(default)]
    pub agent: Option<String>,
    pub model: String,
    pub outcome: Outcome,
    pub error_type: Option<ErrorType>,
    pub counted: bool,
    pub message: Option<String>,
    pub duration_ms: u64,
    pub cost_usd: Option<f64>,
    /// Whether Ralph estimated the cost from tokens and prices.
    #[serde(default)]
    pub cost_estimated: bool,
    pub tokens_input: Option<u64>,
    pub tokens_output: Option<u64>,
    pub files_changed: Option<Vec<String>>,
    #[serde(default)]
    pub gate: Option<GateOutcome>,
    /// Files its gate names that it changed.
    pub gate_files_changed: Vec<String>,
    /// How many things the agent said it had learned.
    #[serde(default)]
    pub learned: usize,
    /// The former name of `learned`, kept for one release.
    pub learnt: usize,
    pub status: Status,
    /// Whether it is done and its gate passed.
    #[serde(default)]
    pub verified: bool,
    /// What the word done rests on.
    #[serde(default)]
    pub verification: Verification,
    pub reason: Option<String>,
}

impl AttemptFinished {
    /// What is told of a recorded attempt. `learned` is how many things the agent said it had learned; `status` and
    /// `reason` are those of the task now.
    pub fn new(
        task: &Task,
        attempt: &Attempt,
        learned: usize,
        status: Status,
        reason: Option<String>,
    ) -> Self {
        let attempt = attempt.clone();
        Self {
            task: TaskRef::from(task),
            attempt: attempt.attempt,
            attempt_number: attempt.attempt_number,
            iteration: attempt.iteration.unwrap_or_default(),
            agent: attempt.agent,
            model: attempt.model,
            outcome: attempt.outcome,
            error_type: attempt.error_type,
            counted: attempt.counted,
            message: attempt.message,
            duration_ms: attempt.duration_ms,
            cost_usd: attempt.cost_usd,
            cost_estimated: attempt.cost_estimated,
            tokens_input: attempt.tokens_input,
            tokens_output: attempt.tokens_output,
            files_changed: attempt.files_changed,
            gate: attempt.gate,
            gate_files_changed: attempt.gate_files_changed,
            learned,
            learnt: learned,
            status,
            verified: attempt.verified,
            verification: attempt.verification,
            reason,
        }
    }
}

impl EventKind {
    /// The value of `type` in its JSON.
    pub fn name(&self) -> String {
        let json = serde_json::to_value(self).unwrap_or_default();
        json["type"].as_str().unwrap_or_default().to_owned()
    }
}

/// Where events go: a terminal, JSON lines, a test.
pub trait Observer {
    /// Takes one event. Must not fail and should not block.
    fn event(&mut self, event: &RunEvent);
}

impl<F: FnMut(&RunEvent)> Observer for F {
    fn event(&mut self, event: &RunEvent) {
        self(event);
    }
}

#[cfg(test)]
mod tests;
