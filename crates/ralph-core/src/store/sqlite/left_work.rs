//! Work that attempts left in the tree.

use std::time::Duration;

use rusqlite::params;

use super::{Durability, SqliteStore, rows};
use crate::model::{LeftFile, TaskId};
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
                "SELECT task_id, look, (SELECT started_at FROM iteration_outcomes AS o
                    WHERE o.task_id = l.task_id ORDER BY attempt_number DESC LIMIT 1),
                    (SELECT duration_ms FROM iteration_outcomes AS o
                    WHERE o.task_id = l.task_id ORDER BY attempt_number DESC LIMIT 1), branch
                 FROM first_looks AS l
                 WHERE NOT EXISTS (SELECT 1 FROM claims WHERE claims.task_id = l.task_id)",
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
}
