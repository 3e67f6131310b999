//! Operations of git that wait for somebody to finish them.

use std::path::Path;

use super::places::Places;
use super::{Git, GitError};

/// What is unfinished; committing or undoing anything then would tear it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// A rebase, or patches being applied.
    Rebase,
    /// A merge.
    Merge,
    /// A cherry-pick.
    CherryPick,
    /// A revert.
    Revert,
    /// A bisection.
    Bisect,
}

/// The file or directory inside git's own that tells.
const TRACES: [(&str, Unfinished); 7] = [
    ("rebase-merge", Unfinished::Rebase),
    ("rebase-apply", Unfinished::Rebase),
    ("MERGE_HEAD", Unfinished::Merge),
    ("CHERRY_PICK_HEAD", Unfinished::CherryPick),
    ("REVERT_HEAD", Unfinished::Revert),
    ("BISECT_LOG", Unfinished::Bisect),
    // Several commits picked or reverted, stopped between two of them.
    ("sequencer/todo", Unfinished::CherryPick),
];

impl std::fmt::Display for Unfinished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Rebase => "a rebase",
            Self::Merge => "a merge",
            Self::CherryPick => "a cherry-pick",
            Self::Revert => "a revert",
            Self::Bisect => "a bisection",
        })
    }
}

impl Git {
    /// Ends what somebody began with git and did not finish. Files stay as they are, but for those of a rebase: they are those
    /// of the branch again, which nobody could get back to otherwise. What it was.
    pub fn end_unfinished(&self) -> Result<Option<Unfinished>, GitError> {
        let places = self.places()?;
        let first = find(&places.git_dir);
        // One may hide another.
        for _ in 0..TRACES.len() {
            let Some(unfinished) = find(&places.git_dir) else {
                return self.settled(&places, first);
            };
            let applies = places.git_dir.join("rebase-apply/applying").exists();
            let words: &[&str] = match unfinished {
                Unfinished::Rebase if applies => &["am", "--abort"],
                Unfinished::Rebase => &["rebase", "--abort"],
                Unfinished::Merge => &["merge", "--quit"],
                Unfinished::CherryPick => &["cherry-pick", "--quit"],
                Unfinished::Revert => &["revert", "--quit"],
                Unfinished::Bisect => &["bisect", "reset", "HEAD"],
            };
            // Agents may have written hooks.
            let quiet = ["-c", "core.hooksPath=/dev/null"];
            places.change(&quiet).args(words).named(words).run()?;
        }
        match find(&places.git_dir) {
            Some(unfinished) => Err(GitError::Unfinished(unfinished)),
            None => self.settled(&places, first),
        }
    }

    /// Takes conflicts out of the index, with which neither agents nor people could commit anything.
    fn settled(
        &self,
        places: &Places,
        was: Option<Unfinished>,
    ) -> Result<Option<Unfinished>, GitError> {
        if was.is_none() {
            return Ok(None);
        }
        let unmerged = places
            .call(&[
                "diff",
                "--no-ext-diff",
                "--no-textconv",
                "--name-only",
                "--diff-filter=U",
                "-z",
            ])
            .run()?;
        if !unmerged.is_empty() {
            let paths = ["--pathspec-from-file=-", "--pathspec-file-nul"];
            let call = places.change(&["reset", "-q"]).args(&paths);
            call.input(unmerged).run()?;
        }
        Ok(was)
    }
}

/// What is unfinished in the work tree of this git directory.
pub(super) fn find(git_dir: &Path) -> Option<Unfinished> {
    TRACES
        .iter()
        .find(|(trace, _)| git_dir.join(trace).exists())
        .map(|(_, unfinished)| *unfinished)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::call::Call;
    use crate::git::testing::Repo;

    #[test]
    fn every_unfinished_thing_is_seen() {
        let repo = Repo::with_first_commit();
        repo.git(&["checkout", "-qb", "other"]);
        repo.write("a.txt", "theirs\n");
        repo.commit_all("theirs");
        repo.git(&["checkout", "-q", "main"]);
        repo.write("a.txt", "ours\n");
        repo.commit_all("ours");
        repo.write("a.txt", "later\n");
        repo.commit_all("later");
        let git = repo.open();
        assert_eq!(git.unfinished().unwrap(), None);
        for (begin, end, what) in [
            (["merge", "other"], ["merge", "--abort"], Unfinished::Merge),
            (
                ["rebase", "other"],
                ["rebase", "--abort"],
                Unfinished::Rebase,
            ),
            (
                ["cherry-pick", "other"],
                ["cherry-pick", "--abort"],
                Unfinished::CherryPick,
            ),
            (
                ["revert", "HEAD~1"],
                ["revert", "--abort"],
                Unfinished::Revert,
            ),
            (["bisect", "start"], ["bisect", "reset"], Unfinished::Bisect),
        ] {
            let _ = Call::new(repo.root(), &begin).output().unwrap();
            assert_eq!(git.unfinished().unwrap(), Some(what), "{what}");
            repo.git(&end);
            assert_eq!(git.unfinished().unwrap(), None, "{what}");

            let _ = Call::new(repo.root(), &begin).output().unwrap();
            let files = repo.read("a.txt");
            assert_eq!(git.end_unfinished().unwrap(), Some(what), "{what}");
            assert_eq!(git.unfinished().unwrap(), None, "{what}");
            match what {
                Unfinished::Rebase => assert_eq!(repo.read("a.txt"), "later\n"),
                _ => assert_eq!(repo.read("a.txt"), files, "{what}"),
            }
            let conflicts = repo.git(&["ls-files", "--unmerged"]);
            assert_eq!(conflicts, "", "{what}");
            repo.git(&["checkout", "-qf", "main"]);
        }
        assert_eq!(git.end_unfinished().unwrap(), None);
    }
}
