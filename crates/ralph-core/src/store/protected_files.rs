//! The protected files of attempts under way as they were before, so that the next run can put them back where this one is
//! killed; and the files that tasks made themselves.

use super::sql::{Changes, Row, Statements, bind};
use super::{Durability, Result, Store};
use crate::gate::{ProtectedFiles, Version};
use crate::model::TaskId;

/// What is kept for an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFiles {
    pub task: TaskId,
    /// Where the attempt works.
    pub work_dir: String,
    pub files: ProtectedFiles,
}

struct FileRow {
    task: TaskId,
    work_dir: String,
    path: String,
    version: Version,
}

impl super::sql::FromRow for FileRow {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let (mode, content): (Option<u32>, Option<Vec<u8>>) = (row.get("mode")?, row.get("content")?);
        Ok(Self {
            task: row.get("task_id")?,
            work_dir: row.get("work_dir")?,
            path: row.get("path")?,
            version: match (mode, content) {
                (Some(mode), Some(bytes)) => Version::File { bytes, mode },
                (None, Some(target)) => Version::Link(target),
                (_, None) => Version::Gone,
            },
        })
    }
}

impl Store {
    /// Keeps the protected files of an attempt that begins, in place of those of the last one.
    pub fn keep_protected(&mut self, task: &TaskId, work_dir: &str, files: &ProtectedFiles) -> Result<()> {
        self.write(Durability::Process, |tx| {
            tx.change("DELETE FROM protected_files WHERE task_id = ?1", [task])?;
            for (path, version) in &files.0 {
                let (mode, content) = match version {
                    Version::File { bytes, mode } => (Some(*mode), Some(bytes)),
                    Version::Link(target) => (None, Some(target)),
                    Version::Gone | Version::Other => (None, None),
                };
                let values = bind! { task_id: task, work_dir, path, mode, content };
                tx.insert_new("protected_files", values)?;
            }
            Ok(())
        })
    }

    pub fn forget_protected(&mut self, task: &TaskId) -> Result<()> {
        self.change(Durability::Process, "DELETE FROM protected_files WHERE task_id = ?1", [task])
    }

    /// What is kept for tasks that no attempt is under way on: those attempts were killed.
    pub fn orphaned_protected(&self) -> Result<Vec<KeptFiles>> {
        let sql = "SELECT * FROM protected_files
             WHERE task_id NOT IN (SELECT task_id FROM claims) ORDER BY task_id, path";
        let rows: Vec<FileRow> = self.all(sql, [])?;
        let mut kept: Vec<KeptFiles> = Vec::new();
        for FileRow { task, work_dir, path, version } in rows {
            if kept.last().is_none_or(|last| last.task != task) {
                kept.push(KeptFiles { task, work_dir, files: ProtectedFiles::default() });
            }
            if let Some(last) = kept.last_mut() {
                last.files.0.insert(path, version);
            }
        }
        Ok(kept)
    }

    /// Remembers files that an attempt on a task made: its later ones may change them.
    pub fn note_made_files(&mut self, task: &TaskId, paths: &[String]) -> Result<()> {
        self.write(Durability::Process, |tx| {
            for path in paths {
                let sql = "INSERT OR IGNORE INTO made_files (task_id, path) VALUES (:task, :path)";
                tx.change(sql, bind! { task, path })?;
            }
            Ok(())
        })
    }

    pub fn made_files(&self, task: &TaskId) -> Result<Vec<String>> {
        self.all("SELECT path FROM made_files WHERE task_id = ?1", [task])
    }
}
