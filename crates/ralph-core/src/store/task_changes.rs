//! The steps that changes of the plan are made of; each runs inside a transaction.

use super::plan::known;
use super::sources::KeySpace;
use super::sql::{Changes, Connection, Statements, bind, record};
use super::{Random, Result, StoreError, breaker, claims, fixes, status};
use crate::model::{DoneBy, Key, NewTask, Status, Task, TaskEdit, TaskId, Timestamp, Verification};

/// Why a task was skipped whose parent a person finished.
pub(super) const PARENT_DONE: &str = "its parent was marked done";

record!(writes NewTask {
    title, description, key, phase, verify, files, protect, may_change, priority, model, done_when, commit = "commit_message",
    markers,
});

/// Adds a task at the end of the plan.
pub(super) fn add(tx: &Connection, new: &NewTask, now: Timestamp, random: Random<'_>) -> Result<TaskId> {
    add_to(tx, new, &KeySpace::default(), now, random)
}

/// Adds a task to the key space of a file, at the end of the plan.
pub(super) fn add_to(
    tx: &Connection,
    new: &NewTask,
    keys: &KeySpace,
    now: Timestamp,
    random: Random<'_>,
) -> Result<TaskId> {
    if let Some(key) = &new.key {
        refuse_duplicate(tx, key, keys.source_id, None)?;
    }
    let position = last_position(tx)? + 1.0;
    let id = add_at(tx, new, keys, position, now, random)?;
    if let Some(key) = &new.key {
        show_spec_of(tx, key)?;
    }
    Ok(id)
}

/// Adds a task that belongs to the file of another.
pub(super) fn add_beside(
    tx: &Connection,
    new: &NewTask,
    original: &TaskId,
    now: Timestamp,
    random: Random<'_>,
) -> Result<TaskId> {
    let source = tx.one("SELECT source_id FROM tasks WHERE id = ?1", [original])?;
    add_to(tx, new, &KeySpace::of(tx, source)?, now, random)
}

/// Makes tasks that share a key show their spec with it.
fn show_spec_of(tx: &Connection, key: &Key) -> Result<()> {
    tx.change(
        "UPDATE tasks SET spec_shown = 1
         WHERE key = ?1 AND (SELECT count(*) FROM tasks WHERE key = ?1) > 1",
        [key],
    )
}

pub(super) fn last_position(conn: &Connection) -> Result<f64> {
    conn.one("SELECT max(position) FROM tasks", [])
}

/// Adds a task at a position. Nobody in its file has its key.
pub(super) fn add_at(
    tx: &Connection,
    new: &NewTask,
    keys: &KeySpace,
    position: f64,
    now: Timestamp,
    random: Random<'_>,
) -> Result<TaskId> {
    let id = unused_id(tx, random)?;
    let KeySpace { source_id, spec, spec_shown } = keys;
    let more = bind! {
        id, position, parent_id: new.parent, created_at: now, updated_at: now,
        failed_ancestors: failed_from(tx, new.parent.as_ref())?, source_id, spec, spec_shown,
    };
    tx.insert_record("tasks", new, more)?;
    for blocker in &new.after {
        known(tx, blocker)?;
        depend(tx, &id, blocker)?;
    }
    if new.parent.is_some() {
        // Without a parent nothing waits for a new task, so only then can it close a cycle.
        status::refuse_cycle(tx, &id)?;
        status::reopen_ancestors(tx, std::slice::from_ref(&id), now)?;
    }
    Ok(id)
}

/// An id nobody has. Six hex digits are few enough that two tasks of a large plan would meet.
fn unused_id(conn: &Connection, random: Random<'_>) -> Result<TaskId> {
    loop {
        let id = TaskId::from_random(random() as u32);
        if !conn.has("SELECT 1 FROM tasks WHERE id = ?1", [&id])? {
            return Ok(id);
        }
    }
}

pub(super) fn change(tx: &Connection, id: &TaskId, edit: &TaskEdit, now: Timestamp) -> Result<()> {
    let task = known(tx, id)?;
    let edit = edit.clone();
    if let Some(Some(key)) = &edit.key {
        let source = tx.one("SELECT source_id FROM tasks WHERE id = ?1", [id])?;
        refuse_duplicate(tx, key, source, Some(id))?;
    }
    let changed = NewTask {
        title: edit.title.unwrap_or(task.title),
        description: edit.description.unwrap_or(task.description),
        key: edit.key.unwrap_or(task.key),
        phase: edit.phase.unwrap_or(task.phase),
        verify: edit.verify.unwrap_or(task.verify),
        files: edit.files.unwrap_or(task.files),
        protect: edit.protect.unwrap_or(task.protect),
        may_change: edit.may_change.unwrap_or(task.may_change),
        priority: edit.priority.unwrap_or(task.priority),
        model: edit.model.unwrap_or(task.model),
        done_when: edit.done_when.unwrap_or(task.done_when),
        commit: edit.commit.unwrap_or(task.commit),
        markers: edit.markers.unwrap_or(task.markers),
        ..NewTask::default()
    };
    rewrite(tx, id, &changed, now)?;
    if let Some(users_model) = &edit.next_model {
        tx.upsert("strategy_metrics", &["task_id"], bind! { task_id: id, users_model })?;
    }
    match &changed.key {
        Some(key) => show_spec_of(tx, key),
        None => Ok(()),
    }
}

/// Gives a task all of these texts; its parent and dependencies stay.
pub(super) fn rewrite(tx: &Connection, id: &TaskId, task: &NewTask, now: Timestamp) -> Result<()> {
    // Only the gate that passed can vouch for the task, not the one that replaces it.
    let verify = &task.verify;
    let replaced = "UPDATE tasks SET verified = 0, already_green = 0, level = NULL, verification = NULL
         WHERE id = :id AND verified = 1 AND verify IS DISTINCT FROM :verify";
    if tx.changed(replaced, bind! { id, verify })? > 0 {
        status::verify_above(tx, id)?;
    }
    tx.update_record("tasks", task, bind! { id })?;
    touch(tx, id, now)
}

pub(super) fn touch(tx: &Connection, id: &TaskId, now: Timestamp) -> Result<()> {
    tx.change("UPDATE tasks SET updated_at = :now WHERE id = :id", bind! { id, now })
}

pub(super) fn move_below(
    tx: &Connection,
    id: &TaskId,
    parent: Option<&TaskId>,
    now: Timestamp,
) -> Result<()> {
    set_parent(tx, id, parent)?;
    status::refuse_cycle(tx, id)?;
    if !known(tx, id)?.status.satisfies() {
        status::reopen_ancestors(tx, std::slice::from_ref(id), now)?;
    }
    Ok(())
}

/// Changes a task's parent. The caller looks for cycles and opens finished ancestors, for many moves at once where there
/// are many.
pub(super) fn set_parent(tx: &Connection, id: &TaskId, parent: Option<&TaskId>) -> Result<()> {
    let left = status::parent_of(tx, id)?;
    let before: i64 = tx.one("SELECT failed_ancestors FROM tasks WHERE id = ?1", [id])?;
    let after = failed_from(tx, parent)?;
    tx.change(
        "UPDATE tasks SET parent_id = :parent, failed_ancestors = :failed WHERE id = :id",
        bind! { id, parent, failed: after },
    )?;
    status::verify_above(tx, id)?;
    status::verify_from(tx, left)?;
    if after != before {
        status::shift_failed_below(tx, id, after - before)?;
    }
    Ok(())
}

/// How many tasks from this one upwards are failed.
fn failed_from(conn: &Connection, id: Option<&TaskId>) -> Result<i64> {
    let Some(id) = id else { return Ok(0) };
    let sql =
        "SELECT failed_ancestors + CASE WHEN status = 'failed' THEN 1 ELSE 0 END FROM tasks WHERE id = ?1";
    let failed = conn.first(sql, [id])?;
    failed.ok_or_else(|| StoreError::UnknownTask(id.to_string()))
}

/// A person finishes a task, by word or with its gate. What is still open below it is then no longer needed.
pub(super) fn finish(
    tx: &Connection,
    task: &Task,
    by: DoneBy,
    verification: &Verification,
    now: Timestamp,
) -> Result<()> {
    // A gate's word is worth more than a person's: what is verified stays verified.
    if task.verified && by == DoneBy::Person {
        return Ok(());
    }
    let id = &task.id;
    skip(tx, id, Some(PARENT_DONE), now)?;
    status::set_done(tx, id, by, verification, now)?;
    breaker::leave(tx, id)?;
    fixes::skip_needless(tx, id, now)
}

pub(super) fn skip(tx: &Connection, id: &TaskId, reason: Option<&str>, now: Timestamp) -> Result<()> {
    for (child, child_status) in status::below(tx, id)? {
        claims::refuse_claimed(tx, &child)?;
        if !child_status.satisfies() {
            status::set(tx, &child, Status::Skipped, reason, now)?;
        }
    }
    status::set(tx, id, Status::Skipped, reason, now)?;
    fixes::skip_needless(tx, id, now)
}

/// Makes a task, and what was finished or skipped together with it, open again.
pub(super) fn reset(tx: &Connection, id: &TaskId, was: Status, now: Timestamp) -> Result<()> {
    let mut open = vec![id.clone()];
    if was.satisfies() {
        for (below, status) in status::below(tx, id)? {
            // What a fix task fixed stays fixed.
            if status == was && fixes::link(tx, &below)?.is_none() {
                open.push(below);
            }
        }
    }
    for id in &open {
        claims::refuse_claimed(tx, id)?;
        match checkpoint(tx, id)? {
            Some(reason) => status::set(tx, id, Status::Blocked, Some(&reason), now)?,
            None => status::set(tx, id, Status::Pending, None, now)?,
        }
        fixes::take_back(tx, id, now)?;
        claims::renew_attempts(tx, id)?;
        tx.change("UPDATE tasks SET own_work = 0 WHERE id = ?1", [id])?;
        tx.change(
            "UPDATE strategy_metrics SET consecutive_failures = 0, stuck_flag = 0,
                 lost_in_a_row = 0, next_model = NULL WHERE task_id = ?1",
            [id],
        )?;
    }
    status::reopen_ancestors(tx, std::slice::from_ref(id), now)
}

/// Why a checkpoint of a plan is blocked: a person has to look at it.
pub(super) fn checkpoint_reason(name: &str) -> String {
    format!("a checkpoint for you: check it, then `ralph task done {name}`")
}

/// Why a task waits for a person whatever happens, where it is a checkpoint; no agent gets it.
pub(super) fn checkpoint(tx: &Connection, id: &TaskId) -> Result<Option<String>> {
    let sql = "SELECT name FROM tasks t WHERE id = ?1 AND (
             t.status = 'blocked' AND t.reason LIKE 'a checkpoint for you: %'
             OR t.title LIKE 'Checkpoint: %' AND EXISTS (SELECT 1 FROM task_sources s JOIN sources f ON f.id = s.source_id
                 WHERE s.task_id = t.id AND f.format = 'gsd'))";
    let name: Option<String> = tx.first(sql, [id])?;
    Ok(name.map(|name| checkpoint_reason(&name)))
}

/// Deletes one task; returns who waited for it.
pub(super) fn remove(tx: &Connection, id: &TaskId) -> Result<Vec<TaskId>> {
    let waiting = "SELECT blocked_id FROM dependencies WHERE blocker_id = ?1";
    let freed = tx.all(waiting, [id])?;
    // Explicitly, while the task is there to be asked for its status: the counters depend on it.
    tx.change("DELETE FROM dependencies WHERE blocker_id = ?1 OR blocked_id = ?1", [id])?;
    tx.change(
        "INSERT INTO source_gone (source_id, name)
         SELECT source_id, name FROM task_sources WHERE task_id = ?1 ON CONFLICT DO NOTHING",
        [id],
    )?;
    let parent = status::parent_of(tx, id)?;
    tx.change("DELETE FROM tasks WHERE id = ?1", [id])?;
    status::verify_from(tx, parent)?;
    Ok(freed)
}

pub(super) fn depend(tx: &Connection, blocked: &TaskId, blocker: &TaskId) -> Result<bool> {
    let sql = "INSERT INTO dependencies (blocker_id, blocked_id) VALUES (:blocker, :blocked)
         ON CONFLICT DO NOTHING";
    let added = tx.changed(sql, bind! { blocked, blocker })?;
    Ok(added > 0)
}

/// `false` if it did not wait for it.
pub(super) fn no_longer_depend(tx: &Connection, blocked: &TaskId, blocker: &TaskId) -> Result<bool> {
    let sql = "DELETE FROM dependencies WHERE blocked_id = :blocked AND blocker_id = :blocker";
    let removed = tx.changed(sql, bind! { blocked, blocker })?;
    Ok(removed > 0)
}

/// Written as the index on keys is: by `source_id` alone, SQLite would look at all tasks of a file for each of them.
pub(super) const BY_KEY: &str =
    "SELECT id, title FROM tasks WHERE key = :key AND coalesce(source_id, 0) = coalesce(:source, 0)";

fn refuse_duplicate(tx: &Connection, key: &Key, source: Option<i64>, own: Option<&TaskId>) -> Result<()> {
    match tx.first(BY_KEY, bind! { key, source })? {
        Some((holder, title)) if own != Some(&holder) => {
            Err(StoreError::DuplicateKey { key: key.to_string(), holder, title })
        }
        _ => Ok(()),
    }
}

pub(super) fn set_position(tx: &Connection, id: &TaskId, position: f64) -> Result<()> {
    tx.change("UPDATE tasks SET position = :position WHERE id = :id", bind! { id, position })
}

/// A position between a task's last descendant and what follows it. In a file, keys tell who is below whom, also among
/// the author's own tasks.
pub(super) fn position_after(tx: &Connection, id: &TaskId) -> Result<f64> {
    // PostgreSQL allows one reference to what was found before; SQLite is quicker with two.
    let below = tx.either(
        "SELECT f.task_id FROM fixes f JOIN family y ON f.original_id = y.id
             UNION SELECT t.id FROM tasks t JOIN family y ON t.parent_id = y.id",
        "SELECT below.id FROM family y JOIN (
                 SELECT parent_id AS above, id FROM tasks UNION ALL SELECT original_id, task_id FROM fixes
             ) below ON below.above = y.id",
    );
    let sql = format!(
        "WITH RECURSIVE family (id) AS (
             SELECT id FROM tasks WHERE id = ?1
             UNION SELECT b.task_id FROM task_sources s JOIN task_sources b
                 ON b.source_id = s.source_id AND b.name > s.name || '.' AND b.name < s.name || '/'
                 WHERE s.task_id = ?1
             UNION {below})
         SELECT max(position) FROM tasks WHERE id IN (SELECT id FROM family)"
    );
    let last = tx.one(&sql, [id])?;
    next_position(tx, last)
}

/// A position right before a task.
pub(super) fn position_before(tx: &Connection, id: &TaskId) -> Result<f64> {
    let at: f64 = tx.one("SELECT position FROM tasks WHERE id = ?1", [id])?;
    match tx.one("SELECT max(position) FROM tasks WHERE position < ?1", [at])? {
        None => Ok(at - 1.0),
        Some(before) => next_position(tx, before),
    }
}

/// A free position right after another.
pub(super) fn next_position(tx: &Connection, last: f64) -> Result<f64> {
    let Some(next) = tx.one("SELECT min(position) FROM tasks WHERE position > ?1", [last])? else {
        return Ok(last.floor() + 1.0);
    };
    let middle = f64::midpoint(last, next);
    if middle > last && middle < next {
        return Ok(middle);
    }
    // No number is left between the two: all get whole ones again, by way of a range that nobody uses.
    let order: i64 = tx.one("SELECT count(*) FROM tasks WHERE position <= ?1", [last])?;
    tx.execute_batch(
        "UPDATE tasks SET position = o.place - 1e15 FROM (
             SELECT id, row_number() OVER (ORDER BY position) AS place FROM tasks) o
         WHERE o.id = tasks.id;
         UPDATE tasks SET position = position + 1e15;",
    )?;
    Ok(order as f64 + 0.5)
}
