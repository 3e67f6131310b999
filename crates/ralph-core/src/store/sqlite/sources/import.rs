//! Taking a plan in: all of it or nothing.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, params};

use super::fields::{edit_of, look_of, named, new_of};
use super::link::{has_other_tasks, link, put_in_order};
use super::ticks::{Word, is_unproven, take_parents_word, take_word, tick_of};
use crate::model::{DoneBy, Status, Task, TaskEdit, TaskId, Timestamp};
use crate::plan_files::DraftTask;
use crate::store::sqlite::{Refusal, change, fixes, rows, status};
use crate::store::{GateEdit, Hand, ImportReport, ImportRequest, ImportedTask, Random, Tick};

/// A task of the file as it was known before.
pub(super) struct Before {
    pub(super) id: TaskId,
    pub(super) tick: Tick,
    pub(super) digest: String,
    pub(super) after: Vec<String>,
    /// The file has another gate for it, which waits for a person's import.
    pub(super) waiting: Option<Waiting>,
}

/// A gate that an agent may have written, or none where it may have removed it.
type Waiting = Option<String>;

pub(super) fn import(
    tx: &Connection,
    request: &ImportRequest<'_>,
    now: Timestamp,
    random: Random<'_>,
) -> std::result::Result<ImportReport, Refusal> {
    let source = source_of(tx, request, now)?;
    let before = known_of(tx, source)?;
    let gone = gone(tx, source, request.asked_for)?;
    let mut report = ImportReport::default();
    let mut place: f64 = tx
        .prepare_cached("SELECT coalesce(max(position), 0) FROM tasks")?
        .query_row([], |row| row.get(0))?;
    // In an empty plan nobody can have a name already.
    let is_first = !has_other_tasks(tx, 0)?;
    let mut ids: HashMap<&str, TaskId> = HashMap::new();
    let mut touched: HashSet<&str> = HashSet::new();
    for task in &request.draft.tasks {
        let name = task.name.as_str();
        if gone.contains(name) {
            continue;
        }
        let look = look_of(task);
        let mut waiting: Option<Waiting> = None;
        let id = match before.get(name) {
            Some(known) => {
                let imported = known.waiting.is_some() && request.asked_for;
                waiting = known.waiting.clone().filter(|_| !imported);
                // What Ralph itself put into the file is remembered without a look, and is what it is.
                if known.digest != look && !known.digest.is_empty() || imported {
                    let mut edit = edit_of(task);
                    let changed = gate_edit(tx, &known.id, task, &edit)?;
                    // An agent must not change the gate that judges it.
                    let by_person = request.hand == Hand::Person && waiting.is_none();
                    if !by_person {
                        edit.verify = None;
                        waiting = changed.as_ref().map(|gate| gate.after.clone());
                        let is_new = waiting.is_some() && waiting != known.waiting;
                        report.gates_waiting.extend(changed.filter(|_| is_new));
                    } else {
                        report.gates_changed.extend(changed);
                    }
                    change::change(tx, &known.id, &edit, now)?;
                    touched.insert(name);
                }
                known.id.clone()
            }
            None if is_first => {
                place += 1.0;
                let id = change::add_at(tx, &new_of(task), place, now, random)?;
                report.added.push(named(&id, task));
                id
            }
            None if request.hand != Hand::Person && adopted(tx, name)?.is_some() => continue,
            None if let Some(id) = unfiled(tx, name)? => id,
            None => match adopted(tx, name)? {
                Some(id) => {
                    let mut edit = edit_of(task);
                    let changed = gate_edit(tx, &id, task, &edit)?;
                    // An agent may have written the line in an earlier attempt.
                    if request.asked_for {
                        report.gates_changed.extend(changed);
                    } else {
                        edit.verify = None;
                        waiting = changed.as_ref().map(|gate| gate.after.clone());
                        report.gates_waiting.extend(changed);
                    }
                    change::change(tx, &id, &edit, now)?;
                    report.updated.push(named(&id, task));
                    id
                }
                None => {
                    let id = change::add(tx, &new_of(task), now, random)?;
                    report.added.push(named(&id, task));
                    id
                }
            },
        };
        tx.prepare_cached(
            "INSERT INTO task_sources (task_id, source_id, name, ticked, digest, after, gate_waits, waiting_gate)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (task_id) DO UPDATE SET digest = excluded.digest, after = excluded.after,
                 gate_waits = excluded.gate_waits, waiting_gate = excluded.waiting_gate,
                 -- Of a task under way the file's word is not taken yet.
                 ticked = CASE WHEN excluded.ticked > 0 AND task_id IN (SELECT task_id FROM claims)
                     THEN ticked ELSE excluded.ticked END",
        )?
        .execute(params![
            id.as_str(),
            source,
            name,
            tick_of(tx, task, before.get(name), &id, &request.hand)?.code(),
            look,
            rows::to_json(&task.after),
            waiting.is_some(),
            waiting.flatten()
        ])?;
        ids.insert(name, id);
    }
    link(tx, request, &before, &ids, &mut touched, now)?;
    if !is_first {
        put_in_order(tx, request.draft, &ids)?;
    }
    fixes::import(tx, request.draft, request.fixes, &ids)?;
    let mut parents = Vec::new();
    for task in &request.draft.tasks {
        let Some(id) = ids.get(task.name.as_str()) else {
            continue;
        };
        let known = before.get(task.name.as_str());
        let believed = request.hand == Hand::Person || known.is_none();
        if !believed {
            if is_unproven(tx, id)? && known.is_some_and(|known| known.tick == Tick::Open) {
                report.unproven.push(named(id, task));
            }
        } else {
            match take_word(tx, id, task, known, &request.hand, now)? {
                Word::Taken if known.is_some() => report.finished.push(named(id, task)),
                // In a file that is new the open boxes below say as much as the ticked one above them.
                Word::OpenChildren if known.is_some() => parents.push((id, task)),
                Word::Taken | Word::OpenChildren | Word::Nothing => {}
            }
        }
        if known.is_some() && touched.contains(task.name.as_str()) {
            report.updated.push(named(id, task));
        } else if known.is_some() {
            report.unchanged += 1;
        }
    }
    // The innermost first: a ticked child is done, not left out for its parent's sake.
    for (id, task) in parents.into_iter().rev() {
        if take_parents_word(tx, id, task, now)? {
            report.finished.push(named(id, task));
        }
    }
    status::settle(tx, now)?;
    let now_at = standings(tx, source)?;
    for list in [&mut report.added, &mut report.updated, &mut report.finished] {
        for task in list {
            if let Some(standing) = now_at.get(&task.id) {
                (task.status, task.verified, task.done_by) = *standing;
            }
        }
    }
    report.without_gate = without_gate(tx, source)?;
    report.removed = removed(tx, &before, &ids)?;
    Ok(report)
}

/// The gates of a task before and after a change; none where they are the same.
fn gate_edit(
    tx: &Connection,
    id: &TaskId,
    task: &DraftTask,
    edit: &TaskEdit,
) -> std::result::Result<Option<GateEdit>, Refusal> {
    let before = change::known(tx, id)?.verify;
    let after = edit.verify.clone().flatten();
    let ImportedTask { id, name, .. } = named(id, task);
    Ok((before != after).then_some(GateEdit {
        id,
        name,
        before,
        after,
    }))
}

fn source_of(
    tx: &Connection,
    request: &ImportRequest<'_>,
    now: Timestamp,
) -> rusqlite::Result<i64> {
    tx.prepare_cached(
        "INSERT INTO sources (path, format, imported_at, digest) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (path) DO UPDATE SET format = excluded.format, imported_at = excluded.imported_at,
             digest = excluded.digest
         RETURNING id",
    )?
    .query_row(
        params![request.path, request.format, now.to_string(), request.digest],
        |row| row.get(0),
    )
}

/// What a person deleted from the plan though the file has it; forgotten where a person asks for the file anew.
fn gone(tx: &Connection, source: i64, asked_for: bool) -> rusqlite::Result<HashSet<String>> {
    if asked_for {
        tx.prepare_cached("DELETE FROM source_gone WHERE source_id = ?1")?
            .execute([source])?;
    }
    tx.prepare_cached("SELECT name FROM source_gone WHERE source_id = ?1")?
        .query_map([source], |row| row.get(0))?
        .collect()
}

fn known_of(tx: &Connection, source: i64) -> rusqlite::Result<HashMap<String, Before>> {
    tx.prepare_cached(
        "SELECT name, task_id, ticked, digest, after, gate_waits, waiting_gate FROM task_sources WHERE source_id = ?1",
    )?
    .query_map([source], |row| {
        Ok((
            row.get::<_, String>(0)?,
            Before {
                id: TaskId::from_stored(row.get::<_, String>(1)?),
                tick: Tick::from_code(row.get(2)?),
                digest: row.get(3)?,
                after: rows::json_list(&row.get::<_, String>(4)?),
                waiting: match row.get(5)? {
                    true => Some(row.get(6)?),
                    false => None,
                },
            },
        ))
    })?
    .collect()
}

/// A task of that name that Ralph put into the file and was killed before it could note so.
fn unfiled(tx: &Connection, name: &str) -> rusqlite::Result<Option<TaskId>> {
    tx.prepare_cached(
        "SELECT id FROM tasks t WHERE key = ?1
             AND NOT EXISTS (SELECT 1 FROM task_sources s WHERE s.task_id = t.id)
             AND (EXISTS (SELECT 1 FROM fixes f WHERE f.task_id = t.id)
                  OR EXISTS (SELECT 1 FROM changed_in i WHERE i.task_id = t.id))",
    )?
    .query_row([name], |row| row.get::<_, String>(0))
    .optional()
    .map(|id| id.map(TaskId::from_stored))
}

/// A task of that name that came from no file: it is the file's from now on.
fn adopted(tx: &Connection, name: &str) -> rusqlite::Result<Option<TaskId>> {
    tx.prepare_cached(
        "SELECT id FROM tasks t WHERE (key = ?1 OR id = ?1)
             AND NOT EXISTS (SELECT 1 FROM task_sources s WHERE s.task_id = t.id)
             AND NOT EXISTS (SELECT 1 FROM fixes f WHERE f.task_id = t.id)
             AND NOT EXISTS (SELECT 1 FROM changed_in i WHERE i.task_id = t.id)",
    )?
    .query_row([name], |row| row.get::<_, String>(0))
    .optional()
    .map(|id| id.map(TaskId::from_stored))
}

type Standing = (Status, bool, Option<DoneBy>);

fn standings(tx: &Connection, source: i64) -> rusqlite::Result<HashMap<TaskId, Standing>> {
    tx.prepare_cached(
        "SELECT t.id, t.status, t.verified, t.done_by FROM task_sources s JOIN tasks t ON t.id = s.task_id
         WHERE s.source_id = ?1",
    )?
    .query_map([source], |row| {
        let id = TaskId::from_stored(row.get::<_, String>(0)?);
        let by: Option<String> = row.get(3)?;
        let by = by.as_deref().and_then(DoneBy::parse);
        Ok((id, (rows::status(row, 1)?, row.get(2)?, by)))
    })?
    .collect()
}

/// How many open tasks of the file have no gate of their own. Parents are done by their children.
fn without_gate(tx: &Connection, source: i64) -> rusqlite::Result<u64> {
    tx.prepare_cached(
        "SELECT count(*) FROM task_sources s JOIN tasks t ON t.id = s.task_id
         WHERE s.source_id = ?1 AND t.verify IS NULL AND t.child_count = 0
             AND t.status IN ('pending', 'in_progress', 'blocked')",
    )?
    .query_row([source], |row| row.get(0))
}

/// Tasks that the file had and has no more.
fn removed(
    tx: &Connection,
    before: &HashMap<String, Before>,
    ids: &HashMap<&str, TaskId>,
) -> std::result::Result<Vec<ImportedTask>, Refusal> {
    let mut removed = Vec::new();
    for (name, known) in before {
        if !ids.contains_key(name.as_str()) {
            let task: Task = change::known(tx, &known.id)?;
            removed.push(ImportedTask {
                name: task.name().to_owned(),
                id: task.id,
                title: task.title,
                status: task.status,
                verified: task.verified,
                done_by: task.done_by,
            });
        }
    }
    removed.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(removed)
}
