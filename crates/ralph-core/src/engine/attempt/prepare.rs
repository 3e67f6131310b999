//! Before an attempt: what may be spent, what the agent is told, whether anything speaks against it.

use super::super::agents_md::Moment;
use super::super::judge::Precheck;
use super::super::next::Step;
use super::super::plan_files::LogNews;
use super::super::prompt::{Prompt, Prompter};
use super::super::run::{EngineError, Run};
use super::Task;
use crate::event::{EventKind, RunEvent, TaskRef};
use crate::hooks::HookPoint;
use crate::logs::attempt_name;
use crate::model::Token;
use crate::store::{Claimed, Hand, RecoveryEnd};

/// What came of the preparation.
pub(super) enum Prepared {
    /// The attempt can be made.
    Ready(Box<Ready>),
    /// It is not made; the task is free again or given to a person.
    NotMade(Step),
}

/// An attempt that can be made.
pub(super) struct Ready {
    /// What the agent is told.
    pub prompt: Prompt,
    /// Whether the gate passed before anything was done, where it was run.
    pub gate_green_before: Option<bool>,
    /// The event of the attempt's begin.
    pub started: RunEvent,
    /// The name of its log.
    pub log_name: String,
}

impl Run<'_, '_> {
    pub(super) fn prepare(&mut self, task: &Task<'_>) -> Result<Prepared, EngineError> {
        let claimed = task.claimed;
        if let Some(stop) = self.be_on_own_branch()? {
            return self.give_back(task, Step::Stop(stop));
        }
        if let Some((budget, reason)) = self.task_budget_reached(&claimed.task)? {
            let told = format!("{}: {reason}", claimed.task.name());
            self.task_budget_met = Some((budget, told));
            return self.hand_over(task, &reason);
        }
        if let Some((reason, end)) = self.used_up(&claimed.task)? {
            self.block(claimed, task.token, &reason, end.as_ref())?;
            return Ok(Prepared::NotMade(Step::Continue));
        }
        if let Some(reason) = self.gate_still_broken(claimed) {
            return self.hand_over(task, &reason);
        }
        self.sync_agents_md(Moment::Before)?;
        let prompt = self.context(claimed)?;
        if let Some(reason) = &prompt.ask_human {
            return self.hand_over(task, reason);
        }
        let now_at = LogNews {
            task: Some(claimed.task.id.clone()),
            current: Some(format!("{} {}", claimed.task.name(), claimed.task.title)),
            ..LogNews::default()
        };
        // Before the gate runs what agents wrote.
        self.sync_plan_files(Some(&claimed.task.id), Hand::Person, &now_at)?;
        let gate_green_before = match self.precheck(claimed)? {
            Precheck::NotMade => None,
            Precheck::Made { green } => Some(green),
            Precheck::Interrupted => return self.give_back(task, Step::Continue),
        };
        let log_name = attempt_name(claimed.task.id.as_str(), task.number(), self.id.as_str());
        let started = self.started_event(claimed, &prompt, &log_name);
        if let Some(stop) = self.hook_before(HookPoint::BeforeAttempt, &started)? {
            return self.give_back(task, Step::Stop(stop));
        }
        if self.engine.interrupt.first().is_some() {
            return self.give_back(task, Step::Continue);
        }
        // No attempt is made whose changes could not be seen.
        self.look_at_tree()?;
        if let Some(stop) = self.git_fault() {
            return self.give_back(task, Step::Stop(stop));
        }
        Ok(Prepared::Ready(Box::new(Ready {
            prompt,
            gate_green_before,
            started,
            log_name,
        })))
    }

    /// The task is free again, as if nobody had looked at it.
    fn give_back(&mut self, task: &Task<'_>, step: Step) -> Result<Prepared, EngineError> {
        let id = &task.claimed.task.id;
        self.engine.store.release(id, task.token)?;
        Ok(Prepared::NotMade(step))
    }

    /// A person is worth more than another attempt.
    fn hand_over(&mut self, task: &Task<'_>, reason: &str) -> Result<Prepared, EngineError> {
        self.block(task.claimed, task.token, reason, None)?;
        Ok(Prepared::NotMade(Step::Continue))
    }

    /// Blocks a claimed task until a person decides, without an attempt, and with it the recovery chain that ends here.
    pub(in crate::engine) fn block(
        &mut self,
        claimed: &Claimed,
        token: &Token,
        reason: &str,
        end: Option<&RecoveryEnd>,
    ) -> Result<(), EngineError> {
        let event = self.event(EventKind::HandedOver {
            task: TaskRef::from(&claimed.task),
            reason: reason.to_owned(),
        });
        let now = self.engine.clock.now();
        self.engine
            .store
            .hand_over(&claimed.task.id, token, reason, end, &event, now)?;
        self.engine.observer.event(&event);
        self.show_progress()
    }

    fn context(&mut self, claimed: &Claimed) -> Result<Prompt, EngineError> {
        let rates = self.engine.store.run_rates(&self.id)?;
        let prompter = Prompter {
            templates: &self.templates,
            project: self.engine.project,
            store: self.engine.store,
            agent: self.agent(),
            stands_in: self.team.stands_in(),
            settings: self.engine.settings,
            now: self.engine.clock.now(),
        };
        Ok(prompter.prompt(&claimed.task, &claimed.metrics, self.attempts + 1, rates)?)
    }

    /// The event of an attempt that is about to begin.
    fn started_event(&mut self, claimed: &Claimed, prompt: &Prompt, log_name: &str) -> RunEvent {
        self.event(EventKind::AttemptStarted {
            task: TaskRef::from(&claimed.task),
            attempt: claimed.tries.counted + 1,
            iteration: self.attempts + 1,
            agent: self.agent().name().to_owned(),
            choice: prompt.choice.clone(),
            log_path: Some(super::begin::log_path(log_name)),
            learnings: prompt.learnings.clone(),
        })
    }
}
