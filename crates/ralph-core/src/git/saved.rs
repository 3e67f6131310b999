//! Work saved as commits under `refs/ralph/`, where nothing removes it: what is undone must be found again.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use super::call::INDEX_FILE;
use super::index::Index;
use super::paths::RepoPath;
use super::repository::{Repository, SCRATCH_LOCK};
use super::{Git, GitError};
use crate::files::Lock;
use crate::model::Timestamp;

/// References of one name are numbered; more than this many are a mistake.
const MOST_OF_A_NAME: u32 = 10_000;
/// Where nobody can tell whether a temporary directory is still used, one that is older than this is not.
const SCRATCH_AGE: Duration = Duration::from_secs(600);
/// How long a state that was saved before an attempt is kept after a crash.
const KEPT_AGE: Duration = Duration::from_secs(30 * 24 * 3600);

impl Repository {
    /// A commit of a tree, signed by Ralph and on no branch.
    pub(super) fn commit_tree(
        &self,
        tree: &str,
        parents: &[String],
        message: &str,
    ) -> Result<String, GitError> {
        let mut call = self.change(&["commit-tree", tree]);
        let mut seen = BTreeSet::new();
        for parent in parents {
            if seen.insert(parent) {
                call = call.args(&["-p", parent]);
            }
        }
        call.signed_by_ralph().input(message).line()
    }

    /// Creates a reference to a commit. One that exists is never moved: it may be all that holds somebody's work.
    pub(super) fn save_reference(&self, folder: &str, name: &str, commit: &str) -> Result<String, GitError> {
        let name = format!("refs/ralph/{folder}/{name}");
        let mut reference = name.clone();
        let mut number = 1;
        loop {
            // An empty old value: it must not exist yet.
            match self.change(&["update-ref", &reference, commit, ""]).run() {
                Ok(_) => return Ok(reference),
                Err(error) if number >= MOST_OF_A_NAME || self.commit_at(&reference)?.is_none() => {
                    return Err(error);
                }
                Err(_) => {
                    number += 1;
                    reference = format!("{name}-again{number}");
                }
            }
        }
    }

    /// Removes temporary directories that killed runs left; what cannot be removed stays. Runs of other projects of the
    /// repository may be alive and use theirs.
    pub(super) fn remove_dead_scratch(&self, now: Timestamp) {
        for entry in fs::read_dir(&self.git_dir).into_iter().flatten().flatten() {
            let is_ours = entry.file_name().to_str().is_some_and(is_scratch);
            let Some(meta) = entry.metadata().ok().filter(|meta| is_ours && meta.is_dir()) else { continue };
            let (path, lock) = (entry.path(), entry.path().join(SCRATCH_LOCK));
            // A git that the maker started may go on after it: without its index it would commit that all files are gone.
            let is_unused = match cfg!(target_os = "linux") && lock.exists() {
                true => !is_index_used(&path.join("index")),
                false => meta.modified().is_ok_and(|made| now.since(made.into()) > SCRATCH_AGE),
            };
            let is_free = || !lock.exists() || Lock::within(&lock, Duration::ZERO).is_ok();
            if is_unused && is_free() {
                let _ = fs::remove_dir_all(&path);
            }
        }
    }

    /// References to states that were saved before attempts which never ended, and when.
    fn kept_states(&self) -> Result<Vec<(String, Timestamp)>, GitError> {
        let format = "--format=%(refname) %(creatordate:unix)";
        let out = self.query(&["for-each-ref", format, "refs/ralph/kept/"]).run()?;
        let lines = String::from_utf8_lossy(&out).into_owned();
        let states = lines.lines().filter_map(|line| {
            let (reference, seconds) = line.rsplit_once(' ')?;
            let made = Timestamp::from_secs(seconds.parse().ok()?);
            Some((reference.to_owned(), made))
        });
        Ok(states.collect())
    }
}

impl Git {
    /// Saves what is uncommitted; the working tree stays as it is. The reference, where there is anything.
    pub fn save_work(&self, name: &str, message: &str) -> Result<Option<String>, GitError> {
        let repository = self.repository()?;
        repository.wait_for_index()?;
        let now = self.snapshot()?;
        // What is below a nested git repository is that one's.
        let files = now.dirty.keys().filter(|path| !path.ends_with(b"/"));
        let paths: Vec<RepoPath> = files.map(|path| self.rooted(path)).collect();
        if paths.is_empty() {
            return Ok(None);
        }
        let index = Index::of_tree(repository, now.head())?;
        index.add(&paths)?;
        let parents: Vec<String> = now.head.into_iter().collect();
        let message = clean_message(message);
        let commit = repository.commit_tree(&index.write_tree()?, &parents, &message)?;
        repository.save_reference("rollback", name, &commit).map(Some)
    }

    /// Removes what killed runs left, when it is old. Nobody else may work in the tree. Returns the states that are still
    /// saved, of those that `is_ours`.
    pub fn tidy(&self, now: Timestamp, is_ours: &dyn Fn(&str) -> bool) -> Result<Vec<String>, GitError> {
        let repository = self.repository()?;
        repository.remove_dead_scratch(now);
        let mut kept = Vec::new();
        let states = repository.kept_states()?.into_iter();
        for (reference, made) in states.filter(|(reference, _)| is_ours(reference)) {
            match now.since(made) > KEPT_AGE {
                true => drop(repository.change(&["update-ref", "-d", &reference]).run()?),
                false => kept.push(reference),
            }
        }
        Ok(kept)
    }
}

/// A message that may quote a plan, without control characters and secrets.
pub(super) fn clean_message(message: &str) -> String {
    crate::text::mask_secrets(&crate::text::clean(message)).into_owned()
}

fn is_index_used(index: &Path) -> bool {
    let variable = [OsStr::new(INDEX_FILE), index.as_os_str()].map(OsStr::as_bytes).join(&b'=');
    crate::agent::is_in_an_environment(&variable)
}

/// Whether a name is that of a temporary directory: `ralph-PID-` and six letters or digits; older versions left out the
/// process.
fn is_scratch(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("ralph-") else { return false };
    let (pid, random) = rest.split_once('-').unwrap_or(("", rest));
    pid.bytes().all(|b| b.is_ascii_digit())
        && random.len() == 6
        && random.bytes().all(|b| b.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::Repo;

    #[test]
    fn a_reference_is_never_moved() {
        let repo = Repo::with_first_commit();
        let git = repo.open();
        let save = |name: &str, commit: &str| git.repository().unwrap().save_reference("kept", name, commit);
        let head = repo.head();
        assert_eq!(save("1.3-2", &head).unwrap(), "refs/ralph/kept/1.3-2");
        assert_eq!(save("1.3-2", &head).unwrap(), "refs/ralph/kept/1.3-2-again2");
        let nowhere = save("x", "0123").unwrap_err();
        assert!(matches!(nowhere, GitError::Refused { .. }));
    }

    #[test]
    fn what_is_uncommitted_in_the_middle_of_a_rebase_is_saved() {
        let repo = Repo::with_first_commit();
        let git = repo.open();
        assert_eq!(git.save_work("t-1", "x").unwrap(), None);
        repo.diverge();
        let _ = repo.try_git(&["rebase", "other"]);
        repo.write("a.txt", "both\n");
        repo.write("new.txt", "made\n");
        let reference = git.save_work("t-1", "x").unwrap().unwrap();
        let file = |path: &str| repo.git(&["show", &format!("{reference}:{path}")]);
        assert_eq!((file("a.txt"), file("new.txt")), ("both\n".into(), "made\n".into()));
        assert_eq!(repo.read("a.txt"), "both\n");
    }

    #[test]
    fn what_killed_runs_left_goes_when_it_is_old() {
        let repo = Repo::with_first_commit();
        let git = repo.open();
        repo.write("a.txt", "uncommitted\n");
        let kept = git.keep("t-1-001", None).unwrap();
        let reference = kept.reference().unwrap().to_owned();
        repo.write(".git/ralph-abc123/index", "x");
        repo.write(".git/ralph-notes/mine", "x");
        let now = Timestamp::from(std::time::SystemTime::now());
        let later = now.plus(Duration::from_secs(31 * 24 * 3600));
        assert_eq!(git.tidy(now, &|_| true).unwrap(), [reference]);
        assert!(repo.path(".git/ralph-abc123").exists());
        assert!(git.tidy(later, &|_| false).unwrap().is_empty());
        assert!(!repo.path(".git/ralph-abc123").exists());
        assert!(repo.path(".git/ralph-notes").exists());
        let states = || git.repository().unwrap().kept_states().unwrap().len();
        assert_eq!(states(), 1);
        assert!(git.tidy(later, &|_| true).unwrap().is_empty());
        assert_eq!(states(), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_next_run_removes_temporary_directories_that_nobody_uses() {
        let repo = Repo::with_first_commit();
        let git = repo.open();
        let tidy = || git.tidy(Timestamp::from(std::time::SystemTime::now()), &|_| true).unwrap();
        // No process has the number in these names: it is above the largest there is.
        let live = git.repository().unwrap().scratch().unwrap();
        repo.write(".git/ralph-1999999999-dead01/lock", "");
        repo.write(".git/ralph-1999999999-dead01/index", "x");
        // A git that outlived its run.
        repo.write(".git/ralph-1999999999-used01/lock", "");
        let used = fs::canonicalize(repo.path(".git/ralph-1999999999-used01")).unwrap().join("index");
        let mut git_process = std::process::Command::new("sleep");
        let mut git_process = git_process.arg("1000").env(INDEX_FILE, used).spawn().unwrap();
        tidy();
        assert!(live.path().exists() && repo.path(".git/ralph-1999999999-used01").exists());
        assert!(!repo.path(".git/ralph-1999999999-dead01").exists());
        git_process.kill().unwrap();
        git_process.wait().unwrap();
        drop(live);
        tidy();
        assert_eq!(repo.scratch(), Vec::<String>::new());
    }
}
