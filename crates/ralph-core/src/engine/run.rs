//! The loop itself, one line per stage.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::agents_md::Moment;
use super::breaker::Attendant;
use super::log_upkeep::Haste;
use super::next::Step;
use super::readiness::own_files;
use super::state::STATE_MD;
use super::team::{Chosen, Team};
use super::{PromptError, RunSettings, Templates};
use crate::agent::{Agent, Guard, Interrupt};
use crate::clock::Clock;
use crate::decide::{Budget, Outlook, outlook};
use crate::event::{EventKind, GateAuthor, Observer, RunEvent, WORKER};
use crate::exit::RunExit;
use crate::files::RealPaths;
use crate::git::{Git, GitError, GitLimits, Snapshot};
use crate::hooks::HookPoint;
use crate::host::Host;
use crate::model::{RunId, TaskId, Timestamp, Token};
use crate::project::Project;
use crate::store::{
    ClaimRequest, Claimed, Hand, NewRun, Owner, PlanCounts, Purpose, RunEnd, Scope, Store,
    StoreError,
};

/// What git may take to write an index or files, filters and all.
const LEAST_CHANGE: Duration = Duration::from_secs(60);
const MOST_CHANGE: Duration = Duration::from_secs(3600);

/// What stops the loop from outside the rules.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The prompt could not be made.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// Git could not be asked without waiting for ever.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A parent's own gate could not be started.
    #[error("cannot run the gate of {task}: {why}")]
    Gate {
        /// The task.
        task: String,
        /// Why.
        why: String,
    },
    /// The log of an attempt could not be written.
    #[error("cannot write the log {path}: {source}")]
    Log {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The run; none if nothing was started.
    pub run_id: Option<RunId>,
    /// Why it ended.
    pub exit: RunExit,
    /// In a sentence.
    pub reason: String,
    /// What to do next.
    pub hint: Option<String>,
}

/// Why the loop stops.
#[derive(Clone, Debug)]
pub(super) struct StopRun {
    pub exit: RunExit,
    pub reason: String,
    pub hint: Option<String>,
    /// The budget that was used up, if that is why.
    pub budget: Option<Budget>,
}

impl StopRun {
    pub(super) fn new(exit: RunExit, reason: impl Into<String>) -> Self {
        Self {
            exit,
            reason: reason.into(),
            hint: None,
            budget: None,
        }
    }
}

/// A run: the stages and everything they are given.
pub struct Engine<'a> {
    /// Where `.ralph/` is.
    pub project: &'a Project,
    /// Where agents work; the project's root unless it is a tree of its own.
    pub work_tree: &'a Path,
    /// The database.
    pub store: &'a mut dyn Store,
    /// The agent.
    pub agent: &'a dyn Agent,
    /// Who stands in for it where it is limited or out of order, in order.
    pub fallback: &'a [&'a dyn Agent],
    /// Every agent whose logs can be read.
    pub known: &'a [&'a dyn Agent],
    /// How the run is to be done.
    pub settings: &'a RunSettings,
    /// The settings as recorded with the run.
    pub settings_json: String,
    /// Time.
    pub clock: &'a dyn Clock,
    /// Randomness.
    pub random: &'a mut dyn FnMut() -> u64,
    /// Processes of this machine.
    pub host: &'a dyn Host,
    /// Who looks on.
    pub observer: &'a mut dyn Observer,
    /// Who can be asked.
    pub attendant: &'a mut dyn Attendant,
    /// Whether to stop.
    pub interrupt: Interrupt,
    /// How the guard is started, which starts the run's agents and gates; empty for no guard.
    pub guard_command: Vec<OsString>,
    /// Where the run prints, where nobody looks on.
    pub output: Option<String>,
}

/// A run under way.
pub(super) struct Run<'e, 'a> {
    pub engine: &'e mut Engine<'a>,
    pub id: RunId,
    pub owner: Owner,
    pub git: Option<Git>,
    /// The tree as the last attempt left it, so that one look at git per attempt is enough.
    pub tree: Option<Snapshot>,
    /// The tree when the run began, where that matters: what was uncommitted then is a person's.
    pub run_start: Option<Snapshot>,
    /// The tree before the first attempt on each task that is not done.
    pub first_looks: HashMap<TaskId, Snapshot>,
    /// What attempts on each task that is not done changed, each by itself.
    pub changed_by: HashMap<TaskId, BTreeSet<Vec<u8>>>,
    /// What earlier runs left of tasks' work, uncommitted and untouched since.
    pub taken_over: HashMap<TaskId, Vec<Vec<u8>>>,
    pub started_at: Timestamp,
    /// The same by the clock that nobody can set.
    pub started_steady: Duration,
    /// How it began; the hook before a run reads it.
    pub started: Option<RunEvent>,
    /// Counted attempts so far.
    pub attempts: u32,
    /// The agents and how they fare.
    pub team: Team<'a>,
    /// Budgets whose near end was told.
    pub warned: Vec<Budget>,
    pub warned_of_task: Vec<(TaskId, Budget)>,
    /// A task whose own budget is used up was given to a person, and why.
    pub task_budget_met: Option<(Budget, String)>,
    pub unknown_cost_told: bool,
    pub last_heartbeat: Timestamp,
    /// Whether an attempt is under way.
    pub at_work: bool,
    pub interrupt_told: bool,
    pub templates: Templates,
    pub guard: Option<Guard>,
    pub seq: u64,
    /// When STATE.md was written last.
    pub state_written: Option<Timestamp>,
    pub state_fault_told: bool,
    /// When STATE.md is to show the attempt that is under way.
    pub state_due: Option<Timestamp>,
    pub state_shows_attempt: bool,
    /// How AGENTS.md looked after it was last brought up to date.
    pub agents_md_seen: Option<crate::files::Stamp>,
    pub agents_md_fault_told: bool,
    pub agents_md_secret_told: bool,
    /// How the file and the learnings stood when they were last brought together.
    pub agents_md_known: Option<super::agents_md::Together>,
    /// Tries of dead runs were found; until when their agents may have written anything.
    pub lost_until: Option<Timestamp>,
    /// Where Ralph's files led when the run began.
    pub real_paths: RealPaths,
    /// Whether a log was made in this run: the directory of logs was a real one.
    pub logs_opened: bool,
    /// The files of imported specs.
    pub plan_files: super::plan_files::PlanFiles,
    /// The lines of the last analysis.
    pub analysis: Option<Vec<String>>,
    /// Tasks that a person resumed when they were stuck, and their failures then.
    pub resumed: HashMap<TaskId, u32>,
    /// The last change of a gate that was told.
    pub gate_change_told: i64,
    /// Programs that broke a gate in this run.
    pub missing_programs: BTreeSet<String>,
    /// Whether people were told of `[run] accept_green`.
    pub accept_green_told: bool,
}

impl Engine<'_> {
    /// Runs until nothing is left, a limit is reached, or something says stop.
    pub fn run(&mut self) -> Result<Summary, EngineError> {
        let tasks = self.store.counts()?;
        if tasks.total == 0 {
            let hint = Some("add a task with `ralph task add TITLE`".to_owned());
            let reason = "there is no plan".to_owned();
            return Ok(Summary {
                run_id: None,
                exit: RunExit::NoPlan,
                reason,
                hint,
            });
        }
        let mut run = Run::start(self, tasks)?;
        let ended = run.go();
        run.end(ended)
    }
}

impl<'e, 'a> Run<'e, 'a> {
    fn start(engine: &'e mut Engine<'a>, tasks: PlanCounts) -> Result<Self, EngineError> {
        let now = engine.clock.now();
        let id = RunId::from_random((engine.random)() as u32);
        let owner = engine.host.owner();
        let own = own_files(engine.settings.agents_md.as_deref(), engine.store)?;
        let mut real_paths = RealPaths::default();
        let ralph_dir = engine.project.ralph_dir();
        real_paths.remember([ralph_dir.join(STATE_MD), ralph_dir]);
        // AGENTS.md is below the work tree, the others below the root.
        for dir in [engine.work_tree, engine.project.root()] {
            real_paths.remember(own.iter().map(|path| dir.join(path)));
        }
        let settings = &engine.settings.git;
        let limits = GitLimits {
            query: settings.query_timeout,
            // Even where a commit may take for ever.
            change: settings.commit_timeout.clamp(LEAST_CHANGE, MOST_CHANGE),
            interrupt: engine.interrupt.clone(),
        };
        let git = Git::open(engine.work_tree, limits)?.map(|git| git.without(own));
        if let Some(git) = &git {
            git.watch_programs()?;
        }
        let templates = Templates::load(engine.project)?;
        let team = Team::new(engine.agent, engine.fallback);
        let started_steady = engine.clock.steady();
        let mut run = Self {
            engine,
            id,
            owner,
            git,
            tree: None,
            run_start: None,
            first_looks: HashMap::new(),
            changed_by: HashMap::new(),
            taken_over: HashMap::new(),
            started_at: now,
            started_steady,
            started: None,
            attempts: 0,
            team,
            warned: Vec::new(),
            warned_of_task: Vec::new(),
            task_budget_met: None,
            unknown_cost_told: false,
            last_heartbeat: now,
            at_work: false,
            interrupt_told: false,
            templates,
            guard: None,
            seq: 0,
            state_written: None,
            state_fault_told: false,
            state_due: None,
            state_shows_attempt: false,
            agents_md_seen: None,
            agents_md_fault_told: false,
            agents_md_secret_told: false,
            agents_md_known: None,
            lost_until: None,
            real_paths,
            logs_opened: false,
            plan_files: super::plan_files::PlanFiles::default(),
            analysis: None,
            resumed: HashMap::new(),
            gate_change_told: 0,
            missing_programs: BTreeSet::new(),
            accept_green_told: false,
        };
        run.gate_change_told = run.engine.store.last_gate_change()?;
        let settings = run.engine.settings;
        let without_gate = settings.gate.ungated(run.engine.store, &settings.scope)?;
        let without_gate = without_gate.len() as u64;
        let event = run.event(EventKind::RunStarted {
            agent: run.engine.agent.name().to_owned(),
            strategy: run.engine.settings.strategy.to_string(),
            limit: run.engine.settings.limit,
            tasks,
            without_gate,
        });
        let new = NewRun {
            id: run.id.clone(),
            started_at: now,
            owner: run.owner.clone(),
            settings: run.engine.settings_json.clone(),
            output: run.engine.output.clone(),
            expires_at: now.plus(run.engine.settings.lease),
            defaults_revision: run.engine.settings.defaults_revision,
        };
        run.engine.store.start_run(&new, &event)?;
        run.engine.observer.event(&event);
        run.guard = run.start_guard()?;
        run.started = Some(event);
        for message in run.engine.settings.notices.clone() {
            run.tell(EventKind::Warning { message })?;
        }
        Ok(run)
    }

    /// Ralph's own directory, if it is still where it was when the run began.
    pub(super) fn ralph_dir(&self) -> std::io::Result<std::path::PathBuf> {
        self.real_paths.real(&self.engine.project.ralph_dir())
    }

    /// The loop: claim, attempt, decide, again.
    fn go(&mut self) -> Result<StopRun, EngineError> {
        if let Some(event) = self.started.take()
            && let Some(stop) = self.hook_before(HookPoint::BeforeRun, &event)?
        {
            return Ok(stop);
        }
        if let Some(stop) = self.recover_lost()? {
            return Ok(stop);
        }
        if let Some(stop) = self.open_work_tree()? {
            return Ok(stop);
        }
        self.tidy_git()?;
        self.open_plan_files()?;
        self.warn_of_unready_gates()?;
        self.probe()?;
        self.write_state(None)?;
        self.sync_agents_md(Moment::Before)?;
        loop {
            self.beat();
            self.tell_gate_changes(GateAuthor::Elsewhere)?;
            self.settle_parents()?;
            if let Some(stop) = self.must_stop()? {
                return Ok(stop);
            }
            if let Some(stop) = self.mind_pause()? {
                return Ok(stop);
            }
            if let Some(stop) = self.mind_breaker(None)? {
                return Ok(stop);
            }
            match self.choose_agent()? {
                Chosen::Works => {}
                Chosen::Waited => continue,
                Chosen::Nobody(stop) => return Ok(stop),
            }
            let Some((claimed, token)) = self.claim(Purpose::Attempt)? else {
                match self.wait_for_others()? {
                    Some(stop) => return Ok(stop),
                    None => continue,
                }
            };
            let step = self.attempt(claimed, token);
            match self.unless_moved(step)? {
                Some(Step::Stop(stop)) => return Ok(stop),
                Some(Step::Continue) | None => {}
            }
        }
    }

    /// A claim that another process took, or dealt with, is no reason to stop: the work was only not ours.
    pub(super) fn unless_moved<T>(
        &mut self,
        result: Result<T, EngineError>,
    ) -> Result<Option<T>, EngineError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(EngineError::Store(StoreError::ClaimMoved(task))) => {
                let message = format!(
                    "another process took over {task}; this run does not record the attempt"
                );
                self.tell(EventKind::Warning { message })?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Signals, requests, limits and budgets.
    pub(super) fn must_stop(&mut self) -> Result<Option<StopRun>, EngineError> {
        self.check_database()?;
        if let Some(stop) = self.signal_or_limit()? {
            return Ok(Some(stop));
        }
        if let Some(stop) = self.git_fault() {
            return Ok(Some(stop));
        }
        if let Some(stop) = self.asked_to_stop()? {
            return Ok(Some(stop));
        }
        self.mind_budgets()
    }

    fn signal_or_limit(&self) -> Result<Option<StopRun>, EngineError> {
        if let Some(signal) = self.engine.interrupt.first() {
            return self.interrupted(signal).map(Some);
        }
        let settings = self.engine.settings;
        if let Some(limit) = settings.limit.filter(|limit| self.attempts >= *limit) {
            let plural = if limit == 1 { "" } else { "s" };
            let reason = format!("the limit of {limit} attempt{plural} was reached");
            return Ok(Some(StopRun::new(RunExit::Limit, reason)));
        }
        Ok(None)
    }

    pub(super) fn claim(
        &mut self,
        purpose: Purpose,
    ) -> Result<Option<(Claimed, Token)>, EngineError> {
        self.check_database()?;
        let now = self.engine.clock.now();
        let token = Token::from_random((self.engine.random)());
        let request = ClaimRequest {
            purpose,
            scope: self.engine.settings.scope.clone(),
            run_id: self.id.clone(),
            worker: WORKER.to_owned(),
            owner: self.owner.clone(),
            token: token.clone(),
            now,
            expires_at: now.plus(self.engine.settings.lease),
        };
        Ok(self
            .engine
            .store
            .claim(&request)?
            .map(|claimed| (claimed, token)))
    }

    /// Makes an event; its number is used up whether it is stored or only shown.
    pub(super) fn event(&mut self, kind: EventKind) -> RunEvent {
        self.seq += 1;
        RunEvent::new(self.seq, self.engine.clock.now(), &self.id, kind)
    }

    /// Shows an event that is of interest only while it happens.
    pub(super) fn show(&mut self, kind: EventKind) {
        let event = self.event(kind);
        self.engine.observer.event(&event);
    }

    /// Stores an event that belongs to no other transaction, and shows it.
    pub(super) fn tell(&mut self, kind: EventKind) -> Result<(), EngineError> {
        let event = self.event(kind);
        self.engine
            .store
            .append_events(std::slice::from_ref(&event))?;
        self.engine.observer.event(&event);
        Ok(())
    }

    /// The end of a run that has nothing left to do.
    pub(super) fn all_done(&self) -> Result<StopRun, EngineError> {
        let (what, skipped) = match self.engine.settings.scope {
            Scope::All => ("every task", self.engine.store.counts()?.skipped > 0),
            Scope::Below(_) => ("every selected task", self.outlook()?.skipped > 0),
        };
        let or_skipped = if skipped { " or skipped" } else { "" };
        let reason = format!("{what} is done{or_skipped}");
        Ok(StopRun::new(RunExit::Finished, reason))
    }

    /// Whether nothing in scope is left to do. For the whole plan the kept counts say so.
    pub(super) fn is_finished(&self) -> Result<bool, EngineError> {
        if self.engine.settings.scope == Scope::All {
            let tasks = self.engine.store.counts()?;
            return Ok(tasks.is_settled());
        }
        Ok(self.outlook()?.is_finished())
    }

    pub(super) fn outlook(&self) -> Result<Outlook, EngineError> {
        Ok(outlook(
            &self.engine.store.skeleton()?,
            &self.engine.settings.scope,
        ))
    }

    /// Ends the run, whatever ended it: tidies up, closes its record, saves a database that is gone, and tells of the end.
    fn end(mut self, ended: Result<StopRun, EngineError>) -> Result<Summary, EngineError> {
        let (mut stop, error) = match ended {
            Ok(stop) => (stop, None),
            Err(error) => {
                // An attempt that began and could not be recorded stays claimed, and the next run finds it by that.
                let _ = self.engine.store.release_unbegun(&self.id);
                let stop = StopRun::new(RunExit::Error, error.to_string());
                (stop, Some(error))
            }
        };
        let mut closed = self.close(&mut stop);
        let vanished = !self.engine.store.is_in_place();
        if vanished {
            stop = self.save_database(stop);
            closed = self.finished(&stop).map(|kind| self.event(kind));
        } else if closed.is_ok() {
            let written = self.write_state_as(&stop.reason, None);
            closed = written.and(closed);
        }
        if let Ok(event) = &closed {
            self.engine.observer.event(event);
        }
        if let Some(guard) = self.guard.take() {
            guard.dismiss();
        }
        match (error, closed) {
            // Where the database is, and how to put it back, is all that matters then.
            _ if vanished => {}
            (Some(error), _) | (None, Err(error)) => return Err(error),
            (None, Ok(_)) => {}
        }
        Ok(Summary {
            run_id: Some(self.id),
            exit: stop.exit,
            reason: stop.reason,
            hint: stop.hint,
        })
    }

    /// Closes the run's record, also where tidying up fails. A run whose scope is finished has succeeded, whatever limit it
    /// reached on the way.
    fn close(&mut self, stop: &mut StopRun) -> Result<RunEvent, EngineError> {
        let tidied = match self.engine.store.is_in_place() {
            true => self.tidy_up(stop),
            false => Ok(()),
        };
        let kind = self.finished(stop)?;
        // While the run is still on record as one that is at work.
        let event = self.event(kind.clone());
        let told = self.hook_after(HookPoint::AfterRun, &event);
        let event = self.event(kind);
        self.engine.store.end_run(&self.run_end(stop), &event)?;
        tidied.and(told).map(|()| event)
    }

    /// Brings everything up to date that a run keeps beside its record.
    fn tidy_up(&mut self, stop: &mut StopRun) -> Result<(), EngineError> {
        if stop.exit == RunExit::Limit && self.is_finished()? {
            *stop = self.all_done()?;
        }
        // A person who interrupts a run wants it to end.
        let interrupted = matches!(stop.exit, RunExit::Interrupted(_));
        if !interrupted {
            self.tidy_learnings()?;
            let nothing = super::plan_files::LogNews::default();
            self.sync_plan_files(None, Hand::Person, &nothing)?;
            self.sync_agents_md(Moment::After)?;
        }
        self.prune_logs(if interrupted {
            Haste::Interrupted
        } else {
            Haste::None
        })?;
        self.tell_gate_changes(GateAuthor::Elsewhere)
    }
}

impl Run<'_, '_> {
    /// What is told of the end of the run.
    fn finished(&self, stop: &StopRun) -> Result<EventKind, EngineError> {
        let rates = self.engine.store.run_rates(&self.id)?;
        Ok(EventKind::RunFinished {
            exit_code: i32::from(stop.exit.code()),
            outcome: stop.exit.word().to_owned(),
            reason: stop.reason.clone(),
            hint: stop.hint.clone(),
            budget: stop.budget,
            attempts: rates.counted,
            done: rates.done,
            cost: rates.cost,
            duration_ms: millis(self.engine.clock.now().since(self.started_at)),
            tasks: self.engine.store.counts()?,
        })
    }

    /// What is recorded of it.
    fn run_end(&self, stop: &StopRun) -> RunEnd {
        RunEnd {
            id: self.id.clone(),
            ended_at: self.engine.clock.now(),
            outcome: stop.exit.word().to_owned(),
            exit_code: i32::from(stop.exit.code()),
        }
    }
}

/// A duration in whole milliseconds.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
