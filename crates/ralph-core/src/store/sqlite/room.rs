//! Whether the disk has room for what SQLite writes.

use std::path::Path;

/// The file that processes share grows by so much at once; with less, nothing can be opened.
const LEAST: u64 = 64 * 1024;

/// Whether the file system a file is on has no room left: no bytes, or no more files.
pub(super) fn is_none(path: &Path) -> bool {
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    rustix::fs::statvfs(dir).is_ok_and(|room| {
        let bytes = room.f_bavail.saturating_mul(room.f_frsize);
        // Some file systems do not count files.
        let files = (room.f_files > 0).then_some(room.f_favail);
        is_too_little(bytes, files)
    })
}

fn is_too_little(bytes: u64, files: Option<u64>) -> bool {
    bytes < LEAST || files == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_room_is_too_few_bytes_or_no_more_files() {
        assert!(is_too_little(0, Some(9)));
        assert!(is_too_little(LEAST - 1, None));
        assert!(is_too_little(u64::MAX, Some(0)));
        assert!(!is_too_little(LEAST, Some(1)));
        assert!(!is_too_little(LEAST, None), "files are not counted");
    }
}
