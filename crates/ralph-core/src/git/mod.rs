//! The only caller of git: where HEAD is and what an attempt changed; commits, rollbacks and the branch of a run.
//!
//! A person shares the working tree with the agents. So nothing here touches what was uncommitted before
//! ([`commit`](Git::commit) leaves it out, [`roll_back`](Git::roll_back) restores it as it was), nothing is undone
//! before it is saved under a reference, and neither ignored files nor Ralph's own are touched. What a person changes
//! *while* an attempt runs cannot be told from the agent's work: it is committed or rolled back with it, and found
//! again under the rollback's reference.

mod branch;
mod call;
mod commit;
mod commit_message;
mod difference;
mod error;
mod follow;
mod index;
mod interrupted_commit;
mod landing;
mod lookup;
mod obstacles;
mod patch;
mod paths;
mod places;
mod remote;
mod repository;
mod restore;
mod rollback;
mod saved;
mod snapshot;
mod submodules;
mod trust;
mod worktree;

#[cfg(test)]
mod testing;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub use branch::{BranchOutcome, Unfinished};
pub use call::GitLimits;
pub use commit::{CommitOrder, CommitOutcome, CommitWatch};
pub use commit_message::commit_message;
pub use difference::DiffForm;
pub use error::{GitError, GitFault, RemoteFault};
pub use follow::{Followed, Place};
pub use landing::{Combined, Work};
pub use obstacles::{Obstacle, Wants, Weight};
pub use remote::{PushHooks, Pushed, Settled, Update};
pub use rollback::{Kept, RollbackMode, RolledBack};
pub use snapshot::Snapshot;
pub use worktree::{KnownTree, project_of_tree};

use crate::files::is_temporary;
use crate::model::names;
use paths::{RepoPath, display_path, on_disk};
use repository::Repository;

/// Paths that are Ralph's own and never count as an attempt's work.
const OWN: [&str; 2] = [".ralph/", ".ralph.toml"];

#[derive(Clone, Debug)]
pub struct Git {
    dir: PathBuf,
    /// That directory below the repository's root, with a slash at the end; empty at the root.
    prefix: Vec<u8>,
    /// Further files of Ralph's own, below that directory.
    own: Vec<String>,
    repository: Arc<Repository>,
}

impl Git {
    /// The repository around a directory, if there is one and git is installed.
    pub fn discover(dir: &Path) -> Option<Self> {
        Self::open(dir, GitLimits::default()).ok().flatten()
    }

    /// The same with limits of its own; an error where there is a repository that git cannot use.
    pub fn open(dir: &Path, limits: GitLimits) -> Result<Option<Self>, GitError> {
        let real = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
        let around = Repository::around(&real, &limits);
        let is_around = around.is_some();
        let around =
            around.unwrap_or_else(|| Repository::new(real.clone(), real.join(".git"), limits.clone()));
        // Git opens these files to find out whether there is a repository at all.
        around.check()?;
        let words = ["rev-parse", "--show-prefix", "--absolute-git-dir"];
        let out = match around.query(&words).in_dir(dir).discovering().run() {
            Ok(out) => out,
            Err(error @ (GitError::Fault(_) | GitError::Interrupted)) => return Err(error),
            Err(error @ GitError::CannotStart(_)) if is_around => return Err(error),
            Err(GitError::Refused { .. }) if is_around => {
                return around.settings().map(|_| None);
            }
            Err(_) => return Ok(None),
        };
        let mut lines = out.split(|b| *b == b'\n');
        let (Some(prefix), Some(git_dir)) = (lines.next(), lines.next()) else { return Ok(None) };
        let depth = prefix.iter().filter(|b| **b == b'/').count();
        let real = std::fs::canonicalize(dir).map_err(|error| GitError::file(dir, error))?;
        let top = real.ancestors().nth(depth).unwrap_or(&real).to_owned();
        let git_dir = on_disk(Path::new("/"), git_dir);
        Ok(Some(Self {
            dir: dir.to_owned(),
            prefix: prefix.to_owned(),
            own: Vec::new(),
            repository: Arc::new(Repository::new(top, git_dir, limits).confirmed()),
        }))
    }

    /// Takes note of the programs that git runs by itself: hooks, filters and what fetches. Those that appear later are off
    /// in every call but the one real commit.
    pub fn watch_programs(&self) -> Result<(), GitError> {
        self.repository.watch_programs()?;
        self.repository.watch_submodules()
    }

    /// Asks git whether it still works in this repository. Where it does not, that is a fault: git is not called again, and
    /// the run ends.
    pub fn check_repository(&self) -> Result<(), GitError> {
        let repository = match self.repository() {
            Err(GitError::Fault(fault)) => return Err(self.repository.calls.fail(fault)),
            repository => repository?,
        };
        // Only the configuration and these parts decide what git takes for a repository, and where its files are.
        let reads = repository.config_reads()?;
        if repository.has_its_parts() && repository.checked_at.swap(reads, Ordering::Relaxed) == reads {
            return Ok(());
        }
        let unusable = |why: String| repository.calls.fail(GitFault::Unusable(why));
        let top = match repository.query(&["rev-parse", "--show-toplevel"]).discovering().line() {
            Err(GitError::Refused { message, .. }) => return Err(unusable(message)),
            top => top?,
        };
        // Another core.worktree: what git takes for the working tree is not this project.
        if repository.first_top.get_or_init(|| top.clone()) != &top {
            let top = crate::text::code_line(&top, 300);
            let why = format!("its working tree is now {top}; check core.worktree");
            return Err(unusable(why));
        }
        Ok(())
    }

    /// What changed in git's configuration, hooks and attributes since this was last asked.
    pub fn program_changes(&self) -> Result<Vec<String>, GitError> {
        self.repository.program_changes()
    }

    /// Why git is not called any more: a call did not end, or one would not have.
    pub fn fault(&self) -> Option<GitError> {
        self.repository.calls.fault().map(GitError::Fault)
    }

    /// Leaves further files out of what attempts changed: Ralph writes them too.
    #[must_use]
    pub fn without(mut self, own: Vec<String>) -> Self {
        self.own = own;
        self
    }

    pub fn branch(&self) -> Option<String> {
        let name = match self.repository.branch().ok()? {
            Some(full) => full.strip_prefix("refs/heads/").unwrap_or(&full).to_owned(),
            None => String::from_utf8_lossy(&self.repository.head_line()?).into_owned(),
        };
        Some(crate::text::one_line(&name, 200))
    }

    /// The first commit of the repository, the same in every clone of it; of several the one that sorts first.
    pub fn root_commit(&self) -> Option<String> {
        let found = self.repository().ok()?.query(&["rev-list", "--max-parents=0", "HEAD"]).line().ok()?;
        found.lines().map(str::trim).filter(|line| !line.is_empty()).min().map(str::to_owned)
    }

    /// The branch HEAD is on; none when HEAD is detached.
    pub fn on_branch(&self) -> Option<String> {
        self.repository.branch().ok()??;
        self.branch()
    }

    /// The repository, if it is still there. Should it go away, one further up is not taken for it.
    fn repository(&self) -> Result<&Repository, GitError> {
        self.repository.check()?;
        let git_dir = &self.repository.git_dir;
        match git_dir.join("HEAD").symlink_metadata() {
            Ok(_) if self.repository.is_replaced() => Err(GitFault::Replaced(git_dir.clone()).into()),
            Ok(_) => Ok(&self.repository),
            Err(_) => Err(GitFault::Gone(git_dir.clone()).into()),
        }
    }

    /// The repository, if nothing is unfinished in it.
    fn settled(&self) -> Result<&Repository, GitError> {
        let repository = self.repository()?;
        match Unfinished::find(&repository.git_dir) {
            None => Ok(repository),
            Some(unfinished) => Err(GitError::Unfinished(unfinished)),
        }
    }

    /// A path from the repository's root as the project sees it; `None` outside the project and for Ralph's own files.
    fn own_path<'p>(&self, path: &'p [u8]) -> Option<&'p [u8]> {
        let path = path.strip_prefix(self.prefix.as_slice())?;
        let own = OWN.iter().any(|own| path.starts_with(own.as_bytes()))
            || self.own.iter().any(|own| own.as_bytes() == path)
            || is_temporary(&String::from_utf8_lossy(path));
        (!own).then_some(path)
    }

    /// Whether a path from the repository's root is one of Ralph's own files.
    fn is_ralphs(&self, path: &[u8]) -> bool {
        path.starts_with(&self.prefix) && self.own_path(path).is_none()
    }

    /// Takes back what was staged of these files between two moments, and says whether anything was. What was staged before stays.
    pub fn unstage<'p>(
        &self,
        paths: impl IntoIterator<Item = &'p String>,
        before: &Snapshot,
        after: &Snapshot,
    ) -> Result<bool, GitError> {
        let paths = paths.into_iter().map(|path| self.rooted(path.as_bytes()));
        let is_new = |path: &RepoPath| after.staged.contains_key(path) && !before.staged.contains_key(path);
        let paths: Vec<RepoPath> = paths.filter(is_new).collect();
        if paths.is_empty() {
            return Ok(false);
        }
        self.settled()?.reset_index(&paths).map(|()| true)
    }

    fn rooted(&self, path: &[u8]) -> RepoPath {
        [self.prefix.as_slice(), path].concat()
    }

    /// A path from the repository's root as the project's people know it.
    fn display(&self, path: &[u8]) -> String {
        match path.strip_prefix(self.prefix.as_slice()) {
            Some(inside) => display_path(inside),
            // As git itself writes paths from the root.
            None => format!(":/{}", display_path(path)),
        }
    }
}

/// Something that a commit or a rollback left as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// A path of the project, or a branch.
    pub what: String,
    pub why: LeftBecause,
}

names! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LeftBecause {
        /// Whose lines are whose cannot be told.
        UncommittedBefore => "uncommitted before the run",
        Submodule => "a submodule",
        Repository => "a nested git repository",
        /// Git was told not to look at it.
        Unwatched => "marked assume-unchanged or skip-worktree",
        IgnoredMeanwhile => "ignored by a rule the attempt added",
        OutsideProject => "outside the project",
        /// It is a branch the attempt made or used, with its commits.
        Branch => "a branch",
    }
}

impl std::fmt::Display for Left {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.what, self.why)
    }
}
