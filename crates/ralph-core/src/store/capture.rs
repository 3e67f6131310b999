//! What one attempt leaves behind, written together or not at all. The outcome row comes first.

use super::sql::{Changes, Connection, Statements, ToSql, bind};
use super::{
    Durability, Lesson, NewFix, PlanChange, Random, RecoveryEnd, Result, Store, agents_md, breaker, claims,
    events, experience, fixes, learnings, plan, plan_changes, runs, status,
};
use crate::breaker::BreakerChange;
use crate::decide::Standing;
use crate::event::RunEvent;
use crate::model::{
    Attempt, AttemptCost, AttemptOutput, DoneBy, NewLearning, Outcome, ReportRow, Status, TaskId,
    TaskMetrics, Token,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskNext {
    Done,
    /// It can be claimed again.
    Pending,
    Blocked {
        reason: String,
    },
}

/// Everything one attempt leaves behind.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Its record; the store numbers it.
    pub attempt: Attempt,
    pub report: Option<ReportRow>,
    /// For machines that do not have its log.
    pub output: Option<AttemptOutput>,
    pub learnings: Vec<NewLearning>,
    /// What the attempt teaches about its model and its task; none for what no agent's work decided.
    pub lesson: Option<Lesson>,
    pub metrics: TaskMetrics,
    pub next: TaskNext,
    /// It goes to a person because it failed too often.
    pub gave_up: bool,
    pub fix: Option<NewFix>,
    /// A recovery that ends with it, without success.
    pub recovery_end: Option<RecoveryEnd>,
    pub changes: Vec<PlanChange>,
    pub breaker: BreakerChange,
    /// A parent's own gate failed: it is now to be worked on itself.
    pub own_work: bool,
    pub events: Vec<RunEvent>,
}

impl Store {
    /// Records an attempt: outcome, report, learnings, metrics, task status and events, all of it or nothing. `settle` is
    /// told in the same transaction how the task stands and gives what is to be written. Refused when the
    /// claim has moved: another process may have recorded the attempt.
    pub fn capture(
        &mut self,
        task: &TaskId,
        token: &Token,
        random: Random<'_>,
        mut settle: impl FnMut(&Standing) -> Capture,
    ) -> Result<Capture> {
        self.write(Durability::Power, |tx| {
            tx.read_ahead(|| {
                let _ = claims::refuse_moved(tx, task, token);
                let _ = plan::metrics(tx, task);
                let _ = claims::attempts_used(tx, task);
                breaker::read_ahead(tx, task);
            })?;
            claims::refuse_moved(tx, task, token)?;
            let standing = Standing {
                metrics: plan::metrics(tx, task)?,
                attempts_used: claims::attempts_used(tx, task)?,
                breaker: breaker::standing(tx, task, token)?,
            };
            let mut capture = settle(&standing);
            store(tx, &mut capture, random)?;
            breaker::after(tx, &standing.breaker.root, &capture)?;
            claims::end_held(tx, task)?;
            status::settle(tx, capture.attempt.ended_at())?;
            for event in &mut capture.events {
                events::append(tx, event)?;
            }
            Ok(capture)
        })
    }
}

pub(super) fn store(tx: &Connection, capture: &mut Capture, random: Random<'_>) -> Result<()> {
    let id = capture.attempt.task_id.clone();
    // What is read is read at once, before anything is changed.
    tx.read_ahead(|| {
        let _ = claims::attempt_counts(tx, &id);
        let _ = status::place(tx, &id);
        let _ = learnings::rates(tx);
        if capture.lesson.is_some() {
            experience::read_ahead(tx, &id);
        }
    })?;
    let before = claims::attempt_counts(tx, &id)?;
    let place = status::place(tx, &id)?;
    let rates = learnings::rates(tx)?;
    let known = match &capture.lesson {
        Some(_) => Some(experience::before(tx, &id)?),
        None => None,
    };
    capture.attempt.attempt_number = before.recorded + 1;
    capture.attempt.attempt = before.counted + 1;
    let attempt = &capture.attempt;
    let ended_at = attempt.ended_at();
    tx.insert_record("iteration_outcomes", attempt, &[])?;
    if let Some(output) = &capture.output {
        tx.insert_record(
            "attempt_outputs",
            output,
            bind! { task_id: id, attempt_number: attempt.attempt_number },
        )?;
    }
    if let Some(report) = &capture.report {
        let number = attempt.attempt_number;
        let more = bind! { task_id: id, attempt_number: number, created_at: ended_at };
        tx.insert_record("failure_reports", report, more)?;
    }
    // Before the new ones: one of them may take the place of one that was shown.
    learnings::credit(tx, capture, rates)?;
    learnings::learn(tx, &capture.learnings, &id, ended_at, random)?;
    if let Some((lesson, known)) = capture.lesson.as_ref().zip(known) {
        experience::learn(tx, attempt, lesson, known)?;
    }
    metrics(tx, capture)?;
    if attempt.counted {
        claims::spend_attempt(tx, &id)?;
    }
    run_totals(tx, attempt)?;
    agents_md::note(tx, capture)?;
    task_status(tx, capture, &place)?;
    plan_changes::after(tx, capture, random)?;
    fixes::after(tx, capture, random)
}

fn metrics(tx: &Connection, capture: &Capture) -> Result<()> {
    let after = &capture.metrics;
    let attempt = &capture.attempt;
    let done = attempt.outcome == Outcome::Done;
    let now = attempt.ended_at();
    // An attempt that does not count makes no row, unless a crash has to be counted there.
    let has_row = || tx.has("SELECT 1 FROM strategy_metrics WHERE task_id = ?1", [&attempt.task_id]);
    let in_a_row = after.lost_in_a_row + after.landing_failures;
    if !attempt.counted && !done && in_a_row == 0 && !has_row()? {
        return Ok(());
    }
    let mut more: Vec<(&str, &dyn ToSql)> = vec![("task_id", &attempt.task_id)];
    if attempt.counted {
        more.push(("last_attempt_at", &now));
    }
    if done {
        more.extend([("last_success_at", &now as &dyn ToSql), ("suggested_model", &attempt.model)]);
    }
    tx.upsert_record("strategy_metrics", &["task_id"], after, &more)
}

fn run_totals(tx: &Connection, attempt: &Attempt) -> Result<()> {
    tx.change(
        "UPDATE runs SET attempts = attempts + :counted, done = done + :done,
             cost_usd = cost_usd + :cost, cost_unknown = cost_unknown + :unknown,
             cost_estimated = cost_estimated + :estimated,
             iterations = iterations + :iterations
         WHERE id = :run",
        bind! {
            run: attempt.run_id, counted: attempt.counted, done: attempt.outcome == Outcome::Done,
            cost: attempt.cost_usd.unwrap_or(0.0), unknown: attempt.cost_is_unknown(),
            estimated: attempt.cost_estimated,
            // A parent's own gate is no attempt of an agent.
            iterations: attempt.counted && attempt.agent.is_some(),
        },
    )?;
    match attempt.cost_usd {
        Some(usd) => runs::spend(tx, attempt.ended_at(), AttemptCost::new(usd, attempt.cost_estimated)),
        None => Ok(()),
    }
}

fn task_status(tx: &Connection, capture: &Capture, place: &status::Place) -> Result<()> {
    let id = &capture.attempt.task_id;
    let now = capture.attempt.ended_at();
    if capture.own_work {
        tx.change("UPDATE tasks SET own_work = 1 WHERE id = ?1", [id])?;
    }
    match &capture.next {
        TaskNext::Pending => status::set_at(tx, id, place, Status::Pending, None, now),
        TaskNext::Blocked { reason } => status::set_at(tx, id, place, Status::Blocked, Some(reason), now),
        TaskNext::Done => {
            // Somebody may have given the task children meanwhile; then it is done when they are.
            if place.open_children > 0 {
                return status::set_at(tx, id, place, Status::Pending, None, now);
            }
            let verification = &capture.attempt.verification;
            let by = if verification.level.is_verified() { DoneBy::Gate } else { DoneBy::Agent };
            status::set_done_at(tx, id, place, by, verification, now)
        }
    }
}
