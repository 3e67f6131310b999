//! Commits whose maker was killed: found again by what was about to be committed, and the index brought up to date with
//! them, which would take the work out again otherwise.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::paths::RepoPath;
use super::repository::{IndexIdentity, Repository};
use super::{Git, GitError};
use crate::files::{Limit, Links, create_anew, read_text};
use crate::model::{CommitIntent, GitRecord};

/// How many commits are searched.
const MOST_COMMITS: &str = "--max-count=500";

#[derive(Debug, Serialize, Deserialize)]
struct PendingCommit {
    /// HEAD before.
    old: Option<String>,
    paths: BTreeSet<RepoPath>,
    /// The index before.
    #[serde(default)]
    index: Option<IndexIdentity>,
}

impl Repository {
    fn pending_commit_path(&self) -> PathBuf {
        self.git_dir.join("ralph-commit.json")
    }

    pub(super) fn note_commit(
        &self,
        old: Option<&str>,
        paths: &BTreeSet<RepoPath>,
        index: Option<IndexIdentity>,
    ) -> Result<(), GitError> {
        let pending = PendingCommit { old: old.map(str::to_owned), paths: paths.clone(), index };
        let path = self.pending_commit_path();
        // No fsync: this must survive our own death, not the machine's.
        let write = || -> std::io::Result<()> {
            let text = serde_json::to_string(&pending)?;
            create_anew(&path)?.write_all(text.as_bytes())
        };
        write().map_err(|error| GitError::file(&path, error))
    }

    /// The index knows of the commit, or there is none.
    pub(super) fn forget_commit(&self) {
        let _ = fs::remove_file(self.pending_commit_path());
    }
}

/// A commit that may be the one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Candidate<'o> {
    hash: &'o str,
    tree: &'o str,
    subject: &'o str,
}

impl Git {
    /// Brings the index up to date with a commit whose maker was killed. Nobody may commit meanwhile.
    pub fn finish_commit(&self) -> Result<(), GitError> {
        let repository = self.repository()?;
        let path = repository.pending_commit_path();
        let Ok(text) = read_text(&path, Links::Follow, Limit::TEXT) else { return Ok(()) };
        if let Ok(pending) = serde_json::from_str::<PendingCommit>(&text)
            && repository.commit_at("HEAD")? != pending.old
        {
            // Somebody who wrote the index since may have staged some of the files anew.
            let staged = match IndexIdentity::of(&repository.index_path()) == pending.index {
                true => BTreeSet::new(),
                false => repository.staged_paths(pending.old.as_deref())?,
            };
            repository.reset_index(pending.paths.difference(&staged))?;
        }
        repository.forget_commit();
        Ok(())
    }

    /// The commit that was made as intended, if it was; `is_taken` tells those that are recorded for another attempt.
    pub fn find_commit(
        &self,
        intent: &CommitIntent,
        is_taken: &dyn Fn(&str) -> bool,
    ) -> Result<Option<GitRecord>, GitError> {
        let repository = self.repository()?;
        // On the branch of then too: somebody may have switched to another since.
        let starts = ["HEAD"].into_iter().chain(intent.branch.as_deref());
        for start in starts {
            if repository.commit_at(start)?.is_none() {
                continue;
            }
            let call = repository.query(&["rev-list", "--first-parent", MOST_COMMITS]);
            let mut call = call.args(&["--format=%H %T %s", start]);
            if let Some(head) = &intent.head {
                call = call.arg(format!("^{head}"));
            }
            let out = match call.run() {
                Ok(out) => String::from_utf8_lossy(&out).into_owned(),
                // The commit of then is gone, and with it whatever came after.
                Err(GitError::Refused { .. }) => continue,
                Err(error) => return Err(error),
            };
            if let Some(found) = matching(intent, &candidates(&out), is_taken) {
                return Ok(Some(GitRecord {
                    commit_before: intent.head.clone(),
                    commit_after: Some(found.hash.to_owned()),
                    files_changed: Some(self.committed(intent.head.as_deref(), Some(found.hash))?),
                    undone_ref: None,
                }));
            }
        }
        Ok(None)
    }
}

/// Reads pairs of lines: `commit HASH`, then hash, tree and subject.
fn candidates(out: &str) -> Vec<Candidate<'_>> {
    let lines = out.lines().skip(1).step_by(2);
    let commits = lines.filter_map(|line| {
        let mut words = line.splitn(3, ' ');
        Some(Candidate {
            hash: words.next()?,
            tree: words.next()?,
            subject: words.next().unwrap_or_default(),
        })
    });
    commits.collect()
}

/// The oldest commit that is what was intended. A hook may have changed the files or the message: one of them must be as
/// intended, and of the message the subject must be left.
fn matching<'c>(
    intent: &CommitIntent,
    candidates: &[Candidate<'c>],
    is_taken: &dyn Fn(&str) -> bool,
) -> Option<Candidate<'c>> {
    let is_ours = |one: &&Candidate<'c>| {
        let same =
            one.tree == intent.tree || !intent.subject.is_empty() && has_words(one.subject, &intent.subject);
        same && !is_taken(one.hash)
    };
    candidates.iter().rev().find(is_ours).copied()
}

/// Whether a subject contains another as whole words: `1: Fix` is not in `11: Fix`.
fn has_words(subject: &str, words: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric();
    subject.match_indices(words).any(|(at, found)| {
        let (before, rest) = subject.split_at(at);
        let after = rest.get(found.len()..).unwrap_or_default();
        !before.ends_with(is_word) && !after.starts_with(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::Repo;

    fn intent(repo: &Repo, tree: &str, subject: &str) -> CommitIntent {
        CommitIntent {
            head: Some(repo.head()),
            branch: Some("refs/heads/main".into()),
            tree: tree.into(),
            subject: subject.into(),
            isolated: false,
            landing: None,
        }
    }

    #[test]
    fn a_subject_is_found_as_whole_words() {
        assert!(has_words("1: Fix", "1: Fix") && has_words("[x] 1: Fix (#3)", "1: Fix"));
        assert!(!has_words("11: Fix", "1: Fix") && !has_words("1: Fixes", "1: Fix"));
        assert!(has_words("11: Fix, 1: Fix", "1: Fix"));
    }

    #[test]
    fn a_commit_is_found_by_its_files_or_its_subject() {
        let repo = Repo::with_first_commit();
        let git = repo.open();
        let by_subject = intent(&repo, "none", "1.1: Do it");
        repo.write("b.txt", "x");
        repo.commit_all("[ticket] 1.1: Do it");
        let made = repo.head();
        let tree = repo.git(&["rev-parse", "HEAD^{tree}"]).trim().to_owned();
        let by_tree = CommitIntent { tree, subject: "something else".into(), ..by_subject.clone() };
        repo.write("c.txt", "x");
        repo.commit_all("a person's");
        for intent in [&by_subject, &by_tree] {
            let found = git.find_commit(intent, &|_| false).unwrap().unwrap();
            assert_eq!(found.commit_after.as_ref(), Some(&made));
            assert_eq!(found.files_changed, Some(vec!["b.txt".to_owned()]));
            assert!(git.find_commit(intent, &|_| true).unwrap().is_none());
        }
        // Also from another branch, and where the first commit is the one.
        repo.git(&["checkout", "-qb", "other", "HEAD~2"]);
        assert!(git.find_commit(&by_tree, &|_| false).unwrap().is_some());
        let first = CommitIntent { head: None, subject: "first".into(), ..intent(&repo, "none", "") };
        assert!(git.find_commit(&first, &|_| false).unwrap().is_some());
    }

    #[test]
    fn what_others_committed_is_not_taken_for_it() {
        let repo = Repo::with_first_commit();
        let git = repo.open();
        let intent = intent(&repo, "none", "1.1: Do it");
        assert!(git.find_commit(&intent, &|_| false).unwrap().is_none());
        repo.write("b.txt", "x");
        repo.commit_all("1.2: Do more");
        assert!(git.find_commit(&intent, &|_| false).unwrap().is_none());
        let gone = CommitIntent { head: Some("0".repeat(40)), ..intent };
        assert!(git.find_commit(&gone, &|_| false).unwrap().is_none());
    }

    #[test]
    fn an_index_that_missed_a_commit_is_brought_up_to_date() {
        let repo = Repo::with_first_commit();
        let git = repo.open();
        let repository = git.repository().unwrap();
        let old = repository.commit_at("HEAD").unwrap();
        let stale = fs::read(repo.path(".git/index")).unwrap();
        repo.write("made.txt", "x");
        let paths = BTreeSet::from([b"made.txt".to_vec()]);
        let index = IndexIdentity::of(&repo.path(".git/index"));
        repository.note_commit(old.as_deref(), &paths, index).unwrap();
        repo.commit_all("made");
        fs::write(repo.path(".git/index"), stale).unwrap();
        repo.write("staged.txt", "a person's");
        repo.git(&["add", "staged.txt"]);
        assert_eq!(repo.status(), ["D  made.txt", "A  staged.txt", "?? made.txt"]);
        git.finish_commit().unwrap();
        assert_eq!(repo.status(), ["A  staged.txt"]);
        // What a person staged anew after the kill stays staged.
        repository.note_commit(old.as_deref(), &paths, index).unwrap();
        repo.write("made.txt", "y");
        repo.git(&["add", "made.txt"]);
        git.finish_commit().unwrap();
        assert_eq!(repo.status(), ["M  made.txt", "A  staged.txt"]);
        repo.git(&["checkout", "-q", "HEAD", "made.txt"]);
        // Nothing was committed: nothing is touched.
        let head = repo.head();
        repository.note_commit(Some(&head), &paths, None).unwrap();
        repo.git(&["rm", "-q", "--cached", "made.txt"]);
        git.finish_commit().unwrap();
        assert_eq!(repo.status(), ["D  made.txt", "A  staged.txt", "?? made.txt"]);
    }
}
