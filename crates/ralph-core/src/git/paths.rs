//! Paths as git has them: bytes from the repository's root, and what is there on the disk.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A path below the repository's root: no UTF-8 is promised.
pub(super) type RepoPath = Vec<u8>;

pub(super) fn on_disk(top: &Path, path: &[u8]) -> PathBuf {
    top.join(OsStr::from_bytes(path))
}

/// A path for people: one line, whatever its name is made of.
pub(super) fn display_path(path: &[u8]) -> String {
    String::from_utf8_lossy(path).chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// A directory without its slash.
pub(super) fn bare(dir: &[u8]) -> &[u8] {
    dir.strip_suffix(b"/").unwrap_or(dir)
}

/// The directories above a path, the nearest first, without their slash.
pub(super) fn parents(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let end = bare(path).len();
    (0..end).rev().filter(|at| path.get(*at) == Some(&b'/')).filter_map(|at| path.get(..at))
}

/// What is at a path, without following links, not even above it: what is beyond a link belongs to somebody else.
pub(super) fn metadata(top: &Path, path: &[u8]) -> Option<Metadata> {
    let metadata = |path: &[u8]| fs::symlink_metadata(on_disk(top, path)).ok();
    let is_inside = parents(path).all(|dir| metadata(dir).is_some_and(|meta| meta.is_dir()));
    metadata(path).filter(|_| is_inside)
}

/// What git would find at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathState {
    /// Nothing, or a directory.
    Gone,
    /// Its permissions, and the blob with its bytes where they were asked for.
    File { mode: u32, blob: String },
    /// Its target.
    Link(Vec<u8>),
    /// A pipe or the like, with nothing in it to keep.
    Special,
    /// A submodule or a repository, which is never touched; with git's letters for a submodule.
    Repository(Vec<u8>),
}

impl PathState {
    pub(super) fn at(top: &Path, path: &[u8]) -> Self {
        let Some(meta) = metadata(top, path) else {
            return Self::Gone;
        };
        let full = on_disk(top, path);
        if meta.is_file() {
            Self::File { mode: meta.permissions().mode() & 0o7777, blob: String::new() }
        } else if meta.is_symlink() {
            let target = fs::read_link(full).unwrap_or_default();
            Self::Link(target.into_os_string().into_encoded_bytes())
        } else if !meta.is_dir() {
            Self::Special
        } else if full.join(".git").symlink_metadata().is_ok() {
            Self::Repository(Vec::new())
        } else {
            Self::Gone
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_are_nearest_first() {
        let found: Vec<&[u8]> = parents(b"a/b/c").collect();
        assert_eq!(found, [b"a/b".as_slice(), b"a"]);
        assert_eq!(parents(b"a/").count(), 0);
        assert_eq!(parents(b"").count(), 0);
    }

    #[test]
    fn nothing_is_seen_beyond_a_link() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("real")).unwrap();
        fs::write(dir.path().join("real/f"), "x").unwrap();
        std::os::unix::fs::symlink("real", dir.path().join("link")).unwrap();
        let state = |path: &[u8]| PathState::at(dir.path(), path);
        assert!(matches!(state(b"real/f"), PathState::File { .. }));
        assert_eq!(state(b"link/f"), PathState::Gone);
        assert_eq!(state(b"link"), PathState::Link(b"real".to_vec()));
        assert_eq!(state(b"real"), PathState::Gone);
        assert_eq!(state(b"none/f"), PathState::Gone);
    }
}
