//! Files that people and other programs read: replaced as a whole, never in part.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};

/// Between two looks at a lock.
const NAP: Duration = Duration::from_millis(2);

/// Replaces a file by a temporary one beside it, which is on the disk before it takes the name.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = beside(path, bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// A temporary file with this in it, on the disk, with the permissions of the one it is to replace.
fn beside(path: &Path, bytes: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".ralph-")
        .tempfile_in(dir)?;
    file.write_all(bytes)?;
    // Set, not asked for: what is asked for goes through the mask.
    file.as_file().set_permissions(permissions(path))?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Replaces a file and gives what was in it at that very moment, nothing if there was none. Whoever wrote it since it was
/// read is not overwritten unseen.
pub fn swap(path: &Path, bytes: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let file = beside(path, bytes)?;
    match renameat_with(CWD, file.path(), CWD, path, RenameFlags::EXCHANGE) {
        // The temporary name now holds what was there, and goes with it.
        Ok(()) => std::fs::read(file.path()).map(Some),
        Err(rustix::io::Errno::NOENT) => match file.persist_noclobber(path) {
            Ok(_) => Ok(None),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                // Somebody made it a moment ago.
                drop(error.file);
                swap(path, bytes)
            }
            Err(error) => Err(error.error),
        },
        // File systems that cannot exchange names: the window is small.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            let before = std::fs::read(path)?;
            file.persist(path).map_err(|error| error.error)?;
            Ok(Some(before))
        }
        Err(error) => Err(error.into()),
    }
}

/// Those of the file that is replaced, else what a new file gets.
fn permissions(path: &Path) -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).map_or_else(
        |_| std::fs::Permissions::from_mode(0o644),
        |known| known.permissions(),
    )
}

/// A lock between processes, held until it is dropped; also when its holder dies.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits until nobody else holds it, but no longer than this.
    pub fn within(path: &Path, most: Duration) -> io::Result<Self> {
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)?;
        let mut waited = Duration::ZERO;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _file: file }),
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) if waited < most => {}
                Err(error) => return Err(error.into()),
            }
            std::thread::sleep(NAP);
            waited += NAP;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_01_a_file_is_replaced_whole_and_leaves_nothing_behind() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("STATE.md");
        write_whole(&path, b"one").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o664)).unwrap();
        write_whole(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o664);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn file_01_a_swap_gives_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("AGENTS.md");
        assert_eq!(swap(&path, b"one").unwrap(), None);
        assert_eq!(swap(&path, b"two").unwrap(), Some(b"one".to_vec()));
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_lock_keeps_others_out_until_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let lock = Lock::within(&path, Duration::ZERO).unwrap();
        assert!(Lock::within(&path, Duration::ZERO).is_err());
        let file = File::options().write(true).open(&path).unwrap();
        assert!(flock(&file, FlockOperation::NonBlockingLockExclusive).is_err());
        drop(lock);
        assert!(flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok());
    }
}
