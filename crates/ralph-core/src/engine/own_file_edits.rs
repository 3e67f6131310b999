//! Files that live in the project's root and are Ralph's to write (AGENTS.md, tasks.md and what stands beside it): where an agent
//! edits its working tree's copy of one, the edit is brought into the root, and the copy is as before.

use std::io::ErrorKind;
use std::path::Path;

use super::run_context::RunContext;
use super::run_end::Result;
use super::shared_file::{FileError, edit};
use super::work_tree::WorkTree;
use crate::files::{Limit, Links, Stamp, merge, read, stamp};

impl WorkTree {
    /// After the agent: what it wrote into its copies of Ralph's own files is brought into those of the root, line by line, and
    /// taken out of the working tree.
    pub(super) fn take_own_files_over(&mut self, run: &mut RunContext<'_>) -> Result {
        let (Some(git), Some(isolated)) = (&self.git, &self.isolated) else { return Ok(()) };
        if self.stamps(run) == self.own_stamps {
            return Ok(());
        }
        let base = isolated.base.clone();
        let changed = match git.changed_own_files(&base) {
            Ok(changed) => changed,
            Err(error) => return run.warn(error.to_string()),
        };
        if changed.is_empty() {
            return Ok(());
        }
        let mut brought = Vec::new();
        for file in &changed {
            let before = git.file_at(&base, file).unwrap_or_default().unwrap_or_default();
            let Ok(theirs) = read(&run.work_tree.join(file), Links::Refuse, Limit::TEXT) else {
                brought.push(file.clone());
                continue;
            };
            let target = match run.real_paths.real(&run.project.root().join(file)) {
                Ok(target) => target,
                Err(error) => {
                    run.warn(format!("cannot bring the agent's edit of {file} into the project: {error}"))?;
                    continue;
                }
            };
            match bring_in(&target, &before, &theirs) {
                Ok(()) => brought.push(file.clone()),
                Err(FileError::Halt(halt)) => return Err(halt),
                // It is saved under a reference when the tree is used again.
                Err(FileError::File(error)) => {
                    self.holds_own_edit = true;
                    run.warn(format!("cannot bring the agent's edit of {file} into the project: {error}"))?;
                }
            }
        }
        if let Err(error) = git.restore_own_files(&base, &brought) {
            run.warn(error.to_string())?;
        }
        run.files_may_have_changed();
        Ok(())
    }

    /// What the copies are like: where that stays the same, nobody wrote them.
    pub(super) fn stamps(&self, run: &RunContext<'_>) -> Vec<Stamp> {
        self.own_files.iter().map(|file| stamp(&run.work_tree.join(file))).collect()
    }
}

fn bring_in(target: &Path, before: &[u8], theirs: &[u8]) -> Result<(), FileError> {
    let present = match read(target, Links::Refuse, Limit::TEXT) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let render = |text: Option<&str>| -> Result<(String, ()), FileError> {
        let merged = merge(before, text.unwrap_or_default().as_bytes(), theirs);
        let merged = String::from_utf8(merged).map_err(|_| FileError::file("it is not UTF-8"))?;
        Ok((merged, ()))
    };
    let edited = edit(target, present, render)?;
    edited.swap.done()?;
    Ok(())
}
