//! Importing a plan: all of it or nothing.

use std::collections::{HashMap, HashSet};

use super::boxes::{Word, take_parents_word, take_word, tick_of};
use super::link::{Known, has_other_tasks, link, put_in_order};
use super::specs::{KeySpace, name_specs, show_specs};
use super::{Author, GateEdit, ImportReport, ImportRequest, ImportedTask, ReplacedTask, Tick};
use crate::files::digest;
use crate::model::{Key, NewTask, Phase, Status, Task, TaskId, Timestamp};
use crate::plan::{DraftTask, Format};
use crate::store::sql::{Changes, Connection, Json, ReadResult, Row, Statements, bind, record};
use crate::store::{Random, Result, StoreError, fixes, plan, status, task_changes};
use crate::text::neutral::without_live_signals;

/// A task of the file as it was known before.
pub(super) struct Before {
    pub id: TaskId,
    pub tick: Tick,
    /// Of what the file said about the task; empty where Ralph itself put the task into the file.
    digest: String,
    pub after: Vec<String>,
    /// The file has another gate for it, which waits for a person's import.
    waiting: Option<WaitingGate>,
}

type WaitingGate = Option<String>;

#[derive(Default)]
struct Lists {
    added: Vec<TaskId>,
    updated: Vec<TaskId>,
    finished: Vec<TaskId>,
    unproven: Vec<TaskId>,
    unchanged: usize,
}

pub(super) fn import(
    tx: &Connection,
    request: &ImportRequest<'_>,
    now: Timestamp,
    random: Random<'_>,
) -> Result<ImportReport> {
    let source = source_of(tx, request, now)?;
    let keys = KeySpace::of(tx, Some(source))?;
    let mut before: HashMap<String, Before> =
        tx.all("SELECT name, * FROM task_sources WHERE source_id = ?1", [source])?;
    let digests: Vec<String> = request.draft.tasks.iter().map(digest_of).collect();
    let replaced = replace_finished(tx, request, &digests, &mut before)?;
    let gone = gone(tx, source, request.asked_for)?;
    let (mut report, mut lists) = (ImportReport::default(), Lists::default());
    let mut position = task_changes::last_position(tx)?;
    // In an empty plan nobody can have a name already.
    let is_first = !has_other_tasks(tx, 0)?;
    let mut ids: HashMap<&str, TaskId> = HashMap::new();
    let mut touched: HashSet<&str> = HashSet::new();
    for (task, digest) in request.draft.tasks.iter().zip(digests) {
        let name = task.name.as_str();
        if gone.contains(name) {
            continue;
        }
        let mut waiting: Option<WaitingGate> = None;
        let id = match before.get(name) {
            Some(known) => {
                let imported = known.waiting.is_some() && request.asked_for;
                waiting = known.waiting.clone().filter(|_| !imported);
                if known.digest != digest && !known.digest.is_empty() || imported {
                    let by_person = request.author == Author::Person && waiting.is_none();
                    let gate = rewrite(tx, &known.id, task, &request.author, by_person, now)?;
                    if by_person {
                        report.gates_changed.extend(gate);
                    } else {
                        waiting = gate.as_ref().map(|gate| gate.after.clone());
                        let is_new = waiting.is_some() && waiting != known.waiting;
                        report.gates_waiting.extend(gate.filter(|_| is_new));
                    }
                    touched.insert(name);
                }
                known.id.clone()
            }
            None if is_first => {
                position += 1.0;
                let id =
                    task_changes::add_at(tx, &new_of(task, &request.author), &keys, position, now, random)?;
                lists.added.push(id.clone());
                id
            }
            None => match unowned(tx, request, task, source)? {
                Some((_, false)) if request.author != Author::Person => continue,
                // Ralph put it into the file and was killed before it could note so.
                Some((id, true)) => id,
                Some((id, false)) => {
                    let KeySpace { source_id, spec, spec_shown } = &keys;
                    tx.change(
                        "UPDATE tasks SET source_id = :source_id, spec = :spec, spec_shown = :spec_shown
                         WHERE id = :id",
                        bind! { id, source_id, spec, spec_shown },
                    )?;
                    let gate = rewrite(tx, &id, task, &request.author, request.asked_for, now)?;
                    // An agent may have written the line in an earlier attempt.
                    if request.asked_for {
                        report.gates_changed.extend(gate);
                    } else {
                        waiting = gate.as_ref().map(|gate| gate.after.clone());
                        report.gates_waiting.extend(gate);
                    }
                    lists.updated.push(id.clone());
                    id
                }
                None => {
                    let id = task_changes::add_to(tx, &new_of(task, &request.author), &keys, now, random)?;
                    lists.added.push(id.clone());
                    id
                }
            },
        };
        tx.change(
            "INSERT INTO task_sources (task_id, source_id, name, ticked, digest, after, gate_waits,
                 waiting_gate)
             VALUES (:id, :source, :name, :ticked, :digest, :after, :waits, :gate)
             ON CONFLICT (task_id) DO UPDATE SET digest = excluded.digest, after = excluded.after,
                 gate_waits = excluded.gate_waits, waiting_gate = excluded.waiting_gate,
                 -- Of a task under way the file's word is not taken yet.
                 ticked = CASE WHEN excluded.ticked > 0 AND task_sources.task_id IN (SELECT task_id FROM claims)
                     THEN task_sources.ticked ELSE excluded.ticked END",
            bind! {
                id, source, name, ticked: tick_of(tx, task, before.get(name), &id, &request.author)? as i64,
                digest, after: Json(&task.after), waits: waiting.is_some(), gate: waiting.flatten(),
            },
        )?;
        ids.insert(name, id);
    }
    link(tx, request, &Known { before: &before, ids: &ids, replaced: &replaced }, &mut touched, now)?;
    if !is_first {
        put_in_order(tx, request.draft, &ids)?;
        show_specs(tx)?;
    }
    fixes::import(tx, request.draft, request.fixes, &ids)?;
    take_words(tx, request, &before, &ids, &touched, now, &mut lists)?;
    block_checkpoints(tx, request, &lists.added, &ids, now)?;
    status::settle(tx, now)?;
    note_due_boxes(tx, source)?;
    let sql = "SELECT t.id, t.key, t.spec, t.name, t.title, t.status, t.verified, t.done_by
         FROM task_sources s JOIN tasks t ON t.id = s.task_id WHERE s.source_id = ?1";
    let shown: HashMap<TaskId, ImportedTask> = tx.all(sql, [source])?;
    let tasks = |ids: &[TaskId]| ids.iter().filter_map(|id| shown.get(id).cloned()).collect();
    let removed = before.iter().filter(|(name, _)| !ids.contains_key(name.as_str()));
    let removed: Vec<TaskId> = removed.map(|(_, known)| known.id.clone()).collect();
    let mut report = ImportReport {
        replaced: replaced_tasks(tx, &replaced, &ids)?,
        added: tasks(&lists.added),
        updated: tasks(&lists.updated),
        finished: tasks(&lists.finished),
        unproven: tasks(&lists.unproven),
        removed: tasks(&removed),
        unchanged: lists.unchanged,
        without_gate: without_gate(tx, source)?,
        ..report
    };
    report.removed.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(report)
}

/// New tasks that only a person can do are blocked from the start.
fn block_checkpoints(
    tx: &Connection,
    request: &ImportRequest<'_>,
    added: &[TaskId],
    ids: &HashMap<&str, TaskId>,
    now: Timestamp,
) -> Result<()> {
    for task in request.draft.tasks.iter().filter(|task| task.for_person && !task.done) {
        if let Some(id) = ids.get(task.name.as_str()).filter(|id| added.contains(id)) {
            let reason = task_changes::checkpoint_reason(&task.name);
            status::set(tx, id, Status::Blocked, Some(&reason), now)?;
        }
    }
    Ok(())
}

/// Finishes tasks whose boxes are ticked, where that is believed, and says which tasks changed.
fn take_words(
    tx: &Connection,
    request: &ImportRequest<'_>,
    before: &HashMap<String, Before>,
    ids: &HashMap<&str, TaskId>,
    touched: &HashSet<&str>,
    now: Timestamp,
    lists: &mut Lists,
) -> Result<()> {
    let mut parents = Vec::new();
    for task in &request.draft.tasks {
        let Some(id) = ids.get(task.name.as_str()) else { continue };
        let known = before.get(task.name.as_str());
        if request.author != Author::Person {
            let sql = "SELECT 1 FROM task_sources WHERE task_id = ?1 AND ticked = 2";
            if known.is_none_or(|known| known.tick == Tick::Open) && tx.has(sql, [id])? {
                lists.unproven.push(id.clone());
            }
        } else {
            match take_word(tx, id, task, known, now)? {
                Word::Taken if known.is_some() => lists.finished.push(id.clone()),
                // An agent's word finishes no open children.
                Word::OpenChildren if request.author == Author::Person => {
                    parents.push((id, task, known.is_some()));
                }
                Word::Taken | Word::OpenChildren | Word::Nothing => {}
            }
        }
        if known.is_some() && touched.contains(task.name.as_str()) {
            lists.updated.push(id.clone());
        } else if known.is_some() {
            lists.unchanged += 1;
        }
    }
    // The innermost first: a ticked child is done, not skipped for its parent's sake.
    for (id, task, is_known) in parents.into_iter().rev() {
        if take_parents_word(tx, id, task, now)? && is_known {
            lists.finished.push(id.clone());
        }
    }
    Ok(())
}

/// What the file says of a task, in short: only where that changed is the task changed.
fn digest_of(task: &DraftTask) -> String {
    let words = format!(
        "{:?}",
        (
            (&task.title, &task.description, &task.phase, &task.verify),
            (&task.files, &task.done_when, &task.commit, &task.markers),
            (&task.priority, &task.model),
        )
    );
    match (&task.protect, &task.may_change) {
        // As older versions wrote it.
        (protect, may_change) if protect.is_empty() && may_change.is_empty() => digest(&words),
        protection => digest(&format!("{words}{protection:?}")),
    }
}

/// What a line of the file says of a task. What was written during an attempt may be an agent's words, which reach the prompts of
/// others.
fn new_of(task: &DraftTask, author: &Author) -> NewTask {
    let own = |text: &String| match author {
        Author::Person => text.clone(),
        Author::Agent(_) => without_live_signals(text),
    };
    let key = Some(&task.name).filter(|_| task.named_by_author);
    let phase = task.phase.as_deref();
    NewTask {
        title: own(&task.title),
        description: own(&task.description),
        key: key.and_then(|key| Key::parse(key).ok()),
        phase: phase.and_then(|phase| Phase::parse(phase).ok()),
        parent: None,
        after: Vec::new(),
        verify: task.verify.clone(),
        files: task.files.clone(),
        protect: task.protect.clone(),
        may_change: task.may_change.clone(),
        priority: task.priority,
        model: task.model.clone(),
        done_when: task.done_when.as_ref().map(own),
        commit: task.commit.as_ref().map(own),
        markers: task.markers.clone(),
    }
}

/// Gives a known task the texts of the file, its gate only where that is allowed: an agent must not change the gate that
/// judges it. Returns the change of the gate that the file has.
fn rewrite(
    tx: &Connection,
    id: &TaskId,
    task: &DraftTask,
    author: &Author,
    with_gate: bool,
    now: Timestamp,
) -> Result<Option<GateEdit>> {
    let (before, after) = (plan::known(tx, id)?, new_of(task, author));
    let (id, name) = (id.clone(), before.name().to_owned());
    let gate = GateEdit { id, name, before: before.verify, after: after.verify.clone() };
    let written = match with_gate {
        true => NewTask { key: before.key, ..after },
        // What its attempts are judged by is no agent's to change.
        false => NewTask {
            key: before.key,
            verify: gate.before.clone(),
            files: before.files,
            protect: before.protect,
            may_change: before.may_change,
            ..after
        },
    };
    task_changes::rewrite(tx, &gate.id, &written, now)?;
    Ok(Some(gate).filter(|gate| gate.before != gate.after))
}

fn source_of(tx: &Connection, request: &ImportRequest<'_>, now: Timestamp) -> Result<i64> {
    let values = bind! {
        path: request.path, format: request.format, imported_at: now, digest: request.digest,
    };
    tx.upsert("sources", &["path"], values)?;
    if request.asked_for {
        let sql = "UPDATE sources SET kept_by = :here WHERE path = :path";
        tx.change(sql, bind! { path: request.path, here: tx.local("") })?;
    }
    let (id, spec): (i64, String) = tx.one("SELECT id, spec FROM sources WHERE path = ?1", [request.path])?;
    if spec.is_empty() {
        name_specs(tx)?;
    }
    Ok(id)
}

/// Finds new work under the key of a task that is finished, and frees the key for it. The old task stays in the plan, under its
/// key with a number. Returns the old tasks by the names that the file uses.
fn replace_finished<'d>(
    tx: &Connection,
    request: &ImportRequest<'d>,
    digests: &[String],
    before: &mut HashMap<String, Before>,
) -> Result<HashMap<&'d str, TaskId>> {
    let mut replaced = HashMap::new();
    for (task, digest) in request.draft.tasks.iter().zip(digests) {
        let Some(known) = before.get(&task.name) else { continue };
        let is_unchanged = known.digest == *digest || known.digest.is_empty();
        if is_unchanged || task.done || task.skipped || !is_new_work(&plan::known(tx, &known.id)?, task) {
            continue;
        }
        let id = known.id.clone();
        tx.change("DELETE FROM task_sources WHERE task_id = ?1", [&id])?;
        tx.change("DELETE FROM due_boxes WHERE task_id = ?1", [&id])?;
        let key: Option<Key> = tx.one("SELECT key FROM tasks WHERE id = ?1", [&id])?;
        if let Some(key) = key {
            let taken = "SELECT 1 FROM tasks WHERE key = :key
                 AND coalesce(source_id, 0) = coalesce((SELECT source_id FROM tasks WHERE id = :id), 0)";
            let (own, mut key, mut number) = (key.clone(), format!("{key}#old"), 1);
            while tx.has(taken, bind! { id, key })? {
                number += 1;
                key = format!("{own}#old{number}");
            }
            tx.change("UPDATE tasks SET key = :key WHERE id = :id", bind! { id, key })?;
        }
        before.remove(&task.name);
        replaced.insert(task.name.as_str(), id);
    }
    Ok(replaced)
}

/// Whether an open box is about something else than the finished task that had its key: its title and its text are new.
fn is_new_work(old: &Task, new: &DraftTask) -> bool {
    let words = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let (old_text, new_text) = (words(&old.description), words(&new.description));
    let has_no_text = old_text.is_empty() && new_text.is_empty();
    old.status.satisfies() && words(&old.title) != words(&new.title) && (has_no_text || old_text != new_text)
}

fn replaced_tasks(
    tx: &Connection,
    replaced: &HashMap<&str, TaskId>,
    ids: &HashMap<&str, TaskId>,
) -> Result<Vec<ReplacedTask>> {
    let mut tasks = Vec::new();
    for (name, old) in replaced {
        if let Some(new) = ids.get(name) {
            let (old, new) = (plan::known(tx, old)?, plan::known(tx, new)?);
            tasks.push(ReplacedTask {
                id: old.id,
                name: old.name,
                title: old.title,
                by: new.id,
                by_name: new.name,
            });
        }
    }
    tasks.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(tasks)
}

/// Remembers whose boxes are not as the tasks stand.
fn note_due_boxes(tx: &Connection, source: i64) -> Result<()> {
    tx.change(
        "INSERT INTO due_boxes (task_id, source_id)
         SELECT t.id, s.source_id FROM task_sources s JOIN tasks t ON t.id = s.task_id
         WHERE s.source_id = ?1 AND ((t.status = 'done') <> (s.ticked = 1) OR s.ticked = 2)
         ON CONFLICT DO NOTHING",
        [source],
    )
}

/// What a person deleted from the plan though the file has it; forgotten where a person asks for the file anew.
fn gone(tx: &Connection, source: i64, asked_for: bool) -> Result<HashSet<String>> {
    if asked_for {
        tx.change("DELETE FROM source_gone WHERE source_id = ?1", [source])?;
    }
    tx.all("SELECT name FROM source_gone WHERE source_id = ?1", [source])
}

record!(ImportedTask { id, key, spec, name, title, status, verified, done_by });
record!(Before { id = "task_id", tick = "ticked", digest, after, waiting via waiting });

fn waiting(row: &Row<'_>, _: &str) -> ReadResult<Option<WaitingGate>> {
    let waits: bool = row.get("gate_waits")?;
    waits.then(|| row.get("waiting_gate")).transpose()
}

/// The file is compared as in the index on keys: see [`task_changes::BY_KEY`].
pub(in crate::store) const UNOWNED: &str = "SELECT id, source_id IS NOT NULL FROM tasks t
     WHERE (key = :name AND coalesce(source_id, 0) = :source
             OR source_id IS NULL AND (:is_export = 1 AND id = :name
                 OR key = :name AND (:is_export = 1 OR title = :title)))
         AND NOT EXISTS (SELECT 1 FROM task_sources s WHERE s.task_id = t.id)
     ORDER BY source_id IS NULL LIMIT 1";

/// A task of that name that stands in no file yet, and whether Ralph made it for this file: a fix task, or one that an agent
/// asked for. A task that a person added is the file's from now on if the file means the same task: an export that comes back,
/// or one of the same title.
fn unowned(
    tx: &Connection,
    request: &ImportRequest<'_>,
    task: &DraftTask,
    source: i64,
) -> Result<Option<(TaskId, bool)>> {
    let is_export = request.format == Format::Lines.as_str();
    let (name, title) = (&task.name, &task.title);
    if let Some(found) = tx.first(UNOWNED, bind! { name, title, source, is_export })? {
        return Ok(Some(found));
    }
    let sql = "SELECT id FROM tasks WHERE (key = :name OR name = :name) AND title = :title
             AND source_id IS NOT NULL AND source_id <> :source LIMIT 1";
    match tx.first(sql, bind! { name, title, source })? {
        Some(holder) if is_export => {
            Err(StoreError::DuplicateKey { key: name.clone(), holder, title: title.clone() })
        }
        _ => Ok(None),
    }
}

/// The open tasks of the file that have no gate of their own. Parents are done by their children.
fn without_gate(tx: &Connection, source: i64) -> Result<Vec<String>> {
    let sql = "SELECT t.name FROM task_sources s JOIN tasks t ON t.id = s.task_id
         WHERE s.source_id = ?1 AND t.verify IS NULL AND t.child_count = 0
             AND t.status IN ('pending', 'in_progress', 'blocked') ORDER BY t.position";
    tx.all(sql, [source])
}
