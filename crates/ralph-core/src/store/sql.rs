//! How statements are run, and how columns become domain types and back.
//!
//! Columns are read by name and values are bound by name; a statement with a single value may call it `?1`. Nothing that
//! a newer or damaged file might hold panics.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Params, params_from_iter};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Purpose, Result, RunRequest};
use crate::event::TaskRef;
use crate::model::{
    Difficulty, DoneBy, GateOutcome, Key, LearningId, Outcome, Phase, RunId, Source, Status, TaskId,
    Timestamp, Token,
};
use crate::text;

/// Columns and their values, as `named_params!` makes them.
pub(super) type Values<'v> = &'v [(&'v str, &'v dyn ToSql)];

/// The ways to run a statement. Each statement is prepared once per connection.
pub(super) trait Statements {
    fn all<T, C: FromIterator<T>>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<C>;
    /// The first row, if there is one.
    fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>>;
    /// The first row, which must exist.
    fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T>;
    /// Whether there is a row.
    fn has(&self, sql: &str, params: impl Params) -> Result<bool>;
    /// Changes rows; returns how many.
    fn change(&self, sql: &str, params: impl Params) -> Result<usize>;
    fn insert(&self, table: &str, values: Values<'_>) -> Result<()>;
    /// Inserts a row unless there is one with its key.
    fn insert_new(&self, table: &str, values: Values<'_>) -> Result<()>;
    /// Inserts a row, or replaces these values in the one with the same `key` columns.
    fn upsert(&self, table: &str, key: &[&str], values: Values<'_>) -> Result<()>;
}

impl Statements for Connection {
    fn all<T, C: FromIterator<T>>(
        &self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<C> {
        let mut statement = self.prepare_cached(sql)?;
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let names = Some(names.as_slice());
        let rows = statement.query_map(params, |row| read(&Row { row, names }))?;
        Ok(rows.collect::<rusqlite::Result<C>>()?)
    }

    fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        let mut statement = self.prepare_cached(sql)?;
        let row = statement.query_row(params, |row| read(&Row { row, names: None }));
        Ok(row.optional()?)
    }

    fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let mut statement = self.prepare_cached(sql)?;
        Ok(statement.query_row(params, |row| read(&Row { row, names: None }))?)
    }

    fn has(&self, sql: &str, params: impl Params) -> Result<bool> {
        Ok(self.prepare_cached(sql)?.exists(params)?)
    }

    fn change(&self, sql: &str, params: impl Params) -> Result<usize> {
        Ok(self.prepare_cached(sql)?.execute(params)?)
    }

    fn insert(&self, table: &str, values: Values<'_>) -> Result<()> {
        insert_with(self, table, values, "")
    }

    fn insert_new(&self, table: &str, values: Values<'_>) -> Result<()> {
        insert_with(self, table, values, " ON CONFLICT DO NOTHING")
    }

    fn upsert(&self, table: &str, key: &[&str], values: Values<'_>) -> Result<()> {
        let names = values.iter().map(|(name, _)| name);
        let replaced: Vec<String> = names
            .filter(|name| !key.contains(name))
            .map(|name| format!("{name} = excluded.{name}"))
            .collect();
        let (key, replaced) = (key.join(", "), replaced.join(", "));
        let conflict = format!(" ON CONFLICT ({key}) DO UPDATE SET {replaced}");
        insert_with(self, table, values, &conflict)
    }
}

fn insert_with(conn: &Connection, table: &str, values: Values<'_>, conflict: &str) -> Result<()> {
    let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
    let (names, marks) = (names.join(", "), vec!["?"; values.len()].join(", "));
    let sql = format!("INSERT INTO {table} ({names}) VALUES ({marks}){conflict}");
    conn.change(&sql, params_from_iter(values.iter().map(|(_, value)| value)))?;
    Ok(())
}

/// A row whose columns are read by name.
pub(super) struct Row<'r> {
    row: &'r rusqlite::Row<'r>,
    /// Where many rows are read: looked up once, because asking SQLite for names takes longer than reading a value.
    names: Option<&'r [String]>,
}

impl Row<'_> {
    pub fn get<T: FromSql>(&self, name: &str) -> rusqlite::Result<T> {
        self.row.get(self.index(name)?)
    }

    fn index(&self, name: &str) -> rusqlite::Result<usize> {
        let known = self.names.and_then(|names| names.iter().position(|one| one == name));
        known.map_or_else(|| self.row.as_ref().column_index(name), Ok)
    }

    fn value(&self, name: &str) -> rusqlite::Result<ValueRef<'_>> {
        self.row.get_ref(self.index(name)?)
    }

    // The rest is for columns that another program, an older or a newer Ralph may have written, whatever they hold.

    pub fn optional_text(&self, name: &str) -> rusqlite::Result<Option<String>> {
        Ok(as_text(self.value(name)?))
    }

    pub fn text(&self, name: &str) -> rusqlite::Result<String> {
        Ok(self.optional_text(name)?.unwrap_or_default())
    }

    /// A text that is shown on terminals in one line.
    pub fn line(&self, name: &str) -> rusqlite::Result<String> {
        Ok(text::plain_line(&self.text(name)?, usize::MAX))
    }

    /// A counter: never below 0.
    pub fn count(&self, name: &str) -> rusqlite::Result<u64> {
        Ok(match self.value(name)? {
            ValueRef::Integer(number) => u64::try_from(number).unwrap_or(0),
            ValueRef::Real(number) => (number.max(0.0) as u64).min(i64::MAX.unsigned_abs()),
            ValueRef::Null | ValueRef::Text(_) | ValueRef::Blob(_) => 0,
        })
    }

    pub fn flag(&self, name: &str) -> rusqlite::Result<bool> {
        Ok(self.count(name)? > 0)
    }

    pub fn number(&self, name: &str) -> rusqlite::Result<f64> {
        Ok(match self.value(name)? {
            ValueRef::Integer(number) => number as f64,
            ValueRef::Real(number) if number.is_finite() => number,
            _ => 0.0,
        })
    }

    /// A value stored as JSON; the default where it is missing or unreadable.
    pub fn json<T: DeserializeOwned + Default>(&self, name: &str) -> rusqlite::Result<T> {
        Ok(serde_json::from_str(&self.text(name)?).unwrap_or_default())
    }

    /// One of several words; none where it is missing or unknown.
    pub fn word<T>(&self, name: &str, parse: impl FnOnce(&str) -> Option<T>) -> rusqlite::Result<Option<T>> {
        Ok(self.optional_text(name)?.as_deref().and_then(parse))
    }
}

/// Reads the only column.
pub(super) fn only<T: FromSql>(row: &Row<'_>) -> rusqlite::Result<T> {
    row.row.get(0)
}

/// Reads `id`, `key` and `title`.
pub(super) fn task_ref(row: &Row<'_>) -> rusqlite::Result<TaskRef> {
    Ok(TaskRef { task_id: row.get("id")?, key: row.get("key")?, title: row.line("title")? })
}

fn as_text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
    }
}

/// A value that is stored as JSON.
pub(super) struct Json<T>(pub T);

impl<T: Serialize> ToSql for Json<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let json = serde_json::to_string(&self.0);
        let json = json.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        Ok(json.into())
    }
}

macro_rules! stored_ids {
    ($($id:ty),*) => {$(
        impl ToSql for $id {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.as_str().into())
            }
        }

        impl FromSql for $id {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                as_text(value).map(Self::from_stored).ok_or(FromSqlError::InvalidType)
            }
        }
    )*};
}

stored_ids!(TaskId, RunId, LearningId, Token, Key);

macro_rules! stored_words {
    ($($word:ty),*) => {$(
        impl ToSql for $word {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.as_str().into())
            }
        }
    )*};
}

stored_words!(Status, DoneBy, Difficulty, GateOutcome, Outcome, Purpose, RunRequest, Source);

impl FromSql for Status {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let status = value.as_str()?.parse();
        status.map_err(|error| FromSqlError::Other(Box::new(error)))
    }
}

impl ToSql for Timestamp {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.to_string().into())
    }
}

/// A time that cannot be read is long ago.
impl FromSql for Timestamp {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let text = as_text(value).ok_or(FromSqlError::InvalidType)?;
        Ok(Self::parse_lenient(&text).unwrap_or(Self::from_millis(0)))
    }
}

impl ToSql for Phase {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.number().into())
    }
}

impl FromSql for Phase {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        f64::column_result(value).map(Self::from_stored)
    }
}
