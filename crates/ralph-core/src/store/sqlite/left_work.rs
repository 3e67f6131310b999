//! Work that attempts left in the tree.

use std::time::Duration;

use rusqlite::{OptionalExtension, params};

use super::{Durability, SqliteStore, rows};
use crate::model::{CommitIntent, LeftFile, TaskId, Token};
use crate::store::{FirstLook, LeftWorkStore, Result};

impl LeftWorkStore for SqliteStore {
    fn set_first_look(&mut self, task: &TaskId, look: &str, branch: Option<&str>) -> Result<()> {
        self.write(Durability::Process, |tx| {
            tx.prepare_cached(
                "INSERT OR REPLACE INTO first_looks (task_id, look, branch) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![task.as_str(), look, branch])?;
            Ok(())
        })
    }

    fn first_looks(&self) -> Result<Vec<FirstLook>> {
        self.read(|conn| {
            conn.prepare_cached(
                "WITH chain (root, id) AS (
                     SELECT task_id, task_id FROM first_looks
                     UNION SELECT root_id, task_id FROM fixes WHERE root_id IS NOT NULL)
                 SELECT l.task_id, l.look, o.started_at, o.duration_ms, l.branch
                 FROM first_looks AS l
                 LEFT JOIN iteration_outcomes AS o ON (o.task_id, o.attempt_number) = (
                     SELECT last.task_id, last.attempt_number FROM iteration_outcomes AS last
                     JOIN chain ON chain.id = last.task_id
                     WHERE chain.root = l.task_id ORDER BY last.started_at DESC LIMIT 1)
                 WHERE NOT EXISTS (SELECT 1 FROM claims JOIN chain ON chain.id = claims.task_id
                     WHERE chain.root = l.task_id)",
            )?
            .query_map([], |row| {
                let started = rows::optional_time(row, 2)?;
                let took = Duration::from_millis(row.get::<_, Option<u64>>(3)?.unwrap_or(0));
                Ok(FirstLook {
                    task: TaskId::from_stored(row.get::<_, String>(0)?),
                    look: row.get(1)?,
                    branch: row.get(4)?,
                    ended_at: started.map(|started| started.plus(took)),
                })
            })?
            .collect()
        })
    }

    fn set_left_work(&mut self, task: &TaskId, files: &[LeftFile]) -> Result<()> {
        self.write(Durability::Process, |tx| {
            for table in ["left_work", "first_looks"] {
                tx.prepare_cached(&format!("DELETE FROM {table} WHERE task_id = ?1"))?
                    .execute([task.as_str()])?;
            }
            let mut insert = tx.prepare_cached(
                "INSERT INTO left_work (task_id, path, state) VALUES (?1, ?2, ?3)",
            )?;
            for file in files {
                insert.execute(params![task.as_str(), file.path, file.state])?;
            }
            Ok(())
        })
    }

    fn left_work(&self) -> Result<Vec<(TaskId, LeftFile)>> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT left_work.task_id, left_work.path, left_work.state FROM left_work
                 JOIN tasks ON tasks.id = left_work.task_id
                 WHERE tasks.status NOT IN ('done', 'skipped') ORDER BY 1, 2",
            )?
            .query_map([], |row| {
                let task = TaskId::from_stored(row.get::<_, String>(0)?);
                let (path, state) = (row.get(1)?, row.get(2)?);
                Ok((task, LeftFile { path, state }))
            })?
            .collect()
        })
    }

    fn work_owner(&self, task: &TaskId) -> Result<TaskId> {
        self.read(|conn| super::fixes::root_of(conn, task))
    }

    fn set_commit_intent(
        &mut self,
        task: &TaskId,
        token: &Token,
        intent: &CommitIntent,
    ) -> Result<()> {
        let intent = rows::to_json(intent);
        self.write(Durability::Process, |tx| {
            super::claims::refuse_moved(tx, task, token)?;
            tx.prepare_cached("UPDATE claims SET commit_intent = ?2 WHERE task_id = ?1")?
                .execute([task.as_str(), &intent])?;
            Ok(())
        })
    }

    fn commit_intent(&self, task: &TaskId) -> Result<Option<CommitIntent>> {
        self.read(|conn| {
            let intent = conn
                .prepare_cached("SELECT commit_intent FROM claims WHERE task_id = ?1")?
                .query_row([task.as_str()], |row| row.get::<_, Option<String>>(0))
                .optional()?;
            // What cannot be read tells nothing.
            Ok(intent
                .flatten()
                .and_then(|intent| serde_json::from_str(&intent).ok()))
        })
    }

    fn is_recorded_commit(&self, commit: &str) -> Result<bool> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT 1 FROM iteration_outcomes WHERE commit_after = ?1 AND commit_before IS NOT ?1
                 AND outcome = 'done'",
            )?
            .exists([commit])
        })
    }
}
