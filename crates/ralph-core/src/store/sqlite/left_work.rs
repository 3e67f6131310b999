//! Work that attempts left in the tree.

use rusqlite::params;

use super::{Durability, SqliteStore};
use crate::model::{LeftFile, TaskId};
use crate::store::{LeftWorkStore, Result};

impl LeftWorkStore for SqliteStore {
    fn set_left_work(&mut self, task: &TaskId, files: &[LeftFile]) -> Result<()> {
        self.write(Durability::Process, |tx| {
            tx.execute("DELETE FROM left_work WHERE task_id = ?1", [task.as_str()])?;
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
