//! The plan as views show it: the whole of it as a tree of ids, and of the tasks in view what a row says. A plan of ten
//! thousand tasks is looked at a screen at a time.

use super::plan::verification;
use super::sql::{Json, Row, Statements, bind, line, record};
use super::{Result, Store};
use crate::model::{DoneBy, Phase, RunId, Status, TaskId, Verification};

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

fn phase(row: &Row<'_>, _: &str) -> rusqlite::Result<Option<String>> {
    let phase: Option<Phase> = row.get("whole_phase")?;
    phase.map(|phase| super::history::phase_label(phase, row)).transpose()
}

impl Store {
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
                     ORDER BY b.position LIMIT 5)) AS waits_for
             FROM tasks t LEFT JOIN strategy_metrics m ON m.task_id = t.id
             WHERE t.id IN (SELECT value FROM json_each(:ids))";
        self.all(sql, bind! { ids: Json(ids) })
    }

    /// Tasks whose name or title holds a text, in plan order. Letters from A to Z match in either case.
    pub fn tasks_with(&self, text: &str, most: usize) -> Result<Vec<TaskId>> {
        let pattern = format!("%{}%", text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"));
        let sql =
            "SELECT id FROM tasks WHERE name LIKE :pattern ESCAPE '\\' OR title LIKE :pattern ESCAPE '\\'
             ORDER BY position LIMIT :most";
        self.all(sql, bind! { pattern, most: super::plan::row_limit(most) })
    }

    /// The settings that a run was started with, as JSON.
    pub fn run_settings(&self, run: &RunId) -> Result<Option<String>> {
        Ok(self.first("SELECT settings FROM runs WHERE id = ?1", [run])?.flatten())
    }
}
