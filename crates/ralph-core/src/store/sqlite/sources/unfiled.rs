//! Tasks that Ralph added to a plan and that its file does not have yet.

use rusqlite::{Connection, Row};

use crate::model::{Task, TaskId};
use crate::modification::Kind;
use crate::store::sqlite::{fixes, plan};
use crate::store::{Side, UnfiledTask};

/// All of them, in the order in which they go in.
pub(super) fn unfiled(conn: &Connection, source: i64) -> rusqlite::Result<Vec<UnfiledTask>> {
    let mut unfiled = fixes_of(conn, source)?;
    unfiled.extend(changes_of(conn, source)?);
    Ok(unfiled)
}

/// Fix tasks of this file's tasks, at any depth; those of a task in order.
fn fixes_of(conn: &Connection, source: i64) -> rusqlite::Result<Vec<UnfiledTask>> {
    let found = found(
        conn,
        "WITH RECURSIVE family (id, name, about) AS (
             SELECT f.task_id, s.name, f.original_id
             FROM fixes f CROSS JOIN task_sources s ON s.task_id = f.original_id WHERE s.source_id = ?1
             UNION SELECT f.task_id, (SELECT key FROM tasks WHERE id = f.original_id), f.original_id
             FROM fixes f JOIN family y ON f.original_id = y.id)",
        source,
    )?;
    let mut unfiled = Vec::new();
    for (task, beside, original) in found {
        let text = fixes::text(
            conn,
            &task,
            &beside,
            original.as_deref().unwrap_or_default(),
        )?;
        unfiled.push(UnfiledTask {
            task,
            beside,
            side: Side::After,
            fix: Some(text),
        });
    }
    Ok(unfiled)
}

/// Tasks that changes of the plan added beside this file's tasks.
fn changes_of(conn: &Connection, source: i64) -> rusqlite::Result<Vec<UnfiledTask>> {
    let found = found(
        conn,
        "WITH RECURSIVE family (id, name, about) AS (
             SELECT i.task_id, s.name, c.kind
             FROM changed_in i CROSS JOIN plan_changes c ON c.id = i.change_id
             CROSS JOIN task_sources s ON s.task_id = c.task_id WHERE s.source_id = ?1
             UNION SELECT i.task_id, (SELECT key FROM tasks WHERE id = c.task_id), c.kind
             FROM changed_in i JOIN plan_changes c ON c.id = i.change_id
             JOIN family y ON c.task_id = y.id)",
        source,
    )?;
    let unfiled = found.into_iter().map(|(task, beside, kind)| UnfiledTask {
        task,
        beside,
        side: side_of(kind.as_deref()),
        fix: None,
    });
    Ok(unfiled.collect())
}

fn side_of(kind: Option<&str>) -> Side {
    match kind.and_then(Kind::parse) {
        Some(Kind::AddPrerequisite) => Side::Before,
        Some(Kind::SplitTask | Kind::AddFollowup) | None => Side::After,
    }
}

/// The tasks of a family that no file has: each with the name beside which it goes, and what it is about.
fn found(
    conn: &Connection,
    family: &str,
    source: i64,
) -> rusqlite::Result<Vec<(Task, String, Option<String>)>> {
    // The family first: it is small, and the plan may be large.
    let rows = conn
        .prepare_cached(&format!(
            "{family} SELECT y.id, y.name, y.about FROM family y CROSS JOIN tasks t ON t.id = y.id
             WHERE NOT EXISTS (SELECT 1 FROM task_sources o WHERE o.task_id = y.id)
             ORDER BY t.position"
        ))?
        .query_map([source], row)?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let mut found = Vec::new();
    for (id, beside, about) in rows {
        if let (Some(task), Some(beside)) = (plan::find(conn, id.as_str())?, beside) {
            found.push((task, beside, about));
        }
    }
    Ok(found)
}

fn row(row: &Row<'_>) -> rusqlite::Result<(TaskId, Option<String>, Option<String>)> {
    let id = TaskId::from_stored(row.get::<_, String>(0)?);
    Ok((id, row.get(1)?, row.get(2)?))
}
