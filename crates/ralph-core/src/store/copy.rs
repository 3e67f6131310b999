//! A whole project from one store to another, row by row, between any two engines.

use rusqlite::types::Value;

use super::connection::Dialect;
use super::sql::{
    Changes, Column, Connection, FromRow, FromSqlResult, ReadResult, Row, Statements, ToSql, ToSqlOutput,
    ValueRef,
};
use super::sqlite::learning_index;
use super::{Durability, Result, Store, StoreError};

/// What each engine keeps for itself.
const OWN: [&str; 4] = ["learning_postings", "undo_rows", "schema_version", "task_deltas"];
/// Tables that a new store has rows in.
const FILLED: [&str; 3] = ["totals", "breaker", "learning_corpus"];
/// Columns with what is only true in one clone.
const LOCAL: [(&str, &str); 6] = [
    ("agents_md_bullets", "path"),
    ("agents_md_names", "path"),
    ("agents_md_writes", "path"),
    ("first_looks", "look"),
    ("kept_files", "work_dir"),
    ("workers", "work_tree"),
];
/// Rows that are read and written at once.
const AT_ONCE: usize = 500;

/// A value of any type, as it is stored.
#[derive(Clone)]
struct Cell(Value);

impl Column for Cell {
    fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(Self(value.try_into()?))
    }

    fn write(&self) -> ToSqlOutput<'_> {
        (&self.0).into()
    }
}

impl ToSql for Cell {
    fn to_sql(&self) -> ReadResult<ToSqlOutput<'_>> {
        Ok(self.write())
    }
}

/// All columns of a row.
struct Cells(Vec<Cell>);

impl FromRow for Cells {
    fn from_row(row: &Row<'_>) -> ReadResult<Self> {
        row.all().map(Self)
    }
}

impl Store {
    /// Takes over everything of another store; this one must be empty. Returns how many rows there were.
    pub fn copy_from(&mut self, other: &Self) -> Result<u64> {
        if self.has(
            "SELECT 1 FROM tasks UNION ALL SELECT 1 FROM runs UNION ALL SELECT 1 FROM learnings LIMIT 1",
            [],
        )? {
            return Err(StoreError::NotEmpty { path: self.path().to_owned() });
        }
        other.snapshot(|| self.write(Durability::Power, |tx| copy(other.conn(), tx)))
    }
}

fn copy(from: &Connection, to: &Connection) -> Result<u64> {
    let triggers = Triggers::off(to)?;
    let mut rows = 0;
    for table in tables(to)? {
        if FILLED.contains(&table.as_str()) {
            to.change(&format!("DELETE FROM {table}"), [])?;
        }
        rows += copy_table(from, to, &table)?;
    }
    copy_index(to)?;
    triggers.on(to)?;
    Ok(rows)
}

fn tables(conn: &Connection) -> Result<Vec<String>> {
    let of_file = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
         AND name NOT LIKE 'learning_index%' ORDER BY rowid";
    let of_server = "SELECT relname::text FROM pg_class
         WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' ORDER BY oid";
    let mut tables: Vec<String> = conn.all(conn.either(of_file, of_server), [])?;
    tables.retain(|table| !OWN.contains(&table.as_str()));
    Ok(tables)
}

/// The columns that are stored; those of SQLite are all of them that a copy needs.
fn columns(conn: &Connection, table: &str) -> Result<Vec<String>> {
    let of_file = "SELECT name FROM pragma_table_info(?1) ORDER BY cid";
    let of_server = "SELECT attname::text FROM pg_attribute
         WHERE attrelid = to_regclass(?1) AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attname <> 'rowid'
         ORDER BY attnum";
    conn.all(conn.either(of_file, of_server), [table])
}

fn copy_table(from: &Connection, to: &Connection, table: &str) -> Result<u64> {
    let columns = columns(to, table)?;
    let names: Vec<String> = columns.iter().map(|name| format!("\"{name}\"")).collect();
    let names = names.join(", ");
    let is_ordered = matches!(table, "runs" | "iteration_outcomes" | "learnings" | "failure_reports");
    // In the order in which they came, which queries ask for where times are the same.
    let order = if is_ordered { "rowid" } else { "1, 2" };
    let order = if columns.len() == 1 { "1" } else { order };
    let read = format!("SELECT {names} FROM {table} ORDER BY {order} LIMIT ?1 OFFSET ?2");
    let marks = vec!["?"; columns.len()].join(", ");
    let write = format!("INSERT INTO {table} ({names}) VALUES ({marks})");
    let local = LOCAL.iter().find(|(name, _)| *name == table);
    let local = local.and_then(|(_, local)| columns.iter().position(|column| column == local));
    let mut rows = 0;
    loop {
        let batch: Vec<Cells> = from.all(&read, [AT_ONCE as i64, rows])?;
        let read_rows = batch.len();
        for Cells(mut cells) in batch {
            if let Some(cell) = local.and_then(|place| cells.get_mut(place))
                && let Value::Text(stored) = &cell.0
            {
                // What is true in other clones is of no use elsewhere.
                let Some(text) = from.known_here(stored) else { continue };
                cell.0 = Value::Text(to.local(text).into_owned());
            }
            let values: Vec<&dyn ToSql> = cells.iter().map(|cell| cell as &dyn ToSql).collect();
            to.change(&write, values.as_slice())?;
        }
        rows += read_rows as i64;
        if read_rows < AT_ONCE {
            break;
        }
    }
    number_on(to, table, &columns)?;
    Ok(rows.unsigned_abs())
}

/// New rows get numbers after those that were copied.
fn number_on(to: &Connection, table: &str, columns: &[String]) -> Result<()> {
    if to.dialect() == Dialect::Sqlite {
        return Ok(());
    }
    for column in columns {
        let sql = "SELECT pg_get_serial_sequence(?1, ?2)";
        let Some(sequence) = to.one::<Option<String>>(sql, [table, column.as_str()])? else { continue };
        to.execute_batch(&format!(
            "SELECT setval('{sequence}', coalesce(max({column}), 0) + 1, false) FROM {table}"
        ))?;
    }
    Ok(())
}

/// The full-text index is made anew from the learnings that are in it, each under its old number.
fn copy_index(to: &Connection) -> Result<()> {
    let indexed: Vec<(i64, String)> =
        to.all("SELECT doc, learning_id FROM learning_docs ORDER BY doc", [])?;
    for (doc, learning) in indexed {
        learning_index::fill(to, doc, &learning)?;
    }
    Ok(())
}

/// What would count copied rows a second time.
enum Triggers {
    /// How to make them again.
    OfFile(Vec<String>),
    OfServer,
}

impl Triggers {
    fn off(conn: &Connection) -> Result<Self> {
        match conn.dialect() {
            Dialect::Sqlite => {
                let sql = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'";
                let triggers: Vec<(String, String)> = conn.all(sql, [])?;
                conn.execute_batch("PRAGMA defer_foreign_keys = ON")?;
                for (name, _) in &triggers {
                    conn.execute_batch(&format!("DROP TRIGGER {name}"))?;
                }
                Ok(Self::OfFile(triggers.into_iter().map(|(_, sql)| sql).collect()))
            }
            Dialect::Postgres => {
                conn.execute_batch("SET CONSTRAINTS ALL DEFERRED")?;
                each_table(conn, "DISABLE")?;
                Ok(Self::OfServer)
            }
        }
    }

    fn on(self, conn: &Connection) -> Result<()> {
        match self {
            Self::OfFile(triggers) => triggers.iter().try_for_each(|sql| conn.execute_batch(sql)),
            Self::OfServer => {
                // A table cannot be altered while checks on it wait.
                conn.execute_batch("SET CONSTRAINTS ALL IMMEDIATE")?;
                each_table(conn, "ENABLE")
            }
        }
    }
}

fn each_table(conn: &Connection, change: &str) -> Result<()> {
    tables(conn)?
        .iter()
        .try_for_each(|table| conn.execute_batch(&format!("ALTER TABLE {table} {change} TRIGGER USER")))
}
