//! The SQLite store: one file, WAL, foreign keys on. The only opener of the database.

mod agents_md;
mod allowance;
mod breaker;
mod busy;
mod capture;
mod change;
mod claims;
mod control;
mod experience;
mod fixes;
mod graph;
mod history;
mod learnings;
mod left_work;
mod logs;
mod look;
mod migrate;
mod names;
mod place;
mod plan;
mod plan_changes;
mod room;
mod rows;
mod runs;
mod safety;
mod sources;
mod stats;
mod status;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

pub use busy::{LockWait, Patience};
pub use look::{has_log, log_path};
pub use place::{rescued, rescued_since, restore_command};

use super::{Result, StoreError};
use crate::files::private;

/// Pages in the log before it is folded into the file. Larger than SQLite's own 1000, because an attempt writes the same
/// few pages again and again.
const WAL_PAGES: u32 = 4000;

/// What a commit must survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durability {
    /// A crash of Ralph. Losing it to a power cut does no harm: a claim is simply taken again.
    Process,
    /// A power cut: one fsync.
    Power,
}

/// What to do where there is no database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// Refuse.
    Refuse,
    /// Make an empty one.
    Create,
}

/// A project's database.
#[derive(Debug)]
pub struct SqliteStore {
    conn: Connection,
    path: PathBuf,
    /// The files that were opened; somebody may delete or replace them meanwhile.
    opened: Vec<place::Opened>,
    brief: busy::Brief,
}

impl SqliteStore {
    /// Opens a database that exists, and brings it to the present schema.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, Absent::Refuse, Patience::default())
    }

    /// Opens a database, and makes it where there is none.
    pub fn create(path: &Path) -> Result<Self> {
        Self::open_with(path, Absent::Create, Patience::default())
    }

    /// Opens a database and brings it to the present schema.
    pub fn open_with(path: &Path, absent: Absent, patience: Patience) -> Result<Self> {
        let not_writable = |error: std::io::Error| StoreError::NotWritable {
            path: path.to_owned(),
            why: error.to_string(),
        };
        match absent {
            Absent::Create => private::make_file(path).map_err(not_writable)?,
            Absent::Refuse if !exists(path).map_err(not_writable)? => {
                return Err(StoreError::Missing {
                    path: path.to_owned(),
                });
            }
            Absent::Refuse => {}
        }
        private::tighten(path);
        migrate::refuse_newer(path)?;
        let mut store = Self::connect(path, patience)?;
        // Should the version turn out to be newer, even a log that waits beside the file must stay where it is.
        store
            .fold_log_on_close(false)
            .map_err(|e| translate(path, e))?;
        migrate::run(&mut store)?;
        store.index_learnings()?;
        store
            .fold_log_on_close(true)
            .map_err(|e| translate(path, e))?;
        // After the first query, which makes the files beside the database.
        store.opened = place::opened(path);
        Ok(store)
    }

    /// A second connection to a database that this process has open. Only SQLite itself opens the file: closing it in
    /// any other way would drop all locks that this process has on it.
    pub fn open_again(path: &Path) -> Result<Self> {
        Self::connect(path, Patience::default())
    }

    fn connect(path: &Path, patience: Patience) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags).map_err(|e| translate(path, e))?;
        let mut store = Self {
            conn,
            path: path.to_owned(),
            opened: Vec::new(),
            brief: busy::Brief::default(),
        };
        store.prepare(patience).map_err(|e| translate(path, e))?;
        Ok(store)
    }

    fn prepare(&mut self, patience: Patience) -> rusqlite::Result<()> {
        let handler = busy::handler(patience, self.brief.clone());
        self.conn.busy_handler(Some(handler))?;
        self.conn.set_prepared_statement_cache_capacity(64);
        // Plans do not depend on the values bound: without this, SQLite plans some statements anew at every use.
        self.conn
            .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        self.conn.pragma_update(None, "foreign_keys", "ON")?;
        self.conn
            .pragma_update(None, "wal_autocheckpoint", WAL_PAGES)?;
        self.conn.pragma_update(None, "synchronous", "NORMAL")
    }

    fn fold_log_on_close(&self, fold: bool) -> rusqlite::Result<()> {
        self.conn
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !fold)
            .map(|_| ())
    }

    /// Indexes learnings that another program wrote, or an older Ralph.
    fn index_learnings(&mut self) -> Result<()> {
        if self.read(learnings::index::is_behind)? {
            self.write(Durability::Process, |tx| Ok(learnings::index::sync(tx)?))?;
        }
        Ok(())
    }

    /// SQLite's own check of the file: `ok`, or what is wrong.
    pub fn integrity(&self) -> Result<String> {
        self.read(|conn| conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)))
    }

    /// Runs a query, with errors that name the file.
    fn read<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        query(&self.conn).map_err(|e| translate(&self.path, e))
    }

    /// Runs many small queries as one: they see the same state, and the file is locked once.
    fn read_once<T>(&self, queries: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        self.read(|conn| {
            let tx = conn.unchecked_transaction()?;
            let value = queries(&tx)?;
            tx.commit()?;
            Ok(value)
        })
    }

    /// Runs one write transaction; nothing of it stays if it fails.
    fn write<T>(
        &mut self,
        durability: Durability,
        change: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, Refusal>,
    ) -> Result<T> {
        let path = &self.path;
        if durability == Durability::Power {
            self.conn
                .pragma_update(None, "synchronous", "FULL")
                .map_err(|e| translate(path, e))?;
        }
        let result = transact(&mut self.conn, change).map_err(|refusal| match refusal {
            Refusal::Domain(error) => *error,
            Refusal::Engine(error) => translate(path, error),
        });
        if durability == Durability::Power {
            self.conn
                .pragma_update(None, "synchronous", "NORMAL")
                .map_err(|e| translate(path, e))?;
        }
        result
    }
}

impl SqliteStore {
    fn conn_pragma(&self, name: &str, value: i64) -> Result<()> {
        self.conn
            .pragma_update(None, name, value)
            .map_err(|error| translate(&self.path, error))
    }
}

/// Whether there is a database. A file without content is what a process leaves that died while it made one.
fn exists(path: &Path) -> std::io::Result<bool> {
    match std::fs::metadata(path) {
        Ok(meta) => Ok(meta.len() > 0),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

fn transact<T>(
    conn: &mut Connection,
    change: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, Refusal>,
) -> std::result::Result<T, Refusal> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let value = change(&tx)?;
    tx.commit()?;
    Ok(value)
}

/// Why a transaction is rolled back.
enum Refusal {
    /// A rule of the plan.
    Domain(Box<StoreError>),
    /// SQLite.
    Engine(rusqlite::Error),
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Domain(Box::new(error))
    }
}

/// Gives SQLite's errors the meaning they have for a user.
fn translate(path: &Path, error: rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode;
    let path = path.to_owned();
    let why = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::DiskFull { path },
        // What lies beside the file cannot be made or grow: that is told as any other trouble.
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) if room::is_none(&path) => {
            StoreError::DiskFull { path }
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            StoreError::NotWritable { path, why }
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            StoreError::Damaged { path, why }
        }
        Some(ErrorCode::DatabaseBusy) => StoreError::Locked { path },
        _ => StoreError::Engine {
            path,
            source: error,
        },
    }
}

#[cfg(test)]
mod tests;
