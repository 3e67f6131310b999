//! From rows to domain types and back. A value a newer or damaged file might hold never panics.

use rusqlite::types::{Type, ValueRef};
use rusqlite::{Row, named_params};

use crate::model::{Difficulty, DoneBy, Key, Phase, Status, Task, TaskId, TaskMetrics, Timestamp};
use crate::text as cleaning;

/// The columns [`task`] reads, from `tasks t LEFT JOIN strategy_metrics m`.
pub(super) const TASK: &str = "t.id, t.key, t.title, t.description, t.status, t.phase, t.parent_id, \
    t.priority, t.verify, t.files, t.model, t.needs_human, t.reason, t.created_at, t.updated_at, \
    coalesce(m.total_attempts, 0), coalesce(m.consecutive_failures, 0), \
    (SELECT json_group_array(blocker_id) FROM (SELECT d.blocker_id FROM dependencies d \
        LEFT JOIN tasks b ON b.id = d.blocker_id \
        WHERE d.blocked_id = t.id ORDER BY b.position, d.blocker_id)), \
    t.done_when, t.commit_message, t.markers, t.verified, t.done_by";

/// Where [`TASK`]'s columns come from.
pub(super) const FROM_TASKS: &str = "tasks t LEFT JOIN strategy_metrics m ON m.task_id = t.id";

pub(super) fn task(row: &Row<'_>) -> rusqlite::Result<Task> {
    Ok(Task {
        id: TaskId::from_stored(row.get::<_, String>(0)?),
        key: row.get::<_, Option<String>>(1)?.map(Key::from_stored),
        // Shown on terminals; an old file may hold anything.
        title: cleaning::plain_line(&row.get::<_, String>(2)?, usize::MAX),
        description: row.get(3)?,
        status: status(row, 4)?,
        verified: row.get(21)?,
        done_by: row
            .get::<_, Option<String>>(22)?
            .as_deref()
            .and_then(DoneBy::parse),
        phase: row.get::<_, Option<f64>>(5)?.map(Phase::from_stored),
        parent_id: row.get::<_, Option<String>>(6)?.map(TaskId::from_stored),
        priority: row.get(7)?,
        verify: row.get(8)?,
        files: json_list(&row.get::<_, String>(9)?),
        model: row.get(10)?,
        needs_human: row.get(11)?,
        reason: row
            .get::<_, Option<String>>(12)?
            .map(|reason| cleaning::one_line(&reason, 500)),
        created_at: time(row, 13)?,
        updated_at: time(row, 14)?,
        attempts: row.get(15)?,
        consecutive_failures: row.get(16)?,
        depends_on: json_list(&row.get::<_, String>(17)?)
            .into_iter()
            .map(TaskId::from_stored)
            .collect(),
        done_when: row.get(18)?,
        commit: row.get(19)?,
        markers: json_list(&row.get::<_, String>(20)?),
    })
}

pub(super) fn status(row: &Row<'_>, column: usize) -> rusqlite::Result<Status> {
    let text: String = row.get(column)?;
    text.parse().map_err(|e| bad_value(column, e))
}

pub(super) fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    let text: String = row.get(column)?;
    Timestamp::parse(&text).ok_or_else(|| bad_value(column, BadTime(text)))
}

pub(super) fn optional_time(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    Ok(optional_text(row, column)?
        .as_deref()
        .and_then(Timestamp::parse_lenient))
}

/// A text that another program may have written, whatever it wrote.
pub(super) fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(optional_text(row, column)?.unwrap_or_default())
}

/// The same, or nothing.
pub(super) fn optional_text(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    })
}

/// A stored time that is for sorting and showing only: an unreadable one is long ago.
pub(super) fn lenient_time(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    Ok(optional_time(row, column)?.unwrap_or(Timestamp::from_millis(0)))
}

/// A counter that another program may have written: never below 0, never an error.
pub(super) fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(match row.get_ref(column)? {
        ValueRef::Integer(number) => u64::try_from(number).unwrap_or(0),
        ValueRef::Real(number) => (number.max(0.0) as u64).min(i64::MAX.unsigned_abs()),
        ValueRef::Null | ValueRef::Text(_) | ValueRef::Blob(_) => 0,
    })
}

/// A number that another program may have written.
pub(super) fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<f64> {
    Ok(match row.get_ref(column)? {
        ValueRef::Integer(number) => number as f64,
        ValueRef::Real(number) if number.is_finite() => number,
        ValueRef::Real(_) | ValueRef::Null | ValueRef::Text(_) | ValueRef::Blob(_) => 0.0,
    })
}

/// The counters of a task; zeros where it never ran.
pub(super) fn metrics(conn: &rusqlite::Connection, task: &TaskId) -> rusqlite::Result<TaskMetrics> {
    let mut query = conn.prepare_cached(
        "SELECT total_attempts, consecutive_failures, stuck_flag, difficulty_estimate, next_model,
                lost_in_a_row, forgiven FROM strategy_metrics WHERE task_id = :task",
    )?;
    let mut found = query.query(named_params! { ":task": task.as_str() })?;
    let Some(row) = found.next()? else {
        return Ok(TaskMetrics::default());
    };
    Ok(TaskMetrics {
        total_attempts: row.get(0)?,
        consecutive_failures: row.get(1)?,
        stuck: row.get(2)?,
        difficulty: row
            .get::<_, Option<String>>(3)?
            .as_deref()
            .and_then(Difficulty::parse),
        next_model: row.get(4)?,
        lost_in_a_row: row.get(5)?,
        forgiven: row.get(6)?,
    })
}

/// A stored JSON array of strings; anything else is an empty one.
pub(super) fn json_list(text: &str) -> Vec<String> {
    serde_json::from_str(text).unwrap_or_default()
}

/// A list as a JSON array.
pub(super) fn to_json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    // Lists of strings and plain structs always serialise.
    serde_json::to_string(value).unwrap_or_else(|_| "null".into())
}

#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not an RFC 3339 time")]
struct BadTime(String);

fn bad_value(
    column: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}
