//! What can go wrong with git, in words for people.

use std::path::PathBuf;
use std::time::Duration;

use super::Unfinished;

/// Git could not do what it was asked, or was not asked because it would not be safe.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// It could not be started.
    #[error("cannot start git: {0}")]
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
    #[error("{0} is in progress in this working tree; finish or abort it first")]
    Unfinished(Unfinished),
    /// Somebody else holds a lock of git's, or died holding it.
    #[error("git is locked: {} exists", crate::text::one_line(&.0.display().to_string(), 300))]
    Locked(PathBuf),
    /// Somebody took the repository away, and one further up is another.
    #[error("the git repository is gone: {} has no HEAD", .0.display())]
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
    #[error("the commit timed out after {}", crate::text::duration(*limit))]
    CommitTimedOut {
        /// How long it had.
        limit: Duration,
        /// The end of what git and the hooks said.
        output: String,
    },
    /// Ralph was told to stop while git ran.
    #[error("git was interrupted")]
    Interrupted,
    /// A call of git did not end; none is made after it.
    #[error("git {command} timed out after {}{}", seconds(.after), because(.held_up_by))]
    TimedOut {
        /// What was asked.
        command: String,
        /// How long it had.
        after: Duration,
        /// What it was waiting for, as far as that is known.
        held_up_by: Option<String>,
    },
    /// Git would open this and wait for ever.
    #[error("{} is not a regular file: git would hang reading it", crate::text::one_line(&.0.display().to_string(), 300))]
    NotRegular(PathBuf),
    /// Without its index git takes every file for deleted.
    #[error("git's index {} is missing: git would treat every file as deleted", crate::text::code_line(&.0.display().to_string(), 300))]
    NoIndex(PathBuf),
    /// Git fails on every call until somebody repairs the file.
    #[error("git cannot read its configuration: {0}")]
    Config(String),
    /// Git refuses to work in the repository.
    #[error("git cannot use the repository: {0}")]
    Unusable(String),
    /// Git does not know who commits.
    #[error("git has no author identity: {0}")]
    NoIdentity(String),
    /// No branch can have that name.
    #[error("{0:?} is not a valid branch name")]
    BranchName(String),
    /// Changing the branch would overwrite what is not committed.
    #[error("cannot switch to branch {branch}: it would overwrite uncommitted changes: {}", .files.join(", "))]
    BranchInTheWay {
        /// The branch.
        branch: String,
        /// The files.
        files: Vec<String>,
    },
    /// Nothing was rolled back, for it would not have been safe.
    #[error("nothing was rolled back: {why}; the attempt's work is also saved at {reference}{}", before(.kept))]
    RollbackRefused {
        /// Why.
        why: String,
        /// Where the attempt's work was saved.
        reference: String,
        /// Where the state before the attempt is.
        kept: Option<String>,
    },
    /// Something failed on the way.
    #[error("the rollback is incomplete: {why}; the attempt's work is saved at {reference}{}", before(.kept))]
    RollbackIncomplete {
        /// Why.
        why: String,
        /// Where the attempt's work was saved.
        reference: String,
        /// Where the state before the attempt is.
        kept: Option<String>,
    },
}

/// Whether a file that Ralph keeps beside git's own was replaced by a link, which Ralph does not follow.
fn is_own_link(path: &str) -> bool {
    let path = std::path::Path::new(path);
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("ralph-")) && path.is_symlink()
}

fn seconds(time: &Duration) -> String {
    format!("{} s", time.as_secs())
}

fn because(held_up_by: &Option<String>) -> String {
    match held_up_by {
        Some(why) => format!(": {why}"),
        None => String::new(),
    }
}

fn before(kept: &Option<String>) -> String {
    match kept {
        Some(kept) => format!(", the state before it at {kept}"),
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
            | Self::TimedOut { .. }
            | Self::NotRegular(_)
            | Self::NoIndex(_)
            | Self::Config(_)
            | Self::Unusable(_)
            | Self::NoIdentity(_)
            | Self::BranchName(_)
            | Self::BranchInTheWay { .. }
            | Self::RollbackRefused { .. }
            | Self::RollbackIncomplete { .. } => None,
        }
    }

    /// What to do, where the surroundings are at fault and no agent: no other attempt would do better.
    pub fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::Spawn(error) => match crate::agent::limit_hint(error) {
                Some(hint) => hint.to_owned(),
                None => "check that git is installed and that the machine has free memory".to_owned(),
            },
            Self::File { path, .. } if is_own_link(path) => {
                format!("remove it: rm {}", crate::text::shell_word(path))
            }
            Self::File { source, .. } if let Some(hint) = crate::agent::limit_hint(source) => {
                hint.to_owned()
            }
            Self::File { .. } => "check free space and the permissions of .git".to_owned(),
            Self::Locked(lock) => format!(
                "if no git process is running, remove it: rm {}",
                crate::text::shell_word(&lock.display().to_string())
            ),
            Self::Gone(path) => format!(
                "restore {} from a backup or a clone",
                crate::text::shell_word(&path.display().to_string())
            ),
            Self::Unusable(_) => "run `git status` and fix what it reports".to_owned(),
            Self::TimedOut { .. } => {
                "run that git command yourself to see what blocks it (`git config --list --show-origin` \
                 shows filters); if it is only slow, raise query_timeout under [git] in .ralph.toml"
                    .to_owned()
            }
            Self::NotRegular(path) => {
                let word = crate::text::shell_word(&path.display().to_string());
                match path.file_name().and_then(|name| name.to_str()) {
                    Some("index") => format!("recreate it: rm {word} && git reset"),
                    Some("HEAD") => format!(
                        "recreate it, with your branch instead of main: rm {word} && echo 'ref: \
                         refs/heads/main' > {word}"
                    ),
                    // Ralph's own, which it makes anew.
                    Some(name) if name.starts_with("ralph-") => format!("remove it: rm {word}"),
                    _ => format!("move it away and restore the original file: {word}"),
                }
            }
            Self::NoIndex(_) => "recreate it: git reset".to_owned(),
            Self::Config(_) => {
                "fix the line git names, or restore the file, until `git config --list` succeeds".to_owned()
            }
            Self::NoIdentity(_) => {
                "git config user.email YOU@EXAMPLE.ORG; git config user.name 'YOUR NAME'".to_owned()
            }
            Self::Refused { .. }
            | Self::Unfinished(_)
            | Self::CommitFailed { .. }
            | Self::CommitTimedOut { .. }
            | Self::Interrupted
            | Self::BranchName(_)
            | Self::BranchInTheWay { .. }
            | Self::RollbackRefused { .. }
            | Self::RollbackIncomplete { .. } => return None,
        })
    }

    /// A file that could not be read or written.
    pub(super) fn file(path: impl AsRef<std::path::Path>, source: std::io::Error) -> Self {
        let path = path.as_ref().display().to_string();
        Self::File {
            path: crate::text::code_line(&path, 300),
            source,
        }
    }
}
