//! Changes of the plan that agents asked for: made in the transaction of their attempt, or refused and remembered.

use rusqlite::{Connection, OptionalExtension, params};

use super::{Refusal, change, fixes, graph, plan, rows, status};
use crate::model::{TaskId, Timestamp};
use crate::store::{
    Capture, ChangeStanding, Needed, NewTasks, PlanChange, PlanChangeRow, Random, Side, StoreError,
};

/// After an attempt: makes the changes it asked for.
pub(super) fn after(
    tx: &Connection,
    capture: &Capture,
    attempt_number: u32,
    random: Random<'_>,
) -> std::result::Result<(), Refusal> {
    let mut last = None;
    for change in &capture.changes {
        make(tx, capture, change, attempt_number, &mut last, random)?;
    }
    Ok(())
}

fn make(
    tx: &Connection,
    capture: &Capture,
    change: &PlanChange,
    attempt_number: u32,
    last: &mut Option<TaskId>,
    random: Random<'_>,
) -> std::result::Result<(), Refusal> {
    let (task, now) = (&capture.task_id, capture.ended_at);
    let mut refusal = change.outcome.as_ref().err().cloned();
    let mut added = Vec::new();
    if let Ok(new) = &change.outcome {
        tx.execute_batch("SAVEPOINT change")?;
        let behind = last.as_ref().unwrap_or(task);
        match add(tx, task, behind, new, now, random) {
            Ok(ids) => {
                if new.side == Side::After {
                    *last = ids.last().cloned().or(last.take());
                }
                added = ids;
            }
            // Somebody changed the plan since it was looked at.
            Err(Refusal::Domain(error)) => {
                tx.execute_batch("ROLLBACK TO change")?;
                refusal = Some(error.to_string());
            }
            Err(error) => return Err(error),
        }
        tx.execute_batch("RELEASE change")?;
    }
    let mut keys = Vec::new();
    for id in &added {
        keys.push(change::known(tx, id)?.name().to_owned());
    }
    let number: i64 = tx
        .prepare_cached(
            "INSERT INTO plan_changes (task_id, attempt_number, run_id, kind, reasoning, refusal, tasks, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING id",
        )?
        .query_row(
            params![
                task.as_str(),
                attempt_number,
                capture.run_id.as_str(),
                change.kind,
                change.reasoning,
                refusal,
                rows::to_json(&keys),
                now.to_string(),
            ],
            |row| row.get(0),
        )?;
    let depth = change.outcome.as_ref().map_or(0, |new| new.depth);
    for id in &added {
        tx.prepare_cached(
            "INSERT INTO changed_in (task_id, change_id, depth) VALUES (?1, ?2, ?3)",
        )?
        .execute(params![id.as_str(), number, depth])?;
    }
    Ok(())
}

/// Adds tasks before the original, or after `behind`: the last one that another request of the same answer added there.
fn add(
    tx: &Connection,
    original: &TaskId,
    behind: &TaskId,
    new: &NewTasks,
    now: Timestamp,
    random: Random<'_>,
) -> std::result::Result<Vec<TaskId>, Refusal> {
    let mut added = Vec::new();
    for (task, needs) in &new.tasks {
        let place = match new.side {
            Side::Before => fixes::place_before(tx, original)?,
            // Each goes behind the one before it.
            Side::After => fixes::place_after(tx, added.last().unwrap_or(behind))?,
        };
        let id = change::add(tx, task, now, random)?;
        tx.prepare_cached("UPDATE tasks SET position = ?2 WHERE id = ?1")?
            .execute(params![id.as_str(), place])?;
        for need in needs {
            change::depend(tx, &id, &found(tx, need)?)?;
        }
        added.push(id);
    }
    for need in &new.original_needs {
        change::depend(tx, original, &found(tx, need)?)?;
    }
    graph::refuse_any_circle(tx)?;
    status::settle(tx, now)?;
    Ok(added)
}

fn found(tx: &Connection, need: &Needed) -> std::result::Result<TaskId, Refusal> {
    let name = match need {
        Needed::New(key) => key.as_str(),
        Needed::Known(name) => name,
    };
    let task = plan::find(tx, name)?.ok_or_else(|| StoreError::UnknownTask(name.to_owned()))?;
    Ok(task.id)
}

pub(super) fn of_task(conn: &Connection, task: &TaskId) -> rusqlite::Result<Vec<PlanChangeRow>> {
    conn.prepare_cached(
        "SELECT attempt_number, kind, reasoning, refusal, tasks FROM plan_changes
         WHERE task_id = ?1 ORDER BY id",
    )?
    .query_map([task.as_str()], |row| {
        Ok(PlanChangeRow {
            attempt_number: row.get(0)?,
            kind: row.get(1)?,
            reasoning: row.get(2)?,
            refusal: row.get(3)?,
            tasks: rows::json_list(&row.get::<_, String>(4)?),
        })
    })?
    .collect()
}

/// How far a task may still change the plan. A fix task stands where the task it mends does.
pub(super) fn standing(conn: &Connection, task: &TaskId) -> rusqlite::Result<ChangeStanding> {
    let root = fixes::root_of(conn, task)?;
    let depth = |id: &TaskId| {
        conn.prepare_cached("SELECT depth FROM changed_in WHERE task_id = ?1")?
            .query_row([id.as_str()], |row| row.get::<_, u32>(0))
            .optional()
    };
    Ok(ChangeStanding {
        made: conn
            .prepare_cached(
                "SELECT count(*) FROM plan_changes WHERE task_id = ?1 AND refusal IS NULL",
            )?
            .query_row([task.as_str()], |row| row.get(0))?,
        depth: depth(task)?.or(depth(&root)?).unwrap_or(0),
    })
}

/// A task's name and all it waits for.
pub(super) fn waits_for(
    conn: &Connection,
    name: &str,
) -> rusqlite::Result<Option<(String, Vec<String>)>> {
    let Some(task) = plan::find(conn, name)? else {
        return Ok(None);
    };
    let waits = conn
        .prepare_cached(
            "SELECT coalesce(t.key, t.id) FROM dependencies d JOIN tasks t ON t.id = d.blocker_id
             WHERE d.blocked_id = ?1
             UNION SELECT coalesce(key, id) FROM tasks WHERE parent_id = ?1",
        )?
        .query_map([task.id.as_str()], |row| row.get(0))?
        .collect::<rusqlite::Result<Vec<String>>>()?;
    Ok(Some((task.name().to_owned(), waits)))
}
