//! Protected files during a run: kept before each attempt, put back after it, and after a run that was killed in between.

use std::path::Path;

use super::readiness::open_gates;
use super::run_context::RunContext;
use super::run_end::{Result, StopRun};
use crate::evidence::Tampering;
use crate::gate::{Patterns, ProtectedFiles, Protection, list_files};
use crate::git::{Git, Snapshot};
use crate::model::{Status, Task, TaskId};
use crate::project::RALPH_DIR;
use crate::store::{Claimed, Store, StoreError};
use crate::text::few;

/// Where what attempts made of protected files is moved, below Ralph's own directory.
pub(super) const ASIDE: &str = "tampered";
const NAMED: usize = 5;

#[derive(Debug, Default)]
pub(super) struct FileProtection {
    rules: Protection,
    kept: ProtectedFiles,
    /// What the gates of open tasks executed when the run began.
    scripts: ProtectedFiles,
}

impl FileProtection {
    /// Before the first attempt: runs that were killed may have left protected files as agents made them.
    pub(super) fn open(&mut self, run: &mut RunContext<'_>) -> Result {
        for orphan in run.store.orphaned_protected()? {
            if Path::new(&orphan.work_dir) != run.work_tree {
                continue;
            }
            if run.is_worker {
                // A tree of Ralph's own is as it was committed.
                run.store.forget_protected(&orphan.task)?;
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
        run.store.drop_kept_contents()?;
        let gates = open_gates(run.store, run.settings.gate.default.as_deref())?;
        let gates: Vec<&str> = gates.iter().map(|gate| gate.command.as_str()).collect();
        let rules = Protection::new(&[], &[], &[], &gates, run.work_tree);
        self.scripts = ProtectedFiles::read(run.work_tree, &rules, &[]).unwrap_or_default();
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
        self.restore_scripts(run, task)?;
        let listed = listed(run, git, &self.rules);
        self.kept = ProtectedFiles::read(run.work_tree, &self.rules, &listed).map_err(|why| {
            let hint = "name fewer files in [gate] protect, or in the task's own `protect`";
            StopRun::error(format!("{}: {why}", task.name())).with_hint(hint)
        })?;
        let work_dir = run.work_tree.display().to_string();
        Ok(run.store.keep_protected(&task.id, &work_dir, &self.kept)?)
    }

    /// After the agent: puts back what it changed of the protected files, on disk and in git's index, and remembers which files
    /// it made. `moments` are the tree before the attempt and after it. The inner error is why that cannot be done.
    pub(super) fn put_back(
        &mut self,
        run: &mut RunContext<'_>,
        git: Option<&Git>,
        claimed: &Claimed,
        moments: Option<(&Snapshot, &Snapshot)>,
    ) -> Result<Result<Option<Tampering>, String>> {
        let id = &claimed.task.id;
        if self.rules.is_empty() {
            return Ok(Ok(None));
        }
        self.spare_others(run, id)?;
        let attempt = format!("{:03}", claimed.attempts.recorded + 1);
        let done = put_back(run, id, &attempt, &self.kept);
        if done.is_err() {
            return Ok(done);
        }
        if let (Some(git), Some((before, after))) = (git, moments)
            // A repository without a commit, or in the middle of a merge, stays as it is.
            && git.unstage(self.kept.0.keys(), before, after).is_ok_and(|any| any)
        {
            run.files_may_have_changed();
        }
        let paths = listed(run, git, &self.rules);
        let now = ProtectedFiles::paths(run.work_tree, &self.rules, &paths).into_iter();
        let made: Vec<String> = now.filter(|path| !self.kept.0.contains_key(path)).collect();
        if !made.is_empty() {
            let owner = run.store.work_owner(id)?;
            run.store.note_made_files(&owner, &made)?;
        }
        Ok(done)
    }

    /// While gates run what the attempt wrote, and after: puts back what changes meanwhile, and adds the scripts that the gates
    /// execute to `changed`. What else changes may be the gates' own doing.
    pub(super) fn restore(&self, run: &mut RunContext<'_>, task: &TaskId, changed: &mut Option<Tampering>) {
        if let Ok(Some(Tampering { mut files, aside })) = put_back(run, task, "gate", &self.kept) {
            files.retain(|file| {
                !self.rules.covers(&file.path) || self.rules.executed().any(|one| *one == file.path)
            });
            if !files.is_empty() {
                Tampering::add(changed, Tampering { files, aside });
            }
        }
    }

    /// After the gates: nothing is left to put back, should this run be killed.
    pub(super) fn end(&self, run: &mut RunContext<'_>, task: &TaskId) -> Result {
        if self.rules.is_empty() {
            return Ok(());
        }
        Ok(run.store.forget_protected(task)?)
    }

    /// Puts back scripts of the task's gate that attempts on other tasks removed: it could else be given another judge.
    fn restore_scripts(&self, run: &mut RunContext<'_>, task: &Task) -> Result {
        let is_gone = |path: &&String| run.work_tree.join(path).symlink_metadata().is_err();
        let gone = self.rules.executed().filter(is_gone);
        let gone = gone.filter_map(|path| Some((path.clone(), self.scripts.0.get(path)?.clone())));
        let gone = ProtectedFiles(gone.collect());
        for path in gone.0.keys() {
            let name = task.name();
            run.warn(format!(
                "{path}, which the gate of {name} executes, was removed during this run; Ralph put it back"
            ))?;
        }
        if let Err(why) = put_back(run, &task.id, "before", &gone) {
            run.warn(why)?;
        }
        Ok(())
    }

    /// Leaves out what tasks of other runs in the same tree may change meanwhile.
    fn spare_others(&mut self, run: &RunContext<'_>, own: &TaskId) -> Result {
        if run.other_run()?.is_none() {
            return Ok(());
        }
        for task in run.store.tasks(Some(Status::InProgress))?.iter().filter(|task| task.id != *own) {
            let made = run.store.made_files(&task.id)?;
            let theirs = Patterns::new(task.may_change.iter().chain(&task.files).chain(&made));
            self.kept.0.retain(|path, _| !theirs.is_match(path));
        }
        Ok(())
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
    let made = store.made_files_of_root(&task.id)?;
    // The files of a fix task are what an agent's report names.
    let files = store.files_of_root(&task.id)?.unwrap_or_else(|| task.files.clone());
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
    let all = run.ralph_dir().map_err(cannot)?.join(ASIDE);
    let dir = all.join(&name);
    // Links that an agent put there lead elsewhere.
    for link in [&all, &dir].into_iter().filter(|dir| dir.is_symlink()) {
        std::fs::remove_file(link).map_err(cannot)?;
    }
    kept.put_back(run.work_tree, &dir, &files).map_err(cannot)?;
    run.files_may_have_changed();
    Ok(Some(Tampering { files, aside: format!("{RALPH_DIR}/{ASIDE}/{name}") }))
}
