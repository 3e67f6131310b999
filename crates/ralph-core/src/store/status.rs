//! Where tasks stand, with all that follows from it in the tree, and who waits for whom.

use std::collections::{HashMap, VecDeque};

use super::plan;
use super::sql::{Changes, Connection, Json, Statements, bind, record};
use super::{Result, StoreError};
use crate::model::{DoneBy, Level, Status, TaskId, Timestamp, Verification};
use crate::plan::graph::cycles;

/// Where a task stands before its status is set.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub status: Status,
    pub open_children: u32,
    pub parent: Option<TaskId>,
}

record!(Place { status, open_children, parent = "parent_id" });

pub(super) fn place(conn: &Connection, id: &TaskId) -> Result<Place> {
    conn.one("SELECT status, open_children, parent_id FROM tasks WHERE id = ?1", [id])
}

/// Sets a status and keeps the count of failed ancestors below it. Dependents, parents and totals are kept by
/// triggers.
pub(super) fn set(
    conn: &Connection,
    id: &TaskId,
    status: Status,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<()> {
    set_at(conn, id, &place(conn, id)?, status, reason, now)
}

pub(super) fn set_at(
    conn: &Connection,
    id: &TaskId,
    place: &Place,
    status: Status,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<()> {
    let before = place.status;
    conn.change(
        "UPDATE tasks SET status = :status, reason = :reason, needs_human = :blocked,
             updated_at = :now WHERE id = :id",
        bind! { id, status, reason, blocked: status == Status::Blocked, now },
    )?;
    if before == Status::Done {
        verify_from(conn, place.parent.clone())?;
    }
    match (before == Status::Failed, status == Status::Failed) {
        (false, true) => shift_failed_below(conn, id, 1),
        (true, false) => shift_failed_below(conn, id, -1),
        _ => Ok(()),
    }
}

pub(super) fn set_done(
    conn: &Connection,
    id: &TaskId,
    by: DoneBy,
    verification: &Verification,
    now: Timestamp,
) -> Result<()> {
    set_done_at(conn, id, &place(conn, id)?, by, verification, now)
}

pub(super) fn set_done_at(
    conn: &Connection,
    id: &TaskId,
    place: &Place,
    by: DoneBy,
    verification: &Verification,
    now: Timestamp,
) -> Result<()> {
    set_at(conn, id, place, Status::Done, None, now)?;
    let level = verification.level;
    let (verified, already_green) = (level.is_verified(), verification.already_green);
    conn.change(
        "UPDATE tasks SET done_by = :by, verified = :verified, already_green = :already_green, level = :level,
             verification = :verification
         WHERE id = :id",
        bind! {
            id, by, verified, already_green, level: Some(level).filter(|level| *level != Level::None),
            verification: Json(verification),
        },
    )?;
    if by == DoneBy::Children {
        verify_parent(conn, id)?;
    }
    verify_from(conn, place.parent.clone())
}

/// Decides anew what a task rests on that is done by its children: what the weakest of them does. Whether that changed.
fn verify_parent(conn: &Connection, id: &TaskId) -> Result<bool> {
    let changed = conn.changed(
        "WITH weakest (level, already_green) AS (
             SELECT CASE WHEN count(level) < count(*) THEN NULL WHEN total(level = 'review') > 0 THEN 'review'
                     WHEN total(level = 'project') > 0 THEN 'project' ELSE max(level) END,
                 coalesce(max(already_green), 0)
             FROM tasks WHERE parent_id = ?1 AND status = 'done'),
         parent (level, verified, already_green) AS (
             SELECT level, CASE WHEN level IN ('gate', 'project') THEN 1 ELSE 0 END,
                 CASE WHEN level IN ('gate', 'project') THEN already_green ELSE 0 END FROM weakest)
         UPDATE tasks SET (level, verified, already_green) = (SELECT level, verified, already_green FROM parent)
         WHERE id = ?1 AND done_by = 'children' AND EXISTS (SELECT 1 FROM parent p
             WHERE p.level IS DISTINCT FROM tasks.level OR p.verified <> tasks.verified
                 OR p.already_green <> tasks.already_green)",
        [id],
    )?;
    Ok(changed > 0)
}

/// Decides anew whether the ancestors of a task are verified.
pub(super) fn verify_above(conn: &Connection, id: &TaskId) -> Result<()> {
    verify_from(conn, parent_of(conn, id)?)
}

/// Decides anew whether a parent and its ancestors are verified, as far up as that changes anything.
pub(super) fn verify_from(conn: &Connection, parent: Option<TaskId>) -> Result<()> {
    let mut at = parent;
    while let Some(id) = at {
        if !verify_parent(conn, &id)? {
            break;
        }
        at = parent_of(conn, &id)?;
    }
    Ok(())
}

pub(super) fn parent_of(conn: &Connection, id: &TaskId) -> Result<Option<TaskId>> {
    Ok(conn.first("SELECT parent_id FROM tasks WHERE id = ?1", [id])?.flatten())
}

/// Whether a task has children that are neither done nor skipped.
pub(super) fn has_open_children(conn: &Connection, id: &TaskId) -> Result<bool> {
    conn.one("SELECT open_children > 0 FROM tasks WHERE id = ?1", [id])
}

/// Everything below the task `:id`.
const BELOW: &str = "WITH RECURSIVE below (id) AS (
    SELECT id FROM tasks WHERE parent_id = :id
    UNION SELECT t.id FROM tasks t JOIN below b ON t.parent_id = b.id) ";

/// Adds to the count of failed ancestors of everything below a task.
pub(super) fn shift_failed_below(conn: &Connection, id: &TaskId, by: i64) -> Result<()> {
    let sql = "UPDATE tasks SET failed_ancestors = failed_ancestors + :by WHERE id IN (SELECT id FROM below)";
    conn.change(&format!("{BELOW}{sql}"), bind! { id, by })
}

/// Counts the failed ancestors of tasks, and of everything below them, anew.
pub(super) fn count_failed_ancestors(conn: &Connection, tasks: &[TaskId]) -> Result<()> {
    conn.change(
        "WITH RECURSIVE family (id) AS (
             SELECT id FROM tasks WHERE id IN (SELECT value FROM json_each(?1))
             UNION SELECT t.id FROM tasks t JOIN family f ON t.parent_id = f.id),
         above (id, ancestor) AS (
             SELECT t.id, t.parent_id FROM family f CROSS JOIN tasks t ON t.id = f.id
                 WHERE EXISTS (SELECT 1 FROM tasks WHERE status = 'failed')
             UNION SELECT a.id, t.parent_id FROM above a CROSS JOIN tasks t ON t.id = a.ancestor),
         counted (id, n) AS (
             SELECT a.id, total(p.status = 'failed') FROM above a LEFT JOIN tasks p ON p.id = a.ancestor
             GROUP BY a.id)
         UPDATE tasks SET failed_ancestors = coalesce((SELECT n FROM counted c WHERE c.id = tasks.id), 0)
         WHERE id IN (SELECT id FROM family)",
        [Json(tasks)],
    )
}

pub(super) fn below(conn: &Connection, id: &TaskId) -> Result<Vec<(TaskId, Status)>> {
    let sql = "SELECT id, status FROM tasks WHERE id IN (SELECT id FROM below) ORDER BY position";
    conn.all(&format!("{BELOW}{sql}"), bind! { id })
}

/// Opens finished ancestors of these tasks again: one of their descendants is open. However many tasks there are, every
/// ancestor is visited once, so that a plan nested ten thousand deep is imported in linear time.
pub(super) fn reopen_ancestors(conn: &Connection, tasks: &[TaskId], now: Timestamp) -> Result<()> {
    const ABOVE: &str = "WITH RECURSIVE above (id) AS (
        SELECT parent_id FROM tasks
            WHERE id IN (SELECT value FROM json_each(?1)) AND parent_id IS NOT NULL
        UNION SELECT t.parent_id FROM tasks t JOIN above a ON t.id = a.id
            WHERE t.parent_id IS NOT NULL) ";
    if tasks.is_empty() {
        return Ok(());
    }
    let sql = "SELECT id FROM tasks WHERE id IN (SELECT id FROM above) AND status IN ('done', 'skipped')";
    let finished: Vec<TaskId> = conn.all(&format!("{ABOVE}{sql}"), [Json(tasks)])?;
    for id in finished {
        set(conn, &id, Status::Pending, None, now)?;
    }
    let sql = "UPDATE tasks SET own_work = 0 WHERE own_work = 1 AND id IN (SELECT id FROM above)";
    conn.change(&format!("{ABOVE}{sql}"), [Json(tasks)])
}

/// Makes parents done whose children all are, and theirs in turn. One with a gate of its own waits for it.
pub(super) fn settle(conn: &Connection, now: Timestamp) -> Result<()> {
    let next = "SELECT id FROM tasks WHERE gate_due = 1 AND verify IS NULL
         ORDER BY priority, position LIMIT 1";
    while let Some(id) = conn.first(next, [])? {
        set_done(conn, &id, DoneBy::Children, &Verification::default(), now)?;
    }
    Ok(())
}

/// A task waits for its dependencies, a parent for its children.
fn waits_for(conn: &Connection, id: &TaskId) -> Result<Vec<TaskId>> {
    let sql = "SELECT blocker_id FROM dependencies WHERE blocked_id = ?1
         UNION SELECT id FROM tasks WHERE parent_id = ?1";
    conn.all(sql, [id])
}

/// Refuses a plan in which a task waits for itself.
pub(super) fn refuse_cycle(conn: &Connection, start: &TaskId) -> Result<()> {
    let mut came_from: HashMap<TaskId, TaskId> = HashMap::new();
    let mut queue = VecDeque::from([start.clone()]);
    while let Some(here) = queue.pop_front() {
        for id in waits_for(conn, &here)? {
            if id == *start {
                let mut path = vec![id];
                let mut at = Some(&here);
                while let Some(step) = at {
                    path.push(step.clone());
                    at = came_from.get(step).filter(|_| step != start);
                }
                path.reverse();
                let names = path.iter().map(|id| plan::name(conn, id));
                return Err(StoreError::Cycle(names.collect::<Result<_>>()?));
            }
            if !came_from.contains_key(&id) {
                came_from.insert(id.clone(), here.clone());
                queue.push_back(id);
            }
        }
    }
    Ok(())
}

/// Refuses a plan in which tasks wait for each other, anywhere in it.
pub(super) fn refuse_any_cycle(conn: &Connection) -> Result<()> {
    let sql = "SELECT blocked_id, blocker_id FROM dependencies
         UNION ALL SELECT parent_id, id FROM tasks WHERE parent_id IS NOT NULL";
    let waits: Vec<(TaskId, TaskId)> = conn.all(sql, [])?;
    let mut ids: Vec<&TaskId> = waits.iter().flat_map(|(waiter, awaited)| [waiter, awaited]).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut edges: Vec<Vec<usize>> = vec![Vec::new(); ids.len()];
    for (waiter, awaited) in &waits {
        if let (Ok(from), Ok(to)) = (ids.binary_search(&waiter), ids.binary_search(&awaited))
            && let Some(edges) = edges.get_mut(from)
        {
            edges.push(to);
        }
    }
    let Some(cycle) = cycles(&edges).into_iter().next() else { return Ok(()) };
    let names = cycle.iter().chain(cycle.first()).filter_map(|place| ids.get(*place));
    Err(StoreError::Cycle(names.map(|id| plan::name(conn, id)).collect::<Result<_>>()?))
}
