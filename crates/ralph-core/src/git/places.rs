//! Where a repository keeps things, and the lock of its index.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::call::Call;
use super::conduct::{CallKind, Conduct};
use super::{Git, GitError};
use crate::files::{Limit, Links, open, read_all};

/// How long somebody else's lock on the index is waited for.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);
const NAP: Duration = Duration::from_millis(20);

/// The directories of a repository.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// The root of the work tree, without links in it.
    pub(super) top: PathBuf,
    /// Git's own directory; that of the work tree, where there are several.
    pub(super) git_dir: PathBuf,
    pub(super) conduct: Arc<Conduct>,
}

/// An index as it was on the disk.
#[derive(Clone)]
pub(super) struct IndexFile {
    pub(super) bytes: Vec<u8>,
    /// Goes with the bytes: by it git sees which entries could have changed unnoticed since.
    pub(super) modified: SystemTime,
}

impl std::fmt::Debug for IndexFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "IndexFile({} bytes)", self.bytes.len())
    }
}

impl IndexFile {
    /// Reads one, if it is there.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, GitError> {
        let read = || -> std::io::Result<Self> {
            let file = open(path, Links::Follow)?;
            let modified = file.metadata()?.modified()?;
            let bytes = read_all(file, Limit::GIT_INDEX)?;
            Ok(Self { bytes, modified })
        };
        match read() {
            Ok(index) => Ok(Some(index)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(GitError::file(path, error)),
        }
    }
}

impl Git {
    /// Where git keeps things, if it still does.
    pub(super) fn places(&self) -> Result<Places, GitError> {
        self.conduct.check()?;
        let git_dir = self.git_dir.clone();
        if git_dir.join("HEAD").symlink_metadata().is_err() {
            return Err(GitError::Gone(git_dir));
        }
        let depth = self.prefix.iter().filter(|b| **b == b'/').count();
        let dir = fs::canonicalize(&self.dir).map_err(|error| GitError::file(&self.dir, error))?;
        let top = dir.ancestors().nth(depth).unwrap_or(&dir).to_owned();
        let conduct = Arc::clone(&self.conduct);
        Ok(Places {
            top,
            git_dir,
            conduct,
        })
    }
}

impl Places {
    /// A call of git at the root of the work tree that only reads.
    pub(super) fn call(&self, args: &[&str]) -> Call {
        Call::new(&self.top, args).under(&self.conduct)
    }

    /// A call of git that writes.
    pub(super) fn change(&self, args: &[&str]) -> Call {
        self.call(args).kind(CallKind::Change)
    }

    /// A directory for what is only of use for a moment; beside git's own files, where a rename is enough.
    pub(super) fn scratch(&self) -> Result<tempfile::TempDir, GitError> {
        let made = tempfile::Builder::new()
            .prefix("ralph-")
            .tempdir_in(&self.git_dir);
        made.map_err(|error| GitError::file(&self.git_dir, error))
    }

    /// The branch HEAD is on, by its full name; none on none.
    pub(super) fn branch(&self) -> Result<Option<String>, GitError> {
        let output = self.call(&["symbolic-ref", "-q", "HEAD"]).output()?;
        let name = String::from_utf8_lossy(&output.stdout);
        let name = name.trim_end();
        Ok((output.success() && !name.is_empty()).then(|| name.to_owned()))
    }

    pub(super) fn index(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    pub(super) fn lock_path(&self) -> PathBuf {
        self.git_dir.join("index.lock")
    }

    /// The repository's index; none before anything was added.
    pub(super) fn read_index(&self) -> Result<Option<IndexFile>, GitError> {
        IndexFile::read(&self.index())
    }

    /// Waits until nobody holds the index; not for ever, for its holder may have died.
    pub(super) fn wait_for_index(&self) -> Result<(), GitError> {
        self.wait_for(&self.lock_path())
    }

    /// The same for any lock of git's.
    pub(super) fn wait_for(&self, lock: &Path) -> Result<(), GitError> {
        let asked = Instant::now();
        while lock.exists() {
            if asked.elapsed() >= LOCK_PATIENCE {
                return Err(GitError::Locked(lock.to_owned()));
            }
            std::thread::sleep(NAP);
        }
        Ok(())
    }

    /// Takes the index's lock the way git does.
    pub(super) fn lock_index(&self) -> Result<IndexLock, GitError> {
        let path = self.lock_path();
        let asked = Instant::now();
        loop {
            match File::create_new(&path) {
                Ok(_) => return Ok(IndexLock(path)),
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(GitError::file(path, error));
                }
                Err(_) if asked.elapsed() >= LOCK_PATIENCE => return Err(GitError::Locked(path)),
                Err(_) => std::thread::sleep(NAP),
            }
        }
    }

    /// Puts an index into the place of the repository's; none removes it.
    pub(super) fn install_index(&self, new: Option<&Path>) -> Result<(), GitError> {
        let _lock = self.lock_index()?;
        let index = self.index();
        let done = match new {
            Some(new) => {
                if let Ok(known) = fs::metadata(&index) {
                    let _ = fs::set_permissions(new, known.permissions());
                }
                fs::rename(new, &index)
            }
            None => match fs::remove_file(&index) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                done => done,
            },
        };
        done.map_err(|error| GitError::file(index, error))
    }
}

/// The index's lock, until it is dropped.
pub(super) struct IndexLock(PathBuf);

impl Drop for IndexLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
