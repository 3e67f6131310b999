//! Room on the disk where Ralph writes: bytes, and files.

use std::path::Path;

use super::finding::{Check, Finding};
use super::mend::word;
use crate::ui::format::bytes;

const LITTLE: u64 = 1_000_000_000;
const TOO_LITTLE: u64 = 50_000_000;
const FEW_FILES: u64 = 10_000;
const TOO_FEW_FILES: u64 = 100;

/// Looks at the file system a path is on.
pub fn finding(path: &Path) -> Finding {
    match rustix::fs::statvfs(path) {
        Ok(room) => {
            let free = room.f_bavail.saturating_mul(room.f_frsize);
            // Some file systems do not count files.
            let files = (room.f_files > 0).then_some(room.f_favail);
            judge(free, files, path)
        }
        Err(error) => {
            let message = format!("cannot read free space: {error}");
            Finding::warning(Check::Disk, message, format!("df {}", word(path)))
        }
    }
}

/// What so many free bytes and files mean.
fn judge(free: u64, files: Option<u64>, path: &Path) -> Finding {
    // How many files there may still be interests nobody while they are many.
    let left = match files.filter(|files| *files < FEW_FILES) {
        Some(files) => format!("{} and {files} files free", bytes(free)),
        None => format!("{} free", bytes(free)),
    };
    let fix = format!(
        "free some space; see usage: df -h {0}; df -i {0}",
        word(path)
    );
    let files = files.unwrap_or(u64::MAX);
    if free < TOO_LITTLE || files < TOO_FEW_FILES {
        Finding::error(Check::Disk, format!("{left}: too little for a run"), fix)
    } else if free < LITTLE || files < FEW_FILES {
        Finding::warning(Check::Disk, format!("{left}: running low"), fix)
    } else {
        Finding::ok(Check::Disk, left)
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[test]
    fn little_is_a_warning_and_too_little_an_error() {
        for (free, files, level) in [
            (1_000_000_000, Some(10_000), Level::Ok),
            (5_000_000_000, None, Level::Ok),
            (999_999_999, None, Level::Warning),
            (50_000_000, Some(10_000), Level::Warning),
            (5_000_000_000, Some(9_999), Level::Warning),
            (49_999_999, None, Level::Error),
            (5_000_000_000, Some(99), Level::Error),
            (0, Some(0), Level::Error),
        ] {
            let finding = judge(free, files, Path::new("/x"));
            assert_eq!(finding.level, level, "{free} {files:?}");
        }
        let finding = judge(12_300_000_000, Some(7), Path::new("/x"));
        assert!(finding.message.starts_with("12.3 GB and 7 files free"));
    }
}
