//! Indexes: trees and commits are made in one of Ralph's own, without touching the one people stage in.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;

use super::GitError;
use super::call::{Call, CallKind, with_zeros, zero_separated};
use super::paths::{PathState, RepoPath};
use super::repository::{IndexFile, Repository};

/// An entry of an index or a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// `MODE OBJECT STAGE`, as git reads and prints it. The stage is `0`, or the side of a conflict.
    pub(super) facts: String,
    /// Whether git was told not to look at the file, so that nobody knows what is in it.
    pub(super) unwatched: bool,
}

impl Entry {
    pub(super) fn new(mode: &str, object: &str) -> Self {
        Self { facts: format!("{mode} {object} 0"), unwatched: false }
    }

    pub(super) fn is_submodule(&self) -> bool {
        self.facts.starts_with("160000 ")
    }
}

/// What an index holds; several entries for a path in conflict.
pub(super) type Entries = BTreeMap<RepoPath, Vec<Entry>>;

/// An index of Ralph's own, removed when it is dropped.
pub(super) struct Index<'r> {
    pub(super) repository: &'r Repository,
    dir: TempDir,
    /// How long each call may take where it is part of the one real commit. Filters run as they are now then, and files
    /// are refused whose line endings git could not restore; elsewhere to save one changed is better than not at all.
    commit_limit: Option<Duration>,
}

impl<'r> Index<'r> {
    /// One that holds a tree, or nothing.
    pub(super) fn of_tree(repository: &'r Repository, tree: Option<&str>) -> Result<Self, GitError> {
        let index = Self { repository, dir: repository.scratch()?, commit_limit: None };
        index.call(&["read-tree", tree.unwrap_or("--empty")]).run()?;
        Ok(index)
    }

    /// A copy of an index; none is an empty one.
    pub(super) fn copy_of(
        repository: &'r Repository,
        original: Option<&IndexFile>,
    ) -> Result<Self, GitError> {
        let Some(original) = original else {
            return Self::of_tree(repository, None);
        };
        let index = Self { repository, dir: repository.scratch()?, commit_limit: None };
        let path = index.path();
        let write = || -> std::io::Result<()> {
            fs::write(&path, &original.bytes)?;
            File::options().write(true).open(&path)?.set_modified(original.modified)
        };
        write().map_err(|error| GitError::file(&path, error))?;
        Ok(index)
    }

    /// One to commit from: HEAD's tree, with what the repository's index knows of the files, so that git need not read
    /// each of them. The repository's index can be taken as it is where nothing is staged in it.
    pub(super) fn to_commit(
        repository: &'r Repository,
        head: Option<&str>,
        original: Option<&IndexFile>,
        is_staged: bool,
        limit: Duration,
    ) -> Result<Self, GitError> {
        let mut index = Self::copy_of(repository, original.filter(|_| head.is_some()))?;
        if let Some(head) = head.filter(|_| is_staged) {
            index.call(&["read-tree", "--reset", head]).run()?;
        }
        index.commit_limit = Some(limit);
        Ok(index)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.dir.path().join("index")
    }

    pub(super) fn call<'c>(&'c self, args: &[&str]) -> Call<'c> {
        let (kind, checks_line_endings) = match self.commit_limit {
            Some(limit) => (CallKind::Commit(limit), true),
            None => (CallKind::Change, false),
        };
        // Parts of a split index could be removed by others.
        let call =
            Call::new(self.repository, kind, args).index(self.path()).setting("core.splitIndex", "false");
        match checks_line_endings {
            true => call,
            false => call.setting("core.safecrlf", "false"),
        }
    }

    /// Takes over what is at these paths in the working tree, through git's filters.
    pub(super) fn add<'a>(&self, paths: impl IntoIterator<Item = &'a RepoPath>) -> Result<(), GitError> {
        let is_gone = |path: &&RepoPath| {
            matches!(PathState::at(&self.repository.top, path), PathState::Gone | PathState::Special)
        };
        let (gone, there): (Vec<&RepoPath>, Vec<&RepoPath>) = paths.into_iter().partition(is_gone);
        // Removals come first: a file may have taken the place of a directory.
        self.remove(gone)?;
        self.update(&["--add", "--replace", "-z", "--stdin"], with_zeros(there))
    }

    pub(super) fn remove<'a>(&self, paths: impl IntoIterator<Item = &'a RepoPath>) -> Result<(), GitError> {
        self.update(&["--force-remove", "-z", "--stdin"], with_zeros(paths))
    }

    pub(super) fn set<'a>(
        &self,
        entries: impl IntoIterator<Item = (&'a RepoPath, Entry)>,
    ) -> Result<(), GitError> {
        let line = |(path, entry): (&RepoPath, Entry)| [entry.facts.as_bytes(), b"\t", path, b"\0"].concat();
        self.update(&["-z", "--index-info"], entries.into_iter().flat_map(line).collect())
    }

    fn update(&self, options: &[&str], list: Vec<u8>) -> Result<(), GitError> {
        if list.is_empty() {
            return Ok(());
        }
        self.call(&["update-index"]).args(options).input(list).run().map(drop)
    }

    pub(super) fn write_tree(&self) -> Result<String, GitError> {
        self.call(&["write-tree"]).line()
    }

    pub(super) fn entries(&self, wanted: impl Fn(&[u8]) -> bool) -> Result<Entries, GitError> {
        let out = self.call(&["ls-files", "--stage", "-v", "-z"]).run()?;
        let mut entries = Entries::new();
        // `TAG MODE OBJECT STAGE<tab>PATH`
        for line in zero_separated(&out) {
            let mut parts = line.splitn(2, |b| *b == b'\t');
            let (Some(facts), Some(path)) = (parts.next(), parts.next()) else {
                continue;
            };
            let facts = String::from_utf8_lossy(facts);
            if let Some((tag, facts)) = facts.split_once(' ').filter(|_| wanted(path)) {
                // Small letters for `--assume-unchanged`.
                let unwatched = tag == "S" || tag.starts_with(|c: char| c.is_ascii_lowercase());
                entries
                    .entry(path.to_owned())
                    .or_default()
                    .push(Entry { facts: facts.to_owned(), unwatched });
            }
        }
        Ok(entries)
    }
}

impl Repository {
    /// The paths that differ between two commits; none counts as an empty one.
    pub(super) fn differences(
        &self,
        from: Option<&str>,
        to: Option<&str>,
    ) -> Result<BTreeSet<RepoPath>, GitError> {
        if from == to {
            return Ok(BTreeSet::new());
        }
        let empty = match (from, to) {
            (Some(_), Some(_)) => String::new(),
            _ => self.query(&["hash-object", "-t", "tree", "--stdin"]).line()?,
        };
        let commits = [from.unwrap_or(&empty), to.unwrap_or(&empty)];
        self.query(&["diff-tree", "-r", "--name-only", "--no-renames", "-z"]).args(commits).paths()
    }

    /// Makes the repository's index hold what HEAD has at these paths.
    pub(super) fn reset_index<'p>(
        &self,
        paths: impl IntoIterator<Item = &'p RepoPath>,
    ) -> Result<(), GitError> {
        let list = with_zeros(paths);
        // Without any path git would reset all of them.
        if list.is_empty() {
            return Ok(());
        }
        let reset = || {
            self.wait_for_index()?;
            let call = self.change(&["reset", "--pathspec-from-file=-", "--pathspec-file-nul"]);
            // A name such as `:(top)x` is only a name.
            call.env("GIT_LITERAL_PATHSPECS", "1").input(list.clone()).run().map(drop)
        };
        // Somebody else may have taken the index just then.
        reset().or_else(|error| match error {
            GitError::Refused { .. } => reset(),
            error => Err(error),
        })
    }
}
