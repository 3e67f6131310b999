//! The plan in SQLite.

use rusqlite::{Connection, OptionalExtension, params};

use super::{Durability, Refusal, SqliteStore, graph, rows, status};
use crate::model::{Key, NewTask, Status, Task, TaskEdit, TaskId, Timestamp};
use crate::store::{
    Children, Deleted, Held, Mark, PlanCounts, PlanNode, PlanStore, Random, Result, Scope,
    StoreError,
};

impl PlanStore for SqliteStore {
    fn task(&self, name: &str) -> Result<Task> {
        let found = self.read(|conn| find(conn, name))?;
        found.ok_or_else(|| StoreError::UnknownTask(name.to_owned()))
    }

    fn tasks(&self, status: Option<Status>) -> Result<Vec<Task>> {
        self.read(|conn| {
            let sql = format!(
                "SELECT {} FROM {} WHERE ?1 IS NULL OR t.status = ?1 ORDER BY t.position",
                rows::TASK,
                rows::FROM_TASKS
            );
            conn.prepare_cached(&sql)?
                .query_map([status.map(Status::as_str)], rows::task)?
                .collect()
        })
    }

    fn children(&self, id: &TaskId) -> Result<Vec<Task>> {
        self.read(|conn| {
            let sql = format!(
                "SELECT {} FROM {} WHERE t.parent_id = ?1 ORDER BY t.position",
                rows::TASK,
                rows::FROM_TASKS
            );
            conn.prepare_cached(&sql)?
                .query_map([id.as_str()], rows::task)?
                .collect()
        })
    }

    fn ready(&self, scope: &Scope, limit: usize) -> Result<Vec<TaskId>> {
        self.read(|conn| {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let id = |row: &rusqlite::Row<'_>| row.get::<_, String>(0).map(TaskId::from_stored);
            match scope {
                Scope::All => conn
                    .prepare_cached(
                        "SELECT id FROM tasks WHERE ready = 1 ORDER BY priority, position LIMIT ?1",
                    )?
                    .query_map([limit], id)?
                    .collect(),
                Scope::Below(roots) => conn
                    .prepare_cached(&format!(
                        "{} SELECT id FROM tasks WHERE ready = 1 AND id IN scope
                         ORDER BY priority, position LIMIT ?2",
                        super::claims::SCOPE
                    ))?
                    .query_map(params![rows::to_json(roots), limit], id)?
                    .collect(),
            }
        })
    }

    fn counts(&self) -> Result<PlanCounts> {
        self.read(|conn| {
            let mut counts = PlanCounts::default();
            let mut query = conn.prepare_cached("SELECT status, n FROM task_counts")?;
            let mut found = query.query([])?;
            while let Some(row) = found.next()? {
                let n: u64 = row.get(1)?;
                counts.total += n;
                match rows::status(row, 0)? {
                    Status::Pending => counts.pending = n,
                    Status::InProgress => counts.in_progress = n,
                    Status::Done => counts.done = n,
                    Status::Failed => counts.failed = n,
                    Status::Blocked => counts.blocked = n,
                    Status::Skipped => counts.skipped = n,
                }
            }
            Ok(counts)
        })
    }

    fn ready_count(&self) -> Result<u64> {
        self.read(|conn| {
            conn.prepare_cached("SELECT count(*) FROM tasks WHERE ready = 1")?
                .query_row([], |row| row.get(0))
        })
    }

    fn held(&self, limit: usize) -> Result<Vec<Held>> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT id, coalesce(key, id), status, reason FROM tasks
                 WHERE status IN ('blocked', 'failed') ORDER BY position LIMIT ?1",
            )?
            .query_map([i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
                Ok(Held {
                    task_id: TaskId::from_stored(row.get::<_, String>(0)?),
                    name: row.get(1)?,
                    status: rows::status(row, 2)?,
                    reason: row.get(3)?,
                })
            })?
            .collect()
        })
    }

    fn skeleton(&self) -> Result<Vec<PlanNode>> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT t.id, t.key, t.status, t.parent_id, t.own_work,
                        (SELECT json_group_array(d.blocker_id) FROM dependencies d
                         WHERE d.blocked_id = t.id)
                 FROM tasks t ORDER BY t.priority, t.position",
            )?
            .query_map([], |row| {
                Ok(PlanNode {
                    id: TaskId::from_stored(row.get::<_, String>(0)?),
                    key: row.get::<_, Option<String>>(1)?.map(Key::from_stored),
                    status: rows::status(row, 2)?,
                    parent: row.get::<_, Option<String>>(3)?.map(TaskId::from_stored),
                    own_work: row.get(4)?,
                    depends_on: rows::json_list(&row.get::<_, String>(5)?)
                        .into_iter()
                        .map(TaskId::from_stored)
                        .collect(),
                })
            })?
            .collect()
        })
    }

    fn add_task(&mut self, new: &NewTask, now: Timestamp, random: Random<'_>) -> Result<TaskId> {
        self.write(Durability::Power, |tx| add(tx, new, now, random))
    }

    fn edit_task(&mut self, id: &TaskId, edit: &TaskEdit, now: Timestamp) -> Result<()> {
        self.write(Durability::Power, |tx| {
            change(tx, id, edit, now)?;
            if let Some(parent) = &edit.parent {
                move_below(tx, id, parent.as_ref(), now)?;
            }
            status::settle(tx, now)?;
            Ok(())
        })
    }

    fn mark(&mut self, id: &TaskId, mark: &Mark, now: Timestamp) -> Result<()> {
        self.write(Durability::Power, |tx| {
            let task = known(tx, id)?;
            refuse_claimed(tx, id)?;
            match mark {
                Mark::Done => status::set(tx, id, Status::Done, None, now)?,
                Mark::Failed { reason } => {
                    status::set(tx, id, Status::Failed, reason.as_deref(), now)?;
                }
                Mark::Skipped { reason } => skip(tx, id, reason.as_deref(), now)?,
                Mark::Pending => reset(tx, id, task.status, now)?,
            }
            if matches!(mark, Mark::Failed { .. }) {
                // A failed child keeps its parent open.
                status::reopen_ancestors(tx, id, now)?;
            }
            status::settle(tx, now)?;
            Ok(())
        })
    }

    fn delete_task(&mut self, id: &TaskId, children: Children, now: Timestamp) -> Result<Deleted> {
        self.write(Durability::Power, |tx| {
            let task = known(tx, id)?;
            let below = status::below(tx, id)?;
            if children == Children::Refuse && !below.is_empty() {
                return Err(StoreError::HasChildren {
                    task: task.name().to_owned(),
                    children: child_names(tx, id)?,
                }
                .into());
            }
            // Deepest first, so that every parent's counters are kept while it is still there.
            let mut doomed: Vec<TaskId> = below.into_iter().map(|(id, _)| id).rev().collect();
            doomed.push(id.clone());
            let mut freed = Vec::new();
            for id in &doomed {
                refuse_claimed(tx, id)?;
                freed.extend(remove(tx, id)?);
            }
            freed.retain(|id| !doomed.contains(id));
            freed.sort();
            freed.dedup();
            status::settle(tx, now)?;
            Ok(Deleted {
                tasks: doomed,
                freed,
            })
        })
    }

    fn add_dependency(
        &mut self,
        blocked: &TaskId,
        blocker: &TaskId,
        now: Timestamp,
    ) -> Result<bool> {
        self.write(Durability::Power, |tx| {
            known(tx, blocked)?;
            known(tx, blocker)?;
            let added = depend(tx, blocked, blocker)?;
            refuse_circle(tx, blocked)?;
            touch(tx, blocked, now)?;
            Ok(added)
        })
    }

    fn remove_dependency(
        &mut self,
        blocked: &TaskId,
        blocker: &TaskId,
        now: Timestamp,
    ) -> Result<bool> {
        self.write(Durability::Power, |tx| {
            let removed = tx.execute(
                "DELETE FROM dependencies WHERE blocked_id = ?1 AND blocker_id = ?2",
                [blocked.as_str(), blocker.as_str()],
            )?;
            touch(tx, blocked, now)?;
            Ok(removed > 0)
        })
    }
}

/// The task with this id, else with this key.
pub(super) fn find(conn: &Connection, name: &str) -> rusqlite::Result<Option<Task>> {
    let sql = format!(
        "SELECT {} FROM {} WHERE t.id = ?1 OR t.key = ?1 ORDER BY t.id = ?1 DESC LIMIT 1",
        rows::TASK,
        rows::FROM_TASKS
    );
    conn.prepare_cached(&sql)?
        .query_row([name], rows::task)
        .optional()
}

fn known(conn: &Connection, id: &TaskId) -> std::result::Result<Task, Refusal> {
    find(conn, id.as_str())?.ok_or_else(|| StoreError::UnknownTask(id.to_string()).into())
}

fn add(
    tx: &Connection,
    new: &NewTask,
    now: Timestamp,
    random: Random<'_>,
) -> std::result::Result<TaskId, Refusal> {
    if let Some(key) = &new.key {
        refuse_duplicate(tx, key, None)?;
    }
    let failed_ancestors = match &new.parent {
        Some(parent) => failed_at_or_above(tx, parent)?,
        None => 0,
    };
    let id = unused_id(tx, random)?;
    tx.prepare_cached(
        "INSERT INTO tasks (id, position, key, parent_id, title, description, phase, priority, verify,
                            files, model, failed_ancestors, created_at, updated_at)
         VALUES (?1, (SELECT coalesce(max(position), 0) + 1 FROM tasks), ?2, ?3, ?4, ?5, ?6, ?7, ?8,
                 ?9, ?10, ?11, ?12, ?12)",
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
    ])?;
    for blocker in &new.after {
        known(tx, blocker)?;
        depend(tx, &id, blocker)?;
    }
    if new.parent.is_some() {
        // Without a parent nothing waits for a new task, so only then can it close a circle.
        refuse_circle(tx, &id)?;
        status::reopen_ancestors(tx, &id, now)?;
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

fn change(
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
    tx.prepare_cached(
        "UPDATE tasks SET title = ?2, description = ?3, key = ?4, phase = ?5, verify = ?6, files = ?7,
                          priority = ?8, model = ?9, updated_at = ?10 WHERE id = ?1",
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
    ])?;
    Ok(())
}

fn move_below(
    tx: &Connection,
    id: &TaskId,
    parent: Option<&TaskId>,
    now: Timestamp,
) -> std::result::Result<(), Refusal> {
    let before: i64 = tx.query_row(
        "SELECT failed_ancestors FROM tasks WHERE id = ?1",
        [id.as_str()],
        |row| row.get(0),
    )?;
    let after = match parent {
        Some(parent) => failed_at_or_above(tx, parent)?,
        None => 0,
    };
    tx.execute(
        "UPDATE tasks SET parent_id = ?2, failed_ancestors = ?3 WHERE id = ?1",
        params![id.as_str(), parent.map(TaskId::as_str), after],
    )?;
    refuse_circle(tx, id)?;
    if after != before {
        status::shift_failed_below(tx, id, after - before)?;
    }
    if !known(tx, id)?.status.satisfies() {
        status::reopen_ancestors(tx, id, now)?;
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

fn skip(
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
    Ok(())
}

/// Makes a task, and what was finished or skipped together with it, open again.
fn reset(
    tx: &Connection,
    id: &TaskId,
    was: Status,
    now: Timestamp,
) -> std::result::Result<(), Refusal> {
    let mut open = vec![id.clone()];
    if was.satisfies() {
        let below = status::below(tx, id)?;
        open.extend(
            below
                .into_iter()
                .filter(|(_, status)| *status == was)
                .map(|(id, _)| id),
        );
    }
    for id in &open {
        refuse_claimed(tx, id)?;
        status::set(tx, id, Status::Pending, None, now)?;
        tx.prepare_cached("UPDATE tasks SET own_work = 0 WHERE id = ?1")?
            .execute([id.as_str()])?;
        tx.prepare_cached(
            "UPDATE strategy_metrics SET consecutive_failures = 0, stuck_flag = 0, lost_in_a_row = 0
             WHERE task_id = ?1",
        )?
        .execute([id.as_str()])?;
    }
    status::reopen_ancestors(tx, id, now)?;
    Ok(())
}

/// Deletes one task; returns who waited for it.
fn remove(tx: &Connection, id: &TaskId) -> rusqlite::Result<Vec<TaskId>> {
    let freed = tx
        .prepare_cached("SELECT blocked_id FROM dependencies WHERE blocker_id = ?1")?
        .query_map([id.as_str()], |row| {
            row.get::<_, String>(0).map(TaskId::from_stored)
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    // Explicitly, while the task is there to be asked for its status: the counters depend on it.
    tx.execute(
        "DELETE FROM dependencies WHERE blocker_id = ?1 OR blocked_id = ?1",
        [id.as_str()],
    )?;
    tx.execute("DELETE FROM tasks WHERE id = ?1", [id.as_str()])?;
    Ok(freed)
}

fn depend(tx: &Connection, blocked: &TaskId, blocker: &TaskId) -> rusqlite::Result<bool> {
    let added = tx
        .prepare_cached(
            "INSERT OR IGNORE INTO dependencies (blocker_id, blocked_id) VALUES (?1, ?2)",
        )?
        .execute([blocker.as_str(), blocked.as_str()])?;
    Ok(added > 0)
}

fn touch(tx: &Connection, id: &TaskId, now: Timestamp) -> rusqlite::Result<()> {
    tx.execute(
        "UPDATE tasks SET updated_at = ?2 WHERE id = ?1",
        [id.as_str(), &now.to_string()],
    )?;
    Ok(())
}

fn child_names(conn: &Connection, id: &TaskId) -> rusqlite::Result<Vec<String>> {
    conn.prepare_cached(
        "SELECT coalesce(key, id) FROM tasks WHERE parent_id = ?1 ORDER BY position",
    )?
    .query_map([id.as_str()], |row| row.get(0))?
    .collect()
}

fn refuse_circle(tx: &Connection, id: &TaskId) -> std::result::Result<(), Refusal> {
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
fn refuse_claimed(tx: &Connection, id: &TaskId) -> std::result::Result<(), Refusal> {
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
