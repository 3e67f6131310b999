//! Saving what a roll-back is about to undo.

use std::collections::BTreeSet;

use super::keep::Kept;
use super::look::Look;
use super::plan::{Plan, entry_of};
use crate::git::GitError;
use crate::git::index::{Entries, Entry, Index};
use crate::git::paths::RepoPath;
use crate::git::places::Places;
use crate::git::save::{self, commit_at};

/// What is known when an attempt is about to be undone.
pub(super) struct Undone<'u> {
    pub(super) places: &'u Places,
    pub(super) kept: &'u Kept,
    pub(super) now: &'u Look,
    pub(super) plan: &'u Plan,
    /// What the attempt's commits changed.
    pub(super) committed: &'u BTreeSet<RepoPath>,
    /// The index before the attempt.
    pub(super) entries: &'u Entries,
}

impl Undone<'_> {
    /// Whether there is anything to undo.
    pub(super) fn is_something(&self) -> bool {
        let (before, now) = (&self.kept.look, self.now);
        !self.plan.undo.is_empty()
            || (&now.head, &now.branch, &now.staged)
                != (&before.head, &before.branch, &before.staged)
    }

    /// Everything that is undone as one commit on top of the attempt's own. Its further parents are what was staged and
    /// nowhere else, and the old branch where the attempt left and moved it.
    pub(super) fn commit(&self, message: &str) -> Result<String, GitError> {
        let (places, now) = (self.places, self.now);
        let tree = Index::of_tree(places, now.head.as_deref())?;
        tree.take(self.plan.undo.keys())?;
        let mut parents: Vec<String> = now.head.iter().cloned().collect();
        let staged_apart = now.dirty.iter().any(|(path, dirty)| {
            dirty.staged_apart && now.staged.get(path) != self.kept.look.staged.get(path)
        });
        // What is in conflict makes no tree: then its sides are in commits already.
        if staged_apart
            && let Ok(staged) = Index::copy_of(places, places.read_index()?.as_ref())?.tree()
        {
            let message = "Staged changes of an attempt";
            parents.push(save::commit(places, &staged, &parents, message)?);
        }
        if let Some(branch) = &self.kept.look.branch
            && now.branch.as_ref() != Some(branch)
        {
            parents.extend(commit_at(places, branch)?);
        }
        save::commit(places, &tree.tree()?, &parents, message)
    }

    /// The same for `git stash`: as changes of the commit before the attempt, without what a person had uncommitted and
    /// the attempt did not touch. None before the first commit, and where no file was changed.
    pub(super) fn stash(&self, message: &str) -> Result<Option<String>, GitError> {
        let Some(base) = self.kept.look.head.as_deref() else {
            return Ok(None);
        };
        if self.plan.undo.is_empty() {
            return Ok(None);
        }
        let (tracked, untracked): (Vec<&RepoPath>, Vec<&RepoPath>) = self
            .plan
            .undo
            .keys()
            .partition(|path| self.is_tracked(path));
        let parent = [base.to_owned()];
        let staged = self.staged(base, &tracked)?;
        let staged = save::commit(
            self.places,
            &staged,
            &parent,
            "Staged changes of an attempt",
        )?;
        let work = Index::of_tree(self.places, Some(base))?;
        work.take(tracked)?;
        let mut parents = vec![base.to_owned(), staged];
        if !untracked.is_empty() {
            let new = Index::of_tree(self.places, None)?;
            new.take(untracked)?;
            let message = "Files created by an attempt";
            parents.push(save::commit(self.places, &new.tree()?, &[], message)?);
        }
        let stash = save::commit(self.places, &work.tree()?, &parents, message)?;
        let call = self.places.change(&["stash", "store", "-q", "-m", message]);
        call.arg(&stash).run()?;
        Ok(Some(stash))
    }

    /// Whether anybody but the disk knows a path.
    fn is_tracked(&self, path: &RepoPath) -> bool {
        self.now.dirty.get(path).is_some_and(|dirty| dirty.tracked)
            || entry_of(self.entries, path).is_some()
            || self.committed.contains(path)
    }

    /// A tree of what is staged at these paths.
    fn staged(&self, base: &str, paths: &[&RepoPath]) -> Result<String, GitError> {
        let now = Index::copy_of(self.places, self.places.read_index()?.as_ref())?.entries()?;
        let index = Index::of_tree(self.places, Some(base))?;
        let staged = |path: &RepoPath| -> Option<&Entry> {
            now.get(path)?.iter().find(|entry| entry.stage == "0")
        };
        let is_gone = |path: &&&RepoPath| !now.contains_key(**path);
        index.forget(paths.iter().filter(is_gone).copied())?;
        index.set(paths.iter().filter_map(|path| Some((*path, staged(path)?))))?;
        index.tree()
    }
}
