//! What is known about a project, as plain data: the plan, the runs, what they are doing and what needs a person.
//!
//! Everything that shows the state of a project reads it from here: `ralph status`, its JSON, `--watch`, the end of a
//! run, and `ralph run --detach`. Field names are a contract of `ralph status --json`: fields may be added, none goes.

mod budgets;
mod decisions;
mod eta;
mod memory;
mod phases;
mod plan;
mod run;
mod runs;
mod task;
mod tree;

use ralph_core::decide::Waiter;
use ralph_core::event::{EventKind, TaskRef, WaitingFor};
use ralph_core::exit::RunExit;
use ralph_core::host::{ThisHost, is_stopped};
use ralph_core::model::{Cost, RunId, Timestamp};
use ralph_core::store::{
    BreakerState, Claim, Held, Owner, PlanCounts, Purpose, RememberedLimit, RunRequest, RunRow, Stage, Store,
    StoreError, WaitingGate,
};
use serde::Serialize;

pub use budgets::{RunTime, budgets, of as budgets_of};
pub use decisions::{
    CostPoint, DecisionFacts, History, ModelSpending, ModelSuccess, RetryKind, RetryResult, Share,
    StrategyFacts, replay_rows,
};
pub use eta::{Eta, LOOKED_AT};
pub use memory::{LearningFacts, MemoryFacts};
pub use phases::PhaseNames;
pub use plan::{OpenTask, PlanFacts, UnverifiedTask, next_command};
pub use run::{GateChange, RunFacts, RunTask};
pub use runs::RunLine;
pub use task::{AttemptFacts, Related, TaskFacts, TrendKind, masked};
pub use tree::tree_order;

use crate::command_error::CommandError;
use crate::settings::Settings;
use crate::workspace::{Workspace, is_active, now, plan_counts};

/// The whole of `ralph status --json`.
#[derive(Debug, Serialize)]
pub struct StatusFacts {
    pub tasks: PlanCounts,
    pub ready: u64,
    /// Counted attempts.
    pub attempts: u64,
    pub uncounted_attempts: u64,
    #[serde(flatten)]
    pub cost: Cost,
    /// The run that started last.
    pub run: Option<LastRun>,
    pub breaker: BreakerFacts,
    pub waiting: Vec<Waiter>,
    pub held: Vec<Held>,
    /// Every task that is not done.
    pub open: Vec<OpenTask>,
    /// Done tasks that no gate verified.
    pub unverified: Vec<UnverifiedTask>,
    /// Done tasks whose gate passed before any work, too.
    pub already_green: Vec<TaskRef>,
    /// Gates that were changed in a plan file while an agent was running, and that nobody has imported since.
    pub gates_waiting: Vec<WaitingGate>,
    /// Usage limits that have not reset yet.
    pub limits: Vec<RememberedLimit>,
    pub active: Vec<ActiveRun>,
    /// The last run, if it is over. One that made no attempt does not hide the one before that did.
    pub last_run: Option<RunFacts>,
}

#[derive(Debug, Serialize)]
pub struct LastRun {
    #[serde(flatten)]
    pub run: RunRow,
    pub active: bool,
}

#[derive(Debug, Serialize)]
pub struct BreakerFacts {
    pub state: BreakerState,
    pub failures: u64,
    pub tasks: u64,
    pub threshold: u32,
    pub opened_at: Option<Timestamp>,
}

#[derive(Debug, Serialize)]
pub struct ActiveRun {
    pub run_id: RunId,
    pub started_at: Timestamp,
    #[serde(flatten)]
    pub owner: Owner,
    /// Whether its process is suspended, as by Ctrl-Z.
    pub stopped: bool,
    /// What a person asked it to do.
    pub request: Option<RunRequest>,
    pub attempts: Vec<CurrentAttempt>,
    pub waiting: Option<CurrentWait>,
    /// Its counted attempts so far.
    pub counted: u64,
    /// Those of them that were done.
    pub done: u64,
    #[serde(flatten)]
    pub cost: Cost,
}

#[derive(Clone, Debug, Serialize)]
pub struct CurrentAttempt {
    #[serde(flatten)]
    pub task: TaskRef,
    pub purpose: Purpose,
    /// Its number, as people see it.
    pub attempt: u32,
    /// In the database, uncounted ones included; 0 until it began.
    pub attempt_number: u32,
    pub agent: Option<String>,
    pub model: Option<String>,
    pub since: Timestamp,
    pub log_path: Option<String>,
    pub worker: String,
    /// Whether the agent works, the gates run, or the work is being landed; none in a run without workers.
    pub state: Option<Stage>,
}

impl CurrentAttempt {
    /// What is under way, as one character and as a word.
    pub fn stage(&self) -> (&'static str, &'static str) {
        match self.state {
            Some(Stage::Landing) => ("↑", "landing"),
            Some(Stage::Verifying) => ("▶", "verifying"),
            Some(Stage::Working) | None => ("▶", "running"),
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct CurrentWait {
    pub waiting_for: WaitingFor,
    pub reason: String,
    pub since: Timestamp,
    pub until: Option<Timestamp>,
}

impl StatusFacts {
    pub fn read(workspace: &Workspace, settings: &Settings) -> Result<Self, CommandError> {
        Self::of(workspace, settings, &PlanFacts::read(workspace)?)
    }

    /// The same with a plan that was read already.
    pub fn of(workspace: &Workspace, settings: &Settings, plan: &PlanFacts) -> Result<Self, CommandError> {
        let store = &workspace.store;
        let totals = store.totals()?;
        let RunsFacts { run, breaker, active, last_run } = RunsFacts::read(store, settings, plan)?;
        let (tasks, ready) = plan_counts(store)?;
        Ok(Self {
            tasks,
            ready,
            attempts: totals.attempts,
            uncounted_attempts: store.uncounted_attempts()?,
            cost: totals.cost,
            run,
            breaker,
            waiting: plan.waiting(),
            held: store.held(usize::MAX)?,
            open: plan.open_tasks(),
            unverified: plan.unverified_tasks(),
            already_green: plan.already_green_tasks(),
            gates_waiting: store.waiting_gates()?,
            limits: store.agent_limits(now())?,
            active,
            last_run,
        })
    }
}

/// The runs at work, and the last one.
#[derive(Debug)]
pub struct RunsFacts {
    pub run: Option<LastRun>,
    pub breaker: BreakerFacts,
    pub active: Vec<ActiveRun>,
    /// The last run, if it is over. One that made no attempt does not hide the one before that did.
    pub last_run: Option<RunFacts>,
}

impl RunsFacts {
    pub fn read(store: &Store, settings: &Settings, plan: &PlanFacts) -> Result<Self, CommandError> {
        let breaker = BreakerFacts::read(store, settings)?;
        // Read before the last run: one that ends in between is shown as active, and not as neither active nor over.
        let active = ActiveRun::all(store)?;
        let is_listed = |run: &RunRow| active.iter().any(|one| one.run_id == run.id);
        let run = store.last_run()?.map(|run| LastRun { active: is_listed(&run) || is_active(&run), run });
        let over = run.as_ref().filter(|last| !last.active);
        let mut last_run = match over {
            Some(last) => {
                let told = store.last_run_with_attempts()?.unwrap_or_else(|| last.run.clone());
                Some(RunFacts::read(store, plan, &told)?)
            }
            None => None,
        };
        // A breaker that was closed since needs no advice.
        if let Some(facts) = &mut last_run
            && facts.exit_code == Some(i32::from(RunExit::BreakerOpen.code()))
            && breaker.state == BreakerState::Closed
        {
            facts.hint = None;
        }
        Ok(Self { run, breaker, active, last_run })
    }
}

impl BreakerFacts {
    pub fn read(store: &Store, settings: &Settings) -> Result<Self, StoreError> {
        let breaker = store.breaker()?;
        Ok(Self {
            state: breaker.state,
            failures: breaker.failures,
            tasks: breaker.tasks,
            threshold: settings.breaker.threshold.0,
            opened_at: breaker.opened_at,
        })
    }
}

impl ActiveRun {
    pub fn all(store: &Store) -> Result<Vec<Self>, StoreError> {
        let claims = store.claims()?;
        let active = store.open_runs()?.into_iter().filter(is_active);
        active.map(|run| Self::read(store, run, &claims)).collect()
    }

    fn read(store: &Store, run: RunRow, claims: &[Claim]) -> Result<Self, StoreError> {
        let mut attempts = Vec::new();
        for claim in claims.iter().filter(|claim| claim.run_id == run.id) {
            attempts.extend(CurrentAttempt::read(store, claim)?);
        }
        let waiting = if attempts.is_empty() { CurrentWait::read(store, &run.id)? } else { None };
        Ok(Self {
            run_id: run.id,
            started_at: run.started_at,
            stopped: is_stopped(&ThisHost::new(), &run.owner),
            owner: run.owner,
            request: run.request,
            attempts,
            waiting,
            counted: run.attempts,
            done: run.done,
            cost: run.cost,
        })
    }
}

impl CurrentAttempt {
    /// None if the task was deleted meanwhile.
    fn read(store: &Store, claim: &Claim) -> Result<Option<Self>, StoreError> {
        let task = match store.task(claim.task_id.as_str()) {
            Err(StoreError::UnknownTask(_)) => return Ok(None),
            task => task?,
        };
        let attempt = &claim.attempt;
        Ok(Some(Self {
            task: TaskRef::from(&task),
            purpose: claim.purpose,
            attempt: store.attempt_counts(&task.id)?.counted + 1,
            attempt_number: attempt.attempt_number,
            agent: attempt.agent.clone(),
            model: attempt.model.clone(),
            since: attempt.started_at.unwrap_or(claim.claimed_at),
            log_path: attempt.log_path.clone(),
            worker: claim.worker.clone(),
            state: claim.stage,
        }))
    }
}

impl CurrentWait {
    /// What a run waits for, if that is its last event and the time is not over.
    pub fn read(store: &Store, run: &RunId) -> Result<Option<Self>, StoreError> {
        let Some(event) = store.last_event(run, None)? else {
            return Ok(None);
        };
        Ok(match event.read().map(|event| event.kind) {
            Some(EventKind::Waiting { waiting_for, reason, until })
                if until.is_none_or(|until| until > now()) =>
            {
                Some(Self { waiting_for, reason, since: event.at, until })
            }
            _ => None,
        })
    }
}
