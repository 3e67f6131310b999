//! The SQLite store: one file, WAL, foreign keys on. The only opener of the database.

mod agents_md;
mod breaker;
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
mod plan;
mod plan_changes;
mod room;
mod rows;
mod runs;
mod sources;
mod stats;
mod status;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Transaction, TransactionBehavior};

pub use look::{has_log, log_path};

use super::{Result, StoreError};

/// How long a writer waits for another one. Transactions are short, so this is only met when a machine stalls.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

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

/// A project's database.
#[derive(Debug)]
pub struct SqliteStore {
    conn: Connection,
    path: PathBuf,
}

impl SqliteStore {
    /// Opens the file, makes it where it is missing, and brings it to the present schema.
    pub fn open(path: &Path) -> Result<Self> {
        migrate::refuse_newer(path)?;
        let conn = Connection::open(path).map_err(|e| translate(path, e))?;
        let mut store = Self {
            conn,
            path: path.to_owned(),
        };
        store.prepare().map_err(|e| translate(path, e))?;
        // Should the version turn out to be newer, even a log that waits beside the file must stay where it is.
        store
            .fold_log_on_close(false)
            .map_err(|e| translate(path, e))?;
        migrate::run(&mut store)?;
        store.index_learnings()?;
        store
            .fold_log_on_close(true)
            .map_err(|e| translate(path, e))?;
        Ok(store)
    }

    fn prepare(&mut self) -> rusqlite::Result<()> {
        self.conn.busy_timeout(BUSY_TIMEOUT)?;
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
        _ => StoreError::Engine {
            path,
            source: error,
        },
    }
}

#[cfg(test)]
mod tests;
