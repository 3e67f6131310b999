//! A commit whose maker was killed before anybody took note of it: found again by what was about to be committed.

use crate::git::{Git, GitError};
use crate::model::{CommitIntent, GitRecord};

/// No more commits than this are looked at.
const MOST_COMMITS: &str = "--max-count=500";

/// A commit that may be the one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Candidate<'o> {
    hash: &'o str,
    tree: &'o str,
    subject: &'o str,
}

impl Git {
    /// The commit that was made as intended, if it was; `is_taken` tells those that are on record for another attempt.
    pub fn find_commit(
        &self,
        intent: &CommitIntent,
        is_taken: &dyn Fn(&str) -> bool,
    ) -> Result<Option<GitRecord>, GitError> {
        let places = self.places()?;
        // On the branch of then too: somebody may have gone to another since.
        let mut starts = vec!["HEAD".to_owned()];
        starts.extend(intent.branch.clone());
        for start in starts {
            if super::commit_at(&places, &start)?.is_none() {
                continue;
            }
            let words = [
                "rev-list",
                "--first-parent",
                MOST_COMMITS,
                "--format=%H %T %s",
            ];
            let mut call = places.call(&words).arg(&start);
            if let Some(head) = &intent.head {
                call = call.arg(format!("^{head}"));
            }
            let out = match call.run() {
                Ok(out) => String::from_utf8_lossy(&out).into_owned(),
                // The commit of then is gone, and with it whatever came after.
                Err(GitError::Refused { .. }) => continue,
                Err(error) => return Err(error),
            };
            if let Some(found) = made_of(intent, &candidates(&out), is_taken) {
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
    let lines: Vec<&str> = out.lines().collect();
    let pairs = lines.chunks_exact(2);
    pairs
        .filter_map(|pair| {
            let mut words = pair.get(1)?.splitn(3, ' ');
            Some(Candidate {
                hash: words.next()?,
                tree: words.next()?,
                subject: words.next().unwrap_or_default(),
            })
        })
        .collect()
}

/// The oldest commit that is what was intended. A hook may have changed the files or the message: one of them must be as
/// intended, and of the message the subject must be left.
fn made_of<'c>(
    intent: &CommitIntent,
    candidates: &[Candidate<'c>],
    is_taken: &dyn Fn(&str) -> bool,
) -> Option<Candidate<'c>> {
    let is_ours = |one: &&Candidate<'c>| {
        let same = one.tree == intent.tree
            || !intent.subject.is_empty() && has_words(one.subject, &intent.subject);
        same && !is_taken(one.hash)
    };
    candidates.iter().rev().find(is_ours).copied()
}

/// Whether a subject holds another as whole words: `1: Fix` is not in `11: Fix`.
fn has_words(subject: &str, words: &str) -> bool {
    let ends = |text: &str| text.is_empty() || text.ends_with(|c: char| !c.is_alphanumeric());
    let starts = |text: &str| text.is_empty() || text.starts_with(|c: char| !c.is_alphanumeric());
    subject.match_indices(words).any(|(at, found)| {
        let (before, rest) = subject.split_at(at);
        ends(before) && starts(rest.get(found.len()..).unwrap_or_default())
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
        let by_tree = CommitIntent {
            tree,
            subject: "something else".into(),
            ..by_subject.clone()
        };
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
        let first = CommitIntent {
            head: None,
            subject: "first".into(),
            ..intent(&repo, "none", "")
        };
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
        let gone = CommitIntent {
            head: Some("0".repeat(40)),
            ..intent
        };
        assert!(git.find_commit(&gone, &|_| false).unwrap().is_none());
    }
}
