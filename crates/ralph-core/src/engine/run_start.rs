//! The start of a run: what it is given, the parts it is made of, and the record of its start.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::agents_md_sync::AgentsMd;
use super::breaker_prompt::{Attendant, BreakerPrompt};
use super::budgets::BudgetWatch;
use super::gate_runs::Gates;
use super::plan_sync::PlanFiles;
use super::protection::FileProtection;
use super::readiness::{gates_in_scope, own_files};
use super::review::Reviewer;
use super::run::Run;
use super::run_context::RunContext;
use super::run_end::EngineError;
use super::seat::{Drain, Seat};
use super::state_md_sync::StateMd;
use super::supervisor::Jobs;
use super::team::Team;
use super::work_tree::WorkTree;
use super::{RunSettings, Templates};
use crate::agent::{Agent, Interrupt};
use crate::clock::Clock;
use crate::event::{EventKind, Observer, RunEvent, RunRequested};
use crate::host::Host;
use crate::model::{Baseline, TaskId};
use crate::project::Project;
use crate::sandbox::Sandbox;
use crate::store::{NewRun, PlanCounts, Scope, Store};

/// What part of a run this process is.
#[derive(Clone, Debug)]
pub enum Role {
    /// All of it, in the project's own tree.
    Alone,
    /// It starts workers and does no task itself.
    Supervisor(Jobs),
    Worker(Seat, Drain),
}

pub struct Engine<'a> {
    pub role: Role,
    pub project: &'a Project,
    /// Where agents work; the project's root unless it is a tree of its own.
    pub work_tree: &'a Path,
    pub store: &'a mut Store,
    pub agent: &'a Agent,
    /// Its fallback where it is limited or unavailable, in order.
    pub fallback: &'a [&'a Agent],
    /// Who reviews finished work, where the settings want that.
    pub reviewer: &'a Agent,
    /// Every agent whose logs can be read.
    pub known: &'a [&'a Agent],
    pub settings: &'a RunSettings,
    /// The settings as recorded with the run.
    pub settings_json: String,
    pub clock: &'a dyn Clock,
    pub random: &'a mut dyn FnMut() -> u64,
    pub host: &'a dyn Host,
    pub observer: &'a mut dyn Observer,
    pub attendant: &'a mut dyn Attendant,
    pub interrupt: Interrupt,
    pub sandbox: &'a Sandbox,
    /// How the guard is started, which starts the run's agents and gates; empty for no guard.
    pub guard_command: Vec<OsString>,
    /// The name of this worker among those of the run.
    pub worker: &'a str,
    /// Where the run prints, where nobody looks on.
    pub output: Option<String>,
}

/// How many tasks of a kind the event of a run's start names.
const NAMED: usize = 20;

impl<'a> Run<'a> {
    pub(super) fn new<'b: 'a>(engine: &'a mut Engine<'b>) -> Result<Self, EngineError> {
        let own_files = own_files(engine.settings.agents_md.as_deref(), engine.store)?;
        let team = Team::new(engine.agent, engine.fallback);
        let engine_reviewer = engine.reviewer;
        let elapsed = match &engine.role {
            Role::Worker(seat, _) => Duration::from_millis(seat.elapsed_ms),
            Role::Alone | Role::Supervisor(_) => Duration::ZERO,
        };
        let context = RunContext::new(engine, &own_files)?;
        Ok(Self {
            tree: WorkTree::new(&context, own_files)?,
            plan_files: PlanFiles::default(),
            agents_md: AgentsMd::default(),
            state_md: StateMd::written_by(context.is_worker),
            team,
            budgets: BudgetWatch::new(context.clock.steady(), elapsed),
            gates: Gates::default(),
            protection: FileProtection::default(),
            reviewer: Reviewer::new(engine_reviewer, context.project)?,
            breaker_prompt: BreakerPrompt::default(),
            templates: Templates::load(context.project)?,
            context,
        })
    }

    pub(super) fn record_start(
        &mut self,
        tasks: PlanCounts,
        settings_json: String,
        output: Option<String>,
        jobs: Option<&Jobs>,
    ) -> Result<RunEvent, EngineError> {
        let run = &mut self.context;
        let settings = run.settings;
        let branch = match jobs {
            Some(_) => Some(self.tree.branch_to_land_on(run)?),
            None => None,
        };
        let count = jobs.map_or(1, |jobs| jobs.count);
        let ungated = settings.gate.ungated(run.store, &settings.scope)?;
        let started = EventKind::RunStarted {
            agent: self.team.agent().name().to_owned(),
            strategy: settings.strategy.to_string(),
            limit: settings.limit,
            tasks,
            without_gate: ungated.len() as u64,
            ungated: ungated.iter().take(NAMED).map(|task| task.name().to_owned()).collect(),
            gates_off: !settings.gate.enabled,
            already_green: already_green(run, &self.tree)?,
            asked: requested(run.store, settings),
            jobs: count,
            branch: branch.as_ref().map(|branch| match &settings.git.remote {
                Some(remote) => format!("{remote}/{branch}"),
                None => branch.clone(),
            }),
            sandbox: Some(run.sandbox.enforced(settings.is_isolated())),
        };
        let new = NewRun {
            id: run.id.clone(),
            started_at: run.started_at,
            owner: run.owner.clone(),
            settings: settings_json,
            output,
            expires_at: run.started_at.plus(settings.lease),
            defaults_revision: settings.defaults_revision,
            jobs: count,
            branch,
            sandbox: run.sandbox.enforced(settings.is_isolated()),
        };
        Ok(run.tell_with(started, |store, event| store.start_run(&new, event))?)
    }
}

/// The open tasks in scope whose gate is known to have passed before any work.
fn already_green(run: &RunContext<'_>, tree: &WorkTree) -> Result<Vec<String>, EngineError> {
    let settings = run.settings;
    if !settings.gate.enabled || !run.store.knows_baselines()? {
        return Ok(Vec::new());
    }
    let at = tree.clean_commit_at_start(run);
    let mut green = Vec::new();
    for gate in gates_in_scope(run.store, &settings.scope, settings.gate.default.as_deref())? {
        let known = match run.store.task_baseline(&gate.task, &gate.command)? {
            Some(known) => Some(known),
            None => match &at {
                Some(at) => run.store.commit_baseline(at, &gate.command, run.clock.now())?,
                None => None,
            },
        };
        if known.is_some_and(|known| known.result == Baseline::Green) {
            green.push(gate.name);
            if green.len() >= NAMED {
                break;
            }
        }
    }
    Ok(green)
}

/// What a person asked of the run.
fn requested(store: &Store, settings: &RunSettings) -> RunRequested {
    let ids: &[TaskId] = match &settings.scope {
        Scope::All => &[],
        Scope::Below(ids) => ids,
    };
    let named = ids.iter().take(NAMED).filter_map(|id| store.task(id.as_str()).ok());
    let budgets = &settings.budgets;
    RunRequested {
        tasks: named.map(|task| task.name().to_owned()).collect(),
        task_count: ids.len() as u64,
        model: settings.forced_model.clone(),
        max_cost_usd: budgets.run_usd,
        max_task_cost_usd: budgets.task_usd,
        max_daily_cost_usd: budgets.day_usd,
    }
}
