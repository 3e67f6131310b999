//! Replacing a file that others write too: what is in it at that very moment is given back, and a kill loses none of it.
//!
//! The new text waits under a name that tells what it is to replace and what it is; names are then exchanged. Whoever finds
//! such a name left behind can tell from it whether the exchange was made, and whose text it holds.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::process::{Pid, test_kill_process};

use super::{Stamp, UNFINISHED, beside, merge, stamp, write_whole};

/// How the names of waiting texts begin.
pub(super) const WAITING: &str = ".ralph-swap.";
/// What a text is called that somebody wrote and that no longer fits anywhere.
const SAVED: &str = "ralph-saved";

/// Replaces one file, once or several times over. What others wrote in between stays on the disk until `done`.
#[derive(Debug)]
pub struct Swap<'a> {
    path: &'a Path,
    /// What was swapped out.
    kept: Vec<Kept>,
}

/// A text that was swapped out, as it was when it was read.
#[derive(Debug)]
struct Kept {
    path: PathBuf,
    stamp: Stamp,
    length: usize,
    mark: u64,
}

impl Kept {
    fn new(path: PathBuf, bytes: &[u8]) -> Self {
        Self {
            stamp: stamp(&path),
            path,
            length: bytes.len(),
            mark: mark(bytes),
        }
    }

    /// What somebody wrote into it since, and what it was made from; none where nobody did.
    fn late(&self) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
        if self.stamp.is_some() && self.stamp == stamp(&self.path) {
            return Ok(None);
        }
        let now = std::fs::read(&self.path)?;
        if mark(&now) == self.mark {
            return Ok(None);
        }
        // Mostly somebody appended; whatever else was done, no line of it is lost.
        let before = now
            .get(..self.length)
            .filter(|head| mark(head) == self.mark);
        Ok(Some((before.unwrap_or_default().to_vec(), now)))
    }
}

impl<'a> Swap<'a> {
    /// For the file at this path.
    #[must_use]
    pub fn new(path: &'a Path) -> Self {
        Self {
            path,
            kept: Vec::new(),
        }
    }

    /// Replaces the file and gives what was in it at that very moment, nothing if there was none. Whoever wrote it since it
    /// was read is not overwritten unseen. `expected` is what the caller read.
    pub fn put(&mut self, expected: Option<&[u8]>, bytes: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let file = beside(self.path, bytes)?;
        let Some(expected) = expected else {
            return match file.persist_noclobber(self.path) {
                Ok(_) => Ok(None),
                // Somebody made it a moment ago.
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                    drop(error.file);
                    self.put(Some(&[]), bytes)
                }
                Err(error) => Err(error.error),
            };
        };
        let waiting = self
            .path
            .with_file_name(waiting_name(self.path, expected, bytes));
        file.persist(&waiting).map_err(|error| error.error)?;
        match exchange(&waiting, self.path) {
            Ok(Exchanged::Was(was)) => {
                self.kept.push(Kept::new(waiting, &was));
                Ok(Some(was))
            }
            Ok(Exchanged::Gone) => {
                // The file was deleted a moment ago.
                std::fs::rename(&waiting, self.path)?;
                Ok(None)
            }
            Err(error) => {
                remove(&waiting)?;
                Err(error)
            }
        }
    }

    /// What others wrote is in the file now: the copies can go. Whoever had the file open when it was swapped has written
    /// into a copy, which goes into the file now; gives whether that was so.
    pub fn done(self) -> io::Result<bool> {
        let mut late = false;
        for kept in self.kept {
            if let Some((before, copied)) = kept.late()? {
                let now = std::fs::read(self.path)?;
                write_whole(self.path, &merge(&before, &now, &copied))?;
                late = true;
            }
            remove(&kept.path)?;
        }
        Ok(late)
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

enum Exchanged {
    Was(Vec<u8>),
    Gone,
}

fn exchange(waiting: &Path, path: &Path) -> io::Result<Exchanged> {
    match renameat_with(CWD, waiting, CWD, path, RenameFlags::EXCHANGE) {
        Ok(()) => std::fs::read(waiting).map(Exchanged::Was),
        Err(rustix::io::Errno::NOENT) => Ok(Exchanged::Gone),
        // File systems that cannot exchange names: the window is small.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            let before = std::fs::read(path)?;
            std::fs::rename(waiting, path)?;
            std::fs::write(waiting, &before)?;
            Ok(Exchanged::Was(before))
        }
        Err(error) => Err(error.into()),
    }
}

/// Puts right what a kill in the middle of a swap left behind: a text of somebody's goes back into the file, or where the
/// file was written again since, to a file beside it, which is given. To be called where nobody else swaps this file.
pub fn recover(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut saved = Vec::new();
    let Some(dir) = path.parent() else {
        return Ok(saved);
    };
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(saved),
        entries => entries?,
    };
    for entry in entries {
        let name = entry?.file_name();
        if is_abandoned(&name) {
            remove(&dir.join(&name))?;
        }
        let Some((before, after)) = parse_name(&name, path) else {
            continue;
        };
        let left = dir.join(name);
        let text = std::fs::read(&left)?;
        let ours = mark(&text) == after || mark(&text) == before;
        let now = std::fs::read(path).ok();
        if ours || now.as_ref() == Some(&text) {
            std::fs::remove_file(&left)?;
        } else if now.is_some_and(|now| mark(&now) == after) {
            std::fs::rename(&left, path)?;
        } else {
            let mut name = path.file_name().unwrap_or_default().to_owned();
            name.push(format!(".{SAVED}-{:08x}", mark(&text) as u32));
            let safe = dir.join(name);
            std::fs::rename(&left, &safe)?;
            saved.push(safe);
        }
    }
    Ok(saved)
}

/// Whether it is a file that nobody goes on writing: its writer, whose number is in its name, is dead.
fn is_abandoned(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let writer = name
        .strip_prefix(UNFINISHED)
        .and_then(|rest| rest.split('.').next());
    let writer = writer.and_then(|pid| Pid::from_raw(pid.parse().ok()?));
    writer.is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

fn waiting_name(path: &Path, before: &[u8], after: &[u8]) -> OsString {
    let mut name = OsString::from(WAITING);
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{:016x}.{:016x}", mark(before), mark(after)));
    name
}

/// What a waiting text of this file is to replace, and what it is.
fn parse_name(name: &OsStr, path: &Path) -> Option<(u64, u64)> {
    let rest = name.to_str()?.strip_prefix(WAITING)?;
    let marks = rest.strip_prefix(path.file_name()?.to_str()?)?;
    let (before, after) = marks.strip_prefix('.')?.split_once('.')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    Some((number(before)?, number(after)?))
}

/// Enough to recognise a text by: FNV-1a over words of eight bytes.
pub(super) fn mark(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ bytes.len() as u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(chunk) {
            *to = *from;
        }
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x0100_0000_01b3);
        hash ^= hash >> 29;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Dir(tempfile::TempDir);

    impl Dir {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self) -> PathBuf {
            self.0.path().join("AGENTS.md")
        }

        fn names(&self) -> Vec<String> {
            let entries = std::fs::read_dir(self.0.path()).unwrap();
            let mut names: Vec<String> = entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        }

        /// What is on the disk after a kill: the file, and a text that waited to replace `before` by `after`.
        fn left(&self, file: &[u8], before: &[u8], after: &[u8], waiting: &[u8]) {
            std::fs::write(self.path(), file).unwrap();
            let name = waiting_name(&self.path(), before, after);
            std::fs::write(self.path().with_file_name(name), waiting).unwrap();
        }

        fn text(&self) -> Vec<u8> {
            std::fs::read(self.path()).unwrap()
        }
    }

    #[test]
    fn file_01_a_swap_gives_what_was_there() {
        let dir = Dir::new();
        let path = dir.path();
        let mut swap = Swap::new(&path);
        assert_eq!(swap.put(None, b"one").unwrap(), None);
        assert_eq!(
            swap.put(Some(b"one"), b"two").unwrap(),
            Some(b"one".to_vec())
        );
        // Somebody made it, wrote it or deleted it in between.
        assert_eq!(swap.put(None, b"three").unwrap(), Some(b"two".to_vec()));
        assert_eq!(
            swap.put(Some(b"x"), b"four").unwrap(),
            Some(b"three".to_vec())
        );
        std::fs::remove_file(&path).unwrap();
        assert_eq!(swap.put(Some(b"four"), b"five").unwrap(), None);
        assert_eq!(dir.text(), b"five");
        assert_eq!(
            dir.names().len(),
            4,
            "kept until the end: {:?}",
            dir.names()
        );
        swap.done().unwrap();
        assert_eq!(dir.names(), ["AGENTS.md"]);
    }

    #[test]
    fn agm_16_who_had_the_file_open_is_heard_too() {
        use std::io::Write;
        let dir = Dir::new();
        let path = dir.path();
        std::fs::write(&path, "old\n").unwrap();
        let mut open = std::fs::File::options().append(true).open(&path).unwrap();
        let mut swap = Swap::new(&path);
        swap.put(Some(b"old\n"), b"ours\nold\n").unwrap();
        open.write_all(b"late\n").unwrap();
        assert!(swap.done().unwrap());
        assert_eq!(dir.text(), b"ours\nold\nlate\n");
        assert_eq!(dir.names(), ["AGENTS.md"]);
    }

    #[test]
    fn agm_16_a_kill_before_the_names_were_exchanged_changes_nothing() {
        let dir = Dir::new();
        dir.left(b"old", b"old", b"new", b"new");
        assert_eq!(recover(&dir.path()).unwrap(), Vec::<PathBuf>::new());
        assert_eq!(dir.text(), b"old");
        assert_eq!(dir.names(), ["AGENTS.md"]);
    }

    #[test]
    fn agm_16_a_kill_after_it_leaves_the_new_text() {
        let dir = Dir::new();
        dir.left(b"new", b"old", b"new", b"old");
        recover(&dir.path()).unwrap();
        assert_eq!(dir.text(), b"new");
        assert_eq!(dir.names(), ["AGENTS.md"]);
    }

    #[test]
    fn agm_16_what_somebody_wrote_just_before_a_kill_is_put_back() {
        let dir = Dir::new();
        dir.left(b"new", b"old", b"new", b"by hand");
        recover(&dir.path()).unwrap();
        assert_eq!(dir.text(), b"by hand");
        assert_eq!(dir.names(), ["AGENTS.md"]);
    }

    #[test]
    fn agm_16_two_texts_of_somebodys_are_both_kept() {
        let dir = Dir::new();
        dir.left(b"by hand, later", b"old", b"new", b"by hand");
        let saved = recover(&dir.path()).unwrap();
        assert_eq!(dir.text(), b"by hand, later");
        assert_eq!(std::fs::read(&saved[0]).unwrap(), b"by hand");
        assert_eq!(dir.names().len(), 2);
        assert!(dir.names()[1].starts_with("AGENTS.md.ralph-saved-"));
    }

    #[test]
    fn file_01_what_a_killed_writer_left_unfinished_goes() {
        let dir = Dir::new();
        let own = format!(".ralph-new.{}.abc", std::process::id());
        // No process has this number: it is above the largest there is.
        for name in [".ralph-new.1999999999.abc", ".ralph-new.x", &own] {
            std::fs::write(dir.0.path().join(name), b"").unwrap();
        }
        recover(&dir.path()).unwrap();
        let mut left = [own.as_str(), ".ralph-new.x"];
        left.sort_unstable();
        assert_eq!(dir.names(), left);
    }

    #[test]
    fn other_files_are_left_alone() {
        let dir = Dir::new();
        dir.left(b"old", b"old", b"new", b"new");
        assert_eq!(
            recover(&dir.path().with_file_name("AGENTS")).unwrap().len(),
            0
        );
        assert_eq!(dir.names().len(), 2);
    }
}
