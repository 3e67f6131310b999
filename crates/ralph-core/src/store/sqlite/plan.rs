//! The plan in SQLite.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, params};

use super::change::{
    add, change, child_names, depend, finish, known, move_below, refuse_circle, refuse_claimed,
    remove, reset, skip, touch,
};
use super::{Durability, SqliteStore, rows, status};
use crate::event::TaskRef;
use crate::model::{DoneBy, Key, NewTask, Status, Task, TaskEdit, TaskId, Timestamp};
use crate::store::{
    Children, Deleted, Held, Mark, OpenGate, PlanCounts, PlanNode, PlanStore, Random, Result,
    Scope, StoreError,
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
            let mut query = conn.prepare_cached("SELECT status, n, verified FROM task_counts")?;
            let mut found = query.query([])?;
            while let Some(row) = found.next()? {
                let n: u64 = row.get(1)?;
                counts.total += n;
                counts.verified += row.get::<_, u64>(2)?;
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
                    reason: row
                        .get::<_, Option<String>>(3)?
                        .map(|reason| crate::text::one_line(&reason, 500)),
                })
            })?
            .collect()
        })
    }

    fn ungated(&self, scope: &Scope, gates_on: bool) -> Result<Vec<TaskRef>> {
        let (prefix, within, roots) = match scope {
            Scope::All => ("", "", "[]".to_owned()),
            Scope::Below(roots) => (
                super::claims::SCOPE,
                " AND id IN scope",
                rows::to_json(roots),
            ),
        };
        self.read(|conn| {
            let sql = format!(
                "{prefix} SELECT id, key, title FROM tasks
                 WHERE status IN ('pending', 'in_progress', 'blocked') AND child_count = 0
                     AND (verify IS NULL OR NOT ?2){within} AND ?1 IS ?1 ORDER BY position"
            );
            conn.prepare_cached(&sql)?
                .query_map(params![roots, gates_on], |row| {
                    Ok(TaskRef {
                        task_id: TaskId::from_stored(row.get::<_, String>(0)?),
                        key: row.get::<_, Option<String>>(1)?.map(Key::from_stored),
                        title: crate::text::plain_line(&row.get::<_, String>(2)?, usize::MAX),
                    })
                })?
                .collect()
        })
    }

    fn open_gates(&self, limit: usize) -> Result<Vec<OpenGate>> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT id, coalesce(key, id), verify FROM tasks
                 WHERE status NOT IN ('done', 'skipped')
                 ORDER BY priority, position LIMIT ?1",
            )?
            .query_map([limit], |row| {
                Ok(OpenGate {
                    task: TaskId::from_stored(row.get::<_, String>(0)?),
                    name: row.get(1)?,
                    command: row.get(2)?,
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
                         WHERE d.blocked_id = t.id),
                        coalesce((SELECT f.original_id FROM fixes f WHERE f.task_id = t.id),
                                 (SELECT c.task_id FROM changed_in i JOIN plan_changes c
                                      ON c.id = i.change_id WHERE i.task_id = t.id))
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
                    made_for: row.get::<_, Option<String>>(6)?.map(TaskId::from_stored),
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
            super::allowance::renew(tx, id)?;
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
                Mark::Done => finish(tx, &task, DoneBy::Person, now)?,
                Mark::Verified => finish(tx, &task, DoneBy::Gate, now)?,
                Mark::Failed { reason } => {
                    status::set(tx, id, Status::Failed, reason.as_deref(), now)?;
                }
                Mark::Skipped { reason } => skip(tx, id, reason.as_deref(), now)?,
                Mark::Pending => reset(tx, id, task.status, now)?,
            }
            if matches!(mark, Mark::Failed { .. }) {
                // A failed child keeps its parent open.
                status::reopen_ancestors(tx, std::slice::from_ref(id), now)?;
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
                super::fixes::skip_needless(tx, id, now)?;
                super::breaker::leave(tx, id)?;
                freed.extend(remove(tx, id)?);
            }
            let gone: HashSet<&TaskId> = doomed.iter().collect();
            freed.retain(|id| !gone.contains(id));
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
            // A parent may have waited for nothing else.
            status::settle(tx, now)?;
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
