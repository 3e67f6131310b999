//! The directory in which confined processes have their temporary files, and copies of files that they may not change.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::policy::Policy;
use crate::files::{Links, create_anew, open};

const PREFIX: &str = "ralph-box-";

#[derive(Debug)]
pub(super) struct WorkDir {
    dir: TempDir,
}

impl WorkDir {
    /// Makes one, and removes those whose makers are dead.
    pub(super) fn make() -> io::Result<Self> {
        let above = fs::canonicalize(std::env::temp_dir())?;
        remove_dead(&above);
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let dir = tempfile::Builder::new().prefix(&prefix).tempdir_in(above)?;
        let temporary = dir.path().join("tmp");
        fs::create_dir(&temporary)?;
        // As such directories are: a process as root may start others as somebody else.
        fs::set_permissions(&temporary, fs::Permissions::from_mode(0o1777))?;
        fs::create_dir(dir.path().join("copies"))?;
        Ok(Self { dir })
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
            let copy = self.copies().join(n.to_string());
            let _ = fs::remove_file(&copy);
            let mut from = open(path, Links::Follow)?;
            let mode = from.metadata()?.permissions();
            let mut to = create_anew(&copy)?;
            io::copy(&mut from, &mut to)?;
            to.set_permissions(mode)?;
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

fn remove_dead(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok());
        let is_dead = pid
            .and_then(rustix::process::Pid::from_raw)
            .is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH));
        if is_dead {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
