//! Changing where a task stands, with all that follows from it in the tree.

use rusqlite::{Connection, OptionalExtension, params};

use crate::model::{DoneBy, Status, TaskId, Timestamp};

/// Sets a status and keeps the count of failed ancestors below it. Dependents, parents and totals are kept by
/// triggers.
pub(super) fn set(
    conn: &Connection,
    id: &TaskId,
    status: Status,
    reason: Option<&str>,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let before: String = conn
        .prepare_cached("SELECT status FROM tasks WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))?;
    conn.prepare_cached(
        "UPDATE tasks SET status = ?2, reason = ?3, needs_human = ?4, updated_at = ?5 WHERE id = ?1",
    )?
    .execute(params![
        id.as_str(),
        status.as_str(),
        reason,
        status == Status::Blocked,
        now.to_string()
    ])?;
    if before == Status::Done.as_str() {
        verify_above(conn, id)?;
    }
    let failed = Status::Failed.as_str();
    match (before == failed, status == Status::Failed) {
        (false, true) => shift_failed_below(conn, id, 1),
        (true, false) => shift_failed_below(conn, id, -1),
        _ => Ok(()),
    }
}

/// Makes a task done and records what it rests on.
pub(super) fn set_done(
    conn: &Connection,
    id: &TaskId,
    by: DoneBy,
    now: Timestamp,
) -> rusqlite::Result<()> {
    set(conn, id, Status::Done, None, now)?;
    conn.prepare_cached("UPDATE tasks SET done_by = ?2, verified = ?3 WHERE id = ?1")?
        .execute(params![id.as_str(), by.as_str(), by == DoneBy::Gate])?;
    if by == DoneBy::Children {
        verify_parent(conn, id.as_str())?;
    }
    verify_above(conn, id)
}

/// Decides anew whether a task that is done by its children is verified. Whether that changed.
fn verify_parent(conn: &Connection, id: &str) -> rusqlite::Result<bool> {
    let changed = conn
        .prepare_cached(
            "UPDATE tasks SET verified = 1 - verified
             WHERE id = ?1 AND done_by = 'children' AND verified <> (
                 SELECT count(*) > 0 AND coalesce(min(c.verified), 0) = 1
                 FROM tasks c WHERE c.parent_id = ?1 AND c.status = 'done')",
        )?
        .execute([id])?;
    Ok(changed > 0)
}

/// Decides anew whether the ancestors of a task are verified.
pub(super) fn verify_above(conn: &Connection, id: &TaskId) -> rusqlite::Result<()> {
    verify_from(conn, parent_of(conn, id.as_str())?)
}

/// Decides anew whether a parent and its ancestors are verified, as far up as that changes anything.
pub(super) fn verify_from(conn: &Connection, parent: Option<String>) -> rusqlite::Result<()> {
    let mut at = parent;
    while let Some(id) = at {
        if !verify_parent(conn, &id)? {
            break;
        }
        at = parent_of(conn, &id)?;
    }
    Ok(())
}

pub(super) fn parent_of(conn: &Connection, id: &str) -> rusqlite::Result<Option<String>> {
    let found: Option<Option<String>> = conn
        .prepare_cached("SELECT parent_id FROM tasks WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    Ok(found.flatten())
}

/// Adds to the count of failed ancestors of everything below a task.
pub(super) fn shift_failed_below(conn: &Connection, id: &TaskId, by: i64) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "WITH RECURSIVE below (id) AS (
             SELECT id FROM tasks WHERE parent_id = ?1
             UNION SELECT t.id FROM tasks t JOIN below b ON t.parent_id = b.id)
         UPDATE tasks SET failed_ancestors = failed_ancestors + ?2 WHERE id IN below",
    )?
    .execute(params![id.as_str(), by])?;
    Ok(())
}

/// Ids of everything below a task.
pub(super) fn below(conn: &Connection, id: &TaskId) -> rusqlite::Result<Vec<(TaskId, Status)>> {
    conn.prepare_cached(
        "WITH RECURSIVE below (id) AS (
             SELECT id FROM tasks WHERE parent_id = ?1
             UNION SELECT t.id FROM tasks t JOIN below b ON t.parent_id = b.id)
         SELECT id, status FROM tasks WHERE id IN below ORDER BY position",
    )?
    .query_map([id.as_str()], |row| {
        Ok((
            TaskId::from_stored(row.get::<_, String>(0)?),
            super::rows::status(row, 1)?,
        ))
    })?
    .collect()
}

/// Opens finished ancestors of these tasks again: one of their descendants is open. However many tasks there are, every
/// ancestor is visited once, so that a plan nested ten thousand deep is imported in linear time.
pub(super) fn reopen_ancestors(
    conn: &Connection,
    tasks: &[TaskId],
    now: Timestamp,
) -> rusqlite::Result<()> {
    const ABOVE: &str = "WITH RECURSIVE above (id) AS (
        SELECT parent_id FROM tasks
            WHERE id IN (SELECT value FROM json_each(?1)) AND parent_id IS NOT NULL
        UNION SELECT t.parent_id FROM tasks t JOIN above a ON t.id = a.id
            WHERE t.parent_id IS NOT NULL) ";
    if tasks.is_empty() {
        return Ok(());
    }
    let tasks = super::rows::to_json(tasks);
    let finished: Vec<String> = conn
        .prepare_cached(&format!(
            "{ABOVE} SELECT id FROM tasks WHERE id IN above AND status IN ('done', 'skipped')"
        ))?
        .query_map([&tasks], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for id in finished {
        set(conn, &TaskId::from_stored(id), Status::Pending, None, now)?;
    }
    conn.prepare_cached(&format!(
        "{ABOVE} UPDATE tasks SET own_work = 0 WHERE own_work = 1 AND id IN above"
    ))?
    .execute([&tasks])?;
    Ok(())
}

/// Makes parents done whose children all are, and theirs in turn. One with a gate of its own waits for it.
pub(super) fn settle(conn: &Connection, now: Timestamp) -> rusqlite::Result<()> {
    let mut next = conn.prepare_cached(
        "SELECT id FROM tasks WHERE gate_due = 1 AND verify IS NULL ORDER BY priority, position LIMIT 1",
    )?;
    loop {
        let mut rows = next.query([])?;
        let Some(id) = rows
            .next()?
            .map(|row| row.get::<_, String>(0))
            .transpose()?
        else {
            return Ok(());
        };
        drop(rows);
        set_done(conn, &TaskId::from_stored(id), DoneBy::Children, now)?;
    }
}
