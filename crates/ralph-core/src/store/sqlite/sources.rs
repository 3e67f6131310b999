//! Plans in files: taking one in, and what is remembered of it.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Durability, Refusal, SqliteStore, change, fixes, graph, plan, rows, status};
use crate::files::digest;
use crate::model::{Key, NewTask, Phase, Status, Task, TaskEdit, TaskId, Timestamp};
use crate::plan_files::{Draft, DraftTask, Format};
use crate::store::{
    FiledTask, Hand, ImportReport, ImportRequest, ImportedTask, Random, Result, Side, SourceFile,
    SourceStore, Tick, UnfiledTask,
};

/// Memory for pages, negative as SQLite wants it for KiB: while a plan is taken in, and else.
const IMPORT_CACHE_KIB: i64 = -65_536;
const USUAL_CACHE_KIB: i64 = -2000;

impl SourceStore for SqliteStore {
    fn sources(&self) -> Result<Vec<SourceFile>> {
        self.read(|conn| {
            conn.prepare_cached("SELECT id, path, format, digest FROM sources ORDER BY id")?
                .query_map([], |row| {
                    Ok(SourceFile {
                        id: row.get(0)?,
                        path: row.get(1)?,
                        format: row.get(2)?,
                        digest: row.get(3)?,
                    })
                })?
                .collect()
        })
    }

    fn source_path(&self, task: &TaskId) -> Result<Option<String>> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT path FROM sources JOIN task_sources ON source_id = id WHERE task_id = ?1",
            )?
            .query_row([task.as_str()], |row| row.get(0))
            .optional()
        })
    }

    fn import_plan(
        &mut self,
        request: &ImportRequest<'_>,
        now: Timestamp,
        random: Random<'_>,
    ) -> Result<ImportReport> {
        // A large plan fits into memory; written piece by piece it would be written several times over.
        self.conn_pragma("cache_size", IMPORT_CACHE_KIB)?;
        let report = self.write(Durability::Power, |tx| {
            if request.dry_run {
                tx.execute_batch("SAVEPOINT dry")?;
            }
            let report = import(tx, request, now, random)?;
            if request.dry_run {
                tx.execute_batch("ROLLBACK TO dry; RELEASE dry")?;
            }
            Ok(report)
        });
        self.conn_pragma("cache_size", USUAL_CACHE_KIB)?;
        report
    }

    fn filed_tasks(&self, source: i64) -> Result<Vec<FiledTask>> {
        self.read(|conn| {
            conn.prepare_cached(&format!(
                "{FILED} WHERE s.source_id = ?1 ORDER BY t.position"
            ))?
            .query_map([source], filed)?
            .collect()
        })
    }

    fn filed_task(&self, task: &TaskId) -> Result<Option<FiledTask>> {
        self.read(|conn| {
            conn.prepare_cached(&format!("{FILED} WHERE s.task_id = ?1"))?
                .query_row([task.as_str()], filed)
                .optional()
        })
    }

    fn unfiled_tasks(&self, source: i64) -> Result<Vec<UnfiledTask>> {
        self.read_once(|conn| {
            let mut unfiled = unfiled_fixes(conn, source)?;
            unfiled.extend(unfiled_changes(conn, source)?);
            Ok(unfiled)
        })
    }

    fn note_filed(
        &mut self,
        source: i64,
        digest: &str,
        ticked: &[(TaskId, bool)],
        filed: &[(TaskId, String)],
    ) -> Result<()> {
        self.write(Durability::Process, |tx| {
            tx.prepare_cached("UPDATE sources SET digest = ?2 WHERE id = ?1")?
                .execute(params![source, digest])?;
            for (id, name) in filed {
                tx.prepare_cached(
                    "INSERT OR IGNORE INTO task_sources (task_id, source_id, name) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![id.as_str(), source, name])?;
            }
            for (id, ticked) in ticked {
                tx.prepare_cached("UPDATE task_sources SET ticked = ?2 WHERE task_id = ?1")?
                    .execute(params![id.as_str(), ticked])?;
            }
            Ok(())
        })
    }
}

const FILED: &str = "SELECT t.id, s.name, t.title, t.status, s.ticked,
        (SELECT o.commit_after FROM iteration_outcomes o
         WHERE o.task_id = t.id AND o.commit_after IS NOT o.commit_before
         ORDER BY o.attempt_number DESC LIMIT 1),
        EXISTS (SELECT 1 FROM fixes f WHERE f.task_id = t.id)
    FROM task_sources s JOIN tasks t ON t.id = s.task_id";

fn filed(row: &Row<'_>) -> rusqlite::Result<FiledTask> {
    Ok(FiledTask {
        id: TaskId::from_stored(row.get::<_, String>(0)?),
        name: row.get(1)?,
        title: row.get(2)?,
        status: rows::status(row, 3)?,
        tick: Tick::from_code(row.get(4)?),
        commit: row.get(5)?,
        is_fix: row.get(6)?,
    })
}

/// Fix tasks of this file's tasks, at any depth, that are not in it; those of a task in order.
fn unfiled_fixes(conn: &Connection, source: i64) -> rusqlite::Result<Vec<UnfiledTask>> {
    let mut found = conn.prepare_cached(
        "WITH RECURSIVE family (id, original, name) AS (
             SELECT f.task_id, f.original_id, s.name
             FROM fixes f CROSS JOIN task_sources s ON s.task_id = f.original_id WHERE s.source_id = ?1
             UNION SELECT f.task_id, f.original_id, (SELECT key FROM tasks WHERE id = f.original_id)
             FROM fixes f JOIN family y ON f.original_id = y.id)
         SELECT y.id, y.name, y.original
         FROM family y CROSS JOIN tasks t ON t.id = y.id
         WHERE NOT EXISTS (SELECT 1 FROM task_sources o WHERE o.task_id = y.id)
         ORDER BY t.position",
    )?;
    let rows = found
        .query_map([source], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, Option<String>>(1)?,
                row.get::<_, String>(2)?,
            ))
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let mut unfiled = Vec::new();
    for (id, beside, original) in rows {
        let (Some(task), Some(beside)) = (plan::find(conn, &id)?, beside) else {
            continue;
        };
        let text = fixes::text(conn, &task, &beside, &original)?;
        unfiled.push(UnfiledTask {
            task,
            beside,
            side: Side::After,
            fix: Some(text),
        });
    }
    Ok(unfiled)
}

/// Tasks that changes of the plan added beside this file's tasks.
fn unfiled_changes(conn: &Connection, source: i64) -> rusqlite::Result<Vec<UnfiledTask>> {
    let mut found = conn.prepare_cached(
        "WITH RECURSIVE family (id, name, kind) AS (
             SELECT i.task_id, s.name, c.kind
             FROM changed_in i CROSS JOIN plan_changes c ON c.id = i.change_id
             CROSS JOIN task_sources s ON s.task_id = c.task_id WHERE s.source_id = ?1
             UNION SELECT i.task_id, (SELECT key FROM tasks WHERE id = c.task_id), c.kind
             FROM changed_in i JOIN plan_changes c ON c.id = i.change_id
             JOIN family y ON c.task_id = y.id)
         SELECT y.id, y.name, y.kind FROM family y CROSS JOIN tasks t ON t.id = y.id
         WHERE NOT EXISTS (SELECT 1 FROM task_sources o WHERE o.task_id = y.id)
         ORDER BY t.position",
    )?;
    let rows = found
        .query_map([source], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, Option<String>>(1)?,
                row.get::<_, Option<String>>(2)?,
            ))
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let mut unfiled = Vec::new();
    for (id, beside, kind) in rows {
        let (Some(task), Some(beside)) = (plan::find(conn, &id)?, beside) else {
            continue;
        };
        let side = match kind.as_deref() {
            Some("ADD_PREREQUISITE") => Side::Before,
            _ => Side::After,
        };
        unfiled.push(UnfiledTask {
            task,
            beside,
            side,
            fix: None,
        });
    }
    Ok(unfiled)
}

/// A task of the file as it was known before.
struct Before {
    id: TaskId,
    tick: Tick,
    digest: String,
    after: Vec<String>,
}

fn import(
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
        let id = match before.get(name) {
            Some(known) => {
                // What Ralph itself put into the file is remembered without a look, and is what it is.
                if known.digest != look && !known.digest.is_empty() {
                    let mut edit = edit_of(task);
                    if request.hand != Hand::Person {
                        // A gate is not changed by whom it judges.
                        edit.verify = None;
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
                    change::change(tx, &id, &edit_of(task), now)?;
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
            "INSERT INTO task_sources (task_id, source_id, name, ticked, digest, after)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (task_id) DO UPDATE SET digest = excluded.digest, after = excluded.after,
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
            rows::to_json(&task.after)
        ])?;
        ids.insert(name, id);
    }
    link(tx, request, &before, &ids, &mut touched, now)?;
    if !is_first {
        put_in_order(tx, request.draft, &ids)?;
    }
    fixes::import(tx, request.draft, request.fixes, &ids)?;
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
        } else if take_word(tx, id, task, known, now)? && known.is_some() {
            report.finished.push(named(id, task));
        }
        if known.is_some() && touched.contains(task.name.as_str()) {
            report.updated.push(named(id, task));
        } else if known.is_some() {
            report.unchanged += 1;
        }
    }
    status::settle(tx, now)?;
    let now_at = statuses(tx, source)?;
    for list in [&mut report.added, &mut report.updated, &mut report.finished] {
        for task in list {
            task.status = now_at.get(&task.id).copied().unwrap_or(task.status);
        }
    }
    report.removed = removed(tx, &before, &ids)?;
    Ok(report)
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
        "SELECT name, task_id, ticked, digest, after FROM task_sources WHERE source_id = ?1",
    )?
    .query_map([source], |row| {
        Ok((
            row.get::<_, String>(0)?,
            Before {
                id: TaskId::from_stored(row.get::<_, String>(1)?),
                tick: Tick::from_code(row.get(2)?),
                digest: row.get(3)?,
                after: rows::json_list(&row.get::<_, String>(4)?),
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

/// What the file says of a task, in short: only where that changed is the task changed.
fn look_of(task: &DraftTask) -> String {
    digest(&format!(
        "{:?}",
        (
            (&task.title, &task.description, &task.phase, &task.verify),
            (&task.files, &task.done_when, &task.commit, &task.markers),
            (&task.priority, &task.model),
        )
    ))
}

fn key_of(task: &DraftTask) -> Option<Key> {
    let key = Some(&task.name).filter(|_| task.named_by_author);
    key.and_then(|key| Key::parse(key).ok())
}

fn phase_of(task: &DraftTask) -> Option<Phase> {
    task.phase
        .as_deref()
        .and_then(|phase| Phase::parse(phase).ok())
}

fn new_of(task: &DraftTask) -> NewTask {
    NewTask {
        title: task.title.clone(),
        description: task.description.clone(),
        key: key_of(task),
        phase: phase_of(task),
        parent: None,
        after: Vec::new(),
        verify: task.verify.clone(),
        files: task.files.clone(),
        priority: task.priority,
        model: task.model.clone(),
        done_when: task.done_when.clone(),
        commit: task.commit.clone(),
        markers: task.markers.clone(),
    }
}

fn edit_of(task: &DraftTask) -> TaskEdit {
    let new = new_of(task);
    TaskEdit {
        title: Some(new.title),
        description: Some(new.description),
        key: None,
        phase: Some(new.phase),
        parent: None,
        verify: Some(new.verify),
        files: Some(new.files),
        priority: Some(new.priority),
        model: Some(new.model),
        done_when: Some(new.done_when),
        commit: Some(new.commit),
        markers: Some(new.markers),
    }
}

/// Parents and dependencies as the file has them. What a person added beside stays.
fn link<'d>(
    tx: &Connection,
    request: &ImportRequest<'d>,
    before: &HashMap<String, Before>,
    ids: &HashMap<&str, TaskId>,
    touched: &mut HashSet<&'d str>,
    now: Timestamp,
) -> std::result::Result<(), Refusal> {
    let draft = request.draft;
    // Only formats that nest can take a task out of its parent.
    let nests = request.format != Format::TasksMd.as_str();
    let made = made_by_ralph(tx, ids)?;
    let mut waits_anew = false;
    for task in &draft.tasks {
        let Some(id) = ids.get(task.name.as_str()) else {
            continue;
        };
        let parent = task.parent.as_deref().and_then(|name| ids.get(name));
        let may_have_one = parent.is_some() || nests && before.contains_key(&task.name);
        if may_have_one && known_parent(tx, id)?.as_ref() != parent {
            change::move_below(tx, id, parent, now)?;
            touched.insert(&task.name);
        }
        if made.contains(task.name.as_str()) {
            // Whom it waits for was settled when it was made.
            continue;
        }
        let none = Vec::new();
        let old = before.get(&task.name).map_or(&none, |known| &known.after);
        let old = without_made(old, draft, &made);
        let new = without_made(&task.after, draft, &made);
        for name in old.iter().filter(|name| !new.contains(name)) {
            let blocker = before.get(*name).map(|known| &known.id);
            if let Some(blocker) = blocker.or_else(|| ids.get(name)) {
                tx.prepare_cached(
                    "DELETE FROM dependencies WHERE blocked_id = ?1 AND blocker_id = ?2",
                )?
                .execute([id.as_str(), blocker.as_str()])?;
                touched.insert(&task.name);
            }
        }
        for name in new.iter().filter(|name| !old.contains(name)) {
            if let Some(blocker) = ids.get(name)
                && change::depend(tx, id, blocker)?
            {
                waits_anew = true;
                touched.insert(&task.name);
            }
        }
    }
    // Of most formats the reader has seen to it that there is none; together with what was there one may close.
    let unseen = request.format == Format::Lines.as_str();
    if unseen || waits_anew && !before.is_empty() || has_other_tasks(tx, ids.len())? {
        graph::refuse_any_circle(tx)?;
    }
    Ok(())
}

/// Names of tasks that Ralph put into the plan and the file: fixes, and what agents asked for.
fn made_by_ralph<'n>(
    tx: &Connection,
    ids: &HashMap<&'n str, TaskId>,
) -> rusqlite::Result<HashSet<&'n str>> {
    let made: HashSet<String> = tx
        .prepare_cached(
            "SELECT task_id FROM fixes WHERE attempt_number IS NOT NULL
             UNION SELECT task_id FROM changed_in",
        )?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let is_made = |(_, id): &(&&'n str, &TaskId)| made.contains(id.as_str());
    Ok(ids.iter().filter(is_made).map(|(name, _)| *name).collect())
}

/// Whom a task waits for, seen past what Ralph put in between.
fn without_made<'d>(after: &'d [String], draft: &'d Draft, made: &HashSet<&str>) -> Vec<&'d str> {
    if !after.iter().any(|name| made.contains(name.as_str())) {
        return after.iter().map(String::as_str).collect();
    }
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut queue: Vec<&'d str> = after.iter().rev().map(String::as_str).collect();
    while let Some(name) = queue.pop() {
        if !seen.insert(name) {
            continue;
        }
        if !made.contains(name) {
            found.push(name);
            continue;
        }
        let task = draft.tasks.iter().find(|task| task.name == name);
        // A fix stands aside of the order: nobody waits for what it waits for on its account.
        if let Some(task) = task.filter(|task| task.fix_of.is_none()) {
            queue.extend(task.after.iter().rev().map(String::as_str));
        }
    }
    found
}

fn has_other_tasks(tx: &Connection, own: usize) -> rusqlite::Result<bool> {
    let all: i64 = tx
        .prepare_cached("SELECT coalesce(sum(n), 0) FROM task_counts")?
        .query_row([], |row| row.get(0))?;
    Ok(usize::try_from(all).is_ok_and(|all| all > own))
}

fn statuses(tx: &Connection, source: i64) -> rusqlite::Result<HashMap<TaskId, Status>> {
    tx.prepare_cached(
        "SELECT t.id, t.status FROM task_sources s JOIN tasks t ON t.id = s.task_id
         WHERE s.source_id = ?1",
    )?
    .query_map([source], |row| {
        let id = TaskId::from_stored(row.get::<_, String>(0)?);
        Ok((id, rows::status(row, 1)?))
    })?
    .collect()
}

fn known_parent(tx: &Connection, id: &TaskId) -> rusqlite::Result<Option<TaskId>> {
    tx.prepare_cached("SELECT parent_id FROM tasks WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get::<_, Option<String>>(0))
        .map(|id| id.map(TaskId::from_stored))
}

/// Gives the file's tasks the file's order, within the places they have.
fn put_in_order(
    tx: &Connection,
    draft: &Draft,
    ids: &HashMap<&str, TaskId>,
) -> rusqlite::Result<()> {
    let mut place = tx.prepare_cached("SELECT position FROM tasks WHERE id = ?1")?;
    let mut places: Vec<(f64, &TaskId)> = Vec::new();
    for task in &draft.tasks {
        if let Some(id) = ids.get(task.name.as_str()) {
            places.push((place.query_row([id.as_str()], |row| row.get(0))?, id));
        }
    }
    let in_order = places.windows(2).all(|two| match two {
        [one, other] => one.0 < other.0,
        _ => true,
    });
    if in_order {
        return Ok(());
    }
    let mut free: Vec<f64> = places.iter().map(|(at, _)| *at).collect();
    free.sort_by(f64::total_cmp);
    // Out of the way first: no two tasks may share a place even for a moment.
    let mut low: f64 = tx
        .prepare_cached("SELECT min(position) FROM tasks")?
        .query_row([], |row| row.get(0))?;
    for (_, id) in &places {
        low -= 1.0;
        tx.prepare_cached("UPDATE tasks SET position = ?2 WHERE id = ?1")?
            .execute(params![id.as_str(), low])?;
    }
    for (at, (_, id)) in free.into_iter().zip(&places) {
        tx.prepare_cached("UPDATE tasks SET position = ?2 WHERE id = ?1")?
            .execute(params![id.as_str(), at])?;
    }
    Ok(())
}

/// How the box of a task stands, and whether it is believed.
fn tick_of(
    tx: &Connection,
    task: &DraftTask,
    known: Option<&Before>,
    id: &TaskId,
    hand: &Hand,
) -> rusqlite::Result<Tick> {
    let (true, before) = (task.done, known.map_or(Tick::Open, |known| known.tick)) else {
        return Ok(Tick::Open);
    };
    let (Hand::Agent(at), Tick::Open, Some(_)) = (hand, before, known) else {
        return Ok(match before {
            Tick::Unproven => Tick::Unproven,
            Tick::Open | Tick::Ticked => Tick::Ticked,
        });
    };
    let done: bool = tx
        .prepare_cached("SELECT status = 'done' FROM tasks WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))?;
    // Of the task it was at the verdict is known.
    let known = done || at.as_ref() == Some(id);
    Ok(if known { Tick::Ticked } else { Tick::Unproven })
}

fn is_unproven(tx: &Connection, id: &TaskId) -> rusqlite::Result<bool> {
    tx.prepare_cached("SELECT ticked = 2 FROM task_sources WHERE task_id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
}

/// The file's word on whether a task is done. It finishes tasks and opens none.
fn take_word(
    tx: &Connection,
    id: &TaskId,
    task: &DraftTask,
    known: Option<&Before>,
    now: Timestamp,
) -> rusqlite::Result<bool> {
    let word = match (task.done, task.skipped) {
        (true, _) => Status::Done,
        (false, true) => Status::Skipped,
        (false, false) => return Ok(false),
    };
    // A box that was ticked before tells nothing new: somebody may have opened the task again since.
    let is_news = known.is_none_or(|known| known.tick == Tick::Open);
    let (is, claimed): (String, bool) = tx
        .prepare_cached(
            "SELECT status, EXISTS (SELECT 1 FROM claims WHERE task_id = ?1) FROM tasks WHERE id = ?1",
        )?
        .query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let open = !matches!(is.as_str(), "done" | "skipped");
    if !is_news || !open || claimed || super::capture::has_open_children(tx, id)? {
        return Ok(false);
    }
    status::set(tx, id, word, None, now)?;
    fixes::skip_needless(tx, id, now)?;
    Ok(true)
}

fn named(id: &TaskId, task: &DraftTask) -> ImportedTask {
    let name = if task.named_by_author {
        task.name.clone()
    } else {
        id.to_string()
    };
    ImportedTask {
        id: id.clone(),
        name,
        title: task.title.clone(),
        status: Status::Pending,
    }
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
            });
        }
    }
    removed.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(removed)
}
