//! Ticking boxes in a file that others write too, without replacing the file.
//!
//! A tick is one byte. Written where it is, a reader finds the old or the new one, a kill leaves one of both, and who
//! appends to the file at the same time loses nothing.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::open::{Limit, Links, open_as, read_all};

/// Bytes on each side of a box that must be as they were.
const AROUND: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InPlace {
    Written,
    /// More than boxes differ, or somebody changed what is there: the file has to be exchanged for another.
    NotPossible,
}

/// Makes `new` of `expected` where both differ in boxes (`[ ]`, `[x]`) alone and the file still begins with `expected`. What
/// somebody appended meanwhile stays.
pub fn tick_in_place(path: &Path, expected: &[u8], new: &[u8]) -> io::Result<InPlace> {
    let Some(boxes) = boxes(expected, new) else { return Ok(InPlace::NotPossible) };
    let file = open_as(path, Links::Refuse, OFlags::RDWR)?;
    if !read_all(file.try_clone()?, Limit::TEXT)?.starts_with(expected) {
        return Ok(InPlace::NotPossible);
    }
    let mut written = Vec::new();
    let mut whole = true;
    for at in boxes {
        whole = holds(&file, at, expected)?;
        if !whole {
            break;
        }
        put(&file, at, new)?;
        written.push(at);
    }
    file.sync_data()?;
    // Somebody may have rewritten the file between the look and the tick, or put another in its place.
    for at in &written {
        whole &= holds(&file, *at, new)?;
    }
    if whole && is_at(&file, path) {
        return Ok(InPlace::Written);
    }
    for at in written {
        if holds(&file, at, new)? {
            put(&file, at, expected)?;
        }
    }
    Ok(InPlace::NotPossible)
}

/// Where both differ, if they do in boxes alone.
fn boxes(expected: &[u8], new: &[u8]) -> Option<Vec<usize>> {
    if expected.len() != new.len() {
        return None;
    }
    // Blocks that are equal are compared much faster as a whole.
    const BLOCK: usize = 4096;
    let blocks = expected.chunks(BLOCK).zip(new.chunks(BLOCK)).enumerate();
    let mut all = Vec::new();
    for (block, (before, after)) in blocks.filter(|(_, (before, after))| before != after) {
        let pairs = (block * BLOCK..).zip(before.iter().zip(after));
        all.extend(pairs.filter(|(_, (before, after))| before != after).map(|(at, _)| at));
    }
    (!all.is_empty() && all.iter().all(|at| is_box(expected, *at))).then_some(all)
}

fn is_box(text: &[u8], at: usize) -> bool {
    let around = at.checked_sub(1).and_then(|from| text.get(from..from + 3));
    around.is_some_and(|around| around.first() == Some(&b'[') && around.last() == Some(&b']'))
}

/// Whether the file holds what the text has around a place.
fn holds(file: &File, at: usize, text: &[u8]) -> io::Result<bool> {
    let from = at.saturating_sub(AROUND);
    let wanted = text.get(from..text.len().min(at + AROUND)).unwrap_or_default();
    let mut found = vec![0; wanted.len()];
    match file.read_exact_at(&mut found, from as u64) {
        Ok(()) => Ok(found.get(at - from) == text.get(at)
            && (from..).zip(&found).all(|(n, byte)| {
                // Other boxes nearby may be ticked already or not yet.
                text.get(n) == Some(byte) || is_box(text, n)
            })),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn put(file: &File, at: usize, text: &[u8]) -> io::Result<()> {
    let byte = text.get(at..=at).unwrap_or_default();
    file.write_all_at(byte, at as u64)
}

fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::symlink_metadata(path)) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::PathBuf;

    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("tasks.md");
        std::fs::write(&path, text).unwrap();
        (dir, path)
    }

    const OPEN: &str = "- [ ] 1.1 a\n- [X] 1.2 b\n- [ ] 1.3 c\n";
    const TICKED: &str = "- [x] 1.1 a\n- [ ] 1.2 b\n- [x] 1.3 c\n";

    fn tick(path: &Path, expected: &str, new: &str) -> InPlace {
        tick_in_place(path, expected.as_bytes(), new.as_bytes()).unwrap()
    }

    #[test]
    fn a_tick_changes_bytes_of_the_same_file() {
        let (_dir, path) = file(OPEN);
        let inode = std::fs::metadata(&path).unwrap().ino();
        // Who has it open already and appends later loses nothing.
        let mut person = File::options().append(true).open(&path).unwrap();
        person.write_all(b"Early.\n").unwrap();
        assert_eq!(tick(&path, OPEN, TICKED), InPlace::Written);
        person.write_all(b"Late.\n").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, format!("{TICKED}Early.\nLate.\n"));
        assert_eq!(std::fs::metadata(&path).unwrap().ino(), inode);
    }

    #[test]
    fn what_is_more_than_ticks_or_was_rewritten_is_left_alone() {
        let rewritten = OPEN.replace("1.3 c", "1.3 d");
        for (there, expected, new) in [
            (OPEN, OPEN, OPEN),
            (OPEN, OPEN, "- [x] 1.1 a\n- [ ] 1.2 b\n- [x] 1.3 c\nmore\n"),
            (OPEN, OPEN, "- [ ] 1.1 a\n- [X] 1.2 b\n- [ ] 1.3 d\n"),
            (rewritten.as_str(), OPEN, TICKED),
            ("- [ ]", OPEN, TICKED),
            ("", OPEN, TICKED),
        ] {
            let (_dir, path) = file(there);
            assert_eq!(tick(&path, expected, new), InPlace::NotPossible);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), there);
        }
    }
}
