//! Repositories for tests.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::Git;
use super::call::Call;
use crate::model::GitRecord;

/// A repository in a directory of its own.
pub(super) struct Repo(tempfile::TempDir);

impl Repo {
    pub(super) fn new() -> Self {
        let repo = Self(tempfile::tempdir().unwrap());
        repo.git(&["init", "-q", "-b", "main"]);
        for (key, value) in [
            ("user.name", "t"),
            ("user.email", "t@localhost"),
            ("commit.gpgsign", "false"),
            ("core.hooksPath", ".git/hooks"),
            ("core.autocrlf", "false"),
            ("protocol.file.allow", "always"),
        ] {
            repo.git(&["config", key, value]);
        }
        repo
    }

    /// With `a.txt` in it.
    pub(super) fn with_first_commit() -> Self {
        let repo = Self::new();
        repo.write("a.txt", "one\n");
        repo.commit_all("first");
        repo
    }

    pub(super) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    pub(super) fn git(&self, args: &[&str]) -> String {
        self.git_in("", args)
    }

    pub(super) fn git_in(&self, dir: &str, args: &[&str]) -> String {
        let out = Call::new(&self.path(dir), args).run().unwrap();
        String::from_utf8_lossy(&out).into_owned()
    }

    pub(super) fn commit_all(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", message]);
    }

    pub(super) fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    pub(super) fn open(&self) -> Git {
        self.open_in("")
    }

    pub(super) fn open_in(&self, dir: &str) -> Git {
        Git::discover(&self.path(dir)).unwrap()
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub(super) fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).unwrap();
    }

    pub(super) fn chmod(&self, path: &str, mode: u32) {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(super) fn hook(&self, name: &str, script: &str) {
        let path = format!(".git/hooks/{name}");
        self.write(&path, &format!("#!/bin/sh\n{script}\n"));
        self.chmod(&path, 0o755);
    }

    /// The names in a commit, against its parent.
    pub(super) fn names_in(&self, commit: &str) -> Vec<String> {
        let out = self.git(&[
            "diff-tree",
            "-r",
            "--root",
            "--no-commit-id",
            "--name-only",
            "-z",
            commit,
        ]);
        let names = out.split('\0').filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    }

    /// `git status`, for people.
    pub(super) fn status(&self) -> Vec<String> {
        let out = self.git(&["status", "--porcelain", "-z", "-uall", "--no-renames"]);
        let lines = out.split('\0').filter(|line| !line.is_empty());
        lines.map(str::to_owned).collect()
    }

    /// What we forgot inside git's own directory.
    pub(super) fn scratch(&self) -> Vec<String> {
        fs::read_dir(self.path(".git"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| name.starts_with("ralph-"))
            .collect()
    }

    /// A repository with a submodule `sub` that has one file.
    pub(super) fn with_submodule() -> (Self, Self) {
        let library = Self::with_first_commit();
        let repo = Self::with_first_commit();
        let url = library.root().display().to_string();
        repo.git(&[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            &url,
            "sub",
        ]);
        for (key, value) in [("user.name", "t"), ("user.email", "t@localhost")] {
            repo.git_in("sub", &["config", key, value]);
        }
        repo.commit_all("submodule");
        (repo, library)
    }

    pub(super) fn changed_by(&self, dir: &str, act: impl FnOnce()) -> GitRecord {
        let git = self.open_in(dir);
        let before = git.snapshot().unwrap();
        act();
        git.changes(&before, &git.snapshot().unwrap()).unwrap()
    }
}

/// Everything a roll-back must bring back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) files: std::collections::BTreeMap<PathBuf, OnDisk>,
    status: String,
    index: String,
    head: String,
}

/// What is on the disk.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum OnDisk {
    File(u32, Vec<u8>),
    Link(PathBuf),
}

impl std::fmt::Debug for OnDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(mode, bytes) => {
                let text = String::from_utf8_lossy(bytes);
                write!(
                    f,
                    "{mode:o} {:?}",
                    text.chars().take(60).collect::<String>()
                )
            }
            Self::Link(target) => write!(f, "-> {target:?}"),
        }
    }
}

impl State {
    /// Looks at the work tree at a path.
    pub(super) fn of(root: &Path) -> Self {
        let git = |args: &[&str]| {
            let out = Call::new(root, args).output().unwrap().stdout;
            String::from_utf8_lossy(&out).replace('\0', "\n")
        };
        let mut files = std::collections::BTreeMap::new();
        walk(root, root, &mut files);
        Self {
            files,
            status: git(&[
                "status",
                "--porcelain=v2",
                "--branch",
                "-z",
                "-uall",
                "--ignored",
            ]),
            index: git(&["ls-files", "-s", "-t", "-v", "-z"]),
            head: git(&["symbolic-ref", "-q", "HEAD"]),
        }
    }
}

fn walk(root: &Path, dir: &Path, files: &mut std::collections::BTreeMap<PathBuf, OnDisk>) {
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
