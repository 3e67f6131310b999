//! Fix tasks: made with the failure that asks for them, skipped when nothing is left to fix.

use std::collections::HashMap;

use serde::Serialize;

use super::sql::{Changes, Connection, Statements, bind, record};
use super::{Capture, KeptFixes, Random, Result, Store, StoreError, plan, status, task_changes};
use crate::model::{NewTask, Status, Task, TaskId, Timestamp};
use crate::plan::Draft;
use crate::recovery::{FinalState, Lineage};

pub(super) const NEEDLESS: &str = "the task that it fixes is done, skipped or deleted";
const TAKEN_BACK: &str = "the task that it fixes was reset";
/// Fixes of fixes in a file that are followed to their root: a file may say that two tasks fix each other.
const MOST_LINKS: u32 = 64;

#[derive(Clone, Debug, PartialEq)]
pub struct NewFix {
    pub task: NewTask,
    pub text: FixText,
    /// What the failure was recognized by.
    pub coarse: Option<String>,
}

/// What a fix task's block in the plan's file is made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FixText {
    /// The key of the task it fixes.
    pub original: String,
    pub error: String,
    /// What was attempted against it, where that is known.
    pub attempted: Option<String>,
    pub category: Option<String>,
}

/// A recovery that came to its end without success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveryEnd {
    /// The tasks from the failed one up to the root: all are blocked.
    pub chain: Vec<TaskId>,
    /// The root, which carries the reason.
    pub root: TaskId,
    pub reason: String,
    /// The newest failure's error.
    pub error: String,
    /// The same in short, for the history line.
    pub end: FinalState,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FixLink {
    /// The task it fixes; none where that was deleted.
    pub original: Option<TaskId>,
    /// The task that all the fixes are for.
    pub root: Option<TaskId>,
    pub depth: u32,
    /// What the failure was recognized by.
    #[serde(skip)]
    pub coarse: Option<String>,
    #[serde(skip)]
    pub error: Option<String>,
    /// The failed attempt of the original.
    #[serde(skip)]
    pub attempt_number: Option<u32>,
}

/// Where a task stands among the fixes of its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixFamily {
    /// The keys, for the limits.
    pub lineage: Lineage,
    /// The ids of the chain, the task itself first and the root last.
    pub chain: Vec<TaskId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixRecord {
    /// The task's name in its file, else its key or id.
    pub name: String,
    pub fixes: Vec<String>,
    pub last_error: String,
    pub end: Option<FinalState>,
}

record!(FixText { original, error, attempted, category });
record!(FixLink { original = "original_id", root = "root_id", depth, coarse, error, attempt_number });
record!(FixRecord { name, fixes, last_error, end = "ended" });

impl Store {
    pub fn fix_link(&self, task: &TaskId) -> Result<Option<FixLink>> {
        self.read(|conn| link(conn, task))
    }

    pub fn fix_family(&self, task: &TaskId) -> Result<FixFamily> {
        self.read(|conn| family(conn, task))
    }

    pub fn fix_records(&self) -> Result<Vec<(TaskId, FixRecord)>> {
        let sql = "SELECT t.id, coalesce(s.name, t.key, t.id) AS name,
                 json_group_array(a.key ORDER BY a.ordinal) AS fixes,
                 coalesce(e.last_error, (SELECT error FROM fix_attempts n
                     WHERE n.original_id = t.id ORDER BY ordinal DESC LIMIT 1)) AS last_error,
                 CASE WHEN t.status = 'done' THEN 'PASS' ELSE e.end END AS ended
             FROM fix_attempts a
             CROSS JOIN tasks t ON t.id = a.original_id
             LEFT JOIN task_sources s ON s.task_id = t.id
             LEFT JOIN fix_ends e ON e.task_id = t.id
             GROUP BY t.id, s.name, e.last_error, e.end ORDER BY t.position";
        self.all(sql, [])
    }

    /// The end of what the gate printed in a task's last counted failure.
    pub fn last_gate_output(&self, task: &TaskId) -> Result<Option<String>> {
        let sql = "SELECT gate_output FROM iteration_outcomes
             WHERE task_id = ?1 AND counted = 1 AND outcome <> 'done'
             ORDER BY attempt_number DESC LIMIT 1";
        Ok(self.first(sql, [task])?.flatten())
    }
}

pub(super) fn link(conn: &Connection, task: &TaskId) -> Result<Option<FixLink>> {
    let sql = "SELECT f.*, (SELECT a.error FROM fix_attempts a JOIN tasks t ON t.id = f.task_id
             WHERE a.original_id = f.original_id AND a.key = coalesce(t.key, t.id)) AS error
         FROM fixes f WHERE f.task_id = ?1";
    conn.first(sql, [task])
}

/// The root of a fix task, or the task itself.
pub(super) fn root_of(conn: &Connection, task: &TaskId) -> Result<TaskId> {
    let root = conn.first("SELECT root_id FROM fixes WHERE task_id = ?1", [task])?;
    Ok(root.flatten().unwrap_or_else(|| task.clone()))
}

/// A task of a chain of fixes.
struct ChainLink {
    id: TaskId,
    name: String,
    /// The fixes that were made for it, and for all that it is the root of.
    fixes: Vec<String>,
    below: usize,
}

record!(ChainLink { id, name, fixes, below });

fn family(conn: &Connection, task: &TaskId) -> Result<FixFamily> {
    let sql = format!(
        "WITH RECURSIVE chain (id, place) AS (
             SELECT id, 0 FROM tasks WHERE id = ?1
             UNION ALL SELECT f.original_id, c.place + 1 FROM chain c JOIN fixes f ON f.task_id = c.id
             WHERE f.original_id IS NOT NULL AND c.place < {MOST_LINKS})
         SELECT t.id, coalesce(t.key, t.id) AS name,
             (SELECT json_group_array(key) FROM (SELECT key FROM fix_attempts WHERE original_id = t.id
                  ORDER BY ordinal) AS made) AS fixes,
             (SELECT count(*) FROM fix_attempts WHERE root_id = t.id) AS below
         FROM chain c JOIN tasks t ON t.id = c.id ORDER BY c.place"
    );
    let mut links: Vec<ChainLink> = Vec::new();
    for link in conn.all::<ChainLink, Vec<_>>(&sql, [task])? {
        // A file may say that two tasks fix each other.
        if links.iter().any(|known| known.id == link.id) {
            break;
        }
        links.push(link);
    }
    let [own, above @ ..] = links.as_slice() else { return Err(StoreError::UnknownTask(task.to_string())) };
    Ok(FixFamily {
        lineage: Lineage {
            failed: own.name.clone(),
            above: above.iter().rev().map(|link| link.name.clone()).collect(),
            fixes: own.fixes.clone(),
            below_root: above.last().unwrap_or(own).below,
        },
        chain: links.into_iter().map(|link| link.id).collect(),
    })
}

fn keys(conn: &Connection, original: &TaskId) -> Result<Vec<String>> {
    conn.all("SELECT key FROM fix_attempts WHERE original_id = ?1 ORDER BY ordinal", [original])
}

pub(super) fn text(conn: &Connection, task: &Task, original: &str, original_id: &str) -> Result<FixText> {
    let sql = "SELECT :name AS original, error, attempted, category FROM fix_attempts
         WHERE original_id = :original AND key = :key";
    let values = bind! { name: original, original: original_id, key: task.key_or_id() };
    let found = conn.first(sql, values)?;
    Ok(found.unwrap_or_else(|| FixText { original: original.to_owned(), ..FixText::default() }))
}

/// After an attempt: makes the fix task it asks for, ends a recovery, and skips what is no longer needed.
pub(super) fn after(tx: &Connection, capture: &Capture, random: Random<'_>) -> Result<()> {
    let (id, now) = (&capture.attempt.task_id, capture.attempt.ended_at());
    if let Some(fix) = &capture.fix {
        create(tx, id, fix, capture.attempt.attempt_number, now, random)?;
    }
    if let Some(end) = &capture.recovery_end {
        end_recovery(tx, end, now)?;
    }
    tx.read_ahead(|| {
        let _ = plan::known(tx, id);
        let _ = link(tx, id);
        let _ = open_fixes(tx, id);
    })?;
    let task = plan::known(tx, id)?;
    let link = link(tx, id)?;
    if task.status.satisfies() {
        skip_needless(tx, id, now)?;
        // A person had this one attempted again: what waited with it can go on.
        if let Some(original) = link.and_then(|link| link.original)
            && plan::known(tx, &original)?.status == Status::Blocked
        {
            status::set(tx, &original, Status::Pending, None, now)?;
        }
    } else if let Some(link) = link {
        let needed = match &link.original {
            Some(original) => is_open(tx, original)?,
            None => false,
        };
        if !needed {
            status::set(tx, id, Status::Skipped, Some(NEEDLESS), now)?;
            skip_needless(tx, id, now)?;
        }
    }
    Ok(())
}

fn is_open(tx: &Connection, id: &TaskId) -> Result<bool> {
    let open = "SELECT status NOT IN ('done', 'skipped') FROM tasks WHERE id = ?1";
    Ok(tx.first(open, [id])?.unwrap_or(false))
}

fn create(
    tx: &Connection,
    original: &TaskId,
    fix: &NewFix,
    attempt_number: u32,
    now: Timestamp,
    random: Random<'_>,
) -> Result<()> {
    let root = root_of(tx, original)?;
    let depth = link(tx, original)?.map_or(0, |link| link.depth) + 1;
    let position = task_changes::position_after(tx, original)?;
    let id = task_changes::add_beside(tx, &fix.task, original, now, random)?;
    task_changes::set_position(tx, &id, position)?;
    task_changes::depend(tx, original, &id)?;
    tx.insert(
        "fixes",
        bind! {
            task_id: id, original_id: original, root_id: root, depth, attempt_number, coarse: fix.coarse,
        },
    )?;
    let key = fix.task.key.as_ref().map_or(id.as_str(), |key| key.as_str());
    note_attempt(tx, original, &root, key, &fix.text)?;
    tx.change("UPDATE fix_ends SET last_error = NULL WHERE task_id = ?1", [original])
}

fn note_attempt(tx: &Connection, original: &TaskId, root: &TaskId, key: &str, text: &FixText) -> Result<()> {
    tx.change(
        "INSERT INTO fix_attempts (original_id, ordinal, key, root_id, error, attempted, category)
         SELECT :original, coalesce(max(ordinal), 0) + 1, :key, :root, :error, :attempted, :category
         FROM fix_attempts WHERE original_id = :original",
        bind! { original, key, root, error: text.error, attempted: text.attempted, category: text.category },
    )
}

/// A limit was reached: the whole chain is blocked.
pub(super) fn end_recovery(tx: &Connection, end: &RecoveryEnd, now: Timestamp) -> Result<()> {
    // What a person finished meanwhile, or deleted, is not blocked.
    let direct = end.chain.get(1).unwrap_or(&end.root);
    if !is_open(tx, direct)? || !is_open(tx, &end.root)? {
        return Ok(());
    }
    let root = plan::name(tx, &end.root)?;
    let below = format!("blocked because {root} is blocked: {}", end.reason);
    for id in &end.chain {
        if is_open(tx, id)? {
            let reason = if *id == end.root { &end.reason } else { &below };
            status::set(tx, id, Status::Blocked, Some(reason), now)?;
        }
    }
    let values = bind! { task_id: end.root, end: end.end.to_string() };
    tx.upsert("fix_ends", &["task_id"], values)?;
    if let Some(failed) = end.chain.first() {
        let values = bind! { task_id: failed, last_error: end.error };
        tx.upsert("fix_ends", &["task_id"], values)?;
    }
    Ok(())
}

/// Skips the open fixes of a task that needs none, and theirs in turn.
pub(super) fn skip_needless(tx: &Connection, original: &TaskId, now: Timestamp) -> Result<()> {
    skip_fixes(tx, original, NEEDLESS, now)
}

/// A person opens a task again: fixes that had come to nothing are given up.
pub(super) fn take_back(tx: &Connection, original: &TaskId, now: Timestamp) -> Result<()> {
    skip_fixes(tx, original, TAKEN_BACK, now)
}

fn skip_fixes(tx: &Connection, original: &TaskId, reason: &str, now: Timestamp) -> Result<()> {
    for fix in open_fixes(tx, original)? {
        status::set(tx, &fix, Status::Skipped, Some(reason), now)?;
    }
    Ok(())
}

fn open_fixes(tx: &Connection, original: &TaskId) -> Result<Vec<TaskId>> {
    tx.all(
        "WITH RECURSIVE family (id) AS (
             SELECT task_id FROM fixes WHERE original_id = ?1
             UNION SELECT f.task_id FROM fixes f JOIN family y ON f.original_id = y.id)
         SELECT t.id FROM family y CROSS JOIN tasks t ON t.id = y.id
         WHERE t.id <> ?1 AND t.status IN ('pending', 'blocked', 'failed')
             AND NOT EXISTS (SELECT 1 FROM claims c WHERE c.task_id = t.id)",
        [original],
    )
}

/// Fix tasks that a file has, and those it remembers.
pub(super) fn import(
    tx: &Connection,
    draft: &Draft,
    kept: &[KeptFixes],
    ids: &HashMap<&str, TaskId>,
) -> Result<()> {
    let fixes = draft.tasks.iter();
    let originals: HashMap<&str, &str> =
        fixes.filter_map(|task| Some((task.name.as_str(), task.fix_of.as_deref()?))).collect();
    let root_of = |name: &str, original: &TaskId| {
        let (mut root, mut depth) = (name, 0);
        while let Some(above) = originals.get(root)
            && depth < MOST_LINKS
        {
            (root, depth) = (above, depth + 1);
        }
        (ids.get(root).unwrap_or(original).clone(), depth)
    };
    let note_new = |original: &TaskId, root: &TaskId, key: &String, text: FixText| match keys(tx, original)?
        .contains(key)
    {
        true => Ok(()),
        false => note_attempt(tx, original, root, key, &text),
    };
    for task in &draft.tasks {
        let (Some(id), Some(name)) = (ids.get(task.name.as_str()), task.fix_of.as_deref()) else { continue };
        let Some(original) = ids.get(name) else { continue };
        let (root, depth) = root_of(&task.name, original);
        let values = bind! { task_id: id, original_id: original, root_id: root, depth };
        tx.insert_new("fixes", values)?;
        let error = task.title.strip_prefix("Fix: ").unwrap_or(&task.title);
        let text = FixText { original: name.to_owned(), error: error.to_owned(), ..FixText::default() };
        note_new(original, &root, &task.name, text)?;
    }
    for fixes in kept {
        let Some(original) = ids.get(fixes.name.as_str()) else { continue };
        let (root, _) = root_of(&fixes.name, original);
        for key in &fixes.keys {
            let text = FixText { error: fixes.last_error.clone(), ..FixText::default() };
            note_new(original, &root, key, text)?;
        }
        tx.change(
            "UPDATE fix_attempts SET error = :error WHERE original_id = :original AND ordinal = (
                 SELECT max(ordinal) FROM fix_attempts WHERE original_id = :original)",
            bind! { original, error: fixes.last_error },
        )?;
    }
    Ok(())
}
