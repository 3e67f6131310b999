//! Capture: all that an attempt found out goes to the store in one transaction.

use serde_json::to_string as to_json;

use super::fix_tasks::FixPolicy;
use super::next_model::failed_attempt;
use super::plan_changes::{keeps_task_open, requested_changes, tell_of_changes};
use super::run::Run;
use super::run_end::{EngineError, millis};
use crate::adaptive::TaskView;
use crate::agent::{Agent, AgentReport};
use crate::capture;
use crate::decide::{Effects, FailedAttempt, GivenUp, failure_trend, settle};
use crate::diagnose::error_line;
use crate::event::{AttemptFinished, EventKind, RunEvent, WORKER};
use crate::evidence::Verdict;
use crate::hooks::HookPoint;
use crate::model::{
    Attempt, GateOutcome, GateRecord, MarkSource, NewLearning, Outcome, ReportRow, Status, Task, TaskMetrics,
    Timestamp, Token,
};
use crate::signals::Signals;
use crate::similar_tasks::Profile;
use crate::store::{Capture, Claimed, Lesson, Store, TaskNext, UnfinishedAttempt};
use crate::text;

/// An attempt with what is known of it beside its record.
pub(super) struct AttemptResult {
    /// Its record, but for what is settled when it is stored.
    pub attempt: Attempt,
    pub verdict: Verdict,
    /// The report of a failure.
    pub report: Option<ReportRow>,
    pub learnings: Vec<NewLearning>,
    pub signals: Signals,
    /// The agent's final text.
    pub said: String,
    /// What only a person can do before another attempt makes sense.
    pub needs_person: Option<String>,
    /// How the task stood when its model was chosen; none where no agent worked.
    pub chosen_for: Option<ChosenFor>,
    /// Only a parent's own gate was run, and the parent is now to be worked on itself.
    pub own_work: bool,
}

/// A task as the choice of its model saw it.
pub(super) struct ChosenFor {
    pub view: TaskView,
    /// Its failures in a row before the attempt.
    pub failures: Vec<FailedAttempt>,
    /// Those of the tasks that it is to fix.
    pub inherited: Vec<FailedAttempt>,
}

impl AttemptResult {
    /// The result of a verdict, fit for people: one masked line, and a failed check told by what it said.
    pub(super) fn new(
        mut attempt: Attempt,
        verdict: Verdict,
        check: Option<&GateRecord>,
        report: Option<ReportRow>,
    ) -> Self {
        let verdict = readable(verdict, check, report.as_ref());
        attempt.outcome = verdict.outcome;
        attempt.error_type = verdict.error_type.clone();
        attempt.message = verdict.message.clone();
        if let Some(check) = check {
            attempt.set_gate(check);
        }
        Self {
            attempt: attempt.derive(),
            verdict,
            report,
            learnings: Vec::new(),
            signals: Signals::default(),
            said: String::new(),
            needs_person: None,
            chosen_for: None,
            own_work: false,
        }
    }

    /// A parent's own gate failed: an attempt without an agent.
    pub(super) fn of_parent_gate(mut attempt: Attempt, gate: Option<&GateRecord>, verdict: Verdict) -> Self {
        let failed = gate.filter(|_| verdict.counts());
        let report = failed.map(|gate| capture::parent_gate_report(gate, &verdict));
        if let Some(found) = failed.and_then(|gate| gate.diagnosis.fingerprint.clone()) {
            attempt.set_mark(capture::mark_of(found, MarkSource::Gate));
        }
        Self { own_work: true, ..Self::new(attempt, verdict, gate, report) }
    }

    /// The task's failures in a row with this one, if it is one.
    fn failures(&self) -> Vec<FailedAttempt> {
        let Some(chosen_for) = &self.chosen_for else {
            return Vec::new();
        };
        let mut failures = chosen_for.failures.clone();
        failures.extend(self.report.is_some().then(|| failed_attempt(&self.attempt)));
        failures
    }
}

/// The record of an attempt that began.
pub(super) fn begun(task: &Task, start: UnfinishedAttempt, started_at: Timestamp) -> Attempt {
    let new = Attempt::new(task, started_at);
    Attempt {
        iteration: start.iteration,
        model: start.model.unwrap_or_else(|| new.model.clone()),
        rationale: start.rationale,
        agent: start.agent,
        commit_before: start.commit_before,
        log_path: start.log_path,
        work_dir: start.work_dir,
        learnings_shown: start.learnings.iter().map(ToString::to_string).collect(),
        ..new
    }
}

/// Adds what the agent tells of its session: tokens, cost and so on.
pub(super) fn add_session(attempt: &mut Attempt, agent: &dyn Agent, report: &AgentReport) {
    let price = agent.price(Some(&attempt.model), report.model.as_deref());
    let cost = report.cost_by(price.as_ref());
    attempt.cost_usd = cost.map(|cost| cost.usd);
    attempt.cost_estimated = cost.is_some_and(|cost| cost.estimated);
    attempt.tokens_input = report.usage.input;
    attempt.tokens_output = report.usage.output;
    attempt.tokens_cache_read = report.usage.cache_read;
    attempt.tokens_cache_write = report.usage.cache_write;
    attempt.session_id = report.session_id.clone();
    attempt.agent_model = report.model.clone();
    attempt.denials = report.denials.clone();
    attempt.service_retries = report.retries;
    attempt.limit_notice = report.limit.as_ref().and_then(|limit| to_json(limit).ok());
    attempt.summary = text::first_sentence(&text::mask_secrets(&report.result_text));
}

impl Run<'_> {
    /// Capture: one transaction for everything, then the displays.
    pub(super) fn record(
        &mut self,
        claimed: &Claimed,
        token: &Token,
        result: AttemptResult,
    ) -> Result<TaskMetrics, EngineError> {
        let run = &mut self.context;
        let (task, policy) = (&claimed.task, &run.settings.policy);
        let failures = result.failures();
        let why = why_blocked(&result);
        let changes = requested_changes(run, claimed, &result.verdict, &result.said)?;
        let keeps_open = changes.iter().any(keeps_task_open);
        let tried = tried(run.store, claimed, &result, &failures)?;
        let fix_policy = FixPolicy::new(run.project, run.settings, &run.real_paths);
        let may_fix = result.verdict.is_failure() && !keeps_open;
        let plan = fix_policy.plan(run.store, task, &result, tried.as_deref(), may_fix)?;
        let effects = Effects {
            difficulty: result.signals.difficulty,
            next_model: result.signals.next_model.as_deref(),
            why: why.as_deref(),
            stuck: failure_trend(&failures, policy).stuck,
            tried: tried.as_deref(),
            needs_person: result.needs_person.as_deref(),
            keeps_open,
            root: plan.root(),
            recovery_limit: plan.recovery_limit(),
            coarse: result.attempt.fingerprint_coarse.as_deref(),
            breaker_threshold: run.settings.breaker.threshold,
        };
        let mut attempt = Attempt {
            run_id: Some(run.id.clone()),
            worker: Some(WORKER.to_owned()),
            attempt: claimed.tries.counted + 1,
            ..result.attempt.clone()
        };
        attempt.duration_ms = millis(run.clock.now().since(attempt.started_at));
        let lesson = lesson(claimed, &result, self.team.agent());
        let iteration = run.attempts + 1;
        let (now, id, seq) = (run.clock.now(), &run.id, &mut run.seq);
        let mut told = Vec::new();
        let captured = run.store.capture(&task.id, token, run.random, |before| {
            let unforgiven = before.metrics.forgiven == claimed.metrics.forgiven;
            let effects = Effects { stuck: effects.stuck && unforgiven, ..effects };
            let settled = settle(&result.verdict, &effects, before, policy);
            let plan = plan.effects(task, &result, &settled, policy);
            told = plan.events;
            attempt.counted = settled.counted;
            let (status, reason) = status_of(&settled.next);
            let learned = result.learnings.len();
            let finished = AttemptFinished {
                iteration,
                ..AttemptFinished::new(task, &attempt, learned, status, reason)
            };
            *seq += 1;
            let finished = EventKind::AttemptFinished(Box::new(finished));
            Capture {
                attempt,
                report: result.report.clone(),
                learnings: result.learnings.clone(),
                lesson: lesson.map(|lesson| Lesson { estimate: settled.metrics.difficulty, ..lesson }),
                metrics: settled.metrics,
                next: settled.next,
                gave_up: settled.given_up == Some(GivenUp::Retries),
                fix: plan.fix,
                recovery_end: plan.end,
                changes,
                breaker: settled.breaker,
                own_work: result.own_work,
                events: vec![RunEvent::new(*seq, now, id, finished)],
            }
        })?;
        if let TaskNext::Blocked { .. } = captured.next {
            // What comes before it is tried again is the work of others. A fix task that is given up leaves its chain open,
            // unless that is given up with it.
            let owner = run.store.work_owner(&task.id)?;
            if run.store.task(owner.as_str())?.status == Status::Blocked {
                self.tree.before_task.remove(&owner);
            }
        }
        tell_of_changes(run, task, captured.changes.len())?;
        // A parent's own gate is no attempt of an agent: it uses up no limit.
        if captured.attempt.counted && !captured.own_work {
            run.attempts += 1;
        }
        for event in &captured.events {
            run.observer.event(event);
            if !captured.own_work {
                run.hook_after(HookPoint::AfterAttempt, event)?;
            }
        }
        for kind in told {
            run.tell(kind)?;
        }
        run.show_progress()?;
        Ok(captured.metrics)
    }
}

pub(super) fn status_of(next: &TaskNext) -> (Status, Option<String>) {
    match next {
        TaskNext::Done => (Status::Done, None),
        TaskNext::Pending => (Status::Pending, None),
        TaskNext::Blocked { reason } => (Status::Blocked, Some(reason.clone())),
    }
}

/// What the attempt teaches about its model and its task; nothing, where it does not count.
fn lesson(claimed: &Claimed, result: &AttemptResult, agent: &dyn Agent) -> Option<Lesson> {
    let chosen_for = result.chosen_for.as_ref().filter(|_| result.verdict.counts())?;
    let attempt = &result.attempt;
    let mut profile = Profile::of(&claimed.task);
    profile.add_files(attempt.files_changed.as_deref().unwrap_or_default());
    for tag in result.learnings.iter().flat_map(|learning| &learning.tags) {
        profile.add_text(tag);
    }
    Some(Lesson {
        model: attempt.model.clone(),
        done: attempt.outcome == Outcome::Done,
        cost_usd: attempt.cost_usd,
        estimate: None,
        ladder: agent.ladder().to_vec(),
        prices: agent.prices(),
        view: chosen_for.view.clone(),
        profile,
    })
}

/// What was tried so far before a task is given up.
fn tried(
    store: &Store,
    claimed: &Claimed,
    result: &AttemptResult,
    failures: &[FailedAttempt],
) -> Result<Option<String>, EngineError> {
    let id = &claimed.task.id;
    let fixes = store.fix_family(id)?.lineage.fixes;
    let changes = store.change_standing(id)?.made;
    let inherited = result.chosen_for.iter().flat_map(|chosen| &chosen.inherited);
    let chain: Vec<&FailedAttempt> = inherited.chain(failures).collect();
    Ok(alternatives(&chain, claimed.metrics.stuck, &fixes, changes))
}

/// What was tried before a task is given up: every model in order, a fresh approach, fix tasks, plan changes.
fn alternatives(
    tries: &[&FailedAttempt],
    fresh_approach: bool,
    fixes: &[String],
    changes: u32,
) -> Option<String> {
    let mut models: Vec<&str> = Vec::new();
    for failed in tries {
        if !models.contains(&failed.model.as_str()) {
            models.push(&failed.model);
        }
    }
    let models = models.join(", then ");
    let fresh = if fresh_approach { "; asked to diagnose first" } else { "" };
    let fixes = match fixes {
        [] => String::new(),
        fixes => format!("; fix tasks {}", fixes.join(", ")),
    };
    let changes = match changes {
        0 => String::new(),
        1 => "; a plan change".to_owned(),
        n => format!("; {n} plan changes"),
    };
    (!models.is_empty()).then(|| format!("{models}{fresh}{fixes}{changes}"))
}

/// What an answer comes to: the line that says what is wrong, else its last line.
fn conclusion(said: &str) -> Option<String> {
    let plain = |line: &&str| !line.is_empty() && !line.starts_with(['#', '`', '-', '*', '|']);
    let last = || said.lines().map(str::trim).rfind(plain);
    error_line(said).or_else(|| last().map(str::to_owned))
}

/// Why the agent cannot go on, in its own words where there are any.
fn why_blocked(result: &AttemptResult) -> Option<String> {
    let report = result.report.as_ref()?;
    let reason = result.signals.failure_reason.as_deref();
    let said = conclusion(&text::without_signals(&result.said));
    let why = match (report.auto, reason, &said) {
        (false, _, _) => report.why_it_failed.as_str(),
        (true, Some(reason), _) => reason,
        (true, None, Some(said)) => said.as_str(),
        (true, None, None) => result.verdict.message.as_deref()?,
    };
    Some(text::one_line(why, 300))
}

/// The verdict with its message made fit for people: one masked line, and a failed gate told by what it said.
fn readable(verdict: Verdict, gate: Option<&GateRecord>, report: Option<&ReportRow>) -> Verdict {
    let gave_up = matches!(verdict.outcome, Outcome::Failed | Outcome::NoSigil);
    let said = gate
        .filter(|gate| matches!(gate.outcome, GateOutcome::Failed | GateOutcome::TimedOut))
        .filter(|_| gave_up)
        .and_then(GateRecord::headline);
    // The agent's own reason says more than that it gave up.
    let reason = report
        .filter(|report| gave_up && report.why_it_failed != capture::NOTHING_KNOWN)
        .map(|report| report.why_it_failed.clone());
    let said = said.or(reason);
    let message = verdict.message.map(|message| {
        let whole = match said {
            Some(said) if !said.contains(&message) => format!("{said} ({message})"),
            Some(said) => said,
            None => message,
        };
        text::one_line(&whole, 300)
    });
    Verdict { message, ..verdict }
}
