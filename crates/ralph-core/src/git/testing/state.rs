//! Everything a roll-back must bring back.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::git_at;

/// A work tree, its index and its HEAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::git) struct State {
    pub(in crate::git) files: BTreeMap<PathBuf, OnDisk>,
    pub(in crate::git) status: String,
    pub(in crate::git) index: String,
    head: String,
}

#[derive(Clone, PartialEq, Eq)]
pub(in crate::git) enum OnDisk {
    File(u32, Vec<u8>),
    Link(PathBuf),
}

impl std::fmt::Debug for OnDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(mode, bytes) => {
                let text = String::from_utf8_lossy(bytes);
                write!(f, "{mode:o} {:?}", text.chars().take(60).collect::<String>())
            }
            Self::Link(target) => write!(f, "-> {target:?}"),
        }
    }
}

impl State {
    /// Looks at the work tree at a path.
    pub(in crate::git) fn of(root: &Path) -> Self {
        let git = |args: &[&str]| {
            let out = git_at(root, args).unwrap_or_default();
            out.replace('\0', "\n")
        };
        let mut files = BTreeMap::new();
        walk(root, root, &mut files);
        Self {
            files,
            status: git(&["status", "--porcelain=v2", "--branch", "-z", "-uall", "--ignored"]),
            index: git(&["ls-files", "-s", "-t", "-v", "-z"]),
            head: git(&["symbolic-ref", "-q", "HEAD"]),
        }
    }
}

impl State {
    /// Keeps of the permissions of these files only what git knows.
    pub(in crate::git) fn forget_permissions(&mut self, which: impl Fn(&Path) -> bool) {
        for (path, file) in &mut self.files {
            if let OnDisk::File(mode, _) = file
                && which(path)
            {
                *mode &= 0o100;
            }
        }
    }
}

fn walk(root: &Path, dir: &Path, files: &mut BTreeMap<PathBuf, OnDisk>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        let name = path.strip_prefix(root).unwrap().to_owned();
        if name.ends_with(".git") {
        } else if meta.is_dir() {
            walk(root, &path, files);
        } else if meta.is_symlink() {
            files.insert(name, OnDisk::Link(fs::read_link(&path).unwrap()));
        } else if meta.is_file() {
            let mode = meta.permissions().mode() & 0o7777;
            files.insert(name, OnDisk::File(mode, fs::read(&path).unwrap()));
        }
    }
}
