//! Whether somebody still has a file open for writing.
//!
//! Who opened a file before it was exchanged for another writes into the one that was swapped out. Its text is complete
//! only when nobody can write into it any more.

use std::fs::File;
use std::time::{Duration, Instant};

/// How long those who write are waited for.
const PATIENCE: Duration = Duration::from_millis(200);
const NAP: Duration = Duration::from_millis(1);

/// Waits until nobody has the file open for writing; whether that came true. `file` must be open for reading only.
pub(super) fn are_gone(file: &File) -> bool {
    let asked = Instant::now();
    while has_writer(file) {
        if asked.elapsed() >= PATIENCE {
            return false;
        }
        std::thread::sleep(NAP);
    }
    true
}

/// The kernel grants a read lease only on a file that nobody has open for writing. Where it grants none at all (the file
/// is somebody else's, or the file system has no leases), nobody is taken to write.
#[cfg(target_os = "linux")]
fn has_writer(file: &File) -> bool {
    use std::os::fd::AsRawFd;
    /// From the kernel's <fcntl.h>; the crate does not have it.
    const F_SETSIG: libc::c_int = 10;
    let fd = file.as_raw_fd();
    // SAFETY: fcntl on a descriptor that is open for as long as `file` is borrowed; no memory is handed over.
    unsafe {
        // Should somebody open the file for writing just now, the lease's holder gets a signal, by default one that ends
        // a process; this one is ignored by default.
        if libc::fcntl(fd, F_SETSIG, libc::SIGURG) != 0 {
            return false;
        }
        if libc::fcntl(fd, libc::F_SETLEASE, libc::F_RDLCK) == 0 {
            libc::fcntl(fd, libc::F_SETLEASE, libc::F_UNLCK);
            return false;
        }
    }
    std::io::Error::last_os_error().kind() == std::io::ErrorKind::WouldBlock
}

#[cfg(not(target_os = "linux"))]
fn has_writer(_file: &File) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_writer_is_seen_until_it_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "x").unwrap();
        let reader = File::open(&path).unwrap();
        assert!(!has_writer(&reader));
        let writer = File::options().append(true).open(&path).unwrap();
        assert!(has_writer(&reader));
        assert!(!are_gone(&reader));
        drop(writer);
        assert!(are_gone(&reader));
    }
}
