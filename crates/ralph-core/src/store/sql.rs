//! How statements are run, and how rows become records and records rows.
//!
//! [`record!`] lists the columns of a record once, for reading and writing. Values are bound by name; a statement with a
//! single value may call it `?1`. The types of values are those of rusqlite, whatever the engine. Whatever another program or another Ralph may have written, reading it never panics.

use std::cell::{Cell, OnceCell};
use std::time::Duration;

use rusqlite::OptionalExtension;
use rusqlite::types::FromSqlError;
pub(super) use rusqlite::types::{FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use serde::Serialize;
use serde::de::value::{Error as NotRead, SeqDeserializer};
use serde::de::{Deserialize, DeserializeOwned};

pub(super) use super::connection::{Connection, Params};
use super::{
    ActionKind, ConflictKind, NoteState, Purpose, Result, RunRequest, SessionKind, Stage, StoreError,
};
use crate::breaker::BreakerState;
use crate::event::TaskRef;
use crate::model::{
    BaselineRun, Difficulty, DoneBy, ErrorType, GateOutcome, Key, LearningId, LearningState, Level,
    MarkSource, Outcome, Phase, RunId, Source, Status, TaskId, Timestamp, Token, Verification,
};
use crate::recovery::FinalState;
use crate::sandbox::{Enforced, SandboxRecord};
use crate::text;

/// What reading a row gives.
pub(super) type ReadResult<T> = rusqlite::Result<T>;

/// Values with their names, as [`bind!`] makes them.
pub(super) type Values<'v> = &'v [(&'v str, &'v dyn ToSql)];

/// Values for a statement, which calls them `:name`, or for the columns of a row. `bind! { id }` is `bind! { id: id }`.
macro_rules! bind {
    ($($name:ident $(: $value:expr)?),* $(,)?) => {
        &[$((concat!(":", stringify!($name)), &bind!(@value $name $($value)?) as &dyn $crate::store::sql::ToSql)),*]
            as $crate::store::sql::Values<'_>
    };
    (@value $name:ident) => { $name };
    (@value $name:ident $value:expr) => { $value };
}

pub(super) use bind;

/// The column that a value is for.
fn column(name: &str) -> &str {
    name.trim_start_matches(':')
}

/// The ways to run a statement. Each statement is prepared once per connection.
pub(super) trait Statements {
    fn connection(&self) -> &Connection;

    /// What an error of the engine means to people.
    fn explain(&self, error: rusqlite::Error) -> StoreError {
        error.into()
    }

    fn all<T: FromRow, C: FromIterator<T>>(&self, sql: &str, params: impl Params) -> Result<C> {
        let names = OnceCell::new();
        match self.connection() {
            Connection::Sqlite(conn) => {
                let read = || -> ReadResult<C> {
                    let mut statement = conn.prepare_cached(sql)?;
                    let rows =
                        statement.query_map(params, |row| Row::first(Cells::Sqlite(row), &names).read())?;
                    rows.collect()
                };
                read().map_err(|error| self.explain(error))
            }
            #[cfg(feature = "postgres")]
            Connection::Postgres(session) => {
                let rows = session.query(sql, &params.values())?;
                let read = rows.iter().map(|row| Row::first(Cells::Postgres(row), &names).read());
                read.collect::<ReadResult<C>>().map_err(|error| self.explain(error))
            }
        }
    }

    fn first<T: FromRow>(&self, sql: &str, params: impl Params) -> Result<Option<T>> {
        let names = OnceCell::new();
        match self.connection() {
            Connection::Sqlite(conn) => {
                let read = || {
                    let mut statement = conn.prepare_cached(sql)?;
                    let row =
                        statement.query_row(params, |row| Row::first(Cells::Sqlite(row), &names).read());
                    row.optional()
                };
                read().map_err(|error| self.explain(error))
            }
            #[cfg(feature = "postgres")]
            Connection::Postgres(session) => {
                let rows = session.query(sql, &params.values())?;
                let read = rows.first().map(|row| Row::first(Cells::Postgres(row), &names).read());
                read.transpose().map_err(|error| self.explain(error))
            }
        }
    }

    /// The first row, which must exist.
    fn one<T: FromRow>(&self, sql: &str, params: impl Params) -> Result<T> {
        let first = self.first(sql, params)?;
        first.ok_or_else(|| self.explain(rusqlite::Error::QueryReturnedNoRows))
    }

    fn has(&self, sql: &str, params: impl Params) -> Result<bool> {
        match self.connection() {
            Connection::Sqlite(conn) => {
                let found = conn.prepare_cached(sql).and_then(|mut statement| statement.exists(params));
                found.map_err(|error| self.explain(error))
            }
            #[cfg(feature = "postgres")]
            Connection::Postgres(session) => Ok(!session.query(sql, &params.values())?.is_empty()),
        }
    }
}

impl Statements for Connection {
    fn connection(&self) -> &Connection {
        self
    }
}

/// Statements that change rows; they run inside a transaction.
pub(super) trait Changes: Statements {
    /// Returns how many rows were changed.
    fn changed(&self, sql: &str, params: impl Params) -> Result<usize> {
        match self.connection() {
            Connection::Sqlite(conn) => Ok(conn.prepare_cached(sql)?.execute(params)?),
            #[cfg(feature = "postgres")]
            Connection::Postgres(session) => session.execute(sql, &params.values()),
        }
    }

    /// A change that nobody asks the result of. On a server, what is wrong with it may be told only by the next statement or
    /// at the end of the transaction.
    fn change(&self, sql: &str, params: impl Params) -> Result<()> {
        match self.connection() {
            Connection::Sqlite(_) => self.changed(sql, params).map(drop),
            #[cfg(feature = "postgres")]
            Connection::Postgres(session) => session.enqueue(sql, &params.values()),
        }
    }

    fn insert(&self, table: &str, values: Values<'_>) -> Result<()> {
        self.insert_or(table, values, "")
    }

    /// Inserts a row unless there is one with its key.
    fn insert_new(&self, table: &str, values: Values<'_>) -> Result<()> {
        self.insert_or(table, values, " ON CONFLICT DO NOTHING")
    }

    fn insert_or(&self, table: &str, values: Values<'_>, on_conflict: &str) -> Result<()> {
        let (sql, values) = inserting(table, values, on_conflict);
        self.change(&sql, values.as_slice())
    }

    /// Inserts a row into a table that numbers its rows; returns the number, the value of that column.
    fn insert_numbered(&self, table: &str, number: &str, values: Values<'_>) -> Result<i64> {
        let (sql, values) = inserting(table, values, &format!(" RETURNING {number}"));
        self.one(&sql, values.as_slice())
    }

    fn insert_numbered_record(
        &self,
        table: &str,
        number: &str,
        record: &impl ToRow,
        more: Values<'_>,
    ) -> Result<i64> {
        self.insert_numbered(table, number, &joined(&record.columns(), more))
    }

    /// Inserts a record, and further values into the same row.
    fn insert_record(&self, table: &str, record: &impl ToRow, more: Values<'_>) -> Result<()> {
        self.insert(table, &joined(&record.columns(), more))
    }

    /// Inserts a row, or replaces these values in the one with the same `key` columns.
    fn upsert(&self, table: &str, key: &[&str], values: Values<'_>) -> Result<()> {
        let replaced = values.iter().map(|(name, _)| column(name)).filter(|name| !key.contains(name));
        let replaced: Vec<String> =
            replaced.map(|name| format!("\"{name}\" = excluded.\"{name}\"")).collect();
        let (key, replaced) = (key.join(", "), replaced.join(", "));
        self.insert_or(table, values, &format!(" ON CONFLICT ({key}) DO UPDATE SET {replaced}"))
    }

    fn upsert_record(&self, table: &str, key: &[&str], record: &impl ToRow, more: Values<'_>) -> Result<()> {
        self.upsert(table, key, &joined(&record.columns(), more))
    }

    /// Replaces the values of a record in the rows with that key; returns how many there are.
    fn update_record(&self, table: &str, record: &impl ToRow, key: Values<'_>) -> Result<usize> {
        let columns = record.columns();
        let set: Vec<String> = columns.iter().map(|(name, _)| format!("{name} = ?")).collect();
        let wanted: Vec<String> = key.iter().map(|(name, _)| format!("{} = ?", column(name))).collect();
        let sql = format!("UPDATE {table} SET {} WHERE {}", set.join(", "), wanted.join(" AND "));
        let values: Vec<&dyn ToSql> = joined(&columns, key).iter().map(|(_, value)| *value).collect();
        self.changed(&sql, values.as_slice())
    }
}

impl Changes for Connection {}

/// Names are quoted, because a column may be called like a word of SQL.
fn inserting<'v>(table: &str, values: Values<'v>, more: &str) -> (String, Vec<&'v dyn ToSql>) {
    let names: Vec<String> = values.iter().map(|(name, _)| format!("\"{}\"", column(name))).collect();
    let (names, marks) = (names.join(", "), vec!["?"; values.len()].join(", "));
    let values = values.iter().map(|(_, value)| *value).collect();
    (format!("INSERT INTO {table} ({names}) VALUES ({marks}){more}"), values)
}

/// Conditions whose value is given, each with a mark for it, and those values. Conditions that nobody asked for are left
/// out, so that the indexes of the others are used.
pub(super) fn conditions<'v>(all: &[(&str, Option<&'v dyn ToSql>)]) -> (String, Vec<&'v dyn ToSql>) {
    let given = || all.iter().filter_map(|(condition, value)| Some((condition, (*value)?)));
    let sql = given().map(|(condition, _)| format!(" AND {condition} ?")).collect();
    (sql, given().map(|(_, value)| value).collect())
}

pub(super) fn value<T: ToSql>(value: &Option<T>) -> Option<&dyn ToSql> {
    value.as_ref().map(|value| value as &dyn ToSql)
}

/// The columns of a record and further values.
fn joined<'v>(
    columns: &'v [(&'static str, ToSqlOutput<'_>)],
    more: Values<'v>,
) -> Vec<(&'v str, &'v dyn ToSql)> {
    let columns = columns.iter().map(|(name, value)| (*name, value as &dyn ToSql));
    columns.chain(more.iter().copied()).collect()
}

/// The values of a row, as its engine gives them.
#[derive(Clone, Copy)]
enum Cells<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    #[cfg(feature = "postgres")]
    Postgres(&'r super::postgres::Row),
}

impl<'r> Cells<'r> {
    fn names(self) -> Vec<String> {
        match self {
            Self::Sqlite(row) => row.as_ref().column_names().map(str::to_owned).collect(),
            #[cfg(feature = "postgres")]
            Self::Postgres(row) => row.columns().iter().map(|column| column.name().to_owned()).collect(),
        }
    }

    fn get(self, index: usize) -> ReadResult<ValueRef<'r>> {
        match self {
            Self::Sqlite(row) => row.get_ref(index),
            #[cfg(feature = "postgres")]
            Self::Postgres(row) => super::postgres::value(row, index),
        }
    }
}

/// A row whose columns are read by name.
pub(super) struct Row<'r> {
    cells: Cells<'r>,
    /// Asked for once per statement, because asking SQLite for names takes longer than reading a value.
    names: &'r OnceCell<Vec<String>>,
    /// The column that a value without a name is read from.
    next: usize,
    /// The column that is probably read next: most come in the order in which they are asked for.
    probable: Cell<usize>,
}

impl<'r> Row<'r> {
    fn first(cells: Cells<'r>, names: &'r OnceCell<Vec<String>>) -> Self {
        Self { cells, names, next: 0, probable: Cell::new(0) }
    }

    /// The same, for a value without a name so many columns further on.
    fn from(&self, columns: usize) -> Self {
        Self { next: self.next + columns, probable: Cell::new(0), ..*self }
    }

    fn read<T: FromRow>(&self) -> ReadResult<T> {
        T::from_row(self)
    }

    /// Every column, in order.
    pub fn all<T: Column>(&self) -> ReadResult<Vec<T>> {
        let names = self.names.get_or_init(|| self.cells.names());
        (0..names.len()).map(|index| self.column(index)).collect()
    }

    pub fn get<T: Column>(&self, name: &str) -> ReadResult<T> {
        let names = self.names.get_or_init(|| self.cells.names());
        let probable = Some(self.probable.get()).filter(|at| names.get(*at).is_some_and(|one| one == name));
        let index = probable.or_else(|| names.iter().position(|one| one == name));
        let index = index.ok_or_else(|| rusqlite::Error::InvalidColumnName(name.to_owned()))?;
        self.probable.set(index + 1);
        self.column(index)
    }

    fn column<T: Column>(&self, index: usize) -> ReadResult<T> {
        let value = self.cells.get(index)?;
        T::read(value).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(index, value.data_type(), Box::new(error))
        })
    }
}

pub(super) trait FromRow: Sized {
    /// Reads a record by the names of its columns, a value from the next column, and a tuple of these one after another.
    fn from_row(row: &Row<'_>) -> ReadResult<Self>;

    /// Reads a field of a record: a value from the column of that name, a record within it from the same row.
    fn from_field(row: &Row<'_>, _name: &str) -> ReadResult<Self> {
        Self::from_row(row)
    }
}

impl<T: Column> FromRow for T {
    fn from_row(row: &Row<'_>) -> ReadResult<Self> {
        row.column(row.next)
    }

    fn from_field(row: &Row<'_>, name: &str) -> ReadResult<Self> {
        row.get(name)
    }
}

impl<A: FromRow, B: FromRow> FromRow for (A, B) {
    fn from_row(row: &Row<'_>) -> ReadResult<Self> {
        Ok((A::from_row(row)?, B::from_row(&row.from(1))?))
    }
}

impl<A: FromRow, B: FromRow, C: FromRow> FromRow for (A, B, C) {
    fn from_row(row: &Row<'_>) -> ReadResult<Self> {
        let (a, (b, c)) = FromRow::from_row(row)?;
        Ok((a, b, c))
    }
}

pub(super) trait ToRow {
    fn columns(&self) -> Vec<(&'static str, ToSqlOutput<'_>)>;
}

/// Lists the fields of a record with their columns: `field` for a column of that name, `field = "column"`, or
/// `field via function` where a function reads it. What follows `reads` comes from other tables and is not written;
/// `record!(writes …)` is for records that are only written.
macro_rules! record {
    ($type:ty { $($field:ident $(= $column:literal)? $(via $read:ident)?),* $(,)? }) => {
        impl $crate::store::sql::FromRow for $type {
            fn from_row(row: &$crate::store::sql::Row<'_>) -> $crate::store::sql::ReadResult<Self> {
                Ok(Self { $($field: record!(@read row, record!(@name $field $($column)?) $(, $read)?),)* })
            }
        }
    };
    ($type:ty { $($field:ident $(= $column:literal)? $(via $read:ident)?),* $(,)? }
     reads { $($more:ident),* $(,)? }) => {
        record!($type { $($field $(= $column)? $(via $read)?,)* $($more),* });
        record!(writes $type { $($field $(= $column)?),* });
    };
    (writes $type:ty { $($field:ident $(= $column:literal)?),* $(,)? }) => {
        impl $crate::store::sql::ToRow for $type {
            fn columns(&self) -> Vec<(&'static str, $crate::store::sql::ToSqlOutput<'_>)> {
                use $crate::store::sql::Column;
                vec![$((record!(@name $field $($column)?), Column::write(&self.$field)),)*]
            }
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $column:literal) => { $column };
    (@read $row:ident, $name:expr) => { $crate::store::sql::FromRow::from_field($row, $name)? };
    (@read $row:ident, $name:expr, $read:ident) => { $read($row, $name)? };
}

pub(super) use record;

record!(TaskRef { task_id = "id", key, spec, name, title via line });

/// A text that is shown on terminals in one line.
pub(super) fn line(row: &Row<'_>, name: &str) -> ReadResult<String> {
    Ok(text::plain_line(&row.get::<String>(name)?, usize::MAX))
}

pub(super) trait Column: Sized {
    fn read(value: ValueRef<'_>) -> FromSqlResult<Self>;
    fn write(&self) -> ToSqlOutput<'_>;
}

/// What cannot be read counts as missing.
impl<T: Column> Column for Option<T> {
    fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(Some(value).filter(|value| *value != ValueRef::Null).and_then(|value| T::read(value).ok()))
    }

    fn write(&self) -> ToSqlOutput<'_> {
        self.as_ref().map_or(ToSqlOutput::Borrowed(ValueRef::Null), Column::write)
    }
}

/// A list is stored as JSON; one that cannot be read is empty. Bytes are stored as they are.
impl<T: DeserializeOwned + Serialize> Column for Vec<T> {
    fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
        if let ValueRef::Blob(bytes) = value {
            let bytes = SeqDeserializer::<_, NotRead>::new(bytes.iter().copied());
            return Ok(Self::deserialize(bytes).unwrap_or_default());
        }
        Ok(serde_json::from_str(&String::read(value)?).unwrap_or_default())
    }

    fn write(&self) -> ToSqlOutput<'_> {
        serde_json::to_string(self).unwrap_or_default().into()
    }
}

impl Column for String {
    fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(match value {
            ValueRef::Null => Self::new(),
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Real(number) => number.to_string(),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Self::from_utf8_lossy(bytes).into_owned(),
        })
    }

    fn write(&self) -> ToSqlOutput<'_> {
        self.as_str().into()
    }
}

/// A number outside of the type's range is the nearest in it: a counter is never below 0.
macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Column for $type {
            fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
                let number = i64::read(value)?;
                Ok(Self::try_from(number).unwrap_or(if number < 0 { Self::MIN } else { Self::MAX }))
            }

            fn write(&self) -> ToSqlOutput<'_> {
                i64::try_from(*self).unwrap_or(i64::MAX).into()
            }
        }
    )*};
}

numbers!(i32, u32, u64, usize);

impl Column for Duration {
    fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
        u64::read(value).map(Self::from_millis)
    }

    fn write(&self) -> ToSqlOutput<'_> {
        i64::try_from(self.as_millis()).unwrap_or(i64::MAX).into()
    }
}

impl Column for i64 {
    fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(match value {
            ValueRef::Integer(number) => number,
            ValueRef::Real(number) => number as Self,
            ValueRef::Null | ValueRef::Text(_) | ValueRef::Blob(_) => 0,
        })
    }

    fn write(&self) -> ToSqlOutput<'_> {
        (*self).into()
    }
}

impl Column for bool {
    fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(i64::read(value)? > 0)
    }

    fn write(&self) -> ToSqlOutput<'_> {
        (*self).into()
    }
}

impl Column for f64 {
    fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(match value {
            ValueRef::Integer(number) => number as Self,
            ValueRef::Real(number) if number.is_finite() => number,
            _ => 0.0,
        })
    }

    fn write(&self) -> ToSqlOutput<'_> {
        (*self).into()
    }
}

impl Column for Phase {
    fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
        f64::read(value).map(Self::from_stored)
    }

    fn write(&self) -> ToSqlOutput<'_> {
        self.number().into()
    }
}

impl ToSql for Phase {
    fn to_sql(&self) -> ReadResult<ToSqlOutput<'_>> {
        Ok(self.write())
    }
}

/// Types that are stored as text, each with how it is read.
macro_rules! text_columns {
    ($($type:ty: $read:expr,)*) => {$(
        impl Column for $type {
            fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
                let read: fn(&str) -> Option<Self> = $read;
                read(&String::read(value)?).ok_or(FromSqlError::InvalidType)
            }

            fn write(&self) -> ToSqlOutput<'_> {
                self.to_string().into()
            }
        }

        impl ToSql for $type {
            fn to_sql(&self) -> ReadResult<ToSqlOutput<'_>> {
                Ok(self.write())
            }
        }
    )*};
}

text_columns! {
    TaskId: |text| Some(Self::from_stored(text)),
    RunId: |text| Some(Self::from_stored(text)),
    LearningId: |text| Some(Self::from_stored(text)),
    Token: |text| Some(Self::from_stored(text)),
    Key: |text| Some(Self::from_stored(text)),
    // A time that cannot be read is long ago.
    Timestamp: |text| Some(Self::parse_lenient(text).unwrap_or(Self::from_millis(0))),
    Status: Self::parse,
    DoneBy: Self::parse,
    SessionKind: Self::parse,
    Difficulty: Self::parse,
    GateOutcome: Self::parse,
    Level: Self::parse,
    LearningState: Self::parse,
    RunRequest: Self::parse,
    NoteState: Self::parse,
    // Of a later version.
    ActionKind: |text| Some(Self::parse(text).unwrap_or(Self::Edit)),
    FinalState: Self::read,
    Outcome: |text| Some(Self::parse(text).unwrap_or(Self::Error)),
    Purpose: |text| Some(Self::parse(text).unwrap_or(Self::Attempt)),
    Source: |text| Some(Self::from_stored(text)),
    Stage: |text| Some(Self::parse(text).unwrap_or(Self::Working)),
    ConflictKind: |text| Some(Self::parse(text).unwrap_or(Self::Conflict)),
    BreakerState: |text| Some(Self::parse(text).unwrap_or_default()),
    MarkSource: |text| Some(Self::parse(text).unwrap_or_default()),
    ErrorType: |text| Some(Self::from_stored(Outcome::Error, text)),
}

/// Types that are stored as JSON.
macro_rules! json_columns {
    ($($type:ty),*) => {$(
        impl Column for $type {
            fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
                serde_json::from_str(&String::read(value)?).map_err(|error| FromSqlError::Other(error.into()))
            }

            fn write(&self) -> ToSqlOutput<'_> {
                serde_json::to_string(self).unwrap_or_default().into()
            }
        }
    )*};
}

json_columns!(Verification, BaselineRun, Enforced, SandboxRecord);

pub(super) struct Json<T>(pub T);

impl<T: Serialize> ToSql for Json<T> {
    fn to_sql(&self) -> ReadResult<ToSqlOutput<'_>> {
        let json = serde_json::to_string(&self.0);
        let json = json.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        Ok(json.into())
    }
}
