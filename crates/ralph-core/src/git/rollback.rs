//! Undoing a failed attempt: first everything is saved under a reference, then everything is as it was before.

use std::collections::{BTreeMap, BTreeSet};

use super::index::Index;
use super::paths::{PathState, RepoPath, bare, display_path, parents};
use super::repository::{IndexFile, Repository};
use super::restore::{Undo, decide};
use super::saved::clean_message;
use super::{Git, GitError, Left, LeftBecause, Snapshot};

/// How often the state is read when files come and go meanwhile.
const TRIES: u32 = 3;
/// What git writes into its logs of references.
const REFLOG: &str = "ralph: roll back";

/// Where a person finds what was undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RollbackMode {
    /// Under a reference, and in `git stash list`.
    Stash,
    Reset,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RolledBack {
    /// Where everything that was undone is; none if there was nothing.
    pub reference: Option<String>,
    /// The files that were restored or removed.
    pub files: Vec<String>,
    /// How many commits the branch went back.
    pub commits_undone: u32,
    /// What the attempt changed and is still so.
    pub left: Vec<Left>,
}

/// The state before an attempt: HEAD, the branch, the index, and every uncommitted file.
///
/// Its objects are held by a reference until [`Git::let_go`] or a rollback, so that neither `git gc` nor a crash can take
/// them. The files are in it as they are on the disk, before any filter: `git show REFERENCE:PATH` restores one.
#[derive(Clone, Debug)]
pub struct Kept {
    tree: Snapshot,
    index: Option<IndexFile>,
    pub(super) files: BTreeMap<RepoPath, PathState>,
    /// The reference and the commit it is at; none without any commit or file.
    saved: Option<(String, String)>,
}

impl Kept {
    pub fn reference(&self) -> Option<&str> {
        self.saved.as_ref().map(|(name, _)| name.as_str())
    }
}

impl Git {
    /// Keeps the state of the working tree, so that [`Git::roll_back`] can restore it. `name` tells one from another (the
    /// task, the attempt); `tree` is the state with what is ignored, where it was read just now.
    pub fn keep(&self, name: &str, tree: Option<&Snapshot>) -> Result<Kept, GitError> {
        let repository = self.settled()?;
        repository.wait_for_index()?;
        let mut known = tree.cloned();
        let mut tries = 1;
        loop {
            let tree = known.take().map_or_else(|| self.snapshot_with_ignored(), Ok)?;
            match self.keep_tree(repository, name, tree) {
                // A file went away between being seen and being read.
                Err(GitError::Refused { .. } | GitError::File { .. }) if tries < TRIES => tries += 1,
                done => return done,
            }
        }
    }

    fn keep_tree(&self, repository: &Repository, name: &str, tree: Snapshot) -> Result<Kept, GitError> {
        let index = repository.read_index()?;
        let dirty = self.dirty_paths(&tree);
        let files = repository.path_states(dirty.iter().map(|(path, letters)| (path, letters.as_ref())))?;
        let commit = match files.is_empty() && tree.staged.is_empty() {
            true => tree.head.clone(),
            // The files as a commit on top of HEAD, with the index as its second parent.
            false => {
                let saved = Index::of_tree(repository, tree.head())?;
                saved.set_states(&files)?;
                let mut parents: Vec<String> = tree.head.iter().cloned().collect();
                if !tree.staged.is_empty() {
                    let message = "Staged changes before an attempt";
                    parents.extend(save_staged(repository, index.as_ref(), &parents, message)?);
                }
                let message = "Uncommitted changes before an attempt";
                Some(repository.commit_tree(&saved.write_tree()?, &parents, message)?)
            }
        };
        let saved = match commit {
            Some(commit) => Some((repository.save_reference("kept", name, &commit)?, commit)),
            None => None,
        };
        Ok(Kept { tree, index, files, saved })
    }

    /// Gives up what was kept, after an attempt that is not rolled back. Not after a rollback that failed: it names the
    /// reference as the place where things are.
    pub fn let_go(&self, kept: &Kept) -> Result<(), GitError> {
        let Some((reference, commit)) = &kept.saved else {
            return Ok(());
        };
        self.repository()?.change(&["update-ref", "-d", reference, commit]).run().map(drop)
    }

    /// What is uncommitted, from the repository's root; with git's letters for what is a repository.
    fn dirty_paths(&self, tree: &Snapshot) -> BTreeMap<RepoPath, Option<Vec<u8>>> {
        let paths = tree.dirty.iter().map(|(path, state)| {
            let nested = path.ends_with(b"/").then(Vec::new);
            (self.rooted(bare(path)), state.submodule.clone().or(nested))
        });
        paths.collect()
    }

    /// Restores the working tree, the index and HEAD to what was kept. Everything undone is first saved in a commit under
    /// `refs/ralph/rollback/` and `name`, which errors name too. Untouched are ignored files, Ralph's own, submodules,
    /// other repositories, and everything outside the project; of other references only the branch moves back.
    ///
    /// What a person changed while the attempt ran cannot be told from the attempt's work and goes with it; it is in
    /// that commit. No other run may work in the same tree meanwhile. After an error what was kept stays kept.
    pub fn roll_back(
        &self,
        kept: &Kept,
        mode: RollbackMode,
        name: &str,
        message: &str,
    ) -> Result<RolledBack, GitError> {
        let repository = self.settled()?;
        repository.wait_for_index()?;
        let now = self.snapshot_with_ignored()?;
        let committed = repository.differences(kept.tree.head(), now.head())?;
        let index = Index::copy_of(repository, kept.index.as_ref())?;
        let (undo, left) = (BTreeMap::new(), Vec::new());
        let mut rollback = Rollback { git: self, repository, kept, now: &now, committed, index, undo, left };
        rollback.plan()?;
        let mut done = RolledBack::default();
        if rollback.is_needed() {
            let message = clean_message(message);
            let reference = repository.save_reference("rollback", name, &rollback.save(&message)?)?;
            let place = || (reference.clone(), kept.reference().map(str::to_owned));
            done.commits_undone = rollback.move_head().map_err(|error| {
                let (reference, kept) = place();
                GitError::RollbackRefused { why: error.to_string(), reference, kept }
            })?;
            rollback.restore(mode, &message).map_err(|why| {
                let (reference, kept) = place();
                GitError::RollbackIncomplete { why, reference, kept }
            })?;
            done.files = rollback.undo.keys().map(|path| self.display(path)).collect();
            done.reference = Some(reference);
        }
        done.left = rollback.left;
        // A reference too many harms nobody.
        let _ = self.let_go(kept);
        Ok(done)
    }
}

/// An index as a commit. What is in conflict makes no tree: then its sides are in commits already.
fn save_staged(
    repository: &Repository,
    index: Option<&IndexFile>,
    parents: &[String],
    message: &str,
) -> Result<Option<String>, GitError> {
    match Index::copy_of(repository, index)?.write_tree() {
        Ok(tree) => repository.commit_tree(&tree, parents, message).map(Some),
        Err(_) => Ok(None),
    }
}

/// Whether a path is, or is below, something ignored.
fn is_ignored(tree: &Snapshot, path: &[u8]) -> bool {
    let is = |path: &[u8]| tree.ignored.contains(path) || tree.ignored.contains(&[path, b"/"].concat());
    is(path) || parents(path).any(is)
}

/// A rollback under way.
struct Rollback<'r> {
    git: &'r Git,
    repository: &'r Repository,
    kept: &'r Kept,
    now: &'r Snapshot,
    /// What the attempt's commits changed.
    committed: BTreeSet<RepoPath>,
    /// The index before the attempt.
    index: Index<'r>,
    undo: BTreeMap<RepoPath, Undo>,
    /// What the attempt changed and stays.
    left: Vec<Left>,
}

impl Rollback<'_> {
    /// Decides what to do with everything that may have been changed.
    fn plan(&mut self) -> Result<(), GitError> {
        let (git, kept) = (self.git, self.kept);
        let dirty = git.dirty_paths(self.now);
        let letters = |path: &[u8]| dirty.get(path)?.as_ref();
        let states = self.repository.path_states(kept.files.keys().map(|path| (path, letters(path))))?;
        let paths = kept.files.keys().chain(dirty.keys()).chain(&self.committed);
        let paths: BTreeSet<&[u8]> = paths.map(Vec::as_slice).collect();
        let entries = self.index.entries(|path| paths.contains(path))?;
        for path in paths {
            if !path.starts_with(&git.prefix) {
                self.left.push(git.left(path, LeftBecause::OutsideProject));
                continue;
            }
            if git.own_path(path).is_none() {
                continue;
            }
            let now = states.get(path).cloned().unwrap_or_else(|| match letters(path) {
                Some(letters) => PathState::Repository(letters.clone()),
                None => PathState::at(&self.repository.top, path),
            });
            let entry = entries.get(path).and_then(|entries| entries.first());
            match decide(kept.files.get(path), &now, is_ignored(&kept.tree, path), entry) {
                Ok(Some(undo)) => drop(self.undo.insert(path.to_owned(), undo)),
                Ok(None) => {}
                Err(why) => self.left.push(git.left(path, why)),
            }
        }
        Ok(())
    }

    /// Whether there is anything to undo.
    fn is_needed(&self) -> bool {
        let (before, now) = (&self.kept.tree, self.now);
        !self.undo.is_empty()
            || (&now.head, &now.branch, &now.staged) != (&before.head, &before.branch, &before.staged)
    }

    /// The branch of before, where the attempt left it.
    fn branch_left(&self) -> Option<&str> {
        let branch = self.kept.tree.branch.as_deref();
        branch.filter(|branch| self.now.branch.as_deref() != Some(branch))
    }

    /// Everything that is undone as one commit on top of the attempt's own. Its further parents are the index, where it
    /// holds something that is nowhere else, and the old branch where the attempt left and moved it.
    fn save(&self, message: &str) -> Result<String, GitError> {
        let (repository, now) = (self.repository, self.now);
        let mut parents: Vec<String> = now.head.iter().cloned().collect();
        let before = &self.kept.tree.staged;
        let is_staged_apart = now.dirty.iter().any(|(path, state)| {
            let path = self.git.rooted(path);
            state.is_staged_apart() && now.staged.get(&path) != before.get(&path)
        });
        if is_staged_apart {
            let staged = repository.read_index()?;
            let message = "Staged changes of an attempt";
            parents.extend(save_staged(repository, staged.as_ref(), &parents, message)?);
        }
        if let Some(branch) = self.branch_left() {
            parents.extend(repository.commit_at(branch)?);
        }
        repository.commit_files(now.head(), self.undo.keys(), &parents, message)
    }

    /// The same for `git stash`: as changes of the commit before the attempt, without what a person had uncommitted and
    /// the attempt did not touch. Nothing before the first commit, and where no file was changed.
    fn stash(&self, message: &str) -> Result<(), GitError> {
        let repository = self.repository;
        let Some(base) = self.kept.tree.head.clone().filter(|_| !self.undo.is_empty()) else {
            return Ok(());
        };
        // A stash has the index as its second parent; what was staged is saved with the reference.
        let tree = format!("{base}^{{tree}}");
        let index = repository.commit_tree(&tree, std::slice::from_ref(&base), "Index before an attempt")?;
        let stash =
            repository.commit_files(Some(&base), self.undo.keys(), &[base.clone(), index], message)?;
        repository.change(&["stash", "store", "-q", "-m", message, &stash]).run().map(drop)
    }

    /// Moves HEAD back, now that everything is saved, where nothing can be lost by it. How many commits the branch went
    /// back. A HEAD that somebody moves meanwhile stays where it is, and that is an error.
    fn move_head(&mut self) -> Result<u32, GitError> {
        let (repository, before, now) = (self.repository, &self.kept.tree, self.now);
        if before.branch == now.branch {
            if before.head == now.head {
                return Ok(0);
            }
            let update = repository.change(&["update-ref", "-m", REFLOG]);
            let (update, excluded) = match before.head() {
                Some(to) => {
                    (update.args(["HEAD", to, now.head().unwrap_or_default()]), Some(format!("^{to}")))
                }
                // Before the first commit.
                None => (update.args(["-d", "HEAD"]).args(now.head()), None),
            };
            let undone = match now.head() {
                Some(from) => repository.query(&["rev-list", "--count", from]).args(excluded).line()?,
                None => String::new(),
            };
            update.run()?;
            return Ok(undone.parse().unwrap_or(0));
        }
        // Another branch is only left where that changes nothing outside the project.
        if let Some(path) = self.committed.iter().find(|path| !path.starts_with(&self.git.prefix)) {
            let path = display_path(path);
            return Err(GitError::Unsafe(format!(
                "the attempt switched branches, which changed {path} outside the project"
            )));
        }
        let call = match self.branch_left() {
            None => {
                let to = before.head().unwrap_or_default();
                repository.change(&["update-ref", "-m", REFLOG, "--no-deref", "HEAD", to])
            }
            Some(branch) => {
                let tip = repository.commit_at(branch)?;
                if tip != before.head {
                    let name = short(branch);
                    return Err(GitError::Unsafe(match tip {
                        None => format!("the attempt deleted branch {name}"),
                        Some(_) => format!("the attempt left branch {name}, which has moved since"),
                    }));
                }
                repository.change(&["symbolic-ref", "-m", REFLOG, "HEAD", branch])
            }
        };
        call.run()?;
        let branch = now.branch.as_deref().map(short);
        self.left.extend(branch.map(|name| Left { what: name.to_owned(), why: LeftBecause::Branch }));
        Ok(0)
    }

    /// Restores files and the index; the error is the first thing that failed.
    fn restore(&mut self, mode: RollbackMode, message: &str) -> Result<(), String> {
        if mode == RollbackMode::Stash {
            self.stash(&crate::text::one_line(message, 200)).map_err(|error| error.to_string())?;
        }
        let restored = self.index.restore(&self.undo);
        let mut errors = restored.unwrap_or_else(|error| vec![error.to_string()]);
        errors.extend(self.restore_index().err().map(|error| error.to_string()));
        match errors.as_slice() {
            [] => {}
            [first] => return Err(first.clone()),
            [first, more @ ..] => return Err(format!("{first} (and {} more)", more.len())),
        }
        // What was ignored when the attempt ended, by rules that are gone now.
        let new: Vec<&RepoPath> = self.now.ignored.difference(&self.kept.tree.ignored).collect();
        if let Ok(ignored) = self.repository.ignored(new.iter().copied()) {
            let hidden = new.into_iter().filter(|path| !ignored.contains(*path));
            let hidden = hidden.filter(|path| self.git.own_path(path).is_some());
            self.left.extend(hidden.map(|path| self.git.left(path, LeftBecause::IgnoredMeanwhile)));
        }
        Ok(())
    }

    /// Installs the index of before. What others staged outside the project meanwhile stays staged.
    fn restore_index(&self) -> Result<(), GitError> {
        let mut is_one = self.kept.index.is_some();
        let prefix = &self.git.prefix;
        if !prefix.is_empty() {
            let outside = |path: &[u8]| !path.starts_with(prefix) && !self.committed.contains(path);
            let present = Index::copy_of(self.repository, self.repository.read_index()?.as_ref())?;
            let (before, now) = (self.index.entries(outside)?, present.entries(outside)?);
            self.index.remove(before.keys().filter(|path| before.get(*path) != now.get(*path)))?;
            let staged = now.iter().filter(|(path, entries)| before.get(*path) != Some(*entries));
            self.index
                .set(staged.flat_map(|(path, entries)| entries.iter().map(move |one| (path, one.clone()))))?;
            is_one |= !now.is_empty();
        }
        let index = is_one.then(|| self.index.path());
        self.repository.install_index(index.as_deref(), None).map(drop)
    }
}

/// A branch's short name.
fn short(branch: &str) -> &str {
    branch.strip_prefix("refs/heads/").unwrap_or(branch)
}

#[cfg(test)]
mod tests;
