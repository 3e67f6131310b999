//! Replacing a file that others write too: what is in it at that very moment is given back, and a kill loses none of it.
//!
//! The new text waits under a name that tells what it is to replace and what it is; names are then exchanged. A later
//! run that finds such a name left behind can tell from it whether the exchange was made, and whose text it holds.
//!
//! Who opened the file before the exchange writes into the text that was swapped out, which is therefore kept until nobody
//! has it open for writing.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::process::{Pid, test_kill_process};

use super::merge::{append, merge};
use super::open::{Limit, Links, open, read, read_all};
use super::{UNFINISHED, beside};

/// How the names of waiting texts begin.
pub(super) const WAITING: &str = ".ralph-swap.";
/// What a text is called that somebody wrote and that no longer fits anywhere.
const SAVED: &str = "ralph-saved";
/// How often a file that others keep writing is tried again.
const MOST_ROUNDS: u32 = 20;

/// Replaces one file, once or several times over. What others wrote in between stays on the disk until `done`.
#[derive(Debug)]
pub struct Swap<'a> {
    path: &'a Path,
    kept: Vec<Kept>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleared {
    /// The file holds what was put there.
    Quiet,
    /// Somebody wrote into a swapped-out text; that is in the file now.
    Late,
    /// Somebody still has a swapped-out text open for writing: it stays on the disk until [`recover`] is called again.
    StillOpen,
}

#[derive(Debug)]
struct Kept {
    path: PathBuf,
    /// What of it is in the file already.
    known: Text,
}

/// Enough of a text to recognize it at the beginning of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Text {
    length: usize,
    mark: u64,
}

impl Text {
    fn of(bytes: &[u8]) -> Self {
        Self { length: bytes.len(), mark: mark(bytes) }
    }

    /// The text itself, where another begins with it.
    fn head_of<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        text.get(..self.length).filter(|head| mark(head) == self.mark)
    }
}

impl<'a> Swap<'a> {
    /// For the file at this path, which has no links in it.
    #[must_use]
    pub fn new(path: &'a Path) -> Self {
        Self { path, kept: Vec::new() }
    }

    /// Replaces the file and gives what was in it at that very moment, nothing if there was none. What was written
    /// since it was read is not overwritten unseen. `expected` is what the caller read.
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
        let waiting = self.path.with_file_name(waiting_name(self.path, expected, bytes));
        file.persist_noclobber(&waiting).map_err(|error| error.error)?;
        match exchange(&waiting, self.path) {
            Ok(Exchanged::Was(was)) => {
                self.kept.push(Kept { path: waiting, known: Text::of(&was) });
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

    /// What others wrote is in the file now: the copies can go. A process that had the file open when it was swapped has
    /// written into a copy, which goes into the file now.
    pub fn done(mut self) -> io::Result<Cleared> {
        let mut cleared = Cleared::Quiet;
        let mut rounds = 0;
        // Bringing in what is late may swap out another text.
        while let Some(kept) = self.kept.pop() {
            rounds += 1;
            let Some(now) = quiet_text(&kept.path)?.filter(|_| rounds < MOST_ROUNDS) else {
                cleared = Cleared::StillOpen;
                continue;
            };
            if Text::of(&now) != kept.known {
                // Mostly somebody appended; whatever else was done, no line of it is lost.
                let before = kept.known.head_of(&now).unwrap_or_default();
                self.bring_in(before, &now)?;
                if cleared == Cleared::Quiet {
                    cleared = Cleared::Late;
                }
            }
            remove(&kept.path)?;
        }
        Ok(cleared)
    }

    /// Brings into the file what somebody made of `before` elsewhere.
    fn bring_in(&mut self, before: &[u8], theirs: &[u8]) -> io::Result<()> {
        let now = read(self.path, Links::Refuse, Limit::TEXT)?;
        let merged = match theirs.strip_prefix(before) {
            Some(added) if before.is_empty() || before.ends_with(b"\n") => append(before, &now, added),
            _ => merge(before, &now, theirs),
        };
        if merged == now {
            return Ok(());
        }
        self.put_over(&now, &merged)
    }

    /// Puts a text in the place of one that was read. What somebody wrote in between is late too.
    fn put_over(&mut self, now: &[u8], text: &[u8]) -> io::Result<()> {
        let swapped_out = self.put(Some(now), text)?.is_some();
        if let Some(kept) = self.kept.last_mut().filter(|_| swapped_out) {
            kept.known = Text::of(now);
        }
        Ok(())
    }
}

/// What a swapped-out text holds once nobody can write into it any more; none while somebody can.
fn quiet_text(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = open(path, Links::Refuse)?;
    if !writers_are_gone(&file) {
        return Ok(None);
    }
    read_all(file, Limit::TEXT).map(Some)
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
    let swap = || renameat_with(CWD, waiting, CWD, path, RenameFlags::EXCHANGE);
    match swap() {
        Ok(()) => match read(waiting, Links::Refuse, Limit::TEXT) {
            Ok(was) => Ok(Exchanged::Was(was)),
            Err(error) => {
                // Somebody put something else in the file's place a moment ago. It is theirs.
                swap()?;
                Err(error)
            }
        },
        Err(rustix::io::Errno::NOENT) => Ok(Exchanged::Gone),
        // File systems that cannot exchange names: the window is small.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            let before = read(path, Links::Refuse, Limit::TEXT)?;
            std::fs::rename(waiting, path)?;
            io::Write::write_all(&mut File::create_new(waiting)?, &before)?;
            Ok(Exchanged::Was(before))
        }
        Err(error) => Err(error.into()),
    }
}

/// Fixes what a kill in the middle of a swap left behind: a text of somebody's goes back into the file, or where both were
/// written anew since, to a file beside it, which is given. To be called where nobody else swaps this file.
pub fn recover(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut saved = Vec::new();
    let Some(dir) = path.parent() else { return Ok(saved) };
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(saved),
        entries => entries?,
    };
    let mut left = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        if is_abandoned(&name) {
            remove(&dir.join(&name))?;
        } else if let Some((before, after)) = parse_name(&name, path) {
            left.push((dir.join(name), before, after));
        }
    }
    let mut swap = Swap::new(path);
    for (waiting, before, after) in left {
        let text = match quiet_text(&waiting) {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            // Nothing that Ralph put there.
            Err(_) if !waiting.is_file() => {
                remove(&waiting)?;
                continue;
            }
            Err(error) => return Err(error),
        };
        let ours = mark(&text) == after || Text::of(&text) == before;
        if !ours {
            let now = read(path, Links::Refuse, Limit::TEXT).unwrap_or_default();
            if let Some(head) = before.head_of(&text) {
                // Somebody appended to what was swapped out.
                swap.bring_in(head, &text)?;
            } else if mark(&now) == after {
                swap.put_over(&now, &text)?;
            } else if now != text {
                let mut name = path.file_name().unwrap_or_default().to_owned();
                name.push(format!(".{SAVED}-{:08x}", mark(&text) as u32));
                let safe = dir.join(name);
                std::fs::rename(&waiting, &safe)?;
                saved.push(safe);
                continue;
            }
        }
        remove(&waiting)?;
    }
    swap.done()?;
    Ok(saved)
}

/// Whether it is a file that nobody goes on writing: its writer, whose number is in its name, is dead.
fn is_abandoned(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let writer = name.strip_prefix(UNFINISHED).and_then(|rest| rest.split('.').next());
    let writer = writer.and_then(|pid| Pid::from_raw(pid.parse().ok()?));
    writer.is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

/// A name that nobody can guess: what is replaced, what replaces it, and a number.
fn waiting_name(path: &Path, before: &[u8], after: &[u8]) -> OsString {
    let mut name = OsString::from(WAITING);
    name.push(path.file_name().unwrap_or_default());
    let before = Text::of(before);
    name.push(format!(".{:016x}.{:x}.{:016x}.{}", before.mark, before.length, mark(after), unguessable()));
    name
}

/// Sixteen characters for a name that nobody can guess.
#[must_use]
pub fn unguessable() -> String {
    // Keyed by the system's randomness, anew each time.
    format!("{:016x}", RandomState::new().hash_one(0_u8))
}

/// What a waiting text of this file is to replace, and the mark of what it is.
fn parse_name(name: &OsStr, path: &Path) -> Option<(Text, u64)> {
    let rest = name.to_str()?.strip_prefix(WAITING)?;
    let parts = rest.strip_prefix(path.file_name()?.to_str()?)?;
    let mut parts = parts.strip_prefix('.')?.split('.');
    let mut number = || u64::from_str_radix(parts.next()?, 16).ok();
    let (mark, length, after) = (number()?, number()?, number()?);
    let length = usize::try_from(length).ok()?;
    Some((Text { length, mark }, after))
}

/// Enough to recognize a text by: FNV-1a over words of eight bytes.
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

// Who opened a file before it was exchanged for another writes into the one that was swapped out. Its text is complete
// only when nobody can write into it any more.

/// How long those who write are waited for.
const WRITER_PATIENCE: Duration = Duration::from_millis(200);
const WRITER_NAP: Duration = Duration::from_millis(1);

/// Waits until nobody has the file open for writing; whether that came true. `file` must be open for reading only.
fn writers_are_gone(file: &File) -> bool {
    let asked = Instant::now();
    while has_writer(file) {
        if asked.elapsed() >= WRITER_PATIENCE {
            return false;
        }
        std::thread::sleep(WRITER_NAP);
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

#[cfg(test)]
mod tests {
    use super::*;

    struct Dir(tempfile::TempDir);

    impl Dir {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self) -> PathBuf {
            self.0.path().canonicalize().unwrap().join("AGENTS.md")
        }

        fn names(&self) -> Vec<String> {
            let entries = std::fs::read_dir(self.0.path()).unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
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
        assert_eq!(swap.put(Some(b"one"), b"two").unwrap(), Some(b"one".to_vec()));
        // Somebody made it, wrote it or deleted it in between.
        assert_eq!(swap.put(None, b"three").unwrap(), Some(b"two".to_vec()));
        assert_eq!(swap.put(Some(b"x"), b"four").unwrap(), Some(b"three".to_vec()));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(swap.put(Some(b"four"), b"five").unwrap(), None);
        assert_eq!(dir.text(), b"five");
        assert_eq!(dir.names().len(), 4, "kept until the end: {:?}", dir.names());
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
        drop(open);
        assert_eq!(swap.done().unwrap(), Cleared::Late);
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
    fn what_somebody_appended_before_a_kill_is_brought_in() {
        // Into the file that was swapped out, with or without an append to the one that replaced it.
        for (file, expected) in [
            ("block\nold\n", "block\nold\nlate\n"),
            ("block\nold\nnote\n", "block\nold\nnote\nlate\n"),
            ("block\nold\nlate\n", "block\nold\nlate\n"),
            ("block\nold\nlate\nnote\n", "block\nold\nlate\nnote\n"),
        ] {
            let dir = Dir::new();
            let new = b"block\nold\n";
            dir.left(file.as_bytes(), b"old\n", new, b"old\nlate\n");
            assert_eq!(recover(&dir.path()).unwrap(), Vec::<PathBuf>::new());
            assert_eq!(String::from_utf8(dir.text()).unwrap(), expected);
            assert_eq!(dir.names(), ["AGENTS.md"]);
        }
    }

    #[test]
    fn a_kill_after_two_exchanges_leaves_every_line_once() {
        // Somebody appended before the first exchange; the second brought that in.
        let dir = Dir::new();
        dir.left(b"block\nold\nnote\n", b"old\n", b"block\nold\n", b"old\nnote\n");
        let second = waiting_name(&dir.path(), b"block\nold\n", b"block\nold\nnote\n");
        std::fs::write(dir.path().with_file_name(second), "block\nold\n").unwrap();
        assert_eq!(recover(&dir.path()).unwrap(), Vec::<PathBuf>::new());
        assert_eq!(dir.text(), b"block\nold\nnote\n");
        assert_eq!(dir.names(), ["AGENTS.md"]);
    }

    /// Opens the file, and writes into it only when it was swapped out long ago.
    fn slow_person(path: &Path, wait: std::sync::mpsc::Receiver<()>) -> std::thread::JoinHandle<()> {
        use std::io::Write;
        let mut open = File::options().append(true).open(path).unwrap();
        std::thread::spawn(move || {
            let _ = wait.recv();
            open.write_all(b"slow\n").unwrap();
        })
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn who_opened_the_file_before_and_writes_after_is_waited_for() {
        let dir = Dir::new();
        let path = dir.path();
        std::fs::write(&path, "old\n").unwrap();
        let (go, wait) = std::sync::mpsc::channel();
        let person = slow_person(&path, wait);
        let mut swap = Swap::new(&path);
        swap.put(Some(b"old\n"), b"ours\nold\n").unwrap();
        // Longer than anybody is waited for: the copy stays until the next look.
        assert_eq!(swap.done().unwrap(), Cleared::StillOpen);
        assert_eq!(dir.names().len(), 2);
        recover(&path).unwrap();
        assert_eq!(dir.names().len(), 2);
        go.send(()).unwrap();
        person.join().unwrap();
        recover(&path).unwrap();
        assert_eq!(dir.text(), b"ours\nold\nslow\n");
        assert_eq!(dir.names(), ["AGENTS.md"]);
    }

    #[test]
    fn a_planted_pipe_neither_hangs_nor_stays() {
        use rustix::fs::{FileType, Mode, mknodat};
        let dir = Dir::new();
        std::fs::write(dir.path(), "old").unwrap();
        let name = waiting_name(&dir.path(), b"old", b"new");
        let pipe = dir.path().with_file_name(name);
        mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        recover(&dir.path()).unwrap();
        assert_eq!(dir.names(), ["AGENTS.md"]);
    }

    #[test]
    fn what_took_the_files_place_a_moment_ago_is_put_back() {
        let dir = Dir::new();
        std::fs::create_dir(dir.path()).unwrap();
        let path = dir.path();
        let mut swap = Swap::new(&path);
        assert!(swap.put(Some(b"old"), b"new").is_err());
        assert!(path.is_dir());
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
        assert_eq!(recover(&dir.path().with_file_name("AGENTS")).unwrap().len(), 0);
        assert_eq!(dir.names().len(), 2);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_writer_is_seen_until_it_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "x").unwrap();
        let reader = File::open(&path).unwrap();
        assert!(!has_writer(&reader));
        let writer = File::options().append(true).open(&path).unwrap();
        assert!(has_writer(&reader));
        assert!(!writers_are_gone(&reader));
        drop(writer);
        assert!(writers_are_gone(&reader));
    }
}
