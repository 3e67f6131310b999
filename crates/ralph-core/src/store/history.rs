//! Reading what was recorded of attempts.

use std::collections::BTreeSet;

use serde::Serialize;

use super::sql::{FromRow, Json, ReadResult, Row, Statements, bind, conditions, line, record, value};
use super::{Result, Store};
use crate::analysis::Fact;
use crate::model::{
    Attempt, AttemptOutput, Baseline, Cost, ErrorType, Key, Level, Outcome, Phase, ReportRow, RunId, TaskId,
    Timestamp, Verification,
};
use crate::sandbox::{Denial, SandboxRecord};

#[derive(Clone, Debug, PartialEq)]
pub struct PastFailure {
    pub attempt: Attempt,
    pub report: Option<ReportRow>,
}

/// Which failures are wanted; all conditions must hold.
#[derive(Clone, Debug, Default)]
pub struct FailureFilter {
    pub task: Option<TaskId>,
    pub category: Option<String>,
    pub since: Option<Timestamp>,
    pub run: Option<RunId>,
}

/// A report with the attempt it belongs to, as `ralph failures --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailureRow {
    pub task_id: TaskId,
    pub key: Option<Key>,
    pub spec: Option<String>,
    pub name: String,
    pub title: String,
    /// The ordinal among the task's counted attempts.
    pub attempt: u32,
    /// The attempt's number in the database.
    pub attempt_number: u32,
    pub run_id: Option<RunId>,
    pub model: String,
    pub outcome: Outcome,
    pub error_type: Option<ErrorType>,
    pub created_at: Timestamp,
    #[serde(flatten)]
    pub report: ReportRow,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    pub attempts: u64,
    pub cost: Cost,
}

record!(Attempt {
    task_id, attempt_number, attempt = "ordinal", counted, run_id, iteration, worker, work_dir, agent, model,
    agent_model, rationale, started_at, duration_ms, outcome, error_type via error_type, message, summary,
    cost_usd, cost_estimated, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write, session_id,
    denials, service_retries, limit_notice, log_path, commit_before, commit_after, files_changed, undone_ref,
    gate = "gate_outcome", gate_flaky, gate_green_before, gate_files_changed, gate_output, fingerprint_coarse,
    fingerprint_fine, failing_tests, fingerprint_source, verification via verification, sandbox,
} reads { key, spec, name, verified, changed_nothing, learnings_shown });

record!(ReportRow {
    what_was_tried, why_it_failed, error_category, relevant_files, stack_trace_snippet, retry_suggestion,
    excerpt, auto,
} reads {});

record!(AttemptOutput { host, final_text, tail } reads {});
record!(PastFailure { attempt, report via report });
record!(FailureRow {
    task_id, key, spec, name, title via line, attempt = "ordinal", attempt_number, run_id, model, outcome,
    error_type via error_type, created_at, report,
});
record!(Fact {
    task = "name", key, phase via phase, model, error_type, outcome, coarse = "fingerprint_coarse",
    message = "why_it_failed", files = "relevant_files", gate = "failed_gate", failing = "failing_tests",
});
record!(Totals { attempts, cost });

/// An agent's report may use any word, so what an error type means depends on the outcome.
fn error_type(row: &Row<'_>, name: &str) -> ReadResult<Option<ErrorType>> {
    let outcome = row.get("outcome")?;
    let stored: Option<String> = row.get(name)?;
    Ok(stored.map(|text| ErrorType::from_stored(outcome, &text)))
}

/// Earlier versions recorded only the gate.
fn verification(row: &Row<'_>, name: &str) -> ReadResult<Verification> {
    if let Some(stored) = row.get(name)? {
        return Ok(stored);
    }
    let green_before: Option<bool> = row.get("gate_green_before")?;
    let verified: bool = row.get("verified")?;
    let baseline = Baseline::from_green(green_before);
    Ok(Verification {
        level: if verified { Level::Gate } else { Level::None },
        baseline,
        already_green: verified && baseline == Baseline::Green,
        flaky: row.get("gate_flaky")?,
        ..Verification::default()
    })
}

fn report(row: &Row<'_>, _: &str) -> ReadResult<Option<ReportRow>> {
    let tried: Option<String> = row.get("what_was_tried")?;
    tried.map(|_| ReportRow::from_row(row)).transpose()
}

fn phase(row: &Row<'_>, _: &str) -> ReadResult<Option<String>> {
    let phase: Option<Phase> = row.get("whole_phase")?;
    phase.map(|phase| phase_label(phase, row)).transpose()
}

/// A phase as people see it: after its spec where the plan has several. AGENTS.md takes a label that begins with a number for
/// the phase of that number.
pub(super) fn phase_label(phase: Phase, row: &Row<'_>) -> ReadResult<String> {
    let spec: Option<String> = row.get("spec")?;
    let is_shown: bool = row.get("spec_shown")?;
    Ok(match spec.filter(|_| is_shown) {
        Some(spec) => format!("{spec} {phase}"),
        None => phase.to_string(),
    })
}

/// Whether an attempt `o` is done and a gate passed. Earlier versions recorded only the gate.
macro_rules! verified {
    () => {
        "CASE WHEN o.outcome = 'done' AND coalesce(o.verification ->> '$.level' IN ('gate', 'project'),
            o.gate_outcome IS NOT DISTINCT FROM 'passed') THEN 1 ELSE 0 END"
    };
}
pub(super) const VERIFIED: &str = verified!();

/// Whether an agent worked in an attempt `o` and nobody knows for how much: `Attempt::cost_is_unknown`.
pub(super) const COST_UNKNOWN: &str = "CASE WHEN o.agent IS NOT NULL AND o.cost_usd IS NULL
    AND NOT (o.outcome = 'error' AND o.error_type IS NOT DISTINCT FROM 'spawn') THEN 1 ELSE 0 END";

/// The columns of an attempt `o` on a task `t`, with the learnings that its prompt showed.
macro_rules! columns {
    () => {
        concat!(
            "SELECT o.*, t.key, t.spec, t.name, o.files_changed = '[]' AS changed_nothing, ",
            verified!(),
            " AS verified,
            (SELECT json_group_array(learning_id) FROM (SELECT u.learning_id FROM learning_uses u
                WHERE u.task_id = o.task_id AND u.attempt_number = o.attempt_number ORDER BY u.place) AS shown)
                AS learnings_shown "
        )
    };
}
const ATTEMPT: &str = concat!(columns!(), "FROM iteration_outcomes o JOIN tasks t ON t.id = o.task_id");
/// The last attempt on each of some tasks `t`; the joins say in which order the tables are read.
const LAST_OF: &str = "CROSS JOIN iteration_outcomes o ON o.task_id = t.id AND o.attempt_number = (
    SELECT max(attempt_number) FROM iteration_outcomes WHERE task_id = t.id)";

/// An attempt `o` on a task `t` and its report `r`.
const REPORTED: &str = "SELECT o.*, t.key, t.spec, t.name, t.spec_shown, t.title, t.whole_phase,
    o.files_changed = '[]' AS changed_nothing, '[]' AS learnings_shown,
    0 AS verified,
    CASE WHEN o.gate_outcome <> 'passed' THEN t.verify END AS failed_gate, r.*";

/// Attempts, with their reports where they have one.
const ALL_ATTEMPTS: &str = "FROM iteration_outcomes o JOIN tasks t ON t.id = o.task_id
    LEFT JOIN failure_reports r ON r.task_id = o.task_id AND r.attempt_number = o.attempt_number";

impl Store {
    pub fn history(&self, task: Option<&TaskId>) -> Result<Vec<Attempt>> {
        match task {
            Some(task) => {
                self.all(&format!("{ATTEMPT} WHERE o.task_id = ?1 ORDER BY o.attempt_number"), [task])
            }
            None => self.all(&format!("{ATTEMPT} ORDER BY o.started_at, o.rowid"), []),
        }
    }

    pub fn run_history(&self, run: &RunId) -> Result<Vec<Attempt>> {
        self.all(&format!("{ATTEMPT} WHERE o.run_id = ?1 ORDER BY o.started_at, o.rowid"), [run])
    }

    /// What an attempt said last, where that is stored.
    pub fn attempt_output(&self, task: &TaskId, attempt_number: u32) -> Result<Option<AttemptOutput>> {
        // Only read, a database may be of a version without it.
        if !self.conn().has_table("attempt_outputs")? {
            return Ok(None);
        }
        let sql = "SELECT * FROM attempt_outputs WHERE task_id = :task AND attempt_number = :attempt_number";
        self.first(sql, bind! { task, attempt_number })
    }

    /// The attempts that were recorded last, newest first.
    pub fn newest_attempts(&self, most: u32) -> Result<Vec<Attempt>> {
        self.all(&format!("{ATTEMPT} ORDER BY o.rowid DESC LIMIT ?1"), [most])
    }

    /// The last attempt on each task that is not done.
    pub fn last_attempts(&self) -> Result<Vec<Attempt>> {
        let sql = format!("{} FROM tasks t {LAST_OF} WHERE t.status <> 'done'", columns!());
        self.all(&sql, [])
    }

    /// The last attempt on each of these tasks.
    pub fn last_attempts_of(&self, tasks: &[TaskId]) -> Result<Vec<Attempt>> {
        let wanted = "FROM json_each(?1) w CROSS JOIN tasks t ON t.id = w.value";
        self.all(&format!("{} {wanted} {LAST_OF}", columns!()), [Json(tasks)])
    }

    /// The last counted failures, newest first, as an analysis sees them. While the breaker is open these are the failures
    /// of its streak: of each task as many of the newest as the streak still has, without those before a person's reset.
    pub fn newest_failures(&self, most: u64) -> Result<Vec<Fact>> {
        let sql = format!(
            "{REPORTED} {ALL_ATTEMPTS} WHERE o.counted = 1 AND o.outcome <> 'done'
                 AND ((SELECT state FROM breaker) = 'closed'
                      OR o.task_id IN (SELECT task_id FROM breaker_streak)
                      AND (SELECT count(*) FROM iteration_outcomes n
                              WHERE n.task_id = o.task_id AND n.counted = 1 AND n.outcome <> 'done'
                                  AND n.attempt_number >= o.attempt_number)
                          <= (SELECT count(*) FROM breaker_streak s WHERE s.task_id = o.task_id))
             ORDER BY o.started_at DESC, o.rowid DESC LIMIT ?1"
        );
        self.all(&sql, [most])
    }

    /// Attempts of the last run that do not count, by kind.
    pub fn recent_faults(&self) -> Result<Vec<(String, u32)>> {
        let sql = "SELECT error_type, count(*) AS n FROM iteration_outcomes
             WHERE run_id = (SELECT id FROM runs ORDER BY started_at DESC, rowid DESC LIMIT 1)
                 AND counted = 0 AND error_type IS NOT NULL
             GROUP BY error_type ORDER BY n DESC, error_type";
        self.all(sql, [])
    }

    pub fn failures(&self, task: &TaskId) -> Result<Vec<PastFailure>> {
        let sql = format!(
            "{REPORTED} {ALL_ATTEMPTS} WHERE o.task_id = ?1 AND o.counted = 1 AND o.outcome <> 'done'
             ORDER BY o.attempt_number"
        );
        self.all(&sql, [task])
    }

    pub fn failure_reports(&self, filter: &FailureFilter) -> Result<Vec<FailureRow>> {
        let (wanted, values) = conditions(&[
            ("r.task_id =", value(&filter.task)),
            ("r.error_category =", value(&filter.category)),
            ("r.created_at >=", value(&filter.since)),
            ("o.run_id =", value(&filter.run)),
        ]);
        let sql = format!(
            "{REPORTED} FROM failure_reports r JOIN iteration_outcomes o
                 ON o.task_id = r.task_id AND o.attempt_number = r.attempt_number
             JOIN tasks t ON t.id = r.task_id
             WHERE true{wanted} ORDER BY r.created_at, o.rowid"
        );
        self.all(&sql, values.as_slice())
    }

    /// Whether an attempt on a task was not counted because the sandbox had refused something.
    pub fn was_denied(&self, task: &TaskId) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM iteration_outcomes
             WHERE task_id = ?1 AND outcome = 'error' AND error_type = 'sandbox_denied')";
        self.one(sql, [task])
    }

    /// What the sandbox refused in the newest attempts, each once.
    pub fn recent_denials(&self, attempts: u32) -> Result<Vec<Denial>> {
        let sql = "SELECT sandbox FROM iteration_outcomes WHERE sandbox ->> '$.denials' <> '[]'
             ORDER BY started_at DESC, rowid DESC LIMIT ?1";
        let records: Vec<SandboxRecord> = self.all(sql, [attempts])?;
        let denials: BTreeSet<Denial> = records.into_iter().flat_map(|record| record.denials).collect();
        Ok(denials.into_iter().collect())
    }

    /// What a done attempt of the task said in one sentence.
    pub fn summary(&self, task: &TaskId) -> Result<Option<String>> {
        let sql = "SELECT summary FROM iteration_outcomes WHERE task_id = ?1 AND outcome = 'done'
             ORDER BY attempt_number DESC LIMIT 1";
        Ok(self.first(sql, [task])?.flatten())
    }

    pub fn totals(&self) -> Result<Totals> {
        self.one("SELECT * FROM totals", [])
    }

    /// How many attempts count against no task.
    pub fn uncounted_attempts(&self) -> Result<u64> {
        self.one("SELECT count(*) FROM iteration_outcomes WHERE counted = 0", [])
    }
}
