//! Files that people and other programs read: replaced as a whole, never in part.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, OFlags, flock};

mod in_place;
mod merge;
mod open;
pub mod private;
mod swap;

pub use in_place::{InPlace, tick_in_place};
pub use merge::merge;
pub use open::{Limit, Links, RealPaths, Refused, open, read, read_text, resolve};
pub(crate) use open::{create_anew, open_as, read_all, refuse_irregular};
pub use swap::{Cleared, Swap, recover, unguessable};

const NAP: Duration = Duration::from_millis(2);

/// How the names of files begin that are being written.
const UNFINISHED: &str = ".ralph-new.";

/// Whether a path is that of a file on its way to take another's place.
#[must_use]
pub fn is_temporary(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.starts_with(UNFINISHED) || name.starts_with(swap::WAITING)
}

/// Replaces a file by a temporary one beside it, which is on the disk before it takes the name.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = beside(path, bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// A temporary file with this in it, on the disk, with the permissions of the one it is to replace.
fn beside(path: &Path, bytes: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = match std::fs::metadata(path) {
        Ok(known) => {
            let file = temporary_in(dir)?;
            // Set, because modes given at creation go through the umask.
            file.as_file().set_permissions(known.permissions())?;
            file
        }
        // A new file gets what the umask leaves, as from any other program.
        Err(_) => temporary().permissions(std::fs::Permissions::from_mode(0o666)).tempfile_in(dir)?,
    };
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// A file that is recognised as ours while it is on its way to take another's place.
pub(crate) fn temporary_in(dir: &Path) -> io::Result<tempfile::NamedTempFile> {
    temporary().tempfile_in(dir)
}

fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix());
    builder
}

fn prefix() -> &'static str {
    static PREFIX: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    PREFIX.get_or_init(|| format!("{UNFINISHED}{}.", std::process::id()))
}

/// What a text looks like, in a few characters.
#[must_use]
pub fn digest(text: &str) -> String {
    format!("{:016x}", fnv(text.as_bytes()))
}

/// FNV-1a: the same on every machine and in every version, as what is stored or shown must be.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The same for large texts: eight bytes at a time.
#[must_use]
pub fn quick_digest(text: &str) -> String {
    format!("{:016x}", swap::mark(text.as_bytes()))
}

/// Enough to see that a file is another one: when it was written, and how long it is; none where there is none.
pub type Stamp = Option<(SystemTime, u64)>;

#[must_use]
pub fn stamp(path: &Path) -> Stamp {
    let meta = std::fs::metadata(path).ok()?;
    // The time of the last change, which no program can set: an agent can give a file any time of modification.
    let seconds = u64::try_from(meta.ctime()).ok()?;
    let nanos = u32::try_from(meta.ctime_nsec()).ok()?;
    Some((SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos), meta.len()))
}

/// A lock between processes, held until it is dropped; also when its holder dies.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits until nobody else holds it, but no longer than this.
    pub fn within(path: &Path, most: Duration) -> io::Result<Self> {
        let file = open_lock(path)?;
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

/// Opens the file of a lock, which must be this user's: any process that can open it can hold it forever. What is not is replaced,
/// which the owner of the directory may do.
fn open_lock(path: &Path) -> io::Result<File> {
    let opened = open_own(path);
    match opened {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            std::fs::remove_file(path)?;
            open_own(path)
        }
        opened => opened,
    }
}

/// Opens a private file of this user or of root, and makes it where there is none. A link at the end of the path is refused:
/// it may lead to a file of somebody else. The directory was resolved before.
fn open_own(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::MetadataExt;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW;
    let file = open_as(path, Links::Follow, flags)?;
    let meta = file.metadata()?;
    let is_own = meta.uid() == 0 || meta.uid() == rustix::process::geteuid().as_raw();
    if !is_own {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
    }
    private::tighten(path);
    Ok(file)
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
    fn a_new_file_gets_the_mode_the_umask_leaves() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let plain = dir.path().join("plain");
        std::fs::write(&plain, "x").unwrap();
        let path = dir.path().join("AGENTS.md");
        write_whole(&path, b"one").unwrap();
        let mode = |path| std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&plain));
    }

    #[test]
    fn a_lock_of_another_user_or_a_pipe_in_its_place_stalls_nobody() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        assert!(Lock::within(&path, Duration::ZERO).is_err());
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), &path).unwrap();
        assert!(Lock::within(&path, Duration::ZERO).is_err());
        std::fs::remove_file(&path).unwrap();

        let theirs = File::create(&path).unwrap();
        flock(&theirs, FlockOperation::NonBlockingLockExclusive).unwrap();
        if std::os::unix::fs::chown(&path, Some(65534), None).is_err() {
            return; // Only root can play the other user.
        }
        let _lock = Lock::within(&path, Duration::ZERO).unwrap();
        let meta = path.metadata().unwrap();
        assert_ne!(meta.uid(), 65534);
        assert_eq!(meta.permissions().mode() & 0o777, 0o600);
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
