//! Repositories for tests.

pub(in crate::git) mod state;
pub(in crate::git) mod steps;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::Git;
use super::call::FOREIGN;
use crate::model::GitRecord;

/// Runs git the way a person does; what it printed, or its complaint.
pub(in crate::git) fn git_at(dir: &Path, args: &[&str]) -> Result<String, String> {
    let mut command = std::process::Command::new("git");
    for name in FOREIGN {
        command.env_remove(name);
    }
    let command = command.args(args).current_dir(dir).env("LC_ALL", "C");
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

pub(in crate::git) fn make_pipe(path: &Path) {
    let _ = fs::remove_file(path);
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, path, fifo, mode, 0).unwrap();
}

/// A repository in a directory of its own.
pub(in crate::git) struct Repo(tempfile::TempDir);

impl Repo {
    pub(in crate::git) fn new() -> Self {
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

    pub(in crate::git) fn with_first_commit() -> Self {
        let repo = Self::new();
        repo.write("a.txt", "one\n");
        repo.commit_all("first");
        repo
    }

    pub(in crate::git) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(in crate::git) fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    pub(in crate::git) fn git(&self, args: &[&str]) -> String {
        self.git_in("", args)
    }

    pub(in crate::git) fn git_in(&self, dir: &str, args: &[&str]) -> String {
        git_at(&self.path(dir), args).unwrap()
    }

    /// What git printed, or its complaint.
    pub(in crate::git) fn try_git(&self, args: &[&str]) -> Result<String, String> {
        git_at(self.root(), args)
    }

    /// Makes the branches `main` and `other` change the same file.
    pub(in crate::git) fn diverge(&self) {
        self.git(&["checkout", "-qb", "other"]);
        self.write("a.txt", "theirs\n");
        self.commit_all("theirs");
        self.git(&["checkout", "-q", "main"]);
        self.write("a.txt", "ours\n");
        self.commit_all("ours");
    }

    pub(in crate::git) fn commit_all(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", message]);
    }

    pub(in crate::git) fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    pub(in crate::git) fn open(&self) -> Git {
        self.open_in("")
    }

    pub(in crate::git) fn open_in(&self, dir: &str) -> Git {
        Git::discover(&self.path(dir)).unwrap()
    }

    pub(in crate::git) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(in crate::git) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub(in crate::git) fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).unwrap();
    }

    pub(in crate::git) fn chmod(&self, path: &str, mode: u32) {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(in crate::git) fn hook(&self, name: &str, script: &str) {
        let path = format!(".git/hooks/{name}");
        self.write(&path, &format!("#!/bin/sh\n{script}\n"));
        self.chmod(&path, 0o755);
    }

    /// The names in a commit, against its parent.
    pub(in crate::git) fn names_in(&self, commit: &str) -> Vec<String> {
        let out = self.git(&["diff-tree", "-r", "--root", "--no-commit-id", "--name-only", "-z", commit]);
        let names = out.split('\0').filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    }

    pub(in crate::git) fn status(&self) -> Vec<String> {
        let out = self.git(&["status", "--porcelain", "-z", "-uall", "--no-renames"]);
        let lines = out.split('\0').filter(|line| !line.is_empty());
        lines.map(str::to_owned).collect()
    }

    /// What we forgot inside git's own directory.
    pub(in crate::git) fn scratch(&self) -> Vec<String> {
        fs::read_dir(self.path(".git"))
            .unwrap()
            .map(Result::unwrap)
            .filter(|entry| entry.file_type().unwrap().is_dir())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name.starts_with("ralph-"))
            .collect()
    }

    /// A repository with a submodule `sub` that has one file.
    pub(in crate::git) fn with_submodule() -> (Self, Self) {
        let library = Self::with_first_commit();
        let repo = Self::with_first_commit();
        let url = library.root().display().to_string();
        repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "sub"]);
        for (key, value) in [("user.name", "t"), ("user.email", "t@localhost")] {
            repo.git_in("sub", &["config", key, value]);
        }
        repo.commit_all("submodule");
        (repo, library)
    }

    pub(in crate::git) fn changed_by(&self, dir: &str, act: impl FnOnce()) -> GitRecord {
        let git = self.open_in(dir);
        let before = git.snapshot().unwrap();
        act();
        git.changes(&before, &git.snapshot().unwrap()).unwrap()
    }
}
