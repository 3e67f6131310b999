//! What can go wrong with git, in words for people.

use std::path::PathBuf;
use std::time::Duration;

use super::Unfinished;

/// Git could not do what it was asked, or was not asked because it would not be safe.
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
    /// A file in the way of git could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A merge or the like waits for somebody to finish it.
    #[error("{0} is unfinished in this work tree; finish or abort it first")]
    Unfinished(Unfinished),
    /// Somebody else holds the index, or died holding it.
    #[error("git's index is locked: {} exists", .0.display())]
    Locked(PathBuf),
    /// Somebody took the repository away, and one further up is another.
    #[error("the repository is gone: {} has no HEAD", .0.display())]
    Gone(PathBuf),
    /// `git commit` failed: a hook, a missing identity, a signature.
    #[error("the commit failed: {message}")]
    CommitFailed {
        /// In a line.
        message: String,
        /// The end of what git and the hooks said.
        output: String,
    },
    /// `git commit` did not come to an end.
    #[error("the commit took longer than {limit:?} and was ended")]
    CommitTimedOut {
        /// How long it had.
        limit: Duration,
        /// The end of what git and the hooks said.
        output: String,
    },
    /// Ralph was told to stop while `git commit` ran.
    #[error("the commit was interrupted")]
    Interrupted,
    /// No branch can have that name.
    #[error("{0:?} is no name for a branch")]
    BranchName(String),
    /// Changing the branch would overwrite what is not committed.
    #[error("cannot switch to the branch {branch}: uncommitted changes are in the way: {}", .files.join(", "))]
    BranchInTheWay {
        /// The branch.
        branch: String,
        /// The files.
        files: Vec<String>,
    },
    /// Nothing was rolled back, for it would not have been safe.
    #[error("nothing was rolled back: {why}; the attempt's work is also at {reference}{}", before(.kept))]
    RollbackRefused {
        /// Why.
        why: String,
        /// Where the attempt's work was saved.
        reference: String,
        /// Where the state before the attempt is.
        kept: Option<String>,
    },
    /// Something failed on the way.
    #[error("the roll-back is incomplete: {why}; the attempt's work is at {reference}{}", before(.kept))]
    RollbackIncomplete {
        /// Why.
        why: String,
        /// Where the attempt's work was saved.
        reference: String,
        /// Where the state before the attempt is.
        kept: Option<String>,
    },
}

fn before(kept: &Option<String>) -> String {
    match kept {
        Some(kept) => format!(", what was there before it at {kept}"),
        None => String::new(),
    }
}

impl GitError {
    /// The end of what git and the hooks said, where there is more than the message.
    pub fn output(&self) -> Option<&str> {
        match self {
            Self::CommitFailed { output, .. } | Self::CommitTimedOut { output, .. } => Some(output),
            Self::Spawn(_)
            | Self::Refused { .. }
            | Self::File { .. }
            | Self::Unfinished(_)
            | Self::Locked(_)
            | Self::Gone(_)
            | Self::Interrupted
            | Self::BranchName(_)
            | Self::BranchInTheWay { .. }
            | Self::RollbackRefused { .. }
            | Self::RollbackIncomplete { .. } => None,
        }
    }

    /// A file that could not be read or written.
    pub(super) fn file(path: impl AsRef<std::path::Path>, source: std::io::Error) -> Self {
        let path = path.as_ref().display().to_string();
        Self::File {
            path: crate::text::one_line(&path, 300),
            source,
        }
    }
}
