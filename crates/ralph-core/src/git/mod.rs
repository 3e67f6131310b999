//! The only caller of git: where HEAD is and what an attempt changed; commits, roll-backs and the branch of a run.
//!
//! A person shares the work tree with the agents. So nothing here touches what was uncommitted before
//! ([`commit`](Git::commit) leaves it out, [`roll_back`](Git::roll_back) puts it back as it was), nothing is undone
//! before it is saved under a reference, and neither ignored files nor Ralph's own are touched. What a person changes
//! *while* an attempt runs cannot be told from the agent's work: it is committed or rolled back with it, and found
//! again under the roll-back's reference.

mod branch;
mod branch_name;
mod call;
mod commit;
mod conduct;
mod error;
mod file_state;
mod index;
mod left;
mod left_work;
mod paths;
mod places;
mod programs;
mod readiness;
mod regular;
mod rollback;
mod save;
mod save_work;
mod snapshot;
mod status;
mod tidy;
mod trees;
mod unfinished;

#[cfg(test)]
mod testing;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use branch::BranchOutcome;
pub use commit::{CommitOrder, CommitOutcome, CommitWatch, commit_message};
pub use conduct::GitLimits;
pub use error::GitError;
pub use left::{Left, LeftBecause};
pub use readiness::{Obstacle, Wants, Weight};
pub use rollback::{Kept, RollbackMode, RolledBack};
pub use snapshot::Snapshot;
pub use unfinished::Unfinished;

use crate::files::is_temporary;
use call::Call;
use conduct::Conduct;
use places::Places;
use programs::Programs;
use regular::Repository;

/// No name of a branch is longer.
const HEAD_BYTES: u64 = 1024;
/// Paths that are Ralph's own and never count as an attempt's work.
const OWN: [&str; 2] = [".ralph/", ".ralph.toml"];

/// A project inside a git repository.
#[derive(Clone, Debug)]
pub struct Git {
    /// The directory the project works in.
    dir: PathBuf,
    /// That directory below the repository's root, with a slash at the end; empty at the root.
    prefix: Vec<u8>,
    /// Further files of Ralph's own, below that directory.
    own: Vec<String>,
    /// Git's own directory. Should it go away, a repository further up is not taken for this one.
    git_dir: PathBuf,
    conduct: Arc<Conduct>,
}

impl Git {
    /// The repository around a directory, if there is one and git is installed.
    pub fn discover(dir: &Path) -> Option<Self> {
        Self::open(dir, GitLimits::default()).ok().flatten()
    }

    /// The same with limits of its own; an error where git cannot be asked without waiting for ever.
    pub fn open(dir: &Path, limits: GitLimits) -> Result<Option<Self>, GitError> {
        let conduct = Arc::new(Conduct::new(limits));
        // Git opens these files to find out whether there is a repository at all.
        let around = std::path::absolute(dir).ok();
        let around = around.and_then(|dir| Repository::around(&dir));
        if let Some(path) = around.as_ref().and_then(regular::irregular) {
            return Err(GitError::NotRegular(path));
        }
        let ask = |what: &str| {
            let call = Call::new(dir, &["rev-parse", what]).under(&conduct);
            match call.run() {
                Ok(mut out) => {
                    // Only the last one is git's: a directory's name may end in one too.
                    if out.last() == Some(&b'\n') {
                        out.pop();
                    }
                    Ok(Some(out))
                }
                Err(error @ (GitError::TimedOut { .. } | GitError::Interrupted)) => Err(error),
                // There is a repository, and git cannot be asked.
                Err(error @ GitError::Spawn(_)) if around.is_some() => Err(error),
                Err(GitError::Refused { .. }) if around.is_some() => {
                    programs::check_config(&conduct, dir).map(|()| None)
                }
                // There is no repository.
                Err(_) => Ok(None),
            }
        };
        let Some(prefix) = ask("--show-prefix")? else {
            return Ok(None);
        };
        let Some(git_dir) = ask("--absolute-git-dir")? else {
            return Ok(None);
        };
        let git = Self {
            dir: dir.to_owned(),
            prefix,
            own: Vec::new(),
            git_dir: paths::on_disk(Path::new("/"), &git_dir),
            conduct,
        };
        if let Ok(places) = git.places() {
            let repository = Repository::new(places.top, places.git_dir);
            git.conduct.found(repository);
        }
        Ok(Some(git))
    }

    /// Takes note of the programs that git runs by itself: hooks, filters and what fetches. Those that appear later are off
    /// in every call but the one real commit.
    pub fn watch_programs(&self) -> Result<(), GitError> {
        if let Some(repository) = self.conduct.repository() {
            let programs = Programs::at_start(&self.conduct, repository)?;
            *self.conduct.programs() = Some(programs);
        }
        Ok(())
    }

    /// Asks git whether it still works in this repository. Where it does not, that is a fault: git is not called again, and
    /// the run ends.
    pub fn check_repository(&self) -> Result<(), GitError> {
        let places = match self.places() {
            Err(GitError::Gone(path)) => {
                return Err(self.conduct.fail(conduct::GitFault::Gone(path)));
            }
            places => places?,
        };
        let unusable = |why: String| self.conduct.fail(conduct::GitFault::Unusable(why));
        let top = match places.call(&["rev-parse", "--show-toplevel"]).line() {
            Err(GitError::Refused { message, .. }) => return Err(unusable(message)),
            top => top?,
        };
        // Another core.worktree: what git takes for the work tree is none of this project.
        match self.conduct.first_top.get_or_init(|| top.clone()) == &top {
            true => Ok(()),
            false => {
                let top = crate::text::code_line(&top, 300);
                Err(unusable(format!(
                    "its working tree is now {top}; check core.worktree"
                )))
            }
        }
    }

    /// What changed in git's configuration, hooks and attributes since this was last asked.
    pub fn program_changes(&self) -> Result<Vec<String>, GitError> {
        self.conduct.check()?;
        match self.conduct.programs().as_mut() {
            None => Ok(Vec::new()),
            Some(programs) => programs.changes(&self.conduct),
        }
    }

    /// Why git is not called any more: a call did not end, or one would not have.
    pub fn fault(&self) -> Option<GitError> {
        self.conduct.fault().map(conduct::GitFault::error)
    }

    /// A call of git in the project's directory that only reads.
    fn call(&self, args: &[&str]) -> Call {
        Call::new(&self.dir, args).under(&self.conduct)
    }

    /// Leaves further files out of what attempts changed: Ralph writes them too.
    #[must_use]
    pub fn without(mut self, own: Vec<String>) -> Self {
        self.own = own;
        self
    }

    /// The branch, or the commit where there is none; read from git's own file, for a process would take longer than all the
    /// rest.
    pub fn branch(&self) -> Option<String> {
        let head = head_of(&self.git_dir)?;
        // Where references are in a table, the file says nothing.
        if head != ".invalid" {
            return Some(head);
        }
        let branch = self.places().ok()?.branch().ok()?;
        let name = |full: String| full.strip_prefix("refs/heads/").map(str::to_owned);
        branch.and_then(name)
    }

    /// The branch HEAD is on; none off every branch.
    pub fn on_branch(&self) -> Option<String> {
        let branch = self.branch()?;
        let is_commit = branch.len() >= 40 && branch.bytes().all(|b| b.is_ascii_hexdigit());
        (!is_commit).then_some(branch)
    }

    /// What somebody has begun with git and not finished: nothing can be committed or rolled back then.
    pub fn unfinished(&self) -> Result<Option<Unfinished>, GitError> {
        Ok(unfinished::find(&self.places()?.git_dir))
    }

    /// Git's places, if nothing is unfinished there.
    fn settled_places(&self) -> Result<Places, GitError> {
        let places = self.places()?;
        match unfinished::find(&places.git_dir) {
            None => Ok(places),
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

    /// A path of the project from the repository's root.
    fn rooted(&self, path: &[u8]) -> paths::RepoPath {
        [self.prefix.as_slice(), path].concat()
    }

    /// A path from the repository's root as the project's people know it.
    fn display(&self, path: &[u8]) -> String {
        match path.strip_prefix(self.prefix.as_slice()) {
            Some(inside) => paths::shown(inside),
            // As git itself writes paths from the root.
            None => format!(":/{}", paths::shown(path)),
        }
    }
}

fn head_of(git_dir: &Path) -> Option<String> {
    let head = regular::read(&git_dir.join("HEAD"), HEAD_BYTES).ok()?;
    let head = String::from_utf8_lossy(&head);
    let line = head.lines().next()?.trim();
    let name = line.strip_prefix("ref: refs/heads/").unwrap_or(line);
    Some(crate::text::one_line(name, 200))
}
