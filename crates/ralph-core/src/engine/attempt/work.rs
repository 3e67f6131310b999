//! The work itself: the agent, what it signals, the gate, the commit.

use super::super::branch::Returned;
use super::super::judge::Judged;
use super::super::prompt::Prompt;
use super::super::run::{EngineError, Run};
use super::super::session::Session;
use super::super::work_tree::Committed;
use super::Task;
use super::begin::Begun;
use super::prepare::Ready;
use crate::agent::{AttemptLog, Ending, Fault, LaunchRequest, Stop};
use crate::decide::{claims_done, gave_no_signal, verdict};
use crate::evidence::{Evidence, Green};
use crate::model::{self, GateOutcome, GateRecord, GitRecord, Outcome};
use crate::signals::{self, Completion, Signals};

/// What came of the work.
pub(super) struct Worked {
    pub session: Session,
    pub signals: Signals,
    pub gate: Judged,
    pub git: GitRecord,
    /// Whether a gate that passed stands for a forgotten signal.
    pub green: Green,
}

impl Worked {
    /// What a verdict rests on.
    pub fn evidence(&self) -> Evidence<'_> {
        Evidence {
            stop: self.session.stop,
            report: &self.session.report,
            signals: &self.signals,
            gate: self.gate.view(),
            green: self.green,
        }
    }

    /// The gate passed after an attempt without a signal: the work may be done.
    pub fn is_green_without_signal(&self) -> bool {
        let passed = |gate: &GateRecord| gate.outcome == GateOutcome::Passed;
        let green = matches!(&self.gate, Judged::Ran(gate) if passed(gate));
        green && gave_no_signal(self.session.stop, &self.session.report, &self.signals)
    }
}

impl Run<'_, '_> {
    pub(super) fn work(
        &mut self,
        task: &Task<'_>,
        ready: &Ready,
        begun: &Begun,
        log: AttemptLog,
    ) -> Result<Worked, EngineError> {
        let claimed = task.claimed;
        let mut session = self.call_agent(task, &ready.prompt, log)?;
        let scope = self.signal_scope(&claimed.task);
        let signals = signals::parse(&session.report.result_text, &scope);
        // An agent that was told to stop with us has not failed by itself, whatever its exit code.
        if self.engine.interrupt.first().is_some() && signals.completion == Completion::Absent {
            session.stop = Stop::Interrupted;
        }
        self.check_repository();
        let branch = begun.branch.as_deref();
        // The gate judges what is on the branch of the run.
        let unfinished = self.unfinished()?;
        let returned = match unfinished {
            Some(_) => Returned::Stayed,
            None => self.return_to(branch)?,
        };
        let git = self.look_at_changes(begun.tree.clone())?;
        let done = claims_done(session.stop, &session.report, &signals);
        let misplaced = self.misplaced(unfinished, &returned, branch);
        let gate = match misplaced {
            Some(misplaced) if done => misplaced,
            // What the gate would judge is not the work.
            Some(_) => Judged::NotRun,
            None => self.judge(claimed, &session, &signals, &git)?,
        };
        // A gate that passed before proves nothing about this attempt.
        let red_before = ready.gate_green_before == Some(false);
        let green = match self.engine.settings.gate.accept_green && red_before {
            true => Green::Accepted,
            false => Green::Ignored,
        };
        let mut worked = Worked {
            session,
            signals,
            gate,
            git,
            green,
        };
        if verdict(&worked.evidence()).outcome == Outcome::Done {
            match self.commit_work(claimed, task.token, begun.tree.as_ref())? {
                Committed::Nothing => {}
                Committed::As(commit) => worked.git.commit_after = Some(commit),
                Committed::Failed(judged) => worked.gate = judged,
            }
        }
        Ok(worked)
    }

    fn call_agent(
        &mut self,
        task: &Task<'_>,
        prompt: &Prompt,
        log: AttemptLog,
    ) -> Result<Session, EngineError> {
        let claimed = task.claimed;
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
        let model = &prompt.choice.model;
        let mut session = self.session(&claimed.task, model, &launch, budget_usd, log)?;
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

    /// Whose signals count.
    pub(in crate::engine) fn signal_scope<'t>(
        &'t self,
        task: &'t model::Task,
    ) -> signals::Scope<'t> {
        signals::Scope {
            task_id: task.id.as_str(),
            task_key: task.key.as_ref().map(|key| key.as_str()),
            ladder: self.agent().ladder(),
        }
    }
}
