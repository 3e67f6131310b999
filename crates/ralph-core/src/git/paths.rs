//! Paths as git has them: bytes, from the repository's root, and what lies there on the disk.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A path below the repository's root: no UTF-8 is promised.
pub(super) type RepoPath = Vec<u8>;

/// Where a path is on the disk.
pub(super) fn on_disk(top: &Path, path: &[u8]) -> PathBuf {
    top.join(OsStr::from_bytes(path))
}

/// A path for people: one line, whatever its name is made of.
pub(super) fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path)
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

/// The directories above a path, the nearest first, each with its slash.
pub(super) fn parents(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let end = path.len().saturating_sub(1);
    (0..end)
        .rev()
        .filter(|at| path.get(*at) == Some(&b'/'))
        .filter_map(|at| path.get(..=at))
}

/// What lies at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing, or nothing that git would find there.
    Gone,
    /// A file, with its permissions.
    File(u32),
    /// A symbolic link.
    Link,
    /// A directory.
    Directory,
    /// A directory that is a repository itself.
    Repository,
    /// A pipe, a socket, a device.
    Special,
}

/// Looks at a path without following links, not even above it: what is beyond a link belongs to somebody else.
pub(super) fn kind(top: &Path, path: &[u8]) -> Kind {
    let is_directory =
        |path: &[u8]| std::fs::symlink_metadata(on_disk(top, path)).is_ok_and(|meta| meta.is_dir());
    let bare = |dir: &[u8]| dir.strip_suffix(b"/").unwrap_or(dir).to_vec();
    if !parents(path).all(|dir| is_directory(&bare(dir))) {
        return Kind::Gone;
    }
    let full = on_disk(top, path);
    let Ok(meta) = std::fs::symlink_metadata(&full) else {
        return Kind::Gone;
    };
    let sort = meta.file_type();
    if sort.is_file() {
        Kind::File(meta.permissions().mode() & 0o7777)
    } else if sort.is_symlink() {
        Kind::Link
    } else if !sort.is_dir() {
        Kind::Special
    } else if full.join(".git").symlink_metadata().is_ok() {
        Kind::Repository
    } else {
        Kind::Directory
    }
}

/// The last part of a path.
pub(super) fn name(path: &[u8]) -> &[u8] {
    path.rsplit(|b| *b == b'/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_are_nearest_first() {
        let found: Vec<&[u8]> = parents(b"a/b/c").collect();
        assert_eq!(found, [b"a/b/".as_slice(), b"a/"]);
        assert_eq!(parents(b"a").count(), 0);
        assert_eq!(parents(b"").count(), 0);
        assert_eq!(name(b"a/b"), b"b");
    }

    #[test]
    fn nothing_is_seen_beyond_a_link() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("real")).unwrap();
        std::fs::write(dir.path().join("real/f"), "x").unwrap();
        std::os::unix::fs::symlink("real", dir.path().join("link")).unwrap();
        assert!(matches!(kind(dir.path(), b"real/f"), Kind::File(_)));
        assert_eq!(kind(dir.path(), b"link/f"), Kind::Gone);
        assert_eq!(kind(dir.path(), b"link"), Kind::Link);
        assert_eq!(kind(dir.path(), b"real"), Kind::Directory);
        assert_eq!(kind(dir.path(), b"none/f"), Kind::Gone);
    }
}
