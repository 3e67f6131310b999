//! Rows that a person's change touches, as they were before and after: noted by triggers, as JSON. In SQLite they are made for
//! the occasion; a server has them all the time, and they note nothing unless they are told to.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::TaskId;
use crate::store::Result;
use crate::store::connection::Dialect;
use crate::store::sql::{Changes, Connection, Statements, record};

/// Columns of a task that say what it is, and nothing of how far it is: an attempt that was made since does not depend on
/// them.
pub const CONTENT: [&str; 14] = [
    "title",
    "description",
    "done_when",
    "verify",
    "files",
    "protect",
    "may_change",
    "model",
    "priority",
    "key",
    "phase",
    "commit_message",
    "markers",
    "updated_at",
];
/// The model that a person chose for the next attempt, in `strategy_metrics`.
pub const USERS_MODEL: &str = "users_model";

/// A table whose rows belong to the plan.
pub struct Table {
    pub name: &'static str,
    /// Columns that triggers or the store maintain: they are never noted.
    pub maintained: &'static [&'static str],
    /// Columns that others may change meanwhile without a contradiction.
    pub may_differ: &'static [&'static str],
}

const fn table(name: &'static str) -> Table {
    Table { name, maintained: &[], may_differ: &[] }
}

/// In the order in which deleted rows are put back. Every table that belongs to tasks is among them, except [`NOT_NOTED`].
pub const TABLES: [Table; 27] = [
    Table {
        name: "tasks",
        maintained: &["open_deps", "child_count", "open_children", "failed_ancestors", "spec_shown"],
        may_differ: &["updated_at"],
    },
    table("dependencies"),
    Table { name: "notes", maintained: &[], may_differ: &["shown_in"] },
    table("strategy_metrics"),
    table("task_docs"),
    table("breaker"),
    table("breaker_streak"),
    table("iteration_outcomes"),
    table("failure_reports"),
    table("attempt_outputs"),
    table("failure_entries"),
    table("learnings"),
    table("learning_uses"),
    table("learning_verdicts"),
    table("task_sources"),
    table("source_gone"),
    table("fixes"),
    table("fix_attempts"),
    table("fix_ends"),
    table("plan_changes"),
    table("changed_in"),
    table("task_baselines"),
    table("made_files"),
    table("left_work"),
    table("first_looks"),
    table("task_logs"),
    table("conflicts"),
];

/// What belongs to tasks and is not noted: it follows from the rest, or belongs to an attempt under way.
#[cfg(test)]
pub const NOT_NOTED: [&str; 4] = ["claims", "due_boxes", "gate_changes", "kept_files"];

/// The columns of a table that are noted, those of its key first in `key`.
pub struct Columns {
    pub all: Vec<Column>,
    pub key: Vec<Column>,
}

#[derive(Clone)]
pub struct Column {
    pub name: String,
    is_bytes: bool,
    /// The type as the engine calls it.
    kind: String,
    dialect: Dialect,
}

const COLUMNS: &str = "SELECT name, pk, type = 'BLOB', type FROM pragma_table_info(?1) ORDER BY pk, cid";
const COLUMNS_ON_SERVER: &str =
    "SELECT a.attname::text, coalesce(array_position(i.indkey::int2[], a.attnum) + 1, 0) AS pk,
         a.atttypid = 'bytea'::regtype, format_type(a.atttypid, NULL)
     FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
     WHERE a.attrelid = to_regclass(?1) AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
         AND a.attname <> 'rowid'
     ORDER BY pk, a.attnum";

impl Columns {
    pub fn of(tx: &Connection, table: &Table) -> Result<Self> {
        let dialect = tx.dialect();
        let found: Vec<(String, i64, (bool, String))> =
            tx.all(tx.either(COLUMNS, COLUMNS_ON_SERVER), [table.name])?;
        let of = |wanted: &dyn Fn(&str, i64) -> bool| {
            let found = found.iter().filter(|(name, pk, _)| wanted(name, *pk));
            let column = |(name, _, (is_bytes, kind)): &(String, i64, (bool, String))| Column {
                name: name.clone(),
                is_bytes: *is_bytes,
                kind: kind.clone(),
                dialect,
            };
            found.map(column).collect()
        };
        Ok(Self { all: of(&|name, _| !table.maintained.contains(&name)), key: of(&|_, pk| pk > 0) })
    }

    /// A row, called `old` or `new`, as JSON.
    fn image(&self, row: &str) -> String {
        let pairs = self.all.iter().map(|column| format!("'{}', {}", column.name, column.json(row)));
        format!("json_object({})", pairs.collect::<Vec<_>>().join(", "))
    }

    fn key_of(&self, row: &str) -> String {
        let values = self.key.iter().map(|column| column.json(row));
        format!("json_array({})", values.collect::<Vec<_>>().join(", "))
    }

    /// A condition for the row with the key `:key`.
    pub fn has_key(&self) -> String {
        let equal =
            |(place, column): (usize, &Column)| column.is(&column.stored(":key", &format!("{place}")));
        self.key.iter().enumerate().map(equal).collect::<Vec<_>>().join(" AND ")
    }

    pub fn named<'c>(&'c self, names: &'c [String]) -> impl Iterator<Item = &'c Column> {
        self.all.iter().filter(|column| names.contains(&column.name))
    }
}

impl Column {
    /// JSON has no bytes.
    fn json(&self, row: &str) -> String {
        let value = format!("{row}.{}", self.name);
        match self.is_bytes {
            true => format!("json(iif({value} IS NULL, 'null', json_object('hex', hex({value}))))"),
            false => value,
        }
    }

    /// The value that a parameter with JSON has in a field, or at a place of a list.
    fn stored(&self, json: &str, field: &str) -> String {
        let path = match field.parse::<usize>() {
            Ok(place) => format!("$[{place}]"),
            Err(_) => format!("$.{field}"),
        };
        match (self.dialect, self.is_bytes) {
            (Dialect::Sqlite, true) => format!("unhex(json_extract({json}, '{path}.hex'))"),
            (Dialect::Sqlite, false) => format!("json_extract({json}, '{path}')"),
            (Dialect::Postgres, true) => {
                format!("decode(CAST(CAST({json} AS TEXT) AS json) #>> '{{{field},hex}}', 'hex')")
            }
            (Dialect::Postgres, false) => {
                format!("CAST(CAST(CAST({json} AS TEXT) AS json) #>> '{{{field}}}' AS {})", self.kind)
            }
        }
    }

    pub fn stored_in(&self, json: &str) -> String {
        self.stored(json, &self.name)
    }

    /// A condition: it has this value, or none as that.
    pub fn is(&self, value: &str) -> String {
        match self.dialect {
            // An index serves this.
            Dialect::Sqlite => format!("{} IS {value}", self.name),
            Dialect::Postgres => format!("{} IS NOT DISTINCT FROM {value}", self.name),
        }
    }

    /// A value as a server makes JSON of it, in the form that is kept.
    fn kept(&self, image: &Map<String, Value>) -> Value {
        match image.get(&self.name) {
            Some(Value::String(bytes)) if self.is_bytes => {
                serde_json::json!({ "hex": bytes.trim_start_matches("\\x").to_uppercase() })
            }
            value => value.cloned().unwrap_or_default(),
        }
    }
}

/// A row that was changed, made (`before` is none) or deleted (`after` is none).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Change {
    pub table: String,
    pub key: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

record!(Change { table = "tab", key, before, after });

impl Change {
    /// The columns that it gave other values.
    pub fn columns(&self) -> Vec<String> {
        let fields = |image: &Option<String>| -> Map<String, Value> {
            image.as_deref().and_then(|image| serde_json::from_str(image).ok()).unwrap_or_default()
        };
        let (before, after) = (fields(&self.before), fields(&self.after));
        let differs = |name: &&String| before.get(*name) != after.get(*name);
        let names = if after.is_empty() { &before } else { &after };
        names.keys().filter(differs).cloned().collect()
    }

    pub fn field(&self, name: &str) -> Option<String> {
        value_of(if self.before.is_some() { &self.before } else { &self.after }, name)
    }

    /// Whether it says how far a task is, so that an attempt that was made since depends on it.
    pub fn is_progress(&self) -> bool {
        match self.table.as_str() {
            "tasks" => {
                self.before.is_none() || self.columns().iter().any(|one| !CONTENT.contains(&one.as_str()))
            }
            _ => false,
        }
    }

    pub fn is_choice_of_model(&self) -> bool {
        self.table == "strategy_metrics" && self.columns().iter().any(|column| column == USERS_MODEL)
    }

    /// Whether an edit made it beside what the person asked for: the task gets all its attempts again.
    pub fn is_side_effect(&self) -> bool {
        match self.table.as_str() {
            "strategy_metrics" => !self.is_choice_of_model(),
            table => matches!(table, "breaker" | "breaker_streak"),
        }
    }

    /// The task whose row it is.
    pub fn task(&self) -> Option<TaskId> {
        let column = match self.table.as_str() {
            "tasks" => "id",
            "dependencies" => "blocked_id",
            "fix_attempts" => "original_id",
            _ => "task_id",
        };
        self.field(column).map(TaskId::from_stored)
    }
}

/// A text or number in the image of a row.
pub fn value_of(image: &Option<String>, name: &str) -> Option<String> {
    let image: Map<String, Value> = serde_json::from_str(image.as_deref()?).ok()?;
    match image.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Begins to note rows; it ends with the transaction at the latest.
pub fn start(tx: &Connection) -> Result<()> {
    match tx.dialect() {
        Dialect::Sqlite => make_triggers(tx),
        Dialect::Postgres => tx.execute_batch("SET LOCAL ralph.noting TO 'on'"),
    }
}

fn make_triggers(tx: &Connection) -> Result<()> {
    let mut sql = String::from(
        "CREATE TEMP TABLE undo_rows (n INTEGER PRIMARY KEY, tab TEXT, key TEXT, before TEXT, after TEXT);",
    );
    for table in &TABLES {
        let columns = Columns::of(tx, table)?;
        let name = table.name;
        let (old, new) = (columns.image("old"), columns.image("new"));
        let note = |row: &str, before: &str, after: &str| {
            let key = columns.key_of(row);
            format!(
                "BEGIN INSERT INTO undo_rows (tab, key, before, after) VALUES ('{name}', {key}, {before}, {after}); END;"
            )
        };
        let strict = columns.all.iter().filter(|column| column.name != "updated_at");
        let differs = |column: &Column| format!("old.{0} IS NOT new.{0}", column.name);
        let differs = strict.map(differs).collect::<Vec<_>>().join(" OR ");
        sql.push_str(&format!(
            "CREATE TEMP TRIGGER undo_{name}_added AFTER INSERT ON main.{name} {}
             CREATE TEMP TRIGGER undo_{name}_deleted AFTER DELETE ON main.{name} {}
             CREATE TEMP TRIGGER undo_{name}_changed AFTER UPDATE ON main.{name} WHEN {differs} {}",
            note("new", "NULL", &new),
            note("old", &old, "NULL"),
            note("new", &old, &new)
        ));
    }
    tx.execute_batch(&sql)
}

/// Ends the noting: each row once, in the order in which they were touched first.
pub fn stop(tx: &Connection) -> Result<Vec<Change>> {
    let noted = match tx.dialect() {
        Dialect::Sqlite => drop_triggers(tx)?,
        Dialect::Postgres => noted_by_server(tx)?,
    };
    let mut places: HashMap<(String, String), usize> = HashMap::new();
    let mut changes: Vec<Change> = Vec::new();
    for change in noted {
        let key = (change.table.clone(), change.key.clone());
        match places.get(&key).and_then(|place| changes.get_mut(*place)) {
            Some(earlier) => earlier.after = change.after,
            None => {
                places.insert(key, changes.len());
                changes.push(change);
            }
        }
    }
    changes.retain(|change| change.before != change.after);
    Ok(changes)
}

fn drop_triggers(tx: &Connection) -> Result<Vec<Change>> {
    let noted = tx.all("SELECT * FROM undo_rows ORDER BY n", [])?;
    let mut sql = String::new();
    for table in &TABLES {
        for kind in ["added", "deleted", "changed"] {
            sql.push_str(&format!("DROP TRIGGER temp.undo_{}_{kind};", table.name));
        }
    }
    tx.execute_batch(&format!("{sql} DROP TABLE temp.undo_rows;"))?;
    Ok(noted)
}

/// The rows that triggers noted, with the columns that SQLite's note.
fn noted_by_server(tx: &Connection) -> Result<Vec<Change>> {
    tx.execute_batch("SET LOCAL ralph.noting TO 'off'")?;
    let noted: Vec<(String, Option<String>, Option<String>)> =
        tx.all("SELECT tab, before, after FROM undo_rows ORDER BY n", [])?;
    tx.change("DELETE FROM undo_rows", [])?;
    let mut columns: HashMap<&str, Columns> = HashMap::new();
    let mut changes = Vec::new();
    for (name, before, after) in noted {
        let Some(table) = TABLES.iter().find(|table| table.name == name) else { continue };
        if !columns.contains_key(table.name) {
            columns.insert(table.name, Columns::of(tx, table)?);
        }
        let Some(columns) = columns.get(table.name) else { continue };
        let read =
            |image: Option<String>| -> Option<Map<String, Value>> { serde_json::from_str(&image?).ok() };
        let (before, after) = (read(before), read(after));
        let Some(row) = after.as_ref().or(before.as_ref()) else { continue };
        let key: Vec<Value> = columns.key.iter().map(|column| column.kept(row)).collect();
        let image = |row: &Map<String, Value>| -> Map<String, Value> {
            columns.all.iter().map(|column| (column.name.clone(), column.kept(row))).collect()
        };
        let (before, after) = (before.as_ref().map(image), after.as_ref().map(image));
        let differs = |column: &Column| {
            let value = |row: &Option<Map<String, Value>>| {
                row.as_ref().and_then(|row| row.get(&column.name).cloned())
            };
            column.name != "updated_at" && value(&before) != value(&after)
        };
        if columns.all.iter().any(differs) {
            let text =
                |image: Option<Map<String, Value>>| image.map(|image| Value::Object(image).to_string());
            let key = Value::Array(key).to_string();
            changes.push(Change { table: name, key, before: text(before), after: text(after) });
        }
    }
    Ok(changes)
}
