//! Files of the working tree, byte for byte: what was at a path before an attempt, what a rollback has to do there, and
//! doing it. No filter and no line ending changes them on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::SystemTime;

use super::call::{with_zeros, zero_separated};
use super::index::{Entry, GITLINK, Index};
use super::paths::{FileKind, RepoPath, display_path, on_disk, parents};
use super::repository::Repository;
use super::{GitError, LeftBecause};

/// Rules for other files: they must be as they were before others are restored.
const RULES: [&[u8]; 2] = [b".gitignore", b".gitattributes"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathState {
    Gone,
    /// The blob with its bytes, and its permissions.
    File {
        blob: String,
        mode: u32,
    },
    Link(Vec<u8>),
    /// A pipe or the like, with nothing in it to keep.
    Special,
    /// A submodule or a repository, which is never touched; with git's letters for a submodule.
    Repository(Vec<u8>),
}

impl PathState {
    /// What is at a path, without its content; `letters` are git's for a repository.
    pub(super) fn outline(top: &Path, path: &[u8], letters: Option<&Vec<u8>>) -> Self {
        match (letters, FileKind::at(top, path)) {
            (Some(letters), _) => Self::Repository(letters.clone()),
            (None, FileKind::File(mode)) => Self::File { blob: String::new(), mode },
            (None, FileKind::Link) => Self::Link(Vec::new()),
            (None, FileKind::Repository) => Self::Repository(Vec::new()),
            (None, FileKind::Special) => Self::Special,
            (None, FileKind::Gone | FileKind::Directory) => Self::Gone,
        }
    }
}

impl Repository {
    /// What is at these paths; with git's letters for those that are repositories.
    pub(super) fn path_states<'a>(
        &self,
        paths: impl IntoIterator<Item = (&'a RepoPath, Option<&'a Vec<u8>>)>,
    ) -> Result<BTreeMap<RepoPath, PathState>, GitError> {
        let mut states = BTreeMap::new();
        let mut files = Vec::new();
        for (path, letters) in paths {
            let mut state = PathState::outline(&self.top, path, letters);
            match &mut state {
                PathState::File { mode, .. } => {
                    files.push((path, *mode));
                    continue;
                }
                PathState::Link(target) => {
                    let full = on_disk(&self.top, path);
                    let read = fs::read_link(&full).map_err(|error| GitError::file(&full, error))?;
                    *target = read.as_os_str().as_bytes().to_vec();
                }
                PathState::Gone | PathState::Special | PathState::Repository(_) => {}
            }
            states.insert(path.clone(), state);
        }
        let paths: Vec<&RepoPath> = files.iter().map(|(path, _)| *path).collect();
        for ((path, mode), blob) in files.into_iter().zip(self.hash_files(&paths)?) {
            states.insert(path.clone(), PathState::File { blob, mode });
        }
        Ok(states)
    }

    /// The blobs of files, in order.
    fn hash_files(&self, paths: &[&RepoPath]) -> Result<Vec<String>, GitError> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let lines: Vec<Vec<u8>> = paths.iter().map(|path| quoted(path)).collect();
        let words = ["hash-object", "-w", "--no-filters", "--stdin-paths"];
        let out = self.change(&words).input(lines.concat()).run()?;
        let out = String::from_utf8_lossy(&out).into_owned();
        let named: Vec<String> = out.lines().map(str::to_owned).collect();
        match named.len() == paths.len() {
            true => Ok(named),
            false => Err(GitError::Refused {
                command: "hash-object".to_owned(),
                message: format!("named {} of {} files", named.len(), paths.len()),
            }),
        }
    }

    /// Those of the paths that the rules ignore.
    pub(super) fn ignored<'a>(
        &self,
        paths: impl Iterator<Item = &'a [u8]>,
    ) -> Result<BTreeSet<RepoPath>, GitError> {
        let list = with_zeros(paths);
        if list.is_empty() {
            return Ok(BTreeSet::new());
        }
        let call = self.query(&["check-ignore", "--no-index", "-z", "--stdin"]);
        let output = call.input(list).output()?;
        match output.code {
            // 1 says that none is.
            Some(0 | 1) => Ok(zero_separated(&output.stdout).map(<[u8]>::to_vec).collect()),
            _ => Err(GitError::Refused {
                command: "check-ignore".to_owned(),
                message: crate::text::one_line(&output.error_text(), 200),
            }),
        }
    }
}

/// A path on a line of its own, as git unquotes it.
fn quoted(path: &[u8]) -> Vec<u8> {
    let mut out = vec![b'"'];
    for byte in path {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            0..0x20 | 0x7f => out.extend(format!("\\{byte:03o}").bytes()),
            _ => out.push(*byte),
        }
    }
    out.extend(b"\"\n");
    out
}

impl Index<'_> {
    /// Makes the index hold what was at these paths. Repositories have no part in it.
    pub(super) fn set_states(&self, states: &BTreeMap<RepoPath, PathState>) -> Result<(), GitError> {
        let (mut files, mut links, mut gone) = (BTreeMap::new(), Vec::new(), Vec::new());
        for (path, state) in states {
            match state {
                PathState::Repository(_) | PathState::Special => {}
                PathState::Gone => gone.push(path),
                // Git stores a link's target as it is.
                PathState::Link(_) => links.push(path),
                PathState::File { blob, mode } => {
                    let is_executable = mode & 0o100 != 0;
                    let mode = if is_executable { "100755" } else { "100644" };
                    files.insert(path, Entry::new(mode, blob));
                }
            }
        }
        self.remove(gone)?;
        self.set(files.iter().map(|(path, entry)| (*path, entry)))?;
        self.add(links)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Undo {
    Remove,
    CheckOut,
    Write { blob: String, mode: u32 },
    Link(Vec<u8>),
}

/// What a rollback does at a path that may have been changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// It is as it was, or none of our business.
    Nothing,
    Undo(Undo),
    Leave(LeftBecause),
}

impl Decision {
    /// `before` is what was there where it was uncommitted, `index` what the index had for it before.
    pub(super) fn new(
        before: Option<&PathState>,
        now: &PathState,
        was_ignored: bool,
        index: Option<&Entry>,
    ) -> Self {
        match (before, now) {
            (Some(before), now) if before == now => Self::Nothing,
            (Some(PathState::Repository(letters)), _) | (_, PathState::Repository(letters)) => {
                Self::Leave(match letters.is_empty() && index.is_none() {
                    true => LeftBecause::Repository,
                    false => LeftBecause::Submodule,
                })
            }
            (Some(PathState::Special), _) => Self::Nothing,
            (Some(PathState::Gone), _) => Self::Undo(Undo::Remove),
            (Some(PathState::Link(target)), _) => Self::Undo(Undo::Link(target.clone())),
            (Some(PathState::File { blob, mode }), _) => {
                Self::Undo(Undo::Write { blob: blob.clone(), mode: *mode })
            }
            (None, now) => match index {
                Some(entry) if entry.mode == GITLINK => Self::Leave(LeftBecause::Submodule),
                Some(entry) if entry.unwatched => Self::Leave(LeftBecause::Unwatched),
                Some(_) => Self::Undo(Undo::CheckOut),
                None if was_ignored || *now == PathState::Gone => Self::Nothing,
                None => Self::Undo(Undo::Remove),
            },
        }
    }
}

/// A rollback of files under way. Whatever stands in the way of one is noted, and the others go on.
pub(super) struct Restore<'r> {
    pub(super) repository: &'r Repository,
    pub(super) index: &'r Index<'r>,
    /// Directories made later than this are the attempt's.
    pub(super) since: SystemTime,
    pub(super) errors: Vec<String>,
    /// What was not removed, because the rules of before ignore it.
    pub(super) spared: BTreeSet<RepoPath>,
}

impl Restore<'_> {
    /// Does everything; what the rules of before ignore is not removed.
    pub(super) fn all(&mut self, undo: &BTreeMap<RepoPath, Undo>) -> Result<(), GitError> {
        let name = |path: &RepoPath| path.rsplit(|b| *b == b'/').next().map(<[u8]>::to_vec);
        let is_rule = |path: &RepoPath| RULES.iter().any(|rule| name(path).as_deref() == Some(rule));
        let (rules, others): (Vec<_>, Vec<_>) = undo.iter().partition(|(path, _)| is_rule(path));
        self.some(&rules)?;
        let removed = others.iter().filter(|(_, undo)| **undo == Undo::Remove);
        let removed = removed.map(|(path, _)| path.as_slice());
        self.spared = self.repository.ignored(removed)?;
        self.some(&others)
    }

    fn some(&mut self, undo: &[(&RepoPath, &Undo)]) -> Result<(), GitError> {
        let top = self.repository.top.as_path();
        // Removals come first: something else may have been where they are.
        for (path, undo) in undo {
            if **undo == Undo::Remove && !self.spared.contains(*path) {
                self.note(path, remove(top, path));
                self.prune(path);
            }
        }
        let mut checked_out = Vec::new();
        for (path, undo) in undo {
            if **undo != Undo::Remove
                && let Err(why) = make_room(top, path)
            {
                self.note(path, Err(why));
                continue;
            }
            match undo {
                Undo::Remove => {}
                Undo::CheckOut => checked_out.push(*path),
                Undo::Write { blob, mode } => self.write(path, blob, *mode)?,
                Undo::Link(target) => self.note(path, link(top, path, target)),
            }
        }
        self.check_out(&checked_out)
    }

    fn note(&mut self, path: &[u8], done: io::Result<()>) {
        if let Err(error) = done {
            self.errors.push(format!("{}: {error}", display_path(path)));
        }
    }

    /// Removes the directories above a path that are empty now and were made by the attempt.
    fn prune(&self, path: &[u8]) {
        for dir in parents(path) {
            let full = on_disk(&self.repository.top, dir);
            let made = fs::symlink_metadata(&full).and_then(|meta| meta.created());
            if !made.is_ok_and(|made| made > self.since) || fs::remove_dir(&full).is_err() {
                return;
            }
        }
    }

    fn write(&mut self, path: &[u8], blob: &str, mode: u32) -> Result<(), GitError> {
        let full = on_disk(&self.repository.top, path);
        let dir = full.parent().unwrap_or(&self.repository.top);
        let opened = crate::files::temporary_in(dir).and_then(|file| Ok((file.as_file().try_clone()?, file)));
        let (out, file) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                self.note(path, Err(error));
                return Ok(());
            }
        };
        let call = self.repository.change(&["cat-file", "blob", blob]);
        call.write_to(out)?;
        let permissions = Permissions::from_mode(mode);
        let permitted = file.as_file().set_permissions(permissions);
        let written = permitted.and_then(|()| file.persist(full).map(drop).map_err(|e| e.error));
        self.note(path, written);
        Ok(())
    }

    /// Writes files as they were committed, through git's filters.
    fn check_out(&mut self, paths: &[&RepoPath]) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let top = self.repository.top.as_path();
        let kinds = || paths.iter().map(|path| FileKind::at(top, path));
        let before: Vec<FileKind> = kinds().collect();
        let words = ["checkout-index", "--force", "--index", "-z", "--stdin"];
        let list = with_zeros(paths.iter().map(|path| path.as_slice()));
        if let Err(error) = self.index.call(&words).input(list).run() {
            self.errors.push(error.to_string());
        }
        for ((path, old), new) in paths.iter().zip(before).zip(kinds()) {
            // Its permissions stay, because it may have been for nobody else to read, but for git's executable bit.
            if let (FileKind::File(old), FileKind::File(new)) = (old, new)
                && old & 0o100 == new & 0o100
                && old != new
            {
                let permissions = Permissions::from_mode(old);
                self.note(path, fs::set_permissions(on_disk(top, path), permissions));
            }
        }
        Ok(())
    }
}

fn remove(top: &Path, path: &[u8]) -> io::Result<()> {
    match FileKind::at(top, path) {
        FileKind::File(_) | FileKind::Link | FileKind::Special => fs::remove_file(on_disk(top, path)),
        FileKind::Gone | FileKind::Directory | FileKind::Repository => Ok(()),
    }
}

/// Makes sure that a file can be put at a path without anything else being lost.
fn make_room(top: &Path, path: &[u8]) -> io::Result<()> {
    let in_the_way = |what: &[u8]| {
        let message = format!("{} is in the way", display_path(what));
        Err(io::Error::new(io::ErrorKind::AlreadyExists, message))
    };
    for dir in parents(path) {
        if fs::symlink_metadata(on_disk(top, dir)).is_ok_and(|meta| !meta.is_dir()) {
            return in_the_way(dir);
        }
    }
    let full = on_disk(top, path);
    match FileKind::at(top, path) {
        FileKind::Directory | FileKind::Repository if remove_empty(&full).is_err() => in_the_way(path),
        _ => match full.parent() {
            Some(parent) => fs::create_dir_all(parent),
            None => Ok(()),
        },
    }
}

/// Removes a directory with nothing but directories in it: a file was in its place, so the attempt made them all.
fn remove_empty(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => remove_empty(&entry.path())?,
            false => return Err(io::ErrorKind::DirectoryNotEmpty.into()),
        }
    }
    fs::remove_dir(dir)
}

fn link(top: &Path, path: &[u8], target: &[u8]) -> io::Result<()> {
    let full = on_disk(top, path);
    match fs::remove_file(&full) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(target), full)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(blob: &str, mode: u32) -> PathState {
        PathState::File { blob: blob.into(), mode }
    }

    fn repository(letters: &[u8]) -> PathState {
        PathState::Repository(letters.to_vec())
    }

    #[test]
    fn every_path_gets_back_to_what_it_was_or_is_left() {
        use Decision::{Leave, Nothing};
        use PathState::{Gone, Link, Special};
        let write = Decision::Undo(Undo::Write { blob: "a".into(), mode: 0o600 });
        let was = Some(file("a", 0o600));
        let to_link = Decision::Undo(Undo::Link(b"x".to_vec()));
        let link = |target: &[u8]| Link(target.to_vec());
        let (remove, check_out) = (Decision::Undo(Undo::Remove), Decision::Undo(Undo::CheckOut));
        let (submodule, nested) = (Leave(LeftBecause::Submodule), Leave(LeftBecause::Repository));
        for (before, now, index_mode, decision) in [
            // What was uncommitted.
            (was.clone(), file("a", 0o600), None, &Nothing),
            (was.clone(), file("b", 0o600), None, &write),
            (was.clone(), file("a", 0o644), None, &write),
            (was.clone(), Gone, None, &write),
            (was.clone(), link(b"x"), None, &write),
            (was.clone(), Special, None, &write),
            (Some(link(b"x")), link(b"y"), Some("120000"), &to_link),
            (Some(Gone), file("a", 0o644), Some("100644"), &remove),
            // What was clean, and what is new.
            (None, file("b", 0o644), Some("100644"), &check_out),
            (None, Gone, Some("100644"), &check_out),
            (None, file("b", 0o644), None, &remove),
            (None, Gone, None, &Nothing),
            // Submodules and repositories.
            (None, repository(b"SC.."), Some(GITLINK), &submodule),
            (None, Gone, Some(GITLINK), &submodule),
            (Some(repository(b"S..U")), repository(b"SC.."), Some(GITLINK), &submodule),
            (None, repository(b""), None, &nested),
            (was, repository(b""), None, &nested),
            (Some(repository(b"")), Gone, None, &nested),
        ] {
            let entry = index_mode.map(|mode| Entry::new(mode, "1"));
            let made = Decision::new(before.as_ref(), &now, false, entry.as_ref());
            assert_eq!(made, *decision, "{before:?} {now:?} {index_mode:?}");
        }
        let now = file("b", 0o644);
        assert_eq!(Decision::new(None, &now, true, None), Nothing);
        let unwatched = Entry { unwatched: true, ..Entry::new("100644", "1") };
        let left = Leave(LeftBecause::Unwatched);
        assert_eq!(Decision::new(None, &now, false, Some(&unwatched)), left);
    }

    #[test]
    fn odd_names_are_quoted() {
        assert_eq!(quoted(b"a b"), b"\"a b\"\n");
        assert_eq!(quoted(b"a\"\\\n\r"), b"\"a\\\"\\\\\\012\\015\"\n");
        assert_eq!(quoted(b"\xff"), b"\"\xff\"\n");
    }

    #[test]
    fn room_is_not_made_by_removing_things() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        fs::create_dir_all(top.join("full")).unwrap();
        fs::write(top.join("full/inner"), "x").unwrap();
        fs::create_dir_all(top.join("empty/inner")).unwrap();
        fs::write(top.join("file"), "x").unwrap();
        assert!(make_room(top, b"full").is_err());
        assert!(make_room(top, b"file/below").is_err());
        assert!(make_room(top, b"empty").is_ok());
        assert!(make_room(top, b"new/dir/f").is_ok());
        assert!(top.join("new/dir").is_dir() && top.join("full/inner").exists());
    }
}
