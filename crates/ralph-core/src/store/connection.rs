//! A connection to one of the two engines, and what both can do. Statements themselves are run by `sql.rs`.

use std::borrow::Cow;

use rusqlite::{ToSql, TransactionBehavior};

#[cfg(feature = "postgres")]
use super::postgres::Session;
use super::{Result, StoreError};

#[derive(Debug)]
pub(super) enum Connection {
    Sqlite(rusqlite::Connection),
    #[cfg(feature = "postgres")]
    Postgres(Box<Session>),
}

/// Which engine's words are needed where the two have no common ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Sqlite,
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "nothing makes it then"))]
    Postgres,
}

/// What a transaction that writes keeps others from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writes {
    /// It may change any row of the project: no other writes meanwhile.
    Plan,
    /// It takes one claim or extends leases. SQLite has a single writer anyway; a server lets these run side by side.
    Claims,
}

impl Connection {
    pub fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Dialect::Postgres,
        }
    }

    /// SQLite's own connection.
    pub fn file(&self) -> Option<&rusqlite::Connection> {
        match self {
            Self::Sqlite(conn) => Some(conn),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => None,
        }
    }

    /// Whichever of the two is meant for this engine.
    pub fn either<T>(&self, sqlite: T, postgres: T) -> T {
        match self.dialect() {
            Dialect::Sqlite => sqlite,
            Dialect::Postgres => postgres,
        }
    }

    /// Statements without values, one after another.
    pub fn execute_batch(&self, sql: &str) -> Result<()> {
        match self {
            Self::Sqlite(conn) => Ok(conn.execute_batch(sql)?),
            #[cfg(feature = "postgres")]
            Self::Postgres(session) => session.batch(sql),
        }
    }

    /// A path or a state that is only true in one clone, as it is stored: on a server with the name of that clone.
    pub fn local<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self {
            Self::Sqlite(_) => Cow::Borrowed(text),
            #[cfg(feature = "postgres")]
            Self::Postgres(session) => Cow::Owned(format!("{}\n{text}", session.address().clone_name())),
        }
    }

    /// The same back; none where it is true in another clone.
    pub fn known_here<'t>(&self, stored: &'t str) -> Option<&'t str> {
        match self {
            Self::Sqlite(_) => Some(stored),
            #[cfg(feature = "postgres")]
            Self::Postgres(session) => {
                stored.strip_prefix(session.address().clone_name())?.strip_prefix('\n')
            }
        }
    }

    /// Whether there is a table: a file that is only read may be older than it.
    pub fn has_table(&self, name: &str) -> Result<bool> {
        match self {
            Self::Sqlite(conn) => Ok(conn.table_exists(None, name)?),
            // Only a database of the present schema is opened.
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Ok(true),
        }
    }

    pub fn is_in_transaction(&self) -> bool {
        match self {
            Self::Sqlite(conn) => !conn.is_autocommit(),
            #[cfg(feature = "postgres")]
            Self::Postgres(session) => session.is_in_transaction(),
        }
    }

    /// Asks a server at once for what the reads in `reads` are about to ask it for one by one, as
    /// [`Session::read_ahead`] says; of several reads in one function only for the first. A file has no need of it.
    pub fn read_ahead(&self, reads: impl FnOnce()) -> Result<()> {
        match self {
            Self::Sqlite(_) => {
                drop(reads);
                Ok(())
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(session) => session.read_ahead(reads),
        }
    }

    /// Runs one transaction that writes; nothing of it stays if it fails.
    pub fn write<T>(&self, change: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        match self {
            Self::Sqlite(conn) => {
                let tx = rusqlite::Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
                let value = change(self)?;
                tx.commit()?;
                Ok(value)
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(session) => session.transact(|| change(self)),
        }
    }

    /// All that is read within sees the same state.
    pub fn snapshot<T, E: From<StoreError>>(
        &self,
        read: impl FnOnce() -> std::result::Result<T, E>,
        explain: impl Fn(rusqlite::Error) -> StoreError,
    ) -> std::result::Result<T, E> {
        match self {
            Self::Sqlite(conn) => {
                let tx = conn.unchecked_transaction().map_err(&explain)?;
                let value = read()?;
                tx.commit().map_err(&explain)?;
                Ok(value)
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(session) => {
                session.begin_snapshot()?;
                session.transact(read)
            }
        }
    }
}

/// The values of a statement. Each kind of them is also one of rusqlite's, which binds it without a copy.
pub(super) trait Params: rusqlite::Params {
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "rusqlite binds them itself"))]
    /// With their names; those without are called `""`.
    fn values(&self) -> Vec<(&str, &dyn ToSql)>;
}

impl<T: ToSql, const N: usize> Params for [T; N]
where
    Self: rusqlite::Params,
{
    fn values(&self) -> Vec<(&str, &dyn ToSql)> {
        self.iter().map(|value| ("", value as &dyn ToSql)).collect()
    }
}

impl Params for &[&dyn ToSql] {
    fn values(&self) -> Vec<(&str, &dyn ToSql)> {
        self.iter().map(|value| ("", *value)).collect()
    }
}

impl Params for super::sql::Values<'_> {
    fn values(&self) -> Vec<(&str, &dyn ToSql)> {
        self.to_vec()
    }
}
