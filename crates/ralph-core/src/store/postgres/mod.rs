//! A project on a PostgreSQL server: one schema of a database, reached by one connection per store.
//!
//! The synchronous client is used because the store is: its few statements per attempt wait for each other anyway.

mod address;
mod dialect;
mod fault;
mod migrate;
mod tls;
mod values;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) use postgres::Row;
use postgres::{Client, SimpleQueryMessage, Statement};
use rusqlite::ToSql;
pub(super) use values::value;

pub use address::ServerAddress;
pub use fault::ServerFault;
use values::Bound;

use super::connection::Writes;
use super::sqlite::{Durability, LockWait, Patience};
use super::{Result, StoreError};
use dialect::Mark;

/// Prepared statements of one connection; queries with many forms must not fill the server's memory.
const MOST_PREPARED: usize = 500;
/// How long a lost connection is sought again before the work goes on without it.
const RECONNECT_FOR: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A connection that is opened again when it is lost.
pub struct Session {
    client: RefCell<Client>,
    address: ServerAddress,
    prepared: RefCell<HashMap<String, Arc<Prepared>>>,
    in_transaction: Cell<bool>,
    /// How long a lost connection is sought again.
    reconnect_for: Cell<Duration>,
}

impl fmt::Debug for Session {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Session({})", self.address)
    }
}

struct Prepared {
    statement: Statement,
    values: Vec<Mark>,
}

impl Session {
    /// Opens a connection to the schema, which need not exist.
    pub fn open(address: &ServerAddress) -> Result<Self> {
        Ok(Self {
            client: RefCell::new(connect(address)?),
            address: address.clone(),
            prepared: RefCell::default(),
            in_transaction: Cell::new(false),
            reconnect_for: Cell::new(RECONNECT_FOR),
        })
    }

    pub fn address(&self) -> &ServerAddress {
        &self.address
    }

    pub fn is_in_transaction(&self) -> bool {
        self.in_transaction.get()
    }

    fn fault(&self, error: &postgres::Error) -> StoreError {
        fault::of(&self.address, error)
    }

    /// Statements without values.
    pub fn batch(&self, sql: &str) -> Result<()> {
        self.client.borrow_mut().batch_execute(sql).map_err(|error| self.fault(&error))
    }

    /// A number that changes with every transaction that wrote. It is asked for again and again, also while an agent works:
    /// a server that is gone is not waited for.
    pub fn changes(&self) -> Result<u64> {
        let sql = "SELECT hashtextextended(pg_current_snapshot()::text, 0)";
        let patience = self.reconnect_for.replace(Duration::ZERO);
        let found = self.query(sql, &[]);
        self.reconnect_for.set(patience);
        let number = found?.first().map_or(0, |row| row.get::<_, i64>(0));
        Ok(number.cast_unsigned())
    }

    pub fn query(&self, sql: &str, values: &[(&str, &dyn ToSql)]) -> Result<Vec<Row>> {
        self.run(sql, values, Client::query)
    }

    pub fn execute(&self, sql: &str, values: &[(&str, &dyn ToSql)]) -> Result<usize> {
        let changed = self.run(sql, values, Client::execute)?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    fn run<T>(
        &self,
        sql: &str,
        values: &[(&str, &dyn ToSql)],
        run: impl Fn(&mut Client, &Statement, &[Param<'_>]) -> std::result::Result<T, postgres::Error>,
    ) -> Result<T> {
        let once = || {
            let prepared = self.prepared(sql)?;
            let bound = prepared.values.iter().map(|mark| bind(mark, values, sql));
            let bound: Vec<Bound<'_>> = bound.collect::<Result<_>>()?;
            let params: Vec<Param<'_>> = bound.iter().map(|value| value as Param<'_>).collect();
            run(&mut self.client.borrow_mut(), &prepared.statement, &params)
                .map_err(|error| self.fault(&error))
        };
        match once() {
            // A statement by itself can be run again; what a transaction did so far is lost with its connection.
            Err(StoreError::Server { fault: ServerFault::Lost, .. }) if !self.is_in_transaction() => {
                self.reconnect(self.reconnect_for.get())?;
                once()
            }
            result => result,
        }
    }

    fn prepared(&self, sql: &str) -> Result<Arc<Prepared>> {
        if let Some(known) = self.prepared.borrow().get(sql) {
            return Ok(Arc::clone(known));
        }
        let translated = dialect::translate(sql);
        let statement =
            self.client.borrow_mut().prepare(&translated.sql).map_err(|error| self.fault(&error))?;
        let prepared = Arc::new(Prepared { statement, values: translated.values });
        let mut all = self.prepared.borrow_mut();
        if all.len() >= MOST_PREPARED {
            all.clear();
        }
        all.insert(sql.to_owned(), Arc::clone(&prepared));
        Ok(prepared)
    }

    /// Runs one transaction that writes; it is run again where the connection was lost before it was stored.
    pub fn write<T>(
        &self,
        rows: Writes,
        durability: Durability,
        patience: &Patience,
        mut change: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        let since = Instant::now();
        loop {
            let transaction = self.begin_write(rows, durability, patience)?;
            let changed = change();
            let is_done = changed.is_ok();
            let mut value = None;
            match self.transact(|| changed.map(|changed| value = Some(changed))) {
                Ok(()) => {}
                Err(StoreError::Server { fault: ServerFault::Lost, server, why }) => {
                    let waited = since.elapsed();
                    if waited >= patience.give_up_after {
                        return Err(StoreError::Server { fault: ServerFault::Lost, server, why });
                    }
                    self.reconnect(patience.give_up_after - waited)?;
                    // Nobody answered the commit; the server knows what became of it.
                    if !(is_done && self.was_committed(&transaction)?) {
                        continue;
                    }
                }
                Err(error) => return Err(error),
            }
            if let Some(value) = value {
                return Ok(value);
            }
        }
    }

    fn was_committed(&self, transaction: &str) -> Result<bool> {
        loop {
            let sql = "SELECT pg_xact_status(CAST(CAST(?1 AS TEXT) AS xid8))";
            let rows = match self.query(sql, &[("", &transaction)]) {
                // A server that crashed may have forgotten the number.
                Err(StoreError::Server { fault: ServerFault::Other, .. }) => return Ok(false),
                rows => rows?,
            };
            match rows.first().and_then(|row| row.try_get::<_, Option<String>>(0).ok().flatten()).as_deref() {
                Some("in progress") => std::thread::sleep(Duration::from_millis(20)),
                status => return Ok(status == Some("committed")),
            }
        }
    }

    /// Begins a transaction that writes, once its lock is free: one for all that may change any row of the project, which
    /// claims share among themselves. Returns its number.
    pub fn begin_write(&self, rows: Writes, durability: Durability, patience: &Patience) -> Result<String> {
        let lock = match rows {
            Writes::Plan => "pg_advisory_xact_lock",
            Writes::Claims => "pg_advisory_xact_lock_shared",
        };
        let commit = match durability {
            Durability::Process => "off",
            Durability::Power => "on",
        };
        let slice = patience.tell_after.min(patience.give_up_after).max(Duration::from_millis(1));
        let begin = format!(
            "BEGIN; SET LOCAL synchronous_commit TO {commit}; SET LOCAL lock_timeout TO {};
             SELECT {lock}({}); SELECT pg_current_xact_id()::text",
            slice.as_millis(),
            self.address.lock(),
        );
        let (since, mut told) = (Instant::now(), false);
        let transaction = loop {
            let begun = self.client.borrow_mut().simple_query(&begin);
            match begun.map_err(|error| self.fault(&error)) {
                Ok(answers) => {
                    let values = answers.iter().rev().find_map(|answer| match answer {
                        SimpleQueryMessage::Row(row) => row.get(0),
                        _ => None,
                    });
                    break values.unwrap_or_default().to_owned();
                }
                Err(StoreError::Server { fault: ServerFault::Lost, .. }) => {
                    self.reconnect(patience.give_up_after)?;
                }
                Err(error @ StoreError::Server { fault: ServerFault::Locked, .. }) => {
                    self.batch("ROLLBACK")?;
                    let waited = since.elapsed();
                    let is_first = !std::mem::replace(&mut told, true);
                    if waited >= patience.give_up_after || !(patience.on_wait)(LockWait { waited, is_first })
                    {
                        return Err(error);
                    }
                }
                Err(error) => {
                    let _ = self.batch("ROLLBACK");
                    return Err(error);
                }
            }
        };
        self.in_transaction.set(true);
        Ok(transaction)
    }

    /// Begins a transaction that only reads, and always the same state.
    pub fn begin_snapshot(&self) -> Result<()> {
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        match self.batch(begin) {
            Err(StoreError::Server { fault: ServerFault::Lost, .. }) => {
                self.reconnect(RECONNECT_FOR)?;
                self.batch(begin)?;
            }
            result => result?,
        }
        self.in_transaction.set(true);
        Ok(())
    }

    /// Ends the transaction that was begun: what was done within stays unless it failed.
    pub fn transact<T, E: From<StoreError>>(
        &self,
        run: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let result = run();
        self.in_transaction.set(false);
        match result {
            Ok(value) => {
                self.batch("COMMIT")?;
                Ok(value)
            }
            Err(error) => {
                // A lost connection has rolled it back.
                let _ = self.batch("ROLLBACK");
                Err(error)
            }
        }
    }

    /// Seeks the server again, with growing pauses.
    fn reconnect(&self, give_up_after: Duration) -> Result<()> {
        let since = Instant::now();
        let mut pause = Duration::from_millis(50);
        loop {
            match connect(&self.address) {
                Ok(client) => {
                    self.prepared.borrow_mut().clear();
                    self.in_transaction.set(false);
                    *self.client.borrow_mut() = client;
                    return Ok(());
                }
                Err(
                    error @ StoreError::Server { fault: ServerFault::Unreachable | ServerFault::Lost, .. },
                ) => {
                    if since.elapsed() + pause > give_up_after {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

type Param<'p> = &'p (dyn postgres::types::ToSql + Sync);

fn bind<'v>(mark: &Mark, values: &'v [(&str, &dyn ToSql)], sql: &str) -> Result<Bound<'v>> {
    let value = match mark {
        Mark::Name(name) => values.iter().find(|(one, _)| one == name),
        Mark::Place(place) => values.get(*place),
    };
    let (_, value) = value.ok_or_else(|| rusqlite::Error::InvalidParameterName(sql.to_owned()))?;
    Ok(Bound(value.to_sql()?))
}

fn connect(address: &ServerAddress) -> Result<Client> {
    let mut client = address.connect()?;
    let set = format!(
        "SET search_path TO {}; SET client_min_messages TO warning; SET jit TO off",
        address.quoted_schema()
    );
    client.batch_execute(&set).map_err(|error| fault::of(address, &error))?;
    Ok(client)
}
