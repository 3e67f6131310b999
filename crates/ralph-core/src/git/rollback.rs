//! Undoing a failed attempt: first everything is saved under a reference, then everything is as it was before.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use super::index::{Entries, Entry, Index};
use super::paths::{RepoPath, bare, display_path, parents};
use super::repository::{IndexFile, Repository};
use super::restore::{Decision, PathState, Restore, Undo};
use super::saved::clean_message;
use super::{Git, GitError, Left, LeftBecause, Snapshot};

/// How often the state is read when files come and go meanwhile.
const ATTEMPTS: u32 = 3;
/// File systems take the time from a clock that lags this much.
const CLOCK_TICK: Duration = Duration::from_millis(10);
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
    /// The commit that `git stash list` shows, where it does.
    pub stash: Option<String>,
    pub files: Vec<String>,
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
    /// Directories made later than this are the attempt's.
    since: SystemTime,
    /// The reference and the commit it is at; none without any commit or file.
    saved: Option<(String, String)>,
}

impl Kept {
    /// The commit that holds it.
    pub(super) fn commit(&self) -> Option<&str> {
        self.saved.as_ref().map(|(_, commit)| commit.as_str())
    }

    pub fn reference(&self) -> Option<&str> {
        self.saved.as_ref().map(|(name, _)| name.as_str())
    }
}

/// How HEAD gets back to where it was before an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
enum HeadMove {
    Stay,
    /// On the same branch, or detached both times: back to that commit; none is the time before the first.
    Move {
        from: Option<String>,
        to: Option<String>,
    },
    /// Back to a branch that has not moved.
    Switch {
        branch: String,
    },
    /// Off a branch, to a commit.
    Detach {
        to: String,
    },
}

impl HeadMove {
    /// `tip` is the commit that the branch of before is at, and `taken` whether another working tree has it; both matter
    /// where HEAD is on another branch now. The error is a reason not to move.
    fn find(before: &Snapshot, now: &Snapshot, tip: Option<&str>, taken: bool) -> Result<Self, String> {
        if before.branch == now.branch {
            return Ok(match before.head == now.head {
                true => Self::Stay,
                false => Self::Move { from: now.head.clone(), to: before.head.clone() },
            });
        }
        let Some(branch) = &before.branch else {
            let to = before.head.clone();
            let to = to.ok_or("HEAD pointed to no commit before the attempt")?;
            return Ok(Self::Detach { to });
        };
        let name = short(branch);
        if taken {
            return Err(format!(
                "the attempt left branch {name}, which another worktree has checked out now"
            ));
        }
        match tip {
            tip if tip == before.head() => Ok(Self::Switch { branch: branch.clone() }),
            None => Err(format!("the attempt deleted branch {name}")),
            Some(_) => Err(format!("the attempt left branch {name}, which has moved since")),
        }
    }

    /// A HEAD that somebody moved meanwhile stays where it is, and that is an error.
    fn run(&self, repository: &Repository) -> Result<(), GitError> {
        let call = match self {
            Self::Stay => return Ok(()),
            Self::Move { from, to: Some(to) } => repository
                .change(&["update-ref", "-m", REFLOG, "HEAD", to])
                .arg(from.as_deref().unwrap_or("")),
            Self::Move { from, to: None } => repository
                .change(&["update-ref", "-m", REFLOG, "-d", "HEAD"])
                .args(&from.as_deref().into_iter().collect::<Vec<_>>()),
            Self::Switch { branch } => repository.change(&["symbolic-ref", "-m", REFLOG, "HEAD", branch]),
            Self::Detach { to } => repository.change(&["update-ref", "-m", REFLOG, "--no-deref", "HEAD", to]),
        };
        call.run().map(drop)
    }

    fn commits_undone(&self, repository: &Repository) -> Result<u32, GitError> {
        let Self::Move { from: Some(from), to } = self else { return Ok(0) };
        let mut call = repository.query(&["rev-list", "--count", from]);
        if let Some(to) = to {
            call = call.arg(format!("^{to}"));
        }
        Ok(call.line()?.parse().unwrap_or(0))
    }
}

fn short(branch: &str) -> &str {
    branch.strip_prefix("refs/heads/").unwrap_or(branch)
}

impl Git {
    /// Keeps the state of the working tree, so that [`Git::roll_back`] can restore it. `name` tells one from another (the
    /// task, the attempt); `tree` is the state with what is ignored, where it was read just now.
    pub fn keep(&self, name: &str, tree: Option<&Snapshot>) -> Result<Kept, GitError> {
        let repository = self.settled()?;
        repository.wait_for_index()?;
        let mut known = tree.cloned();
        let mut attempts = 1;
        loop {
            let tree = known.take().map_or_else(|| self.snapshot_with_ignored(), Ok)?;
            match self.keep_tree(repository, name, tree) {
                // A file went away between being seen and being read.
                Err(GitError::Refused { .. } | GitError::File { .. }) if attempts < ATTEMPTS => attempts += 1,
                done => return done,
            }
        }
    }

    fn keep_tree(&self, repository: &Repository, name: &str, tree: Snapshot) -> Result<Kept, GitError> {
        let since = SystemTime::now() - CLOCK_TICK;
        let index = repository.read_index()?;
        let dirty = self.dirty_paths(&tree);
        let paths = dirty.iter().map(|(path, letters)| (path, letters.as_ref()));
        let files = repository.path_states(paths)?;
        let saved = match save_kept(repository, &tree, index.as_ref(), &files)? {
            Some(commit) => Some((repository.save_reference("kept", name, &commit)?, commit)),
            None => None,
        };
        Ok(Kept { tree, index, files, since, saved })
    }

    /// Gives up what was kept, after an attempt that is not rolled back. Not after a rollback that failed: it names the
    /// reference as the place where things are.
    pub fn let_go(&self, kept: &Kept) -> Result<(), GitError> {
        let Some((reference, commit)) = &kept.saved else { return Ok(()) };
        let words = ["update-ref", "-d", reference, commit];
        self.repository()?.change(&words).run().map(drop)
    }

    /// What is uncommitted, from the repository's root; with git's letters for what is a repository.
    fn dirty_paths(&self, tree: &Snapshot) -> BTreeMap<RepoPath, Option<Vec<u8>>> {
        let dirty = tree.dirty.iter();
        let paths = dirty.map(|(path, state)| {
            let nested = path.ends_with(b"/").then(Vec::new);
            let letters = state.submodule.clone().or(nested);
            (self.rooted(bare(path)), letters)
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
        let mut rollback = Rollback {
            git: self,
            repository,
            kept,
            now: &now,
            committed,
            index: &index,
            undo: BTreeMap::new(),
            left: Vec::new(),
        };
        rollback.plan()?;
        let mut rolled_back = RolledBack::default();
        if rollback.is_needed() {
            let message = clean_message(message);
            let commit = rollback.save(&message)?;
            let reference = repository.save_reference("rollback", name, &commit)?;
            let saved = |why: String, is_touched: bool| {
                let (reference, kept) = (reference.clone(), kept.reference().map(str::to_owned));
                match is_touched {
                    false => GitError::RollbackRefused { why, reference, kept },
                    true => GitError::RollbackIncomplete { why, reference, kept },
                }
            };
            let moved = rollback.move_head(mode, &message, &mut rolled_back);
            moved.map_err(|why| saved(why, false))?;
            let restored = rollback.restore(&mut rolled_back);
            restored.map_err(|why| saved(why, true))?;
            rolled_back.reference = Some(reference);
        }
        rolled_back.left.extend(rollback.left);
        // A reference too many harms nobody.
        let _ = self.let_go(kept);
        Ok(rolled_back)
    }

    fn left(&self, path: &[u8], why: LeftBecause) -> Left {
        let what = self.display(path);
        Left { what, why }
    }
}

/// Files as a commit on top of HEAD, with the index as its second parent; HEAD itself where nothing differs.
fn save_kept(
    repository: &Repository,
    tree: &Snapshot,
    index: Option<&IndexFile>,
    files: &BTreeMap<RepoPath, PathState>,
) -> Result<Option<String>, GitError> {
    if files.is_empty() && tree.staged.is_empty() {
        return Ok(tree.head.clone());
    }
    let saved = Index::of_tree(repository, tree.head())?;
    saved.set_states(files)?;
    let mut parents: Vec<String> = tree.head.iter().cloned().collect();
    if !tree.staged.is_empty() {
        let message = "Staged changes before an attempt";
        parents.extend(save_staged(repository, index, &parents, message)?);
    }
    let message = "Uncommitted changes before an attempt";
    let commit = repository.commit_tree(&saved.write_tree()?, &parents, message)?;
    Ok(Some(commit))
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

struct Rollback<'r> {
    git: &'r Git,
    repository: &'r Repository,
    kept: &'r Kept,
    now: &'r Snapshot,
    /// What the attempt's commits changed.
    committed: BTreeSet<RepoPath>,
    index: &'r Index<'r>,
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
        let known = kept.files.keys().map(|path| (path, letters(path)));
        let states = self.repository.path_states(known)?;
        let known = kept.files.keys().chain(dirty.keys());
        let paths: BTreeSet<&[u8]> = known.chain(&self.committed).map(Vec::as_slice).collect();
        let entries = self.index.entries(|path| paths.contains(path))?;
        for path in paths {
            if !path.starts_with(&git.prefix) {
                self.left.push(git.left(path, LeftBecause::OutsideProject));
                continue;
            }
            // Without its `.git` a repository's files look new, but they are its owner's.
            let is_repository = |dir: &[u8]| matches!(kept.files.get(dir), Some(PathState::Repository(_)));
            if git.own_path(path).is_none() || parents(path).any(is_repository) {
                continue;
            }
            let outline = || PathState::outline(&self.repository.top, path, letters(path));
            let before = kept.files.get(path);
            let now = states.get(path).cloned().unwrap_or_else(outline);
            let entry = entries.get(path).and_then(|entries| entries.first());
            match Decision::new(before, &now, is_ignored(&kept.tree, path), entry) {
                Decision::Nothing => {}
                Decision::Undo(undo) => drop(self.undo.insert(path.to_owned(), undo)),
                Decision::Leave(why) => self.left.push(git.left(path, why)),
            }
        }
        Ok(())
    }

    fn is_needed(&self) -> bool {
        let (before, now) = (&self.kept.tree, self.now);
        !self.undo.is_empty()
            || (&now.head, &now.branch, &now.staged) != (&before.head, &before.branch, &before.staged)
    }

    /// Everything that is undone as one commit on top of the attempt's own. Its further parents are the index, where it
    /// holds something that is nowhere else, and the old branch where the attempt left and moved it.
    fn save(&self, message: &str) -> Result<String, GitError> {
        let (repository, now) = (self.repository, self.now);
        let index = Index::of_tree(repository, now.head())?;
        index.add(self.undo.keys())?;
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
        if let Some(branch) = &self.kept.tree.branch
            && now.branch.as_ref() != Some(branch)
        {
            parents.extend(repository.commit_at(branch)?);
        }
        repository.commit_tree(&index.write_tree()?, &parents, message)
    }

    /// The same for `git stash`: as changes of the commit before the attempt, without what a person had uncommitted and
    /// the attempt did not touch. None before the first commit, and where no file was changed.
    fn stash(&self, message: &str) -> Result<Option<String>, GitError> {
        let repository = self.repository;
        let Some(base) = self.kept.tree.head.clone().filter(|_| !self.undo.is_empty()) else {
            return Ok(None);
        };
        // A stash has the index as its second parent; what was staged is saved with the reference.
        let staged = format!("{base}^{{tree}}");
        let parents = [base.clone()];
        let staged = repository.commit_tree(&staged, &parents, "Index before an attempt")?;
        let work = Index::of_tree(repository, Some(&base))?;
        work.add(self.undo.keys())?;
        let stash = repository.commit_tree(&work.write_tree()?, &[base, staged], message)?;
        let words = ["stash", "store", "-q", "-m", message, &stash];
        repository.change(&words).run()?;
        Ok(Some(stash))
    }

    /// Moves HEAD back, now that everything is saved; or a reason not to.
    fn move_head(&self, mode: RollbackMode, message: &str, done: &mut RolledBack) -> Result<(), String> {
        let text = |error: GitError| error.to_string();
        let head = self.head_move().map_err(text).flatten()?;
        done.commits_undone = head.commits_undone(self.repository).map_err(text)?;
        if mode == RollbackMode::Stash {
            let stash = self.stash(&crate::text::one_line(message, 200));
            done.stash = stash.map_err(text)?;
        }
        head.run(self.repository).map_err(text)?;
        let leaves_branch = matches!(head, HeadMove::Switch { .. } | HeadMove::Detach { .. });
        let branch = self.now.branch.as_ref().filter(|_| leaves_branch);
        done.left
            .extend(branch.map(|branch| Left { what: short(branch).to_owned(), why: LeftBecause::Branch }));
        Ok(())
    }

    fn head_move(&self) -> Result<Result<HeadMove, String>, GitError> {
        let (repository, before, now) = (self.repository, &self.kept.tree, self.now);
        let (mut tip, mut taken) = (None, false);
        if let Some(branch) = &before.branch
            && now.branch.as_ref() != Some(branch)
        {
            let list = repository.query(&["worktree", "list", "--porcelain"]).run()?;
            let line = format!("branch {branch}");
            taken = list.split(|b| *b == b'\n').any(|l| l == line.as_bytes());
            tip = repository.commit_at(branch)?;
        }
        let head = HeadMove::find(before, now, tip.as_deref(), taken);
        // Another branch is only left where that changes nothing outside the project.
        let outside = |path: &&RepoPath| !path.starts_with(&self.git.prefix);
        Ok(match (head, self.committed.iter().find(outside)) {
            (Ok(HeadMove::Switch { .. } | HeadMove::Detach { .. }), Some(path)) => Err(format!(
                "the attempt switched branches, which changed {} outside the project",
                display_path(path)
            )),
            (head, _) => head,
        })
    }

    /// Restores files and the index; the error is the first thing that failed.
    fn restore(&self, done: &mut RolledBack) -> Result<(), String> {
        let git = self.git;
        let mut restore = Restore {
            repository: self.repository,
            index: self.index,
            since: self.kept.since,
            errors: Vec::new(),
            spared: BTreeSet::new(),
        };
        if let Err(error) = restore.all(&self.undo) {
            restore.errors.push(error.to_string());
        }
        let installed = self.staged_outside().and_then(|outside| {
            let entries = outside.iter().map(|(path, entry)| (path, entry));
            self.index.set(entries)?;
            let is_one = self.kept.index.is_some() || !outside.is_empty();
            let index = is_one.then(|| self.index.path());
            self.repository.install_index(index.as_deref())
        });
        if let Err(error) = installed {
            restore.errors.push(error.to_string());
        }
        match restore.errors.split_first() {
            None => {}
            Some((first, [])) => return Err(first.clone()),
            Some((first, more)) => return Err(format!("{first} (and {} more)", more.len())),
        }
        let hidden = self.hidden().unwrap_or_default().into_iter();
        let hidden = hidden.filter(|path| git.own_path(path).is_some());
        let hidden = hidden.map(|path| git.left(&path, LeftBecause::IgnoredMeanwhile));
        done.left.extend(hidden);
        let files = self.undo.keys();
        let files = files.filter(|path| !restore.spared.contains(*path));
        done.files = files.map(|path| git.display(path)).collect();
        Ok(())
    }

    /// What others staged outside the project meanwhile stays staged.
    fn staged_outside(&self) -> Result<Vec<(RepoPath, Entry)>, GitError> {
        let mut set = Vec::new();
        let prefix = &self.git.prefix;
        if prefix.is_empty() {
            return Ok(set);
        }
        let is_outside = |path: &[u8]| !path.starts_with(prefix);
        let present = self.repository.read_index()?;
        let present = Index::copy_of(self.repository, present.as_ref())?;
        let (before, now): (Entries, Entries) =
            (self.index.entries(is_outside)?, present.entries(is_outside)?);
        let paths: BTreeSet<&RepoPath> = before.keys().chain(now.keys()).collect();
        for path in paths {
            if now.get(path) == before.get(path) || self.committed.contains(path) {
                continue;
            }
            let known = before.get(path).or_else(|| now.get(path));
            let like = known.and_then(|entries| entries.first());
            set.extend(like.map(|like| (path.clone(), Entry::none(&like.object))));
            let there = now.get(path).into_iter().flatten();
            set.extend(there.map(|entry| (path.clone(), entry.clone())));
        }
        Ok(set)
    }

    /// What was ignored when the attempt ended, by rules that are gone now.
    fn hidden(&self) -> Result<Vec<RepoPath>, GitError> {
        let new = self.now.ignored.difference(&self.kept.tree.ignored);
        let new: Vec<&RepoPath> = new.collect();
        let ignored = self.repository.ignored(new.iter().map(|path| path.as_slice()))?;
        let hidden = new.into_iter().filter(|path| !ignored.contains(*path));
        Ok(hidden.cloned().collect())
    }
}

#[cfg(test)]
mod tests;
