//! Reading what was recorded.

use rusqlite::{OptionalExtension, Row, params_from_iter};

use super::{SqliteStore, breaker, claims, rows, stats};
use crate::analysis::Fact;
use crate::model::{
    Attempt, AttemptDetail, Cost, ErrorType, FailureMark, GateOutcome, Key, MarkSource, Outcome,
    Phase, ReportRow, RunId, Stats, TaskId, TaskMetrics,
};
use crate::store::{
    Breaker, FailureFilter, FailureRow, HistoryStore, PastFailure, Result, Totals, Tries,
};
use crate::text;

const ATTEMPT: &str = "SELECT o.task_id, t.key, o.ordinal, o.run_id, o.iteration, o.model, o.outcome,
    o.error_type, o.started_at, o.duration_ms, o.cost_usd, o.tokens_input, o.tokens_output,
    o.commit_before, o.commit_after, o.files_changed, o.rationale, o.counted, o.attempt_number, o.worker,
    o.agent, o.session_id, o.tokens_cache_read, o.tokens_cache_write, o.message, o.gate_outcome,
    o.gate_flaky, o.gate_green_before, o.gate_files_changed, o.gate_output, o.denials,
    o.service_retries, o.log_path,
    (SELECT json_group_array(learning_id) FROM (SELECT u.learning_id FROM learning_uses u
        WHERE u.task_id = o.task_id AND u.attempt_number = o.attempt_number ORDER BY u.place)),
    o.fingerprint_coarse, o.fingerprint_fine, o.failing_tests,
    o.undone_ref, o.cost_estimated
    FROM iteration_outcomes o JOIN tasks t ON t.id = o.task_id";

impl HistoryStore for SqliteStore {
    fn history(&self, task: Option<&TaskId>) -> Result<Vec<Attempt>> {
        self.read(|conn| match task {
            Some(task) => conn
                .prepare_cached(&format!(
                    "{ATTEMPT} WHERE o.task_id = ?1 ORDER BY o.attempt_number"
                ))?
                .query_map([task.as_str()], attempt)?
                .collect(),
            None => conn
                .prepare_cached(&format!("{ATTEMPT} ORDER BY o.started_at, o.rowid"))?
                .query_map([], attempt)?
                .collect(),
        })
    }

    fn run_history(&self, run: &RunId) -> Result<Vec<Attempt>> {
        self.read(|conn| {
            conn.prepare_cached(&format!(
                "{ATTEMPT} WHERE o.run_id = ?1 ORDER BY o.started_at, o.rowid"
            ))?
            .query_map([run.as_str()], attempt)?
            .collect()
        })
    }

    fn newest_attempts(&self, most: u32) -> Result<Vec<Attempt>> {
        self.read(|conn| {
            conn.prepare_cached(&format!(
                "{ATTEMPT} ORDER BY o.started_at DESC, o.rowid DESC LIMIT ?1"
            ))?
            .query_map([most], attempt)?
            .collect()
        })
    }

    fn last_tries(&self) -> Result<Vec<Attempt>> {
        self.read(|conn| {
            conn.prepare_cached(&format!(
                "{ATTEMPT} WHERE t.status <> 'done' AND o.attempt_number = (
                     SELECT max(attempt_number) FROM iteration_outcomes WHERE task_id = t.id)"
            ))?
            .query_map([], attempt)?
            .collect()
        })
    }

    fn newest_failures(&self, most: u64) -> Result<Vec<Fact>> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT t.id, t.key, t.whole_phase, o.model, o.error_type, o.outcome, o.fingerprint_coarse,
                        r.why_it_failed, r.relevant_files, o.gate_outcome, t.verify, o.failing_tests
                 FROM iteration_outcomes o JOIN tasks t ON t.id = o.task_id
                 LEFT JOIN failure_reports r
                     ON r.task_id = o.task_id AND r.attempt_number = o.attempt_number
                 WHERE o.counted = 1 AND o.outcome <> 'done'
                     AND (o.task_id IN (SELECT task_id FROM breaker_streak)
                          OR (SELECT state FROM breaker) = 'closed')
                 ORDER BY o.started_at DESC, o.rowid DESC LIMIT ?1",
            )?
            .query_map([most], fact)?
            .collect()
        })
    }

    fn recent_faults(&self) -> Result<Vec<(String, u32)>> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT error_type, count(*) FROM iteration_outcomes
                 WHERE run_id = (SELECT id FROM runs ORDER BY started_at DESC, rowid DESC LIMIT 1)
                     AND counted = 0 AND error_type IS NOT NULL
                 GROUP BY 1 ORDER BY 2 DESC, 1",
            )?
            .query_map([], |row| Ok((rows::text(row, 0)?, row.get(1)?)))?
            .collect()
        })
    }

    fn failures(&self, task: &TaskId) -> Result<Vec<PastFailure>> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT o.ordinal, o.model, o.outcome, o.duration_ms, r.what_was_tried, r.why_it_failed,
                        r.error_category, r.relevant_files, r.stack_trace_snippet, r.retry_suggestion,
                        r.excerpt, r.auto, o.fingerprint_coarse, o.fingerprint_fine, o.failing_tests,
                        o.files_changed, o.commit_before, o.commit_after, o.cost_usd,
                        o.fingerprint_source, o.rationale, o.gate_outcome
                 FROM iteration_outcomes o
                 LEFT JOIN failure_reports r
                     ON r.task_id = o.task_id AND r.attempt_number = o.attempt_number
                 WHERE o.task_id = ?1 AND o.counted = 1 AND o.outcome <> 'done'
                 ORDER BY o.attempt_number",
            )?
            .query_map([task.as_str()], failure)?
            .collect()
        })
    }

    fn failure_reports(&self, filter: &FailureFilter) -> Result<Vec<FailureRow>> {
        // Only the conditions that are asked for, so that their indexes are used.
        let since = filter.since.map(|since| since.to_string());
        let wanted: Vec<(&str, &str)> = [
            ("r.task_id =", filter.task.as_ref().map(TaskId::as_str)),
            ("r.error_category =", filter.category.as_deref()),
            ("r.created_at >=", since.as_deref()),
            ("o.run_id =", filter.run.as_ref().map(RunId::as_str)),
        ]
        .into_iter()
        .filter_map(|(condition, value)| Some((condition, value?)))
        .collect();
        let conditions: String = wanted
            .iter()
            .map(|(condition, _)| format!(" AND {condition} ?"))
            .collect();
        self.read(|conn| {
            conn.prepare_cached(&format!(
                "SELECT o.ordinal, o.model, o.outcome, o.duration_ms, r.what_was_tried, r.why_it_failed,
                        r.error_category, r.relevant_files, r.stack_trace_snippet, r.retry_suggestion,
                        r.excerpt, r.auto, o.task_id, t.key, t.title, o.attempt_number, o.run_id,
                        o.error_type, r.created_at
                 FROM failure_reports r
                 JOIN iteration_outcomes o
                     ON o.task_id = r.task_id AND o.attempt_number = r.attempt_number
                 JOIN tasks t ON t.id = r.task_id
                 WHERE 1{conditions} ORDER BY r.created_at, o.rowid"
            ))?
            .query_map(
                params_from_iter(wanted.iter().map(|(_, value)| value)),
                failure_row,
            )?
            .collect()
        })
    }

    fn stats(&self, run: Option<&RunId>) -> Result<Stats> {
        self.read_once(|conn| stats::stats(conn, run))
    }

    fn metrics(&self, task: &TaskId) -> Result<TaskMetrics> {
        self.read(|conn| rows::metrics(conn, task))
    }

    fn tries(&self, task: &TaskId) -> Result<Tries> {
        self.read(|conn| claims::tries(conn, task))
    }

    fn summary(&self, task: &TaskId) -> Result<Option<String>> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT summary FROM iteration_outcomes WHERE task_id = ?1 AND outcome = 'done'
                 ORDER BY attempt_number DESC LIMIT 1",
            )?
            .query_row([task.as_str()], |row| row.get(0))
            .optional()
            .map(Option::flatten)
        })
    }

    fn totals(&self) -> Result<Totals> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT attempts, cost_usd, cost_unknown, cost_estimated > 0 FROM totals",
            )?
            .query_row([], |row| {
                Ok(Totals {
                    attempts: row.get(0)?,
                    cost: Cost::new(row.get(1)?, row.get(2)?).estimated(row.get(3)?),
                })
            })
        })
    }

    fn breaker(&self) -> Result<Breaker> {
        self.read(breaker::read)
    }

    fn events(&self, run: &RunId, after: u64) -> Result<Vec<String>> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT json FROM run_events WHERE run_id = ?1 AND seq > ?2 ORDER BY seq",
            )?
            .query_map(rusqlite::params![run.as_str(), after], |row| row.get(0))?
            .collect()
        })
    }
}

fn outcome(row: &Row<'_>, column: usize) -> rusqlite::Result<Outcome> {
    // The table's own check lets no other word in.
    Ok(Outcome::parse(&row.get::<_, String>(column)?).unwrap_or(Outcome::Error))
}

fn attempt(row: &Row<'_>) -> rusqlite::Result<Attempt> {
    let outcome = outcome(row, 6)?;
    let files_changed = list(row, 15)?;
    let gate: Option<String> = row.get(25)?;
    let gate = gate.as_deref().and_then(GateOutcome::parse);
    Ok(Attempt {
        task_id: TaskId::from_stored(row.get::<_, String>(0)?),
        key: row.get::<_, Option<String>>(1)?.map(Key::from_stored),
        attempt: row.get(2)?,
        run_id: row.get::<_, Option<String>>(3)?.map(RunId::from_stored),
        iteration: row.get(4)?,
        model: row.get(5)?,
        outcome,
        verified: outcome == Outcome::Done && gate == Some(GateOutcome::Passed),
        error_type: row
            .get::<_, Option<String>>(7)?
            .map(|text| ErrorType::from_stored(outcome, &text)),
        started_at: rows::time(row, 8)?,
        duration_ms: row.get(9)?,
        cost_usd: row.get(10)?,
        cost_estimated: row.get(38)?,
        tokens_input: row.get(11)?,
        tokens_output: row.get(12)?,
        commit_before: row.get(13)?,
        commit_after: row.get(14)?,
        undone_ref: row.get(37)?,
        rationale: row.get(16)?,
        counted: row.get(17)?,
        detail: AttemptDetail {
            attempt_number: row.get(18)?,
            worker: row.get(19)?,
            agent: row.get(20)?,
            session_id: row.get(21)?,
            tokens_cache_read: row.get(22)?,
            tokens_cache_write: row.get(23)?,
            message: row.get(24)?,
            gate,
            gate_flaky: row.get(26)?,
            gate_green_before: row.get(27)?,
            gate_files_changed: rows::json_list(&row.get::<_, String>(28)?),
            gate_output: row.get(29)?,
            changed_nothing: files_changed.as_ref().map(Vec::is_empty),
            denials: rows::json_list(&row.get::<_, String>(30)?),
            service_retries: row.get(31)?,
            log_path: row.get(32)?,
            learnings_shown: rows::json_list(&row.get::<_, String>(33)?),
            fingerprint_coarse: row.get(34)?,
            fingerprint_fine: row.get(35)?,
            failing_tests: list(row, 36)?.unwrap_or_default(),
        },
        files_changed,
    })
}

fn fact(row: &Row<'_>) -> rusqlite::Result<Fact> {
    let id = rows::text(row, 0)?;
    let key = rows::optional_text(row, 1)?;
    let gate_failed = rows::optional_text(row, 9)?.is_some_and(|said| said != "passed");
    let phase: Option<f64> = row.get(2)?;
    Ok(Fact {
        task: key.clone().unwrap_or(id),
        key,
        phase: phase.map(|phase| Phase::from_stored(phase).to_string()),
        model: rows::text(row, 3)?,
        error_type: rows::optional_text(row, 4)?,
        outcome: rows::text(row, 5)?,
        coarse: rows::optional_text(row, 6)?,
        message: rows::text(row, 7)?,
        files: list(row, 8)?.unwrap_or_default(),
        gate: rows::optional_text(row, 10)?.filter(|_| gate_failed),
        failing: list(row, 11)?.unwrap_or_default(),
    })
}

fn failure_row(row: &Row<'_>) -> rusqlite::Result<FailureRow> {
    let outcome = outcome(row, 2)?;
    Ok(FailureRow {
        task_id: TaskId::from_stored(row.get::<_, String>(12)?),
        key: row.get::<_, Option<String>>(13)?.map(Key::from_stored),
        title: text::plain_line(&row.get::<_, String>(14)?, usize::MAX),
        attempt: row.get(0)?,
        attempt_number: row.get(15)?,
        run_id: row.get::<_, Option<String>>(16)?.map(RunId::from_stored),
        model: row.get(1)?,
        outcome,
        error_type: row
            .get::<_, Option<String>>(17)?
            .map(|text| ErrorType::from_stored(outcome, &text)),
        created_at: rows::lenient_time(row, 18)?,
        report: report(row)?,
    })
}

/// The report in columns 4 to 11.
fn report(row: &Row<'_>) -> rusqlite::Result<ReportRow> {
    Ok(ReportRow {
        what_was_tried: rows::text(row, 4)?,
        why_it_failed: rows::text(row, 5)?,
        error_category: rows::optional_text(row, 6)?,
        relevant_files: list(row, 7)?.unwrap_or_default(),
        stack_trace_snippet: rows::optional_text(row, 8)?,
        retry_suggestion: rows::optional_text(row, 9)?,
        excerpt: rows::optional_text(row, 10)?,
        auto: rows::count(row, 11)? > 0,
    })
}

/// A column with a JSON array of texts, or nothing.
fn list(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Vec<String>>> {
    Ok(rows::optional_text(row, column)?.map(|text| rows::json_list(&text)))
}

fn failure(row: &Row<'_>) -> rusqlite::Result<PastFailure> {
    let report = match rows::optional_text(row, 4)? {
        None => None,
        Some(_) => Some(report(row)?),
    };
    let mark = match (row.get(12)?, row.get(13)?) {
        (Some(coarse), Some(fine)) => Some(FailureMark {
            coarse,
            fine,
            failing: list(row, 14)?.unwrap_or_default(),
            source: MarkSource::from_stored(rows::optional_text(row, 19)?.as_deref()),
        }),
        _ => None,
    };
    let commits: (Option<String>, Option<String>) = (row.get(16)?, row.get(17)?);
    Ok(PastFailure {
        attempt: row.get(0)?,
        model: row.get(1)?,
        outcome: outcome(row, 2)?,
        duration_ms: row.get(3)?,
        report,
        mark,
        changed: list(row, 15)?.map(|files| !files.is_empty()),
        committed: commits.1.is_some() && commits.0 != commits.1,
        cost_usd: row.get(18)?,
        rationale: rows::optional_text(row, 20)?,
        gate: rows::optional_text(row, 21)?
            .as_deref()
            .and_then(GateOutcome::parse),
    })
}
