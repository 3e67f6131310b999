//! Submodules. Git looks into each by starting itself there, and does what the settings and filters say that it finds: an
//! attempt could make a repository in the working tree whose filters then run outside of its sandbox. So git is told to look
//! into none, and Ralph asks for those that were there at the start of the run and are still led by the same settings.

use std::path::{Path, PathBuf};

use super::call::zero_separated;
use super::index::GITLINK;
use super::paths::{RepoPath, on_disk};
use super::repository::{GIT_ENTRY, Repository, leads_to};
use super::{Git, GitError, Snapshot};
use crate::files::{Stamp, stamp};

/// Files in its directory that name programs, or another directory.
const LEADS: [&str; 3] = ["config", "config.worktree", "commondir"];
/// Git's letters for a submodule, after the one for its commit.
const MODIFIED: u8 = b'M';
const UNTRACKED: u8 = b'U';
const NOTHING: u8 = b'.';

/// A submodule with a working tree, as it was at the start of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Submodule {
    path: RepoPath,
    git_dir: PathBuf,
    identity: (u64, u64),
    settings: [Stamp; LEADS.len()],
}

impl Submodule {
    /// One whose directory git made for it; another repository in the working tree may be anybody's.
    fn find(repository: &Repository, path: RepoPath) -> Option<Self> {
        let git_dir = leads_to(&on_disk(&repository.top, &path).join(GIT_ENTRY))?;
        let git_dir = std::fs::canonicalize(git_dir).ok()?;
        let own = [&repository.git_dir, &repository.shared_dir];
        let own = own.iter().filter_map(|dir| std::fs::canonicalize(dir.join("modules")).ok());
        let found = rustix::fs::stat(&git_dir).ok()?;
        let settings = LEADS.map(|name| stamp(&git_dir.join(name)));
        let is_own = own.into_iter().any(|own| git_dir.starts_with(own));
        is_own.then_some(Self { path, git_dir, identity: (found.st_dev, found.st_ino), settings })
    }
}

impl Repository {
    /// Takes note of the submodules that are there now.
    pub(super) fn watch_submodules(&self) -> Result<(), GitError> {
        let has_some = |dir: &Path| dir.join("modules").is_dir();
        let mut found = Vec::new();
        if has_some(&self.git_dir) || has_some(&self.shared_dir) {
            let out = self.query(&["ls-files", "--stage", "-z"]).run()?;
            let links = zero_separated(&out).filter_map(|line| {
                let rest = line.strip_prefix(GITLINK.as_bytes())?;
                let at = rest.iter().position(|byte| *byte == b'\t')?;
                rest.get(at + 1..).map(<[u8]>::to_vec)
            });
            found = links.filter_map(|path| Submodule::find(self, path)).collect();
        }
        *self.submodules() = found;
        Ok(())
    }

    fn submodules(&self) -> std::sync::MutexGuard<'_, Vec<Submodule>> {
        self.submodules.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// What is uncommitted inside of a submodule: git's letters for modified and for untracked files.
    fn changes_inside(&self, submodule: &Submodule) -> Result<[u8; 2], GitError> {
        if Submodule::find(self, submodule.path.clone()).as_ref() != Some(submodule) {
            // Git itself would be led elsewhere: what is there is not what was.
            return Ok([MODIFIED, NOTHING]);
        }
        let words = ["status", "--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=dirty"];
        let top = on_disk(&self.top, &submodule.path);
        let call = self.query(&words).in_dir(&top).without_hooks().env("GIT_WORK_TREE", top);
        let call = call.env("GIT_DIR", &submodule.git_dir).env("GIT_COMMON_DIR", &submodule.git_dir);
        let status = call.output()?;
        let has = |is_it: fn(u8) -> bool| {
            zero_separated(&status.stdout).filter_map(|record| record.first()).any(|first| is_it(*first))
        };
        let letter = |is_so: bool, letter: u8| if is_so { letter } else { NOTHING };
        Ok([
            letter(!status.success() || has(|first| b"12u".contains(&first)), MODIFIED),
            letter(has(|first| first == b'?'), UNTRACKED),
        ])
    }
}

impl Git {
    /// Adds what is uncommitted inside of submodules, as git would tell it.
    pub(super) fn add_submodules(&self, snapshot: &mut Snapshot) -> Result<(), GitError> {
        let known = self.repository.submodules().clone();
        for submodule in known {
            let Some(path) = self.own_path(&submodule.path) else { continue };
            let inside = self.repository.changes_inside(&submodule)?;
            let known = snapshot.dirty.get_mut(path).and_then(|state| state.submodule.as_mut());
            match known {
                // `SC..`: its commit is another one.
                Some(letters) => letters.splice(2.., inside).for_each(drop),
                None if inside == [NOTHING; 2] => {}
                None => {
                    let letters = [b"S.".as_slice(), &inside].concat();
                    self.add_dirty(snapshot, &submodule.path, b".M", &letters);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::Repo;

    /// A filter in a repository of the working tree that leaves a trace where git runs it.
    fn plant(repo: &Repo, at: &str) {
        let clean = format!("touch {}; cat", repo.path(".git/trace").display());
        repo.git_in(at, &["config", "filter.evil.clean", &clean]);
        repo.write(&format!("{at}/.gitattributes"), "* filter=evil\n");
        repo.write(&format!("{at}/a.txt"), "changed\n");
    }

    fn letters(snapshot: &Snapshot, path: &str) -> Option<String> {
        let state = snapshot.dirty.get(path.as_bytes())?;
        Some(String::from_utf8_lossy(state.submodule.as_ref()?).into_owned())
    }

    #[test]
    fn what_is_uncommitted_in_a_submodule_is_seen_until_other_settings_lead_git_there() {
        let (repo, _library) = Repo::with_submodule();
        let git = repo.open();
        git.watch_programs().unwrap();
        let seen = || letters(&git.snapshot().unwrap(), "sub");
        assert_eq!(seen(), None);
        repo.write("sub/new.txt", "x");
        assert_eq!(seen().as_deref(), Some("S..U"));
        repo.write("sub/a.txt", "x");
        assert_eq!(seen().as_deref(), Some("S.MU"));
        repo.git_in("sub", &["add", "."]);
        repo.git_in("sub", &["commit", "-qm", "inside"]);
        repo.write("sub/a.txt", "y");
        assert_eq!(seen().as_deref(), Some("SCM."));
        plant(&repo, "sub");
        assert_eq!(seen().as_deref(), Some("SCM."));
        assert!(!repo.path(".git/trace").exists());
        assert!(
            repo.git_in("sub", &["status", "--short"]).contains("a.txt") && repo.path(".git/trace").exists()
        );
    }

    #[test]
    fn a_repository_that_an_attempt_made_and_recorded_is_not_looked_into() {
        let repo = Repo::with_first_commit();
        let git = repo.open();
        git.watch_programs().unwrap();
        repo.git(&["init", "-q", "n"]);
        repo.git_in("n", &["commit", "-q", "--allow-empty", "-m", "one"]);
        repo.git(&["add", "n"]);
        plant(&repo, "n");
        for again in [false, true] {
            if again {
                git.watch_programs().unwrap();
            }
            git.snapshot().unwrap();
            git.snapshot_with_ignored().unwrap();
            assert!(!repo.path(".git/trace").exists(), "{again}");
        }
    }
}
