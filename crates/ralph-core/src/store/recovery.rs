//! Fix tasks and changes of the plan that agents asked for.

use serde::Serialize;

use super::{FixText, Result};
use crate::model::{Key, NewTask, TaskId};
use crate::recovery::{FinalState, Lineage};

/// A fix task to be made with the failure that asks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct NewFix {
    /// The task as it will be.
    pub task: NewTask,
    /// What its block in the plan's file is made from.
    pub text: FixText,
    /// What the failure was recognised by.
    pub coarse: Option<String>,
}

/// A recovery that came to its end without success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveryEnd {
    /// The tasks from the failed one up to the root: they wait for a human.
    pub chain: Vec<TaskId>,
    /// The root, which carries the reason.
    pub root: TaskId,
    /// Why, for people.
    pub reason: String,
    /// The newest failure's error.
    pub error: String,
    /// The same in short, for the history line.
    pub end: FinalState,
}

/// What a fix task is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FixLink {
    /// The task it mends; none where that was deleted.
    pub original: Option<TaskId>,
    /// The task that all the fixes are for.
    pub root: Option<TaskId>,
    /// How many fix links lead to it.
    pub depth: u32,
    /// What the failure was recognised by.
    #[serde(skip)]
    pub coarse: Option<String>,
    /// What went wrong.
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

/// The fixes that a task had, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixRecord {
    /// The task's name in its file, else its key or id.
    pub name: String,
    /// Their keys, in order.
    pub fixes: Vec<String>,
    /// The error of the newest failure.
    pub last_error: String,
    /// How it ended, where it has.
    pub end: Option<FinalState>,
}

/// A change of the plan that is to be made with the attempt that asked for it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanChange {
    /// `SPLIT_TASK`, `ADD_PREREQUISITE`, `ADD_FOLLOWUP`; none where it could not be read.
    pub kind: Option<String>,
    /// Why the agent wants it.
    pub reasoning: String,
    /// What is to be done, or why it is not.
    pub outcome: std::result::Result<NewTasks, String>,
}

/// Tasks that a change of the plan adds.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTasks {
    /// In order; each may name earlier ones.
    pub tasks: Vec<(NewTask, Vec<Needed>)>,
    /// What the original waits for from now on.
    pub original_needs: Vec<Needed>,
    /// Where they stand in the plan, seen from the original.
    pub side: super::Side,
    /// How many changes lie between them and their author's plan.
    pub depth: u32,
}

/// A task that is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Needed {
    /// One of the new ones.
    New(Key),
    /// One of the plan, by id or key.
    Known(String),
}

/// A change that was asked for, as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanChangeRow {
    /// The attempt that asked for it.
    pub attempt_number: u32,
    /// What kind it was.
    pub kind: Option<String>,
    /// Why the agent wanted it.
    pub reasoning: String,
    /// Why it was refused; none where it was made.
    pub refusal: Option<String>,
    /// Keys of the tasks it added.
    pub tasks: Vec<String>,
}

/// How far a task may still change the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeStanding {
    /// Changes it has had made.
    pub made: u32,
    /// How many changes lie between it and its author's plan.
    pub depth: u32,
}

/// Recovery and repair of the plan.
pub trait RecoveryStore {
    /// What a task is to mend; none where it is no fix task.
    fn fix_link(&self, task: &TaskId) -> Result<Option<FixLink>>;
    /// Where a task stands among fixes.
    fn fix_family(&self, task: &TaskId) -> Result<FixFamily>;
    /// Tasks that had fixes, in plan order.
    fn fix_records(&self) -> Result<Vec<(TaskId, FixRecord)>>;
    /// Changes of the plan that were asked for in attempts on a task, oldest first.
    fn plan_changes(&self, task: &TaskId) -> Result<Vec<PlanChangeRow>>;
    /// How far a task may still change the plan.
    fn change_standing(&self, task: &TaskId) -> Result<ChangeStanding>;
    /// The end of what the gate printed in a task's last counted failure.
    fn last_gate_output(&self, task: &TaskId) -> Result<Option<String>>;
    /// Everything a task waits for: dependencies and children, by name.
    fn waits_for(&self, name: &str) -> Result<Option<(String, Vec<String>)>>;
}
