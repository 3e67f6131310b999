//! A run from its start to its end, one line per stage: plan, claim, context, agent, signals, gate, capture, decide.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::agent_session::Logs;
use super::agents_md_sync::{AgentsMd, WrittenBy};
use super::breaker_prompt::{Attendant, BreakerPrompt};
use super::budgets::BudgetWatch;
use super::gate_runs::Gates;
use super::plan_sync::PlanFiles;
use super::protection::FileProtection;
use super::readiness::{gates_in_scope, own_files};
use super::review::Reviewer;
use super::run_context::RunContext;
use super::run_end::{EngineError, Halt, Result, Summary};
use super::seat::{Drain, Seat, WorkerEnd};
use super::state_md_sync::StateMd;
use super::supervisor::Jobs;
use super::team::Team;
use super::work_tree::WorkTree;
use super::{RunSettings, Templates};
use crate::agent::{Agent, Interrupt};
use crate::clock::Clock;
use crate::event::{EventKind, GateAuthor, Observer, RunEvent, RunRequested};
use crate::exit::RunExit;
use crate::git::Git;
use crate::hooks::HookPoint;
use crate::host::Host;
use crate::model::{Baseline, TaskId};
use crate::project::Project;
use crate::sandbox::Sandbox;
use crate::store::{Claimed, NewRun, PlanCounts, Purpose, Scope, Store};

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

/// A run under way: each part owns its state and is given the context.
pub(super) struct Run<'a> {
    pub context: RunContext<'a>,
    pub tree: WorkTree,
    pub plan_files: PlanFiles,
    pub agents_md: AgentsMd,
    pub state_md: StateMd,
    pub team: Team<'a>,
    pub budgets: BudgetWatch,
    pub gates: Gates,
    pub protection: FileProtection,
    pub reviewer: Reviewer<'a>,
    pub breaker_prompt: BreakerPrompt,
    pub templates: Templates,
    pub logs: Logs,
}

/// How many tasks of a kind the event of a run's start names.
const NAMED: usize = 20;

impl Engine<'_> {
    /// Runs until nothing is left, a limit is reached, or something says stop.
    pub fn run(&mut self) -> Result<Summary, EngineError> {
        let tasks = self.store.counts()?;
        if tasks.total == 0 {
            return Ok(Summary {
                run_id: None,
                exit: RunExit::NoPlan,
                reason: "there is no plan".to_owned(),
                hint: Some("add a task with `ralph task add TITLE`".to_owned()),
            });
        }
        let (settings_json, output, role) =
            (self.settings_json.clone(), self.output.clone(), self.role.clone());
        let mut run = Run::new(self)?;
        let jobs = match &role {
            Role::Alone => None,
            Role::Supervisor(jobs) => Some(jobs),
            Role::Worker(..) => {
                let halt = run.work_as_one_of_many();
                let WorkerEnd { exit_code, reason, hint } = run.end_worker(halt)?;
                let exit = RunExit::ALL.into_iter().find(|exit| exit.code() == exit_code);
                let exit = exit.unwrap_or(RunExit::Error);
                return Ok(Summary { run_id: None, exit, reason, hint });
            }
        };
        let started = run.record_start(tasks, settings_json, output, jobs)?;
        let halt = match jobs {
            Some(jobs) => run.supervise(&started, jobs),
            None => run.work(&started),
        };
        run.end(halt)
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
            logs: Logs::default(),
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
            branch: branch.clone(),
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

    /// Everything between the start and the end of the run. Gives why it ends.
    fn work(&mut self, started: &RunEvent) -> Halt {
        let mut step = self.open(started);
        loop {
            match step {
                Ok(()) => step = self.next(),
                Err(halt) => return halt,
            }
        }
    }

    /// Before the first attempt: what dead runs left is dealt with, and the files are brought up to date.
    fn open(&mut self, started: &RunEvent) -> Result {
        let run = &mut self.context;
        run.start_guard()?;
        run.tell_notices()?;
        run.hook_before(HookPoint::BeforeRun, started)?;
        run.record_lost_attempts()?;
        self.tree.open(run)?;
        self.tree.warn_of_unmerged(run)?;
        self.tree.tidy(run)?;
        self.plan_files.open(run)?;
        run.warn_of_unready_gates()?;
        self.protection.open(run)?;
        run.probe()?;
        self.state_md.write(run, "running")?;
        self.agents_md.sync(run, self.tree.branch(), WrittenBy::Person)
    }

    /// One round of the loop: plan, choose an agent, claim a task, make an attempt.
    pub(super) fn next(&mut self) -> Result {
        self.read_ahead();
        self.plan()?;
        if !self.choose_agent()? {
            return Ok(());
        }
        match self.context.claim(Purpose::Attempt)? {
            Some(claimed) => {
                let attempted = self.attempt(&claimed);
                self.context.unless_moved(attempted)
            }
            None => self.wait_for_others(),
        }
    }

    /// What is looked at between attempts, asked of a server at once.
    fn read_ahead(&self) {
        let run = &self.context;
        run.store.read_ahead(|store| {
            run.read_requests_ahead(store);
            let _ = store.breaker();
            for member in &self.team.members {
                let _ = store.agent_limit(member.agent.account());
            }
        });
    }

    /// Between attempts: parents whose children are done, and whatever speaks against going on.
    fn plan(&mut self) -> Result {
        self.context.git_places = self.tree.git.as_ref().map(Git::places);
        self.context.beat();
        self.context.tell_gate_changes(GateAuthor::Elsewhere)?;
        self.settle_parents()?;
        self.must_stop()?;
        self.wait_while_paused()?;
        self.check_breaker(None)
    }

    /// One attempt on a claimed task, stage by stage.
    fn attempt(&mut self, claimed: &Claimed) -> Result {
        let Some(ready) = self.prepare(claimed)? else { return Ok(()) };
        let (begun, log) = self.begin(claimed, &ready)?;
        self.context.attempt_under_way = true;
        let worked = self.call_agent(claimed, &ready.prompt, log).and_then(|session| {
            let mut evidence = self.gather_evidence(claimed, &ready, &begun, session)?;
            let verdict = self.verdict_and_commit(claimed, &ready, &begun, &mut evidence)?;
            Ok((evidence, verdict))
        });
        self.context.attempt_under_way = false;
        let (evidence, verdict) = worked?;
        self.conclude(claimed, ready, begun, evidence, verdict)
    }
}
