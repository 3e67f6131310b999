//! Operations of git that wait for somebody to finish them.

use std::path::Path;

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
        }
    }
}
