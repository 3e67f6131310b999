//! What commits are and where references lead. What git's files say, and what was read before, costs no process: a landing is
//! made of little else.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::sync::{Arc, MutexGuard, PoisonError};

use super::GitError;
use super::call::zero_separated;
use super::paths::RepoPath;
use super::repository::{Repository, read_start};

/// How many commits are remembered.
const REMEMBERED: usize = 16;

/// A commit as it is for ever.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Commit {
    pub(super) hash: String,
    pub(super) tree: String,
    pub(super) parents: Vec<String>,
    pub(super) author: String,
    pub(super) email: String,
    pub(super) date: String,
    pub(super) message: String,
    /// What differs from its parent; nothing of a merge.
    pub(super) files: BTreeSet<RepoPath>,
}

/// Commits that were read lately, the newest last; and the one that was made last, with its tree.
#[derive(Debug, Default)]
pub(super) struct KnownCommits(VecDeque<Arc<Commit>>, Option<(String, String)>);

impl Repository {
    /// The commit that is checked out.
    pub(super) fn head_commit(&self) -> Result<Arc<Commit>, GitError> {
        self.read_commit("HEAD")
    }

    pub(super) fn commit(&self, hash: &str) -> Result<Arc<Commit>, GitError> {
        self.known_commit(hash).map_or_else(|| self.read_commit(hash), Ok)
    }

    /// The tree of a commit; none where there is no such commit.
    pub(super) fn tree_of(&self, commit: &str) -> Result<Option<String>, GitError> {
        if let Some(known) = self.known_commit(commit) {
            return Ok(Some(known.tree.clone()));
        }
        if let Some((_, tree)) = self.known().1.as_ref().filter(|(made, _)| made == commit) {
            return Ok(Some(tree.clone()));
        }
        let [tree] = self.resolve([&format!("{commit}^{{tree}}")])?;
        Ok(tree)
    }

    /// A commit was made of a tree: attempts begin from it next.
    pub(super) fn remember_tree(&self, commit: &str, tree: String) {
        self.known().1 = Some((commit.to_owned(), tree));
    }

    fn known(&self) -> MutexGuard<'_, KnownCommits> {
        self.known_commits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known_commit(&self, hash: &str) -> Option<Arc<Commit>> {
        let known = self.known();
        known.0.iter().find(|commit| commit.hash == hash).cloned()
    }

    fn read_commit(&self, revision: &str) -> Result<Arc<Commit>, GitError> {
        let words = ["diff-tree", "-r", "--root", "--always", "--name-only", "--no-renames", "-z"];
        let format = "--format=%H%n%T%n%P%n%an%n%ae%n%aI%n%B";
        let out = self.query(&words).args(&[format, revision]).run()?;
        let mut pieces = zero_separated(&out);
        let header = String::from_utf8_lossy(pieces.next().unwrap_or_default()).into_owned();
        let mut lines = header.splitn(7, '\n').map(str::to_owned);
        let mut next = || lines.next().unwrap_or_default();
        let commit = Arc::new(Commit {
            hash: next(),
            tree: next(),
            parents: next().split_whitespace().map(str::to_owned).collect(),
            author: next(),
            email: next(),
            date: next(),
            message: next(),
            // An empty line ends the header.
            files: pieces
                .enumerate()
                .map(|(n, path)| path.strip_prefix(b"\n").filter(|_| n == 0).unwrap_or(path).to_vec())
                .filter(|path| !path.is_empty())
                .collect(),
        });
        let mut known = self.known();
        known.0.push_back(Arc::clone(&commit));
        if known.0.len() > REMEMBERED {
            known.0.pop_front();
        }
        Ok(commit)
    }

    /// Where a reference leads, as git's files say; none where only git can tell.
    pub(super) fn reference_on_disk(&self, name: &str) -> Option<String> {
        let path = match name {
            "HEAD" => self.git_dir.join(name),
            _ if name.starts_with("refs/heads/") && !name.contains("..") => self.shared_dir.join(name),
            _ => return None,
        };
        let text = text_of(&path)?;
        match text.strip_prefix("ref: ") {
            Some(target) if name == "HEAD" => self.reference_on_disk(target),
            Some(_) => None,
            None => Some(text).filter(|text| is_object_name(text)),
        }
    }
}

fn text_of(path: &Path) -> Option<String> {
    let bytes = read_start(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

pub(super) fn is_object_name(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use crate::git::testing::Repo;

    #[test]
    fn references_are_read_as_git_reads_them() {
        let repo = Repo::with_first_commit();
        let git = repo.open();
        let repository = git.repository().unwrap();
        let at = |name: &str| repository.commit_at(name).unwrap();
        let head = repo.head();
        assert_eq!(repository.reference_on_disk("HEAD"), Some(head.clone()));
        repo.git(&["branch", "other/one"]);
        repo.git(&["pack-refs", "--all"]);
        // Only git can tell.
        assert_eq!(repository.reference_on_disk("refs/heads/other/one"), None);
        assert_eq!((at("HEAD"), at("refs/heads/other/one")), (Some(head.clone()), Some(head.clone())));
        repo.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
        assert_eq!(at("refs/heads/alias"), Some(head.clone()));
        repo.git(&["checkout", "-q", "--detach"]);
        repo.write("b.txt", "b\n");
        repo.commit_all("second");
        assert_eq!((at("HEAD"), at("refs/heads/main")), (Some(repo.head()), Some(head)));
        assert_eq!((at("refs/heads/none"), at("refs/heads/../HEAD")), (None, None));
        assert_eq!(super::super::testing::git_at(repo.root(), &["fsck"]).map(|_| ()), Ok(()));
    }

    #[test]
    fn a_commit_is_read_whole_and_once() {
        let repo = Repo::with_first_commit();
        let first = repo.head();
        repo.write("b.txt", "b\n");
        repo.write("c\nd.txt", "c\n");
        repo.commit_all("subject\n\nbody\n\nwith: trailer");
        let git = repo.open();
        let repository = git.repository().unwrap();
        let commit = repository.head_commit().unwrap();
        assert_eq!(
            (commit.parents.as_slice(), commit.message.trim_end()),
            ([first].as_slice(), "subject\n\nbody\n\nwith: trailer")
        );
        assert_eq!((commit.author.as_str(), commit.email.as_str()), ("t", "t@localhost"));
        assert_eq!(commit.files.len(), 2);
        assert_eq!(repository.tree_of(&commit.hash).unwrap().as_ref(), Some(&commit.tree));
        assert!(std::sync::Arc::ptr_eq(&repository.commit(&commit.hash).unwrap(), &commit));
    }
}
