//! A project on a PostgreSQL server: one schema of a database, reached by one connection per store.
//!
//! The store waits for answers, so each connection has a runtime of its own that runs while something is waited for.
//! Statements whose answers nobody needs go along with the next one that somebody waits for: what an attempt costs on a
//! server is mostly the number of times that it waits.

mod address;
mod ahead;
mod dialect;
mod fault;
mod link;
mod migrate;
mod tls;
mod values;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::ToSql;
use rusqlite::types::Value;
pub(super) use tokio_postgres::Row;
use tokio_postgres::Statement;
pub(super) use values::value;

pub use address::ServerAddress;
use ahead::{Ahead, Read};
pub use fault::ServerFault;
use link::{Answer, Item, Link};
use values::Bound;

use super::connection::Writes;
use super::sqlite::{Durability, LockWait, Patience, WaitCause};
use super::{Result, StoreError};
use dialect::Mark;

/// Prepared statements of one connection; queries with many forms must not fill the server's memory.
const MOST_PREPARED: usize = 500;
/// How long a lost connection is not sought again by what is not worth a wait, after that failed.
const LEFT_ALONE: Duration = Duration::from_secs(2);
/// A shorter patience than this is for what is not worth a wait.
const IMPATIENT: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A connection that is opened again when it is lost.
pub struct Session {
    link: RefCell<Link>,
    address: ServerAddress,
    prepared: RefCell<HashMap<String, Arc<Prepared>>>,
    open: RefCell<Option<Transaction>>,
    /// The number of the transaction that was begun last, once the server gave it one.
    number: RefCell<Option<String>>,
    ahead: RefCell<Ahead>,
    /// How long a lost connection is sought again, and who is told.
    patience: Cell<Patience>,
    /// It was sought in vain for as long as anybody waits: until it is back, nobody waits again.
    is_given_up: Cell<bool>,
    sought: Cell<Option<Instant>>,
    when_lost: RefCell<Option<WhenLost>>,
    listens: Cell<bool>,
}

impl fmt::Debug for Session {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Session({})", self.address)
    }
}

type WhenLost = Box<dyn FnMut() + Send>;

struct Prepared {
    statement: Statement,
    values: Vec<Mark>,
}

/// The transaction under way.
struct Transaction {
    /// How it begins, until that is sent.
    begin: Option<Begin>,
    /// What is sent with the next statement that is waited for.
    queue: Vec<Item>,
    writes: Option<Writes>,
}

struct Begin {
    sql: String,
    patience: Patience,
    since: Instant,
}

impl Session {
    /// Opens a connection to the schema, which need not exist. `within` is how long the server has to answer, where that is
    /// less than usual.
    pub fn open(address: &ServerAddress, within: Option<Duration>) -> Result<Self> {
        // One that breaks at once says nothing about the server.
        let link = match Link::open(address, within) {
            Err(StoreError::Server { fault: ServerFault::Lost, .. }) => Link::open(address, within)?,
            link => link?,
        };
        Ok(Self {
            link: RefCell::new(link),
            address: address.clone(),
            prepared: RefCell::default(),
            open: RefCell::default(),
            number: RefCell::default(),
            ahead: RefCell::default(),
            patience: Cell::new(Patience::default()),
            is_given_up: Cell::new(false),
            sought: Cell::new(None),
            when_lost: RefCell::default(),
            listens: Cell::new(false),
        })
    }

    pub fn address(&self) -> &ServerAddress {
        &self.address
    }

    pub fn set_patience(&self, patience: Patience) {
        self.patience.set(patience);
    }

    pub fn when_lost(&self, then: Option<WhenLost>) {
        *self.when_lost.borrow_mut() = then;
    }

    pub fn without_waiting<T>(&self, run: impl FnOnce() -> T) -> T {
        let usual = self.patience.get();
        self.patience.set(Patience { give_up_after: Duration::ZERO, ..usual });
        let value = run();
        self.patience.set(usual);
        value
    }

    pub fn is_in_transaction(&self) -> bool {
        self.open.borrow().is_some()
    }

    fn fault(&self, error: &tokio_postgres::Error) -> StoreError {
        fault::of(&self.address, error)
    }

    fn send(&self, items: &[Item]) -> Vec<std::result::Result<Answer, tokio_postgres::Error>> {
        self.link.borrow().send(items)
    }

    /// Statements without values.
    pub fn batch(&self, sql: &str) -> Result<()> {
        self.forget_ahead();
        let item = Item::Batch(sql.to_owned());
        if let Some(open) = self.open.borrow_mut().as_mut() {
            open.queue.push(item);
            return Ok(());
        }
        self.now(&item)
    }

    fn now(&self, item: &Item) -> Result<()> {
        let answers = self.send(std::slice::from_ref(item));
        answers.into_iter().try_for_each(|answer| answer.map(drop)).map_err(|error| self.fault(&error))
    }

    /// A number that changes with every transaction that wrote. It is asked for again and again, also while an agent works:
    /// a server that is gone is not waited for.
    pub fn changes(&self) -> Result<u64> {
        let sql = "SELECT hashtextextended(pg_current_snapshot()::text, 0)";
        let found = self.without_waiting(|| self.query(sql, &[]));
        let number = found?.first().map_or(0, |row| row.get::<_, i64>(0));
        Ok(number.cast_unsigned())
    }

    /// Waits until another connection says that it changed the plan, or for so long. Only a hint: it may be lost.
    pub fn wait_for_hint(&self, at_most: Duration) -> bool {
        if !self.listens.get() {
            let sql = format!("LISTEN {}", self.address.quoted_schema());
            self.listens.set(self.now(&Item::Batch(sql)).is_ok());
        }
        self.link.borrow().wait_for_hint(at_most)
    }

    pub fn query(&self, sql: &str, values: &[(&str, &dyn ToSql)]) -> Result<Vec<Row>> {
        if self.ahead.borrow().is_recording() {
            let marks = dialect::translate(sql).values;
            let values = marks.iter().map(|mark| bind(mark, values, sql).map(|bound| bound.0));
            let values = values.collect::<Result<_>>()?;
            self.ahead.borrow_mut().record((sql.to_owned(), values));
            return Err(rusqlite::Error::QueryReturnedNoRows.into());
        }
        if let Some(rows) = self.take_ahead(sql, values)? {
            return Ok(rows);
        }
        match self.run(sql, values, Item::Rows)? {
            Some(Answer::Rows(rows)) => Ok(rows),
            _ => Ok(Vec::new()),
        }
    }

    /// Returns how many rows were changed.
    pub fn execute(&self, sql: &str, values: &[(&str, &dyn ToSql)]) -> Result<usize> {
        self.forget_ahead();
        match self.run(sql, values, Item::Change)? {
            Some(Answer::Changed(rows)) => Ok(usize::try_from(rows).unwrap_or(usize::MAX)),
            _ => Ok(0),
        }
    }

    /// A change whose answer nobody needs. In a transaction it is sent with the next statement; what is wrong with it is told
    /// then.
    pub fn enqueue(&self, sql: &str, values: &[(&str, &dyn ToSql)]) -> Result<()> {
        if !self.is_in_transaction() {
            return self.execute(sql, values).map(drop);
        }
        self.forget_ahead();
        let item = self.item(sql, values, Item::Change)?;
        if let Some(open) = self.open.borrow_mut().as_mut() {
            open.queue.push(item);
        }
        Ok(())
    }

    fn run(
        &self,
        sql: &str,
        values: &[(&str, &dyn ToSql)],
        kind: fn(Statement, Vec<Bound>) -> Item,
    ) -> Result<Option<Answer>> {
        let once = || {
            let item = self.item(sql, values, kind)?;
            Ok(self.flush(vec![item])?.pop())
        };
        let (since, mut told, mut pause) = (Instant::now(), false, Duration::ZERO);
        let patience = self.patience.get();
        loop {
            match once() {
                // A statement by itself can be run again; what a transaction did so far is lost with its connection.
                Err(StoreError::Server { fault: ServerFault::Lost, .. })
                    if !self.is_in_transaction()
                        && (pause.is_zero() || patience.goes_on(WaitCause::Connection, since, &mut told)) =>
                {
                    std::thread::sleep(pause);
                    pause = (pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
                    self.reconnect(&patience, since)?;
                }
                result => return result,
            }
        }
    }

    fn item(
        &self,
        sql: &str,
        values: &[(&str, &dyn ToSql)],
        kind: fn(Statement, Vec<Bound>) -> Item,
    ) -> Result<Item> {
        let prepared = self.prepared(sql)?;
        let bound = prepared.values.iter().map(|mark| bind(mark, values, sql));
        Ok(kind(prepared.statement.clone(), bound.collect::<Result<_>>()?))
    }

    /// Sends what is queued, and these, and waits for all of it. Returns the answers to these. What follows a failure within a
    /// transaction fails, too; the first failure is told.
    fn flush(&self, these: Vec<Item>) -> Result<Vec<Answer>> {
        let (begin, queue) = match self.open.borrow_mut().as_mut() {
            Some(open) => (open.begin.take(), std::mem::take(&mut open.queue)),
            None => (None, Vec::new()),
        };
        let mut items: Vec<Item> = begin.iter().map(|begin| Item::Begin(begin.sql.clone())).collect();
        let skipped = queue.len();
        items.extend(queue);
        items.extend(these);
        if items.is_empty() {
            return Ok(Vec::new());
        }
        let mut told = false;
        loop {
            let mut answers = self.send(&items).into_iter();
            if let Some(begin) = &begin {
                match answers.next() {
                    Some(Ok(Answer::Text(number))) => *self.number.borrow_mut() = number,
                    Some(Err(error)) => match self.fault(&error) {
                        error @ StoreError::Server { fault: ServerFault::Locked, .. } => {
                            self.now(&Item::Batch("ROLLBACK".to_owned()))?;
                            let waited = begin.since.elapsed();
                            let is_first = !std::mem::replace(&mut told, true);
                            let patience = &begin.patience;
                            let goes_on = waited < patience.give_up_after
                                && (patience.on_wait)(LockWait { cause: WaitCause::Lock, waited, is_first });
                            if !goes_on {
                                return Err(error);
                            }
                            continue;
                        }
                        error => return Err(error),
                    },
                    _ => {}
                }
            }
            let all: Vec<Answer> =
                answers.collect::<std::result::Result<_, _>>().map_err(|error| self.fault(&error))?;
            return Ok(all.into_iter().skip(skipped).collect());
        }
    }

    fn prepared(&self, sql: &str) -> Result<Arc<Prepared>> {
        if let Some(known) = self.prepared.borrow().get(sql) {
            return Ok(Arc::clone(known));
        }
        // It may be about what is made by statements that were not sent yet.
        let is_after_batch =
            |open: &Transaction| open.queue.iter().any(|item| matches!(item, Item::Batch(_)));
        if self.open.borrow().as_ref().is_some_and(is_after_batch) {
            self.flush(Vec::new())?;
        }
        self.prepare(&[sql])?;
        let known = self.prepared.borrow().get(sql).map(Arc::clone);
        known.ok_or_else(|| rusqlite::Error::InvalidQuery.into())
    }

    /// Has the server read these statements, all at once.
    fn prepare(&self, statements: &[&str]) -> Result<()> {
        let unknown: Vec<&str> = {
            let known = self.prepared.borrow();
            statements.iter().copied().filter(|sql| !known.contains_key(*sql)).collect()
        };
        if unknown.is_empty() {
            return Ok(());
        }
        let translated: Vec<dialect::Translated> =
            unknown.iter().map(|sql| dialect::translate(sql)).collect();
        let texts: Vec<&str> = translated.iter().map(|one| one.sql.as_str()).collect();
        let answers = self.link.borrow().prepare(&texts);
        let mut all = self.prepared.borrow_mut();
        if all.len() + unknown.len() > MOST_PREPARED {
            all.clear();
        }
        for ((sql, translated), answer) in unknown.into_iter().zip(translated).zip(answers) {
            let statement = answer.map_err(|error| self.fault(&error))?;
            all.insert(sql.to_owned(), Arc::new(Prepared { statement, values: translated.values }));
        }
        Ok(())
    }

    /// Asks at once for what the reads in `reads` are about to ask for: the same reads, if they come next and within a moment,
    /// get those answers, unless this connection changed something in between. Each function's first read is asked for.
    pub fn read_ahead(&self, reads: impl FnOnce()) -> Result<()> {
        self.ahead.borrow_mut().start_recording();
        reads();
        let asked = self.ahead.borrow_mut().stop_recording();
        let statements: Vec<&str> = asked.iter().map(|(sql, _)| sql.as_str()).collect();
        self.prepare(&statements)?;
        let item = |(sql, values): &Read| {
            let prepared = self.prepared(sql)?;
            Ok(Item::Rows(prepared.statement.clone(), values.iter().cloned().map(Bound).collect()))
        };
        let items: Vec<Item> = asked.iter().map(item).collect::<Result<_>>()?;
        let rows = self.flush(items)?.into_iter().map(|answer| match answer {
            Answer::Rows(rows) => rows,
            Answer::Text(_) | Answer::Changed(_) => Vec::new(),
        });
        self.ahead.borrow_mut().answer(asked.into_iter().zip(rows));
        Ok(())
    }

    fn take_ahead(&self, sql: &str, values: &[(&str, &dyn ToSql)]) -> Result<Option<Vec<Row>>> {
        if self.ahead.borrow().is_empty() {
            return Ok(None);
        }
        let Some(prepared) = self.prepared.borrow().get(sql).map(Arc::clone) else { return Ok(None) };
        let values = prepared.values.iter().map(|mark| bind(mark, values, sql).map(|bound| bound.0));
        let values: Vec<Value> = values.collect::<Result<_>>()?;
        Ok(self.ahead.borrow_mut().take(sql, &values))
    }

    fn forget_ahead(&self) {
        self.ahead.borrow_mut().forget();
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
        let mut told = false;
        let mut pause = Duration::ZERO;
        loop {
            self.begin_write(rows, durability, patience);
            let changed = change();
            let mut value = None;
            let ended = self.transact(|| changed.map(|changed| value = Some(changed)));
            let number = self.number.take();
            if let Err(error) = ended {
                let cause = match &error {
                    StoreError::Server { fault: ServerFault::Lost, .. } => WaitCause::Connection,
                    // With a number it has the project's lock: it waited for somebody's row, or two waited for each other.
                    StoreError::Server { fault: ServerFault::Locked, .. } if number.is_some() => {
                        WaitCause::Lock
                    }
                    _ => return Err(error),
                };
                if !patience.goes_on(cause, since, &mut told) {
                    return Err(error);
                }
                if cause == WaitCause::Lock {
                    continue;
                }
                std::thread::sleep(pause);
                pause = (pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
                self.reconnect(patience, since)?;
                if !number
                    .map(|number| self.was_stored(&number, patience, since))
                    .transpose()?
                    .unwrap_or(false)
                {
                    continue;
                }
            }
            if let Some(value) = value {
                return Ok(value);
            }
        }
    }

    /// Whether a transaction was stored whose connection was lost. The server may not know of the loss and still wait for the
    /// rest of it, with the project's lock: then it ends it.
    fn was_stored(&self, number: &str, patience: &Patience, since: Instant) -> Result<bool> {
        let sql = "SELECT pg_xact_status(CAST(CAST(?1 AS TEXT) AS xid8)),
             (SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
              WHERE backend_xid = CAST(CAST(CAST(?1 AS TEXT) AS xid8) AS xid))";
        let mut told = false;
        loop {
            let rows = match self.query(sql, &[("", &number)]) {
                // A server that crashed may have forgotten the number.
                Err(StoreError::Server { fault: ServerFault::Other, .. }) => return Ok(false),
                rows => rows?,
            };
            match rows.first().and_then(|row| row.try_get::<_, Option<String>>(0).ok().flatten()).as_deref() {
                Some("in progress") if patience.goes_on(WaitCause::Connection, since, &mut told) => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Some("in progress") => {
                    let why =
                        "the connection is lost, and the server does not say whether it stored what was sent";
                    return Err(self.lost(why));
                }
                status => return Ok(status == Some("committed")),
            }
        }
    }

    fn lost(&self, why: &str) -> StoreError {
        StoreError::Server { server: self.address.to_string(), fault: ServerFault::Lost, why: why.to_owned() }
    }

    /// Begins a transaction that writes, as soon as it has a statement and its lock is free: one for all that may change any
    /// row of the project, which claims share among themselves.
    pub fn begin_write(&self, rows: Writes, durability: Durability, patience: &Patience) {
        let lock = match rows {
            Writes::Plan => "pg_advisory_xact_lock",
            Writes::Claims => "pg_advisory_xact_lock_shared",
        };
        let commit = match durability {
            Durability::Process => "off",
            Durability::Power => "on",
        };
        let slice = patience.tell_after.min(patience.give_up_after).max(Duration::from_millis(1));
        let sql = format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit TO {commit};
             SET LOCAL lock_timeout TO {}; SELECT {lock}({}); SELECT pg_current_xact_id()::text",
            slice.as_millis(),
            self.address.lock(),
        );
        self.begin(sql, *patience, Some(rows));
    }

    /// Begins a transaction that only reads, and always the same state.
    pub fn begin_snapshot(&self) -> Result<()> {
        if self.ahead.borrow().is_recording() {
            return Err(rusqlite::Error::QueryReturnedNoRows.into());
        }
        if self.link.borrow().is_lost() {
            self.reconnect(&self.patience.get(), Instant::now())?;
        }
        self.begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY".to_owned(), Patience::default(), None);
        Ok(())
    }

    fn begin(&self, sql: String, patience: Patience, writes: Option<Writes>) {
        self.number.take();
        match writes {
            Some(_) => self.forget_ahead(),
            None => self.ahead.borrow_mut().set_aside(),
        }
        let begin = Begin { sql, patience, since: Instant::now() };
        let transaction = Transaction { begin: Some(begin), queue: Vec::new(), writes };
        *self.open.borrow_mut() = Some(transaction);
    }

    /// Ends the transaction that was begun: what was done within stays unless it failed.
    pub fn transact<T, E: From<StoreError>>(
        &self,
        run: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let result = run().and_then(|value| {
            self.commit()?;
            Ok(value)
        });
        self.ahead.borrow_mut().bring_back();
        let is_begun = |open: Transaction| open.begin.is_none();
        if self.open.take().is_some_and(is_begun) {
            // A lost connection has rolled it back.
            let _ = self.now(&Item::Batch("ROLLBACK".to_owned()));
        }
        result
    }

    /// Commits; a transaction that had no statement was never begun. The commit is sent alone where the transaction's number
    /// is not known yet, by which one can ask what became of it.
    fn commit(&self) -> Result<()> {
        let (is_empty, writes) = match self.open.borrow().as_ref() {
            Some(open) => (open.begin.is_some() && open.queue.is_empty(), open.writes),
            None => return Ok(()),
        };
        if is_empty {
            return Ok(());
        }
        let Some(writes) = writes else {
            // What was read stands, whatever becomes of the end.
            self.open.take();
            self.link.borrow().send_without_waiting("COMMIT");
            return Ok(());
        };
        if self.number.borrow().is_none() {
            self.flush(Vec::new())?;
        }
        let end = match writes {
            Writes::Plan => format!("NOTIFY {}; COMMIT", self.address.quoted_schema()),
            Writes::Claims => "COMMIT".to_owned(),
        };
        self.flush(vec![Item::Batch(end)])?;
        self.open.take();
        Ok(())
    }

    /// Seeks the server again, with growing pauses, until that has taken too long since it was first missed.
    fn reconnect(&self, patience: &Patience, since: Instant) -> Result<()> {
        if let Some(then) = self.when_lost.borrow_mut().as_mut() {
            then();
        }
        let is_impatient = self.is_given_up.get() || patience.give_up_after < IMPATIENT;
        let is_left_alone = self.sought.get().is_some_and(|at| at.elapsed() < LEFT_ALONE);
        if is_impatient && is_left_alone {
            return Err(self.lost("the connection is lost"));
        }
        let mut pause = FIRST_PAUSE;
        let mut told = false;
        loop {
            let error = match Link::open(&self.address, is_impatient.then_some(IMPATIENT)) {
                Ok(link) => {
                    self.forget_ahead();
                    self.listens.set(false);
                    self.is_given_up.set(false);
                    self.sought.set(None);
                    self.open.take();
                    *self.link.borrow_mut() = link;
                    // Only now: those of the lost connection need not be closed one by one.
                    self.prepared.borrow_mut().clear();
                    return Ok(());
                }
                Err(
                    error @ StoreError::Server { fault: ServerFault::Unreachable | ServerFault::Lost, .. },
                ) => error,
                Err(error) => return Err(error),
            };
            self.sought.set(Some(Instant::now()));
            if is_impatient {
                return Err(error);
            }
            let waited = since.elapsed();
            let is_due = waited >= patience.tell_after;
            let is_first = is_due && !std::mem::replace(&mut told, is_due);
            let wait = LockWait { cause: WaitCause::Connection, waited, is_first };
            if waited + pause > patience.give_up_after || !(patience.on_wait)(wait) {
                self.is_given_up.set(true);
                return Err(error);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

fn bind(mark: &Mark, values: &[(&str, &dyn ToSql)], sql: &str) -> Result<Bound> {
    let value = match mark {
        Mark::Name(name) => values.iter().find(|(one, _)| one == name),
        Mark::Place(place) => values.get(*place),
    };
    let (_, value) = value.ok_or_else(|| rusqlite::Error::InvalidParameterName(sql.to_owned()))?;
    Ok(Bound::of(*value)?)
}
