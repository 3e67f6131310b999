//! The store, and what only SQLite has: opening the file (WAL, foreign keys on), waiting for its locks, and its errors.

pub(super) mod learning_index;
mod migrate;
mod rescue;

use std::cell::Cell;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{ErrorCode, OpenFlags};

#[cfg(test)]
pub(super) use migrate::STEPS;

pub use rescue::{Rescued, has_wal, newest_copy, rescued, rescued_since, restore_command, wal_path};

use super::connection::{Connection, Writes};
use super::sql::{Changes, Params, Statements};
use super::{Result, StoreError};
use crate::files::private;

/// Pages in the write-ahead log before it is folded into the file. Larger than SQLite's own 1000, because an attempt
/// writes the same few pages again and again.
const WAL_PAGES: u32 = 4000;
/// Memory for pages, negative as SQLite wants it for KiB: while a plan is imported, and else.
const IMPORT_CACHE_KIB: i64 = -65_536;
const USUAL_CACHE_KIB: i64 = -2000;
/// How long commands wait that only read.
const READ_ONLY_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a heartbeat waits: an agent's output must not wait for a lock.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_millis(200);
/// The longest pause between two attempts to take a lock.
const LONGEST_NAP: Duration = Duration::from_millis(50);
/// How often a read begins anew because its connection to a server broke; each time the server is sought first.
const MOST_READS: u32 = 10;
/// SQLite's shared memory grows by so much at once; with less room, nothing can be opened.
const LEAST_ROOM: u64 = 64 * 1024;

/// What a commit must survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// A crash of Ralph. Losing it to a power cut does no harm: a claim is simply taken again.
    Process,
    /// A power cut: one fsync.
    Power,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    Refuse,
    Create,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitCause {
    /// Another process has locked what is to be written.
    Lock,
    /// The connection to a server is lost.
    Connection,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockWait {
    pub cause: WaitCause,
    pub waited: Duration,
    /// Whether this is the first call about this wait.
    pub is_first: bool,
}

/// How long a connection waits for a lock, and who is told.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Shorter waits are normal and reported to nobody.
    pub tell_after: Duration,
    pub give_up_after: Duration,
    /// Called again and again during a long wait; `false` ends the wait.
    pub on_wait: fn(LockWait) -> bool,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            tell_after: Duration::from_secs(2),
            // Long enough for a backup or a slow disk. A process that holds a lock for longer hangs.
            give_up_after: Duration::from_secs(600),
            on_wait: |_| true,
        }
    }
}

impl Patience {
    /// SQLite calls this as long as a lock is taken, with the number of calls so far; `true` means: try again.
    fn handler(self) -> impl FnMut(i32) -> bool + Send + 'static {
        let (mut since, mut told) = (Instant::now(), false);
        move |calls| {
            if calls == 0 {
                (since, told) = (Instant::now(), false);
            }
            let waited = since.elapsed();
            if waited >= self.give_up_after {
                return false;
            }
            if waited >= self.tell_after {
                let is_first = !std::mem::replace(&mut told, true);
                if !(self.on_wait)(LockWait { cause: WaitCause::Lock, waited, is_first }) {
                    return false;
                }
            }
            // Short at first, because most locks are held for a millisecond.
            let nap = Duration::from_millis(u64::try_from(calls).unwrap_or(0) + 1);
            std::thread::sleep(nap.min(LONGEST_NAP).min(self.give_up_after - waited));
            true
        }
    }
}

#[derive(Debug)]
pub struct Store {
    /// Reached by [`Self::conn`] alone.
    unchecked: Connection,
    shared_memory: rescue::SharedMemory,
    /// The file; the address of a server, without the password.
    path: PathBuf,
    /// The files that were opened; somebody may delete or replace them meanwhile. None of a server.
    opened: Vec<rescue::Opened>,
    log_seen: Cell<rescue::LogSeen>,
    patience: Patience,
}

impl Store {
    pub const VERSION: u32 = migrate::KNOWN;

    /// Opens a database that exists, and brings it to the present schema.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, Absent::Refuse, Patience::default())
    }

    /// Opens a database, and makes it where there is none.
    pub fn create(path: &Path) -> Result<Self> {
        Self::open_with(path, Absent::Create, Patience::default())
    }

    pub fn open_with(path: &Path, absent: Absent, patience: Patience) -> Result<Self> {
        let not_writable =
            |error: std::io::Error| StoreError::NotWritable { path: path.to_owned(), why: error.to_string() };
        match absent {
            Absent::Create => private::make_file(path).map_err(not_writable)?,
            Absent::Refuse if exists(path).map_err(not_writable)? => {}
            Absent::Refuse => {
                let path = path.to_owned();
                return Err(StoreError::Missing { path });
            }
        }
        private::tighten(path);
        rescue::refuse_irregular(path)?;
        migrate::refuse_newer(path)?;
        let mut store = Self::connect(path, patience)?;
        // Should the version turn out to be newer, even a log that waits beside the file must stay where it is.
        store.fold_wal_on_close(false)?;
        migrate::run(&mut store)?;
        // Another program, or an older Ralph, may have written learnings.
        if store.read(learning_index::is_behind)? {
            store.write(Durability::Process, learning_index::sync)?;
        }
        store.fold_wal_on_close(true)?;
        // After the first query, which makes the files beside the database.
        store.opened = rescue::opened(path);
        Ok(store)
    }

    /// A second connection to a database that this process has open. Only SQLite itself opens the file: closing it in
    /// any other way would drop all locks that this process has on it.
    pub fn open_again(path: &Path) -> Result<Self> {
        rescue::refuse_irregular(path)?;
        Self::connect(path, Patience::default())
    }

    /// Opens a file without making, migrating or writing anything. Not even SQLite's files beside it are made: without a
    /// log there is nothing to share with other processes, so none are needed. What tables of a newer schema hold cannot
    /// be asked of an older file.
    pub fn open_read_only(path: &Path) -> Result<Self> {
        rescue::refuse_irregular(path)?;
        migrate::refuse_newer(path)?;
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let conn = rusqlite::Connection::open_with_flags(uri(path), flags)
            .and_then(|conn| conn.busy_timeout(READ_ONLY_TIMEOUT).map(|()| conn))
            .map_err(|error| explain(path, error))?;
        Ok(Self { opened: rescue::opened(path), ..Self::of(conn, path, Patience::default()) })
    }

    fn connect(path: &Path, patience: Patience) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = rusqlite::Connection::open_with_flags(path, flags).map_err(|e| explain(path, e))?;
        let mut store = Self::of(conn, path, patience);
        store.wait_for_locks()?;
        store.sqlite(|conn| {
            conn.set_prepared_statement_cache_capacity(128);
            // Plans do not depend on the values bound: without this, SQLite plans some statements anew at every use.
            conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
            conn.pragma_update(None, "foreign_keys", "ON")?;
            conn.pragma_update(None, "wal_autocheckpoint", WAL_PAGES)?;
            conn.pragma_update(None, "synchronous", "NORMAL")
        })?;
        Ok(store)
    }

    fn of(conn: rusqlite::Connection, path: &Path, patience: Patience) -> Self {
        Self::over(Connection::Sqlite(conn), path, patience)
    }

    pub(super) fn over(conn: Connection, path: &Path, patience: Patience) -> Self {
        let shared_memory = rescue::SharedMemory::of(path);
        Self {
            unchecked: conn,
            shared_memory,
            path: path.to_owned(),
            opened: Vec::new(),
            log_seen: Cell::default(),
            patience,
        }
    }

    pub(super) fn conn(&self) -> &Connection {
        self.shared_memory.restore_length();
        &self.unchecked
    }

    /// Runs what only SQLite has; nothing on a server.
    fn sqlite(&self, run: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<()>) -> Result<()> {
        let Some(conn) = self.conn().file() else { return Ok(()) };
        run(conn).map_err(|error| explain(&self.path, error))
    }

    /// Where it is: a file, or the address of a server.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is a file that other programs can delete or damage.
    pub fn is_file(&self) -> bool {
        matches!(self.unchecked, Connection::Sqlite(_))
    }

    fn wait_for_locks(&mut self) -> Result<()> {
        let handler = self.patience.handler();
        match &mut self.unchecked {
            Connection::Sqlite(conn) => {
                conn.busy_handler(Some(handler)).map_err(|error| explain(&self.path, error))
            }
            #[cfg(feature = "postgres")]
            Connection::Postgres(_) => Ok(()),
        }
    }

    fn fold_wal_on_close(&self, fold: bool) -> Result<()> {
        self.sqlite(|conn| conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !fold).map(drop))
    }

    pub fn version(&self) -> Result<u32> {
        self.read(migrate::version)
    }

    /// SQLite's own check of the file: `ok`, or what is wrong.
    pub fn integrity(&self) -> Result<String> {
        self.one(self.conn().either("PRAGMA integrity_check", "SELECT 'ok'"), [])
    }

    /// A number that changes when another process has changed anything. On a server it changes with what this one writes,
    /// too, and with other projects there.
    pub fn changes(&self) -> Result<u64> {
        match self.conn() {
            Connection::Sqlite(_) => self.one("PRAGMA data_version", []),
            #[cfg(feature = "postgres")]
            Connection::Postgres(session) => session.changes(),
        }
    }

    /// Asks a server at once for what the caller is about to read with the same calls, the first query of each; their results
    /// are ignored here. Answers are good for a moment and until something is written.
    pub fn read_ahead(&self, reads: impl FnOnce(&Self)) {
        // What goes wrong is met again by the reads themselves.
        let _ = self.conn().read_ahead(|| reads(self));
    }

    /// What to do when the connection to a server is lost, before it is sought again.
    pub fn when_lost(&self, then: Option<Box<dyn FnMut() + Send>>) {
        match self.conn() {
            Connection::Sqlite(_) => drop(then),
            #[cfg(feature = "postgres")]
            Connection::Postgres(session) => session.when_lost(then),
        }
    }

    /// Reads that are not worth a wait for a server that cannot be reached.
    pub fn without_waiting<T>(&self, read: impl FnOnce(&Self) -> T) -> T {
        match self.conn() {
            Connection::Sqlite(_) => read(self),
            #[cfg(feature = "postgres")]
            Connection::Postgres(session) => session.without_waiting(|| read(self)),
        }
    }

    /// Waits for a hint that somebody changed the plan on a server, or for so long. `None` where nobody gives hints.
    pub fn wait_for_hint(&self, at_most: Duration) -> Option<bool> {
        match self.conn() {
            Connection::Sqlite(_) => {
                let _ = at_most;
                None
            }
            #[cfg(feature = "postgres")]
            Connection::Postgres(session) => Some(session.wait_for_hint(at_most)),
        }
    }

    /// Runs queries, with errors that name the file.
    pub(super) fn read<T, E: Into<StoreError>>(
        &self,
        query: impl FnOnce(&Connection) -> std::result::Result<T, E>,
    ) -> Result<T> {
        query(self.conn()).map_err(|error| explain(&self.path, error))
    }

    /// Runs many small queries as one: they see the same state, and the file is locked once.
    pub(super) fn read_once<T>(&self, mut queries: impl FnMut(&Connection) -> Result<T>) -> Result<T> {
        self.read(|conn| {
            if conn.is_in_transaction() {
                // Within [`Self::snapshot`].
                return queries(conn);
            }
            let mut read = || conn.snapshot(|| queries(conn), StoreError::from);
            let mut result = read();
            // What was read from a connection that broke is read again, all of it.
            for _ in 0..MOST_READS {
                match &result {
                    Err(error) if error.is_connection_lost() => result = read(),
                    _ => break,
                }
            }
            result
        })
    }

    /// All that is read within sees the same state. Nothing can be written meanwhile.
    pub fn snapshot<T, E: From<StoreError>>(
        &self,
        read: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        self.conn().snapshot(read, |error| explain(&self.path, error))
    }

    /// Runs one write transaction; nothing of it stays if it fails. `change` is called again where the connection to a server
    /// was lost before its work was stored.
    pub(super) fn write<T>(
        &mut self,
        durability: Durability,
        change: impl FnMut(&Connection) -> Result<T>,
    ) -> Result<T> {
        self.write_rows(Writes::Plan, durability, change)
    }

    pub(super) fn write_rows<T>(
        &mut self,
        rows: Writes,
        durability: Durability,
        mut change: impl FnMut(&Connection) -> Result<T>,
    ) -> Result<T> {
        let conn = self.conn();
        match conn {
            #[cfg(feature = "postgres")]
            Connection::Postgres(session) => {
                return session.write(rows, durability, &self.patience, || change(conn));
            }
            // SQLite always locks the whole file.
            Connection::Sqlite(_) => {
                let _ = rows;
            }
        }
        if durability == Durability::Power {
            self.sqlite(|conn| conn.pragma_update(None, "synchronous", "FULL"))?;
        }
        let result = conn.write(&mut change).map_err(|error| explain(&self.path, error));
        if durability == Durability::Power {
            self.sqlite(|conn| conn.pragma_update(None, "synchronous", "NORMAL"))?;
        }
        result
    }

    /// A write that is one statement. Returns how many rows it changed.
    pub(super) fn changed(
        &mut self,
        durability: Durability,
        sql: &str,
        params: impl Params + Clone,
    ) -> Result<usize> {
        self.write(durability, |tx| tx.changed(sql, params.clone()))
    }

    pub(super) fn change(
        &mut self,
        durability: Durability,
        sql: &str,
        params: impl Params + Clone,
    ) -> Result<()> {
        self.changed(durability, sql, params).map(drop)
    }

    /// A write that is not worth a wait for a lock.
    pub(super) fn write_soon(&mut self, change: impl FnMut(&Connection) -> Result<()>) -> Result<()> {
        self.sqlite(|conn| conn.busy_timeout(HEARTBEAT_TIMEOUT))?;
        let usual = self.patience;
        self.patience.give_up_after = HEARTBEAT_TIMEOUT;
        let written = self.write_rows(Writes::Claims, Durability::Process, change);
        self.patience = usual;
        self.wait_for_locks()?;
        written
    }

    /// A write of many rows: they fit into memory; written piece by piece, pages would be written several times over. So does
    /// what each statement needs to be undone, which SQLite would else write to a file, a page for each page that it changes.
    pub(super) fn write_many<T>(&mut self, change: impl FnMut(&Connection) -> Result<T>) -> Result<T> {
        let set = |conn: &rusqlite::Connection, cache: i64, temp: &str| {
            conn.pragma_update(None, "cache_size", cache)?;
            conn.pragma_update(None, "temp_store", temp)
        };
        self.sqlite(|conn| set(conn, IMPORT_CACHE_KIB, "MEMORY"))?;
        let written = self.write(Durability::Power, change);
        self.sqlite(|conn| set(conn, USUAL_CACHE_KIB, "DEFAULT"))?;
        written
    }
}

impl Statements for Store {
    fn connection(&self) -> &Connection {
        self.conn()
    }

    fn explain(&self, error: rusqlite::Error) -> StoreError {
        explain(&self.path, error)
    }
}

/// Whether there is a database. A file without content is what a process leaves that died while it made one.
fn exists(path: &Path) -> std::io::Result<bool> {
    match std::fs::metadata(path) {
        // SQLite would wait for ever for a pipe, or fail with an error that says nothing. The caller refuses it.
        Ok(meta) => Ok(meta.len() > 0 || !meta.is_file()),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The path as SQLite takes it, every unusual byte escaped.
fn uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    if !has_wal(path) {
        uri.push_str("?immutable=1");
    }
    uri
}

/// Gives SQLite's errors the meaning they have for a user.
fn explain(path: &Path, error: impl Into<StoreError>) -> StoreError {
    let source = match error.into() {
        StoreError::Engine { source, .. } => source,
        known => return known,
    };
    let path = path.to_owned();
    let why = source.to_string();
    match source.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::DiskFull { path },
        // SQLite reports differently when the files beside the database cannot be made or grow.
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) if is_disk_full(&path) => {
            StoreError::DiskFull { path }
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            StoreError::NotWritable { path, why }
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => StoreError::Damaged { path, why },
        Some(ErrorCode::DatabaseBusy | ErrorCode::FileLockingProtocolFailed) => StoreError::Locked { path },
        _ => StoreError::Engine { path, source },
    }
}

/// Whether the file system a file is on has no room left: no bytes, or no more files.
fn is_disk_full(path: &Path) -> bool {
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    rustix::fs::statvfs(dir).is_ok_and(|room| {
        // Some file systems do not count files.
        let no_more_files = room.f_files > 0 && room.f_favail == 0;
        room.f_bavail.saturating_mul(room.f_frsize) < LEAST_ROOM || no_more_files
    })
}
