//! The stages of one attempt: prepare (budget, context, hook), begin (the tree, the log, the record), gather the evidence
//! (git, gate), verdict and commit, conclude (rollback, capture, what it means for the run). The agent's own stage is in
//! `agent_session.rs`.

use super::agent_session::log_path;
use super::agents_md_sync::WrittenBy;
use super::attempt_record::{AttemptResult, add_session, begun as begun_record};
use super::fix_tasks::attempts_used_up;
use super::gate_runs::{Baselines, Before};
use super::plan_sync::LogNews;
use super::prompter::{Prompt, Prompter};
use super::readiness::told_gate_fix;
use super::run::Run;
use super::run_end::{Result, StopRun};
use super::settings_files::SettingsFiles;
use super::team::Unavailable;
use super::work_tree::TreeBefore;
use crate::agent::{AttemptLog, Ending, Stop};
use crate::capture;
use crate::decide::{
    Outage, claims_done, fewer_tests, gave_no_signal, only_signal_missing, verdict, verification,
};
use crate::event::{EventKind, RunEvent, TaskRef};
use crate::evidence::{CommitFailure, Evidence, GateResult, Integrity, Session, Tampering, Verdict};
use crate::exit::RunExit;
use crate::gate::weakened;
use crate::git::Git;
use crate::hooks::HookPoint;
use crate::logs::attempt_name;
use crate::model::{Attempt, ErrorType, FailureClass, Outcome, Task};
use crate::store::{Author, Claimed, Stage, UnfinishedAttempt};

/// An attempt that can be made.
pub(super) struct Ready {
    pub prompt: Prompt,
    /// What the gates said before the task's work.
    baselines: Baselines,
    started: RunEvent,
    /// Its number in the run.
    iteration: u32,
    log_name: String,
}

/// An attempt that is on record as begun.
pub(super) struct Begun {
    attempt: Attempt,
    tree: TreeBefore,
    settings: SettingsFiles,
}

/// An attempt that a person ends for a note is not judged, unless it did not come that far anyway.
fn end_for_note(session: &mut Session) {
    if !matches!(session.stop, Stop::Interrupted | Stop::Budget | Stop::GuardLost) {
        session.stop = Stop::UserNote;
    }
}

/// What to do about a gate that cannot be started or a git that cannot commit.
fn setup_fix(evidence: &Evidence) -> Option<String> {
    match (&evidence.commit_failure, evidence.deciding_gate()) {
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
fn needs_person(evidence: &Evidence, task: &Task) -> Option<String> {
    if let Some(CommitFailure::Refused { fix: Some(fix), .. }) = &evidence.commit_failure {
        return Some(format!("added during this run: {fix}, then `ralph run {}`", task.name()));
    }
    Some(told_gate_fix(task, evidence.check()?.fix.as_deref()?))
}

impl Run<'_> {
    /// Before an attempt: what may be spent, what the agent is told, whether anything speaks against it. None where it is
    /// not made: then the task is free again or given to a person.
    pub(super) fn prepare(&mut self, claimed: &Claimed) -> Result<Option<Ready>> {
        let task = &claimed.task;
        let run = &mut self.context;
        self.tree.go_to_own_branch(run)?;
        self.tree.bring_to_tip(run)?;
        run.git_places = self.tree.git.as_ref().map(Git::places);
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
        let news = LogNews {
            task: Some(task.id.clone()),
            current: Some(format!("{} {}", task.key_or_id(), task.title)),
            ..LogNews::default()
        };
        // Before the gate runs what agents wrote.
        self.plan_files.sync(run, Author::Person, &news)?;
        let Some(baselines) = self.gates.before_attempt(run, &mut self.state_md, &mut self.tree, claimed)?
        else {
            run.release(claimed)?;
            return Ok(None);
        };
        let (prompt, iteration) = self.prompt(claimed)?;
        let run = &mut self.context;
        if let Some(reason) = &prompt.ask_human {
            run.block(claimed, reason, None)?;
            return Ok(None);
        }
        let log_name = attempt_name(task.id.as_str(), claimed.attempts.recorded + 1, run.id.as_str());
        let started = run.event(EventKind::AttemptStarted {
            task: TaskRef::from(task),
            attempt: claimed.attempts.counted + 1,
            iteration,
            agent: self.team.agent().name().to_owned(),
            choice: prompt.choice.clone(),
            log_path: Some(log_path(&log_name)),
            learnings: prompt.learnings.clone(),
            notes: prompt.notes.iter().map(|note| note.id).collect(),
        });
        run.hook_before(HookPoint::BeforeAttempt, &started)?;
        if run.interrupt.first().is_some() {
            run.release(claimed)?;
            return Ok(None);
        }
        // No attempt is made whose changes could not be seen.
        self.tree.refresh(run)?;
        self.tree.check_fault()?;
        if run.is_worker && !self.budgets.reserve(run, claimed)? {
            run.release(claimed)?;
            self.wait_for_reserved()?;
            return Ok(None);
        }
        Ok(Some(Ready { prompt, baselines, started, iteration, log_name }))
    }

    fn prompt(&self, claimed: &Claimed) -> Result<(Prompt, u32)> {
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
        run.store.read_ahead(|store| {
            let _ = store.run_rates(&run.id);
            let _ = store.next_iteration(&run.id);
            prompter.read_ahead(&claimed.task);
        });
        let rates = run.store.run_rates(&run.id)?;
        let iteration = run.iteration()?;
        Ok((prompter.prompt(&claimed.task, &claimed.metrics, iteration, rates)?, iteration))
    }

    /// The begin of an attempt: the tree as it is, the log, the record that says who works on what.
    pub(super) fn begin(&mut self, claimed: &Claimed, ready: &Ready) -> Result<(Begun, AttemptLog)> {
        let run = &mut self.context;
        // What changed since the last attempt was not this one's doing; a fault is told by the call that meets it.
        let _ = self.tree.git.as_ref().map(Git::program_changes);
        self.protection.keep(run, self.tree.git.as_ref(), claimed)?;
        let number = claimed.attempts.recorded + 1;
        let tree = self.tree.before_attempt(run, &claimed.task.id, number)?;
        // Before the attempt begins: one that cannot be logged is not made.
        let log = self.logs.open(run, &ready.log_name)?;
        let prompt = self.team.agent().prompt(&ready.prompt.rules, &ready.prompt.task);
        if let Err(error) = log.keep_prompt(&prompt) {
            run.warn(format!("cannot keep the prompt of the attempt: {error}"))?;
        }
        let started_at = run.clock.now();
        let start = UnfinishedAttempt {
            attempt_number: number,
            iteration: Some(ready.iteration),
            agent: Some(self.team.agent().name().to_owned()),
            model: Some(ready.prompt.choice.model.clone()),
            rationale: Some(ready.prompt.choice.rationale.clone()),
            started_at: Some(started_at),
            commit_before: tree.head(),
            log_path: Some(log_path(&ready.log_name)),
            work_dir: Some(run.work_tree.display().to_string()),
            learnings: ready.prompt.learnings.clone(),
        };
        let notes: Vec<i64> = ready.prompt.notes.iter().map(|note| note.id).collect();
        run.tell_with(ready.started.kind.clone(), |store, event| {
            store.begin_attempt(&claimed.task.id, &claimed.token, &start, &notes, event)
        })?;
        run.stage(claimed, Stage::Working)?;
        let settings = SettingsFiles::read(run.project);
        Ok((Begun { attempt: begun_record(&claimed.task, start, started_at), tree, settings }, log))
    }

    /// What the session, git and the gate say of the attempt.
    pub(super) fn gather_evidence(
        &mut self,
        claimed: &Claimed,
        ready: &Ready,
        begun: &Begun,
        mut session: Session,
    ) -> Result<Evidence> {
        let run = &mut self.context;
        if run.store.is_ended_for_note(&claimed.task.id, &claimed.token)? {
            end_for_note(&mut session);
        }
        // The gate judges what is on the branch of the run.
        let (mut git, misplaced) = self.tree.after_agent(run, &begun.tree)?;
        let put_back = match misplaced {
            Some(_) => Ok(None),
            None => {
                let moments = begun.tree.snapshot.as_ref().zip(self.tree.after_agent.as_ref());
                self.protection.put_back(run, self.tree.git.as_ref(), claimed, moments)?
            }
        };
        let (mut tampering, fault) = match put_back {
            Ok(tampering) => (tampering, None),
            Err(why) => (None, Some(why)),
        };
        if let (Some(tampering), Some(files)) = (&tampering, &mut git.files_changed) {
            // They are as they were.
            files.retain(|file| tampering.files.iter().all(|tampered| tampered.path != *file));
        }
        let (gate, project_gate) = match misplaced {
            // What the gate would judge is not the work.
            Some(_) => (None, None),
            None if let Some(why) = fault => (Some(GateResult::NotStarted(why)), None),
            None => {
                run.stage(claimed, Stage::Verifying)?;
                let before = Before { baselines: &ready.baselines, protection: &self.protection };
                let page = &mut self.state_md;
                let ran = self.gates.run_after_agent(run, page, claimed, &session, &before)?;
                self.protection.end(run, &claimed.task.id)?;
                if let Some(by_gate) = run.gate_tampering.take() {
                    Tampering::add(&mut tampering, by_gate);
                }
                if ran.0.is_some() || ran.1.is_some() {
                    self.tree.disown_gate_changes(run, &claimed.task.id)?;
                }
                ran
            }
        };
        // Now the attempt is judged: a note that comes later is for the next one.
        if run.store.close_to_notes(&claimed.task.id, &claimed.token)? {
            end_for_note(&mut session);
        }
        let patch = match claims_done(&session) || gave_no_signal(&session) {
            true => self.tree.patch(run, &begun.tree, git.files_changed.as_deref().unwrap_or_default()),
            false => None,
        };
        let mut weakened = patch.as_deref().map(weakened).unwrap_or_default();
        let records = [&gate, &project_gate].into_iter().flatten().filter_map(GateResult::record);
        weakened.extend(records.filter_map(fewer_tests));
        if !weakened.is_empty() {
            let name = claimed.task.name();
            run.warn(format!("{name}: tests may check less than before: {}", weakened.join("; ")))?;
        }
        let denied_before = !run.denials.is_empty() && run.store.was_denied(&claimed.task.id)?;
        Ok(Evidence {
            denied: run.denials.clone(),
            denied_before,
            integrity: Integrity { tampering, patch, weakened, review: None },
            landing_failure: None,
            commit_failure: misplaced.filter(|_| claims_done(&session)),
            session,
            gate,
            project_gate,
            gates_on: run.settings.gate.enabled,
            // The tree of a worker holds nothing of earlier attempts.
            has_earlier_work: !run.is_worker && run.store.has_earlier_work(&claimed.task.id)?,
            git,
            // A gate that passed before proves nothing about this attempt.
            accept_green: run.settings.gate.accept_green
                && ready.baselines.green_before_attempt == Some(false),
        })
    }

    /// The verdict. Done work is committed; where that fails, the failure is evidence too, and the work is not done.
    pub(super) fn verdict_and_commit(
        &mut self,
        claimed: &Claimed,
        ready: &Ready,
        begun: &Begun,
        evidence: &mut Evidence,
    ) -> Result<Verdict> {
        let mut first = verdict(evidence);
        if first.outcome == Outcome::Done && self.wants_review(evidence) {
            evidence.integrity.review = Some(self.review(claimed, evidence)?);
            first = verdict(evidence);
        }
        if first.outcome != Outcome::Done {
            return Ok(first);
        }
        match self.tree.commit(&mut self.context, claimed, &begun.tree)? {
            Ok(commit) => {
                evidence.git.commit_after = commit.clone().or(evidence.git.commit_after.take());
                if !self.context.is_worker {
                    return Ok(first);
                }
                self.land(claimed, &ready.baselines, commit.as_deref(), evidence)?;
                Ok(verdict(evidence))
            }
            Err(failure) => {
                evidence.commit_failure = Some(failure);
                Ok(verdict(evidence))
            }
        }
    }

    /// The end of an attempt: the tree, everything on record, and what follows for the run.
    pub(super) fn conclude(
        &mut self,
        claimed: &Claimed,
        ready: Ready,
        begun: Begun,
        mut evidence: Evidence,
        verdict: Verdict,
    ) -> Result {
        let task = &claimed.task;
        let standoff = self.review_standoff(claimed, &evidence)?;
        let run = &mut self.context;
        let files = evidence.git.files_changed.clone().unwrap_or_default();
        let failed = verdict.is_failure();
        // Whether one that could not land counts is settled when it is recorded.
        let may_count = failed || evidence.landing_failure.is_some();
        let (report, mark) = may_count.then(|| capture::failure(&evidence, &verdict, &files)).unzip();
        // Work that passes the gate is not thrown away because a signal is missing.
        let green = only_signal_missing(&evidence);
        self.tree.warn_of_program_changes(run, &files)?;
        if let Some(tampering) = &evidence.integrity.tampering
            && verdict.error_type == Some(ErrorType::Tampered)
        {
            run.warn(tampering.permission(task.name()))?;
        }
        begun.settings.warn_of_changes(run, task)?;
        let (undone_ref, returned) = self.tree.after_attempt(run, claimed, begun.tree, failed && !green)?;
        evidence.git.undone_ref = undone_ref;
        if verdict.outcome == Outcome::Done {
            self.gates.note_commit(run, &mut self.tree, task, &evidence)?;
        }
        let agent = self.team.agent();
        let mut attempt = begun.attempt;
        add_session(&mut attempt, agent, &evidence.session.report);
        attempt.summary = attempt.summary.filter(|_| verdict.outcome == Outcome::Done);
        attempt.gate_green_before = ready.baselines.green_before_attempt;
        if let Some(gate) = evidence.gate_record() {
            attempt.set_gate(gate);
        }
        let tampered = evidence.integrity.tampering.iter().flat_map(|tampering| &tampering.files);
        attempt.gate_files_changed = tampered.map(|file| file.path.clone()).collect();
        attempt.verification = verification(&verdict, &evidence);
        if let Some(mark) = mark.flatten() {
            attempt.set_mark(mark);
        }
        let setup_fix = setup_fix(&evidence);
        let needs_person = match needs_person(&evidence, task) {
            None => standoff,
            needed => needed,
        };
        let check = evidence.check().cloned();
        let Evidence { session, git, .. } = evidence;
        attempt.set_git(git);
        // One that was cut short may know what it costs and have had no time to say so.
        let cost_unknown = session.report.ending == Ending::Completed && attempt.cost_usd.is_none();
        let model = attempt.model.clone();
        let result = AttemptResult {
            learnings: capture::learnings(&session.signals.learnings),
            signals: session.signals.into(),
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
            | FailureClass::Landing
            | FailureClass::Sandbox
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
