//! What killed runs left in git's own directory, and states that were kept for attempts that never ended.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::{Git, GitError};
use crate::model::Timestamp;

/// Scratch of a run that lives, of another project of the repository, is younger.
const SCRATCH_AGE: Duration = Duration::from_secs(600);
/// How long a state that was kept before an attempt can be asked for.
const KEPT_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// Where such states are.
const KEPT: &str = "refs/ralph/kept/";

impl Git {
    /// Removes what killed runs left, when it is old. Nobody else may work in the tree. The states that are still kept, of
    /// those that `is_ours`.
    pub fn tidy(
        &self,
        now: Timestamp,
        is_ours: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<String>, GitError> {
        let places = self.places()?;
        remove_scratch(&places.git_dir, now);
        let mut kept = Vec::new();
        for (reference, made) in self.kept_states()? {
            if !is_ours(&reference) {
                continue;
            }
            match now.since(made) > KEPT_AGE {
                true => drop(places.change(&["update-ref", "-d", &reference]).run()?),
                false => kept.push(reference),
            }
        }
        Ok(kept)
    }

    /// References to states that were kept before attempts which never ended, and when.
    fn kept_states(&self) -> Result<Vec<(String, Timestamp)>, GitError> {
        let format = "--format=%(refname) %(creatordate:unix)";
        let out = self.places()?.call(&["for-each-ref", format, KEPT]).run()?;
        let lines = String::from_utf8_lossy(&out).into_owned();
        let states = lines.lines().filter_map(|line| {
            let (reference, seconds) = line.rsplit_once(' ')?;
            let made = Timestamp::from_secs(seconds.parse().ok()?);
            Some((reference.to_owned(), made))
        });
        Ok(states.collect())
    }
}

/// Directories for a moment that nobody removed; what cannot be removed stays.
fn remove_scratch(git_dir: &Path, now: Timestamp) {
    let Ok(entries) = fs::read_dir(git_dir) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(is_scratch);
        let made = entry.metadata().and_then(|meta| meta.modified()).ok();
        let is_old = made.is_some_and(|made| now.since(made.into()) > SCRATCH_AGE);
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_ours && is_dir && is_old {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// `ralph-` and six letters or digits.
fn is_scratch(name: &str) -> bool {
    let random = name.strip_prefix("ralph-");
    random.is_some_and(|random| {
        random.len() == 6 && random.bytes().all(|b| b.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::Repo;

    #[test]
    fn what_killed_runs_left_goes_when_it_is_old() {
        let repo = Repo::with_first_commit();
        let git = repo.open();
        repo.write("a.txt", "uncommitted\n");
        let kept = git.keep("t-1-001").unwrap();
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
        assert_eq!(git.kept_states().unwrap().len(), 1);
        assert!(git.tidy(later, &|_| true).unwrap().is_empty());
        assert!(git.kept_states().unwrap().is_empty());
    }
}
