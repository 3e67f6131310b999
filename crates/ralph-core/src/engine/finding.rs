//! Capture: all that an attempt found out goes to the store in one transaction.

use super::judge::told_gate_fix;
use super::prompt::marked_try;
use super::run::{EngineError, Run, millis};
use crate::adaptive::TaskView;
use crate::agent::AgentReport;
use crate::alike::Profile;
use crate::capture;
use crate::decide::{FailedTry, Said, after_attempt, course};
use crate::diagnose::error_line;
use crate::event::{AttemptFinished, EventKind, TaskRef, WORKER};
use crate::evidence::Verdict;
use crate::hooks::HookPoint;
use crate::model::{
    AttemptCost, Difficulty, ErrorType, FailureMark, GateOutcome, GateRecord, GitRecord,
    MarkSource, ModelChoice, NewLearning, Outcome, ReportRow, Status, TaskMetrics, Timestamp,
    Token,
};
use crate::signals::Signals;
use crate::store::{Capture, Claimed, Lesson, TaskNext, UnfinishedAttempt};
use crate::text;

/// All that was found out in an attempt, ready to be stored.
pub(super) struct Finding {
    pub start: UnfinishedAttempt,
    pub started_at: Timestamp,
    pub verdict: Verdict,
    pub agent: Option<AgentReport>,
    pub signals: Option<Signals>,
    pub gate: Option<GateRecord>,
    pub gate_green_before: Option<bool>,
    pub git: GitRecord,
    pub report: Option<ReportRow>,
    pub mark: Option<FailureMark>,
    pub learnings: Vec<NewLearning>,
    /// The task as the choice of the model saw it; none where no agent worked.
    pub view: Option<TaskView>,
    /// The task's failures in a row before this attempt.
    pub tries: Vec<FailedTry>,
    /// Those of the tasks that it is to fix.
    pub inherited: Vec<FailedTry>,
    pub own_work: bool,
    /// What only a person can do before another attempt makes sense.
    pub needs_person: Option<String>,
}

impl Finding {
    /// A parent's own gate failed: an attempt without an agent.
    pub(super) fn of_parent_gate(
        choice: ModelChoice,
        started_at: Timestamp,
        gate: Option<GateRecord>,
        git: GitRecord,
        verdict: Verdict,
    ) -> Self {
        let failed = gate.as_ref().filter(|_| verdict.counted);
        let report = failed.map(|gate| capture::parent_gate_report(gate, &verdict));
        let mark = failed
            .and_then(|gate| gate.diagnosis.fingerprint.clone())
            .map(|found| capture::mark_of(found, MarkSource::Gate));
        let verdict = told(verdict, gate.as_ref(), report.as_ref());
        Self {
            start: UnfinishedAttempt {
                model: Some(choice.model),
                rationale: Some(choice.rationale),
                ..UnfinishedAttempt::default()
            },
            started_at,
            verdict,
            agent: None,
            signals: None,
            gate,
            gate_green_before: None,
            git,
            report,
            mark,
            learnings: Vec::new(),
            view: None,
            tries: Vec::new(),
            inherited: Vec::new(),
            own_work: true,
            needs_person: None,
        }
    }

    /// The process of an attempt died, once too often.
    pub(super) fn of_lost(start: UnfinishedAttempt, started_at: Timestamp) -> Self {
        Self {
            start,
            started_at,
            verdict: Verdict {
                outcome: Outcome::Error,
                error_type: Some(ErrorType::Lost),
                counted: true,
                message: Some(capture::DIED.to_owned()),
                abort: false,
            },
            agent: None,
            signals: None,
            gate: None,
            gate_green_before: None,
            git: GitRecord::default(),
            report: Some(capture::lost_report()),
            mark: None,
            learnings: Vec::new(),
            view: None,
            tries: Vec::new(),
            inherited: Vec::new(),
            own_work: false,
            needs_person: None,
        }
    }
}

impl Run<'_, '_> {
    /// Capture: one transaction for everything, then the displays.
    pub(super) fn store_finding(
        &mut self,
        claimed: &Claimed,
        token: &Token,
        finding: Finding,
    ) -> Result<TaskMetrics, EngineError> {
        let verdict = finding.verdict.clone();
        let message = verdict.message.clone();
        let (agent, signals) = (&finding.agent, &finding.signals);
        let policy = &self.engine.settings.policy;
        let why = why_blocked(&finding);
        let tries = tries_with(&finding);
        let fixes = self
            .engine
            .store
            .fix_family(&claimed.task.id)?
            .lineage
            .fixes;
        let changes = self.engine.store.change_standing(&claimed.task.id)?.made;
        let chain = [&finding.inherited[..], &tries].concat();
        let tried = alternatives(&chain, claimed.metrics.stuck, &fixes, changes);
        let gate_fix = finding.gate.as_ref().and_then(|gate| gate.fix.as_deref());
        let gate_fix = gate_fix.map(|fix| told_gate_fix(&claimed.task, fix));
        let said = Said {
            difficulty: signals.as_ref().and_then(|signals| signals.difficulty),
            next_model: signals
                .as_ref()
                .and_then(|signals| signals.next_model.as_deref()),
            why: why.as_deref(),
            stuck: course(&tries, policy).stuck,
            tried: tried.as_deref(),
            needs_person: finding.needs_person.as_deref().or(gate_fix.as_deref()),
        };
        let mut after = after_attempt(&claimed.metrics, &verdict, &said, policy);
        let mending = self.mending(claimed, &finding, tried.as_deref(), &mut after)?;
        let ended_at = self.engine.clock.now();
        let (status, reason) = match &after.next {
            TaskNext::Done => (Status::Done, None),
            TaskNext::Pending => (Status::Pending, None),
            TaskNext::Blocked { reason } => (Status::Blocked, Some(reason.clone())),
        };
        let usage = agent.as_ref().map(|agent| agent.usage).unwrap_or_default();
        let cost = self.cost(&finding);
        let cost_usd = cost.map(|cost| cost.usd);
        let lesson = self.lesson(claimed, &finding, cost_usd, after.metrics.difficulty);
        let event = self.event(EventKind::AttemptFinished(Box::new(AttemptFinished {
            task: TaskRef::from(&claimed.task),
            attempt: claimed.tries.counted + 1,
            iteration: self.attempts + 1,
            agent: finding.start.agent.clone(),
            model: finding.start.model.clone().unwrap_or_default(),
            outcome: verdict.outcome,
            error_type: verdict.error_type.clone(),
            counted: verdict.counted,
            message: message.clone(),
            duration_ms: millis(ended_at.since(finding.started_at)),
            cost_usd,
            cost_estimated: cost.is_some_and(|cost| cost.estimated),
            tokens_input: usage.input,
            tokens_output: usage.output,
            files_changed: finding.git.files_changed.clone(),
            gate_files_changed: finding
                .gate
                .as_ref()
                .map(|g| g.touched.clone())
                .unwrap_or_default(),
            learnt: finding.learnings.len(),
            status,
            verified: status == Status::Done && passed(finding.gate.as_ref()),
            reason,
        })));
        let result_text = agent
            .as_ref()
            .map(|agent| agent.result_text.as_str())
            .unwrap_or_default();
        let done = verdict.outcome == Outcome::Done;
        let capture = Capture {
            task_id: claimed.task.id.clone(),
            token: token.clone(),
            run_id: self.id.clone(),
            worker: WORKER.to_owned(),
            outcome: verdict.outcome,
            error_type: verdict.error_type.clone(),
            counted: verdict.counted,
            message,
            started_at: finding.started_at,
            ended_at,
            cost,
            usage,
            session_id: agent.as_ref().and_then(|agent| agent.session_id.clone()),
            agent_model: agent.as_ref().and_then(|agent| agent.model.clone()),
            denials: agent
                .as_ref()
                .map(|agent| agent.denials.clone())
                .unwrap_or_default(),
            service_retries: agent.as_ref().map_or(0, |agent| agent.retries),
            limit: agent.as_ref().and_then(|agent| agent.limit.clone()),
            summary: if done { summary(result_text) } else { None },
            git: finding.git,
            gate: finding.gate,
            gate_green_before: finding.gate_green_before,
            mark: finding.mark,
            report: finding.report,
            learnings: finding.learnings,
            lesson,
            metrics: after.metrics,
            next: after.next,
            gave_up: after.gave_up,
            fix: mending.fix,
            recovery_end: mending.end,
            changes: mending.changes,
            breaker_threshold: self.engine.settings.breaker.threshold,
            own_work: finding.own_work,
            start: finding.start,
            events: vec![event.clone()],
        };
        self.engine.store.capture(&capture, self.engine.random)?;
        if let TaskNext::Blocked { .. } = capture.next {
            // What comes before it is tried again is the work of others. A fix task that is given up leaves its chain open,
            // unless that is given up with it.
            let owner = self.engine.store.work_owner(&claimed.task.id)?;
            if self.engine.store.task(owner.as_str())?.status == Status::Blocked {
                self.first_looks.remove(&owner);
            }
        }
        self.tell_of_changes(&claimed.task, capture.changes.len())?;
        // A parent's own gate is no attempt of an agent: it uses up no limit.
        if verdict.counted && !capture.own_work {
            self.attempts += 1;
        }
        self.engine.observer.event(&event);
        if !capture.own_work {
            self.hook_after(HookPoint::AfterAttempt, &event)?;
        }
        for kind in mending.events {
            self.tell(kind)?;
        }
        self.show_progress()?;
        Ok(capture.metrics)
    }

    /// What the agent said it cost, else what its tokens cost, else unknown.
    pub(super) fn cost(&self, finding: &Finding) -> Option<AttemptCost> {
        let report = finding.agent.as_ref()?;
        let model = finding.start.model.as_deref();
        let price = self.agent().price(model, report.model.as_deref());
        report.cost_by(price.as_ref())
    }

    /// What the attempt teaches about its model and its task; nothing, where it does not count.
    fn lesson(
        &self,
        claimed: &Claimed,
        finding: &Finding,
        cost_usd: Option<f64>,
        estimate: Option<Difficulty>,
    ) -> Option<Lesson> {
        let view = finding.view.clone().filter(|_| finding.verdict.counted)?;
        let mut profile = Profile::of(&claimed.task);
        profile.add_files(finding.git.files_changed.as_deref().unwrap_or_default());
        for tag in finding.learnings.iter().flat_map(|learning| &learning.tags) {
            profile.add_text(tag);
        }
        let agent = self.agent();
        Some(Lesson {
            model: finding.start.model.clone()?,
            done: finding.verdict.outcome == Outcome::Done,
            cost_usd,
            estimate,
            ladder: agent.ladder().to_vec(),
            prices: agent.prices(),
            view,
            profile,
        })
    }

    pub(super) fn show_progress(&mut self) -> Result<(), EngineError> {
        let tasks = self.engine.store.counts()?;
        let cost = self.engine.store.run_rates(&self.id)?.cost;
        self.show(EventKind::Progress { tasks, cost });
        Ok(())
    }
}

fn passed(gate: Option<&GateRecord>) -> bool {
    gate.is_some_and(|gate| gate.outcome == GateOutcome::Passed)
}

/// What was tried before a task is given up: every model in order, another stance, fix tasks, plan changes.
fn alternatives(
    tries: &[FailedTry],
    stance: bool,
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
    let stance = if stance {
        ", with a fresh approach"
    } else {
        ""
    };
    let fixes = match fixes {
        [] => String::new(),
        fixes => format!(", fix tasks {}", fixes.join(", ")),
    };
    let changes = match changes {
        0 => String::new(),
        1 => ", a plan change".to_owned(),
        n => format!(", {n} plan changes"),
    };
    (!models.is_empty()).then(|| format!("{models}{stance}{fixes}{changes}"))
}

/// What an answer comes to: the line that says what is wrong, else its last line.
fn conclusion(said: &str) -> Option<String> {
    let plain = |line: &&str| !line.is_empty() && !line.starts_with(['#', '`', '-', '*', '|']);
    let last = || said.lines().map(str::trim).rfind(plain);
    error_line(said).or_else(|| last().map(str::to_owned))
}

/// Why the agent cannot go on, in its own words where there are any.
fn why_blocked(finding: &Finding) -> Option<String> {
    let report = finding.report.as_ref()?;
    let said = finding
        .agent
        .as_ref()
        .map(|agent| text::without_signals(&agent.result_text));
    let said = said.as_deref().and_then(conclusion);
    let said = said.as_ref();
    let signals = finding.signals.as_ref();
    let reason = signals.and_then(|signals| signals.failure_reason.as_deref());
    let why = match (report.auto, reason, said) {
        (false, _, _) => report.why_it_failed.as_str(),
        (true, Some(reason), _) => reason,
        (true, None, Some(said)) => said.as_str(),
        (true, None, None) => finding.verdict.message.as_deref()?,
    };
    Some(text::one_line(why, 300))
}

/// The task's failures in a row with this one, if it is one.
fn tries_with(finding: &Finding) -> Vec<FailedTry> {
    let mut tries = finding.tries.clone();
    if finding.report.is_some() && finding.view.is_some() {
        let git = &finding.git;
        let (model, rationale) = (&finding.start.model, &finding.start.rationale);
        tries.push(FailedTry {
            changed: git.files_changed.as_ref().map(|files| !files.is_empty()),
            committed: git.commit_after.is_some() && git.commit_before != git.commit_after,
            ..marked_try(
                model.as_deref().unwrap_or_default(),
                rationale.as_deref().unwrap_or_default(),
                finding.mark.as_ref(),
            )
        });
    }
    tries
}

/// The verdict with its message made fit for people: one masked line, and a failed gate told by what it said.
pub(super) fn told(
    verdict: Verdict,
    gate: Option<&GateRecord>,
    report: Option<&ReportRow>,
) -> Verdict {
    let said = gate
        .filter(|gate| matches!(gate.outcome, GateOutcome::Failed | GateOutcome::TimedOut))
        .and_then(GateRecord::headline);
    // The agent's own reason says more than that it gave up.
    let gave_up = matches!(verdict.outcome, Outcome::Failed | Outcome::NoSigil);
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

pub(super) fn summary(result_text: &str) -> Option<String> {
    text::first_sentence(&text::mask_secrets(result_text))
}
