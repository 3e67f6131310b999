//! Enough of a changed file to see that it changed again.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::files::{self, Limit, Links};

/// Dirty files that are looked into: small ones, and not too many.
const HASHED_BYTES: u64 = 64 * 1024;
pub(super) const HASHED_FILES: usize = 200;

/// Enough of a changed file to see that it changed again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileState {
    /// Git's two status letters; of both records where there are two.
    letters: Vec<u8>,
    /// What changed in a submodule; none for what is no submodule.
    pub(super) submodule: Option<Vec<u8>>,
    executable: bool,
    pub(super) content: Content,
    /// When it last changed in any way, its name included, in Unix seconds; none where it is gone.
    #[serde(default)]
    changed_at: Option<i64>,
}

/// What is in a file, as far as it was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Content {
    /// There is no file.
    Gone,
    /// There is one.
    There {
        /// Modification time, size and inode.
        stat: (i64, i64, u64, u64),
        /// A hash of it, unless the file is large or one of many.
        hash: Option<u64>,
    },
}

impl FileState {
    /// Looks at a path that git calls dirty; `dirty_before` are those looked at already.
    pub(super) fn look(
        path: &Path,
        letters: Vec<u8>,
        submodule: Option<Vec<u8>>,
        dirty_before: usize,
    ) -> Self {
        let meta = std::fs::symlink_metadata(path).ok();
        Self {
            letters,
            submodule,
            executable: meta.as_ref().is_some_and(|meta| meta.mode() & 0o100 != 0),
            content: content(path, meta.as_ref(), dirty_before),
            changed_at: meta.as_ref().map(MetadataExt::ctime),
        }
    }

    pub(super) fn letters(&self) -> &[u8] {
        &self.letters
    }

    /// Whether it was taken out of the index and is still there: no longer to be tracked.
    pub(super) fn is_dropped(&self) -> bool {
        self.letters.first() == Some(&b'D') && self.content != Content::Gone
    }

    /// When it last changed in any way; none where it is gone. A file that somebody moved here is new here.
    pub(super) fn changed_at(&self) -> Option<i64> {
        self.changed_at
    }

    /// Whether nothing changed since.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        self.letters == other.letters
            && self.submodule == other.submodule
            && self.executable == other.executable
            && self.content.is_same_as(&other.content)
    }
}

impl Content {
    /// Whether two files hold the same; writing the same again is no change, where both were looked into.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Gone, Self::Gone) => true,
            (Self::There { stat, hash }, Self::There { stat: s, hash: h }) => match (hash, h) {
                (Some(hash), Some(h)) => hash == h,
                _ => stat == s,
            },
            (Self::Gone, Self::There { .. }) | (Self::There { .. }, Self::Gone) => false,
        }
    }
}

/// Looks at a dirty file; into it only if it is small and not one of very many.
fn content(path: &Path, meta: Option<&Metadata>, dirty_before: usize) -> Content {
    let Some(meta) = meta else {
        return Content::Gone;
    };
    let small = meta.is_file() && meta.size() <= HASHED_BYTES && dirty_before < HASHED_FILES;
    let read = || files::read(path, Links::Follow, Limit::SETTINGS).ok();
    let bytes = small.then(read).flatten();
    let hash = bytes.map(|bytes| digest(&bytes));
    Content::There {
        stat: (meta.mtime(), meta.mtime_nsec(), meta.size(), meta.ino()),
        hash,
    }
}

/// A digest that is the same in every release, for it is stored: FNV-1a.
fn digest(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
