//! The state of a work tree at one moment, and what changed between two.

use std::collections::BTreeMap;

use super::conduct::GitFault;
use super::file_state::FileState;
use super::paths::{on_disk, shown};
use super::status::{Record, records};
use super::{Git, GitError};
use crate::model::GitRecord;

/// More changed files than this are not listed one by one.
const MOST_FILES: usize = 1000;

/// What every look at the work tree asks; paths come from the repository's root.
pub(super) const STATUS: [&str; 7] = [
    "status",
    "--porcelain=v2",
    "--branch",
    "--no-ahead-behind",
    "-z",
    "--no-renames",
    "--untracked-files=all",
];

/// The state of a work tree at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    pub(super) head: Option<String>,
    /// By paths of the project.
    pub(super) dirty: BTreeMap<Vec<u8>, FileState>,
}

impl Snapshot {
    /// The commit HEAD is at.
    pub fn head(&self) -> Option<&str> {
        self.head.as_deref()
    }

    /// The files of the project that differ from HEAD or are unknown to git; Ralph's own are not among them.
    pub fn dirty(&self) -> Vec<String> {
        self.dirty.keys().map(|path| shown(path)).collect()
    }
}

impl Git {
    /// HEAD and everything that differs from it: one process.
    pub fn snapshot(&self) -> Result<Snapshot, GitError> {
        let out = self.call(&STATUS).arg("--").arg(".").run()?;
        let mut snapshot = Snapshot::default();
        for record in records(&out) {
            let (letters, sub, path) = match record {
                Record::Head(head) => {
                    snapshot.head = head.map(|head| String::from_utf8_lossy(head).into_owned());
                    continue;
                }
                Record::Tracked {
                    letters, sub, path, ..
                } => (letters, sub, path),
                Record::Untracked(path) => (b"??".as_slice(), b"".as_slice(), path),
                Record::Ignored(_) => continue,
            };
            let Some(path) = self.own_path(path) else {
                continue;
            };
            // A path taken out of the index and still there has two records.
            let letters = match snapshot.dirty.get(path) {
                Some(known) => [known.letters(), letters].concat(),
                None => letters.to_owned(),
            };
            let state = FileState::look(
                &on_disk(&self.dir, path),
                letters,
                sub.starts_with(b"S").then(|| sub.to_owned()),
                snapshot.dirty.len(),
            );
            snapshot.dirty.insert(path.to_owned(), state);
        }
        let index = self.git_dir.join("index");
        if snapshot.head.is_some() && !index.exists() {
            return Err(self.conduct.fail(GitFault::NoIndex(index)));
        }
        Ok(snapshot)
    }

    /// What happened between two moments. Asks git again only if HEAD moved.
    pub fn changes(&self, before: &Snapshot, after: &Snapshot) -> Result<GitRecord, GitError> {
        let mut files: Vec<String> = Vec::new();
        for (path, state) in &after.dirty {
            let known = before.dirty.get(path);
            if !known.is_some_and(|known| known.is_same_as(state)) {
                files.push(text(path));
            }
        }
        files.extend(
            before
                .dirty
                .keys()
                .filter(|path| !after.dirty.contains_key(*path))
                .map(|path| text(path)),
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
            undone_ref: None,
        })
    }

    pub(super) fn committed(
        &self,
        before: Option<&str>,
        after: Option<&str>,
    ) -> Result<Vec<String>, GitError> {
        let names = ["--name-only", "-z"];
        let call = match (before, after) {
            (Some(before), Some(after)) => self
                .call(&["diff", "--no-renames", "--no-relative"])
                .args(&["--no-ext-diff", "--no-textconv"])
                .args(&names)
                .args(&[before, after]),
            (None, Some(after)) => self
                .call(&["ls-tree", "-r", "--full-name"])
                .args(&names)
                .arg(after),
            (_, None) => return Ok(Vec::new()),
        };
        let out = call.run()?;
        let paths = out.split(|b| *b == 0).filter(|path| !path.is_empty());
        Ok(paths
            .filter_map(|path| self.own_path(path))
            .map(text)
            .collect())
    }
}

fn text(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::file_state::HASHED_FILES;
    use crate::git::testing::Repo;

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
            fs::remove_file(repo.path("gone.txt")).unwrap();
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
    fn a_file_looked_into_and_one_of_many_are_compared() {
        let repo = Repo::new();
        repo.write("z.txt", "the user's");
        let record = repo.changed_by("", || {
            for n in 0..HASHED_FILES + 10 {
                repo.write(&format!("many/{n}"), "x");
            }
        });
        assert_eq!(files(&record).len(), HASHED_FILES + 10);
        assert!(!files(&record).contains(&"z.txt"));
        let record = repo.changed_by("", || repo.write("z.txt", "longer than before"));
        assert_eq!(files(&record), ["z.txt"]);
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
    fn dirt_is_listed_without_ralphs_own() {
        let repo = Repo::with_first_commit();
        let git = repo.open().without(vec!["tasks.md".into()]);
        assert!(git.snapshot().unwrap().dirty().is_empty());
        repo.write("a.txt", "two\n");
        repo.write("new\nline", "x");
        repo.write("tasks.md", "x");
        repo.write(".ralph/x", "x");
        assert_eq!(
            git.snapshot().unwrap().dirty(),
            ["a.txt", "new\u{fffd}line"]
        );
    }

    #[test]
    fn no_repository_is_no_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Git::discover(dir.path()).is_none());
    }
}
