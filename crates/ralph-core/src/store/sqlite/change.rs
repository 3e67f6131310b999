//! The steps that changes of the plan are made of; each runs inside a transaction.

use rusqlite::{Connection, OptionalExtension, params};

use super::plan::find;
use super::{Refusal, allowance, breaker, fixes, graph, rows, status};
use crate::model::{DoneBy, Key, NewTask, Status, Task, TaskEdit, TaskId, Timestamp};
use crate::store::{Random, StoreError};

pub(super) fn known(conn: &Connection, id: &TaskId) -> std::result::Result<Task, Refusal> {
    find(conn, id.as_str())?.ok_or_else(|| StoreError::UnknownTask(id.to_string()).into())
}

pub(super) fn add(
    tx: &Connection,
    new: &NewTask,
    now: Timestamp,
    random: Random<'_>,
) -> std::result::Result<TaskId, Refusal> {
    if let Some(key) = &new.key {
        refuse_duplicate(tx, key, None)?;
    }
    let place: f64 = tx
        .prepare_cached("SELECT coalesce(max(position), 0) + 1 FROM tasks")?
        .query_row([], |row| row.get(0))?;
    add_at(tx, new, place, now, random)
}

/// The same at a place, where nobody has the key.
pub(super) fn add_at(
    tx: &Connection,
    new: &NewTask,
    place: f64,
    now: Timestamp,
    random: Random<'_>,
) -> std::result::Result<TaskId, Refusal> {
    let failed_ancestors = match &new.parent {
        Some(parent) => failed_at_or_above(tx, parent)?,
        None => 0,
    };
    let id = unused_id(tx, random)?;
    tx.prepare_cached(
        "INSERT INTO tasks (id, position, key, parent_id, title, description, phase, priority, verify,
                            files, model, failed_ancestors, created_at, updated_at, done_when,
                            commit_message, markers)
         VALUES (?1, ?16, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12, ?13, ?14, ?15)",
    )?
    .execute(params![
        id.as_str(),
        new.key.as_ref().map(Key::as_str),
        new.parent.as_ref().map(TaskId::as_str),
        new.title,
        new.description,
        new.phase.map(|phase| phase.number()),
        new.priority,
        new.verify,
        rows::to_json(&new.files),
        new.model,
        failed_ancestors,
        now.to_string(),
        new.done_when,
        new.commit,
        rows::to_json(&new.markers),
        place,
    ])?;
    for blocker in &new.after {
        known(tx, blocker)?;
        depend(tx, &id, blocker)?;
    }
    if new.parent.is_some() {
        // Without a parent nothing waits for a new task, so only then can it close a circle.
        refuse_circle(tx, &id)?;
        status::reopen_ancestors(tx, std::slice::from_ref(&id), now)?;
    }
    Ok(id)
}

/// An id nobody has. Six hex digits are few enough that two tasks of a large plan would meet.
fn unused_id(conn: &Connection, random: Random<'_>) -> rusqlite::Result<TaskId> {
    let mut taken = conn.prepare_cached("SELECT 1 FROM tasks WHERE id = ?1")?;
    loop {
        let id = TaskId::from_random(random() as u32);
        if !taken.exists([id.as_str()])? {
            return Ok(id);
        }
    }
}

pub(super) fn change(
    tx: &Connection,
    id: &TaskId,
    edit: &TaskEdit,
    now: Timestamp,
) -> std::result::Result<(), Refusal> {
    let mut task = known(tx, id)?;
    let edit = edit.clone();
    if let Some(title) = edit.title {
        task.title = title;
    }
    if let Some(description) = edit.description {
        task.description = description;
    }
    if let Some(key) = edit.key {
        if let Some(key) = &key {
            refuse_duplicate(tx, key, Some(id))?;
        }
        task.key = key;
    }
    if let Some(phase) = edit.phase {
        task.phase = phase;
    }
    if let Some(verify) = edit.verify {
        task.verify = verify;
    }
    if let Some(files) = edit.files {
        task.files = files;
    }
    if let Some(priority) = edit.priority {
        task.priority = priority;
    }
    if let Some(model) = edit.model {
        task.model = model;
    }
    if let Some(done_when) = edit.done_when {
        task.done_when = done_when;
    }
    if let Some(commit) = edit.commit {
        task.commit = commit;
    }
    if let Some(markers) = edit.markers {
        task.markers = markers;
    }
    tx.prepare_cached(
        "UPDATE tasks SET title = ?2, description = ?3, key = ?4, phase = ?5, verify = ?6, files = ?7,
                          priority = ?8, model = ?9, updated_at = ?10, done_when = ?11, commit_message = ?12,
                          markers = ?13 WHERE id = ?1",
    )?
    .execute(params![
        id.as_str(),
        task.title,
        task.description,
        task.key.as_ref().map(Key::as_str),
        task.phase.map(|phase| phase.number()),
        task.verify,
        rows::to_json(&task.files),
        task.priority,
        task.model,
        now.to_string(),
        task.done_when,
        task.commit,
        rows::to_json(&task.markers),
    ])?;
    Ok(())
}

pub(super) fn move_below(
    tx: &Connection,
    id: &TaskId,
    parent: Option<&TaskId>,
    now: Timestamp,
) -> std::result::Result<(), Refusal> {
    set_parent(tx, id, parent)?;
    refuse_circle(tx, id)?;
    if !known(tx, id)?.status.satisfies() {
        status::reopen_ancestors(tx, std::slice::from_ref(id), now)?;
    }
    Ok(())
}

/// Changes a task's parent. The caller looks for cycles and opens finished ancestors, for many moves at once where there
/// are many.
pub(super) fn set_parent(
    tx: &Connection,
    id: &TaskId,
    parent: Option<&TaskId>,
) -> std::result::Result<(), Refusal> {
    let (before, left): (i64, Option<String>) = tx
        .prepare_cached("SELECT failed_ancestors, parent_id FROM tasks WHERE id = ?1")?
        .query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let after = match parent {
        Some(parent) => failed_at_or_above(tx, parent)?,
        None => 0,
    };
    tx.prepare_cached("UPDATE tasks SET parent_id = ?2, failed_ancestors = ?3 WHERE id = ?1")?
        .execute(params![id.as_str(), parent.map(TaskId::as_str), after])?;
    status::verify_above(tx, id)?;
    status::verify_from(tx, left)?;
    if after != before {
        status::shift_failed_below(tx, id, after - before)?;
    }
    Ok(())
}

/// How many tasks from this one upwards are failed.
fn failed_at_or_above(conn: &Connection, id: &TaskId) -> std::result::Result<i64, Refusal> {
    conn.prepare_cached("SELECT failed_ancestors + (status = 'failed') FROM tasks WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?
        .ok_or_else(|| StoreError::UnknownTask(id.to_string()).into())
}

/// A person finishes a task, by word or with its gate. What is still open below it is then no longer needed.
pub(super) fn finish(
    tx: &Connection,
    task: &Task,
    by: DoneBy,
    now: Timestamp,
) -> std::result::Result<(), Refusal> {
    // A gate's word is worth more than a person's: what is verified stays verified.
    if task.verified && by == DoneBy::Person {
        return Ok(());
    }
    let id = &task.id;
    skip(tx, id, Some("its parent was marked done"), now)?;
    status::set_done(tx, id, by, now)?;
    breaker::leave(tx, id)?;
    fixes::skip_needless(tx, id, now)?;
    Ok(())
}

pub(super) fn skip(
    tx: &Connection,
    id: &TaskId,
    reason: Option<&str>,
    now: Timestamp,
) -> std::result::Result<(), Refusal> {
    for (child, child_status) in status::below(tx, id)? {
        refuse_claimed(tx, &child)?;
        if !child_status.satisfies() {
            status::set(tx, &child, Status::Skipped, reason, now)?;
        }
    }
    status::set(tx, id, Status::Skipped, reason, now)?;
    fixes::skip_needless(tx, id, now)?;
    Ok(())
}

/// Makes a task, and what was finished or skipped together with it, open again.
pub(super) fn reset(
    tx: &Connection,
    id: &TaskId,
    was: Status,
    now: Timestamp,
) -> std::result::Result<(), Refusal> {
    let mut open = vec![id.clone()];
    if was.satisfies() {
        for (below, status) in status::below(tx, id)? {
            // What a fix mended stays mended.
            if status == was && fixes::link(tx, &below)?.is_none() {
                open.push(below);
            }
        }
    }
    for id in &open {
        refuse_claimed(tx, id)?;
        status::set(tx, id, Status::Pending, None, now)?;
        fixes::take_back(tx, id, now)?;
        allowance::renew(tx, id)?;
        tx.prepare_cached("UPDATE tasks SET own_work = 0 WHERE id = ?1")?
            .execute([id.as_str()])?;
        tx.prepare_cached(
            "UPDATE strategy_metrics SET consecutive_failures = 0, stuck_flag = 0, lost_in_a_row = 0,
                 next_model = NULL
             WHERE task_id = ?1",
        )?
        .execute([id.as_str()])?;
    }
    status::reopen_ancestors(tx, std::slice::from_ref(id), now)?;
    Ok(())
}

/// Deletes one task; returns who waited for it.
pub(super) fn remove(tx: &Connection, id: &TaskId) -> rusqlite::Result<Vec<TaskId>> {
    let freed = tx
        .prepare_cached("SELECT blocked_id FROM dependencies WHERE blocker_id = ?1")?
        .query_map([id.as_str()], |row| {
            row.get::<_, String>(0).map(TaskId::from_stored)
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    // Explicitly, while the task is there to be asked for its status: the counters depend on it.
    tx.prepare_cached("DELETE FROM dependencies WHERE blocker_id = ?1 OR blocked_id = ?1")?
        .execute([id.as_str()])?;
    tx.prepare_cached(
        "INSERT OR IGNORE INTO source_gone (source_id, name)
         SELECT source_id, name FROM task_sources WHERE task_id = ?1",
    )?
    .execute([id.as_str()])?;
    let parent = status::parent_of(tx, id.as_str())?;
    tx.prepare_cached("DELETE FROM tasks WHERE id = ?1")?
        .execute([id.as_str()])?;
    status::verify_from(tx, parent)?;
    Ok(freed)
}

pub(super) fn depend(
    tx: &Connection,
    blocked: &TaskId,
    blocker: &TaskId,
) -> rusqlite::Result<bool> {
    let added = tx
        .prepare_cached(
            "INSERT OR IGNORE INTO dependencies (blocker_id, blocked_id) VALUES (?1, ?2)",
        )?
        .execute([blocker.as_str(), blocked.as_str()])?;
    Ok(added > 0)
}

pub(super) fn touch(tx: &Connection, id: &TaskId, now: Timestamp) -> rusqlite::Result<()> {
    tx.execute(
        "UPDATE tasks SET updated_at = ?2 WHERE id = ?1",
        [id.as_str(), &now.to_string()],
    )?;
    Ok(())
}

pub(super) fn child_names(conn: &Connection, id: &TaskId) -> rusqlite::Result<Vec<String>> {
    conn.prepare_cached(
        "SELECT coalesce(key, id) FROM tasks WHERE parent_id = ?1 ORDER BY position",
    )?
    .query_map([id.as_str()], |row| row.get(0))?
    .collect()
}

pub(super) fn refuse_circle(tx: &Connection, id: &TaskId) -> std::result::Result<(), Refusal> {
    match graph::circle(tx, id)? {
        Some(circle) => Err(StoreError::Cycle(circle).into()),
        None => Ok(()),
    }
}

fn refuse_duplicate(
    tx: &Connection,
    key: &Key,
    own: Option<&TaskId>,
) -> std::result::Result<(), Refusal> {
    match find(tx, key.as_str())? {
        Some(holder) if own != Some(&holder.id) => Err(StoreError::DuplicateKey {
            key: key.to_string(),
            holder: holder.id,
            title: holder.title,
        }
        .into()),
        _ => Ok(()),
    }
}

/// A task under way is not a person's to change until its run lets go of it.
pub(super) fn refuse_claimed(tx: &Connection, id: &TaskId) -> std::result::Result<(), Refusal> {
    let claim = super::claims::of_task(tx, id)?;
    match claim {
        Some(claim) => Err(StoreError::InProgress {
            task: known(tx, id)?.name().to_owned(),
            run_id: claim.run_id,
            pid: claim.owner.pid,
            host: claim.owner.host,
        }
        .into()),
        None => Ok(()),
    }
}
