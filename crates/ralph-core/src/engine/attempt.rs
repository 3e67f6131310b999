//! One attempt: context, agent, signals, gate, capture, decide.

use super::agents_md::Moment;
use super::finding::{Finding, told};
use super::judge::{Judged, Precheck};
use super::next::{Culprit, Step};
use super::plan_files::LogNews;
use super::prompt::{Prompt, Prompter};
use super::run::{EngineError, Run};
use super::session::Session;
use super::work_tree::Committed;
use crate::agent::{AgentReport, AttemptLog, Ending, Fault, LaunchRequest, Stop};
use crate::capture;
use crate::decide::verdict;
use crate::event::{EventKind, RunEvent, TaskRef};
use crate::evidence::Evidence;
use crate::hooks::HookPoint;
use crate::model::{Outcome, Task, TaskMetrics, Token};
use crate::signals::{self, Completion, Signals};
use crate::store::{AttemptStart, BreakerState, Claimed, Hand, UnfinishedAttempt};

impl Run<'_, '_> {
    /// Makes one attempt on a claimed task.
    pub(super) fn attempt(&mut self, claimed: Claimed, token: Token) -> Result<Step, EngineError> {
        if let Some(reason) = self.task_budget_reached(&claimed.task.id)? {
            return self.hand_over(&claimed, &token, &reason);
        }
        self.sync_agents_md(Moment::Before)?;
        let prompt = self.context(&claimed)?;
        if let Some(reason) = &prompt.ask_human {
            return self.hand_over(&claimed, &token, reason);
        }
        let gate_green_before = match self.precheck(&claimed)? {
            Precheck::NotMade => None,
            Precheck::Made { green } => Some(green),
            Precheck::Interrupted => {
                self.engine.store.release(&claimed.task.id, &token)?;
                return Ok(Step::Continue);
            }
        };
        let now_at = LogNews {
            task: Some(claimed.task.id.clone()),
            current: Some(format!("{} {}", claimed.task.name(), claimed.task.title)),
            ..LogNews::default()
        };
        self.sync_plan_files(Some(&claimed.task.id), Hand::Person, &now_at)?;
        let number = claimed.tries.recorded + 1;
        let log_name = format!("{}-{number:03}-{}.jsonl", claimed.task.id, self.id);
        let started = self.started_event(&claimed, &prompt, &log_name);
        if let Some(stop) = self.hook_before(HookPoint::BeforeAttempt, &started)? {
            self.engine.store.release(&claimed.task.id, &token)?;
            return Ok(Step::Stop(stop));
        }
        if self.engine.interrupt.first().is_some() {
            self.engine.store.release(&claimed.task.id, &token)?;
            return Ok(Step::Continue);
        }
        let tree_before = self.look_at_tree()?;
        self.remember_look(&claimed.task.id, tree_before.as_ref());
        let kept_name = format!("{}-{number:03}", claimed.task.id);
        let kept = self.keep_tree(&kept_name)?;
        let (start, log) = self.begin(&claimed, &token, &prompt, &log_name, started)?;
        let mut session = self.call_agent(&claimed, &prompt, log)?;
        let signals = self.read_signals(&claimed, &session);
        // An agent that was told to stop with us has not failed by itself, whatever its exit code.
        if self.engine.interrupt.first().is_some() && signals.completion == Completion::Absent {
            session.stop = Stop::Interrupted;
        }
        let before_attempt = tree_before.clone();
        let mut git = self.look_at_changes(tree_before)?;
        let mut gate = self.judge(&claimed, &session, &signals, &git)?;
        if verdict(&evidence(&session, &signals, &gate)).outcome == Outcome::Done {
            match self.commit_work(&claimed, before_attempt.as_ref())? {
                Committed::Nothing => {}
                Committed::As(commit) => git.commit_after = Some(commit),
                Committed::Failed(judged) => gate = judged,
            }
        }
        let evidence = evidence(&session, &signals, &gate);
        let verdict = verdict(&evidence);
        let files = git.files_changed.as_deref().unwrap_or_default();
        let failed = verdict.counted && verdict.outcome != Outcome::Done;
        let report = failed.then(|| capture::report(&evidence, &verdict, files));
        let mark = report
            .as_ref()
            .and_then(|report| capture::mark(&evidence, &verdict, report));
        git.undone_ref = self.settle_tree(&claimed, kept, failed, &kept_name)?;
        self.note_left_work(&claimed.task.id)?;
        let culprit = match gate {
            Judged::Broken(_) => Culprit::Gate,
            _ => Culprit::Agent,
        };
        let gate = gate.into_record();
        let verdict = told(verdict, gate.as_ref(), report.as_ref());
        let learnings = capture::learnings(&signals.learnings);
        let learnt = !learnings.is_empty();
        let mut log = LogNews {
            task: Some(claimed.task.id.clone()),
            learnings: learnings.iter().map(|one| one.content.clone()).collect(),
            ..LogNews::default()
        };
        if let Some(report) = &report {
            log.learnings.push(format!(
                "Task {} failed: {}",
                claimed.task.name(),
                report.why_it_failed
            ));
        }
        let resets_at = resets_at(&session.report);
        let used_up = session.stop == Stop::Budget;
        // One that was cut short may know what it costs and have had no time to say so.
        let completed = session.report.ending == Ending::Completed;
        let finding = Finding {
            started_at: start.started_at.unwrap_or_else(|| self.engine.clock.now()),
            start,
            verdict: verdict.clone(),
            agent: Some(session.report),
            signals: Some(signals),
            gate,
            gate_green_before,
            git,
            report,
            mark,
            learnings,
            view: Some(prompt.view),
            tries: prompt.tries,
            own_work: false,
        };
        let untold = completed && self.cost(&finding).is_none();
        let metrics = self.store_finding(&claimed, &token, finding)?;
        if untold {
            self.warn_of_unknown_cost()?;
        }
        self.warn_of_task_budget(&claimed.task)?;
        self.sync_after(failed, learnt)?;
        let hand = Hand::Agent(Some(claimed.task.id.clone()));
        self.sync_plan_files(Some(&claimed.task.id), hand, &log)?;
        self.refresh_state()?;
        match self.next_step(&verdict, culprit, resets_at)? {
            Step::Continue if used_up => self.after_budget(&claimed.task.id),
            Step::Continue if failed => self.after_failure(&claimed.task, &metrics),
            step => Ok(step),
        }
    }

    /// A counted failure: the breaker may have opened, and a person may want to be asked.
    fn after_failure(&mut self, task: &Task, metrics: &TaskMetrics) -> Result<Step, EngineError> {
        let stop = match self.engine.store.breaker()?.state {
            BreakerState::Open => self.mind_breaker(Some(task))?,
            BreakerState::Closed | BreakerState::HalfOpen => self.mind_failure(task, metrics)?,
        };
        Ok(stop.map_or(Step::Continue, Step::Stop))
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

    /// A person is worth more than another attempt.
    fn hand_over(
        &mut self,
        claimed: &Claimed,
        token: &Token,
        reason: &str,
    ) -> Result<Step, EngineError> {
        let event = self.event(EventKind::HandedOver {
            task: TaskRef::from(&claimed.task),
            reason: reason.to_owned(),
        });
        let now = self.engine.clock.now();
        let task = &claimed.task.id;
        self.engine
            .store
            .hand_over(task, token, reason, &event, now)?;
        self.engine.observer.event(&event);
        self.show_progress()?;
        Ok(Step::Continue)
    }

    /// The event of an attempt that is about to begin.
    fn started_event(&mut self, claimed: &Claimed, prompt: &Prompt, log_name: &str) -> RunEvent {
        self.event(EventKind::AttemptStarted {
            task: TaskRef::from(&claimed.task),
            attempt: claimed.tries.counted + 1,
            iteration: self.attempts + 1,
            agent: self.agent().name().to_owned(),
            choice: prompt.choice.clone(),
            log_path: Some(log_path(log_name)),
            learnings: prompt.learnings.clone(),
        })
    }

    fn begin(
        &mut self,
        claimed: &Claimed,
        token: &Token,
        prompt: &Prompt,
        log_name: &str,
        event: RunEvent,
    ) -> Result<(UnfinishedAttempt, AttemptLog), EngineError> {
        let number = claimed.tries.recorded + 1;
        // What was told since it was made stands before it.
        let event = self.event(event.kind);
        // Before the attempt begins: one that cannot be logged is not made.
        let log = self.open_log(log_name)?;
        let start = AttemptStart {
            task_id: claimed.task.id.clone(),
            token: token.clone(),
            attempt_number: number,
            iteration: self.attempts + 1,
            agent: self.agent().name().to_owned(),
            model: prompt.choice.model.clone(),
            rationale: prompt.choice.rationale.clone(),
            started_at: self.engine.clock.now(),
            commit_before: self
                .tree
                .as_ref()
                .and_then(|tree| tree.head().map(str::to_owned)),
            log_path: Some(log_path(log_name)),
            work_dir: self.engine.work_tree.display().to_string(),
            learnings: prompt.learnings.clone(),
        };
        self.engine.store.begin_attempt(&start, &event)?;
        self.engine.observer.event(&event);
        let start = UnfinishedAttempt {
            attempt_number: Some(number),
            iteration: Some(start.iteration),
            agent: Some(start.agent),
            model: Some(start.model),
            rationale: Some(start.rationale),
            started_at: Some(start.started_at),
            commit_before: start.commit_before,
            log_path: start.log_path,
            work_dir: Some(start.work_dir),
            learnings: start.learnings,
        };
        Ok((start, log))
    }

    fn open_log(&self, name: &str) -> Result<AttemptLog, EngineError> {
        let logs = self.engine.project.logs();
        let path = logs.join(name);
        std::fs::create_dir_all(&logs)
            .and_then(|()| AttemptLog::create(&path))
            .map_err(|source| EngineError::Log {
                path: path.display().to_string(),
                source,
            })
    }

    fn call_agent(
        &mut self,
        claimed: &Claimed,
        prompt: &Prompt,
        log: AttemptLog,
    ) -> Result<Session, EngineError> {
        let budget_usd = self.rest_of_budgets(&claimed.task.id)?;
        let launch = self.agent().launch(&LaunchRequest {
            task_id: &claimed.task.id,
            task_key: claimed.task.key.as_ref().map(|key| key.as_str()),
            attempt: claimed.tries.counted + 1,
            model: &prompt.choice.model,
            run_id: &self.id,
            project_root: self.engine.project.root(),
            work_tree: self.engine.work_tree,
            rules: &prompt.rules,
            task_prompt: &prompt.task,
            is_root: rustix::process::getuid().is_root(),
            budget_usd,
        });
        let mut session = self.session(
            &claimed.task,
            &prompt.choice.model,
            &launch,
            budget_usd,
            log,
        )?;
        // The agent minded the budget it was given.
        let minded = matches!(
            session.report.ending,
            Ending::Faulted {
                fault: Fault::Budget,
                ..
            }
        );
        // A cap of the settings' own, far below what is left, is a limit of one session.
        let spent = session.report.cost_usd;
        let ours = budget_usd.is_some_and(|budget| spent.is_none_or(|spent| spent >= 0.9 * budget));
        if minded && ours && session.stop == Stop::Exited {
            session.stop = Stop::Budget;
        }
        Ok(session)
    }

    fn read_signals(&self, claimed: &Claimed, session: &Session) -> Signals {
        signals::parse(
            &session.report.result_text,
            &self.signal_scope(&claimed.task),
        )
    }

    /// Whose signals count.
    pub(super) fn signal_scope<'t>(&'t self, task: &'t Task) -> signals::Scope<'t> {
        signals::Scope {
            task_id: task.id.as_str(),
            task_key: task.key.as_ref().map(|key| key.as_str()),
            ladder: self.agent().ladder(),
        }
    }
}

fn evidence<'e>(session: &'e Session, signals: &'e Signals, gate: &'e Judged) -> Evidence<'e> {
    Evidence {
        stop: session.stop,
        report: &session.report,
        signals,
        gate: gate.view(),
    }
}

/// Where a log is, below the project's root.
fn log_path(name: &str) -> String {
    format!("{}/logs/{name}", crate::project::RALPH_DIR)
}

/// When the limit that ended a session is over, where the service told.
fn resets_at(report: &AgentReport) -> Option<i64> {
    match &report.ending {
        Ending::Faulted { resets_at, .. } => *resets_at,
        Ending::Completed => None,
    }
}
