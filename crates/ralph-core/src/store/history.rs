//! Reading what was recorded of attempts.

use rusqlite::params_from_iter;

use super::sql::{Row, only};
use super::{FailureFilter, FailureRow, PastFailure, Result, Store, Totals, runs};
use crate::analysis::Fact;
use crate::model::{Attempt, ErrorType, GateOutcome, MarkSource, Outcome, Phase, ReportRow, RunId, TaskId};

/// An attempt on a task, with the learnings that its prompt showed.
const ATTEMPT: &str = "SELECT o.*, t.key,
    (SELECT json_group_array(learning_id) FROM (SELECT u.learning_id FROM learning_uses u
        WHERE u.task_id = o.task_id AND u.attempt_number = o.attempt_number ORDER BY u.place))
        AS learnings_shown
    FROM iteration_outcomes o JOIN tasks t ON t.id = o.task_id";

/// An attempt `o` on a task `t` and its report `r`.
const REPORTED: &str =
    "SELECT o.*, '[]' AS learnings_shown, t.key, t.title, t.whole_phase, t.verify, r.what_was_tried,
    r.why_it_failed, r.error_category, r.relevant_files, r.stack_trace_snippet, r.retry_suggestion,
    r.excerpt, r.auto, r.created_at";

/// Attempts, with their reports where they have one.
const ALL_ATTEMPTS: &str = "FROM iteration_outcomes o JOIN tasks t ON t.id = o.task_id
    LEFT JOIN failure_reports r ON r.task_id = o.task_id AND r.attempt_number = o.attempt_number";

impl Store {
    /// Attempts, oldest first; of one task, or of all.
    pub fn history(&self, task: Option<&TaskId>) -> Result<Vec<Attempt>> {
        match task {
            Some(task) => {
                let sql = format!("{ATTEMPT} WHERE o.task_id = ?1 ORDER BY o.attempt_number");
                self.all(&sql, [task], attempt)
            }
            None => {
                let sql = format!("{ATTEMPT} ORDER BY o.started_at, o.rowid");
                self.all(&sql, [], attempt)
            }
        }
    }

    /// Attempts of one run, oldest first.
    pub fn run_history(&self, run: &RunId) -> Result<Vec<Attempt>> {
        let sql = format!("{ATTEMPT} WHERE o.run_id = ?1 ORDER BY o.started_at, o.rowid");
        self.all(&sql, [run], attempt)
    }

    /// The last attempts, newest first.
    pub fn newest_attempts(&self, most: u32) -> Result<Vec<Attempt>> {
        let sql = format!("{ATTEMPT} ORDER BY o.started_at DESC, o.rowid DESC LIMIT ?1");
        self.all(&sql, [most], attempt)
    }

    /// The last attempt on each task that is not done.
    pub fn last_attempts(&self) -> Result<Vec<Attempt>> {
        let sql = format!(
            "{ATTEMPT} WHERE t.status <> 'done' AND o.attempt_number = (
                 SELECT max(attempt_number) FROM iteration_outcomes WHERE task_id = t.id)"
        );
        self.all(&sql, [], attempt)
    }

    /// The last counted failures, newest first, as an analysis sees them.
    pub fn newest_failures(&self, most: u64) -> Result<Vec<Fact>> {
        let sql = format!(
            "{REPORTED} {ALL_ATTEMPTS} WHERE o.counted = 1 AND o.outcome <> 'done'
                 AND (o.task_id IN (SELECT task_id FROM breaker_streak)
                      OR (SELECT state FROM breaker) = 'closed')
             ORDER BY o.started_at DESC, o.rowid DESC LIMIT ?1"
        );
        self.all(&sql, [most], fact)
    }

    /// Attempts of the last run that do not count, by kind.
    pub fn recent_faults(&self) -> Result<Vec<(String, u32)>> {
        let sql = "SELECT error_type, count(*) AS n FROM iteration_outcomes
             WHERE run_id = (SELECT id FROM runs ORDER BY started_at DESC, rowid DESC LIMIT 1)
                 AND counted = 0 AND error_type IS NOT NULL
             GROUP BY error_type ORDER BY n DESC, error_type";
        self.all(sql, [], |row| Ok((row.text("error_type")?, row.get("n")?)))
    }

    /// Counted failures of a task with their reports, oldest first.
    pub fn failures(&self, task: &TaskId) -> Result<Vec<PastFailure>> {
        let sql = format!(
            "{REPORTED} {ALL_ATTEMPTS} WHERE o.task_id = ?1 AND o.counted = 1 AND o.outcome <> 'done'
             ORDER BY o.attempt_number"
        );
        self.all(&sql, [task], failure)
    }

    /// Reports of counted failures, oldest first.
    pub fn failure_reports(&self, filter: &FailureFilter) -> Result<Vec<FailureRow>> {
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
        let conditions: String = wanted.iter().map(|(condition, _)| format!(" AND {condition} ?")).collect();
        let sql = format!(
            "{REPORTED} FROM failure_reports r JOIN iteration_outcomes o
                 ON o.task_id = r.task_id AND o.attempt_number = r.attempt_number
             JOIN tasks t ON t.id = r.task_id
             WHERE 1{conditions} ORDER BY r.created_at, o.rowid"
        );
        let values = params_from_iter(wanted.iter().map(|(_, value)| value));
        self.all(&sql, values, failure_row)
    }

    /// What a done attempt of the task said in one sentence.
    pub fn summary(&self, task: &TaskId) -> Result<Option<String>> {
        let sql = "SELECT summary FROM iteration_outcomes WHERE task_id = ?1 AND outcome = 'done'
             ORDER BY attempt_number DESC LIMIT 1";
        Ok(self.first(sql, [task], only)?.flatten())
    }

    /// Counted attempts and cost over all time.
    pub fn totals(&self) -> Result<Totals> {
        self.one("SELECT * FROM totals", [], |row| {
            Ok(Totals { attempts: row.get("attempts")?, cost: runs::cost(row)? })
        })
    }
}

fn outcome(row: &Row<'_>) -> rusqlite::Result<Outcome> {
    // The table's own check lets no other word in.
    let outcome = row.word("outcome", Outcome::parse)?;
    Ok(outcome.unwrap_or(Outcome::Error))
}

fn error_type(row: &Row<'_>) -> rusqlite::Result<Option<ErrorType>> {
    let outcome = outcome(row)?;
    row.word("error_type", |text| Some(ErrorType::from_stored(outcome, text)))
}

fn attempt(row: &Row<'_>) -> rusqlite::Result<Attempt> {
    let outcome = outcome(row)?;
    let attempt = Attempt {
        task_id: row.get("task_id")?,
        key: row.get("key")?,
        attempt: row.get("ordinal")?,
        run_id: row.get("run_id")?,
        iteration: row.get("iteration")?,
        model: row.get("model")?,
        outcome,
        verified: false,
        error_type: error_type(row)?,
        started_at: row.get("started_at")?,
        duration_ms: row.get("duration_ms")?,
        cost_usd: row.get("cost_usd")?,
        cost_estimated: row.get("cost_estimated")?,
        tokens_input: row.get("tokens_input")?,
        tokens_output: row.get("tokens_output")?,
        commit_before: row.get("commit_before")?,
        commit_after: row.get("commit_after")?,
        undone_ref: row.get("undone_ref")?,
        rationale: row.get("rationale")?,
        counted: row.get("counted")?,
        attempt_number: row.get("attempt_number")?,
        worker: row.get("worker")?,
        agent: row.get("agent")?,
        session_id: row.get("session_id")?,
        tokens_cache_read: row.get("tokens_cache_read")?,
        tokens_cache_write: row.get("tokens_cache_write")?,
        message: row.get("message")?,
        gate: row.word("gate_outcome", GateOutcome::parse)?,
        gate_flaky: row.get("gate_flaky")?,
        gate_green_before: row.get("gate_green_before")?,
        gate_files_changed: row.json("gate_files_changed")?,
        gate_output: row.get("gate_output")?,
        changed_nothing: None,
        denials: row.json("denials")?,
        service_retries: row.get("service_retries")?,
        log_path: row.get("log_path")?,
        learnings_shown: row.json("learnings_shown")?,
        fingerprint_coarse: row.get("fingerprint_coarse")?,
        fingerprint_fine: row.get("fingerprint_fine")?,
        failing_tests: row.json("failing_tests")?,
        files_changed: row.json("files_changed")?,
        fingerprint_source: MarkSource::from_stored(row.optional_text("fingerprint_source")?.as_deref()),
        work_dir: row.get("work_dir")?,
        agent_model: row.get("agent_model")?,
        summary: row.get("summary")?,
        limit_notice: row.get("limit_notice")?,
    };
    Ok(attempt.derive())
}

fn fact(row: &Row<'_>) -> rusqlite::Result<Fact> {
    let key = row.optional_text("key")?;
    let gate = row.optional_text("gate_outcome")?;
    let gate_failed = gate.is_some_and(|said| said != "passed");
    let phase: Option<Phase> = row.get("whole_phase")?;
    Ok(Fact {
        task: match &key {
            Some(key) => key.clone(),
            None => row.text("task_id")?,
        },
        key,
        phase: phase.map(|phase| phase.to_string()),
        model: row.text("model")?,
        error_type: row.optional_text("error_type")?,
        outcome: row.text("outcome")?,
        coarse: row.optional_text("fingerprint_coarse")?,
        message: row.text("why_it_failed")?,
        files: row.json("relevant_files")?,
        gate: row.optional_text("verify")?.filter(|_| gate_failed),
        failing: row.json("failing_tests")?,
    })
}

fn failure_row(row: &Row<'_>) -> rusqlite::Result<FailureRow> {
    Ok(FailureRow {
        task_id: row.get("task_id")?,
        key: row.get("key")?,
        title: row.line("title")?,
        attempt: row.get("ordinal")?,
        attempt_number: row.get("attempt_number")?,
        run_id: row.get("run_id")?,
        model: row.get("model")?,
        outcome: outcome(row)?,
        error_type: error_type(row)?,
        created_at: row.get("created_at")?,
        report: report(row)?,
    })
}

fn report(row: &Row<'_>) -> rusqlite::Result<ReportRow> {
    Ok(ReportRow {
        what_was_tried: row.text("what_was_tried")?,
        why_it_failed: row.text("why_it_failed")?,
        error_category: row.optional_text("error_category")?,
        relevant_files: row.json("relevant_files")?,
        stack_trace_snippet: row.optional_text("stack_trace_snippet")?,
        retry_suggestion: row.optional_text("retry_suggestion")?,
        excerpt: row.optional_text("excerpt")?,
        auto: row.flag("auto")?,
    })
}

fn failure(row: &Row<'_>) -> rusqlite::Result<PastFailure> {
    let has_report = row.optional_text("what_was_tried")?.is_some();
    Ok(PastFailure { attempt: attempt(row)?, report: has_report.then(|| report(row)).transpose()? })
}
