//! The end of an attempt: the verdict, the tree, everything on record, and what follows.

use super::super::branch::Returned;
use super::super::finding::{Finding, told};
use super::super::judge::Judged;
use super::super::next::{Culprit, Step};
use super::super::plan_files::LogNews;
use super::super::run::{EngineError, Run, StopRun};
use super::Task;
use super::begin::Begun;
use super::prepare::Ready;
use super::work::Worked;
use crate::agent::{AgentReport, Ending, Stop};
use crate::capture;
use crate::decide::verdict;
use crate::event::EventKind;
use crate::model::{self, ErrorType, NewLearning, Outcome, ReportRow, TaskMetrics};
use crate::store::{BreakerState, Hand};

impl Run<'_, '_> {
    pub(super) fn conclude(
        &mut self,
        task: &Task<'_>,
        ready: Ready,
        begun: Begun,
        worked: Worked,
    ) -> Result<Step, EngineError> {
        let claimed = task.claimed;
        let evidence = worked.evidence();
        let verdict = verdict(&evidence);
        let files = worked.git.files_changed.as_deref().unwrap_or_default();
        let failed = verdict.counted && verdict.outcome != Outcome::Done;
        let report = failed.then(|| capture::report(&evidence, &verdict, files));
        let mark = report
            .as_ref()
            .and_then(|report| capture::mark(&evidence, &verdict, report));
        // Work that passes the gate is not thrown away because a signal is missing.
        let green = worked.is_green_without_signal();
        let mut git = worked.git;
        self.warn_of_program_changes(git.files_changed.as_deref().unwrap_or_default())?;
        self.end_unfinished(&begun.kept_name)?;
        git.undone_ref =
            self.settle_tree(claimed, begun.kept, failed && !green, &begun.kept_name)?;
        let returned = self.return_to(begun.branch.as_deref())?;
        self.note_left_work(&claimed.task.id, begun.tree.as_ref())?;
        let culprit = match &worked.gate {
            Judged::NotStarted(_) => Culprit::Gate,
            Judged::NotCommitted { remedy, .. } => Culprit::Git(remedy.clone()),
            _ => Culprit::Agent,
        };
        let needs_person = match &worked.gate {
            Judged::HeldUp { fix, .. } => {
                let name = claimed.task.name();
                Some(format!(
                    "it is new in this run: {fix}, then `ralph run {name}`"
                ))
            }
            _ => None,
        };
        let gate = worked.gate.into_record();
        let verdict = told(verdict, gate.as_ref(), report.as_ref());
        let learnings = capture::learnings(&worked.signals.learnings);
        let learnt = !learnings.is_empty();
        let log = log_news(&claimed.task, &learnings, report.as_ref());
        let session = worked.session;
        let resets_at = resets_at(&session.report);
        let used_up = session.stop == Stop::Budget;
        // One that was cut short may know what it costs and have had no time to say so.
        let completed = session.report.ending == Ending::Completed;
        let finding = Finding {
            started_at: begun
                .start
                .started_at
                .unwrap_or_else(|| self.engine.clock.now()),
            start: begun.start,
            verdict: verdict.clone(),
            agent: Some(session.report),
            signals: Some(worked.signals),
            gate,
            gate_green_before: ready.gate_green_before,
            git,
            report,
            mark,
            learnings,
            view: Some(ready.prompt.view),
            tries: ready.prompt.tries,
            inherited: ready.prompt.inherited,
            own_work: false,
            needs_person,
        };
        if verdict.error_type == Some(ErrorType::GateBroken) {
            self.note_broken_gate(claimed);
        }
        let untold = completed && self.cost(&finding).is_none();
        let metrics = self.store_finding(claimed, task.token, finding)?;
        // Only now: a deleted file can still be written, and the attempt must not be lost.
        self.check_database()?;
        if untold {
            self.warn_of_unknown_cost()?;
        }
        self.warn_of_task_budget(&claimed.task)?;
        if green && failed {
            self.tell_of_accept_green()?;
        }
        self.sync_after(failed, learnt)?;
        let hand = Hand::Agent(Some(claimed.task.id.clone()));
        self.sync_plan_files(Some(&claimed.task.id), hand, &log)?;
        self.refresh_state()?;
        let step = self.next_step(&verdict, culprit, resets_at)?;
        if let (Step::Continue, Returned::Astray(why)) = (&step, returned) {
            let fault = self.git_fault();
            return Ok(Step::Stop(fault.unwrap_or_else(|| StopRun::astray(why))));
        }
        match step {
            Step::Continue if used_up => self.after_budget(&claimed.task),
            Step::Continue if failed => self.after_failure(&claimed.task, &metrics),
            step => Ok(step),
        }
    }

    /// Tells people once how a gate that passes can stand for a forgotten signal.
    fn tell_of_accept_green(&mut self) -> Result<(), EngineError> {
        if self.accept_green_told || self.engine.settings.gate.accept_green {
            return Ok(());
        }
        self.accept_green_told = true;
        let message = "an attempt passed its gate but ended without reporting a result; `accept_green = true` under [run] \
                       counts such attempts as done";
        let message = message.to_owned();
        self.tell(EventKind::Warning { message })
    }

    /// A counted failure: the breaker may have opened, and a person may want to be asked.
    fn after_failure(
        &mut self,
        task: &model::Task,
        metrics: &TaskMetrics,
    ) -> Result<Step, EngineError> {
        let stop = match self.engine.store.breaker()?.state {
            BreakerState::Open => self.mind_breaker(Some(task))?,
            BreakerState::Closed | BreakerState::HalfOpen => self.mind_failure(task, metrics)?,
        };
        Ok(stop.map_or(Step::Continue, Step::Stop))
    }
}

/// What the log of a spec is told of an attempt.
fn log_news(task: &model::Task, learnings: &[NewLearning], report: Option<&ReportRow>) -> LogNews {
    let learnt = learnings.iter().map(|one| one.content.clone());
    let failure = report.map(|report| {
        let why = &report.why_it_failed;
        format!("Task {} failed: {why}", task.name())
    });
    LogNews {
        task: Some(task.id.clone()),
        learnings: learnt.chain(failure).collect(),
        ..LogNews::default()
    }
}

/// When the limit that ended a session is over, where the service told.
fn resets_at(report: &AgentReport) -> Option<i64> {
    match &report.ending {
        Ending::Faulted { resets_at, .. } => *resets_at,
        Ending::Completed => None,
    }
}
