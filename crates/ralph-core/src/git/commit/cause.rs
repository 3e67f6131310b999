//! Why a commit failed, where neither a hook nor the work is to blame: no other attempt would do better.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::git::GitError;
use crate::git::places::Places;
use crate::git::readiness::missing_identity;

/// A commit that fits into less than this does not fail for want of room.
const PROBE: usize = 256 * 1024;

/// The error itself, or what in the surroundings caused it. Facts decide, not the words of git, which come in many languages.
pub(super) fn real_cause(places: &Places, error: GitError) -> GitError {
    let is_gits = matches!(
        error,
        GitError::CommitFailed { .. } | GitError::Refused { .. }
    );
    if !is_gits {
        return error;
    }
    match surroundings(places) {
        Ok(()) => error,
        Err(cause) => cause,
    }
}

fn surroundings(places: &Places) -> Result<(), GitError> {
    places.conduct.check()?;
    for dir in [places.git_dir.clone(), objects(places)] {
        can_write(&dir).map_err(|error| GitError::file(&dir, error))?;
    }
    match missing_identity(places)? {
        Some(said) => return Err(GitError::NoIdentity(said)),
        None => places.wait_for_index()?,
    }
    locks(places)
        .iter()
        .try_for_each(|lock| places.wait_for(lock))
}

fn objects(places: &Places) -> PathBuf {
    let shared = places.conduct.repository().map(|known| &known.shared);
    shared.unwrap_or(&places.git_dir).join("objects")
}

/// Locks of references that a commit moves; a git that was killed leaves them behind.
fn locks(places: &Places) -> Vec<PathBuf> {
    let shared = places.conduct.repository().map(|known| &known.shared);
    let shared = shared.unwrap_or(&places.git_dir);
    let mut locks = vec![
        places.git_dir.join("HEAD.lock"),
        shared.join("packed-refs.lock"),
    ];
    if let Ok(Some(branch)) = places.branch() {
        locks.push(shared.join(format!("{branch}.lock")));
    }
    locks
}

fn can_write(dir: &Path) -> std::io::Result<()> {
    let mut file = tempfile::tempfile_in(dir)?;
    file.write_all(&[0; PROBE])
}
