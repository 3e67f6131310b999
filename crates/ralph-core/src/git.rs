//! The only caller of git: where HEAD is, and what an attempt changed.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::files::is_temporary;
use crate::model::GitRecord;

/// More changed files than this are not listed one by one.
const MOST_FILES: usize = 1000;

/// Dirty files that are looked into: small ones, and not too many.
const HASHED_BYTES: u64 = 64 * 1024;
const HASHED_FILES: usize = 200;

/// Paths that are Ralph's own and never count as an attempt's work.
const OWN: [&str; 2] = [".ralph/", ".ralph.toml"];

/// Git could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// It could not be started.
    #[error("git could not be started: {0}")]
    Spawn(#[from] std::io::Error),
    /// It said no.
    #[error("git {command} failed: {message}")]
    Refused {
        /// What was asked.
        command: String,
        /// What it said.
        message: String,
    },
}

/// A project inside a git repository.
#[derive(Clone, Debug)]
pub struct Git {
    /// The directory the project works in.
    dir: PathBuf,
    /// That directory below the repository's root, with a slash at the end; empty at the root.
    prefix: String,
    /// Further files of Ralph's own, below that directory.
    own: Vec<String>,
}

fn head_of(git_dir: &Path) -> Option<String> {
    let head = std::fs::read_to_string(git_dir.join("HEAD")).ok()?;
    let head = head.trim();
    Some(
        head.strip_prefix("ref: refs/heads/")
            .unwrap_or(head)
            .to_owned(),
    )
}

/// The state of a work tree at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    head: Option<String>,
    dirty: BTreeMap<String, FileState>,
}

/// Enough of a changed file to see that it changed again.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileState {
    /// Git's two status letters.
    letters: String,
    content: Content,
}

/// What is in a file, as far as it was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    /// There is no file.
    Gone,
    /// A hash of it: writing the same again is no change.
    Hash(u64),
    /// Modification time, size and inode, where the file is large or one of many.
    Stat(i64, i64, u64, u64),
}

impl Git {
    /// The repository around a directory, if there is one and git is installed.
    pub fn discover(dir: &Path) -> Option<Self> {
        let out = call(dir, &["rev-parse", "--show-prefix"]).ok()?;
        let prefix = String::from_utf8_lossy(&out)
            .trim_end_matches('\n')
            .to_owned();
        Some(Self {
            dir: dir.to_owned(),
            prefix,
            own: Vec::new(),
        })
    }

    /// Leaves further files out of what attempts changed: Ralph writes them too.
    #[must_use]
    pub fn without(mut self, own: Vec<String>) -> Self {
        self.own = own;
        self
    }

    /// The branch, or the commit where there is none; read from git's own file, for a process would take longer than all the
    /// rest.
    pub fn branch(&self) -> Option<String> {
        let mut dir = Some(self.dir.as_path());
        while let Some(at) = dir {
            let git = at.join(".git");
            if git.is_dir() {
                return head_of(&git);
            }
            if let Ok(text) = std::fs::read_to_string(&git) {
                let elsewhere = text.strip_prefix("gitdir:")?.trim();
                return head_of(&at.join(elsewhere));
            }
            dir = at.parent();
        }
        None
    }

    /// HEAD and everything that differs from it: one process.
    pub fn snapshot(&self) -> Result<Snapshot, GitError> {
        let out = call(
            &self.dir,
            &[
                "-c",
                "core.fsmonitor=false",
                "status",
                "--porcelain=v2",
                "--branch",
                "--no-ahead-behind",
                "-z",
                "--no-renames",
                "--untracked-files=all",
                "--",
                ".",
            ],
        )?;
        let mut snapshot = Snapshot::default();
        for record in out.split(|b| *b == 0) {
            self.read_record(&String::from_utf8_lossy(record), &mut snapshot);
        }
        Ok(snapshot)
    }

    fn read_record(&self, record: &str, snapshot: &mut Snapshot) {
        if let Some(head) = record.strip_prefix("# branch.oid ") {
            snapshot.head = (head != "(initial)").then(|| head.to_owned());
            return;
        }
        // `1 XY sub mH mI mW hH hI path`, `u XY sub m1 m2 m3 mW h1 h2 h3 path`, `? path`
        let (letters, path) = match record.as_bytes().first() {
            Some(b'1') => (record.get(2..4), record.splitn(9, ' ').nth(8)),
            Some(b'u') => (record.get(2..4), record.splitn(11, ' ').nth(10)),
            Some(b'?') => (Some("??"), record.get(2..)),
            _ => return,
        };
        let (Some(letters), Some(path)) = (letters, path) else {
            return;
        };
        let Some(path) = self.own_path(path) else {
            return;
        };
        let content = content(&self.dir.join(&path), snapshot.dirty.len());
        snapshot.dirty.insert(
            path,
            FileState {
                letters: letters.to_owned(),
                content,
            },
        );
    }

    /// A path as the project sees it; `None` outside the project and for Ralph's own files.
    fn own_path(&self, path: &str) -> Option<String> {
        let path = path.strip_prefix(&self.prefix)?;
        let own = OWN.iter().any(|own| path.starts_with(own))
            || self.own.iter().any(|own| own == path)
            || is_temporary(path);
        (!own).then(|| path.to_owned())
    }

    /// What happened between two moments. Asks git again only if HEAD moved.
    pub fn changes(&self, before: &Snapshot, after: &Snapshot) -> Result<GitRecord, GitError> {
        let mut files: Vec<String> = Vec::new();
        for (path, state) in &after.dirty {
            if before.dirty.get(path) != Some(state) {
                files.push(path.clone());
            }
        }
        files.extend(
            before
                .dirty
                .keys()
                .filter(|path| !after.dirty.contains_key(*path))
                .cloned(),
        );
        if before.head != after.head {
            files.extend(self.committed(before.head.as_deref(), after.head.as_deref())?);
        }
        files.sort();
        files.dedup();
        files.truncate(MOST_FILES);
        Ok(GitRecord {
            commit_before: before.head.clone(),
            commit_after: after.head.clone(),
            files_changed: Some(files),
        })
    }

    fn committed(
        &self,
        before: Option<&str>,
        after: Option<&str>,
    ) -> Result<Vec<String>, GitError> {
        let out = match (before, after) {
            (Some(before), Some(after)) => call(
                &self.dir,
                &[
                    "diff",
                    "--name-only",
                    "--no-renames",
                    "--no-relative",
                    "-z",
                    before,
                    after,
                ],
            )?,
            (None, Some(after)) => call(
                &self.dir,
                &["ls-tree", "-r", "--name-only", "--full-name", "-z", after],
            )?,
            (_, None) => return Ok(Vec::new()),
        };
        let paths = out.split(|b| *b == 0).filter(|path| !path.is_empty());
        Ok(paths
            .filter_map(|path| self.own_path(&String::from_utf8_lossy(path)))
            .collect())
    }
}

impl Snapshot {
    /// The commit HEAD is at.
    pub fn head(&self) -> Option<&str> {
        self.head.as_deref()
    }
}

/// Looks at a dirty file; into it only if it is small and not one of very many.
fn content(path: &Path, dirty_before: usize) -> Content {
    let Ok(meta) = std::fs::symlink_metadata(path) else {
        return Content::Gone;
    };
    let stat = Content::Stat(meta.mtime(), meta.mtime_nsec(), meta.size(), meta.ino());
    if !meta.is_file() || meta.size() > HASHED_BYTES || dirty_before >= HASHED_FILES {
        return stat;
    }
    let Ok(bytes) = std::fs::read(path) else {
        return stat;
    };
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    Content::Hash(hasher.finish())
}

fn call(dir: &Path, args: &[&str]) -> Result<Vec<u8>, GitError> {
    let output = Command::new("git")
        .args(args)
        .current_dir(dir)
        // Looking must never stand in the way of an agent's own git.
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("LC_ALL", "C")
        // Set in git hooks; they would point at another repository.
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .env_remove("GIT_PREFIX")
        .env_remove("GIT_COMMON_DIR")
        .env_remove("GIT_OBJECT_DIRECTORY")
        // Ctrl-C is Ralph's to deal with.
        .process_group(0)
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(GitError::Refused {
        command: args.join(" "),
        message: crate::text::one_line(&String::from_utf8_lossy(&output.stderr), 200),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Repo(tempfile::TempDir);

    impl Repo {
        fn new() -> Self {
            let repo = Self(tempfile::tempdir().unwrap());
            repo.git(&["init", "-q"]);
            repo
        }

        fn git(&self, args: &[&str]) {
            let mut all = vec![
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@localhost",
                "-c",
                "commit.gpgsign=false",
            ];
            all.extend(args);
            call(self.0.path(), &all).unwrap();
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn changed_by(&self, dir: &str, act: impl FnOnce()) -> GitRecord {
            let git = Git::discover(&self.0.path().join(dir)).unwrap();
            let before = git.snapshot().unwrap();
            act();
            git.changes(&before, &git.snapshot().unwrap()).unwrap()
        }
    }

    fn files(record: &GitRecord) -> Vec<&str> {
        record
            .files_changed
            .as_ref()
            .unwrap()
            .iter()
            .map(String::as_str)
            .collect()
    }

    #[test]
    fn every_kind_of_change_is_seen_and_ralphs_own_files_are_not() {
        let repo = Repo::new();
        repo.write("kept.txt", "1");
        repo.write("dirty.txt", "1");
        repo.write("gone.txt", "1");
        repo.git(&["add", "."]);
        repo.git(&["commit", "-qm", "first"]);
        repo.write("dirty.txt", "22");
        repo.write("left alone.txt", "untracked before");
        let record = repo.changed_by("", || {
            repo.write("dirty.txt", "333");
            repo.write("new dir/日本 file.txt", "x");
            repo.write(".ralph/progress.db", "x");
            repo.write(".ralph.toml", "x");
            fs::remove_file(repo.0.path().join("gone.txt")).unwrap();
        });
        assert_eq!(
            files(&record),
            ["dirty.txt", "gone.txt", "new dir/日本 file.txt"]
        );
        assert_eq!(record.commit_before, record.commit_after);
    }

    #[test]
    fn commits_count_and_the_first_one_too() {
        let repo = Repo::new();
        let record = repo.changed_by("", || {
            repo.write("a.txt", "1");
            repo.git(&["add", "."]);
            repo.git(&["commit", "-qm", "first"]);
        });
        assert_eq!(record.commit_before, None);
        assert_eq!(files(&record), ["a.txt"]);
        let record = repo.changed_by("", || {
            repo.write("b.txt", "1");
            repo.git(&["add", "."]);
            repo.git(&["commit", "-qm", "second"]);
        });
        assert_ne!(record.commit_before, record.commit_after);
        assert_eq!(files(&record), ["b.txt"]);
    }

    #[test]
    fn writing_the_same_again_is_no_change() {
        let repo = Repo::new();
        repo.write("a.txt", "1");
        let record = repo.changed_by("", || repo.write("a.txt", "1"));
        assert_eq!(record.files_changed, Some(Vec::new()));
        let record = repo.changed_by("", || repo.write("a.txt", "2"));
        assert_eq!(files(&record), ["a.txt"]);
    }

    #[test]
    fn nothing_changed_is_said_so() {
        let repo = Repo::new();
        repo.write("a.txt", "1");
        let record = repo.changed_by("", || {});
        assert_eq!(record.files_changed, Some(Vec::new()));
    }

    #[test]
    fn a_project_below_the_root_sees_its_own_paths_only() {
        let repo = Repo::new();
        repo.write("sub/a.txt", "1");
        let record = repo.changed_by("sub", || {
            repo.write("sub/b.txt", "1");
            repo.write("outside.txt", "1");
        });
        assert_eq!(files(&record), ["b.txt"]);
        let record = repo.changed_by("sub", || {
            repo.git(&["add", "."]);
            repo.git(&["commit", "-qm", "all"]);
        });
        assert_eq!(files(&record), ["a.txt", "b.txt"]);
    }

    #[test]
    fn no_repository_is_no_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Git::discover(dir.path()).is_none());
    }
}
