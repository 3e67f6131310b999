//! Capture: all that an attempt found out goes to the store in one transaction.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::to_string as to_json;

use super::Prompt;
use super::fix_tasks::{FixPolicy, PlanEffects};
use super::kept_result::{FinishedAttempt, Keeper, RecordTo, whole_attempt};
use super::next_model::failed_attempt;
use super::plan_requests::tell_of_changes;
use super::run::Run;
use super::run_end::{Result, millis};
use crate::agent::{Agent, AgentReport, partial_line};
use crate::capture;
use crate::decide::{FailedAttempt, GivenUp, Settled, failure_trend};
use crate::diagnose::error_line;
use crate::event::{AttemptFinished, EventKind, RunEvent};
use crate::evidence::Verdict;
use crate::hooks::HookPoint;
use crate::logs::LogDir;
use crate::model::{
    Attempt, AttemptOutput, Difficulty, GateOf, GateOutcome, GateRecord, MarkSource, NewLearning, Outcome,
    ReportRow, Status, Task, TaskMetrics, Timestamp,
};
use crate::sandbox::SandboxRecord;
use crate::signals::{FailedBlock, Signals};
use crate::similar_tasks::Profile;
use crate::store::{Capture, Claimed, Lesson, StoreError, TaskNext, UnfinishedAttempt};
use crate::text;

/// An attempt with what is known of it beside its record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct AttemptResult {
    /// Its record, but for what is settled when it is stored.
    #[serde(serialize_with = "whole_attempt")]
    pub attempt: Attempt,
    pub verdict: Verdict,
    pub report: Option<ReportRow>,
    /// For machines that do not have its log.
    pub output: Option<AttemptOutput>,
    pub learnings: Vec<NewLearning>,
    pub signals: ResultSignals,
    pub said: String,
    /// What only a person can do before another attempt makes sense.
    pub needs_person: Option<String>,
    /// What the agent was given; none where no agent worked.
    #[serde(skip)]
    pub prompt: Option<Prompt>,
    /// Only a parent's own gate was run, and the parent is now to be worked on itself.
    pub own_work: bool,
}

/// What of an answer's signals decides what becomes of the task.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ResultSignals {
    pub next_model: Option<String>,
    pub difficulty: Option<Difficulty>,
    pub failed_block: Option<FailedBlock>,
    pub failure_reason: Option<String>,
}

impl From<Signals> for ResultSignals {
    fn from(signals: Signals) -> Self {
        let Signals { next_model, difficulty, failed_block, failure_reason, .. } = signals;
        Self { next_model, difficulty, failed_block, failure_reason }
    }
}

impl AttemptResult {
    /// The result of a verdict, fit for people: one masked line, and a failed check told by what it said. `check` is the
    /// one that decided.
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
            attempt.gate_output = Some(check.output_tail.clone());
        }
        Self {
            attempt: attempt.derive(),
            verdict,
            report,
            output: None,
            learnings: Vec::new(),
            signals: ResultSignals::default(),
            said: String::new(),
            needs_person: None,
            prompt: None,
            own_work: false,
        }
    }

    /// A parent's own gate failed: an attempt without an agent.
    pub(super) fn of_parent_gate(mut attempt: Attempt, gate: Option<&GateRecord>, verdict: Verdict) -> Self {
        if let Some(gate) = gate {
            attempt.set_gate(gate);
        }
        let failed = gate.filter(|_| verdict.counts());
        let report = failed.map(|gate| capture::parent_gate_report(gate, &verdict));
        if let Some(found) = failed.and_then(|gate| gate.diagnosis.fingerprint.clone()) {
            attempt.set_mark(capture::mark_of(found, MarkSource::Gate));
        }
        Self { own_work: true, ..Self::new(attempt, verdict, gate, report) }
    }

    /// The task's failures in a row with this one, if it is one.
    fn failures(&self) -> Vec<FailedAttempt> {
        let Some(prompt) = &self.prompt else { return Vec::new() };
        let mut failures = prompt.failed_attempts.clone();
        failures.extend(self.report.is_some().then(|| failed_attempt(&self.attempt)));
        failures
    }

    /// What is stored of it once it is settled what becomes of its task.
    pub(super) fn capture(&self, settled: Settled, plan: PlanEffects, events: Vec<RunEvent>) -> Capture {
        Capture {
            attempt: Attempt { counted: settled.counted, ..self.attempt.clone() },
            report: self.report.clone().filter(|_| settled.counted),
            output: self.output.clone(),
            learnings: self.learnings.clone(),
            lesson: None,
            metrics: settled.metrics,
            next: settled.next,
            gave_up: settled.given_up == Some(GivenUp::Retries),
            fix: plan.fix,
            recovery_end: plan.end,
            changes: Vec::new(),
            breaker: settled.breaker,
            own_work: self.own_work,
            events,
        }
    }
}

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

pub(super) fn add_session(attempt: &mut Attempt, agent: &Agent, report: &AgentReport) {
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
    pub(super) fn record(&mut self, claimed: &Claimed, mut result: AttemptResult) -> Result<TaskMetrics> {
        let run = &mut self.context;
        let (task, policy) = (&claimed.task, &run.settings.policy);
        result.attempt.run_id = Some(run.id.clone());
        result.attempt.worker = Some(run.worker.to_owned());
        let enforced = run.sandbox.enforced(run.settings.is_isolated());
        result.attempt.sandbox = Some(SandboxRecord { enforced, denials: std::mem::take(&mut run.denials) });
        result.attempt.attempt = claimed.attempts.counted + 1;
        result.attempt.attempt_number = claimed.attempts.recorded + 1;
        result.attempt.duration_ms = millis(run.clock.now().since(result.attempt.started_at));
        if !run.store.is_file() {
            result.output = output(run.project.root(), &run.owner.host, &result.attempt, &result.said);
        }
        let failures = result.failures();
        // A parent's own gate has none.
        let iteration = match result.attempt.iteration {
            Some(iteration) => iteration,
            None => run.iteration()?,
        };
        let mut finished = FinishedAttempt {
            token: claimed.token.clone(),
            why: why_blocked(&result),
            is_stuck: failure_trend(&failures, policy).stuck,
            forgiven: claimed.metrics.forgiven,
            was_stuck: claimed.metrics.stuck,
            models: models_tried(&result, &failures),
            lesson: lesson(claimed, &result, self.team.agent()),
            result,
        };
        finished.result.prompt = None;
        let finished = Arc::new(finished);
        let keeper = match run.store.is_file() {
            true => None,
            false => Keeper::new(run.project.logs(), finished.result.attempt.log_path.as_deref()),
        };
        if let Some(keeper) = keeper.clone() {
            let finished = Arc::clone(&finished);
            run.store.when_lost(Some(Box::new(move || keeper.keep(&finished))));
        }
        let to = RecordTo {
            policy: &FixPolicy::new(run.project, run.settings, &run.real_paths),
            store: run.store,
            breaker_threshold: run.settings.breaker.threshold,
            random: run.random,
        };
        let recorded = finished.record(task, to, &mut |kind| Some(run.events.event(kind)), &|ended| {
            EventKind::AttemptFinished(Box::new(AttemptFinished { iteration, ..ended }))
        });
        run.store.when_lost(None);
        if let Some(keeper) = keeper {
            match &recorded {
                Ok(_) | Err(StoreError::ClaimMoved(_)) => keeper.forget(),
                Err(_) if keeper.is_kept() => run.show(EventKind::Warning {
                    message: format!(
                        "the result of {} is kept; the next `ralph run` here records it when the database is back",
                        task.name()
                    ),
                }),
                Err(_) => {}
            }
        }
        let captured = recorded?;
        run.expected_files.forget(&task.id);
        run.store.read_ahead(|store| {
            let _ = store.counts();
            let _ = store.run_rates(&run.id);
            let _ = store.has_finished_failures();
        });
        if let TaskNext::Blocked { .. } = captured.next {
            self.tree.forget_given_up(run, &task.id)?;
        }
        tell_of_changes(run, task, captured.changes.len())?;
        for event in &captured.events {
            run.show_stored(event);
            if !captured.own_work && matches!(event.kind, EventKind::AttemptFinished(_)) {
                run.hook_after(HookPoint::AfterAttempt, event)?;
            }
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
fn lesson(claimed: &Claimed, result: &AttemptResult, agent: &Agent) -> Option<Lesson> {
    let prompt = result.prompt.as_ref().filter(|_| result.verdict.counts())?;
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
        view: prompt.view.clone(),
        profile,
    })
}

/// How much of an attempt's final text and of its log other machines get.
const FINAL_BYTES: usize = 16 * 1024;
const TAIL_BYTES: u64 = 32 * 1024;

/// What other machines get to see of an attempt that has a log.
pub(super) fn output(root: &Path, host: &str, attempt: &Attempt, said: &str) -> Option<AttemptOutput> {
    let tail = LogDir::of_record(root, attempt.log_path.as_deref()?).and_then(|(dir, name)| {
        let mut file = dir.read(&name)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let mut tail = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut tail)?;
        if length > TAIL_BYTES {
            // What was cut in two may be half a secret, which nothing would recognize.
            tail.drain(..partial_line(&tail));
        }
        Ok(tail)
    });
    let fit = |text: &str| text::mask_secrets(text).into_owned();
    // Masked before it is cut.
    let last = fit(said);
    let cut = last.len().saturating_sub(FINAL_BYTES);
    let cut = (cut..last.len()).find(|at| last.is_char_boundary(*at)).unwrap_or_default();
    Some(AttemptOutput {
        host: host.to_owned(),
        final_text: last.get(cut..).unwrap_or_default().to_owned(),
        tail: fit(&String::from_utf8_lossy(&tail.unwrap_or_default())),
    })
}

/// The models of the failures in a row, each once.
fn models_tried(result: &AttemptResult, failures: &[FailedAttempt]) -> Vec<String> {
    let inherited = result.prompt.iter().flat_map(|prompt| &prompt.inherited);
    let mut models: Vec<String> = Vec::new();
    for failed in inherited.chain(failures) {
        if !models.contains(&failed.model) {
            models.push(failed.model.clone());
        }
    }
    models
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
    let is_project_gate = gate.is_some_and(|gate| gate.of == GateOf::Always);
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
            Some(said) if said.replace(" and printed nothing", "").contains(&message) => said,
            // Nothing else says that it was not the task's own gate.
            Some(said) if is_project_gate => format!("{message} ({said})"),
            Some(said) => format!("{said} ({message})"),
            None => message,
        };
        text::one_line(&whole, 300)
    });
    Verdict { message, ..verdict }
}
