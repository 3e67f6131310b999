//! Landing: an attempt's commit is combined with the tip of the run's branch without any checkout, and the branch is moved to
//! exactly the commit that was tested, unless somebody else moved it meanwhile.

use std::path::Path;
use std::time::Duration;

use super::call::zero_separated;
use super::lookup::Commit;
use super::paths::display_path;
use super::repository::Repository;
use super::{Git, GitError};
use crate::files::Lock;

/// A conflict names no more files than this.
const MOST_FILES: usize = 50;
/// Characters of a difference that an agent is shown.
const DIFF_CHARS: usize = 6000;

/// What comes of combining work with the tip of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Combined {
    /// A commit whose first parent is the tip.
    Commit {
        commit: String,
        /// Whether its files are those of the work: nobody else changed anything since it began.
        is_as_tested: bool,
    },
    /// Both changed these files, and git cannot tell how they go together.
    Conflict(Vec<String>),
}

/// What an attempt brings: a commit, and the tip that it began from.
#[derive(Clone, Copy, Debug)]
pub struct Work<'w> {
    pub base: &'w str,
    pub commit: &'w str,
    /// Whether Ralph made that commit: then it may be made again on another parent. Commits of agents stay.
    pub is_ralphs: bool,
    /// The message of a commit that brings several together.
    pub message: &'w str,
}

impl Git {
    /// Combines work with the tip of the branch that it is to land on.
    pub fn combine(&self, work: Work<'_>, tip: &str) -> Result<Combined, GitError> {
        let repository = self.repository()?;
        let commit = repository.commit(work.commit)?;
        let is_on_base = commit.parents == [work.base];
        let (follows, is_single) = match (is_on_base, work.base == tip) {
            (true, true) => (true, true),
            // A tip after the base is not before it; the work itself may be there already.
            (true, false) if self.is_in(work.base, tip)? => (work.commit == tip, true),
            // Somebody took the branch back to before the base.
            (true, false) => (self.is_in(tip, work.commit)?, false),
            (false, _) => (self.is_in(tip, work.commit)?, repository.is_one_after(tip, work.commit)?),
        };
        let of_work = self.without_own_files(work, &commit)?;
        let tree = match follows {
            true => of_work.clone(),
            false => {
                // What is Ralph's own was taken out of the tree, so the tree is what is combined.
                let cleaned = match commit.tree == of_work {
                    true => work.commit.to_owned(),
                    false => repository.commit_tree(&of_work, &[work.base.to_owned()], "combined")?,
                };
                let words =
                    ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", tip, &cleaned];
                let output = repository.change(&words).output()?;
                let mut pieces = zero_separated(&output.stdout);
                let tree = String::from_utf8_lossy(pieces.next().unwrap_or_default()).trim().to_owned();
                match output.code {
                    Some(0) => tree,
                    Some(1) => {
                        let files = pieces.filter(|path| !path.is_empty()).take(MOST_FILES);
                        return Ok(Combined::Conflict(files.map(display_path).collect()));
                    }
                    _ => return Err(output.refused("merge-tree")),
                }
            }
        };
        let is_as_tested =
            follows || tree == of_work && repository.tree_of(work.base)? == repository.tree_of(tip)?;
        // The work itself, where the branch has not moved and it is one commit.
        if follows && is_single && commit.tree == tree {
            return Ok(Combined::Commit { commit: work.commit.to_owned(), is_as_tested });
        }
        let commit = match is_single && work.is_ralphs {
            true => self.commit_again(&commit, &tree, tip)?,
            false => self.commit_signed(&tree, &[tip, work.commit], work.message, Vec::new())?,
        };
        repository.remember_tree(&commit, tree);
        Ok(Combined::Commit { commit, is_as_tested })
    }

    /// The tree of the work, with Ralph's own files as they were before it.
    fn without_own_files(&self, work: Work<'_>, commit: &Commit) -> Result<String, GitError> {
        let repository = self.repository()?;
        let read;
        let changed = match commit.parents == [work.base] {
            true => &commit.files,
            false => {
                read = repository.differences(Some(work.base), Some(work.commit))?;
                &read
            }
        };
        let own: Vec<_> = changed.iter().filter(|path| self.is_ralphs(path)).collect();
        if own.is_empty() {
            return Ok(commit.tree.clone());
        }
        let before = super::index::Index::of_tree(repository, Some(work.base))?;
        let entries = before.entries(|path| own.iter().any(|own| own.as_slice() == path))?;
        let index = super::index::Index::of_tree(repository, Some(work.commit))?;
        index.remove(own.iter().copied())?;
        index.set(entries.iter().flat_map(|(path, all)| all.iter().map(move |entry| (path, entry))))?;
        index.write_tree()
    }

    /// The same commit, by the same author, with other files and another parent.
    fn commit_again(&self, commit: &Commit, tree: &str, parent: &str) -> Result<String, GitError> {
        let Commit { author, email, date, message, .. } = commit;
        let author = [("GIT_AUTHOR_NAME", author), ("GIT_AUTHOR_EMAIL", email), ("GIT_AUTHOR_DATE", date)];
        let author = author.map(|(name, value)| (name, value.clone()));
        self.commit_signed(tree, &[parent], message, author.into())
    }

    fn commit_signed(
        &self,
        tree: &str,
        parents: &[&str],
        message: &str,
        author: Vec<(&str, String)>,
    ) -> Result<String, GitError> {
        let repository = self.repository()?;
        let mut call = repository.change(&["commit-tree", tree]);
        for parent in parents {
            call = call.args(&["-p", parent]);
        }
        if repository.signs_commits()? {
            call = call.arg("-S");
        }
        for (name, value) in author {
            call = call.env(name, value);
        }
        call.input(message).line()
    }

    /// Moves a branch from one commit to another. `false` where it is not at the first any more.
    pub fn advance(&self, branch: &str, old: &str, new: &str) -> Result<bool, GitError> {
        self.advance_with(branch, old, new, None)
    }

    /// The same by a git that is known by the index it is given.
    pub(super) fn advance_with(
        &self,
        branch: &str,
        old: &str,
        new: &str,
        index: Option<&Path>,
    ) -> Result<bool, GitError> {
        let repository = self.repository()?;
        // Whether it was moved must be known, whatever was asked of the run meanwhile.
        let _finishing = repository.calls.finish();
        let reference = format!("refs/heads/{branch}");
        let mut attempts = 0;
        loop {
            let words = ["update-ref", "-m", "ralph: land", &reference, new, old];
            let call = repository.change(&words).ending_with_us();
            let output = index.into_iter().fold(call, |call, index| call.index(index)).output()?;
            if output.success() {
                return Ok(true);
            }
            if repository.commit_at(&reference)?.as_deref() != Some(old) {
                return Ok(false);
            }
            // Somebody holds the reference's lock.
            attempts += 1;
            if attempts >= 50 {
                return Err(output.refused("update-ref"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Held while the run's branch is moved; none while another process has it. It is free when its holder dies.
    pub fn landing_lock(&self) -> Result<Option<Lock>, GitError> {
        let path = self.common_dir().join("ralph-landing");
        match Lock::within(&path, Duration::ZERO) {
            Ok(lock) => Ok(Some(lock)),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(GitError::file(&path, error)),
        }
    }

    /// Two commits brought together on no branch; none where they conflict.
    pub fn merged(&self, one: &str, other: &str, message: &str) -> Result<Option<String>, GitError> {
        let Some(tree) = self.merged_tree(one, other)? else { return Ok(None) };
        self.commit_signed(&tree, &[one, other], message, Vec::new()).map(Some)
    }

    /// Whether a commit holds work that another does not have yet, be it as other commits, such as a squashed one.
    pub fn adds_to(&self, commit: &str, other: &str) -> Result<bool, GitError> {
        if self.is_in(commit, other)? {
            return Ok(false);
        }
        let repository = self.repository()?;
        Ok(self
            .merged_tree(other, commit)?
            .is_none_or(|merged| repository.tree_of(other).ok().flatten() != Some(merged)))
    }

    fn merged_tree(&self, one: &str, other: &str) -> Result<Option<String>, GitError> {
        let words = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", one, other];
        let output = self.repository()?.change(&words).output()?;
        let tree = zero_separated(&output.stdout).next().unwrap_or_default();
        match output.code {
            Some(0) => Ok(Some(String::from_utf8_lossy(tree).trim().to_owned())),
            Some(1) => Ok(None),
            _ => Err(output.refused("merge-tree")),
        }
    }

    /// The files that both of two commits changed since a third; all that one of them changed where there is none.
    pub fn changed_by_both(&self, base: &str, one: &str, other: &str) -> Result<Vec<String>, GitError> {
        let repository = self.repository()?;
        let one = repository.differences(Some(base), Some(one))?;
        let other = repository.differences(Some(base), Some(other))?;
        let both: Vec<String> =
            one.intersection(&other).take(MOST_FILES).map(|path| display_path(path)).collect();
        Ok(match both.is_empty() {
            true => other.iter().take(MOST_FILES).map(|path| display_path(path)).collect(),
            false => both,
        })
    }

    /// What two commits differ in at some paths, for an agent to read: bounded.
    pub fn difference_between(&self, from: &str, to: &str, files: &[String]) -> Result<String, GitError> {
        let words = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", from, to, "--"];
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let out = self.repository()?.query(&words).args(&files).literal_paths().run()?;
        let text = String::from_utf8_lossy(&out).into_owned();
        let text: String = text.chars().take(DIFF_CHARS).collect();
        Ok(crate::text::mask_secrets(&text).into_owned())
    }

    /// The commits between two that touch some files, newest first.
    pub fn commits_touching(&self, from: &str, to: &str, files: &[String]) -> Result<Vec<String>, GitError> {
        let range = format!("{from}..{to}");
        let words = ["rev-list", "--max-count=100", &range, "--"];
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let out = self.repository()?.query(&words).args(&files).literal_paths().run()?;
        Ok(String::from_utf8_lossy(&out).lines().map(str::to_owned).collect())
    }
}

impl Repository {
    /// Whether one commit and no more comes after another in the history of a third.
    fn is_one_after(&self, tip: &str, commit: &str) -> Result<bool, GitError> {
        let range = format!("{tip}..{commit}");
        Ok(self.query(&["rev-list", "--count", "--max-count=2", &range]).line()? == "1")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::Repo;

    /// A commit on top of a base, on no branch.
    fn work_on(repo: &Repo, base: &str, file: &str, text: &str) -> String {
        repo.git(&["checkout", "-q", "--detach", base]);
        repo.write(file, text);
        repo.commit_all(&format!("write {file}"));
        let made = repo.head();
        repo.git(&["checkout", "-q", "main"]);
        made
    }

    fn land(repo: &Repo, base: &str, commit: &str) -> Combined {
        let git = repo.open();
        let tip = git.tip("main").unwrap().unwrap();
        let work = Work { base, commit, is_ralphs: true, message: "both" };
        let combined = git.combine(work, &tip).unwrap();
        if let Combined::Commit { commit, .. } = &combined {
            assert!(git.advance("main", &tip, commit).unwrap());
            repo.git(&["reset", "-q", "--hard"]);
        }
        combined
    }

    #[test]
    fn work_on_an_unmoved_branch_lands_as_it_is_and_later_work_is_combined() {
        let repo = Repo::with_first_commit();
        let base = repo.head();
        let (one, two) = (work_on(&repo, &base, "one.txt", "1\n"), work_on(&repo, &base, "two.txt", "2\n"));
        assert_eq!(land(&repo, &base, &one), Combined::Commit { commit: one.clone(), is_as_tested: true });
        let Combined::Commit { commit, is_as_tested } = land(&repo, &base, &two) else { panic!() };
        assert!(!is_as_tested);
        assert_eq!(repo.head(), commit);
        // One commit each, in a row.
        assert_eq!(repo.git(&["log", "--format=%s"]), "write two.txt\nwrite one.txt\nfirst\n");
        assert_eq!((repo.read("one.txt"), repo.read("two.txt")), ("1\n".into(), "2\n".into()));
        assert_eq!(repo.status(), Vec::<String>::new());
    }

    #[test]
    fn a_conflict_names_its_files_and_moves_nothing() {
        let repo = Repo::with_first_commit();
        let base = repo.head();
        let (one, two) = (work_on(&repo, &base, "a.txt", "1\n"), work_on(&repo, &base, "a.txt", "2\n"));
        land(&repo, &base, &one);
        assert_eq!(land(&repo, &base, &two), Combined::Conflict(vec!["a.txt".into()]));
        assert_eq!(repo.head(), one);
        let git = repo.open();
        assert!(git.difference_between(&base, &two, &["a.txt".into()]).unwrap().contains("+2"));
        assert_eq!(git.commits_touching(&base, &one, &["a.txt".into()]).unwrap(), std::slice::from_ref(&one));
        assert!(!git.advance("main", &base, &two).unwrap());
    }

    #[test]
    fn several_commits_are_brought_together_by_one_and_all_stay_reachable() {
        let repo = Repo::with_first_commit();
        let base = repo.head();
        let one = work_on(&repo, &base, "one.txt", "1\n");
        let two = work_on(&repo, &one, "two.txt", "2\n");
        let Combined::Commit { commit, is_as_tested } = land(&repo, &base, &two) else { panic!() };
        assert!(is_as_tested && commit != two);
        let git = repo.open();
        assert!(git.is_in(&one, &commit).unwrap() && git.is_in(&two, &commit).unwrap());
        assert_eq!(repo.git(&["log", "--first-parent", "--format=%s"]), "both\nfirst\n");
    }

    #[test]
    fn a_commit_of_an_agents_own_stays_reachable() {
        let repo = Repo::with_first_commit();
        let base = repo.head();
        let (one, two) = (work_on(&repo, &base, "one.txt", "1\n"), work_on(&repo, &base, "two.txt", "2\n"));
        land(&repo, &base, &one);
        let git = repo.open();
        let work = Work { base: &base, commit: &two, is_ralphs: false, message: "both" };
        let Combined::Commit { commit, .. } = git.combine(work, &one).unwrap() else { panic!() };
        assert!(git.is_in(&two, &commit).unwrap() && git.is_in(&one, &commit).unwrap());
    }

    #[test]
    fn ralphs_own_files_never_land() {
        let repo = Repo::with_first_commit();
        repo.write("AGENTS.md", "before\n");
        repo.commit_all("agents");
        let base = repo.head();
        repo.git(&["checkout", "-q", "--detach", &base]);
        repo.write("AGENTS.md", "an agent's\n");
        repo.write("new.txt", "x\n");
        repo.commit_all("both");
        let made = repo.head();
        repo.git(&["checkout", "-q", "main"]);
        let git = repo.open().without(vec!["AGENTS.md".into()]);
        let work = Work { base: &base, commit: &made, is_ralphs: true, message: "m" };
        let Combined::Commit { commit, .. } = git.combine(work, &base).unwrap() else { panic!() };
        assert_eq!(repo.git(&["show", &format!("{commit}:AGENTS.md")]), "before\n");
        assert_eq!(repo.git(&["show", &format!("{commit}:new.txt")]), "x\n");
    }

    #[test]
    fn work_that_a_branch_has_as_another_commit_adds_nothing_to_it() {
        let repo = Repo::with_first_commit();
        let base = repo.head();
        let (one, two) = (work_on(&repo, &base, "one.txt", "1\n"), work_on(&repo, &base, "two.txt", "2\n"));
        let git = repo.open();
        assert!(git.adds_to(&one, &base).unwrap());
        repo.git(&["merge", "-q", "--squash", &one]);
        repo.commit_all("squashed");
        let squashed = repo.head();
        assert!(!git.is_in(&one, &squashed).unwrap() && !git.adds_to(&one, &squashed).unwrap());
        assert!(git.adds_to(&two, &squashed).unwrap());
    }
}
