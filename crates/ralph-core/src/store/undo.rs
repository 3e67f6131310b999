//! What people did to the plan, and taking it back.
//!
//! While a person's change is made, temporary triggers note every row that it touches as it was before and after, whatever
//! function or trigger touched it. Taking it back puts the rows back, unless somebody changed them since. Columns that the
//! database or the store keeps by themselves follow from the others and are not noted.

use std::collections::{BTreeMap, HashMap};

use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::sql::{Changes, Json, Statements, bind, record};
use super::{Durability, Result, Store, StoreError, claims, notes, sources, status, task_changes};
use crate::event::TaskRef;
use crate::model::{Status, TaskId, Timestamp, names};

/// How many actions can be taken back.
const KEPT: u32 = 100;

names! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ActionKind {
        Add => "add",
        Edit => "edit",
        Done => "done",
        Fail => "fail",
        Skip => "skip",
        Reset => "reset",
        /// A blocked task may be attempted again.
        GoAhead => "go_ahead",
        Delete => "delete",
        AddDependency => "add_dependency",
        RemoveDependency => "remove_dependency",
        Note => "note",
    }
}

/// Something a person did to the plan. Serializes to a row of `ralph undo --list --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanAction {
    pub id: i64,
    pub at: Timestamp,
    pub action: ActionKind,
    /// The tasks that the person named, as they were called then.
    pub tasks: Vec<TaskRef>,
}

record!(PlanAction { id, at, action, tasks });

/// A table whose rows belong to the plan.
struct Table {
    name: &'static str,
    /// Columns that triggers or the store keep: they are never noted.
    kept: &'static [&'static str],
    /// Columns that others may change meanwhile without a contradiction.
    loose: &'static [&'static str],
}

const fn table(name: &'static str) -> Table {
    Table { name, kept: &[], loose: &[] }
}

/// In the order in which deleted rows are put back. Every table that belongs to tasks is among them; what is not noted of
/// `claims`, `due_boxes` and `gate_changes` follows from the others.
const TABLES: [Table; 25] = [
    Table {
        name: "tasks",
        kept: &["open_deps", "child_count", "open_children", "failed_ancestors", "spec_shown"],
        loose: &["updated_at"],
    },
    table("dependencies"),
    Table { name: "notes", kept: &[], loose: &["shown_in"] },
    table("strategy_metrics"),
    table("task_docs"),
    table("breaker"),
    table("breaker_streak"),
    table("iteration_outcomes"),
    table("failure_reports"),
    table("failure_entries"),
    Table { name: "learnings", kept: &[], loose: &[] },
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
];

/// The columns of a table that are noted, those of its key first in `key`.
struct Columns {
    all: Vec<Column>,
    key: Vec<Column>,
}

#[derive(Clone)]
struct Column {
    name: String,
    is_bytes: bool,
}

impl Columns {
    fn of(tx: &Connection, table: &Table) -> Result<Self> {
        let sql = "SELECT name, type = 'BLOB', pk FROM pragma_table_info(?1) ORDER BY pk, cid";
        let found: Vec<(String, bool, i64)> = tx.all(sql, [table.name])?;
        let of = |wanted: &dyn Fn(&str, i64) -> bool| {
            let found = found.iter().filter(|(name, _, pk)| wanted(name, *pk));
            found.map(|(name, is_bytes, _)| Column { name: name.clone(), is_bytes: *is_bytes }).collect()
        };
        Ok(Self { all: of(&|name, _| !table.kept.contains(&name)), key: of(&|_, pk| pk > 0) })
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
    fn has_key(&self) -> String {
        let equal = |(place, column): (usize, &Column)| {
            format!("{} IS {}", column.name, column.stored(":key", &format!("$[{place}]")))
        };
        self.key.iter().enumerate().map(equal).collect::<Vec<_>>().join(" AND ")
    }

    fn named<'c>(&'c self, names: &'c [String]) -> impl Iterator<Item = &'c Column> {
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

    /// The value that a parameter with JSON has at a path.
    fn stored(&self, json: &str, path: &str) -> String {
        match self.is_bytes {
            true => format!("unhex(json_extract({json}, '{path}.hex'))"),
            false => format!("json_extract({json}, '{path}')"),
        }
    }

    fn stored_in(&self, json: &str) -> String {
        self.stored(json, &format!("$.{}", self.name))
    }
}

/// A row that was changed, made (`before` is none) or deleted (`after` is none).
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Change {
    table: String,
    key: String,
    before: Option<String>,
    after: Option<String>,
}

record!(Change { table = "tab", key, before, after });

impl Change {
    /// The columns that it gave other values.
    fn columns(&self) -> Vec<String> {
        let fields = |image: &Option<String>| -> Map<String, Value> {
            image.as_deref().and_then(|image| serde_json::from_str(image).ok()).unwrap_or_default()
        };
        let (before, after) = (fields(&self.before), fields(&self.after));
        let differs = |name: &&String| before.get(*name) != after.get(*name);
        let names = if after.is_empty() { &before } else { &after };
        names.keys().filter(differs).cloned().collect()
    }

    fn field(&self, name: &str) -> Option<String> {
        let image = self.before.as_ref().or(self.after.as_ref())?;
        let image: Map<String, Value> = serde_json::from_str(image).ok()?;
        Some(image.get(name)?.as_str()?.to_owned())
    }

    /// The task whose row it is.
    fn task(&self) -> Option<TaskId> {
        let column = match self.table.as_str() {
            "tasks" => "id",
            "dependencies" => "blocked_id",
            "fix_attempts" => "original_id",
            _ => "task_id",
        };
        self.field(column).map(TaskId::from_stored)
    }
}

/// Makes a person's change and notes what it does. `tasks` are those that the person named; an added one is the change's
/// result.
pub(super) fn record<T>(
    tx: &Connection,
    action: ActionKind,
    tasks: &[TaskId],
    now: Timestamp,
    change: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let named = refs(tx, tasks)?;
    start(tx)?;
    let value = change()?;
    let changes = stop(tx)?;
    if changes.is_empty() {
        return Ok(value);
    }
    let left = changes.iter().filter(|change| change.table == "tasks" && change.after.is_some());
    let touched: Vec<TaskId> = left.clone().filter_map(Change::task).collect();
    let added = left.filter(|change| change.before.is_none()).filter_map(Change::task);
    let named = if named.is_empty() { refs(tx, &added.collect::<Vec<_>>())? } else { named };
    let mut attempts = BTreeMap::new();
    for id in &touched {
        attempts.insert(id.to_string(), claims::attempt_counts(tx, id)?.recorded);
    }
    tx.insert(
        "plan_actions",
        bind! {
            at: now, action, tasks: Json(named), attempts: Json(attempts), changes: Json(changes),
        },
    )?;
    tx.change("DELETE FROM plan_actions WHERE id <= (SELECT max(id) FROM plan_actions) - ?1", [KEPT])?;
    Ok(value)
}

fn refs(tx: &Connection, tasks: &[TaskId]) -> Result<Vec<TaskRef>> {
    let mut refs = Vec::new();
    for id in tasks {
        refs.extend(tx.first::<TaskRef>("SELECT id, key, spec, name, title FROM tasks WHERE id = ?1", [id])?);
    }
    Ok(refs)
}

/// Makes the triggers; they are gone with the transaction at the latest.
fn start(tx: &Connection) -> Result<()> {
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
    Ok(tx.execute_batch(&sql)?)
}

/// Ends the noting: each row once, in the order in which they were touched first.
fn stop(tx: &Connection) -> Result<Vec<Change>> {
    let noted: Vec<Change> = tx.all("SELECT * FROM undo_rows ORDER BY n", [])?;
    let mut sql = String::new();
    for table in &TABLES {
        for kind in ["added", "deleted", "changed"] {
            sql.push_str(&format!("DROP TRIGGER temp.undo_{}_{kind};", table.name));
        }
    }
    tx.execute_batch(&format!("{sql} DROP TABLE temp.undo_rows;"))?;
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

impl Store {
    /// What can be taken back, the newest first.
    pub fn plan_actions(&self, most: usize) -> Result<Vec<PlanAction>> {
        let sql = "SELECT id, at, action, tasks FROM plan_actions ORDER BY id DESC LIMIT ?1";
        self.all(sql, [i64::try_from(most).unwrap_or(i64::MAX)])
    }

    /// Takes back an action, the last one unless it is named. None where there is none.
    pub fn undo(&mut self, id: Option<i64>, now: Timestamp) -> Result<Option<PlanAction>> {
        self.write(Durability::Power, |tx| {
            let sql = "SELECT id, at, action, tasks FROM plan_actions
                 WHERE id = coalesce(:id, (SELECT max(id) FROM plan_actions))";
            let Some(action) = tx.first::<PlanAction>(sql, bind! { id })? else { return Ok(None) };
            let attempts: String = tx.one("SELECT attempts FROM plan_actions WHERE id = ?1", [action.id])?;
            let changes: Vec<Change> =
                tx.one("SELECT changes FROM plan_actions WHERE id = ?1", [action.id])?;
            // Rows are put back in whatever order.
            tx.execute_batch("PRAGMA defer_foreign_keys = ON")?;
            refuse_attempted(tx, &attempts)?;
            put_back(tx, &changes, now)?;
            tx.change("DELETE FROM plan_actions WHERE id = ?1", [action.id])?;
            Ok(Some(action))
        })
    }
}

fn cannot<T>(why: String) -> Result<T> {
    Err(StoreError::CannotUndo { why })
}

fn name_of(tx: &Connection, id: &TaskId) -> Result<String> {
    let name = tx.first("SELECT name FROM tasks WHERE id = ?1", [id])?;
    Ok(name.unwrap_or_else(|| id.to_string()))
}

/// Nothing is taken back of a task that is or was attempted since.
fn refuse_attempted(tx: &Connection, attempts: &str) -> Result<()> {
    let attempts: BTreeMap<String, u32> = serde_json::from_str(attempts).unwrap_or_default();
    for (id, recorded) in attempts {
        let id = TaskId::from_stored(id);
        claims::refuse_claimed(tx, &id)?;
        if claims::attempt_counts(tx, &id)?.recorded > recorded {
            return cannot(format!("{} was attempted since", name_of(tx, &id)?));
        }
    }
    Ok(())
}

fn put_back(tx: &Connection, changes: &[Change], now: Timestamp) -> Result<()> {
    let tables: Vec<(&Table, Columns)> = {
        let read = |table: &'static Table| Ok((table, Columns::of(tx, table)?));
        TABLES.iter().map(read).collect::<Result<_>>()?
    };
    let of_table = |change: &Change| tables.iter().find(|(table, _)| table.name == change.table);
    for change in changes {
        if let Some((table, columns)) = of_table(change) {
            refuse_changed(tx, table, columns, change)?;
        }
    }
    // What was made goes in the reverse order: a dependency before its tasks.
    for change in changes.iter().rev().filter(|change| change.before.is_none()) {
        if let Some((table, columns)) = of_table(change) {
            let sql = format!("DELETE FROM {} WHERE {}", table.name, columns.has_key());
            tx.change(&sql, bind! { key: change.key })?;
        }
    }
    // Tasks were deleted before their parents, so parents come back first.
    for (table, columns) in &tables {
        let deleted = changes.iter().rev().filter(|change| change.table == table.name);
        for change in deleted.filter(|change| change.after.is_none()) {
            insert(tx, table, columns, change)?;
        }
    }
    for change in changes.iter().filter(|change| change.before.is_some() && change.after.is_some()) {
        if let Some((table, columns)) = of_table(change) {
            let names = change.columns();
            let set = columns.named(&names).filter(|column| column.name != "updated_at");
            let set: Vec<String> =
                set.map(|column| format!("{} = {}", column.name, column.stored_in(":before"))).collect();
            let sql = format!("UPDATE {} SET {} WHERE {}", table.name, set.join(", "), columns.has_key());
            tx.change(&sql, bind! { before: change.before, key: change.key })?;
        }
    }
    keep_in_order(tx, changes, now)
}

/// Refuses where a row is no longer as the action left it.
fn refuse_changed(tx: &Connection, table: &Table, columns: &Columns, change: &Change) -> Result<()> {
    let is_same = match &change.after {
        None => !tx.has(
            &format!("SELECT 1 FROM {} WHERE {}", table.name, columns.has_key()),
            bind! { key: change.key },
        )?,
        Some(after) => {
            let names = change.columns();
            let strict = columns.named(&names).filter(|column| !table.loose.contains(&column.name.as_str()));
            let equal =
                strict.map(|column| format!(" AND {} IS {}", column.name, column.stored_in(":after")));
            let equal: String = equal.collect();
            tx.has(
                &format!("SELECT 1 FROM {} WHERE {}{equal}", table.name, columns.has_key()),
                bind! { key: change.key, after },
            )?
        }
    };
    // The index of similar tasks gives numbers of deleted ones to others; a task gets another number then.
    let gets_another = table.name == "task_docs" && change.after.is_none();
    if !(is_same || gets_another) {
        return cannot(why_changed(tx, change)?);
    }
    match (table.name, &change.before) {
        ("notes", None) => notes::refuse_shown(tx, change.key.trim_matches(['[', ']']).parse().unwrap_or(0)),
        ("tasks", None) => refuse_in_use(tx, change),
        _ => Ok(()),
    }
}

fn why_changed(tx: &Connection, change: &Change) -> Result<String> {
    let name = change.task().map(|id| name_of(tx, &id)).transpose()?.unwrap_or_default();
    Ok(match (change.table.as_str(), &change.after) {
        ("breaker" | "breaker_streak", _) => "the circuit breaker changed since".to_owned(),
        ("strategy_metrics", _) => format!("{name} was attempted since"),
        ("notes", _) => format!("the note on {name} no longer exists"),
        ("dependencies", _) => format!("what {name} depends on changed since"),
        ("source_gone", _) => "the plan file was imported again since".to_owned(),
        ("tasks", Some(_)) => format!("{name} changed since"),
        _ => format!("the record of {name} changed since"),
    })
}

/// An added task stays where others rely on it.
fn refuse_in_use(tx: &Connection, change: &Change) -> Result<()> {
    let Some(id) = change.task() else { return Ok(()) };
    let used = [
        ("it has subtasks", "SELECT 1 FROM tasks WHERE parent_id = ?1"),
        ("another task depends on it", "SELECT 1 FROM dependencies WHERE blocker_id = ?1"),
        ("it has notes", "SELECT 1 FROM notes WHERE task_id = ?1"),
        ("it is in a plan file now", "SELECT 1 FROM task_sources WHERE task_id = ?1"),
        ("it has fix tasks", "SELECT 1 FROM fixes WHERE original_id = ?1"),
    ];
    for (why, sql) in used {
        if tx.has(sql, [&id])? {
            return cannot(format!("{why} ({})", name_of(tx, &id)?));
        }
    }
    Ok(())
}

fn insert(tx: &Connection, table: &Table, columns: &Columns, change: &Change) -> Result<()> {
    let is_doc = table.name == "task_docs";
    let written = || columns.all.iter().filter(|column| !(is_doc && column.name == "doc"));
    let names: Vec<&str> = written().map(|column| column.name.as_str()).collect();
    let values: Vec<String> = written().map(|column| column.stored_in(":before")).collect();
    let sql = format!("INSERT INTO {} ({}) SELECT {}", table.name, names.join(", "), values.join(", "));
    let before = change.before.clone().unwrap_or_default();
    let before = if table.name == "tasks" { with_free_position(tx, &before)? } else { before };
    if let Err(error) = tx.change(&sql, bind! { before }) {
        let StoreError::Engine { source, .. } = &error else { return Err(error) };
        return match source.sqlite_error_code() {
            Some(rusqlite::ErrorCode::ConstraintViolation) => cannot(format!(
                "something else took the place of {}",
                change.field("key").or(change.field("title")).unwrap_or_else(|| change.table.clone())
            )),
            _ => Err(error),
        };
    }
    match change.task().filter(|_| is_doc) {
        Some(id) => {
            let doc = tx.last_insert_rowid();
            tx.change("UPDATE strategy_metrics SET doc = :doc WHERE task_id = :id", bind! { doc, id })
        }
        None => Ok(()),
    }
}

/// A task that was added since may stand where the deleted one stood.
fn with_free_position(tx: &Connection, before: &str) -> Result<String> {
    let taken = "SELECT 1 FROM tasks WHERE position = json_extract(?1, '$.position')";
    if !tx.has(taken, [before])? {
        return Ok(before.to_owned());
    }
    let at: f64 = tx.one("SELECT json_extract(?1, '$.position')", [before])?;
    let free = task_changes::next_position(tx, at)?;
    tx.one("SELECT json_set(:before, '$.position', :free)", bind! { before, free })
}

/// What the store keeps by itself: failed ancestors, what parents rest on, which keys are shown with their spec.
fn keep_in_order(tx: &Connection, changes: &[Change], now: Timestamp) -> Result<()> {
    let of_tasks = || changes.iter().filter(|change| change.table == "tasks");
    let touched: Vec<TaskId> =
        of_tasks().filter(|change| change.before.is_some()).filter_map(Change::task).collect();
    let changed = |name: &str| of_tasks().any(|change| change.columns().iter().any(|one| one == name));
    let has_dependencies = changes.iter().any(|change| change.table == "dependencies");
    if has_dependencies || changed("parent_id") {
        status::refuse_any_cycle(tx)?;
    }
    status::count_failed_ancestors(tx, &touched)?;
    let mut open = Vec::new();
    for id in &touched {
        task_changes::touch(tx, id, now)?;
        status::verify_above(tx, id)?;
        let status: Status = tx.one("SELECT status FROM tasks WHERE id = ?1", [id])?;
        if !status.satisfies() {
            open.push(id.clone());
        }
    }
    status::reopen_ancestors(tx, &open, now)?;
    if changed("key") {
        sources::show_specs(tx)?;
    }
    status::settle(tx, now)
}
