//! What one attempt leaves behind, written together or not at all. The outcome row comes first.

use rusqlite::{Connection, named_params};

use super::sql::{Json, Statements};
use super::{
    Capture, Random, Result, TaskNext, agents_md, claims, experience, fixes, learnings, plan_changes, runs,
    status,
};
use crate::model::{
    Attempt, AttemptCost, DoneBy, GateOutcome, Outcome, ReportRow, Status, TaskId, Timestamp,
};

/// Writes a capture inside a transaction and numbers its attempt.
pub(super) fn store(tx: &Connection, capture: &mut Capture, random: Random<'_>) -> Result<()> {
    let id = capture.attempt.task_id.clone();
    let tries = claims::tries(tx, &id)?;
    capture.attempt.attempt_number = tries.recorded + 1;
    capture.attempt.attempt = tries.counted + 1;
    let attempt = &capture.attempt;
    insert_attempt(tx, attempt)?;
    let (number, ended_at) = (attempt.attempt_number, attempt.ended_at());
    if let Some(report) = &capture.report {
        failure_report(tx, &id, number, report, ended_at)?;
    }
    // Before the new ones: one of them may take the place of one that was shown.
    learnings::credit(tx, capture)?;
    learnings::learn(tx, &capture.learnings, &id, ended_at, random)?;
    if let Some(lesson) = &capture.lesson {
        experience::learn(tx, attempt, lesson)?;
    }
    metrics(tx, capture)?;
    if attempt.counted {
        claims::spend_attempt(tx, &id)?;
    }
    run_totals(tx, attempt)?;
    agents_md::note(tx, capture)?;
    task_status(tx, capture)?;
    plan_changes::after(tx, capture, random)?;
    fixes::after(tx, capture, random)
}

/// The columns of an attempt; `history.rs` reads them.
fn insert_attempt(tx: &Connection, attempt: &Attempt) -> Result<()> {
    let mark = attempt.mark();
    tx.insert(
        "iteration_outcomes",
        named_params! {
            "task_id": attempt.task_id, "attempt_number": attempt.attempt_number,
            "ordinal": attempt.attempt, "counted": attempt.counted, "run_id": attempt.run_id,
            "iteration": attempt.iteration, "worker": attempt.worker,
            "work_dir": attempt.work_dir, "agent": attempt.agent, "model": attempt.model,
            "agent_model": attempt.agent_model, "rationale": attempt.rationale,
            "started_at": attempt.started_at,
            "duration_ms": i64::try_from(attempt.duration_ms).unwrap_or(i64::MAX),
            "outcome": attempt.outcome,
            "error_type": attempt.error_type.as_ref().map(|error| error.as_str()),
            "message": attempt.message, "summary": attempt.summary,
            "cost_usd": attempt.cost_usd, "cost_estimated": attempt.cost_estimated,
            "tokens_input": attempt.tokens_input, "tokens_output": attempt.tokens_output,
            "tokens_cache_read": attempt.tokens_cache_read,
            "tokens_cache_write": attempt.tokens_cache_write, "session_id": attempt.session_id,
            "denials": Json(&attempt.denials), "service_retries": attempt.service_retries,
            "limit_notice": attempt.limit_notice, "log_path": attempt.log_path,
            "commit_before": attempt.commit_before, "commit_after": attempt.commit_after,
            "files_changed": attempt.files_changed.as_ref().map(Json),
            "undone_ref": attempt.undone_ref, "gate_outcome": attempt.gate,
            "gate_flaky": attempt.gate_flaky, "gate_green_before": attempt.gate_green_before,
            "gate_files_changed": Json(&attempt.gate_files_changed),
            "gate_output": attempt.gate_output,
            "fingerprint_coarse": attempt.fingerprint_coarse,
            "fingerprint_fine": attempt.fingerprint_fine,
            "failing_tests": mark.as_ref().map(|mark| Json(&mark.failing)),
            "fingerprint_source": mark.as_ref().map(|mark| mark.source.as_str()),
        },
    )
}

fn failure_report(
    tx: &Connection,
    task: &TaskId,
    attempt_number: u32,
    report: &ReportRow,
    now: Timestamp,
) -> Result<()> {
    tx.insert(
        "failure_reports",
        named_params! {
            "task_id": task, "attempt_number": attempt_number,
            "what_was_tried": report.what_was_tried, "why_it_failed": report.why_it_failed,
            "error_category": report.error_category,
            "relevant_files": Json(&report.relevant_files),
            "stack_trace_snippet": report.stack_trace_snippet,
            "retry_suggestion": report.retry_suggestion, "excerpt": report.excerpt,
            "auto": report.auto, "created_at": now,
        },
    )
}

fn metrics(tx: &Connection, capture: &Capture) -> Result<()> {
    let after = &capture.metrics;
    let attempt = &capture.attempt;
    let done = attempt.outcome == Outcome::Done;
    let now = attempt.ended_at();
    // An attempt that does not count makes no row, unless a crash has to be counted there.
    if !attempt.counted && !done && after.lost_in_a_row == 0 && !has_metrics(tx, attempt)? {
        return Ok(());
    }
    tx.change(
        "INSERT INTO strategy_metrics (task_id, total_attempts, consecutive_failures,
             last_attempt_at, last_success_at, difficulty_estimate, suggested_model, stuck_flag,
             next_model, lost_in_a_row)
         VALUES (:task, :attempts, :failures, :attempt_at, :success_at, :difficulty, :suggested,
             :stuck, :next_model, :lost)
         ON CONFLICT (task_id) DO UPDATE SET
             total_attempts = excluded.total_attempts,
             consecutive_failures = excluded.consecutive_failures,
             last_attempt_at = coalesce(excluded.last_attempt_at, last_attempt_at),
             last_success_at = coalesce(excluded.last_success_at, last_success_at),
             difficulty_estimate = coalesce(excluded.difficulty_estimate, difficulty_estimate),
             suggested_model = coalesce(excluded.suggested_model, suggested_model),
             stuck_flag = excluded.stuck_flag,
             next_model = excluded.next_model,
             lost_in_a_row = excluded.lost_in_a_row",
        named_params! {
            ":task": attempt.task_id, ":attempts": after.total_attempts,
            ":failures": after.consecutive_failures, ":attempt_at": attempt.counted.then_some(now),
            ":success_at": done.then_some(now), ":difficulty": after.difficulty,
            ":suggested": done.then_some(&attempt.model),
            ":stuck": after.stuck, ":next_model": after.next_model, ":lost": after.lost_in_a_row,
        },
    )?;
    Ok(())
}

fn has_metrics(tx: &Connection, attempt: &Attempt) -> Result<bool> {
    let sql = "SELECT 1 FROM strategy_metrics WHERE task_id = ?1";
    tx.has(sql, [&attempt.task_id])
}

fn run_totals(tx: &Connection, attempt: &Attempt) -> Result<()> {
    tx.change(
        "UPDATE runs SET attempts = attempts + :counted, done = done + :done,
             cost_usd = cost_usd + :cost, cost_unknown = cost_unknown + :unknown,
             cost_estimated = cost_estimated + :estimated
         WHERE id = :run",
        named_params! {
            ":run": attempt.run_id, ":counted": attempt.counted,
            ":done": attempt.outcome == Outcome::Done,
            ":cost": attempt.cost_usd.unwrap_or(0.0), ":unknown": attempt.cost_is_unknown(),
            ":estimated": attempt.cost_estimated,
        },
    )?;
    match attempt.cost_usd {
        Some(usd) => runs::spend(tx, attempt.ended_at(), AttemptCost::new(usd, attempt.cost_estimated)),
        None => Ok(()),
    }
}

fn task_status(tx: &Connection, capture: &Capture) -> Result<()> {
    let id = &capture.attempt.task_id;
    let now = capture.attempt.ended_at();
    if capture.own_work {
        tx.change("UPDATE tasks SET own_work = 1 WHERE id = ?1", [id])?;
    }
    match &capture.next {
        TaskNext::Pending => status::set(tx, id, Status::Pending, None, now),
        TaskNext::Blocked { reason } => status::set(tx, id, Status::Blocked, Some(reason), now),
        TaskNext::Done => {
            // Somebody may have given the task children meanwhile; then it is done when they are.
            let open = status::has_open_children(tx, id)?;
            match (open, capture.attempt.gate) {
                (true, _) => status::set(tx, id, Status::Pending, None, now),
                (false, Some(GateOutcome::Passed)) => status::set_done(tx, id, DoneBy::Gate, now),
                (false, _) => status::set_done(tx, id, DoneBy::Agent, now),
            }
        }
    }
}
