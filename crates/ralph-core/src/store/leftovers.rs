//! Changes that attempts left uncommitted in the working tree, so that a later run knows whose they are.

use std::time::Duration;

use super::sql::{Changes, ReadResult, Row, Statements, bind, record};
use super::{Durability, Result, Store, fixes};
use crate::model::{LeftoverFile, TaskId, Timestamp};

/// The working tree before attempts that were under way when their run died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeSnapshot {
    /// The task; of a fix task the one at the root of its chain.
    pub task: TaskId,
    /// The tree's state as `git/` describes it.
    pub snapshot: String,
    pub branch: Option<String>,
    /// When the last attempt on the task or on its fixes ended, as far as is known.
    pub ended_at: Option<Timestamp>,
}

record!(TreeSnapshot { task = "task_id", snapshot = "look", branch, ended_at via ended_at });
record!(LeftoverFile { path, state });

fn ended_at(row: &Row<'_>, _: &str) -> ReadResult<Option<Timestamp>> {
    let (started, took): (Option<Timestamp>, Duration) = (row.get("started_at")?, row.get("duration_ms")?);
    Ok(started.map(|started| started.plus(took)))
}

impl Store {
    /// Remembers the tree before a task's attempts, and the branch, until what they left is known.
    pub fn set_tree_snapshot(&mut self, task: &TaskId, snapshot: &str, branch: Option<&str>) -> Result<()> {
        self.write(Durability::Process, |tx| {
            let snapshot = tx.local(snapshot);
            let values = bind! { task_id: task, look: &*snapshot, branch };
            tx.upsert("first_looks", &["task_id"], values)
        })
    }

    pub fn tree_snapshots(&self) -> Result<Vec<TreeSnapshot>> {
        let sql = "WITH chain (root, id) AS (
                 SELECT task_id, task_id FROM first_looks
                 UNION SELECT root_id, task_id FROM fixes WHERE root_id IS NOT NULL)
             SELECT l.task_id, l.look, l.branch, o.started_at, o.duration_ms
             FROM first_looks AS l
             LEFT JOIN iteration_outcomes AS o ON (o.task_id, o.attempt_number) = (
                 SELECT last.task_id, last.attempt_number FROM iteration_outcomes AS last
                 JOIN chain ON chain.id = last.task_id
                 WHERE chain.root = l.task_id ORDER BY last.started_at DESC LIMIT 1)
             WHERE NOT EXISTS (SELECT 1 FROM claims JOIN chain ON chain.id = claims.task_id
                 WHERE chain.root = l.task_id)";
        let all: Vec<TreeSnapshot> = self.all(sql, [])?;
        let here = |stored: TreeSnapshot| {
            let snapshot = self.conn().known_here(&stored.snapshot)?.to_owned();
            Some(TreeSnapshot { snapshot, ..stored })
        };
        Ok(all.into_iter().filter_map(here).collect())
    }

    /// Remembers what attempts on a task left uncommitted, in place of what was known.
    pub fn set_leftovers(&mut self, task: &TaskId, files: &[LeftoverFile]) -> Result<()> {
        self.write(Durability::Process, |tx| {
            tx.change("DELETE FROM left_work WHERE task_id = ?1", [task])?;
            tx.change("DELETE FROM first_looks WHERE task_id = ?1", [task])?;
            for LeftoverFile { path, state } in files {
                let values = bind! { task_id: task, path, state };
                tx.insert("left_work", values)?;
            }
            Ok(())
        })
    }

    /// What was left of every task that is not done.
    pub fn leftovers(&self) -> Result<Vec<(TaskId, LeftoverFile)>> {
        let sql = "SELECT l.task_id, l.path, l.state FROM left_work l JOIN tasks t ON t.id = l.task_id
             WHERE t.status NOT IN ('done', 'skipped') ORDER BY l.task_id, l.path";
        self.all(sql, [])
    }

    /// Whether attempts on a task, since it was last done, changed files or may have, and Ralph did not undo that.
    pub fn has_earlier_work(&self, task: &TaskId) -> Result<bool> {
        let sql = "SELECT 1 FROM iteration_outcomes WHERE task_id = ?1 AND agent IS NOT NULL
             AND undone_ref IS NULL AND files_changed IS DISTINCT FROM '[]' AND attempt_number > (
                 SELECT coalesce(max(attempt_number), 0) FROM iteration_outcomes
                 WHERE task_id = ?1 AND outcome = 'done')";
        self.has(sql, [task])
    }

    /// Whose work the changes of an attempt on a task are: a fix task works for the one at the root of its chain.
    pub fn work_owner(&self, task: &TaskId) -> Result<TaskId> {
        self.read(|conn| fixes::root_of(conn, task))
    }

    /// Whether a commit is on record as what came of an attempt.
    pub fn is_recorded_commit(&self, commit: &str) -> Result<bool> {
        let sql = "SELECT 1 FROM iteration_outcomes WHERE commit_after = ?1
             AND commit_before IS DISTINCT FROM ?1 AND outcome = 'done'";
        self.has(sql, [commit])
    }
}
