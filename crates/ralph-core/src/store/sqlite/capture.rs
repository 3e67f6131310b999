//! What one attempt leaves behind, written together or not at all. The outcome row comes first.

use rusqlite::{Connection, params};

use super::{
    Refusal, agents_md, allowance, breaker, claims, control, experience, fixes, learnings,
    plan_changes, rows, runs, status,
};
use crate::model::{DoneBy, ErrorType, GateOutcome, Outcome, ReportRow, Status, TaskId, Timestamp};
use crate::store::{Capture, Random, TaskNext};

/// Writes a capture inside a transaction.
pub(super) fn store(
    tx: &Connection,
    capture: &Capture,
    random: Random<'_>,
) -> std::result::Result<(), Refusal> {
    let forgiven;
    let capture = match since_forgiven(tx, capture)? {
        Some(changed) => {
            forgiven = changed;
            &forgiven
        }
        None => capture,
    };
    // First of all: whoever lost the claim has nothing to say, and another process may have recorded this try.
    claims::refuse_moved(tx, &capture.task_id, &capture.token)?;
    let tries = claims::tries(tx, &capture.task_id)?;
    let attempt_number = tries.recorded + 1;
    outcome(tx, capture, attempt_number, tries.counted + 1)?;
    if let Some(report) = &capture.report {
        failure_report(
            tx,
            &capture.task_id,
            attempt_number,
            report,
            capture.ended_at,
        )?;
    }
    // Before the new ones: one of them may take the place of one that was shown.
    learnings::credit(tx, capture, attempt_number, tries.counted)?;
    learnings::learn(
        tx,
        &capture.learnings,
        &capture.task_id,
        capture.ended_at,
        random,
    )?;
    if let Some(lesson) = &capture.lesson {
        experience::learn(tx, capture, lesson)?;
    }
    metrics(tx, capture)?;
    if capture.counted {
        allowance::spend(tx, &capture.task_id)?;
    }
    run_totals(tx, capture)?;
    agents_md::note(tx, capture, attempt_number)?;
    task_status(tx, capture)?;
    plan_changes::after(tx, capture, attempt_number, random)?;
    fixes::after(tx, capture, attempt_number, random)?;
    breaker::after(tx, capture)?;
    claims::give_up(tx, &capture.task_id, &capture.token)?;
    status::settle(tx, capture.ended_at)?;
    for event in &capture.events {
        runs::append(tx, event)?;
    }
    Ok(())
}

/// Where the task's failures were forgiven while the attempt was under way: the attempt counts from there.
fn since_forgiven(tx: &Connection, capture: &Capture) -> rusqlite::Result<Option<Capture>> {
    let now = rows::metrics(tx, &capture.task_id)?;
    if now.forgiven == capture.metrics.forgiven {
        return Ok(None);
    }
    let mut changed = capture.clone();
    changed.metrics.forgiven = now.forgiven;
    changed.metrics.consecutive_failures = match (capture.counted, capture.outcome) {
        (true, Outcome::Done) => 0,
        (true, Outcome::Failed | Outcome::NoSigil | Outcome::Error) => now.consecutive_failures + 1,
        (false, _) => now.consecutive_failures,
    };
    changed.metrics.stuck &= now.stuck;
    if changed.gave_up {
        changed.gave_up = false;
        changed.next = TaskNext::Pending;
        changed.recovery_end = None;
    }
    Ok(Some(changed))
}

fn outcome(
    tx: &Connection,
    capture: &Capture,
    attempt_number: u32,
    ordinal: u32,
) -> rusqlite::Result<()> {
    let gate = capture.gate.as_ref();
    let mark = capture.mark.as_ref();
    tx.prepare_cached(
        "INSERT INTO iteration_outcomes (
             task_id, attempt_number, model, started_at, duration_ms, tokens_input, tokens_output, outcome,
             error_type, ordinal, counted, run_id, iteration, worker, work_dir, agent, cost_usd,
             tokens_cache_read, tokens_cache_write, session_id, agent_model, rationale, commit_before,
             commit_after, files_changed, gate_outcome, gate_flaky, gate_green_before,
             gate_files_changed, gate_output, log_path, summary, message, denials, service_retries,
             limit_notice, fingerprint_coarse, fingerprint_fine, failing_tests, fingerprint_source,
             undone_ref, cost_estimated)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
                 ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42)",
    )?
    .execute(params![
        capture.task_id.as_str(),
        attempt_number,
        capture.start.model.as_deref().unwrap_or("unknown"),
        capture.started_at.to_string(),
        millis(capture.ended_at.since(capture.started_at)),
        capture.usage.input,
        capture.usage.output,
        capture.outcome.as_str(),
        capture.error_type.as_ref().map(|error| error.as_str()),
        ordinal,
        capture.counted,
        capture.run_id.as_str(),
        capture.start.iteration,
        capture.worker,
        capture.start.work_dir,
        capture.start.agent,
        capture.cost.map(|cost| cost.usd),
        capture.usage.cache_read,
        capture.usage.cache_write,
        capture.session_id,
        capture.agent_model,
        capture.start.rationale,
        capture.git.commit_before,
        capture.git.commit_after,
        capture.git.files_changed.as_deref().map(rows::to_json),
        gate.map(|gate| gate.outcome.as_str()),
        gate.is_some_and(|gate| gate.flaky),
        capture.gate_green_before,
        rows::to_json(gate.map_or(&[][..], |gate| &gate.touched)),
        gate.map(|gate| gate.output_tail.as_str()),
        capture.start.log_path,
        capture.summary,
        capture.message,
        rows::to_json(&capture.denials),
        capture.service_retries,
        capture.limit.as_ref().map(rows::to_json),
        mark.map(|mark| mark.coarse.as_str()),
        mark.map(|mark| mark.fine.as_str()),
        mark.map(|mark| rows::to_json(&mark.failing)),
        mark.map(|mark| mark.source.as_str()),
        capture.git.undone_ref,
        is_estimated(capture),
    ])?;
    Ok(())
}

fn failure_report(
    tx: &Connection,
    task: &TaskId,
    attempt_number: u32,
    report: &ReportRow,
    now: Timestamp,
) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO failure_reports (task_id, attempt_number, what_was_tried, why_it_failed,
             error_category, relevant_files, stack_trace_snippet, retry_suggestion, excerpt, auto,
             created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?
    .execute(params![
        task.as_str(),
        attempt_number,
        report.what_was_tried,
        report.why_it_failed,
        report.error_category,
        rows::to_json(&report.relevant_files),
        report.stack_trace_snippet,
        report.retry_suggestion,
        report.excerpt,
        report.auto,
        now.to_string(),
    ])?;
    Ok(())
}

fn metrics(tx: &Connection, capture: &Capture) -> rusqlite::Result<()> {
    let after = &capture.metrics;
    let done = capture.outcome == Outcome::Done;
    let now = capture.ended_at.to_string();
    // An attempt that does not count makes no row, unless a crash has to be counted there.
    if !capture.counted && !done && after.lost_in_a_row == 0 && !has_metrics(tx, capture)? {
        return Ok(());
    }
    tx.prepare_cached(
        "INSERT INTO strategy_metrics (task_id, total_attempts, consecutive_failures, last_attempt_at,
             last_success_at, difficulty_estimate, suggested_model, stuck_flag, next_model, lost_in_a_row)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
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
    )?
    .execute(params![
        capture.task_id.as_str(),
        after.total_attempts,
        after.consecutive_failures,
        capture.counted.then_some(&now),
        done.then_some(&now),
        after.difficulty.map(|difficulty| difficulty.as_str()),
        if done { capture.start.model.as_deref() } else { None },
        after.stuck,
        after.next_model,
        after.lost_in_a_row,
    ])?;
    Ok(())
}

fn has_metrics(tx: &Connection, capture: &Capture) -> rusqlite::Result<bool> {
    tx.prepare_cached("SELECT 1 FROM strategy_metrics WHERE task_id = ?1")?
        .exists([capture.task_id.as_str()])
}

fn run_totals(tx: &Connection, capture: &Capture) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE runs SET attempts = attempts + ?2, done = done + ?3, cost_usd = cost_usd + ?4,
                cost_unknown = cost_unknown + ?5, cost_estimated = cost_estimated + ?6
         WHERE id = ?1",
    )?
    .execute(params![
        capture.run_id.as_str(),
        capture.counted,
        capture.outcome == Outcome::Done,
        capture.cost.map_or(0.0, |cost| cost.usd),
        spent_unknown(capture),
        is_estimated(capture),
    ])?;
    match capture.cost {
        Some(cost) => control::spend(tx, capture.ended_at, cost),
        None => Ok(()),
    }
}

/// Whether an agent worked and nobody knows for how much.
fn spent_unknown(capture: &Capture) -> bool {
    let worked = capture.start.agent.is_some() && capture.error_type != Some(ErrorType::Spawn);
    worked && capture.cost.is_none()
}

fn is_estimated(capture: &Capture) -> bool {
    capture.cost.is_some_and(|cost| cost.estimated)
}

fn task_status(tx: &Connection, capture: &Capture) -> rusqlite::Result<()> {
    let id = &capture.task_id;
    let now = capture.ended_at;
    if capture.own_work {
        tx.prepare_cached("UPDATE tasks SET own_work = 1 WHERE id = ?1")?
            .execute([id.as_str()])?;
    }
    match &capture.next {
        TaskNext::Pending => status::set(tx, id, Status::Pending, None, now),
        TaskNext::Blocked { reason } => status::set(tx, id, Status::Blocked, Some(reason), now),
        TaskNext::Done => {
            // Somebody may have given the task children meanwhile; then it is done when they are.
            let open = has_open_children(tx, id)?;
            match (open, &capture.gate) {
                (true, _) => status::set(tx, id, Status::Pending, None, now),
                (false, Some(gate)) if gate.outcome == GateOutcome::Passed => {
                    status::set_done(tx, id, DoneBy::Gate, now)
                }
                (false, _) => status::set_done(tx, id, DoneBy::Agent, now),
            }
        }
    }
}

/// Whether a task has children that are neither done nor skipped.
pub(super) fn has_open_children(tx: &Connection, id: &TaskId) -> rusqlite::Result<bool> {
    tx.prepare_cached("SELECT open_children > 0 FROM tasks WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
}

fn millis(duration: std::time::Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
