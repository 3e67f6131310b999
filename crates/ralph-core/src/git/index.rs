//! Indexes: trees and commits are made in one of Ralph's own, without touching the one people stage in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::GitError;
use super::call::{Call, CallKind, with_zeros, zero_separated};
use super::paths::{FileKind, RepoPath};
use super::repository::{IndexFile, Repository, Scratch};

/// How long somebody else's lock on the index is waited for.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);
const NAP: Duration = Duration::from_millis(50);
pub(super) const GITLINK: &str = "160000";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// In octal; `0` removes the path.
    pub(super) mode: String,
    pub(super) object: String,
    /// `0`, or the side of a conflict.
    pub(super) stage: String,
    /// Whether git was told not to look at the file, so that nobody knows what is in it.
    pub(super) unwatched: bool,
}

/// What an index holds; several entries for a path in conflict.
pub(super) type Entries = BTreeMap<RepoPath, Vec<Entry>>;

/// An index of Ralph's own, removed when it is dropped.
pub(super) struct Index<'r> {
    repository: &'r Repository,
    dir: Scratch,
    kind: CallKind,
    /// Whether a file is refused whose line endings git could not restore. To save it changed is better than not at all.
    checks_line_endings: bool,
    /// Whether nobody reads it as it is after an update: it is written once more, or thrown away.
    is_interim: bool,
}

impl<'r> Index<'r> {
    fn new(repository: &'r Repository) -> Result<Self, GitError> {
        Ok(Self {
            repository,
            dir: repository.scratch()?,
            kind: CallKind::Change,
            checks_line_endings: false,
            is_interim: false,
        })
    }

    /// One that holds a tree, or nothing.
    pub(super) fn of_tree(repository: &'r Repository, tree: Option<&str>) -> Result<Self, GitError> {
        let index = Self::new(repository)?;
        let tree = tree.unwrap_or("--empty");
        index.call(&["read-tree", tree]).run()?;
        Ok(index)
    }

    /// A copy of an index; none is an empty one.
    pub(super) fn copy_of(
        repository: &'r Repository,
        original: Option<&IndexFile>,
    ) -> Result<Self, GitError> {
        let Some(original) = original else { return Self::of_tree(repository, None) };
        let index = Self::new(repository)?;
        original.write_to(&index.path())?;
        Ok(index)
    }

    /// One to commit from: HEAD's tree, with what the repository's index knows of the files, so that git need not read
    /// each of them. The repository's index can be taken as it is where nothing is staged in it.
    pub(super) fn of_head(
        repository: &'r Repository,
        head: Option<&str>,
        original: Option<&IndexFile>,
        is_staged: bool,
    ) -> Result<Self, GitError> {
        let mut index = match head {
            None => Self::of_tree(repository, None)?,
            Some(head) => {
                let index = Self::copy_of(repository, original)?;
                if is_staged {
                    index.call(&["read-tree", "--reset", head]).run()?;
                }
                index
            }
        };
        index.checks_line_endings = true;
        Ok(index.interim())
    }

    /// Spares git the checksum after each update, which takes as long as all the rest of a large index. [`Index::write_tree`]
    /// writes it.
    pub(super) fn interim(mut self) -> Self {
        self.is_interim = true;
        self
    }

    /// Makes its calls part of the one real commit: filters of the repository run as they are now.
    pub(super) fn for_commit(mut self, limit: Duration) -> Self {
        self.kind = CallKind::Commit(limit);
        self
    }

    pub(super) fn path(&self) -> PathBuf {
        self.dir.path().join("index")
    }

    pub(super) fn call(&self, args: &[&str]) -> Call<'r> {
        // A hook that watches the index has no business here, and one that an agent made may sleep.
        let call = Call::new(self.repository, self.kind, args).index(&self.path()).without_hooks();
        // Parts of a split index could be removed by others.
        let call = call.config("core.splitIndex=false");
        if self.checks_line_endings { call } else { call.config("core.safecrlf=false") }
    }

    /// Takes over what is at these paths in the working tree, through git's filters.
    pub(super) fn add<'a>(&self, paths: impl IntoIterator<Item = &'a RepoPath>) -> Result<(), GitError> {
        let is_there = |path: &&RepoPath| match FileKind::at(&self.repository.top, path) {
            FileKind::File(_) | FileKind::Link | FileKind::Repository => true,
            FileKind::Gone | FileKind::Directory | FileKind::Special => false,
        };
        let (there, gone): (Vec<&RepoPath>, Vec<&RepoPath>) = paths.into_iter().partition(is_there);
        // Removals come first: a file may have taken the place of a directory.
        self.remove(gone)?;
        let list = with_zeros(there.into_iter().map(Vec::as_slice));
        self.update(&["--add", "--replace", "-z", "--stdin"], list)
    }

    pub(super) fn remove<'a>(&self, paths: impl IntoIterator<Item = &'a RepoPath>) -> Result<(), GitError> {
        let list = with_zeros(paths.into_iter().map(Vec::as_slice));
        self.update(&["--force-remove", "-z", "--stdin"], list)
    }

    pub(super) fn set<'a>(
        &self,
        entries: impl IntoIterator<Item = (&'a RepoPath, &'a Entry)>,
    ) -> Result<(), GitError> {
        let mut list = Vec::new();
        for (path, entry) in entries {
            let (mode, object, stage) = (&entry.mode, &entry.object, &entry.stage);
            list.extend_from_slice(format!("{mode} {object} {stage}\t").as_bytes());
            list.extend_from_slice(path);
            list.push(0);
        }
        self.update(&["-z", "--index-info"], list)
    }

    fn update(&self, options: &[&str], list: Vec<u8>) -> Result<(), GitError> {
        if list.is_empty() {
            return Ok(());
        }
        let mut call = self.call(&["update-index"]).args(options);
        if self.is_interim {
            call = call.config("index.skipHash=true");
        }
        call.input(list).run().map(drop)
    }

    pub(super) fn write_tree(&self) -> Result<String, GitError> {
        self.call(&["write-tree"]).line()
    }

    /// The entries of the paths that are asked for.
    pub(super) fn entries(&self, wanted: impl Fn(&[u8]) -> bool) -> Result<Entries, GitError> {
        let out = self.call(&["ls-files", "--stage", "-v", "-z"]).run()?;
        let mut entries = Entries::new();
        for line in zero_separated(&out) {
            let mut parts = line.splitn(2, |b| *b == b'\t');
            if let (Some(facts), Some(path)) = (parts.next(), parts.next())
                && wanted(path)
            {
                let entry = Entry::parse(facts);
                entries.entry(path.to_owned()).or_default().push(entry);
            }
        }
        Ok(entries)
    }
}

impl Entry {
    pub(super) fn new(mode: &str, object: &str) -> Self {
        Self { mode: mode.to_owned(), object: object.to_owned(), stage: "0".to_owned(), unwatched: false }
    }

    /// Removes the path; `like` is any object's name, for its length.
    pub(super) fn none(like: &str) -> Self {
        Self::new("0", &"0".repeat(like.len()))
    }

    /// Reads `tag mode object stage`.
    fn parse(facts: &[u8]) -> Self {
        let facts = String::from_utf8_lossy(facts);
        let mut facts = facts.split(' ').map(str::to_owned);
        let mut next = || facts.next().unwrap_or_default();
        let tag = next();
        Self {
            mode: next(),
            object: next(),
            stage: next(),
            // Small letters for `--assume-unchanged`.
            unwatched: tag == "S" || tag.starts_with(|c: char| c.is_ascii_lowercase()),
        }
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
        let words = ["diff-tree", "-r", "--name-only", "--no-renames", "-z"];
        let commits = [from.unwrap_or(&empty), to.unwrap_or(&empty)];
        let out = self.query(&words).args(&commits).run()?;
        Ok(zero_separated(&out).map(<[u8]>::to_vec).collect())
    }

    /// Makes the repository's index hold what HEAD has at these paths.
    pub(super) fn reset_index<'p>(
        &self,
        paths: impl IntoIterator<Item = &'p RepoPath>,
    ) -> Result<(), GitError> {
        let list = with_zeros(paths.into_iter().map(Vec::as_slice));
        // Without any path git would reset all of them.
        if list.is_empty() {
            return Ok(());
        }
        let asked = Instant::now();
        loop {
            let call = self.change(&["reset", "--pathspec-from-file=-", "--pathspec-file-nul"]);
            match call.literal_paths().input(list.clone()).run() {
                // Somebody else holds the index.
                Err(GitError::Refused { .. }) if asked.elapsed() < LOCK_PATIENCE => {
                    std::thread::sleep(NAP);
                }
                done => return done.map(drop),
            }
        }
    }
}
