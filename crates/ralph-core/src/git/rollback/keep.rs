//! The state before an attempt, kept so that it can be brought back byte for byte.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::files::{Blobs, Held, entries, hold};
use super::look::Look;
use crate::git::index::Index;
use crate::git::paths::{RepoPath, parents};
use crate::git::places::{IndexFile, Places};
use crate::git::save;
use crate::git::{Git, GitError};

/// How often a look is taken when files come and go under it.
const LOOKS: u32 = 3;

/// What was there before an attempt: HEAD, the branch, the index, and every uncommitted file.
///
/// Its objects are held by a reference until [`Git::let_go`] or a roll-back, so that neither `git gc` nor a crash can take
/// them. The files are in it as they are on the disk, before any filter: `git show REFERENCE:PATH` gives one back.
#[derive(Clone, Debug)]
pub struct Kept {
    pub(super) look: Look,
    pub(super) index: Option<IndexFile>,
    pub(super) held: BTreeMap<RepoPath, Held>,
    /// Directories made later than this are the attempt's.
    pub(super) since: Option<SystemTime>,
    /// The reference and the commit it is at; none without any commit or file.
    pub(super) saved: Option<(String, String)>,
}

impl Kept {
    /// The reference that holds it.
    pub fn reference(&self) -> Option<&str> {
        self.saved.as_ref().map(|(name, _)| name.as_str())
    }

    /// What lay at a path, where it was uncommitted. Below a file or a link there was nothing, which git does not always
    /// see: not where the link led to itself.
    pub(super) fn held_at(&self, path: &[u8]) -> Option<&Held> {
        let is_no_directory = |dir: &[u8]| {
            let bare = dir.strip_suffix(b"/").unwrap_or(dir);
            matches!(
                self.held.get(bare),
                Some(Held::File { .. } | Held::Link { .. } | Held::Special)
            )
        };
        let known = self.held.get(path);
        known.or_else(|| parents(path).any(is_no_directory).then_some(&Held::Gone))
    }
}

impl Git {
    /// Keeps the state of the work tree, so that [`Git::roll_back`] can bring it back. `name` tells one from another
    /// (the task, the attempt). A clean tree costs two looks and a reference.
    pub fn keep(&self, name: &str) -> Result<Kept, GitError> {
        let places = self.settled_places()?;
        places.wait_for_index()?;
        let mut look = 1;
        loop {
            match self.keep_once(&places, name) {
                // A file went away between being seen and being read.
                Err(GitError::Refused { .. } | GitError::File { .. }) if look < LOOKS => look += 1,
                done => return done,
            }
        }
    }

    fn keep_once(&self, places: &Places, name: &str) -> Result<Kept, GitError> {
        let since = file_system_time(places)?;
        let look = self.look(places)?;
        let index = whole_index(places)?;
        let dirty = look.dirty.iter();
        let held = hold(
            places,
            dirty.map(|(path, dirty)| (path, dirty.repository.as_ref())),
            Blobs::Written,
        )?;
        let commit = commit(places, &look, index.as_ref(), &held)?;
        let saved = match commit {
            Some(commit) => {
                let reference = save::reference(places, "kept", name, &commit)?;
                Some((reference, commit))
            }
            None => None,
        };
        Ok(Kept {
            look,
            index,
            held,
            since,
            saved,
        })
    }

    /// Gives up what was kept, after an attempt that is not rolled back. Not after a roll-back that failed: it names the
    /// reference as the place where things are.
    pub fn let_go(&self, kept: &Kept) -> Result<(), GitError> {
        let Some((reference, commit)) = &kept.saved else {
            return Ok(());
        };
        let places = self.places()?;
        let call = places.change(&["update-ref", "-d", reference, commit]);
        call.run().map(drop)
    }
}

/// Files as a commit on top of HEAD, with what is staged as its second parent; HEAD itself where nothing differs.
fn commit(
    places: &Places,
    look: &Look,
    index: Option<&IndexFile>,
    held: &BTreeMap<RepoPath, Held>,
) -> Result<Option<String>, GitError> {
    if held.is_empty() && look.staged.is_empty() {
        return Ok(look.head.clone());
    }
    let (entries, gone) = entries(places, held)?;
    let tree = Index::of_tree(places, look.head.as_deref())?;
    tree.forget(&gone)?;
    tree.set(&entries)?;
    let mut parents: Vec<String> = look.head.iter().cloned().collect();
    if !look.staged.is_empty() {
        // What is in conflict makes no tree; the index's own bytes are kept too.
        if let Ok(staged) = Index::copy_of(places, index)?.tree() {
            let message = "Staged changes before an attempt";
            parents.push(save::commit(places, &staged, &parents, message)?);
        }
    }
    let message = "Uncommitted changes before an attempt";
    save::commit(places, &tree.tree()?, &parents, message).map(Some)
}

/// The index in one piece: parts of a split one could be thrown away by others meanwhile.
fn whole_index(places: &Places) -> Result<Option<IndexFile>, GitError> {
    let index = places.read_index()?;
    let is_split = |index: &IndexFile| {
        memchr::memmem::find(&index.bytes, b"link").is_some()
            && std::fs::read_dir(&places.git_dir).is_ok_and(|files| {
                files.flatten().any(|file| {
                    file.file_name()
                        .as_encoded_bytes()
                        .starts_with(b"sharedindex.")
                })
            })
    };
    match index {
        Some(index) if is_split(&index) => {
            let copy = Index::copy_of(places, Some(&index))?;
            copy.call(&["update-index", "--no-split-index"]).run()?;
            copy.read().map(Some)
        }
        index => Ok(index),
    }
}

/// What time it is for the file system; the clock may say otherwise.
fn file_system_time(places: &Places) -> Result<Option<SystemTime>, GitError> {
    let scratch = places.scratch()?;
    let meta = std::fs::metadata(scratch.path());
    Ok(meta.and_then(|meta| meta.created()).ok())
}
