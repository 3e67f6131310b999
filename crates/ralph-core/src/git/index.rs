//! An index of our own: trees and commits are made in it without touching the one people stage in.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;

use super::GitError;
use super::call::{Call, with_zeros};
use super::conduct::CallKind;
use super::paths::{Kind, RepoPath, kind};
use super::places::{IndexFile, Places};

/// The mode of a submodule's entry.
pub(super) const GITLINK: &str = "160000";

/// An entry of an index or a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// In octal; `0` takes the path out.
    pub(super) mode: String,
    /// The object's name.
    pub(super) object: String,
    /// 0, or 1 to 3 in a conflict.
    pub(super) stage: String,
    /// Whether git was told not to look at the file: what is in it is anybody's guess.
    pub(super) unwatched: bool,
}

/// What an index holds; several entries for a path in conflict.
pub(super) type Entries = BTreeMap<RepoPath, Vec<Entry>>;

/// An index of our own, gone when it is dropped.
pub(super) struct Index<'p> {
    places: &'p Places,
    dir: TempDir,
    line_endings: LineEndings,
    kind: CallKind,
}

/// What happens to a file whose line endings git could not give back as they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEndings {
    /// The settings decide.
    AsConfigured,
    /// It is taken all the same: to have it changed is better than not to have it.
    Whatever,
}

impl<'p> Index<'p> {
    fn new(places: &'p Places) -> Result<Self, GitError> {
        let dir = places.scratch()?;
        Ok(Self {
            places,
            dir,
            line_endings: LineEndings::Whatever,
            kind: CallKind::Change,
        })
    }

    /// One that holds a tree, or nothing.
    pub(super) fn of_tree(places: &'p Places, tree: Option<&str>) -> Result<Self, GitError> {
        let index = Self::new(places)?;
        index
            .call(&["read-tree", tree.unwrap_or("--empty")])
            .run()?;
        Ok(index)
    }

    /// A copy of an index; none is an empty one.
    pub(super) fn copy_of(
        places: &'p Places,
        original: Option<&IndexFile>,
    ) -> Result<Self, GitError> {
        let Some(original) = original else {
            return Self::of_tree(places, None);
        };
        let index = Self::new(places)?;
        let path = index.path();
        let write = || -> std::io::Result<()> {
            fs::write(&path, &original.bytes)?;
            File::options()
                .write(true)
                .open(&path)?
                .set_modified(original.modified)
        };
        write().map_err(|error| GitError::file(&path, error))?;
        Ok(index)
    }

    /// One to commit from: it holds HEAD's tree and what the repository's index knows of the files, so that git need not
    /// look into each of them.
    pub(super) fn like_head(places: &'p Places, head: Option<&str>) -> Result<Self, GitError> {
        let mut index = match head {
            None => Self::of_tree(places, None)?,
            Some(head) => {
                let index = Self::copy_of(places, places.read_index()?.as_ref())?;
                index.call(&["read-tree", "--reset", head]).run()?;
                index
            }
        };
        index.line_endings = LineEndings::AsConfigured;
        Ok(index)
    }

    /// The same for the one real commit: filters of the repository run as they are now.
    pub(super) fn for_commit(mut self, limit: Duration) -> Self {
        self.kind = CallKind::Commit(limit);
        self
    }

    pub(super) fn path(&self) -> PathBuf {
        self.dir.path().join("index")
    }

    /// A call of git that uses this index.
    pub(super) fn call(&self, args: &[&str]) -> Call {
        let line_endings: &[&str] = match self.line_endings {
            LineEndings::AsConfigured => &[],
            LineEndings::Whatever => &["-c", "core.safecrlf=false"],
        };
        // Parts of a split index could be thrown away by others.
        self.places
            .call(&["-c", "core.splitIndex=false"])
            .args(line_endings)
            .args(args)
            .named(args)
            .index(&self.path())
            .kind(self.kind)
    }

    /// Takes over what lies at these paths in the work tree, through git's filters.
    pub(super) fn take<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a RepoPath>,
    ) -> Result<(), GitError> {
        let is_there = |path: &&RepoPath| match kind(&self.places.top, path) {
            Kind::File(_) | Kind::Link | Kind::Repository => true,
            Kind::Gone | Kind::Directory | Kind::Special => false,
        };
        let (there, gone): (Vec<&RepoPath>, Vec<&RepoPath>) = paths.into_iter().partition(is_there);
        // What is gone comes first: a file may have taken the place of a directory.
        self.forget(gone)?;
        let list = with_zeros(there.into_iter().map(Vec::as_slice));
        if list.is_empty() {
            return Ok(());
        }
        let call = self.call(&["update-index", "--add", "--replace", "-z", "--stdin"]);
        call.input(list).run().map(drop)
    }

    /// Takes paths out.
    pub(super) fn forget<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a RepoPath>,
    ) -> Result<(), GitError> {
        let list = with_zeros(paths.into_iter().map(Vec::as_slice));
        if list.is_empty() {
            return Ok(());
        }
        let call = self.call(&["update-index", "--force-remove", "-z", "--stdin"]);
        call.input(list).run().map(drop)
    }

    /// Sets entries.
    pub(super) fn set<'a>(
        &self,
        entries: impl IntoIterator<Item = (&'a RepoPath, &'a Entry)>,
    ) -> Result<(), GitError> {
        match index_info(entries) {
            list if list.is_empty() => Ok(()),
            list => {
                let call = self.call(&["update-index", "-z", "--index-info"]);
                call.input(list).run().map(drop)
            }
        }
    }

    /// Its bytes.
    pub(super) fn read(&self) -> Result<IndexFile, GitError> {
        let read = IndexFile::read(&self.path())?;
        read.ok_or_else(|| GitError::file(self.path(), std::io::ErrorKind::NotFound.into()))
    }

    /// Writes it as a tree.
    pub(super) fn tree(&self) -> Result<String, GitError> {
        self.call(&["write-tree"]).line()
    }

    pub(super) fn is_empty(&self) -> Result<bool, GitError> {
        Ok(self.entries()?.is_empty())
    }

    /// Everything in it.
    pub(super) fn entries(&self) -> Result<Entries, GitError> {
        let out = self.call(&["ls-files", "--stage", "-v", "-z"]).run()?;
        Ok(entries(&out))
    }
}

/// Entries as `update-index --index-info` reads them.
pub(super) fn index_info<'a>(
    entries: impl IntoIterator<Item = (&'a RepoPath, &'a Entry)>,
) -> Vec<u8> {
    let mut list = Vec::new();
    for (path, entry) in entries {
        let Entry {
            mode,
            object,
            stage,
            unwatched: _,
        } = entry;
        list.extend_from_slice(format!("{mode} {object} {stage}\t").as_bytes());
        list.extend_from_slice(path);
        list.push(0);
    }
    list
}

/// Reads `tag mode object stage<TAB>path`.
fn entries(out: &[u8]) -> Entries {
    let mut entries = Entries::new();
    for line in out.split(|b| *b == 0) {
        let Some(tab) = line.iter().position(|b| *b == b'\t') else {
            continue;
        };
        let (facts, path) = line.split_at(tab);
        let facts = String::from_utf8_lossy(facts);
        let facts: Vec<&str> = facts.split(' ').collect();
        if let [tag, mode, object, stage] = facts.as_slice() {
            let entry = Entry {
                stage: (*stage).to_owned(),
                // Small letters for `--assume-unchanged`.
                unwatched: *tag == "S" || tag.starts_with(|c: char| c.is_ascii_lowercase()),
                ..Entry::new(mode, object)
            };
            let path = path.get(1..).unwrap_or_default().to_owned();
            entries.entry(path).or_default().push(entry);
        }
    }
    entries
}

impl Entry {
    /// An entry without conflict.
    pub(super) fn new(mode: &str, object: &str) -> Self {
        Self {
            mode: mode.to_owned(),
            object: object.to_owned(),
            stage: "0".to_owned(),
            unwatched: false,
        }
    }

    /// Takes the path out; `like` is any object's name, for its length.
    pub(super) fn none(like: &str) -> Self {
        Self::new("0", &"0".repeat(like.len()))
    }
}
