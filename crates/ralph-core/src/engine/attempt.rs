//! The stages of one attempt: prepare (budget, context, hook), begin (the tree, the log, the record), work (agent, signals,
//! gate), conclude (verdict, commit or rollback, capture, what it means for the run).

use super::agent_session::{Session, SessionRequest, log_path, run_agent, signal_scope};
use super::agents_md_sync::WrittenBy;
use super::attempt_record::{AttemptResult, ChosenFor, add_session, begun as begun_record};
use super::branch::Returned;
use super::fix_tasks::attempts_used_up;
use super::gate_runs::{GateRun, Precheck};
use super::plan_sync::LogNews;
use super::prompt::{Prompt, Prompter};
use super::readiness::told_gate_fix;
use super::run::Run;
use super::run_context::RunContext;
use super::run_end::{EngineError, StopRun};
use super::team::Unavailable;
use crate::agent::{AttemptLog, Ending, Fault, LaunchRequest, Stop};
use crate::capture;
use crate::decide::{Outage, claims_done, gave_no_signal, verdict};
use crate::event::{EventKind, RunEvent, TaskRef};
use crate::evidence::{CommitFailure, Evidence, GateView, Green, Verdict};
use crate::git::{Git, Kept, Snapshot};
use crate::hooks::HookPoint;
use crate::logs::attempt_name;
use crate::model::{
    self, ErrorType, FailureClass, GateOutcome, GateRecord, GitRecord, NewLearning, Outcome, ReportRow, Token,
};
use crate::signals::{self, Completion, Signals};
use crate::store::{AttemptStart, Author, Claimed, UnfinishedAttempt};

/// A claimed task, and the proof that it is ours.
pub(super) struct ClaimedTask<'c> {
    pub claimed: &'c Claimed,
    pub token: &'c Token,
}

/// What came of the preparation.
pub(super) enum Prepared {
    /// The attempt can be made.
    Ready(Box<Ready>),
    /// It is not made; the task is free again or given to a person.
    NotMade(Option<StopRun>),
}

/// An attempt that can be made.
pub(super) struct Ready {
    pub prompt: Prompt,
    /// Whether the gate passed before anything was done, where it was run.
    gate_green_before: Option<bool>,
    /// The event of the attempt's begin.
    started: RunEvent,
    log_name: String,
}

/// An attempt that is on record as begun.
pub(super) struct Begun {
    start: UnfinishedAttempt,
    /// The tree before it.
    tree: Option<Snapshot>,
    /// The branch it is to stay on, where that matters.
    branch: Option<String>,
    /// The same, to the byte, where a failed attempt is rolled back.
    kept: Option<Kept>,
    kept_name: String,
    /// The files that its gate names and that were there before.
    gate_files: Vec<String>,
}

/// What the agent did, and what the gate said of it.
pub(super) struct Work {
    session: Session,
    signals: Signals,
    gate: GateRun,
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
                GateRun::Absent => GateView::Absent,
                GateRun::NotRun => GateView::NotRun,
                GateRun::Ran(record) => GateView::Ran(record),
                GateRun::Interrupted => GateView::Interrupted,
                GateRun::NotStarted(why) => GateView::NotStarted(why),
            },
            green: self.green,
            commit_failure: self.commit_failure.as_ref(),
        }
    }

    /// The gate passed after an attempt without a signal: the work may be done.
    fn is_green_without_signal(&self) -> bool {
        let passed = |gate: &GateRecord| gate.outcome == GateOutcome::Passed;
        let green = matches!(&self.gate, GateRun::Ran(gate) if passed(gate));
        green
            && self.commit_failure.is_none()
            && gave_no_signal(self.session.stop, &self.session.report, &self.signals)
    }
}

impl Run<'_> {
    /// Before an attempt: what may be spent, what the agent is told, whether anything speaks against it.
    pub(super) fn prepare(&mut self, task: &ClaimedTask<'_>) -> Result<Prepared, EngineError> {
        let claimed = task.claimed;
        let run = &mut self.context;
        if let Some(stop) = self.tree.go_to_own_branch(run)? {
            return give_back(run, task, Some(stop));
        }
        if let Some((budget, reason)) = self.budgets.check_task(run, &claimed.task)? {
            let told = format!("{}: {reason}", claimed.task.name());
            self.budgets.task_budget_reached = Some((budget, told));
            return hand_over(run, task, &reason);
        }
        if let Some((reason, end)) = attempts_used_up(run, &claimed.task)? {
            run.block(claimed, task.token, &reason, end.as_ref())?;
            return Ok(Prepared::NotMade(None));
        }
        if let Some(reason) = self.gates.cannot_run(run, claimed)? {
            return hand_over(run, task, &reason);
        }
        let branch = self.tree.git.as_ref().and_then(Git::branch);
        self.agents_md.sync(run, branch, WrittenBy::Person)?;
        let prompt = self.prompt(claimed)?;
        let run = &mut self.context;
        if let Some(reason) = &prompt.ask_human {
            return hand_over(run, task, reason);
        }
        let now_at = LogNews {
            task: Some(claimed.task.id.clone()),
            current: Some(format!("{} {}", claimed.task.name(), claimed.task.title)),
            ..LogNews::default()
        };
        // Before the gate runs what agents wrote.
        let id = Some(&claimed.task.id);
        self.plan_files.sync(run, id, Author::Person, &now_at)?;
        let gate_green_before = match self.gates.precheck(run, claimed)? {
            Precheck::NotMade => None,
            Precheck::Made { green } => Some(green),
            Precheck::Interrupted => return give_back(run, task, None),
        };
        let number = claimed.tries.recorded + 1;
        let log_name = attempt_name(claimed.task.id.as_str(), number, run.id.as_str());
        let started = run.event(EventKind::AttemptStarted {
            task: TaskRef::from(&claimed.task),
            attempt: claimed.tries.counted + 1,
            iteration: run.attempts + 1,
            agent: self.team.agent().name().to_owned(),
            choice: prompt.choice.clone(),
            log_path: Some(log_path(&log_name)),
            learnings: prompt.learnings.clone(),
        });
        if let Some(stop) = run.hook_before(HookPoint::BeforeAttempt, &started)? {
            return give_back(run, task, Some(stop));
        }
        if run.interrupt.first().is_some() {
            return give_back(run, task, None);
        }
        // No attempt is made whose changes could not be seen.
        self.tree.refresh(run)?;
        if let Some(stop) = self.tree.fault() {
            return give_back(run, task, Some(stop));
        }
        Ok(Prepared::Ready(Box::new(Ready { prompt, gate_green_before, started, log_name })))
    }

    fn prompt(&self, claimed: &Claimed) -> Result<Prompt, EngineError> {
        let run = &self.context;
        let rates = run.store.run_rates(&run.id)?;
        let prompter = Prompter {
            templates: &self.templates,
            project: run.project,
            store: run.store,
            agent: self.team.agent(),
            is_fallback: self.team.is_fallback(),
            settings: run.settings,
            now: run.clock.now(),
        };
        Ok(prompter.prompt(&claimed.task, &claimed.metrics, run.attempts + 1, rates)?)
    }

    /// The begin of an attempt: the tree as it is, the log, the record that says who works on what.
    pub(super) fn begin(
        &mut self,
        task: &ClaimedTask<'_>,
        ready: &Ready,
    ) -> Result<(Begun, AttemptLog), EngineError> {
        let claimed = task.claimed;
        let run = &mut self.context;
        // What changed since the last attempt was not this one's doing; a fault is told by the call that meets it.
        let _ = self.tree.git.as_ref().map(Git::program_changes);
        let tree = self.tree.current(run)?;
        self.tree.remember_before(run, &claimed.task.id, tree.as_ref())?;
        let number = claimed.tries.recorded + 1;
        let kept_name = format!("{}-{number:03}", claimed.task.id);
        let kept = self.tree.keep(run, &kept_name, tree.as_ref())?;
        // Renumbered: warnings may have been told since it was made.
        let event = run.event(ready.started.kind.clone());
        // Before the attempt begins: one that cannot be logged is not made.
        let log = self.logs.open(run, &ready.log_name)?;
        let choice = &ready.prompt.choice;
        let head = tree.as_ref().and_then(Snapshot::head);
        let start = AttemptStart {
            task_id: claimed.task.id.clone(),
            token: task.token.clone(),
            attempt_number: number,
            iteration: run.attempts + 1,
            agent: self.team.agent().name().to_owned(),
            model: choice.model.clone(),
            rationale: choice.rationale.clone(),
            started_at: run.clock.now(),
            commit_before: head.map(str::to_owned),
            log_path: Some(log_path(&ready.log_name)),
            work_dir: run.work_tree.display().to_string(),
            learnings: ready.prompt.learnings.clone(),
        };
        run.store.begin_attempt(&start, &event)?;
        run.observer.event(&event);
        let begun = Begun {
            start: UnfinishedAttempt::from(start),
            tree,
            branch: self.tree.present_branch(),
            kept,
            kept_name,
            gate_files: self.gates.named_files(run, claimed),
        };
        Ok((begun, log))
    }

    pub(super) fn call_agent(
        &mut self,
        task: &ClaimedTask<'_>,
        prompt: &Prompt,
        log: AttemptLog,
    ) -> Result<Session, EngineError> {
        let claimed = task.claimed;
        let run = &mut self.context;
        let agent = self.team.agent();
        let model = &prompt.choice.model;
        let budget_usd = self.budgets.rest(run, &claimed.task.id)?;
        let launch = agent.launch(&LaunchRequest {
            task_id: &claimed.task.id,
            task_key: claimed.task.key.as_ref().map(|key| key.as_str()),
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
        let request = SessionRequest { agent, task: &claimed.task, model, launch: &launch, budget_usd };
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
        task: &ClaimedTask<'_>,
        ready: &Ready,
        begun: &Begun,
        mut session: Session,
    ) -> Result<Work, EngineError> {
        let claimed = task.claimed;
        let run = &mut self.context;
        let scope = signal_scope(&claimed.task, self.team.agent());
        let signals = signals::parse(&session.report.result_text, &scope);
        // An agent that was told to stop with us has not failed by itself, whatever its exit code.
        if run.interrupt.first().is_some() && signals.completion == Completion::Absent {
            session.stop = Stop::Interrupted;
        }
        self.tree.check_repository();
        let branch = begun.branch.as_deref();
        // The gate judges what is on the branch of the run.
        let unfinished = self.tree.unfinished(run)?;
        let returned = match unfinished {
            Some(_) => Returned::Stayed,
            None => self.tree.return_to(run, branch)?,
        };
        let git = self.tree.changes_since(run, begun.tree.as_ref())?;
        let misplaced = self.tree.misplaced(unfinished, &returned, branch);
        let gate = match misplaced {
            // What the gate would judge is not the work.
            Some(_) => GateRun::NotRun,
            None => self.gates.judge(run, claimed, &session, &signals, &git, &begun.gate_files)?,
        };
        let done = claims_done(session.stop, &session.report, &signals);
        // A gate that passed before proves nothing about this attempt.
        let red_before = ready.gate_green_before == Some(false);
        let green = match run.settings.gate.accept_green && red_before {
            true => Green::Accepted,
            false => Green::Ignored,
        };
        Ok(Work { session, signals, gate, git, green, commit_failure: misplaced.filter(|_| done) })
    }

    /// The verdict on an attempt. Work that is done is committed, and is not done where that fails.
    pub(super) fn verdict(
        &mut self,
        task: &ClaimedTask<'_>,
        begun: &Begun,
        work: &mut Work,
    ) -> Result<Verdict, EngineError> {
        let first = verdict(&work.evidence());
        if first.outcome != Outcome::Done {
            return Ok(first);
        }
        let run = &mut self.context;
        let before = begun.tree.as_ref();
        match self.tree.commit(run, task.claimed, task.token, before)? {
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
        task: &ClaimedTask<'_>,
        ready: Ready,
        begun: Begun,
        mut work: Work,
        verdict: Verdict,
    ) -> Result<Option<StopRun>, EngineError> {
        let claimed = task.claimed;
        let run = &mut self.context;
        let files = work.git.files_changed.as_deref().unwrap_or_default();
        let failed = verdict.is_failure();
        let evidence = work.evidence();
        let failure = failed.then(|| capture::failure(&evidence, &verdict, files));
        let (report, mark) = failure.unzip();
        let mark = mark.flatten();
        // Work that passes the gate is not thrown away because a signal is missing.
        let green = work.is_green_without_signal();
        self.tree.warn_of_program_changes(run, files)?;
        self.tree.end_unfinished(run, &begun.kept_name)?;
        match failed && !green {
            true => {
                let undone = self.tree.roll_back(run, claimed, begun.kept, &begun.kept_name)?;
                work.git.undone_ref = undone;
            }
            false => self.tree.let_go(run, begun.kept)?,
        }
        let returned = self.tree.return_to(run, begun.branch.as_deref())?;
        let (tree, id) = (begun.tree.as_ref(), &claimed.task.id);
        self.tree.note_leftover_changes(run, id, tree)?;
        let setup_fix = setup_fix(&work);
        let resets_at = match &work.session.report.ending {
            Ending::Faulted { resets_at, .. } => *resets_at,
            Ending::Completed => None,
        };
        let used_up = work.session.stop == Stop::Budget;
        // One that was cut short may know what it costs and have had no time to say so.
        let completed = work.session.report.ending == Ending::Completed;
        let check = work.evidence().check().cloned();
        let needs_person = needs_person(&claimed.task, &work.commit_failure, check.as_ref());
        let started_at = begun.start.started_at.unwrap_or_else(|| run.clock.now());
        let mut attempt = begun_record(&claimed.task, begun.start, started_at);
        add_session(&mut attempt, self.team.agent(), &work.session.report);
        attempt.summary = attempt.summary.filter(|_| verdict.outcome == Outcome::Done);
        attempt.gate_green_before = ready.gate_green_before;
        attempt.set_git(work.git);
        if let Some(mark) = mark {
            attempt.set_mark(mark);
        }
        let result = AttemptResult {
            learnings: capture::learnings(&work.signals.learnings),
            signals: work.signals,
            said: work.session.report.result_text,
            needs_person,
            chosen_for: Some(ChosenFor {
                view: ready.prompt.view,
                failures: ready.prompt.tries,
                inherited: ready.prompt.inherited,
            }),
            ..AttemptResult::new(attempt, verdict, check.as_ref(), report)
        };
        let verdict = result.verdict.clone();
        let has_news = failed || !result.learnings.is_empty();
        let log = log_news(&claimed.task, &result.learnings, result.report.as_ref());
        if verdict.error_type == Some(ErrorType::GateBroken) {
            self.gates.note_broken(run, claimed);
        }
        let untold = completed && result.attempt.cost_usd.is_none();
        let model = result.attempt.model.clone();
        let metrics = self.record(claimed, task.token, result)?;
        let run = &mut self.context;
        // Only now: a deleted file can still be written, and the attempt must not be lost.
        run.check_database()?;
        if untold {
            let agent = self.team.agent().name();
            self.budgets.warn_of_unknown_cost(run, agent, &model)?;
        }
        self.budgets.warn_of_task(run, &claimed.task)?;
        if green && verdict.outcome == Outcome::NoSigil {
            self.gates.tell_of_accept_green(run)?;
        }
        let branch = self.tree.git.as_ref().and_then(Git::branch);
        self.agents_md.sync_after(run, branch, has_news)?;
        let author = Author::Agent(Some(claimed.task.id.clone()));
        self.plan_files.sync(run, Some(id), author, &log)?;
        self.state_md.refresh(run)?;
        if let Some(stop) = self.after_verdict(&verdict, setup_fix, resets_at)? {
            return Ok(Some(stop));
        }
        if let Some(stop) = self.tree.stop_if_astray(returned) {
            return Ok(Some(stop));
        }
        if used_up {
            let run = &mut self.context;
            return self.budgets.stop_after_budget(run, &claimed.task);
        }
        match failed {
            true => self.after_failure(&claimed.task, &metrics),
            false => Ok(None),
        }
    }

    /// What a verdict means for the run. `setup_fix` is what to do about a fault of the set-up that is not the agent's.
    fn after_verdict(
        &mut self,
        verdict: &Verdict,
        setup_fix: Option<String>,
        resets_at: Option<i64>,
    ) -> Result<Option<StopRun>, EngineError> {
        let message = verdict.message.clone().unwrap_or_default();
        let class = match (verdict.outcome, &verdict.error_type) {
            (Outcome::Error, Some(error)) => error.class(),
            _ => FailureClass::AgentFault,
        };
        match class {
            FailureClass::RateLimit => {
                return self.team.note_limit(&mut self.context, resets_at);
            }
            FailureClass::Service => return self.wait_for_service(&message),
            FailureClass::Setup => {
                if let Some(fix) = setup_fix {
                    return Ok(Some(StopRun::error(message).with_hint(fix)));
                }
                let error = verdict.error_type.as_ref();
                let fault = Unavailable {
                    outage: Outage::Permanent,
                    hint: error.map(|error| self.team.remedy(error, &message)),
                    why: message,
                };
                return self.team.note_unavailable(&mut self.context, fault);
            }
            // The loop sees the signal itself.
            FailureClass::Interruption
            | FailureClass::Lost
            | FailureClass::AgentFault
            | FailureClass::Gate => {}
        }
        self.team.note_working();
        let reason = "the agent aborted the run (<promise>FAILURE</promise>)";
        let aborted = || StopRun::new(crate::exit::RunExit::Aborted, reason);
        Ok(verdict.abort.then(aborted))
    }
}

/// The task is free again, as if nobody had looked at it.
fn give_back(
    run: &mut RunContext<'_>,
    task: &ClaimedTask<'_>,
    stop: Option<StopRun>,
) -> Result<Prepared, EngineError> {
    run.store.release(&task.claimed.task.id, task.token)?;
    Ok(Prepared::NotMade(stop))
}

/// A person is worth more than another attempt.
fn hand_over(
    run: &mut RunContext<'_>,
    task: &ClaimedTask<'_>,
    reason: &str,
) -> Result<Prepared, EngineError> {
    run.block(task.claimed, task.token, reason, None)?;
    Ok(Prepared::NotMade(None))
}

/// What only a person can do about a program that blocked the commit, or about a gate that cannot run.
fn needs_person(
    task: &model::Task,
    failure: &Option<CommitFailure>,
    check: Option<&GateRecord>,
) -> Option<String> {
    let name = task.name();
    match failure {
        Some(CommitFailure::Refused { fix: Some(fix), .. }) => {
            Some(format!("added during this run: {fix}, then `ralph run {name}`"))
        }
        _ => {
            let fix = check.and_then(|gate| gate.fix.as_deref());
            fix.map(|fix| told_gate_fix(task, fix))
        }
    }
}

/// What to do about a gate that cannot be started or a git that cannot commit.
fn setup_fix(work: &Work) -> Option<String> {
    match (&work.commit_failure, &work.gate) {
        (Some(CommitFailure::GitFault { remedy, .. }), _) => {
            Some(format!("{remedy}; then `ralph run` again"))
        }
        (None, GateRun::NotStarted(_)) => Some("shorten or fix the task's verify command".to_owned()),
        _ => None,
    }
}

/// What the log of a spec is told of an attempt.
fn log_news(task: &model::Task, learnings: &[NewLearning], report: Option<&ReportRow>) -> LogNews {
    let learned = learnings.iter().map(|one| one.content.clone());
    let failure = report.map(|report| {
        let why = &report.why_it_failed;
        format!("Task {} failed: {why}", task.name())
    });
    LogNews { task: Some(task.id.clone()), learnings: learned.chain(failure).collect(), ..LogNews::default() }
}
