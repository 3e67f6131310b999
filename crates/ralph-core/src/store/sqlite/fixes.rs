//! Fix tasks: made with the failure that asks for them, skipped when nothing is left to mend.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::{Refusal, SqliteStore, change, plan, rows, status};
use crate::model::{Status, Task, TaskId, Timestamp};
use crate::plan_files::Draft;
use crate::recovery::{FinalState, Lineage};
use crate::store::{
    Capture, ChangeStanding, FixFamily, FixLink, FixRecord, FixText, KeptFixes, NewFix,
    PlanChangeRow, Random, RecoveryEnd, RecoveryStore, Result,
};

/// Why a fix task is left out.
const NEEDLESS: &str = "the task it was to fix is done, skipped or deleted";
/// Why a fix task is left out that had come to nothing.
const TAKEN_BACK: &str = "a person reset the task it was to fix";

impl RecoveryStore for SqliteStore {
    fn fix_link(&self, task: &TaskId) -> Result<Option<FixLink>> {
        self.read(|conn| link(conn, task))
    }

    fn fix_family(&self, task: &TaskId) -> Result<FixFamily> {
        self.read_once(|conn| family(conn, task))
    }

    fn fix_records(&self) -> Result<Vec<(TaskId, FixRecord)>> {
        self.read(records)
    }

    fn plan_changes(&self, task: &TaskId) -> Result<Vec<PlanChangeRow>> {
        self.read(|conn| super::plan_changes::of_task(conn, task))
    }

    fn change_standing(&self, task: &TaskId) -> Result<ChangeStanding> {
        self.read(|conn| super::plan_changes::standing(conn, task))
    }

    fn last_gate_output(&self, task: &TaskId) -> Result<Option<String>> {
        self.read(|conn| {
            let output = conn
                .prepare_cached(
                    "SELECT gate_output FROM iteration_outcomes
                     WHERE task_id = ?1 AND counted = 1 AND outcome <> 'done'
                     ORDER BY attempt_number DESC LIMIT 1",
                )?
                .query_row([task.as_str()], |row| row.get::<_, Option<String>>(0))
                .optional()?;
            Ok(output.flatten())
        })
    }

    fn waits_for(&self, name: &str) -> Result<Option<(String, Vec<String>)>> {
        self.read(|conn| super::plan_changes::waits_for(conn, name))
    }
}

/// What a task is to mend.
pub(super) fn link(conn: &Connection, task: &TaskId) -> rusqlite::Result<Option<FixLink>> {
    conn.prepare_cached(
        "SELECT f.original_id, f.root_id, f.depth, f.coarse, f.attempt_number,
                (SELECT a.error FROM fix_attempts a JOIN tasks t ON t.id = f.task_id
                 WHERE a.original_id = f.original_id AND a.key = coalesce(t.key, t.id))
         FROM fixes f WHERE f.task_id = ?1",
    )?
    .query_row([task.as_str()], |row| {
        let id = |at: usize| {
            row.get::<_, Option<String>>(at)
                .map(|id| id.map(TaskId::from_stored))
        };
        Ok(FixLink {
            original: id(0)?,
            root: id(1)?,
            depth: row.get(2)?,
            coarse: row.get(3)?,
            attempt_number: row.get(4)?,
            error: row.get(5)?,
        })
    })
    .optional()
}

/// The root of a fix task, or the task itself.
pub(super) fn root_of(conn: &Connection, task: &TaskId) -> rusqlite::Result<TaskId> {
    let root = link(conn, task)?.and_then(|link| link.root);
    Ok(root.unwrap_or_else(|| task.clone()))
}

fn family(conn: &Connection, task: &TaskId) -> rusqlite::Result<FixFamily> {
    let mut chain = vec![task.clone()];
    while let Some(last) = chain.last()
        && let Some(original) = link(conn, last)?.and_then(|link| link.original)
        && !chain.contains(&original)
    {
        chain.push(original);
    }
    let mut names = Vec::new();
    for id in &chain {
        names.push(name(conn, id)?);
    }
    names.reverse();
    let failed = names.pop().unwrap_or_default();
    let root = chain.last().unwrap_or(task);
    let below_root: i64 = conn
        .prepare_cached("SELECT count(*) FROM fix_attempts WHERE root_id = ?1")?
        .query_row([root.as_str()], |row| row.get(0))?;
    Ok(FixFamily {
        lineage: Lineage {
            above: names,
            failed,
            fixes: keys(conn, task)?,
            below_root: usize::try_from(below_root).unwrap_or_default(),
        },
        chain,
    })
}

fn name(conn: &Connection, id: &TaskId) -> rusqlite::Result<String> {
    conn.prepare_cached("SELECT coalesce(key, id) FROM tasks WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
}

fn keys(conn: &Connection, original: &TaskId) -> rusqlite::Result<Vec<String>> {
    conn.prepare_cached("SELECT key FROM fix_attempts WHERE original_id = ?1 ORDER BY ordinal")?
        .query_map([original.as_str()], |row| row.get(0))?
        .collect()
}

fn records(conn: &Connection) -> rusqlite::Result<Vec<(TaskId, FixRecord)>> {
    conn.prepare_cached(
        "SELECT t.id, coalesce(s.name, t.key, t.id), json_group_array(a.key ORDER BY a.ordinal),
                coalesce(e.last_error, (SELECT error FROM fix_attempts n WHERE n.original_id = t.id
                                        ORDER BY ordinal DESC LIMIT 1)),
                CASE WHEN t.status = 'done' THEN 'PASS' ELSE e.end END
         FROM fix_attempts a
         CROSS JOIN tasks t ON t.id = a.original_id
         LEFT JOIN task_sources s ON s.task_id = t.id
         LEFT JOIN fix_ends e ON e.task_id = t.id
         GROUP BY t.id ORDER BY t.position",
    )?
    .query_map([], |row| {
        Ok((
            TaskId::from_stored(row.get::<_, String>(0)?),
            FixRecord {
                name: row.get(1)?,
                fixes: rows::json_list(&row.get::<_, String>(2)?),
                last_error: row.get(3)?,
                end: rows::optional_text(row, 4)?.and_then(|end| FinalState::read(&end)),
            },
        ))
    })?
    .collect()
}

/// What the block of a fix task is made from.
pub(super) fn text(
    conn: &Connection,
    task: &Task,
    original: &str,
    original_id: &str,
) -> rusqlite::Result<FixText> {
    let found = conn
        .prepare_cached(
            "SELECT error, attempted, category FROM fix_attempts
             WHERE original_id = ?1 AND key = ?2",
        )?
        .query_row([original_id, task.name()], |row| {
            Ok(FixText {
                original: original.to_owned(),
                error: row.get(0)?,
                attempted: row.get(1)?,
                category: row.get(2)?,
            })
        })
        .optional()?;
    Ok(found.unwrap_or_else(|| FixText {
        original: original.to_owned(),
        ..FixText::default()
    }))
}

/// After an attempt: makes the fix task it asks for, ends a recovery, and skips what is no longer needed.
pub(super) fn after(
    tx: &Connection,
    capture: &Capture,
    attempt_number: u32,
    random: Random<'_>,
) -> std::result::Result<(), Refusal> {
    let (id, now) = (&capture.task_id, capture.ended_at);
    if let Some(fix) = &capture.fix {
        create(tx, id, fix, attempt_number, now, random)?;
    }
    if let Some(end) = &capture.recovery_end {
        finish(tx, end, now)?;
    }
    let task = change::known(tx, id)?;
    if task.status.satisfies() {
        skip_needless(tx, id, now)?;
        // A person had this one tried again: what waited with it can go on.
        if let Some(original) = link(tx, id)?.and_then(|link| link.original)
            && change::known(tx, &original)?.status == Status::Blocked
        {
            status::set(tx, &original, Status::Pending, None, now)?;
        }
    } else if let Some(link) = link(tx, id)?
        && !is_open(tx, link.original.as_ref())?
    {
        status::set(tx, id, Status::Skipped, Some(NEEDLESS), now)?;
        skip_needless(tx, id, now)?;
    }
    Ok(())
}

fn is_open(tx: &Connection, original: Option<&TaskId>) -> rusqlite::Result<bool> {
    let Some(original) = original else {
        return Ok(false);
    };
    let task = plan::find(tx, original.as_str())?;
    Ok(task.is_some_and(|task| !task.status.satisfies()))
}

fn create(
    tx: &Connection,
    original: &TaskId,
    fix: &NewFix,
    attempt_number: u32,
    now: Timestamp,
    random: Random<'_>,
) -> std::result::Result<(), Refusal> {
    let root = root_of(tx, original)?;
    let depth = link(tx, original)?.map_or(0, |link| link.depth) + 1;
    let place = place_after(tx, original)?;
    let id = change::add(tx, &fix.task, now, random)?;
    tx.prepare_cached("UPDATE tasks SET position = ?2 WHERE id = ?1")?
        .execute(params![id.as_str(), place])?;
    change::depend(tx, original, &id)?;
    tx.prepare_cached(
        "INSERT INTO fixes (task_id, original_id, root_id, depth, attempt_number, coarse)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![
        id.as_str(),
        original.as_str(),
        root.as_str(),
        depth,
        attempt_number,
        fix.coarse,
    ])?;
    let key = fix
        .task
        .key
        .as_ref()
        .map_or(id.as_str(), |key| key.as_str());
    note_attempt(tx, original, &root, key, &fix.text)?;
    tx.prepare_cached("UPDATE fix_ends SET last_error = NULL WHERE task_id = ?1")?
        .execute([original.as_str()])?;
    Ok(())
}

fn note_attempt(
    tx: &Connection,
    original: &TaskId,
    root: &TaskId,
    key: &str,
    text: &FixText,
) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO fix_attempts (original_id, ordinal, key, root_id, error, attempted, category)
         VALUES (?1, (SELECT coalesce(max(ordinal), 0) + 1 FROM fix_attempts WHERE original_id = ?1),
                 ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![
        original.as_str(),
        key,
        root.as_str(),
        text.error,
        text.attempted,
        text.category,
    ])?;
    Ok(())
}

/// A place in the plan's order between a task's last descendant and what follows it. In a file, keys tell who is below
/// whom, also among the author's own tasks.
pub(super) fn place_after(tx: &Connection, id: &TaskId) -> rusqlite::Result<f64> {
    let last: f64 = tx
        .prepare_cached(
            "WITH RECURSIVE family (id) AS (
                 SELECT ?1
                 UNION SELECT b.task_id FROM task_sources s JOIN task_sources b
                     ON b.source_id = s.source_id AND b.name > s.name || '.' AND b.name < s.name || '/'
                     WHERE s.task_id = ?1
                 UNION SELECT f.task_id FROM fixes f JOIN family y ON f.original_id = y.id
                 UNION SELECT t.id FROM tasks t JOIN family y ON t.parent_id = y.id)
             SELECT max(position) FROM tasks WHERE id IN family",
        )?
        .query_row([id.as_str()], |row| row.get(0))?;
    between(tx, last)
}

/// A place right after another.
fn between(tx: &Connection, last: f64) -> rusqlite::Result<f64> {
    let next: Option<f64> = tx
        .prepare_cached("SELECT min(position) FROM tasks WHERE position > ?1")?
        .query_row([last], |row| row.get(0))?;
    let Some(next) = next else {
        return Ok(last.floor() + 1.0);
    };
    let middle = f64::midpoint(last, next);
    if middle > last && middle < next {
        return Ok(middle);
    }
    // No number is left between the two: all get whole ones again.
    let order: i64 = tx
        .prepare_cached("SELECT count(*) FROM tasks WHERE position <= ?1")?
        .query_row([last], |row| row.get(0))?;
    renumber(tx)?;
    Ok(order as f64 + 0.5)
}

/// Gives every task a whole number as its place, in the order they have.
fn renumber(tx: &Connection) -> rusqlite::Result<()> {
    tx.execute_batch(
        "UPDATE tasks SET position = o.place - 1e15 FROM (
             SELECT id, row_number() OVER (ORDER BY position) AS place FROM tasks) o
         WHERE o.id = tasks.id;
         UPDATE tasks SET position = position + 1e15;",
    )
}

/// A place right before a task.
pub(super) fn place_before(tx: &Connection, id: &TaskId) -> rusqlite::Result<f64> {
    let at: f64 = tx
        .prepare_cached("SELECT position FROM tasks WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))?;
    let before: Option<f64> = tx
        .prepare_cached("SELECT max(position) FROM tasks WHERE position < ?1")?
        .query_row([at], |row| row.get(0))?;
    match before {
        None => Ok(at - 1.0),
        Some(before) => between(tx, before),
    }
}

/// A limit was reached: the whole chain waits for a human.
pub(super) fn finish(tx: &Connection, end: &RecoveryEnd, now: Timestamp) -> rusqlite::Result<()> {
    let is_open = |id: &TaskId| -> rusqlite::Result<bool> {
        Ok(plan::find(tx, id.as_str())?.is_some_and(|task| !task.status.satisfies()))
    };
    // What a person finished meanwhile, or deleted, waits for nobody.
    let direct = end.chain.get(1).unwrap_or(&end.root);
    if !is_open(direct)? || !is_open(&end.root)? {
        return Ok(());
    }
    let root = name(tx, &end.root)?;
    for id in &end.chain {
        if !is_open(id)? {
            continue;
        }
        let below = format!("blocked with {root}: {}", end.reason);
        let reason = if *id == end.root { &end.reason } else { &below };
        status::set(tx, id, Status::Blocked, Some(reason), now)?;
    }
    tx.prepare_cached(
        "INSERT INTO fix_ends (task_id, end) VALUES (?1, ?2)
         ON CONFLICT (task_id) DO UPDATE SET end = excluded.end",
    )?
    .execute([end.root.as_str(), &end.end.to_string()])?;
    if let Some(failed) = end.chain.first() {
        tx.prepare_cached(
            "INSERT INTO fix_ends (task_id, last_error) VALUES (?1, ?2)
             ON CONFLICT (task_id) DO UPDATE SET last_error = excluded.last_error",
        )?
        .execute([failed.as_str(), &end.error])?;
    }
    Ok(())
}

/// Skips the open fixes of a task that needs none, and theirs in turn.
pub(super) fn skip_needless(
    tx: &Connection,
    original: &TaskId,
    now: Timestamp,
) -> rusqlite::Result<()> {
    skip_fixes(tx, original, NEEDLESS, now)
}

/// A person opens a task again: fixes that had come to nothing are given up.
pub(super) fn take_back(
    tx: &Connection,
    original: &TaskId,
    now: Timestamp,
) -> rusqlite::Result<()> {
    skip_fixes(tx, original, TAKEN_BACK, now)
}

fn skip_fixes(
    tx: &Connection,
    original: &TaskId,
    reason: &str,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let mut seen = vec![original.clone()];
    let mut at = 0;
    while let Some(id) = seen.get(at).cloned() {
        at += 1;
        let fixes: Vec<String> = tx
            .prepare_cached("SELECT task_id FROM fixes WHERE original_id = ?1")?
            .query_map([id.as_str()], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for fix in fixes.into_iter().map(TaskId::from_stored) {
            if seen.contains(&fix) {
                continue;
            }
            let open: bool = tx
                .prepare_cached(
                    "SELECT status IN ('pending', 'blocked', 'failed')
                         AND NOT EXISTS (SELECT 1 FROM claims WHERE task_id = ?1)
                     FROM tasks WHERE id = ?1",
                )?
                .query_row([fix.as_str()], |row| row.get(0))?;
            if open {
                status::set(tx, &fix, Status::Skipped, Some(reason), now)?;
            }
            seen.push(fix);
        }
    }
    Ok(())
}

/// Fix tasks that a file has, and those it remembers.
pub(super) fn import(
    tx: &Connection,
    draft: &Draft,
    kept: &[KeptFixes],
    ids: &HashMap<&str, TaskId>,
) -> rusqlite::Result<()> {
    let originals: HashMap<&str, &str> = draft
        .tasks
        .iter()
        .filter_map(|task| Some((task.name.as_str(), task.fix_of.as_deref()?)))
        .collect();
    let root = |name: &str| {
        let (mut root, mut depth) = (name.to_owned(), 0_u32);
        // A file may say anything, also that two tasks mend each other.
        while let Some(above) = originals.get(root.as_str())
            && depth < 64
        {
            root = (*above).to_owned();
            depth += 1;
        }
        (root, depth)
    };
    for task in &draft.tasks {
        let (Some(id), Some(name)) = (ids.get(task.name.as_str()), task.fix_of.as_deref()) else {
            continue;
        };
        let Some(original) = ids.get(name) else {
            continue;
        };
        let (root, depth) = root(&task.name);
        let root = ids.get(root.as_str()).unwrap_or(original);
        tx.prepare_cached(
            "INSERT OR IGNORE INTO fixes (task_id, original_id, root_id, depth) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![id.as_str(), original.as_str(), root.as_str(), depth])?;
        if !keys(tx, original)?.contains(&task.name) {
            let error = task.title.strip_prefix("Fix: ").unwrap_or(&task.title);
            let text = FixText {
                original: name.to_owned(),
                error: error.to_owned(),
                ..FixText::default()
            };
            note_attempt(tx, original, root, &task.name, &text)?;
        }
    }
    for fixes in kept {
        let Some(original) = ids.get(fixes.name.as_str()) else {
            continue;
        };
        let (root, _) = root(&fixes.name);
        let root = ids.get(root.as_str()).unwrap_or(original);
        for key in &fixes.keys {
            if !keys(tx, original)?.contains(key) {
                let text = FixText {
                    error: fixes.last_error.clone(),
                    ..FixText::default()
                };
                note_attempt(tx, original, root, key, &text)?;
            }
        }
        tx.prepare_cached(
            "UPDATE fix_attempts SET error = ?2 WHERE original_id = ?1 AND ordinal = (
                 SELECT max(ordinal) FROM fix_attempts WHERE original_id = ?1)",
        )?
        .execute([original.as_str(), &fixes.last_error])?;
    }
    Ok(())
}
