//! The plan as views show it: the whole of it as a tree of ids, and of the tasks in view what a row says. A plan of ten
//! thousand tasks is looked at a screen at a time.

use std::collections::HashMap;

use super::plan::verification;
use super::sql::{Json, ReadResult, Row, Statements, bind, line, record};
use super::{PlanNode, Result, Store};
use crate::model::{DoneBy, Phase, RunId, Status, Task, TaskId, Verification};

/// A task's place in the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineNode {
    pub id: TaskId,
    pub parent: Option<TaskId>,
    pub status: Status,
    /// Whether it is done and a gate that passed stands behind it.
    pub verified: bool,
    /// The phase as people see it.
    pub phase: Option<String>,
}

/// What a row of the plan says of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanRow {
    pub id: TaskId,
    pub name: String,
    pub title: String,
    pub status: Status,
    pub verified: bool,
    pub done_by: Option<DoneBy>,
    pub verification: Option<Verification>,
    /// Counted attempts.
    pub attempts: u32,
    /// The names of the first unfinished tasks that it depends on.
    pub waits_for: Vec<String>,
}

record!(OutlineNode { id, parent = "parent_id", status, verified, phase via phase });
record!(PlanRow { id, name, title via line, status, verified, done_by, verification via verification, attempts, waits_for });

fn phase(row: &Row<'_>, _: &str) -> ReadResult<Option<String>> {
    let phase: Option<Phase> = row.get("whole_phase")?;
    phase.map(|phase| super::history::phase_label(phase, row)).transpose()
}

/// Tasks `t` without what only their own pages show: description, files, what agents are told beside them.
const OUTLINED: &str = "SELECT t.id, t.key, t.spec, t.name, t.title, '' AS description, t.status, t.verified, t.done_by,
        t.verification, t.level, t.already_green, t.phase, t.parent_id, t.priority, t.verify, '[]' AS files, '[]' AS protect,
        '[]' AS may_change, t.model, t.needs_human, t.reason, t.created_at, t.updated_at,
        coalesce(m.total_attempts, 0) AS attempts, coalesce(m.consecutive_failures, 0) AS consecutive_failures,
        '[]' AS depends_on, NULL AS done_when, NULL AS commit_message, '[]' AS markers
    FROM tasks t LEFT JOIN strategy_metrics m ON m.task_id = t.id ORDER BY t.position";

impl Store {
    /// The whole plan, as it is looked over: tasks in plan order without what only their own pages show, and its skeleton.
    pub fn whole_plan(&self) -> Result<(Vec<Task>, Vec<PlanNode>)> {
        let mut tasks: Vec<Task> = self.all(OUTLINED, [])?;
        let nodes = self.skeleton()?;
        let places: HashMap<&TaskId, usize> =
            tasks.iter().enumerate().map(|(at, task)| (&task.id, at)).collect();
        let mut depends_on: HashMap<TaskId, Vec<TaskId>> = HashMap::new();
        for node in nodes.iter().filter(|node| !node.depends_on.is_empty()) {
            let mut others = node.depends_on.clone();
            others.sort_by_cached_key(|id| (places.get(id).copied(), id.clone()));
            depends_on.insert(node.id.clone(), others);
        }
        for task in &mut tasks {
            task.depends_on = depends_on.remove(&task.id).unwrap_or_default();
        }
        Ok((tasks, nodes))
    }

    /// Every task's place, in plan order.
    pub fn outline(&self) -> Result<Vec<OutlineNode>> {
        let sql = "SELECT id, parent_id, status, verified, whole_phase, spec, spec_shown FROM tasks
             ORDER BY position";
        self.all(sql, [])
    }

    /// What the rows of these tasks say, in no order.
    pub fn plan_rows(&self, ids: &[TaskId]) -> Result<Vec<PlanRow>> {
        let sql = "SELECT t.*, coalesce(m.total_attempts, 0) AS attempts,
                 (SELECT json_group_array(name) FROM (SELECT b.name FROM dependencies d
                     JOIN tasks b ON b.id = d.blocker_id
                     WHERE d.blocked_id = t.id AND b.status NOT IN ('done', 'skipped')
                     ORDER BY b.position LIMIT 5) AS open_ones) AS waits_for
             FROM tasks t LEFT JOIN strategy_metrics m ON m.task_id = t.id
             WHERE t.id IN (SELECT value FROM json_each(:ids))";
        self.all(sql, bind! { ids: Json(ids) })
    }

    /// Tasks whose name or title holds a text, in plan order. Letters from A to Z match in either case.
    pub fn tasks_with(&self, text: &str, most: usize) -> Result<Vec<TaskId>> {
        let pattern = format!("%{}%", text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"));
        let like = self.conn().either("LIKE", "ILIKE");
        let sql = format!(
            "SELECT id FROM tasks WHERE name {like} :pattern ESCAPE '\\' OR title {like} :pattern ESCAPE '\\'
             ORDER BY position LIMIT :most"
        );
        self.all(&sql, bind! { pattern, most: super::plan::row_limit(most) })
    }

    /// The settings that a run was started with, as JSON.
    pub fn run_settings(&self, run: &RunId) -> Result<Option<String>> {
        Ok(self.first("SELECT settings FROM runs WHERE id = ?1", [run])?.flatten())
    }
}
