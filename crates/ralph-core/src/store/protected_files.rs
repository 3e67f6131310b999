//! The protected files of attempts under way as they were before, so that the next run can put them back where this one is
//! killed; and the files that tasks made themselves.

use std::collections::{BTreeMap, HashSet};

use sha2::{Digest, Sha256};

use super::sql::{Changes, Json, Statements, bind, record};
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

/// Where a version is kept: its path, its mode where it is a file, and the hash of its content; without both nothing was there.
type KeptFile = (String, Option<u32>, Option<String>);

struct Manifest {
    task: TaskId,
    work_dir: String,
    files: Vec<KeptFile>,
}

record!(Manifest { task = "task_id", work_dir, files });

fn hash(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Store {
    /// Keeps the protected files of an attempt that begins, in place of those of the last one. A content that is there already
    /// is not written again: most attempts find what the one before found.
    pub fn keep_protected(&mut self, task: &TaskId, work_dir: &str, files: &ProtectedFiles) -> Result<()> {
        self.write(Durability::Process, |tx| {
            let mut known: HashSet<String> = tx.all("SELECT hash FROM kept_contents", [])?;
            let mut kept: Vec<KeptFile> = Vec::new();
            for (path, version) in &files.0 {
                let (mode, content) = match version {
                    Version::File { bytes, mode } => (Some(*mode), Some(bytes)),
                    Version::Link(target) => (None, Some(target)),
                    Version::Gone | Version::Other => (None, None),
                };
                let hash = content.map(|content| hash(content));
                if let Some((hash, content)) = hash.as_ref().zip(content)
                    && known.insert(hash.clone())
                {
                    tx.insert("kept_contents", bind! { hash, content })?;
                }
                kept.push((path.clone(), mode, hash));
            }
            let work_dir = &*tx.local(work_dir);
            tx.upsert("kept_files", &["task_id"], bind! { task_id: task, work_dir, files: Json(&kept) })
        })
    }

    pub fn forget_protected(&mut self, task: &TaskId) -> Result<()> {
        self.change(Durability::Process, "DELETE FROM kept_files WHERE task_id = ?1", [task])
    }

    /// What is kept for tasks that no attempt is under way on: those attempts were killed.
    pub fn orphaned_protected(&self) -> Result<Vec<KeptFiles>> {
        let sql =
            "SELECT * FROM kept_files WHERE task_id NOT IN (SELECT task_id FROM claims) ORDER BY task_id";
        let manifests: Vec<Manifest> = self.all(sql, [])?;
        let mut kept: Vec<KeptFiles> = Vec::new();
        for Manifest { task, work_dir, files } in manifests {
            // What was killed in another clone is put back there.
            let Some(work_dir) = self.conn().known_here(&work_dir).map(str::to_owned) else { continue };
            let mut versions = BTreeMap::new();
            for (path, mode, hash) in files {
                let sql = "SELECT content FROM kept_contents WHERE hash = ?1";
                let content: Option<Vec<u8>> = match &hash {
                    Some(hash) => self.first(sql, [hash])?,
                    None => None,
                };
                let version = match (mode, content) {
                    (Some(mode), Some(bytes)) => Version::File { bytes, mode },
                    (None, Some(target)) => Version::Link(target),
                    (_, None) if hash.is_none() => Version::Gone,
                    // A content that is lost cannot be put back.
                    (_, None) => continue,
                };
                versions.insert(path, version);
            }
            kept.push(KeptFiles { task, work_dir, files: ProtectedFiles(versions) });
        }
        Ok(kept)
    }

    /// Deletes the contents that no attempt under way needs.
    pub fn drop_kept_contents(&mut self) -> Result<()> {
        let sql = "DELETE FROM kept_contents WHERE NOT EXISTS (SELECT 1 FROM kept_files)";
        self.change(Durability::Process, sql, [])
    }

    /// Remembers files that an attempt on a task made: its later ones may change them.
    pub fn note_made_files(&mut self, task: &TaskId, paths: &[String]) -> Result<()> {
        self.write(Durability::Process, |tx| {
            for path in paths {
                tx.insert_new("made_files", bind! { task_id: task, path })?;
            }
            Ok(())
        })
    }

    /// The files that attempts on a task made, or on the task that it is a fix for.
    pub fn made_files_of_root(&self, task: &TaskId) -> Result<Vec<String>> {
        let sql = "SELECT path FROM made_files
             WHERE task_id = coalesce((SELECT root_id FROM fixes WHERE task_id = ?1), ?1)";
        self.all(sql, [task])
    }

    /// The files that the root of a fix task declares; none for a task that fixes nothing.
    pub fn files_of_root(&self, fix: &TaskId) -> Result<Option<Vec<String>>> {
        self.first("SELECT files FROM tasks WHERE id = (SELECT root_id FROM fixes WHERE task_id = ?1)", [fix])
    }

    pub fn made_files(&self, task: &TaskId) -> Result<Vec<String>> {
        self.all("SELECT path FROM made_files WHERE task_id = ?1", [task])
    }
}
