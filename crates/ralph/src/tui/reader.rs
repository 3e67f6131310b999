//! Reads the store and does what a person asks, in a thread of its own: the screen answers keys meanwhile. Only what is in
//! view is read, and only when something has changed.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use ralph_core::event::WaitingFor;
use ralph_core::model::{NewTask, RunId};
use ralph_core::store::{PlanRow, Purpose, RunRequest, RunRow};

use super::outline::Outline;
use super::texts::Texts;
use super::view::{Action, Head, Memory, Reply, Request, RunHead, RunState, Wanted, Which};
use crate::actions::{self, Ask};
use crate::command_error::CommandError;
use crate::commands::limits;
use crate::commands::run::Crew;
use crate::commands::task::edit::title;
use crate::facts::{self, ActiveRun, BreakerFacts, LearningFacts, PhaseNames, PlanFacts, RunTime, TaskFacts};
use crate::settings::Settings;
use crate::workspace::{Workspace, interrupted_tasks, is_active, now, plan_counts};

/// How often the store is asked whether anything has changed.
const LOOK: Duration = Duration::from_millis(80);
/// How often a run is asked whether it still lives, which nobody writes down.
const PULSE: Duration = Duration::from_secs(1);
/// Tasks that need a person, learnings and search results that are told of.
const LISTED: usize = 50;
const FOUND: usize = 10_000;

pub struct Reader<'t> {
    workspace: Workspace,
    settings: Settings,
    /// The run to look at instead of the one under way or the last one.
    run: Option<RunId>,
    wanted: Wanted,
    /// The state of the store that was read last.
    version: Option<u64>,
    /// Whether something else is in view than what was read.
    moved: bool,
    pulse: Instant,
    outline: Option<Outline>,
    rows: Vec<PlanRow>,
    memory: Option<Memory>,
    texts: Texts,
    tell: Box<dyn FnMut(Reply) + 't>,
}

impl<'t> Reader<'t> {
    pub fn new(
        workspace: Workspace,
        settings: Settings,
        run: Option<RunId>,
        tell: impl FnMut(Reply) + 't,
    ) -> Self {
        Self {
            workspace,
            settings,
            run,
            wanted: Wanted::default(),
            version: None,
            moved: false,
            pulse: Instant::now(),
            outline: None,
            rows: Vec::new(),
            memory: None,
            texts: Texts::default(),
            tell: Box::new(tell),
        }
    }

    /// Works until nobody asks any more.
    pub fn work(mut self, asked: &Receiver<Request>) {
        loop {
            match asked.recv_timeout(LOOK) {
                Ok(ask) => {
                    self.answer(ask);
                    // Keys that were held down: the last one says what is in view now.
                    asked.try_iter().for_each(|ask| self.answer(ask));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.look();
        }
    }

    /// Takes what the screen asks; what is in view is read by [`Reader::look`].
    pub fn answer(&mut self, ask: Request) {
        let told = match ask {
            Request::Show(wanted) => {
                if self.wanted != *wanted {
                    (self.wanted, self.moved) = (*wanted, true);
                }
                return;
            }
            Request::Do(action) => {
                self.version = None;
                self.act(action).map(Reply::Receipt)
            }
            Request::LastAction => {
                self.workspace.store.plan_actions(1).map_err(CommandError::from).map(|actions| {
                    let last = actions.first();
                    Reply::LastAction(last.map(|action| (action.id, actions::describe_action(action))))
                })
            }
            Request::Find(text) => {
                let found = self.workspace.store.tasks_with(&text, FOUND);
                found.map(Reply::Found).map_err(CommandError::from)
            }
            Request::Whole(task) => {
                self.workspace.task(task.as_str()).map(|task| Reply::Whole(Box::new(task)))
            }
        };
        (self.tell)(told.unwrap_or_else(|error| Reply::Failed(sentence(&error))));
    }

    /// Tells what has changed since the last time.
    pub fn look(&mut self) {
        if let Err(error) = self.read() {
            // What could not be read now is read the next time.
            self.version = None;
            (self.tell)(Reply::Failed(sentence(&error)));
        }
    }

    fn read(&mut self) -> Result<(), CommandError> {
        let version = self.workspace.store.changes()?;
        let changed = self.version != Some(version);
        if changed {
            self.version = Some(version);
            self.read_plan()?;
        }
        if changed || std::mem::take(&mut self.moved) {
            self.moved = false;
            self.read_rows()?;
            self.read_task()?;
        }
        if changed || self.pulse.elapsed() >= PULSE {
            self.pulse = Instant::now();
            let head = self.head()?;
            (self.tell)(Reply::Head(Box::new(head)));
        }
        self.texts.read(
            &self.workspace,
            &self.settings,
            self.run.as_ref(),
            &self.wanted.text,
            changed,
            &mut self.tell,
        )
    }

    fn read_plan(&mut self) -> Result<(), CommandError> {
        let store = &self.workspace.store;
        let interrupted = interrupted_tasks(&self.workspace.store)?;
        let mut nodes = store.outline()?;
        let phases = PhaseNames::read(&self.workspace);
        for phase in nodes.iter_mut().filter_map(|node| node.phase.as_mut()) {
            *phase = phases.title(phase);
        }
        for node in nodes.iter_mut().filter(|node| interrupted.contains_key(&node.id)) {
            node.status = ralph_core::model::Status::Pending;
        }
        let outline = Outline::new(nodes);
        if self.outline.as_ref() != Some(&outline) {
            (self.tell)(Reply::Outline(outline.clone()));
            self.outline = Some(outline);
        }
        Ok(())
    }

    fn read_rows(&mut self) -> Result<(), CommandError> {
        let interrupted = interrupted_tasks(&self.workspace.store)?;
        let mut rows = self.workspace.store.plan_rows(&self.wanted.rows)?;
        for row in rows.iter_mut().filter(|row| interrupted.contains_key(&row.id)) {
            row.status = ralph_core::model::Status::Pending;
        }
        if self.rows != rows {
            (self.tell)(Reply::Rows(rows.iter().map(|row| (row.id.clone(), row.clone())).collect()));
            self.rows = rows;
        }
        Ok(())
    }

    fn read_task(&mut self) -> Result<(), CommandError> {
        let Some(id) = &self.wanted.task else {
            (self.tell)(Reply::Task(None));
            return self.read_memory(None);
        };
        let facts = match TaskFacts::read(&self.workspace, &self.settings, id.as_str()) {
            Err(_) if self.outline.as_ref().is_some_and(|outline| outline.place_of(id).is_none()) => None,
            facts => Some(Box::new(facts?)),
        };
        self.read_memory(facts.as_deref())?;
        (self.tell)(Reply::Task(facts));
        Ok(())
    }

    /// The learnings in the prompt of the attempt in view; those that were shown most often where there is none.
    fn read_memory(&mut self, facts: Option<&TaskFacts>) -> Result<(), CommandError> {
        let store = &self.workspace.store;
        let shown: Option<Vec<String>> = match (facts, self.wanted.text.attempt) {
            (Some(facts), Some(Which::Recorded(number))) => {
                let attempt = facts.history.iter().find(|one| one.record.attempt_number == number);
                attempt.map(|one| one.record.learnings_shown.iter().map(ToString::to_string).collect())
            }
            (Some(facts), Some(Which::UnderWay)) => {
                let mut claims =
                    store.claims()?.into_iter().filter(|claim| claim.purpose == Purpose::Attempt);
                let own = claims.find(|claim| claim.task_id == facts.task.id);
                own.map(|claim| claim.attempt.learnings.iter().map(ToString::to_string).collect())
            }
            _ => None,
        };
        let of_prompt = shown.is_some();
        let learnings = match shown {
            Some(ids) => {
                // One that was deleted since says nothing.
                let known = ids.iter().filter_map(|id| store.learning(id).ok());
                known.map(LearningFacts::from).collect()
            }
            None => store.most_shown_learnings(LISTED)?.into_iter().map(LearningFacts::from).collect(),
        };
        let memory = Memory { of_prompt, learnings };
        if self.memory.as_ref() != Some(&memory) {
            (self.tell)(Reply::Memory(memory.clone()));
            self.memory = Some(memory);
        }
        Ok(())
    }

    fn head(&self) -> Result<Head, CommandError> {
        let Workspace { project, store } = &self.workspace;
        let active = ActiveRun::all(store)?;
        let run = match &self.run {
            Some(id) => store.run(id)?,
            None => self.workspace.present_run()?,
        };
        let mut held = store.held(LISTED)?;
        held.retain(|held| !PlanFacts::is_blocked_along(held.status, held.reason.as_deref()));
        let (tasks, _) = plan_counts(store)?;
        let run = run.map(|run| self.run_head(run, &active)).transpose()?;
        let limits = store.agent_limits(now())?;
        let crew = Crew::of(&self.settings).ok();
        Ok(Head {
            project: project.root().file_name().unwrap_or_default().to_string_lossy().into_owned(),
            run,
            tasks,
            needs_you: held.into_iter().map(|held| held.name).collect(),
            active,
            limits: limits.iter().map(|limit| limits::words(limit, now())).collect(),
            breaker: Some(BreakerFacts::read(store, &self.settings)?),
            models: crew.map(|crew| crew.agent().ladder().to_vec()).unwrap_or_default(),
            spent_today: store.spent_on_day(now())?,
        })
    }

    fn run_head(&self, run: RunRow, active: &[ActiveRun]) -> Result<RunHead, CommandError> {
        let store = &self.workspace.store;
        let at_work = active.iter().find(|one| one.run_id == run.id);
        let waiting = at_work.and_then(|one| one.waiting.as_ref());
        let state = match at_work {
            Some(one) if one.stopped => RunState::Suspended,
            Some(one) => match (one.request, waiting.map(|wait| wait.waiting_for)) {
                (_, Some(WaitingFor::Resume)) => RunState::Paused,
                (Some(RunRequest::Pause), _) => RunState::Pausing,
                (Some(RunRequest::Stop), _) => RunState::Stopping,
                (None, _) => RunState::Running,
            },
            None if run.exit_code.is_none() && !is_active(&run) => RunState::Crashed,
            None => RunState::Ended(run.outcome.as_deref().unwrap_or("ended").replace('_', " ")),
        };
        let ended_at = match (&state, run.ended_at) {
            (RunState::Crashed, _) | (RunState::Ended(_), None) => {
                store.last_event(&run.id, None)?.map(|event| event.at).or(run.ended_at)
            }
            (RunState::Ended(_), ended) => ended,
            _ => None,
        };
        let time = if state.is_over() { RunTime::Over } else { RunTime::UnderWay };
        let budgets = facts::budgets(store, &self.settings, Some((&run.id, time)))?;
        Ok(RunHead {
            is_older: self.run.is_some()
                && self.workspace.present_run()?.is_none_or(|last| last.id != run.id),
            id: run.id.to_string(),
            started_at: run.started_at,
            ended_at,
            state,
            cost: run.cost,
            budget: budgets.run_usd,
            day_budget: budgets.day_usd,
            waiting: waiting.cloned(),
        })
    }

    fn act(&mut self, action: Action) -> Result<String, CommandError> {
        let workspace = &mut self.workspace;
        let run = self.run.as_ref().map(RunId::as_str);
        let receipt = match action {
            Action::Note(task, text, time) => {
                actions::add_note(workspace, task.as_str(), &text, time)?.receipt
            }
            Action::Pause => {
                let runs = actions::active_runs(workspace, run)?;
                let is_paused = runs.iter().any(|run| run.request == Some(RunRequest::Pause));
                let ask = if is_paused { Ask::Resume } else { Ask::Pause };
                actions::receipt_of(&actions::ask_runs(workspace, run, ask)?)
            }
            Action::GoAhead(task) => actions::go_ahead(workspace, task.as_str())?,
            Action::Skip(task, reason) => actions::skip(workspace, &[task.to_string()], reason)?,
            Action::Model(task, model) => actions::choose_model(workspace, task.as_str(), model)?,
            Action::Edit(task, edit) => actions::edit(workspace, task.as_str(), &edit)?,
            Action::Add(text) => {
                actions::add(workspace, &NewTask { title: title(&text)?, ..NewTask::default() })?.1
            }
            Action::Undo(id) => match actions::undo(workspace, Some(id))? {
                Some((_, receipt)) => receipt,
                None => return Ok("nothing to undo".to_owned()),
            },
        };
        self.settings = workspace.settings()?;
        Ok(receipt.sentence())
    }
}

/// An error and its hints as one line.
fn sentence(error: &CommandError) -> String {
    let hints = error.hints().iter().map(|hint| format!("; {hint}"));
    hints.fold(error.message().to_owned(), |all, hint| all + &hint)
}
