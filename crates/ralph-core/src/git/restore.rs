//! Files of the working tree, byte for byte: what was at a path before an attempt, what a rollback has to do there, and
//! doing it. No filter and no line ending changes them on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::call::{with_zeros, zero_separated};
use super::index::{Entry, Index};
use super::paths::{PathState, RepoPath, display_path, metadata, on_disk, parents};
use super::repository::Repository;
use super::{GitError, LeftBecause};
use crate::agent::Exit;

impl Repository {
    /// What is at these paths, with the bytes of files as blobs; git's letters tell those that are repositories.
    pub(super) fn path_states<'a>(
        &self,
        paths: impl IntoIterator<Item = (&'a RepoPath, Option<&'a Vec<u8>>)>,
    ) -> Result<BTreeMap<RepoPath, PathState>, GitError> {
        let mut states: BTreeMap<RepoPath, PathState> = BTreeMap::new();
        for (path, letters) in paths {
            let state = letters.cloned().map(PathState::Repository);
            states.insert(path.clone(), state.unwrap_or_else(|| PathState::at(&self.top, path)));
        }
        let mut files: Vec<(&RepoPath, &mut String)> = Vec::new();
        for (path, state) in &mut states {
            if let PathState::File { blob, .. } = state {
                files.push((path, blob));
            }
        }
        if files.is_empty() {
            return Ok(states);
        }
        let lines: Vec<u8> = files.iter().flat_map(|(path, _)| quoted(path)).collect();
        let words = ["hash-object", "-w", "--no-filters", "--stdin-paths"];
        let names = self.change(&words).input(lines).line()?;
        if names.lines().count() != files.len() {
            let message = format!("named {} of {} files", names.lines().count(), files.len());
            return Err(GitError::Refused { command: "hash-object".to_owned(), message });
        }
        for ((_, blob), name) in files.into_iter().zip(names.lines()) {
            name.clone_into(blob);
        }
        Ok(states)
    }

    /// Those of the paths that the rules ignore.
    pub(super) fn ignored<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a RepoPath>,
    ) -> Result<BTreeSet<RepoPath>, GitError> {
        let list = with_zeros(paths);
        if list.is_empty() {
            return Ok(BTreeSet::new());
        }
        let output = self.query(&["check-ignore", "--no-index", "-z", "--stdin"]).input(list).output()?;
        match output.exit {
            // 1 says that none is.
            Exit::Code(0 | 1) => Ok(zero_separated(&output.stdout).map(<[u8]>::to_vec).collect()),
            _ => Err(output.refused()),
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
        // Git stores a link's target as it is.
        let plain = states.iter().filter(|(_, state)| matches!(state, PathState::Gone | PathState::Link(_)));
        self.add(plain.map(|(path, _)| path))?;
        self.set(states.iter().filter_map(|(path, state)| {
            let PathState::File { blob, mode } = state else {
                return None;
            };
            let mode = if mode & 0o100 != 0 { "100755" } else { "100644" };
            Some((path, Entry::new(mode, blob)))
        }))
    }
}

/// How a path gets back to what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Undo {
    /// It was uncommitted, or not there at all.
    Restore(PathState),
    /// It was as the index has it.
    CheckOut,
}

/// What a rollback does at a path that may have been changed; nothing where it is as it was or none of our business. The
/// error says why it is left. `before` is what was there where it was uncommitted, `index` what the index had for it before.
pub(super) fn decide(
    before: Option<&PathState>,
    now: &PathState,
    was_ignored: bool,
    index: Option<&Entry>,
) -> Result<Option<Undo>, LeftBecause> {
    match (before, now) {
        (Some(before), now) if before == now => Ok(None),
        (Some(PathState::Repository(letters)), _) | (_, PathState::Repository(letters)) => {
            Err(match letters.is_empty() && index.is_none() {
                true => LeftBecause::Repository,
                false => LeftBecause::Submodule,
            })
        }
        (Some(PathState::Special), _) => Ok(None),
        (Some(before), _) => Ok(Some(Undo::Restore(before.clone()))),
        (None, now) => match index {
            Some(entry) if entry.is_submodule() => Err(LeftBecause::Submodule),
            Some(entry) if entry.unwatched => Err(LeftBecause::Unwatched),
            Some(_) => Ok(Some(Undo::CheckOut)),
            None if was_ignored || *now == PathState::Gone => Ok(None),
            None => Ok(Some(Undo::Restore(PathState::Gone))),
        },
    }
}

impl Index<'_> {
    /// Restores files, where this is the index of before. Whatever stands in the way of one is reported, and the others go
    /// on.
    pub(super) fn restore(&self, undo: &BTreeMap<RepoPath, Undo>) -> Result<Vec<String>, GitError> {
        let top = self.repository.top.as_path();
        let mut errors = Vec::new();
        let mut note = |path: &[u8], done: io::Result<()>| {
            errors.extend(done.err().map(|error| format!("{}: {error}", display_path(path))));
        };
        let gone = Undo::Restore(PathState::Gone);
        // Removals come first: something else may have been where they are.
        let (removed, others): (Vec<_>, Vec<_>) = undo.iter().partition(|(_, undo)| **undo == gone);
        for (path, _) in removed {
            note(path, remove(top, path));
        }
        let mut checked_out = Vec::new();
        for (path, undo) in others {
            if let Err(why) = make_room(top, path) {
                note(path, Err(why));
                continue;
            }
            match undo {
                Undo::CheckOut => checked_out.push(path),
                Undo::Restore(PathState::File { blob, mode }) => {
                    note(path, write(self.repository, path, blob, *mode)?);
                }
                Undo::Restore(PathState::Link(target)) => {
                    note(path, link(&on_disk(top, path), target));
                }
                Undo::Restore(PathState::Gone | PathState::Special | PathState::Repository(_)) => {}
            }
        }
        if !checked_out.is_empty() {
            // Through git's filters, as it was committed.
            let call = self.call(&["checkout-index", "--force", "--index", "-z", "--stdin"]);
            errors.extend(call.input(with_zeros(checked_out)).run().err().map(|error| error.to_string()));
        }
        Ok(errors)
    }
}

/// Removes a file, and the directories above it that are empty then, as git does.
fn remove(top: &Path, path: &[u8]) -> io::Result<()> {
    if metadata(top, path).is_none_or(|meta| meta.is_dir()) {
        return Ok(());
    }
    fs::remove_file(on_disk(top, path))?;
    for dir in parents(path) {
        if fs::remove_dir(on_disk(top, dir)).is_err() {
            break;
        }
    }
    Ok(())
}

fn link(path: &Path, target: &[u8]) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        fs::remove_file(path)?;
    }
    std::os::unix::fs::symlink(OsStr::from_bytes(target), path)
}

/// Writes a file byte for byte.
fn write(repository: &Repository, path: &[u8], blob: &str, mode: u32) -> Result<io::Result<()>, GitError> {
    let full = on_disk(&repository.top, path);
    let dir = full.parent().unwrap_or(&repository.top);
    let opened = crate::files::temporary_in(dir).and_then(|file| Ok((file.as_file().try_clone()?, file)));
    let (out, file) = match opened {
        Ok(opened) => opened,
        Err(error) => return Ok(Err(error)),
    };
    repository.change(&["cat-file", "blob", blob]).write_to(out)?;
    let permitted = file.as_file().set_permissions(Permissions::from_mode(mode));
    Ok(permitted.and_then(|()| file.persist(full).map(drop).map_err(|error| error.error)))
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
    let is_dir = metadata(top, path).is_some_and(|meta| meta.is_dir());
    if is_dir && remove_empty(&full).is_err() {
        return in_the_way(path);
    }
    fs::create_dir_all(full.parent().unwrap_or(top))
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
        use PathState::{Gone, Link, Special};
        let restored = |state: PathState| Ok(Some(Undo::Restore(state)));
        let was = Some(file("a", 0o600));
        let write = restored(file("a", 0o600));
        let link = |target: &[u8]| Link(target.to_vec());
        let check_out = Ok(Some(Undo::CheckOut));
        let (submodule, nested) = (Err(LeftBecause::Submodule), Err(LeftBecause::Repository));
        for (before, now, index_mode, decision) in [
            // What was uncommitted.
            (was.clone(), file("a", 0o600), None, &Ok(None)),
            (was.clone(), file("b", 0o600), None, &write),
            (was.clone(), file("a", 0o644), None, &write),
            (was.clone(), Gone, None, &write),
            (was.clone(), link(b"x"), None, &write),
            (was.clone(), Special, None, &write),
            (Some(link(b"x")), link(b"y"), Some("120000"), &restored(link(b"x"))),
            (Some(Gone), file("a", 0o644), Some("100644"), &restored(Gone)),
            // What was clean, and what is new.
            (None, file("b", 0o644), Some("100644"), &check_out),
            (None, Gone, Some("100644"), &check_out),
            (None, file("b", 0o644), None, &restored(Gone)),
            (None, Gone, None, &Ok(None)),
            // Submodules and repositories.
            (None, repository(b"SC.."), Some("160000"), &submodule),
            (None, Gone, Some("160000"), &submodule),
            (Some(repository(b"S..U")), repository(b"SC.."), Some("160000"), &submodule),
            (None, repository(b""), None, &nested),
            (was, repository(b""), None, &nested),
            (Some(repository(b"")), Gone, None, &nested),
        ] {
            let entry = index_mode.map(|mode| Entry::new(mode, "1"));
            let made = decide(before.as_ref(), &now, false, entry.as_ref());
            assert_eq!(made, *decision, "{before:?} {now:?} {index_mode:?}");
        }
        let now = file("b", 0o644);
        assert_eq!(decide(None, &now, true, None), Ok(None));
        let unwatched = Entry { unwatched: true, ..Entry::new("100644", "1") };
        assert_eq!(decide(None, &now, false, Some(&unwatched)), Err(LeftBecause::Unwatched));
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
