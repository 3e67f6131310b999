//! Changes of the plan that agents asked for: made in the transaction of their attempt, or refused and remembered.

use serde::Serialize;

use super::sql::{Changes, Connection, Json, Statements, bind, record};
use super::{Capture, Random, Result, Side, Store, StoreError, notes, plan, status, task_changes};
use crate::model::{Key, NewTask, TaskId, Timestamp};
use crate::signals::ChangeKind;

/// A change of the plan that is to be made with the attempt that asked for it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanChange {
    /// `SPLIT_TASK`, `ADD_PREREQUISITE`, `ADD_FOLLOWUP`; none where it could not be read.
    pub kind: Option<String>,
    pub reasoning: String,
    /// What is to be done, or why it is not.
    pub outcome: std::result::Result<NewTasks, String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NewTasks {
    /// In order; each may name earlier ones.
    pub tasks: Vec<(NewTask, Vec<Needed>)>,
    /// What the original waits for from now on.
    pub original_needs: Vec<Needed>,
    /// Where they stand in the plan, seen from the original.
    pub side: Side,
    /// How many changes lie between them and their author's plan.
    pub depth: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Needed {
    New(Key),
    /// One of the plan, by id or key.
    Known(String),
}

/// A change that was asked for, as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanChangeRow {
    pub attempt_number: u32,
    pub kind: Option<String>,
    pub reasoning: String,
    /// Why it was refused; none where it was made.
    pub refusal: Option<String>,
    pub tasks: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeStanding {
    pub made: u32,
    /// How many changes lie between it and its author's plan.
    pub depth: u32,
}

record!(PlanChangeRow { attempt_number, kind, reasoning, refusal, tasks });
record!(ChangeStanding { made, depth });

impl Store {
    pub fn plan_changes(&self, task: &TaskId) -> Result<Vec<PlanChangeRow>> {
        self.all("SELECT * FROM plan_changes WHERE task_id = ?1 ORDER BY id", [task])
    }

    /// How far a task may still change the plan. A fix task stands where the task it fixes does.
    pub fn change_standing(&self, task: &TaskId) -> Result<ChangeStanding> {
        let sql = "SELECT
                 (SELECT count(*) FROM plan_changes WHERE task_id = ?1 AND refusal IS NULL) AS made,
                 (SELECT depth FROM changed_in
                  WHERE task_id = ?1 OR task_id = (SELECT root_id FROM fixes WHERE task_id = ?1)
                  ORDER BY task_id = ?1 DESC LIMIT 1) AS depth";
        self.one(sql, [task])
    }

    /// The names of everything a task waits for: dependencies and children.
    pub fn waits_for(&self, task: &TaskId) -> Result<Vec<String>> {
        let sql = "SELECT t.name FROM dependencies d
                 JOIN tasks t ON t.id = d.blocker_id WHERE d.blocked_id = ?1
             UNION SELECT name FROM tasks WHERE parent_id = ?1";
        self.all(sql, [task])
    }
}

pub(super) fn after(tx: &Connection, capture: &Capture, random: Random<'_>) -> Result<()> {
    let (task, now) = (&capture.attempt.task_id, capture.attempt.ended_at());
    // The last task that an earlier request of the same answer added after the original.
    let mut last: Option<TaskId> = None;
    for change in &capture.changes {
        let mut refusal = change.outcome.as_ref().err().cloned();
        let mut added = Vec::new();
        if let Ok(new) = &change.outcome {
            tx.execute_batch("SAVEPOINT change")?;
            match add(tx, task, last.as_ref().unwrap_or(task), new, now, random) {
                Ok(ids) => added = ids,
                Err(error) if error.is_of_engine() => return Err(error),
                // Somebody changed the plan since the agent saw it.
                Err(error) => {
                    tx.execute_batch("ROLLBACK TO change")?;
                    refusal = Some(error.to_string());
                }
            }
            tx.execute_batch("RELEASE change")?;
            if new.side == Side::After {
                last = added.last().cloned().or(last);
            }
        }
        let names = added.iter().map(|id| plan::name(tx, id));
        let names = names.collect::<Result<Vec<_>>>()?;
        let number = tx.insert_numbered(
            "plan_changes",
            "id",
            bind! {
                task_id: task, attempt_number: capture.attempt.attempt_number, run_id: capture.attempt.run_id,
                kind: change.kind, reasoning: change.reasoning, refusal, tasks: Json(names), at: now,
            },
        )?;
        let kind = change.kind.as_deref().and_then(ChangeKind::parse);
        if !added.is_empty() && kind.is_some_and(ChangeKind::leaves_original_open) {
            // The attempt did not do the work that the notes are about.
            notes::queue_again(tx, task, capture.attempt.attempt_number)?;
        }
        let depth = change.outcome.as_ref().map_or(0, |new| new.depth);
        for id in &added {
            let values = bind! { task_id: id, change_id: number, depth };
            tx.insert("changed_in", values)?;
        }
    }
    Ok(())
}

/// Adds tasks before the original, or after `behind`.
fn add(
    tx: &Connection,
    original: &TaskId,
    behind: &TaskId,
    new: &NewTasks,
    now: Timestamp,
    random: Random<'_>,
) -> Result<Vec<TaskId>> {
    let mut added = Vec::new();
    for (task, needs) in &new.tasks {
        let position = match new.side {
            Side::Before => task_changes::position_before(tx, original)?,
            // Each goes behind the one before it.
            Side::After => task_changes::position_after(tx, added.last().unwrap_or(behind))?,
        };
        let id = task_changes::add_beside(tx, task, original, now, random)?;
        task_changes::set_position(tx, &id, position)?;
        for need in needs {
            task_changes::depend(tx, &id, &needed(tx, original, need)?)?;
        }
        added.push(id);
    }
    for need in &new.original_needs {
        task_changes::depend(tx, original, &needed(tx, original, need)?)?;
    }
    status::refuse_any_cycle(tx)?;
    status::settle(tx, now)?;
    Ok(added)
}

fn needed(tx: &Connection, original: &TaskId, need: &Needed) -> Result<TaskId> {
    let name = match need {
        Needed::New(key) => key.as_str(),
        Needed::Known(name) => name,
    };
    let task =
        plan::find_beside(tx, name, original)?.ok_or_else(|| StoreError::UnknownTask(name.to_owned()))?;
    Ok(task.id)
}
