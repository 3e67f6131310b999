//! What can go wrong with git, as people read it, and what they can do about it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Unfinished;
use crate::agent::SANDBOX_FAILED;
use crate::sandbox::SETUP_FIX;
use crate::text::{code_line, one_line, shell_word};

/// What to do where git does not know who commits.
pub(super) const SET_IDENTITY: &str =
    "git config user.email YOU@EXAMPLE.ORG; git config user.name 'YOUR NAME'";

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("cannot start git: {0}")]
    CannotStart(#[from] std::io::Error),
    #[error("git {command} failed: {message}")]
    Refused { command: String, message: String },
    /// A file that git or Ralph needs could not be read or written.
    #[error("{path}: {source}")]
    File { path: String, source: std::io::Error },
    #[error("{0} is in progress in this working tree; finish or abort it first")]
    Unfinished(Unfinished),
    /// Another process holds one of git's locks, or died holding it.
    #[error("git is locked: {} exists", line(.0))]
    Locked(PathBuf),
    /// `git commit` failed: a hook, a signature.
    #[error("the commit failed: {message}")]
    CommitFailed { message: String, output: String },
    #[error("the commit timed out after {}", crate::text::duration(*limit))]
    CommitTimedOut { limit: Duration, output: String },
    /// A hook did it, or the system for want of memory.
    #[error("git commit was killed by signal {signal}")]
    CommitKilled { signal: i32, output: String },
    #[error("git was interrupted")]
    Interrupted,
    #[error(transparent)]
    Fault(#[from] GitFault),
    #[error(transparent)]
    Remote(#[from] RemoteFault),
    #[error("git has no author identity: {0}")]
    NoIdentity(String),
    #[error("{0:?} is not a valid branch name")]
    BranchName(String),
    #[error("cannot switch to branch {branch}: it would overwrite uncommitted changes: {}", .files.join(", "))]
    BranchInTheWay { branch: String, files: Vec<String> },
    /// Nothing was rolled back, because it would not have been safe.
    #[error("nothing was rolled back: {why}; the attempt's work is also saved at {reference}{}", before(.kept))]
    RollbackRefused { why: String, reference: String, kept: Option<String> },
    #[error("the rollback is incomplete: {why}; the attempt's work is saved at {reference}{}", before(.kept))]
    RollbackIncomplete { why: String, reference: String, kept: Option<String> },
}

/// Why git cannot be used in this repository: every further call would fail or hang, so the first fault ends the run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GitFault {
    #[error("git {command} timed out after {} s{}", .after.as_secs(), because(.waiting_for))]
    TimedOut { command: String, after: Duration, waiting_for: Option<String> },
    #[error("{} is not a regular file, so Ralph does not run git", line(.0))]
    NotRegular(PathBuf),
    #[error("git's index {} is missing: git would treat every file as deleted", code_line(&.0.display().to_string(), 300))]
    NoIndex(PathBuf),
    #[error("git cannot read its configuration: {0}")]
    Config(String),
    /// The repository was removed, and one further up is another.
    #[error("the git repository is gone: {} has no HEAD", .0.display())]
    Gone(PathBuf),
    /// An agent deleted it and began a new one, which has none of its commits.
    #[error("the git repository was replaced: {} is not the one that was there when the run started", line(.0))]
    Replaced(PathBuf),
    #[error("git cannot use the repository: {0}")]
    Unusable(String),
}

/// What can go wrong between this clone and a remote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteFault {
    #[error("git knows no remote named {0:?}")]
    Unknown(String),
    /// It may answer later.
    #[error("the remote does not answer: {why}")]
    Unreachable { why: String },
    #[error("the remote denies access: {why}")]
    Denied { why: String },
    #[error("the remote does not let this account change {branch}: {why}")]
    Protected { branch: String, why: String },
    /// One of its hooks refused: perhaps this work, perhaps all.
    #[error("a hook of the remote refused the work: {why}")]
    Refused { why: String },
    #[error("the remote cannot change several branches at once (atomic pushes)")]
    NotAtomic,
    /// What decides where a push goes and what it runs may have been changed by an agent.
    #[error("settings of git that decide where a push goes changed during the run: {}", crate::text::few(.keys, 5))]
    Changed { keys: Vec<String> },
}

impl RemoteFault {
    fn remedy(&self) -> String {
        match self {
            Self::Unknown(name) => format!(
                "git remote add {} URL, or set [git] remote to one that `git remote` lists",
                shell_word(name)
            ),
            Self::Unreachable { .. } => {
                "check the network and the server (`git ls-remote` says the same)".to_owned()
            }
            Self::Denied { .. } => {
                "give this machine's account the right to push, without a question asked (`git push --dry-run` shows what \
                 git says)"
                    .to_owned()
            }
            Self::Protected { branch, .. } => format!(
                "allow this account to push to {branch} and to create and delete ralph/attempt-*, or set [git] branch to \
                 another branch"
            ),
            Self::Refused { .. } => "look at what the remote's hook said, and fix its cause".to_owned(),
            Self::NotAtomic => "use a server that supports them, or `[git] remote = \"\"`".to_owned(),
            Self::Changed { .. } => {
                "look at them with `git config --list --show-origin`, and restore them if an agent changed them".to_owned()
            }
        }
    }
}

fn line(path: &Path) -> String {
    one_line(&path.display().to_string(), 300)
}

fn because(waiting_for: &Option<String>) -> String {
    match waiting_for {
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

pub(super) fn path_word(path: &Path) -> String {
    shell_word(&path.display().to_string())
}

pub(super) fn remove_lock(lock: &Path) -> String {
    format!("if no git process is running, remove it: rm {}", path_word(lock))
}

impl GitError {
    /// The end of what git and the hooks printed, where there is more than the message.
    pub fn output(&self) -> Option<&str> {
        match self {
            Self::CommitFailed { output, .. }
            | Self::CommitTimedOut { output, .. }
            | Self::CommitKilled { output, .. } => Some(output),
            _ => None,
        }
    }

    /// What to do where the environment is at fault and not the agent: no other attempt would do better.
    pub fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::CannotStart(error) if error.to_string().contains(SANDBOX_FAILED) => SETUP_FIX.to_owned(),
            Self::CannotStart(error) => match crate::agent::limit_hint(error) {
                Some(hint) => hint.to_owned(),
                None => "check that git is installed and that the machine has free memory".to_owned(),
            },
            Self::File { path, .. } if is_own_link(path) => {
                format!("remove it: rm {}", shell_word(path))
            }
            Self::File { source, .. } => match crate::agent::limit_hint(source) {
                Some(hint) => hint.to_owned(),
                None => "check free space and the permissions of .git".to_owned(),
            },
            Self::Locked(lock) => remove_lock(lock),
            Self::CommitKilled { .. } => {
                "check that the machine has free memory and that no hook in .git/hooks kills git".to_owned()
            }
            Self::Fault(fault) => fault.remedy(),
            Self::Remote(fault) => fault.remedy(),
            Self::NoIdentity(_) => SET_IDENTITY.to_owned(),
            _ => return None,
        })
    }

    pub(super) fn file(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Self::File { path: code_line(&path.as_ref().display().to_string(), 300), source }
    }
}

impl GitFault {
    fn remedy(&self) -> String {
        match self {
            Self::Gone(path) => format!("restore {} from a backup or a clone", path_word(path)),
            Self::Replaced(path) => format!(
                "restore {} from a backup or a clone, or keep the new one (`git log` shows what it has)",
                path_word(path)
            ),
            Self::Unusable(_) => "run `git status` and fix what it reports".to_owned(),
            Self::TimedOut { .. } => {
                "run that git command yourself to see what blocks it (`git config --list --show-origin` \
                 shows filters); if it is only slow, raise query_timeout under [git] in .ralph.toml"
                    .to_owned()
            }
            Self::NotRegular(path) => {
                let word = path_word(path);
                match path.file_name().and_then(|name| name.to_str()) {
                    Some("index") => format!("recreate it: rm {word} && git reset"),
                    Some("HEAD") => format!(
                        "recreate it, with your branch instead of main: rm {word} && echo 'ref: \
                         refs/heads/main' > {word}"
                    ),
                    // Ralph's own files, which it creates again.
                    Some(name) if name.starts_with("ralph-") => format!("remove it: rm {word}"),
                    _ => format!("move it away and restore the original file: {word}"),
                }
            }
            Self::NoIndex(_) => "recreate it: git reset".to_owned(),
            Self::Config(_) => {
                "fix the line git names, or restore the file, until `git config --list` succeeds".to_owned()
            }
        }
    }
}

/// Whether one of Ralph's files in git's directory was replaced by a link, which Ralph does not follow.
fn is_own_link(path: &str) -> bool {
    let path = Path::new(path);
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("ralph-")) && path.is_symlink()
}
