//! The stages of one attempt: prepare (budget, context, hook), begin (the tree, the log, the record), work (agent, signals,
//! gate), conclude (verdict, commit or rollback, capture, what it means for the run).

use super::agent_session::{Session, SessionRequest, log_path, run_agent, signal_scope};
use super::agents_md_sync::WrittenBy;
use super::attempt_record::{AttemptResult, add_session, begun as begun_record};
use super::fix_tasks::attempts_used_up;
use super::plan_sync::LogNews;
use super::prompt::{Prompt, Prompter};
use super::readiness::told_gate_fix;
use super::run::Run;
use super::run_end::{Result, StopRun};
use super::team::Unavailable;
use super::work_tree::TreeBefore;
use crate::agent::{AttemptLog, Ending, Fault, LaunchRequest, Stop};
use crate::capture;
use crate::decide::{Outage, claims_done, gave_no_signal, verdict};
use crate::event::{EventKind, RunEvent, TaskRef};
use crate::evidence::{CommitFailure, Evidence, GateView, Green, Verdict};
use crate::exit::RunExit;
use crate::gate::GateResult;
use crate::git::Git;
use crate::hooks::HookPoint;
use crate::logs::attempt_name;
use crate::model::{Attempt, ErrorType, FailureClass, GateOutcome, GitRecord, Outcome, Task};
use crate::signals::{self, Completion, Signals};
use crate::store::{Author, Claimed, UnfinishedAttempt};

/// An attempt that can be made.
pub(super) struct Ready {
    pub prompt: Prompt,
    /// Whether the gate passed before anything was done, where it was run.
    gate_green_before: Option<bool>,
    started: RunEvent,
    log_name: String,
}

/// An attempt that is on record as begun.
pub(super) struct Begun {
    attempt: Attempt,
    tree: TreeBefore,
}

/// What the agent did, and what the gate said of it.
pub(super) struct Work {
    session: Session,
    signals: Signals,
    /// None where there is no gate, or it was not run.
    gate: Option<GateResult>,
    git: GitRecord,
    /// Whether a gate that passed stands for a forgotten signal.
    green: Green,
    /// Why done work is not on its branch or not committed.
    commit_failure: Option<CommitFailure>,
}

impl Work {
    fn evidence(&self) -> Evidence<'_> {
        Evidence {
            stop: self.session.stop,
            report: &self.session.report,
            signals: &self.signals,
            gate: match &self.gate {
                None => GateView::NotRun,
                Some(GateResult::Ran(record)) => GateView::Ran(record),
                Some(GateResult::Interrupted) => GateView::Interrupted,
                Some(GateResult::NotStarted(why)) => GateView::NotStarted(why),
            },
            green: self.green,
            commit_failure: self.commit_failure.as_ref(),
        }
    }

    /// The gate passed after an attempt without a signal: the work may be done.
    fn is_green_without_signal(&self) -> bool {
        matches!(&self.gate, Some(GateResult::Ran(gate)) if gate.outcome == GateOutcome::Passed)
            && self.commit_failure.is_none()
            && gave_no_signal(self.session.stop, &self.session.report, &self.signals)
    }

    /// What to do about a gate that cannot be started or a git that cannot commit.
    fn setup_fix(&self) -> Option<String> {
        match (&self.commit_failure, &self.gate) {
            (Some(CommitFailure::GitFault { remedy, .. }), _) => {
                Some(format!("{remedy}; then `ralph run` again"))
            }
            (None, Some(GateResult::NotStarted(_))) => {
                Some("shorten or fix the task's verify command".to_owned())
            }
            _ => None,
        }
    }

    /// What only a person can do about a program that blocked the commit, or about a gate that cannot run.
    fn needs_person(&self, task: &Task) -> Option<String> {
        if let Some(CommitFailure::Refused { fix: Some(fix), .. }) = &self.commit_failure {
            return Some(format!("added during this run: {fix}, then `ralph run {}`", task.name()));
        }
        let evidence = self.evidence();
        let fix = evidence.check()?.fix.as_deref()?;
        Some(told_gate_fix(task, fix))
    }
}

impl Run<'_> {
    /// Before an attempt: what may be spent, what the agent is told, whether anything speaks against it. None where it is
    /// not made: then the task is free again or given to a person.
    pub(super) fn prepare(&mut self, claimed: &Claimed) -> Result<Option<Ready>> {
        let task = &claimed.task;
        let run = &mut self.context;
        self.tree.go_to_own_branch(run)?;
        if let Some((budget, reason)) = self.budgets.check_task(run, task)? {
            self.budgets.task_budget_reached = Some((budget, format!("{}: {reason}", task.name())));
            run.block(claimed, &reason, None)?;
            return Ok(None);
        }
        if let Some((reason, end)) = attempts_used_up(run, task)? {
            run.block(claimed, &reason, end.as_ref())?;
            return Ok(None);
        }
        if let Some(reason) = self.gates.cannot_run(run, claimed)? {
            run.block(claimed, &reason, None)?;
            return Ok(None);
        }
        self.agents_md.sync(run, self.tree.branch(), WrittenBy::Person)?;
        let prompt = self.prompt(claimed)?;
        let run = &mut self.context;
        if let Some(reason) = &prompt.ask_human {
            run.block(claimed, reason, None)?;
            return Ok(None);
        }
        let news = LogNews {
            task: Some(task.id.clone()),
            current: Some(format!("{} {}", task.name(), task.title)),
            ..LogNews::default()
        };
        // Before the gate runs what agents wrote.
        self.plan_files.sync(run, Author::Person, &news)?;
        let gate_green_before = match self.gates.precheck(run, claimed)? {
            Some(GateResult::Ran(gate)) => Some(gate.outcome == GateOutcome::Passed),
            // One that cannot be started stops the run after the attempt.
            None | Some(GateResult::NotStarted(_)) => None,
            Some(GateResult::Interrupted) => {
                run.release(claimed)?;
                return Ok(None);
            }
        };
        let log_name = attempt_name(task.id.as_str(), claimed.tries.recorded + 1, run.id.as_str());
        let started = run.event(EventKind::AttemptStarted {
            task: TaskRef::from(task),
            attempt: claimed.tries.counted + 1,
            iteration: run.attempts + 1,
            agent: self.team.agent().name().to_owned(),
            choice: prompt.choice.clone(),
            log_path: Some(log_path(&log_name)),
            learnings: prompt.learnings.clone(),
        });
        run.hook_before(HookPoint::BeforeAttempt, &started)?;
        if run.interrupt.first().is_some() {
            run.release(claimed)?;
            return Ok(None);
        }
        // No attempt is made whose changes could not be seen.
        self.tree.refresh(run)?;
        self.tree.check_fault()?;
        Ok(Some(Ready { prompt, gate_green_before, started, log_name }))
    }

    fn prompt(&self, claimed: &Claimed) -> Result<Prompt> {
        let run = &self.context;
        let prompter = Prompter {
            templates: &self.templates,
            project: run.project,
            store: run.store,
            agent: self.team.agent(),
            is_fallback: self.team.is_fallback(),
            settings: run.settings,
            now: run.clock.now(),
        };
        let rates = run.store.run_rates(&run.id)?;
        Ok(prompter.prompt(&claimed.task, &claimed.metrics, run.attempts + 1, rates)?)
    }

    /// The begin of an attempt: the tree as it is, the log, the record that says who works on what.
    pub(super) fn begin(&mut self, claimed: &Claimed, ready: &Ready) -> Result<(Begun, AttemptLog)> {
        let run = &mut self.context;
        // What changed since the last attempt was not this one's doing; a fault is told by the call that meets it.
        let _ = self.tree.git.as_ref().map(Git::program_changes);
        let number = claimed.tries.recorded + 1;
        let tree = self.tree.before_attempt(run, &claimed.task.id, number)?;
        // Renumbered: warnings may have been told since it was made.
        let event = run.event(ready.started.kind.clone());
        // Before the attempt begins: one that cannot be logged is not made.
        let log = self.logs.open(run, &ready.log_name)?;
        let started_at = run.clock.now();
        let start = UnfinishedAttempt {
            attempt_number: number,
            iteration: Some(run.attempts + 1),
            agent: Some(self.team.agent().name().to_owned()),
            model: Some(ready.prompt.choice.model.clone()),
            rationale: Some(ready.prompt.choice.rationale.clone()),
            started_at: Some(started_at),
            commit_before: tree.head(),
            log_path: Some(log_path(&ready.log_name)),
            work_dir: Some(run.work_tree.display().to_string()),
            learnings: ready.prompt.learnings.clone(),
        };
        run.store.begin_attempt(&claimed.task.id, &claimed.token, &start, &event)?;
        run.observer.event(&event);
        self.gates.note_files(run, claimed);
        Ok((Begun { attempt: begun_record(&claimed.task, start, started_at), tree }, log))
    }

    pub(super) fn call_agent(
        &mut self,
        claimed: &Claimed,
        prompt: &Prompt,
        log: AttemptLog,
    ) -> Result<Session> {
        let task = &claimed.task;
        let run = &mut self.context;
        let agent = self.team.agent();
        let model = &prompt.choice.model;
        let budget_usd = self.budgets.rest(run, &task.id)?;
        let launch = agent.launch(&LaunchRequest {
            task_id: &task.id,
            task_key: task.key.as_ref().map(|key| key.as_str()),
            attempt: claimed.tries.counted + 1,
            model,
            run_id: &run.id,
            project_root: run.project.root(),
            work_tree: run.work_tree,
            rules: &prompt.rules,
            task_prompt: &prompt.task,
            is_root: rustix::process::getuid().is_root(),
            budget_usd,
        });
        self.state_md.attempt_begins(run);
        let request = SessionRequest { agent, task, model, launch: &launch, budget_usd };
        let mut session = run_agent(run, &mut self.state_md, request, log)?;
        // The agent obeyed the budget it was given.
        let obeyed = matches!(session.report.ending, Ending::Faulted { fault: Fault::Budget, .. });
        // A cap of the settings' own, far below what is left, is a limit of one session.
        let spent = session.report.cost_usd;
        let ours = budget_usd.is_some_and(|budget| spent.is_none_or(|spent| spent >= 0.9 * budget));
        if obeyed && ours && session.stop == Stop::Exited {
            session.stop = Stop::Budget;
        }
        Ok(session)
    }

    /// What the agent signals, what git shows, and what the gate says of it.
    pub(super) fn judge(
        &mut self,
        claimed: &Claimed,
        ready: &Ready,
        begun: &Begun,
        mut session: Session,
    ) -> Result<Work> {
        let run = &mut self.context;
        let scope = signal_scope(&claimed.task, self.team.agent().ladder());
        let signals = signals::parse(&session.report.result_text, &scope);
        // An agent that was told to stop with us has not failed by itself, whatever its exit code.
        if run.interrupt.first().is_some() && signals.completion == Completion::Absent {
            session.stop = Stop::Interrupted;
        }
        // The gate judges what is on the branch of the run.
        let (git, misplaced) = self.tree.after_agent(run, &begun.tree)?;
        let gate = match misplaced {
            // What the gate would judge is not the work.
            Some(_) => None,
            None => self.gates.judge(run, &mut self.state_md, claimed, &session, &signals, &git)?,
        };
        let done = claims_done(session.stop, &session.report, &signals);
        // A gate that passed before proves nothing about this attempt.
        let red_before = ready.gate_green_before == Some(false);
        let green =
            if run.settings.gate.accept_green && red_before { Green::Accepted } else { Green::Ignored };
        Ok(Work { session, signals, gate, git, green, commit_failure: misplaced.filter(|_| done) })
    }

    /// The verdict on an attempt. Work that is done is committed, and is not done where that fails.
    pub(super) fn verdict(&mut self, claimed: &Claimed, begun: &Begun, work: &mut Work) -> Result<Verdict> {
        let first = verdict(&work.evidence());
        if first.outcome != Outcome::Done {
            return Ok(first);
        }
        match self.tree.commit(&mut self.context, claimed, &begun.tree)? {
            Ok(commit) => {
                work.git.commit_after = commit.or(work.git.commit_after.take());
                Ok(first)
            }
            Err(failure) => {
                work.commit_failure = Some(failure);
                Ok(verdict(&work.evidence()))
            }
        }
    }

    /// The end of an attempt: the tree, everything on record, and what follows for the run.
    pub(super) fn conclude(
        &mut self,
        claimed: &Claimed,
        ready: Ready,
        begun: Begun,
        mut work: Work,
        verdict: Verdict,
    ) -> Result {
        let task = &claimed.task;
        let run = &mut self.context;
        let files = work.git.files_changed.clone().unwrap_or_default();
        let failed = verdict.is_failure();
        let (report, mark) = failed.then(|| capture::failure(&work.evidence(), &verdict, &files)).unzip();
        // Work that passes the gate is not thrown away because a signal is missing.
        let green = work.is_green_without_signal();
        self.tree.warn_of_program_changes(run, &files)?;
        let (undone_ref, returned) = self.tree.after_attempt(run, claimed, begun.tree, failed && !green)?;
        work.git.undone_ref = undone_ref;
        let setup_fix = work.setup_fix();
        let needs_person = work.needs_person(task);
        let check = work.evidence().check().cloned();
        let Work { session, signals, git, .. } = work;
        let agent = self.team.agent();
        let mut attempt = begun.attempt;
        add_session(&mut attempt, agent, &session.report);
        attempt.summary = attempt.summary.filter(|_| verdict.outcome == Outcome::Done);
        attempt.gate_green_before = ready.gate_green_before;
        attempt.set_git(git);
        if let Some(mark) = mark.flatten() {
            attempt.set_mark(mark);
        }
        // One that was cut short may know what it costs and have had no time to say so.
        let cost_unknown = session.report.ending == Ending::Completed && attempt.cost_usd.is_none();
        let model = attempt.model.clone();
        let result = AttemptResult {
            learnings: capture::learnings(&signals.learnings),
            signals,
            said: session.report.result_text,
            needs_person,
            prompt: Some(ready.prompt),
            ..AttemptResult::new(attempt, verdict, check.as_ref(), report)
        };
        let verdict = result.verdict.clone();
        let news = log_news(task, &result);
        if verdict.error_type == Some(ErrorType::GateBroken) {
            self.gates.note_broken(run, claimed);
        }
        let metrics = self.record(claimed, result)?;
        let run = &mut self.context;
        // Only now: a deleted file can still be written, and the attempt must not be lost.
        run.check_database()?;
        if cost_unknown {
            self.budgets.warn_of_unknown_cost(run, agent.name(), &model)?;
        }
        self.budgets.warn_of_task(run, task)?;
        if green && verdict.outcome == Outcome::NoSigil {
            self.gates.tell_of_accept_green(run)?;
        }
        self.agents_md.sync_after(run, self.tree.branch(), !news.learnings.is_empty())?;
        self.plan_files.sync(run, Author::Agent(Some(task.id.clone())), &news)?;
        self.state_md.refresh(run)?;
        let resets_at = match session.report.ending {
            Ending::Faulted { resets_at, .. } => resets_at,
            Ending::Completed => None,
        };
        self.after_verdict(&verdict, setup_fix, resets_at)?;
        self.tree.stop_if_astray(returned)?;
        if session.stop == Stop::Budget {
            return self.budgets.stop_after_budget(&mut self.context, task);
        }
        if failed { self.after_failure(task, &metrics) } else { Ok(()) }
    }

    /// What a verdict means for the run. `setup_fix` is what to do about a fault of the set-up that is not the agent's.
    fn after_verdict(
        &mut self,
        verdict: &Verdict,
        setup_fix: Option<String>,
        resets_at: Option<i64>,
    ) -> Result {
        let message = verdict.message.clone().unwrap_or_default();
        let class = match (verdict.outcome, &verdict.error_type) {
            (Outcome::Error, Some(error)) => error.class(),
            _ => FailureClass::AgentFault,
        };
        match class {
            FailureClass::RateLimit => return self.team.note_limit(&mut self.context, resets_at),
            FailureClass::Service => return self.wait_for_service(&message),
            FailureClass::Setup => {
                if let Some(fix) = setup_fix {
                    return Err(StopRun::error(message).with_hint(fix).into());
                }
                let error = verdict.error_type.as_ref();
                let hint = error.map(|error| self.team.remedy(error, &message));
                let fault = Unavailable { outage: Outage::Permanent, hint, why: message };
                return self.team.note_unavailable(&mut self.context, fault);
            }
            // The loop sees the signal itself.
            FailureClass::Interruption
            | FailureClass::Lost
            | FailureClass::AgentFault
            | FailureClass::Gate => {}
        }
        self.team.note_working();
        if verdict.abort {
            let reason = "the agent aborted the run (<promise>FAILURE</promise>)";
            return Err(StopRun::new(RunExit::Aborted, reason).into());
        }
        Ok(())
    }
}

/// What the log of a spec is told of an attempt.
fn log_news(task: &Task, result: &AttemptResult) -> LogNews {
    let learned = result.learnings.iter().map(|one| one.content.clone());
    let report = result.report.as_ref();
    let failure = report.map(|report| format!("Task {} failed: {}", task.name(), report.why_it_failed));
    LogNews { task: Some(task.id.clone()), learnings: learned.chain(failure).collect(), ..LogNews::default() }
}
