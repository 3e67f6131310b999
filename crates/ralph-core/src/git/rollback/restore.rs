//! Bringing files of the work tree back. Whatever stands in the way of one is told, and the others go on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::SystemTime;

use super::plan::Undo;
use crate::git::GitError;
use crate::git::call::with_zeros;
use crate::git::index::Index;
use crate::git::paths::{Kind, RepoPath, kind, name, on_disk, parents, shown};
use crate::git::places::Places;

/// Rules for other files: they must be as they were before others are looked at.
const RULES: [&[u8]; 2] = [b".gitignore", b".gitattributes"];

/// A roll-back of files under way.
pub(super) struct Restore<'r> {
    pub(super) places: &'r Places,
    /// The index of before.
    pub(super) index: &'r Index<'r>,
    /// Directories made later than this are the attempt's.
    pub(super) since: Option<SystemTime>,
    /// What did not work.
    pub(super) faults: Vec<String>,
    /// What was not removed, for the rules of before ignore it.
    pub(super) spared: BTreeSet<RepoPath>,
}

impl Restore<'_> {
    /// Does everything; what the rules of before ignore is not removed.
    pub(super) fn all(&mut self, undo: &BTreeMap<RepoPath, Undo>) -> Result<(), GitError> {
        let is_rule = |path: &RepoPath| RULES.contains(&name(path));
        let (rules, others): (Vec<_>, Vec<_>) = undo.iter().partition(|(path, _)| is_rule(path));
        self.some(&rules)?;
        let removed = others
            .iter()
            .filter(|(_, undo)| **undo == Undo::Remove)
            .map(|(path, _)| path.as_slice());
        self.spared = ignored(self.places, removed)?;
        self.some(&others)
    }

    fn some(&mut self, undo: &[(&RepoPath, &Undo)]) -> Result<(), GitError> {
        // First away with what was not there: it may be where something else was.
        for (path, undo) in undo {
            if **undo == Undo::Remove && !self.spared.contains(*path) {
                self.note(path, remove(&self.places.top, path));
                self.prune(path);
            }
        }
        let mut checked_out = Vec::new();
        let mut written = Vec::new();
        for (path, undo) in undo {
            if **undo == Undo::Remove {
                continue;
            }
            if let Err(why) = make_room(&self.places.top, path) {
                self.note(path, Err(why));
                continue;
            }
            match undo {
                Undo::Remove => {}
                Undo::CheckOut => checked_out.push(*path),
                Undo::Write { blob, mode } => written.push((*path, blob.as_str(), *mode)),
                Undo::Link { target } => self.note(path, link(&self.places.top, path, target)),
                Undo::Permit { mode } => {
                    let full = on_disk(&self.places.top, path);
                    let permissions = Permissions::from_mode(*mode);
                    self.note(path, fs::set_permissions(full, permissions));
                }
            }
        }
        self.write(&written)?;
        self.check_out(&checked_out)
    }

    fn note(&mut self, path: &[u8], done: io::Result<()>) {
        if let Err(error) = done {
            self.faults.push(format!("{}: {error}", shown(path)));
        }
    }

    /// Removes the directories above a path that are empty now and were made by the attempt.
    fn prune(&self, path: &[u8]) {
        let Some(since) = self.since else { return };
        for dir in parents(path) {
            let full = on_disk(&self.places.top, dir);
            let made = fs::symlink_metadata(&full).and_then(|meta| meta.created());
            if !made.is_ok_and(|made| made > since) || fs::remove_dir(&full).is_err() {
                return;
            }
        }
    }

    /// Writes files byte for byte, read from one process.
    fn write(&mut self, files: &[(&RepoPath, &str, u32)]) -> Result<(), GitError> {
        if files.is_empty() {
            return Ok(());
        }
        let list: Vec<&str> = files.iter().map(|(_, blob, _)| *blob).collect();
        // By way of a file: git has a deadline then, however large the blobs are.
        let scratch = self.places.scratch()?;
        let path = scratch.path().join("blobs");
        let fault = |error| GitError::file(&path, error);
        let blobs = fs::File::create_new(&path).map_err(fault)?;
        let call = self.places.change(&["cat-file", "--batch"]);
        let call = call.input((list.join("\n") + "\n").into_bytes());
        call.write_to(blobs)?;
        let mut out =
            BufReader::new(crate::files::open(&path, crate::files::Links::Follow).map_err(fault)?);
        let mut failed = None;
        for (path, blob, mode) in files {
            let size = match next_blob(&mut out, blob) {
                Ok(size) => size,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            };
            let mut bytes = out.by_ref().take(size);
            let written = write_file(&self.places.top, path, &mut bytes, *mode);
            // What was not written must be read all the same, and the line's end after it.
            let rest = io::copy(&mut bytes, &mut io::sink())
                .and_then(|_| io::copy(&mut out.by_ref().take(1), &mut io::sink()));
            self.note(path, written.and(rest.map(drop)));
        }
        if let Some(error) = failed {
            self.faults.push(format!("git cat-file: {error}"));
        }
        Ok(())
    }

    /// Writes files as they were committed, through git's filters.
    fn check_out(&mut self, paths: &[&RepoPath]) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let top = &self.places.top;
        let before: Vec<(&RepoPath, Kind)> =
            paths.iter().map(|path| (*path, kind(top, path))).collect();
        let call = self
            .index
            .call(&["checkout-index", "--force", "--index", "-z", "--stdin"]);
        let list = with_zeros(paths.iter().map(|path| path.as_slice()));
        if let Err(error) = call.input(list).run() {
            self.faults.push(error.to_string());
        }
        for (path, was) in before {
            if let (Kind::File(old), Kind::File(new)) = (was, kind(top, path)) {
                let mode = permissions(old, new);
                if mode != new {
                    let full = on_disk(top, path);
                    let done = fs::set_permissions(full, Permissions::from_mode(mode));
                    self.note(path, done);
                }
            }
        }
        Ok(())
    }
}

/// The permissions of a file that git wrote anew: as they were, for it could have been nobody else's to read; git's own
/// where only they tell whether it can be executed.
fn permissions(old: u32, new: u32) -> u32 {
    match old & 0o100 == new & 0o100 {
        true => old,
        false => new,
    }
}

/// Those of the paths that the rules ignore.
pub(super) fn ignored<'a>(
    places: &Places,
    paths: impl Iterator<Item = &'a [u8]>,
) -> Result<BTreeSet<RepoPath>, GitError> {
    let list = with_zeros(paths);
    if list.is_empty() {
        return Ok(BTreeSet::new());
    }
    let call = places.call(&["check-ignore", "--no-index", "-z", "--stdin"]);
    let output = call.input(list).output()?;
    match output.code {
        // 1 says that none is.
        Some(0 | 1) => Ok(output
            .stdout
            .split(|b| *b == 0)
            .filter(|path| !path.is_empty())
            .map(<[u8]>::to_vec)
            .collect()),
        _ => Err(GitError::Refused {
            command: "check-ignore".to_owned(),
            message: crate::text::one_line(&String::from_utf8_lossy(&output.stderr), 200),
        }),
    }
}

fn remove(top: &Path, path: &[u8]) -> io::Result<()> {
    match kind(top, path) {
        Kind::File(_) | Kind::Link | Kind::Special => fs::remove_file(on_disk(top, path)),
        Kind::Gone | Kind::Directory | Kind::Repository => Ok(()),
    }
}

/// Makes sure that a file can be put at a path without anything else being lost.
fn make_room(top: &Path, path: &[u8]) -> io::Result<()> {
    let in_the_way = |what: &[u8]| {
        let message = format!("{} is in the way", shown(what));
        Err(io::Error::new(io::ErrorKind::AlreadyExists, message))
    };
    let above: Vec<&[u8]> = parents(path).collect();
    for dir in above.iter().rev() {
        let bare = dir.strip_suffix(b"/").unwrap_or(dir);
        match fs::symlink_metadata(on_disk(top, bare)) {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return in_the_way(bare),
            Err(_) => break,
        }
    }
    let full = on_disk(top, path);
    match kind(top, path) {
        Kind::Directory | Kind::Repository if remove_empty(&full).is_err() => in_the_way(path),
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

fn write_file(top: &Path, path: &[u8], bytes: &mut dyn Read, mode: u32) -> io::Result<()> {
    let full = on_disk(top, path);
    let mut file = crate::files::temporary_in(full.parent().unwrap_or(top))?;
    io::copy(bytes, file.as_file_mut())?;
    file.as_file()
        .set_permissions(Permissions::from_mode(mode))?;
    file.persist(full).map_err(|error| error.error)?;
    Ok(())
}

/// Reads the line before a blob's bytes; their number.
fn next_blob(out: &mut impl BufRead, blob: &str) -> io::Result<u64> {
    let mut line = String::new();
    out.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (Some(name), Some("blob"), Some(size)) if name == blob => {
            size.parse().map_err(io::Error::other)
        }
        _ => Err(io::Error::other(format!(
            "no blob {blob}: {}",
            line.trim_end()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_stay_but_for_whether_it_can_be_executed() {
        for (old, new, mode) in [
            (0o600, 0o644, 0o600),
            (0o700, 0o755, 0o700),
            (0o755, 0o644, 0o644),
            (0o600, 0o755, 0o755),
        ] {
            assert_eq!(permissions(old, new), mode, "{old:o} {new:o}");
        }
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
