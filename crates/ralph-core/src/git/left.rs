//! What a commit or a roll-back left as it was, and why.

/// Something left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// A path of the project, or a branch.
    pub what: String,
    /// Why.
    pub why: LeftBecause,
}

/// Why something was left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftBecause {
    /// It was uncommitted before the run: whose lines are whose cannot be told.
    UncommittedBefore,
    /// It is a submodule, which is not entered.
    Submodule,
    /// It is a nested git repository.
    Repository,
    /// Git was told not to look at it (`--assume-unchanged`, `--skip-worktree`).
    Unwatched,
    /// It was ignored by a rule that the attempt made.
    IgnoredMeanwhile,
    /// It lies outside the project.
    OutsideProject,
    /// It is a branch the attempt made or used, with its commits.
    Branch,
}

impl std::fmt::Display for Left {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let why = match self.why {
            LeftBecause::UncommittedBefore => "uncommitted before the run",
            LeftBecause::Submodule => "a submodule",
            LeftBecause::Repository => "a nested git repository",
            LeftBecause::Unwatched => "marked assume-unchanged or skip-worktree",
            LeftBecause::IgnoredMeanwhile => "ignored by a rule the attempt added",
            LeftBecause::OutsideProject => "outside the project",
            LeftBecause::Branch => "a branch",
        };
        write!(f, "{} ({why})", self.what)
    }
}
