//! What people did to the plan, and taking it back.
//!
//! While a person's change is made, temporary triggers note every row that it touches as it was before and after, whatever
//! function or trigger touched it. Taking it back puts the rows back, unless somebody changed them since. Columns that the
//! database or the store keeps by themselves follow from the others and are not noted.

pub(super) mod rows;

use std::collections::BTreeMap;

use rows::{CONTENT, Change, Column, Columns, TABLES, Table, USERS_MODEL, start, stop, value_of};
use serde::Serialize;
use serde_json::{Map, Value};

use super::sql::{Changes, Connection, Json, ReadResult, Row, Statements, bind, record};
use super::{Durability, Result, Store, StoreError, claims, notes, sources, status, task_changes};
use crate::event::TaskRef;
use crate::model::{Status, TaskId, Timestamp, names};

/// How many actions can be taken back.
const KEPT_ACTIONS: u32 = 100;

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
    /// What an edit changed, field by field.
    pub fields: Vec<FieldChange>,
    /// What a note says.
    pub note: Option<String>,
}

/// A field of a task that an edit changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldChange {
    /// The column.
    pub field: String,
    /// None for none, and for what is no text or number.
    pub before: Option<String>,
    pub after: Option<String>,
}

record!(PlanAction { id, at, action, tasks, fields = "changes" via fields, note = "changes" via note });

/// An action, without the rows it changed where they need not be told.
const ACTION: &str =
    "SELECT id, at, action, tasks, CASE WHEN action IN ('edit', 'note') THEN changes ELSE '[]' END AS changes
     FROM plan_actions";

fn fields(row: &Row<'_>, name: &str) -> ReadResult<Vec<FieldChange>> {
    let changes: Vec<Change> = row.get(name)?;
    let edited = changes.iter().filter(|change| change.before.is_some() && change.after.is_some());
    let told = edited.flat_map(|change| {
        let columns = change.columns().into_iter();
        let told = columns.filter(|column| match change.table.as_str() {
            "tasks" => CONTENT.contains(&column.as_str()),
            _ => change.is_choice_of_model() && column == USERS_MODEL,
        });
        told.map(|field| FieldChange {
            before: value_of(&change.before, &field),
            after: value_of(&change.after, &field),
            field,
        })
    });
    let mut told: Vec<FieldChange> = told.collect();
    let chosen = changes.iter().filter(|change| change.before.is_none() && change.is_choice_of_model());
    told.extend(chosen.map(|change| FieldChange {
        field: USERS_MODEL.to_owned(),
        before: None,
        after: value_of(&change.after, USERS_MODEL),
    }));
    Ok(told)
}

fn note(row: &Row<'_>, name: &str) -> ReadResult<Option<String>> {
    let changes: Vec<Change> = row.get(name)?;
    Ok(changes
        .iter()
        .find(|change| change.table == "notes")
        .and_then(|change| value_of(&change.after, "text")))
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
    let progress = left.clone().filter(|change| change.is_progress());
    let touched: Vec<TaskId> = progress.filter_map(Change::task).collect();
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
    tx.change(
        "DELETE FROM plan_actions WHERE id <= (SELECT max(id) FROM plan_actions) - ?1",
        [KEPT_ACTIONS],
    )?;
    Ok(value)
}

fn refs(tx: &Connection, tasks: &[TaskId]) -> Result<Vec<TaskRef>> {
    let mut refs = Vec::new();
    for id in tasks {
        refs.extend(tx.first::<TaskRef>("SELECT id, key, spec, name, title FROM tasks WHERE id = ?1", [id])?);
    }
    Ok(refs)
}

impl Store {
    /// What can be taken back, the newest first.
    pub fn plan_actions(&self, most: usize) -> Result<Vec<PlanAction>> {
        let sql = format!("{ACTION} ORDER BY id DESC LIMIT ?1");
        self.all(&sql, [i64::try_from(most).unwrap_or(i64::MAX)])
    }

    /// Takes back an action, the last one unless it is named. None where there is none.
    pub fn undo(&mut self, id: Option<i64>, now: Timestamp) -> Result<Option<PlanAction>> {
        self.write(Durability::Power, |tx| {
            let sql = format!("{ACTION} WHERE id = coalesce(:id, (SELECT max(id) FROM plan_actions))");
            let Some(action) = tx.first::<PlanAction>(&sql, bind! { id })? else { return Ok(None) };
            let attempts: String = tx.one("SELECT attempts FROM plan_actions WHERE id = ?1", [action.id])?;
            let mut changes: Vec<Change> =
                tx.one("SELECT changes FROM plan_actions WHERE id = ?1", [action.id])?;
            // Rows are put back in whatever order.
            tx.execute_batch(tx.either("PRAGMA defer_foreign_keys = ON", "SET CONSTRAINTS ALL DEFERRED"))?;
            refuse_attempted(tx, &attempts)?;
            if action.action == ActionKind::Edit {
                forget_side_effects(tx, &mut changes)?;
            }
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

/// What an edit did beside what the person asked for is left as it is where an attempt was made since.
fn forget_side_effects(tx: &Connection, changes: &mut Vec<Change>) -> Result<()> {
    let mut kept = Vec::new();
    for change in changes.drain(..) {
        let table = TABLES.iter().find(|table| table.name == change.table);
        let is_same = match table.filter(|_| change.is_side_effect()) {
            Some(table) => is_same(tx, table, &Columns::of(tx, table)?, &change)?,
            None => true,
        };
        if is_same {
            kept.push(change);
        }
    }
    *changes = kept;
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
            let put = tx.changed(&sql, bind! { before: change.before, key: change.key });
            put.map(drop).or_else(|error| cannot_put_back(error, change))?;
        }
    }
    update_derived(tx, changes, now)
}

/// Whether a row is still as the action left it.
fn is_same(tx: &Connection, table: &Table, columns: &Columns, change: &Change) -> Result<bool> {
    Ok(match &change.after {
        None => !tx.has(
            &format!("SELECT 1 FROM {} WHERE {}", table.name, columns.has_key()),
            bind! { key: change.key },
        )?,
        Some(after) => {
            let names = change.columns();
            let strict =
                columns.named(&names).filter(|column| !table.may_differ.contains(&column.name.as_str()));
            let equal = strict.map(|column| format!(" AND {}", column.is(&column.stored_in(":after"))));
            let equal: String = equal.collect();
            tx.has(
                &format!("SELECT 1 FROM {} WHERE {}{equal}", table.name, columns.has_key()),
                bind! { key: change.key, after },
            )?
        }
    })
}

/// Refuses where a row is no longer as the action left it.
fn refuse_changed(tx: &Connection, table: &Table, columns: &Columns, change: &Change) -> Result<()> {
    let is_same = is_same(tx, table, columns, change)?;
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
    let image: Map<String, Value> =
        change.before.as_deref().and_then(|image| serde_json::from_str(image).ok()).unwrap_or_default();
    // A column that is newer than the image gets its default.
    let is_written = |column: &&Column| image.contains_key(&column.name) && !(is_doc && column.name == "doc");
    let written = || columns.all.iter().filter(is_written);
    let names: Vec<&str> = written().map(|column| column.name.as_str()).collect();
    let values: Vec<String> = written().map(|column| column.stored_in(":before")).collect();
    let sql = format!("INSERT INTO {} ({}) SELECT {}", table.name, names.join(", "), values.join(", "));
    let before = change.before.clone().unwrap_or_default();
    let before = if table.name == "tasks" { with_free_position(tx, &before)? } else { before };
    let Some(id) = change.task().filter(|_| is_doc) else {
        return tx.changed(&sql, bind! { before }).map(drop).or_else(|error| cannot_put_back(error, change));
    };
    let doc: i64 = tx.one(&format!("{sql} RETURNING doc"), bind! { before })?;
    tx.change("UPDATE strategy_metrics SET doc = :doc WHERE task_id = :id", bind! { doc, id })
}

/// What was added since may have the key or the place that a row had.
fn cannot_put_back(error: StoreError, change: &Change) -> Result<()> {
    if !error.is_conflict() {
        return Err(error);
    }
    let keyed = change.field("key").filter(|_| change.columns().iter().any(|column| column == "key"));
    cannot(match keyed {
        Some(key) => format!("another task has the key {key} now"),
        None => {
            let what = change.field("title").unwrap_or_else(|| change.table.clone());
            format!("something else took the place of {what}")
        }
    })
}

/// A task that was added since may stand where the deleted one stood.
fn with_free_position(tx: &Connection, before: &str) -> Result<String> {
    let mut image: Map<String, Value> = serde_json::from_str(before).unwrap_or_default();
    let at = image.get("position").and_then(Value::as_f64).unwrap_or_default();
    if !tx.has("SELECT 1 FROM tasks WHERE position = ?1", [at])? {
        return Ok(before.to_owned());
    }
    image.insert("position".to_owned(), task_changes::next_position(tx, at)?.into());
    Ok(Value::Object(image).to_string())
}

/// What the store keeps by itself: failed ancestors, what parents rest on, which keys are shown with their spec.
fn update_derived(tx: &Connection, changes: &[Change], now: Timestamp) -> Result<()> {
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
