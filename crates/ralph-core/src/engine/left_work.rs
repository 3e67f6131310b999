//! Work that attempts leave uncommitted: whose it is, in this run and in later ones.

use super::run::{EngineError, Run};
use super::work_tree::CommitWhen;
use crate::git::Snapshot;
use crate::model::{LeftFile, TaskId};
use crate::store::{Store, StoreError};

/// What attempts left in a tree whose run was killed while they worked.
pub(super) fn cut_off_work(
    store: &dyn Store,
    tree: &Snapshot,
) -> Result<Vec<(TaskId, Vec<LeftFile>)>, StoreError> {
    let looks = store.first_looks()?.into_iter();
    let work = looks.map(|cut_off| {
        let look = Snapshot::from_words(&cut_off.look).zip(cut_off.ended_at);
        let left = look.map(|(look, ended_at)| look.work_cut_off(tree, ended_at));
        (cut_off.task, left.unwrap_or_default())
    });
    Ok(work.collect())
}

impl Run<'_, '_> {
    /// What earlier runs left of tasks' work is still theirs where nobody changed it since. The tree without it.
    pub(super) fn take_over(&mut self, tree: &Snapshot) -> Result<Snapshot, EngineError> {
        if self.engine.settings.git.commit == CommitWhen::Never {
            return Ok(tree.clone());
        }
        for (task, left) in cut_off_work(self.engine.store, tree)? {
            self.engine.store.set_left_work(&task, &left)?;
        }
        let mut clean = tree.clone();
        for (task, file) in self.engine.store.left_work()? {
            if tree.is_as_left(&file) {
                clean = clean.without(std::slice::from_ref(&file.path));
                let owner = self.engine.store.work_owner(&task)?;
                self.taken_over.entry(owner).or_default().push(file.path);
            }
        }
        Ok(clean)
    }

    /// Remembers what attempts on a task have left uncommitted, so that a later run does not take it for a person's.
    pub(super) fn note_left_work(
        &mut self,
        task: &TaskId,
        before_attempt: Option<&Snapshot>,
    ) -> Result<(), EngineError> {
        if self.engine.settings.git.commit == CommitWhen::Never || self.run_start.is_none() {
            return Ok(());
        }
        let task = &self.engine.store.work_owner(task)?;
        let left = match self.first_looks.get(task).cloned() {
            // It is committed, or was never looked at.
            None => Vec::new(),
            Some(first) => {
                let now = self.look_at_tree()?;
                let Some((now, start)) = now.zip(self.run_start.as_ref()) else {
                    // The next run tells the work by the first look, as after a kill.
                    return Ok(());
                };
                if let Some(before) = before_attempt {
                    let changed = now.work_since(before, start);
                    let known = self.changed_by.entry(task.clone()).or_default();
                    known.extend(changed.into_iter().map(|file| file.path));
                }
                now.work_since(&first, start)
            }
        };
        Ok(self.engine.store.set_left_work(task, &left)?)
    }

    /// Remembers the tree before a task's first attempt of the run: its commit has the work of all of them. A task and its
    /// fixes share one: whichever is done first commits what all of them left.
    pub(super) fn remember_look(
        &mut self,
        task: &TaskId,
        tree: Option<&Snapshot>,
    ) -> Result<(), EngineError> {
        if self.engine.settings.git.commit == CommitWhen::Never {
            return Ok(());
        }
        let Some(tree) = tree else { return Ok(()) };
        let task = &self.engine.store.work_owner(task)?;
        // A look at the start may have failed.
        self.run_start.get_or_insert_with(|| tree.clone());
        if !self.first_looks.contains_key(task) {
            let own = self.taken_over.remove(task).unwrap_or_default();
            let known = self.changed_by.entry(task.clone()).or_default();
            known.extend(own.iter().cloned());
            self.first_looks.insert(task.clone(), tree.without(&own));
        }
        // Should this run be killed, the next one tells the attempt's work by it.
        let words = self.first_looks.get(task).and_then(Snapshot::to_words);
        if let Some(words) = words {
            let branch = self.present_branch();
            let store = &mut self.engine.store;
            store.set_first_look(task, &words, branch.as_deref())?;
        }
        Ok(())
    }
}
