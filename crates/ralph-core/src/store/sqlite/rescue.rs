//! The files behind an open store: whether they are still in place, and a copy of them when they are not.
//!
//! A deleted or renamed file stays usable through the open handle, so nothing is lost as long as the process lives. Files
//! are compared by `stat` only: closing another descriptor of the database would drop the locks SQLite holds on it.

use std::cell::Cell;
use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use tempfile::NamedTempFile;

use super::{Store, explain, migrate};
use crate::files::{self, Links, private};
use crate::model::Timestamp;
use crate::store::sql::{Connection, Statements, ToSqlOutput, ValueRef};
use crate::store::{Result, StoreError};
use crate::text::shell_word;

/// The beginning of every log; one of two bytes that say how its checksums are made follows.
const WAL_MAGIC: [u8; 3] = [0x37, 0x7f, 0x06];
/// Sizes in bytes: the log's header, and that of each page in it.
const WAL_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// The end of a frame's header.
const FRAME_CHECKSUM: usize = 8;
/// How often the log is read that another process begins anew at the same time.
const MOST_READS: u32 = 3;
const MOST_NAMES: u32 = 1000;
/// A younger file may be one that a process has created and not locked yet.
const PARTIAL_AGE: Duration = Duration::from_secs(60);
/// How the names of copies begin that were made of a deleted or replaced database.
const RESCUED: &str = "progress.rescued-";
/// The copy that a run makes from time to time, in case the database is overwritten in place.
const BACKUP: &str = "progress.backup.db";

/// One file of the database as it was when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opened {
    path: PathBuf,
    id: (u64, u64),
}

/// The files that exist now; all of them stay the same files while a connection is open.
pub(super) fn opened(database: &Path) -> Vec<Opened> {
    let files = files(database).into_iter();
    files.filter_map(|path| identity(&path).map(|id| Opened { path, id })).collect()
}

/// Device and inode of a file that holds something; an emptied database is as good as a deleted one.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let meta = std::fs::metadata(path).ok()?;
    let is_log = path.as_os_str().as_bytes().ends_with(b"-wal");
    (meta.is_file() && (meta.len() > 0 || is_log)).then(|| (meta.dev(), meta.ino()))
}

/// The file of SQLite's shared memory, which is an index of the log. It is mapped: to read past the end of one that somebody cut
/// off would end the process.
#[derive(Debug)]
pub(super) struct SharedMemory {
    path: PathBuf,
    opened: Cell<Option<((u64, u64), u64)>>,
}

impl SharedMemory {
    pub(super) fn of(database: &Path) -> Self {
        Self { path: with_ending(database, "-shm"), opened: Cell::new(None) }
    }

    /// Gives a file that was cut off its length again, with zeros alone: SQLite makes the index anew where it finds no header, and
    /// would believe a header without its pages.
    pub(super) fn restore_length(&self) {
        let Ok(meta) = std::fs::metadata(&self.path) else { return };
        let (id, length) = ((meta.dev(), meta.ino()), meta.len());
        match self.opened.get() {
            Some((same, longest)) if same == id && length < longest => {
                if let Ok(file) = files::open_as(&self.path, Links::Follow, OFlags::WRONLY) {
                    if file.metadata().is_ok_and(|meta| (meta.dev(), meta.ino()) == id) {
                        let _ = file.set_len(0).and_then(|()| file.set_len(longest));
                    }
                    // Closing it would drop the locks that SQLite holds on this file.
                    std::mem::forget(file);
                }
            }
            _ => self.opened.set(Some((id, length))),
        }
    }
}

/// The database and SQLite's files beside it.
fn files(database: &Path) -> [PathBuf; 3] {
    [database.to_owned(), with_ending(database, "-wal"), with_ending(database, "-shm")]
}

/// Refuses a pipe, device or directory in the place of the database, and these and links in the place of the files that
/// SQLite opens beside it: a pipe would hang it.
pub(super) fn refuse_irregular(database: &Path) -> Result<()> {
    if database.metadata().is_ok_and(|meta| !meta.is_file()) {
        let why = "it is not a regular file".to_owned();
        return Err(StoreError::Damaged { path: database.to_owned(), why });
    }
    for ending in ["-wal", "-shm", "-journal"] {
        let path = with_ending(database, ending);
        files::refuse_irregular(&path)
            .map_err(|error| StoreError::NotWritable { path, why: error.to_string() })?;
    }
    Ok(())
}

pub(super) fn with_ending(database: &Path, ending: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// The write-ahead log: where SQLite keeps what is not yet in the file itself.
pub fn wal_path(database: &Path) -> PathBuf {
    with_ending(database, "-wal")
}

/// Whether anything waits in the log. An empty one is what a full disk leaves.
pub fn has_wal(database: &Path) -> bool {
    std::fs::metadata(wal_path(database)).is_ok_and(|log| log.len() > 0)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescued {
    pub path: PathBuf,
    /// A shell command that puts it back in its place.
    pub restore: String,
}

impl Store {
    /// Fails unless the files that were opened are still the ones at their paths, with a log that holds what was written to it.
    pub fn check_in_place(&self) -> Result<()> {
        if !self.is_file() {
            return Ok(());
        }
        let path = self.path.clone();
        let is_same = |file: &Opened| identity(&file.path) == Some(file.id);
        let has_database = self.opened.iter().any(|file| file.path == path);
        if !(has_database && self.opened.iter().all(is_same)) {
            return Err(StoreError::Vanished { path });
        }
        if is_log_whole(&wal_path(&path), &self.log_seen) {
            return Ok(());
        }
        // Folded into the database, the holes would overwrite good pages.
        let _ = self.fold_wal_on_close(false);
        let _ = self.sqlite(|conn| conn.pragma_update(None, "wal_autocheckpoint", 0));
        Err(StoreError::Overwritten { path })
    }

    /// The same, and reads everything through another connection: this one remembers pages that are no longer in the file.
    pub fn check_all(&self) -> Result<()> {
        self.check_in_place()?;
        if !self.is_file() {
            return Ok(());
        }
        let said: Result<String> =
            Self::open_again(&self.path).and_then(|other| other.one("PRAGMA quick_check(1)", []));
        match said {
            Ok(said) if said != "ok" => Err(StoreError::Overwritten { path: self.path.clone() }),
            Err(StoreError::Damaged { path, .. }) => Err(StoreError::Overwritten { path }),
            // That it cannot be read now does not mean that it is damaged.
            _ => Ok(()),
        }
    }

    /// Replaces the backup by a copy of the present database. One that cannot be read whole makes none, so that the backup of
    /// before stays.
    pub fn back_up(&self) -> Result<()> {
        if !self.is_file() {
            return Ok(());
        }
        let dir = self.path.parent().unwrap_or(Path::new("."));
        let backup = dir.join(BACKUP);
        // Not synchronized to the disk: the database itself survives a power cut.
        let partial = write_copy(self.conn(), dir)?;
        let persisted = partial.persist(&backup);
        persisted.map_err(|error| not_writable(&backup, &error.error))?;
        Ok(())
    }

    /// Saves everything into a new file beside the old place, also when the old file is gone.
    pub fn rescue(&self, now: Timestamp) -> Result<Rescued> {
        let dir = self.path.parent().unwrap_or(Path::new("."));
        let inside = usable(dir).and_then(|()| self.copy_as(dir, RESCUED, now));
        // Somebody may have put a file or a link in the directory's place.
        let path = match (inside, dir.parent()) {
            (Err(_), Some(root)) => self.copy_as(root, &beside(RESCUED), now)?,
            (inside, _) => inside?,
        };
        let restore = restore_command(&path, &self.path, now);
        Ok(Rescued { path, restore })
    }

    fn copy_as(&self, dir: &Path, prefix: &str, now: Timestamp) -> Result<PathBuf> {
        let time = stamp(now);
        let first = std::iter::once(format!("{prefix}{time}.db"));
        let more = (2..=MOST_NAMES).map(|n| format!("{prefix}{time}-{n}.db"));
        let copied = copy(self.conn(), dir, first.chain(more).map(OsString::from))?;
        copied.ok_or_else(|| StoreError::NotWritable {
            path: dir.to_owned(),
            why: "too many copies exist".to_owned(),
        })
    }
}

/// How far the log was seen whole.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LogSeen {
    header: [u8; WAL_HEADER],
    last_frame: u64,
}

/// Whether the log begins as SQLite began it and has no hole. One that somebody emptied or cut off has a hole as soon as more is
/// written to it: the next process that opens the database finds nothing of what the hole held and of what follows.
fn is_log_whole(log: &Path, seen: &Cell<LogSeen>) -> bool {
    // SQLite holds no locks on this file, so another descriptor of it does no harm.
    let Ok(file) = files::open(log, Links::Follow) else {
        return true;
    };
    for _ in 0..MOST_READS {
        // An empty one was folded into the database; it gets its header with what is written next.
        let Some(header) = bytes_at::<WAL_HEADER>(&file, 0) else {
            return true;
        };
        if !header.starts_with(&WAL_MAGIC) {
            return false;
        }
        if !has_hole(&file, &header, seen) {
            return true;
        }
        // Another process may have begun the log anew meanwhile.
        if bytes_at(&file, 0) == Some(header) {
            return false;
        }
    }
    true
}

/// Whether a frame is missing before one that is there. Each holds the salts of the log's header; those of an earlier round, which
/// follow, hold others, and a hole holds zeros. What was seen whole is not read again: a hole that came since reaches to where
/// SQLite wrote next, so it holds the last frame that was seen, or begins behind it.
fn has_hole(log: &File, header: &[u8; WAL_HEADER], seen: &Cell<LogSeen>) -> bool {
    let (page, salts) = (header.get(8..12), header.get(16..24));
    let page = page.and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes);
    let frame = u64::from(page) + FRAME_HEADER as u64;
    let mut is_missing = false;
    let before = Some(seen.get()).filter(|seen| seen.header == *header);
    let mut at = before.map_or(WAL_HEADER as u64, |seen| seen.last_frame);
    while let Some(found) = bytes_at::<FRAME_HEADER>(log, at) {
        match (found.get(8..16) == salts, found.ends_with(&[0; FRAME_CHECKSUM])) {
            (true, _) if is_missing => return true,
            (true, _) => seen.set(LogSeen { header: *header, last_frame: at }),
            (false, true) => is_missing = true,
            (false, false) if is_missing => {}
            (false, false) => return false,
        }
        at += frame;
    }
    false
}

fn bytes_at<const N: usize>(file: &File, at: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact_at(&mut bytes, at).ok().map(|()| bytes)
}

/// The copies of vanished databases beside this path or beside its directory, oldest first.
pub fn rescued(database: &Path) -> Vec<PathBuf> {
    let dir = database.parent().unwrap_or(Path::new("."));
    let copies = |dir: &Path, prefix: &str| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let is_copy = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy());
            name.is_some_and(|name| name.starts_with(prefix) && name.ends_with(".db"))
        };
        entries.map(|entry| entry.path()).filter(is_copy).collect()
    };
    let mut found = copies(dir, RESCUED);
    if let Some(root) = dir.parent() {
        found.extend(copies(root, &beside(RESCUED)));
    }
    found.sort_by_key(|path| path.metadata().and_then(|meta| meta.modified()).ok());
    found
}

/// The newest copy of the database: what was rescued of it, or the backup that runs make.
pub fn newest_copy(database: &Path) -> Option<PathBuf> {
    let modified = |path: &PathBuf| path.metadata().and_then(|meta| meta.modified()).ok();
    let backup = database.with_file_name(BACKUP);
    let has_backup = backup.metadata().is_ok_and(|meta| meta.is_file() && meta.len() > 0);
    let copies = rescued(database).into_iter().chain(has_backup.then_some(backup));
    copies.max_by_key(modified)
}

/// A copy that was saved after the present database was made: this database is not the one that was lost.
pub fn rescued_since(database: &Path) -> Option<PathBuf> {
    let born = |path: &Path| path.metadata().and_then(|meta| meta.created()).ok();
    let made = born(database)?;
    rescued(database).into_iter().rfind(|copy| born(copy).is_some_and(|saved| saved > made))
}

/// How a name begins in the project's root that would be in `.ralph` if that were a directory.
fn beside(prefix: &str) -> String {
    format!(".ralph-{prefix}")
}

/// The shell command that puts a copy in the place of the database. What is there is moved away first: SQLite would apply
/// the log of another database to the copy.
pub fn restore_command(copy: &Path, database: &Path, now: Timestamp) -> String {
    let word = |path: &Path| shell_word(&path.display().to_string());
    let dir = database.parent().unwrap_or(Path::new("."));
    let put_back = format!("mv -n {} {}", word(copy), word(database));
    let put_back = match dir.symlink_metadata() {
        // Ralph refuses a directory in which everybody may write.
        Ok(meta) if meta.is_dir() && meta.mode() & 0o077 != 0 => {
            format!("chmod 700 {} && {put_back}", word(dir))
        }
        Ok(meta) if meta.is_dir() => put_back,
        Ok(_) => {
            let replaced = format!("{}-{}", beside("replaced"), stamp(now));
            let replaced = word(&dir.with_file_name(replaced));
            let dir = word(dir);
            return format!("mv -n {dir} {replaced} && mkdir -m 700 {dir} && {put_back}");
        }
        Err(_) => return format!("mkdir -m 700 {} && {put_back}", word(dir)),
    };
    let leftover = files(database);
    if !leftover.iter().any(|path| path.symlink_metadata().is_ok()) {
        return put_back;
    }
    let aside = word(&dir.join(format!("replaced-{}", stamp(now))));
    let leftover = leftover.map(|path| word(&path)).join(" ");
    // Some of these may not exist, or go when the last process closes them.
    format!("mkdir -p {aside}; mv {leftover} {aside} 2>/dev/null; {put_back}")
}

/// The time as part of a file's name: `20261118T004500`.
fn stamp(now: Timestamp) -> String {
    let text = now.to_string();
    let seconds = text.get(..19).unwrap_or(&text);
    seconds.chars().filter(|c| !"-:".contains(*c)).collect()
}

/// Makes the directory again where it is gone. A link is refused: it may lead anywhere.
fn usable(dir: &Path) -> Result<()> {
    let refused = |why: String| StoreError::NotWritable { path: dir.to_owned(), why };
    match dir.symlink_metadata() {
        Ok(meta) if meta.is_dir() => Ok(()),
        Ok(_) => Err(refused("it is not a directory".to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            private::make_dir(dir).map_err(|error| refused(error.to_string()))
        }
        Err(error) => Err(refused(error.to_string())),
    }
}

/// Copies the database as the connection sees it, under the first name that is free; `None` if none is. The copy gets its
/// name when it is complete and on the disk.
pub(super) fn copy(
    conn: &Connection,
    dir: &Path,
    names: impl Iterator<Item = OsString>,
) -> Result<Option<PathBuf>> {
    let mut partial = write_copy(conn, dir)?;
    partial.as_file().sync_all().map_err(|error| not_writable(dir, &error))?;
    for name in names {
        let path = dir.join(name);
        match partial.persist_noclobber(&path) {
            Ok(_) => return Ok(Some(path)),
            Err(taken) if taken.error.kind() == ErrorKind::AlreadyExists => partial = taken.file,
            Err(error) => return Err(not_writable(dir, &error.error)),
        }
    }
    Ok(None)
}

/// A copy that has no name yet.
fn write_copy(conn: &Connection, dir: &Path) -> Result<NamedTempFile> {
    let Some(file) = conn.file() else {
        let why = "only SQLite's files are copied".to_owned();
        return Err(StoreError::NotWritable { path: dir.to_owned(), why });
    };
    let source = Path::new(file.path().unwrap_or_default());
    // An emptied file is a database too, for SQLite.
    if migrate::version(conn)? == 0 {
        return Err(StoreError::Damaged { path: source.to_owned(), why: "it is empty".to_owned() });
    }
    remove_partial_copies(dir);
    // SQLite fills an empty file as it makes a new one.
    let partial = NamedTempFile::new_in(dir).map_err(|error| not_writable(dir, &error))?;
    // A partial copy that nobody has locked was left by a process that was killed.
    let _ = partial.as_file().try_lock();
    // As bytes: a path need not be Unicode.
    let target = ToSqlOutput::Borrowed(ValueRef::Text(partial.path().as_os_str().as_bytes()));
    file.execute("VACUUM INTO ?1", [target]).map_err(|error| explain(source, error))?;
    Ok(partial)
}

fn not_writable(path: &Path, why: &std::io::Error) -> StoreError {
    StoreError::NotWritable { path: path.to_owned(), why: why.to_string() }
}

/// Deletes what killed processes left of copies; whatever cannot be deleted only takes room.
fn remove_partial_copies(dir: &Path) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    let is_partial = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy());
        let age = path.symlink_metadata().and_then(|meta| meta.modified());
        name.is_some_and(|name| name.starts_with(".tmp"))
            && age.is_ok_and(|at| at.elapsed().is_ok_and(|age| age >= PARTIAL_AGE))
    };
    for path in entries.flatten().map(|entry| entry.path()).filter(is_partial) {
        if files::open(&path, Links::Refuse).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = std::fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    const PAGE: usize = 512;
    const FRAME: usize = FRAME_HEADER + PAGE;

    fn header(salt: u8) -> [u8; WAL_HEADER] {
        let mut header = [salt; WAL_HEADER];
        header[8..12].copy_from_slice(&(PAGE as u32).to_be_bytes());
        header
    }

    fn write_frame(log: &File, at: usize, salt: u8) {
        log.write_all_at(&[salt; FRAME], (WAL_HEADER + at * FRAME) as u64).unwrap();
    }

    #[test]
    fn a_log_that_was_cut_off_has_a_hole_and_frames_of_an_earlier_round_are_none() {
        for cut in [0, 1, FRAME_HEADER / 2, FRAME_HEADER, FRAME, 3 * FRAME, 4 * FRAME + 12] {
            for was_seen in [false, true] {
                let log = tempfile::tempfile().unwrap();
                (0..9).for_each(|at| write_frame(&log, at, 1));
                (0..5).for_each(|at| write_frame(&log, at, 2));
                let seen = Cell::default();
                if was_seen {
                    assert!(!has_hole(&log, &header(2), &seen));
                }
                log.set_len((WAL_HEADER + cut) as u64).unwrap();
                write_frame(&log, 5, 2);
                assert!(has_hole(&log, &header(2), &seen), "{cut} {was_seen}");
            }
        }
        let log = tempfile::tempfile().unwrap();
        (0..9).for_each(|at| write_frame(&log, at, 1));
        let seen = Cell::default();
        for at in 0..9 {
            write_frame(&log, at, 2);
            assert!(!has_hole(&log, &header(2), &seen), "{at}");
        }
    }
}
