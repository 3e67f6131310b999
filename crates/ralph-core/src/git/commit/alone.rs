//! One commit at a time: between the look at HEAD and the commit nobody else may move it, or their work would be taken out.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use super::CommitWatch;
use crate::agent::Interrupt;
use crate::files::Lock;
use crate::git::GitError;
use crate::git::places::Places;

const NAP: Duration = Duration::from_millis(20);

/// Takes the lock among all runs that commit in one work tree; it is free when its holder dies, too. It is not waited for
/// longer than a commit may take.
pub(super) fn alone(
    places: &Places,
    patience: Duration,
    interrupt: &Interrupt,
    watch: &mut dyn CommitWatch,
) -> Result<Lock, GitError> {
    let path = places.git_dir.join("ralph-committing");
    let asked = Instant::now();
    loop {
        match Lock::within(&path, Duration::ZERO) {
            Ok(lock) => return Ok(lock),
            Err(_) if path.is_symlink() => {
                let error =
                    std::io::Error::other("Ralph's lock file was replaced by a symbolic link");
                return Err(GitError::file(&path, error));
            }
            Err(error) if error.kind() != ErrorKind::WouldBlock => {
                return Err(GitError::file(&path, error));
            }
            Err(_) if interrupt.first().is_some() => return Err(GitError::Interrupted),
            Err(_) if asked.elapsed() >= patience => return Err(GitError::Locked(path)),
            Err(_) => watch.tick(),
        }
        std::thread::sleep(NAP);
    }
}
