//! The directory in which confined processes have their temporary files, and copies of files that they may not change.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use super::policy::Policy;
use crate::files::{Links, create_anew, open};

const PREFIX: &str = "ralph-box-";
const LOCK: &str = "lock";

#[derive(Debug)]
pub(super) struct WorkDir {
    dir: TempDir,
    /// Held as long as it is in use.
    _lock: File,
}

impl WorkDir {
    /// Makes one, and removes those whose makers are dead.
    pub(super) fn make() -> io::Result<Self> {
        let above = std::env::temp_dir();
        let above = fs::canonicalize(&above)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", above.display())))?;
        remove_dead(&above);
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let dir = tempfile::Builder::new().prefix(&prefix).tempdir_in(above)?;
        let new = dir.path().join("new");
        let lock = create_anew(&new)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        // Nobody finds it before it is locked.
        fs::rename(new, dir.path().join(LOCK))?;
        let temporary = dir.path().join("tmp");
        fs::create_dir(&temporary)?;
        // As such directories are: a process as root may start others as somebody else.
        fs::set_permissions(&temporary, fs::Permissions::from_mode(0o1777))?;
        fs::create_dir(dir.path().join("copies"))?;
        Ok(Self { dir, _lock: lock })
    }

    pub(super) fn temporary(&self) -> PathBuf {
        self.dir.path().join("tmp")
    }

    pub(super) fn copies(&self) -> PathBuf {
        self.dir.path().join("copies")
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Makes what a policy says is to be there before the launch.
    pub(super) fn prepare(&self, policy: &Policy) -> io::Result<()> {
        for dir in &policy.make {
            // One that cannot be made is missed by nobody but the program that wants it.
            let _ = fs::create_dir_all(dir);
        }
        for (n, path) in policy.copied.iter().enumerate() {
            let copied = copy(path, &self.copies().join(n.to_string()));
            let with_path = |error: io::Error| {
                io::Error::new(error.kind(), format!("cannot copy {}: {error}", path.display()))
            };
            copied.map_err(with_path)?;
        }
        Ok(())
    }

    /// Empties the directory for temporary files, as far as that can be done.
    pub(super) fn clear(&self) {
        for entry in fs::read_dir(self.temporary()).into_iter().flatten().flatten() {
            let path = entry.path();
            let _ = match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => fs::remove_dir_all(&path),
                false => fs::remove_file(&path),
            };
        }
    }
}

fn copy(path: &Path, copy: &Path) -> io::Result<()> {
    let _ = fs::remove_file(copy);
    let mut from = open(path, Links::Follow)?;
    let mode = from.metadata()?.permissions();
    let mut to = create_anew(copy)?;
    io::copy(&mut from, &mut to)?;
    to.set_permissions(mode)
}

/// By their locks: those of a container that shares this directory have process ids of its own.
fn remove_dead(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let is_of_ralph = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        // One without a lock is being made.
        let is_dead = || {
            let file = open(&entry.path().join(LOCK), Links::Refuse);
            file.is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok())
        };
        if is_of_ralph && is_dead() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_the_dead_are_removed_whatever_their_process_ids_say() {
        let above = tempfile::tempdir().unwrap();
        let place = |name: &str| above.path().join(format!("{PREFIX}{name}"));
        // This machine has no process of such an id; another container may.
        for name in ["4190000-dead", "4190000-living", "4190000-begun"] {
            fs::create_dir(place(name)).unwrap();
        }
        let dead = create_anew(&place("4190000-dead").join(LOCK)).unwrap();
        drop(dead);
        let living = create_anew(&place("4190000-living").join(LOCK)).unwrap();
        flock(&living, FlockOperation::NonBlockingLockExclusive).unwrap();
        remove_dead(above.path());
        let left = ["4190000-dead", "4190000-living", "4190000-begun"].map(|name| place(name).exists());
        assert_eq!(left, [false, true, true]);
    }
}
