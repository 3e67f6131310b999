//! Paths as git has them: bytes from the repository's root, and what is there on the disk.

use std::ffi::OsStr;
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    /// Nothing, or nothing that git would find there.
    Gone,
    /// With its permissions.
    File(u32),
    Link,
    Directory,
    /// A directory that is a repository itself.
    Repository,
    /// A pipe, a socket, a device.
    Special,
}

impl FileKind {
    /// Looks without following links, not even above the path: what is beyond a link belongs to somebody else.
    pub(super) fn at(top: &Path, path: &[u8]) -> Self {
        let metadata = |path: &[u8]| std::fs::symlink_metadata(on_disk(top, path));
        if !parents(path).all(|dir| metadata(dir).is_ok_and(|meta| meta.is_dir())) {
            return Self::Gone;
        }
        let Ok(meta) = metadata(path) else { return Self::Gone };
        let kind = meta.file_type();
        if kind.is_file() {
            Self::File(meta.permissions().mode() & 0o7777)
        } else if kind.is_symlink() {
            Self::Link
        } else if !kind.is_dir() {
            Self::Special
        } else if on_disk(top, path).join(".git").symlink_metadata().is_ok() {
            Self::Repository
        } else {
            Self::Directory
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
        std::fs::create_dir(dir.path().join("real")).unwrap();
        std::fs::write(dir.path().join("real/f"), "x").unwrap();
        std::os::unix::fs::symlink("real", dir.path().join("link")).unwrap();
        let kind = |path: &[u8]| FileKind::at(dir.path(), path);
        assert!(matches!(kind(b"real/f"), FileKind::File(_)));
        assert_eq!(kind(b"link/f"), FileKind::Gone);
        assert_eq!(kind(b"link"), FileKind::Link);
        assert_eq!(kind(b"real"), FileKind::Directory);
        assert_eq!(kind(b"none/f"), FileKind::Gone);
    }
}
