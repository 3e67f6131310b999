//! Plans that live in files: what was imported, and what each file is to show.

mod boxes;
mod import;
mod link;
mod specs;

use serde::Serialize;

#[cfg(test)]
pub(super) use import::UNOWNED;
pub(super) use specs::{KeySpace, name_specs, show_specs};

use super::fixes::NEEDLESS;
use super::sql::{
    Changes, Column, Connection, FromSqlResult, Statements, ToSqlOutput, ValueRef, bind, record,
};
use super::task_changes::PARENT_DONE;
use super::{Durability, FixText, Random, Result, Store, fixes, plan};
use crate::model::{DoneBy, Key, Status, Task, TaskId, Timestamp};
use crate::plan::Draft;
use crate::signals::ChangeKind;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    pub id: i64,
    /// Where it is, relative to the project where it is in it.
    pub path: String,
    pub format: String,
    /// What people call it.
    pub spec: String,
    /// What it looked like when Ralph last read or wrote it.
    pub digest: Option<String>,
}

#[derive(Clone, Debug)]
pub struct ImportRequest<'a> {
    pub path: &'a str,
    pub format: &'a str,
    pub digest: &'a str,
    /// What stands in it; keys and phases can be parsed.
    pub draft: &'a Draft,
    /// Fix tasks that tasks had before, by the spec's own account.
    pub fixes: &'a [KeptFixes],
    /// Whether a person asked for it; else tasks that a person deleted stay deleted.
    pub asked_for: bool,
    /// Who may have ticked boxes.
    pub author: Author,
    pub dry_run: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    /// A person: a ticked box is a person's word.
    Person,
    /// An agent that was at this task, or a person meanwhile: a ticked box proves nothing.
    Agent(Option<TaskId>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tick {
    Open,
    /// Ticked, and believed or made so by Ralph.
    Ticked,
    /// Ticked while an agent was at work: not believed, and taken back.
    Unproven,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFixes {
    pub name: String,
    pub keys: Vec<String>,
    pub last_error: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportedTask {
    pub id: TaskId,
    pub key: Option<Key>,
    pub spec: Option<String>,
    pub name: String,
    pub title: String,
    pub status: Status,
    /// Whether it is done and a gate that passed stands behind it.
    pub verified: bool,
    /// What it rests on, where it is done and that was recorded.
    pub done_by: Option<DoneBy>,
}

/// A finished task whose key the file uses for something new.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReplacedTask {
    pub id: TaskId,
    pub name: String,
    pub title: String,
    /// The new task.
    pub by: TaskId,
    pub by_name: String,
}

/// Another gate for a task than the one it had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GateEdit {
    pub id: TaskId,
    pub name: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// A gate that was changed in a plan's file while an agent was at work, and that a person has not imported since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitingGate {
    #[serde(flatten)]
    pub gate: GateEdit,
    pub path: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    pub added: Vec<ImportedTask>,
    /// Finished tasks whose key is now that of a new task.
    pub replaced: Vec<ReplacedTask>,
    /// Tasks whose text or dependencies changed.
    pub updated: Vec<ImportedTask>,
    /// Tasks that the file now calls done.
    pub finished: Vec<ImportedTask>,
    /// Tasks that were ticked while an agent was at work, which makes nothing done.
    pub unproven: Vec<ImportedTask>,
    /// Tasks whose gate was changed in the file while an agent was at work: the plan's gate stays until a person imports the
    /// file.
    pub gates_waiting: Vec<GateEdit>,
    /// Gates of known tasks that the import changed.
    pub gates_changed: Vec<GateEdit>,
    /// Tasks that are no longer in the file; they stay in the plan.
    pub removed: Vec<ImportedTask>,
    /// Open tasks of the file that have no gate of their own.
    pub without_gate: Vec<String>,
    pub unchanged: usize,
}

impl ImportReport {
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.updated.is_empty()
            && self.finished.is_empty()
            && self.unproven.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FiledTask {
    pub id: TaskId,
    pub name: String,
    pub title: String,
    pub status: Status,
    /// How its box stood when the file was last read or written.
    pub tick: Tick,
    /// The commit after the attempt that finished it.
    pub commit: Option<String>,
    pub is_fix: bool,
    /// Done, or skipped because the task that it is part of, or fixes, is done: its box shows that nothing is left to do.
    pub is_over: bool,
}

/// A task that Ralph added to a plan and that its file does not have yet.
#[derive(Clone, Debug, PartialEq)]
pub struct UnfiledTask {
    pub task: Task,
    /// What the file calls the task beside which it goes.
    pub beside: String,
    pub side: Side,
    /// What was asked for, where it is a fix task.
    pub fix: Option<FixText>,
}

/// What a file shows after Ralph wrote it.
#[derive(Clone, Copy, Debug)]
pub struct ShownFile<'a> {
    pub digest: &'a str,
    /// Whose boxes were ticked or opened.
    pub ticked: &'a [(TaskId, bool)],
    /// Tasks that it has got, with the names it calls them.
    pub filed: &'a [(TaskId, String)],
    /// Tasks whose boxes are as they should be now.
    pub settled: &'a [FiledTask],
}

/// Where a block goes, seen from the task it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Before,
    After,
}

impl Column for Tick {
    fn read(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(match i64::read(value)? {
            0 => Self::Open,
            2 => Self::Unproven,
            _ => Self::Ticked,
        })
    }

    fn write(&self) -> ToSqlOutput<'_> {
        (*self as i64).into()
    }
}

record!(SourceFile { id, path, format, spec, digest });
record!(GateEdit { id, name, before = "verify", after = "waiting_gate" });
record!(WaitingGate { gate, path });
record!(FiledTask { id, name, title, status, tick = "ticked", commit = "last_commit", is_fix, is_over });

impl Store {
    pub fn sources(&self) -> Result<Vec<SourceFile>> {
        self.all("SELECT * FROM sources ORDER BY id", [])
    }

    /// Those whose files this clone keeps in sync: what it was the last to import. One that no clone is known to keep becomes
    /// its own.
    pub fn own_sources(&mut self) -> Result<Vec<SourceFile>> {
        let known: Vec<(i64, Option<String>)> = self.all("SELECT id, kept_by FROM sources", [])?;
        let is_orphan = |kept_by: &Option<String>| kept_by.as_ref().is_none_or(String::is_empty);
        if known.iter().any(|(_, kept_by)| is_orphan(kept_by)) {
            self.write(Durability::Process, |tx| {
                let sql = "UPDATE sources SET kept_by = :here WHERE coalesce(kept_by, '') = ''";
                tx.change(sql, bind! { here: tx.local("") })
            })?;
        }
        let others: Vec<i64> = known
            .into_iter()
            .filter(|(_, kept_by)| !is_orphan(kept_by))
            .filter(|(_, kept_by)| {
                kept_by.as_ref().is_some_and(|kept_by| self.conn().known_here(kept_by).is_none())
            })
            .map(|(id, _)| id)
            .collect();
        Ok(self.sources()?.into_iter().filter(|source| !others.contains(&source.id)).collect())
    }

    /// Where the file of a task is, where it has one.
    pub fn source_path(&self, task: &TaskId) -> Result<Option<String>> {
        self.first("SELECT path FROM sources JOIN task_sources ON source_id = id WHERE task_id = ?1", [task])
    }

    pub fn import_plan(
        &mut self,
        request: &ImportRequest<'_>,
        now: Timestamp,
        random: Random<'_>,
    ) -> Result<ImportReport> {
        self.write_many(|tx| {
            if request.dry_run {
                tx.execute_batch("SAVEPOINT dry")?;
            }
            let report = import::import(tx, request, now, random)?;
            if request.dry_run {
                tx.execute_batch("ROLLBACK TO dry; RELEASE dry")?;
            }
            Ok(report)
        })
    }

    /// Gates that wait for a person to import their file, in plan order.
    pub fn waiting_gates(&self) -> Result<Vec<WaitingGate>> {
        let sql = "SELECT t.id, t.name, t.verify, s.waiting_gate, f.path
             FROM task_sources s JOIN tasks t ON t.id = s.task_id JOIN sources f ON f.id = s.source_id
             WHERE s.gate_waits = 1 ORDER BY t.position";
        self.all(sql, [])
    }

    /// Tasks of a file whose box may have to change.
    pub fn due_boxes(&self, source: i64) -> Result<Vec<FiledTask>> {
        self.all(
            &format!("{} JOIN due_boxes d ON d.task_id = t.id WHERE d.source_id = ?1", filed()),
            [source],
        )
    }

    pub fn filed_tasks(&self, source: i64) -> Result<Vec<FiledTask>> {
        self.all(&format!("{} WHERE s.source_id = ?1 ORDER BY t.position", filed()), [source])
    }

    /// Tasks that belong into a file and are not in it, in the order in which they go in: fix tasks of its tasks, then
    /// what changes of the plan added beside them, each at any depth.
    pub fn unfiled_tasks(&self, source: i64) -> Result<Vec<UnfiledTask>> {
        self.read_once(|conn| {
            let mut tasks = Vec::new();
            for (task, beside, original) in unfiled(conn, FIXES, source)? {
                let original = original.as_deref().unwrap_or_default();
                let fix = Some(fixes::text(conn, &task, &beside, original)?);
                tasks.push(UnfiledTask { task, beside, side: Side::After, fix });
            }
            for (task, beside, kind) in unfiled(conn, CHANGES, source)? {
                let side = match kind.as_deref().and_then(ChangeKind::parse) {
                    Some(ChangeKind::AddPrerequisite) => Side::Before,
                    Some(ChangeKind::SplitTask | ChangeKind::AddFollowup) | None => Side::After,
                };
                tasks.push(UnfiledTask { task, beside, side, fix: None });
            }
            Ok(tasks)
        })
    }

    /// Notes what a file shows now.
    pub fn note_filed(&mut self, source: i64, shown: &ShownFile<'_>) -> Result<()> {
        self.write(Durability::Process, |tx| {
            let digest = shown.digest;
            tx.change("UPDATE sources SET digest = :digest WHERE id = :source", bind! { source, digest })?;
            for (id, name) in shown.filed {
                let values = bind! { task_id: id, source_id: source, name };
                tx.insert_new("task_sources", values)?;
            }
            for (id, ticked) in shown.ticked {
                let sql = "UPDATE task_sources SET ticked = :ticked WHERE task_id = :id";
                tx.change(sql, bind! { id, ticked })?;
            }
            for task in shown.settled {
                let (id, status) = (&task.id, task.status);
                // Somebody may have changed the task since.
                let sql = "DELETE FROM due_boxes WHERE task_id = :id
                         AND :status = (SELECT status FROM tasks WHERE id = :id)";
                tx.change(sql, bind! { id, status })?;
            }
            Ok(())
        })
    }
}

fn filed() -> String {
    format!(
        "SELECT t.id, s.name, t.title, t.status, s.ticked,
             (SELECT o.commit_after FROM iteration_outcomes o
              WHERE o.task_id = t.id AND o.commit_after IS DISTINCT FROM o.commit_before
              ORDER BY o.attempt_number DESC LIMIT 1) AS last_commit,
             EXISTS (SELECT 1 FROM fixes f WHERE f.task_id = t.id) AS is_fix,
             t.status = 'done' OR t.status = 'skipped' AND (t.reason = '{PARENT_DONE}' OR t.reason = '{NEEDLESS}' AND EXISTS (
                 WITH RECURSIVE above (id) AS (
                     SELECT original_id FROM fixes WHERE task_id = t.id
                     UNION SELECT f.original_id FROM above a JOIN fixes f ON f.task_id = a.id)
                 SELECT 1 FROM above a JOIN tasks o ON o.id = a.id WHERE o.status = 'done')) AS is_over
         FROM task_sources s JOIN tasks t ON t.id = s.task_id"
    )
}

/// Fix tasks, the name of the task they fix, and its id.
const FIXES: &str = "SELECT f.task_id, s.name, f.original_id
        FROM fixes f CROSS JOIN task_sources s ON s.task_id = f.original_id WHERE s.source_id = ?1
    UNION SELECT f.task_id, (SELECT key FROM tasks WHERE id = f.original_id), f.original_id
        FROM fixes f JOIN family y ON f.original_id = y.id";

/// Tasks that agents asked for, the name of the task in whose attempt they did, and the kind of change.
const CHANGES: &str = "SELECT i.task_id, s.name, c.kind
        FROM changed_in i CROSS JOIN plan_changes c ON c.id = i.change_id
        CROSS JOIN task_sources s ON s.task_id = c.task_id WHERE s.source_id = ?1
    UNION SELECT i.task_id, (SELECT key FROM tasks WHERE id = c.task_id), c.kind
        FROM changed_in i JOIN plan_changes c ON c.id = i.change_id
        JOIN family y ON c.task_id = y.id";

/// The tasks of a family that no file has: each with the name beside which it goes, and what it is about.
fn unfiled(conn: &Connection, family: &str, source: i64) -> Result<Vec<(Task, String, Option<String>)>> {
    // The family first: it is small, and the plan may be large.
    let sql = format!(
        "WITH RECURSIVE family (id, name, about) AS ({family})
         SELECT y.id, y.name, y.about FROM family y CROSS JOIN tasks t ON t.id = y.id
         WHERE y.name IS NOT NULL
             AND NOT EXISTS (SELECT 1 FROM task_sources o WHERE o.task_id = y.id)
         ORDER BY t.position"
    );
    let found: Vec<(TaskId, String, Option<String>)> = conn.all(&sql, [source])?;
    let tasks = found.into_iter();
    tasks.map(|(id, beside, about)| Ok((plan::known(conn, &id)?, beside, about))).collect()
}
