//! Protected files during a run: kept before each attempt, put back after it, and after a run that was killed in between.

use std::path::Path;

use super::run_context::RunContext;
use super::run_end::{Result, StopRun};
use crate::evidence::Tampering;
use crate::gate::{ProtectedFiles, Protection, list_files};
use crate::git::Git;
use crate::model::{Task, TaskId};
use crate::project::RALPH_DIR;
use crate::store::{Claimed, Store, StoreError};
use crate::text::few;

/// Where what attempts made of protected files is moved, below Ralph's own directory.
const ASIDE: &str = "tampered";
const NAMED: usize = 5;

#[derive(Debug, Default)]
pub(super) struct FileProtection {
    rules: Protection,
    kept: ProtectedFiles,
}

impl FileProtection {
    /// Before the first attempt: runs that were killed may have left protected files as agents made them.
    pub(super) fn open(&mut self, run: &mut RunContext<'_>) -> Result {
        for orphan in run.store.orphaned_protected()? {
            if Path::new(&orphan.work_dir) != run.work_tree {
                continue;
            }
            match put_back(run, &orphan.task, "killed", &orphan.files) {
                Ok(None) => {}
                Ok(Some(tampering)) => run.warn(format!(
                    "an attempt that was killed had changed protected files; Ralph put them back: {} (what it made of \
                     them is in {})",
                    few(&tampering.names(), NAMED),
                    tampering.aside
                ))?,
                Err(why) => run.warn(format!("{why}; a killed attempt had changed them"))?,
            }
            run.store.forget_protected(&orphan.task)?;
        }
        Ok(())
    }

    /// Keeps the files that the next attempt may not change.
    pub(super) fn keep(&mut self, run: &mut RunContext<'_>, git: Option<&Git>, claimed: &Claimed) -> Result {
        let task = &claimed.task;
        let settings = &run.settings.gate;
        let gates = settings.gates(task);
        let gates: Vec<&str> = gates.iter().map(|gate| gate.command.as_str()).collect();
        self.rules = protection(run.store, task, &settings.protect, &gates, run.work_tree)?;
        self.kept = ProtectedFiles::default();
        if self.rules.is_empty() {
            return Ok(());
        }
        let listed = listed(run, git, &self.rules);
        self.kept = ProtectedFiles::read(run.work_tree, &self.rules, &listed).map_err(|why| {
            let hint = "name fewer files in [gate] protect, or in the task's own `protect`";
            StopRun::error(format!("{}: {why}", task.name())).with_hint(hint)
        })?;
        let work_dir = run.work_tree.display().to_string();
        Ok(run.store.keep_protected(&task.id, &work_dir, &self.kept)?)
    }

    /// After the agent: puts back what it changed of the protected files, and remembers which files it made. The inner error is
    /// why that cannot be done.
    pub(super) fn put_back(
        &mut self,
        run: &mut RunContext<'_>,
        git: Option<&Git>,
        claimed: &Claimed,
    ) -> Result<Result<Option<Tampering>, String>> {
        let id = &claimed.task.id;
        if self.rules.is_empty() {
            return Ok(Ok(None));
        }
        let attempt = format!("{:03}", claimed.tries.recorded + 1);
        let done = put_back(run, id, &attempt, &self.kept);
        if done.is_err() {
            return Ok(done);
        }
        let paths = listed(run, git, &self.rules);
        let now = ProtectedFiles::read(run.work_tree, &self.rules, &paths).unwrap_or_default();
        let made: Vec<String> = now.0.into_keys().filter(|path| !self.kept.0.contains_key(path)).collect();
        if !made.is_empty() {
            let owner = run.store.work_owner(id)?;
            run.store.note_made_files(&owner, &made)?;
        }
        run.store.forget_protected(id)?;
        Ok(done)
    }
}

/// What attempts on a task may not change. What an earlier attempt on it made is its own.
pub fn protection(
    store: &Store,
    task: &Task,
    protect: &[String],
    gates: &[&str],
    root: &Path,
) -> Result<Protection, StoreError> {
    let owner = store.work_owner(&task.id)?;
    let made = store.made_files(&owner)?;
    // The files of a fix task are what an agent's report names.
    let files = store.task(owner.as_str())?.files;
    let may_change = task.may_change.iter().chain(&made);
    Ok(Protection::new(protect.iter().chain(&task.protect), may_change, &files, gates, root))
}

/// The files that patterns are compared with.
fn listed(run: &RunContext<'_>, git: Option<&Git>, rules: &Protection) -> Vec<String> {
    let patterns = rules.patterns();
    if patterns.is_empty() {
        return Vec::new();
    }
    let of_git = git.and_then(|git| git.files().ok());
    of_git.unwrap_or_else(|| list_files(run.work_tree, &patterns.roots()))
}

/// Puts back the files that are not as they were kept; what is there now is moved aside.
fn put_back(
    run: &mut RunContext<'_>,
    task: &TaskId,
    attempt: &str,
    kept: &ProtectedFiles,
) -> Result<Option<Tampering>, String> {
    let cannot = |error: std::io::Error| format!("cannot put back protected files: {error}");
    let files = kept.tampered(run.work_tree).map_err(cannot)?;
    if files.is_empty() {
        return Ok(None);
    }
    let name = format!("{task}-{attempt}");
    let dir = run.ralph_dir().map_err(cannot)?.join(ASIDE).join(&name);
    kept.put_back(run.work_tree, &dir, &files).map_err(cannot)?;
    run.files_may_have_changed();
    Ok(Some(Tampering { files, aside: format!("{RALPH_DIR}/{ASIDE}/{name}") }))
}
