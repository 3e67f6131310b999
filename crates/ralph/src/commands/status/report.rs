//! What `ralph status` knows. As JSON this is a contract: fields may be added, none goes.

use ralph_core::decide::{Waiter, outlook};
use ralph_core::exit::RunExit;
use ralph_core::model::{Cost, Timestamp};
use ralph_core::store::{BreakerState, Held, PlanCounts, RememberedLimit, RunRow, Scope, WaitingGate};
use serde::Serialize;

use super::active::{ActiveRun, active_runs};
use crate::command_error::CommandError;
use crate::settings::Settings;
use crate::ui::summary::{OpenTask, RunFacts, UnverifiedTask, open_tasks, unverified_tasks};
use crate::workspace::{Workspace, is_active, now, plan_counts};

#[derive(Debug, Serialize)]
pub struct Report {
    pub tasks: PlanCounts,
    pub ready: u64,
    pub attempts: u64,
    #[serde(flatten)]
    pub cost: Cost,
    pub run: Option<RunReport>,
    pub breaker: BreakerReport,
    pub waiting: Vec<Waiter>,
    /// What waits for a person.
    pub held: Vec<Held>,
    /// Every task that is not done: what happened, why, what to type.
    pub open: Vec<OpenTask>,
    /// Done tasks that no gate verified.
    pub unverified: Vec<UnverifiedTask>,
    /// Gates that were changed in a plan's file while an agent was at work, and that wait for a person to import the file.
    pub gates_waiting: Vec<WaitingGate>,
    /// Usage limits of agents that are not over.
    pub limits: Vec<RememberedLimit>,
    /// Runs under way, and what they do.
    pub active: Vec<ActiveRun>,
    /// The run that started last, if it is over.
    pub last_run: Option<RunFacts>,
}

/// The run that started last.
#[derive(Debug, Serialize)]
pub struct RunReport {
    #[serde(flatten)]
    pub run: RunRow,
    pub active: bool,
}

#[derive(Debug, Serialize)]
pub struct BreakerReport {
    pub state: BreakerState,
    pub failures: u64,
    pub tasks: u64,
    pub threshold: u32,
    pub opened_at: Option<Timestamp>,
}

impl Report {
    pub fn of(workspace: &Workspace, settings: &Settings) -> Result<Self, CommandError> {
        let store = &workspace.store;
        let totals = store.totals()?;
        let breaker = store.breaker()?;
        let run = store.last_run()?.map(|run| RunReport { active: is_active(&run), run });
        let mut last_run = match &run {
            Some(RunReport { run, active: false }) => Some(RunFacts::of(workspace, run)?),
            _ => None,
        };
        // A breaker that was closed since needs no advice.
        if let Some(facts) = &mut last_run
            && facts.exit_code == Some(i32::from(RunExit::BreakerOpen.code()))
            && breaker.state == BreakerState::Closed
        {
            facts.hint = None;
        }
        let (tasks, ready) = plan_counts(store)?;
        Ok(Self {
            tasks,
            ready,
            attempts: totals.attempts,
            cost: totals.cost,
            run,
            breaker: BreakerReport {
                state: breaker.state,
                failures: breaker.failures,
                tasks: breaker.tasks,
                threshold: settings.breaker.threshold.0,
                opened_at: breaker.opened_at,
            },
            waiting: outlook(&store.skeleton()?, &Scope::All).waiting,
            held: store.held(usize::MAX)?,
            open: open_tasks(workspace)?,
            unverified: unverified_tasks(workspace)?,
            gates_waiting: store.waiting_gates()?,
            limits: store.agent_limits(now())?,
            active: active_runs(workspace)?,
            last_run,
        })
    }
}
