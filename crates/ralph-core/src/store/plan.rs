//! The plan: its tasks as they are read and shown.

use std::collections::HashMap;

use serde::{Deserialize, Serialize, Serializer};

use super::sql::{Connection, FromRow, Json, ReadResult, Row, Statements, Values, bind, line, record};
use super::{Result, Store, StoreError};
use crate::event::TaskRef;
use crate::model::{Level, Status, Task, TaskId, TaskMetrics, Verification};
use crate::plan::is_spec_name;
use crate::text;

/// Which tasks a run may touch.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Scope {
    #[default]
    All,
    /// These tasks, their descendants, what fixes them and what agents added to the plan for them.
    Below(Vec<TaskId>),
}

impl Scope {
    /// Runs a statement on `tasks`, in which `{scope}` is a condition.
    pub(super) fn rows<T: FromRow>(
        &self,
        db: &impl Statements,
        sql: &str,
        values: Values<'_>,
    ) -> Result<Vec<T>> {
        let Self::Below(roots) = self else {
            return db.all(&sql.replace("{scope}", "true"), values);
        };
        let roots = Json(roots);
        let mut values = values.to_vec();
        values.push((":roots", &roots));
        let below = db.connection().either(SCOPE, SCOPE_ON_SERVER);
        db.all(
            &format!("{below}{}", sql.replace("{scope}", "id IN (SELECT id FROM scope)")),
            values.as_slice(),
        )
    }
}

const SCOPE: &str = "WITH RECURSIVE scope (id) AS (
    SELECT id FROM tasks WHERE id IN (SELECT value FROM json_each(:roots))
    UNION SELECT t.id FROM tasks t JOIN scope s ON t.parent_id = s.id
    UNION SELECT f.task_id FROM fixes f JOIN scope s ON f.original_id = s.id
    UNION SELECT i.task_id FROM changed_in i JOIN plan_changes c ON c.id = i.change_id
        JOIN scope s ON c.task_id = s.id) ";

/// The same with one reference to what was found before, which is all that PostgreSQL allows.
const SCOPE_ON_SERVER: &str = "WITH RECURSIVE scope (id) AS (
    SELECT id FROM tasks WHERE id IN (SELECT value FROM json_each(:roots))
    UNION SELECT below.id FROM scope s JOIN (
        SELECT parent_id AS above, id FROM tasks
        UNION ALL SELECT original_id, task_id FROM fixes
        UNION ALL SELECT c.task_id, i.task_id FROM changed_in i JOIN plan_changes c ON c.id = i.change_id
    ) below ON below.above = s.id) ";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenGate {
    pub task: TaskId,
    pub name: String,
    /// None where the task has no gate of its own.
    pub command: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct PlanCounts {
    pub total: u64,
    pub pending: u64,
    pub in_progress: u64,
    pub done: u64,
    /// Done, with a gate that passed. Events of older versions do not say.
    #[serde(default)]
    pub verified: u64,
    /// Verified by a gate that passed before any work, too.
    #[serde(default)]
    pub already_green: u64,
    /// Done and accepted by another agent, without a gate that passed.
    #[serde(default)]
    pub reviewed: u64,
    pub failed: u64,
    pub blocked: u64,
    pub skipped: u64,
}

struct CountRow {
    status: Status,
    n: u64,
    verified: u64,
    already_green: u64,
    reviewed: u64,
}

/// Programs also read the counts that follow from others.
impl Serialize for PlanCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map([
            ("total", self.total),
            ("pending", self.pending),
            ("in_progress", self.in_progress),
            ("done", self.done),
            ("verified", self.verified),
            ("already_green", self.already_green),
            ("reviewed", self.reviewed),
            ("unverified", self.unverified()),
            ("failed", self.failed),
            ("blocked", self.blocked),
            ("skipped", self.skipped),
            ("waiting", self.pending),
        ])
    }
}

impl PlanCounts {
    pub fn moved(&mut self, from: Status, to: Status) {
        let count = self.of(from);
        *count = count.saturating_sub(1);
        *self.of(to) += 1;
    }

    fn of(&mut self, status: Status) -> &mut u64 {
        match status {
            Status::Pending => &mut self.pending,
            Status::InProgress => &mut self.in_progress,
            Status::Done => &mut self.done,
            Status::Failed => &mut self.failed,
            Status::Blocked => &mut self.blocked,
            Status::Skipped => &mut self.skipped,
        }
    }

    pub fn unverified(&self) -> u64 {
        self.done.saturating_sub(self.verified).saturating_sub(self.reviewed)
    }

    /// Whether no task needs more work. Skipped tasks need none, but they are not done.
    pub fn is_settled(&self) -> bool {
        self.done.saturating_add(self.skipped) >= self.total
    }

    /// How far the plan is, in the one form that every display uses:
    /// `14 of 18 done (9 verified, 3 already green, 2 unverified) · 1 skipped · 2 blocked · 1 waiting`. Zeros are left out.
    pub fn summary(&self) -> String {
        let present = |parts: &[(u64, &str)]| -> Vec<String> {
            let parts = parts.iter().filter(|(n, _)| *n > 0);
            parts.map(|(n, word)| format!("{n} {word}")).collect()
        };
        let rests_on = present(&[
            (self.verified.saturating_sub(self.already_green), "verified"),
            (self.already_green, "already green"),
            (self.reviewed, "reviewed"),
            (self.unverified(), "unverified"),
        ]);
        let rests_on = match rests_on.is_empty() {
            true => String::new(),
            false => format!(" ({})", rests_on.join(", ")),
        };
        let mut parts = vec![format!("{} of {} done{rests_on}", self.done, self.total)];
        parts.extend(present(&[
            (self.skipped, "skipped"),
            (self.blocked, "blocked"),
            (self.failed, "failed"),
            (self.in_progress, "running"),
            (self.pending, "waiting"),
        ]));
        parts.join(" · ")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanNode {
    pub id: TaskId,
    pub name: String,
    pub status: Status,
    pub parent: Option<TaskId>,
    pub depends_on: Vec<TaskId>,
    /// Its own gate failed after its children were done.
    pub own_work: bool,
    /// The task that Ralph made it for, to fix it or because its agent asked.
    pub made_for: Option<TaskId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Held {
    pub task_id: TaskId,
    pub spec: Option<String>,
    pub name: String,
    pub status: Status,
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct GateChange {
    /// Its number; later ones have higher ones.
    pub id: i64,
    pub task: TaskRef,
    pub before: Option<String>,
    pub after: Option<String>,
}

record!(Task {
    id, key, spec, name, title via line, description, status, verified, done_by, verification via verification, phase, parent_id,
    priority, verify, files, protect, may_change,
    model, needs_human, reason via reason, created_at, updated_at, attempts, consecutive_failures, depends_on,
    done_when, commit = "commit_message", markers,
});
record!(TaskMetrics {
    total_attempts, consecutive_failures, stuck = "stuck_flag", difficulty = "difficulty_estimate", next_model,
    users_model, lost_in_a_row, landing_failures,
} reads { forgiven });
record!(CountRow { status, n, verified, already_green, reviewed });
record!(PlanNode { id, name, status, parent = "parent_id", own_work, depends_on, made_for });
record!(Held { task_id = "id", spec, name, status, reason via reason });
record!(OpenGate { task = "id", name, command = "verify" });
record!(GateChange { id = "number", task, before = "gate_before", after = "gate_after" });

/// What the columns say is never older than the rest.
pub(super) fn verification(row: &Row<'_>, name: &str) -> ReadResult<Option<Verification>> {
    if row.get::<Status>("status")? != Status::Done {
        return Ok(None);
    }
    let stored: Option<Verification> = row.get(name)?;
    let level: Option<Level> = row.get("level")?;
    Ok(Some(Verification {
        level: level.unwrap_or_default(),
        already_green: row.get("already_green")?,
        ..stored.unwrap_or_default()
    }))
}

fn reason(row: &Row<'_>, name: &str) -> ReadResult<Option<String>> {
    let reason: Option<String> = row.get(name)?;
    Ok(reason.map(|reason| text::one_line(&reason, 500)))
}

impl Store {
    pub fn task(&self, name: &str) -> Result<Task> {
        let found = self.read(|conn| find(conn, name))?;
        found.ok_or_else(|| StoreError::UnknownTask(name.to_owned()))
    }

    /// The task that an attempt at `task` means by a name: of its own spec, if that has such a key.
    pub fn task_beside(&self, name: &str, task: &TaskId) -> Result<Option<Task>> {
        self.read(|conn| find_beside(conn, name, task))
    }

    /// Whether a key is taken in the spec of a task.
    pub fn has_key_beside(&self, key: &str, task: &TaskId) -> Result<bool> {
        let sql = "SELECT 1 FROM tasks
             WHERE key = :key AND coalesce(source_id, 0)
                 = coalesce((SELECT source_id FROM tasks WHERE id = :task), 0)";
        self.has(sql, bind! { key, task })
    }

    /// Tasks in plan order, those with `status` only if one is given.
    pub fn tasks(&self, status: Option<Status>) -> Result<Vec<Task>> {
        let wanted = "WHERE CAST(?1 AS TEXT) IS NULL OR t.status = ?1 ORDER BY t.position";
        self.all(&format!("{TASK} {wanted}"), [status])
    }

    pub fn children(&self, id: &TaskId) -> Result<Vec<Task>> {
        let wanted = "WHERE t.parent_id = ?1 ORDER BY t.position";
        self.all(&format!("{TASK} {wanted}"), [id])
    }

    /// Ids of tasks that depend on one, in plan order.
    pub fn dependents(&self, id: &TaskId) -> Result<Vec<TaskId>> {
        let sql = "SELECT t.id FROM dependencies d JOIN tasks t ON t.id = d.blocked_id
             WHERE d.blocker_id = ?1 ORDER BY t.position";
        self.all(sql, [id])
    }

    /// Ids of tasks that could be claimed now, in the order they would be.
    pub fn ready(&self, scope: &Scope, limit: usize) -> Result<Vec<TaskId>> {
        let sql = "SELECT id FROM tasks WHERE ready = 1 AND {scope} ORDER BY priority, position LIMIT :limit";
        scope.rows(self, sql, bind! { limit: row_limit(limit) })
    }

    /// How many tasks have each status. Triggers keep the counts.
    pub fn counts(&self) -> Result<PlanCounts> {
        let rows: Vec<CountRow> = self.all("SELECT * FROM task_counts", [])?;
        let mut counts = PlanCounts::default();
        for row in rows {
            counts.total += row.n;
            counts.verified += row.verified;
            counts.already_green += row.already_green;
            counts.reviewed += row.reviewed;
            *counts.of(row.status) = row.n;
        }
        Ok(counts)
    }

    pub fn ready_count(&self) -> Result<u64> {
        self.one("SELECT count(*) FROM tasks WHERE ready = 1", [])
    }

    pub fn held(&self, limit: usize) -> Result<Vec<Held>> {
        let sql = "SELECT id, spec, name, status, reason FROM tasks
             WHERE status IN ('blocked', 'failed') ORDER BY position LIMIT ?1";
        self.all(sql, [row_limit(limit)])
    }

    /// Tasks in scope that an agent may still be asked to do and that have no gate of their own; every such task where
    /// gates are off. Parents are done by their children.
    pub fn ungated(&self, scope: &Scope, gates_on: bool) -> Result<Vec<TaskRef>> {
        let sql = "SELECT id, key, spec, name, title FROM tasks
             WHERE status IN ('pending', 'in_progress', 'blocked') AND child_count = 0
                 AND (verify IS NULL OR :gates_on = 0) AND {scope} ORDER BY position";
        scope.rows(self, sql, bind! { gates_on })
    }

    /// The models that unfinished tasks in scope ask for by themselves.
    pub fn task_models(&self, scope: &Scope) -> Result<Vec<String>> {
        let sql = "SELECT model FROM tasks
             WHERE status IN ('pending', 'in_progress', 'blocked') AND child_count = 0
                 AND model IS NOT NULL AND {scope} GROUP BY model ORDER BY min(position)";
        scope.rows(self, sql, &[])
    }

    /// The gates of tasks that are not finished, in plan order.
    pub fn open_gates(&self, limit: usize) -> Result<Vec<OpenGate>> {
        let sql = "SELECT id, name, verify FROM tasks
             WHERE status NOT IN ('done', 'skipped') ORDER BY priority, position LIMIT ?1";
        self.all(sql, [row_limit(limit)])
    }

    /// The plan's skeleton, for questions about the whole of it.
    pub fn skeleton(&self) -> Result<Vec<PlanNode>> {
        let sql = "SELECT t.id, t.name, t.status, t.parent_id, t.own_work, '[]' AS depends_on,
                coalesce((SELECT f.original_id FROM fixes f WHERE f.task_id = t.id),
                         (SELECT c.task_id FROM changed_in i JOIN plan_changes c
                              ON c.id = i.change_id WHERE i.task_id = t.id)) AS made_for
             FROM tasks t ORDER BY t.priority, t.position";
        let mut nodes: Vec<PlanNode> = self.all(sql, [])?;
        let mut depends_on: HashMap<TaskId, Vec<TaskId>> = HashMap::new();
        // All of them at once: asking for those of each task takes far longer in a large plan.
        let all: Vec<(TaskId, TaskId)> = self.all("SELECT blocked_id, blocker_id FROM dependencies", [])?;
        for (blocked, blocker) in all {
            depends_on.entry(blocked).or_default().push(blocker);
        }
        for node in &mut nodes {
            node.depends_on = depends_on.remove(&node.id).unwrap_or_default();
        }
        Ok(nodes)
    }

    /// The number of the last change of a gate; 0 where there is none.
    pub fn last_gate_change(&self) -> Result<i64> {
        self.one("SELECT max(id) FROM gate_changes", [])
    }

    /// Changes of gates after that one, in order.
    pub fn gate_changes(&self, after: i64) -> Result<Vec<GateChange>> {
        let sql = "SELECT c.id AS number, t.id, t.key, t.spec, t.name, t.title, c.gate_before, c.gate_after
             FROM gate_changes c JOIN tasks t ON t.id = c.task_id WHERE c.id > ?1 ORDER BY c.id";
        self.all(sql, [after])
    }

    /// Whether the gate of some parent is due.
    pub fn has_gate_due(&self) -> Result<bool> {
        self.has("SELECT 1 FROM tasks WHERE gate_due = 1 AND verify IS NOT NULL LIMIT 1", [])
    }

    pub fn metrics(&self, task: &TaskId) -> Result<TaskMetrics> {
        self.read(|conn| metrics(conn, task))
    }
}

pub(super) fn row_limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

const TASK: &str = "SELECT t.*, coalesce(m.total_attempts, 0) AS attempts,
        coalesce(m.consecutive_failures, 0) AS consecutive_failures,
        (SELECT json_group_array(blocker_id) FROM (SELECT d.blocker_id FROM dependencies d
            LEFT JOIN tasks b ON b.id = d.blocker_id
            WHERE d.blocked_id = t.id ORDER BY b.position, d.blocker_id) AS blockers) AS depends_on
    FROM tasks t LEFT JOIN strategy_metrics m ON m.task_id = t.id";

/// The task of this id, else of this key, else of this key in a spec (`auth:1.3`). A key that several specs have is an error
/// that names them.
pub(super) fn find(conn: &Connection, name: &str) -> Result<Option<Task>> {
    if let Some(task) = by_id(conn, name)? {
        return Ok(Some(task));
    }
    let mut tasks: Vec<Task> = conn.all(&format!("{TASK} WHERE t.key = ?1 ORDER BY t.position"), [name])?;
    if tasks.is_empty() {
        tasks = in_spec(conn, name)?;
    }
    match tasks.len() {
        0 | 1 => Ok(tasks.pop()),
        _ => Err(StoreError::AmbiguousKey {
            key: name.to_owned(),
            choices: tasks.iter().map(whole_name).collect(),
        }),
    }
}

/// The same where a name is said in an attempt at a task: a key of its own spec is never ambiguous.
pub(super) fn find_beside(conn: &Connection, name: &str, task: &TaskId) -> Result<Option<Task>> {
    let wanted = "WHERE t.key = :name AND coalesce(t.source_id, 0)
         = coalesce((SELECT source_id FROM tasks WHERE id = :task), 0)";
    match conn.first(&format!("{TASK} {wanted}"), bind! { name, task })? {
        Some(task) => Ok(Some(task)),
        None => find(conn, name),
    }
}

fn by_id(conn: &Connection, id: &str) -> Result<Option<Task>> {
    conn.first(&format!("{TASK} WHERE t.id = ?1"), [id])
}

/// The tasks that `spec:key` may mean. Both may have colons in them.
fn in_spec(conn: &Connection, name: &str) -> Result<Vec<Task>> {
    let mut tasks = Vec::new();
    for (at, _) in name.match_indices(':') {
        let (spec, key) = (&name[..at], &name[at + 1..]);
        let sql = "SELECT s.path, s.format, t.id FROM tasks t JOIN sources s ON s.id = t.source_id
             WHERE t.key = ?1 ORDER BY t.position";
        let found: Vec<(String, String, TaskId)> = conn.all(sql, [key])?;
        let own = |task: &Task| task.spec.as_deref() == Some(spec);
        let mut named = Vec::new();
        for (path, format, id) in found {
            let task = known(conn, &id)?;
            if own(&task) || is_spec_name(spec, &path, &format) {
                named.push(task);
            }
        }
        // The name that Ralph gives a spec means that one, whatever others could be called.
        match named.iter().position(own) {
            Some(at) => tasks.push(named.swap_remove(at)),
            None => tasks.extend(named),
        }
    }
    Ok(tasks)
}

/// A name that can mean no other task.
fn whole_name(task: &Task) -> String {
    match (&task.spec, &task.key) {
        (Some(spec), Some(key)) => format!("{spec}:{key}"),
        _ => task.id.to_string(),
    }
}

pub(super) fn known(conn: &Connection, id: &TaskId) -> Result<Task> {
    by_id(conn, id.as_str())?.ok_or_else(|| StoreError::UnknownTask(id.to_string()))
}

/// What people call a task.
pub(super) fn name(conn: &Connection, id: &TaskId) -> Result<String> {
    conn.one("SELECT name FROM tasks WHERE id = ?1", [id])
}

pub(super) fn metrics(conn: &Connection, task: &TaskId) -> Result<TaskMetrics> {
    Ok(conn.first("SELECT * FROM strategy_metrics WHERE task_id = ?1", [task])?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(done: u64, [verified, already_green, reviewed]: [u64; 3], rest: [u64; 5]) -> PlanCounts {
        let [skipped, blocked, failed, in_progress, pending] = rest;
        PlanCounts {
            total: done + rest.iter().sum::<u64>(),
            done,
            verified,
            already_green,
            reviewed,
            skipped,
            blocked,
            failed,
            in_progress,
            pending,
        }
    }

    #[test]
    fn exit_01_the_summary_counts_each_kind_apart() {
        for (counts, text) in [
            (
                counts(14, [12, 0, 0], [1, 2, 0, 0, 1]),
                "14 of 18 done (12 verified, 2 unverified) · 1 skipped · 2 blocked · 1 waiting",
            ),
            (
                counts(14, [12, 3, 0], [0, 0, 0, 0, 4]),
                "14 of 18 done (9 verified, 3 already green, 2 unverified) · 4 waiting",
            ),
            (counts(4, [1, 1, 1], [0; 5]), "4 of 4 done (1 already green, 1 reviewed, 2 unverified)"),
            (counts(18, [18, 0, 0], [0; 5]), "18 of 18 done (18 verified)"),
            (counts(2, [0, 0, 0], [0; 5]), "2 of 2 done (2 unverified)"),
            (counts(0, [0, 0, 0], [0, 0, 0, 0, 3]), "0 of 3 done · 3 waiting"),
            (
                counts(1, [1, 0, 0], [1, 1, 1, 1, 1]),
                "1 of 6 done (1 verified) · 1 skipped · 1 blocked · 1 failed · 1 running · 1 waiting",
            ),
            (counts(0, [0, 0, 0], [0; 5]), "0 of 0 done"),
        ] {
            assert_eq!(counts.summary(), text);
        }
    }

    #[test]
    fn counts_as_json_have_the_kinds_that_follow_and_are_read_back() {
        let counts = counts(3, [2, 0, 0], [1, 1, 0, 0, 4]);
        let json = serde_json::to_value(counts).unwrap();
        let expected = serde_json::json!({
            "total": 9, "pending": 4, "in_progress": 0, "done": 3, "verified": 2,
            "already_green": 0, "reviewed": 0, "unverified": 1,
            "failed": 0, "blocked": 1, "skipped": 1, "waiting": 4,
        });
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_value::<PlanCounts>(json).unwrap(), counts);
    }
}
