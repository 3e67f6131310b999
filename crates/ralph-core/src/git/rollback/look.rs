//! A close look at the work tree, before and after an attempt that may be rolled back.

use std::collections::{BTreeMap, BTreeSet};

use crate::git::paths::{RepoPath, parents};
use crate::git::places::Places;
use crate::git::snapshot::STATUS;
use crate::git::status::{Record, records};
use crate::git::{Git, GitError};

/// What a close look finds. Paths come from the repository's root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    /// The commit HEAD is at.
    pub(super) head: Option<String>,
    /// The branch's full name; none on none.
    pub(super) branch: Option<String>,
    /// What differs from HEAD or is unknown to git, of the project and not Ralph's own.
    pub(super) dirty: BTreeMap<RepoPath, Dirty>,
    /// What the index holds that differs, Ralph's own files included.
    pub(super) staged: BTreeMap<RepoPath, Vec<u8>>,
    /// What is ignored; a slash at the end means everything below too.
    pub(super) ignored: BTreeSet<RepoPath>,
}

/// A path that differs.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Dirty {
    /// Whether HEAD or the index has it.
    pub(super) tracked: bool,
    /// Whether the index holds something that neither HEAD nor the work tree has.
    pub(super) staged_apart: bool,
    /// A submodule, and git's letters for what changed in it; or a repository, and none.
    pub(super) repository: Option<Vec<u8>>,
}

impl Look {
    /// Whether a path is, or is below, something ignored.
    pub(super) fn is_ignored(&self, path: &[u8]) -> bool {
        let as_directory = [path, b"/"].concat();
        self.ignored.contains(path)
            || self.ignored.contains(&as_directory)
            || parents(path).any(|dir| self.ignored.contains(dir))
    }
}

impl Git {
    /// Looks closely.
    pub(super) fn look(&self, places: &Places) -> Result<Look, GitError> {
        let out = self
            .call(&STATUS)
            .args(&["--ignored=matching", "--", "."])
            .run()?;
        let mut look = Look {
            branch: places.branch()?,
            ..Look::default()
        };
        for record in records(&out) {
            match record {
                Record::Head(head) => {
                    look.head = head.map(|head| String::from_utf8_lossy(head).into_owned());
                }
                Record::Ignored(path) => {
                    look.ignored.insert(path.to_owned());
                }
                Record::Untracked(path) => {
                    let bare = path.strip_suffix(b"/").unwrap_or(path);
                    if self.own_path(bare).is_some() {
                        let dirty = look.dirty.entry(bare.to_owned()).or_default();
                        dirty.repository = (bare != path).then(Vec::new);
                    }
                }
                Record::Tracked {
                    letters,
                    sub,
                    objects,
                    path,
                } => {
                    let is_staged = letters.first() != Some(&b'.');
                    // `.A` is a file that was announced with `git add -N`.
                    if is_staged || letters == b".A" {
                        look.staged
                            .insert(path.to_owned(), staged(letters, objects));
                    }
                    if self.own_path(path).is_some() {
                        let dirty = look.dirty.entry(path.to_owned()).or_default();
                        dirty.tracked = true;
                        dirty.staged_apart = is_staged && letters.get(1) != Some(&b'.');
                        dirty.repository = sub.starts_with(b"S").then(|| sub.to_owned());
                    }
                }
            }
        }
        Ok(look)
    }
}

/// What a record says of the index alone: `mH mI mW hH hI`, or of a conflict everything.
fn staged(letters: &[u8], objects: &[u8]) -> Vec<u8> {
    let words: Vec<&[u8]> = objects.split(|b| *b == b' ').collect();
    match words.as_slice() {
        [_, mode, _, _, object, _] => [mode, b" ".as_slice(), object].concat(),
        _ => [letters, b" ", objects].concat(),
    }
}
