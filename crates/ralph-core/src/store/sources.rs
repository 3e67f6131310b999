//! Plans that live in files: what was imported, and what the file is to show.

use serde::Serialize;

use super::{Random, Result};
use crate::model::{DoneBy, Status, TaskId, Timestamp};
use crate::plan_files::Draft;

/// A file that tasks came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its number in the store.
    pub id: i64,
    /// Where it is, relative to the project where it is in it.
    pub path: String,
    /// The name of its format.
    pub format: String,
    /// What it looked like when Ralph last read or wrote it.
    pub digest: Option<String>,
}

/// A plan to take in.
#[derive(Clone, Debug)]
pub struct ImportRequest<'a> {
    /// Where it comes from.
    pub path: &'a str,
    /// The name of its format.
    pub format: &'a str,
    /// What the file looks like.
    pub digest: &'a str,
    /// What stands in it; keys and phases can be parsed.
    pub draft: &'a Draft,
    /// Fix tasks that tasks had before, by the spec's own account.
    pub fixes: &'a [KeptFixes],
    /// Whether a person asked for it; else tasks that a person deleted stay deleted.
    pub asked_for: bool,
    /// Whose hand may have ticked boxes.
    pub hand: Hand,
    /// Only say what would happen.
    pub dry_run: bool,
}

/// Who may have written a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hand {
    /// A person: a ticked box is a person's word.
    Person,
    /// An agent that was at this task, or a person meanwhile: a ticked box proves nothing.
    Agent(Option<TaskId>),
}

/// How a box in a file stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tick {
    /// Open.
    Open,
    /// Ticked, and believed or made so by Ralph.
    Ticked,
    /// Ticked while an agent was at work: left as it is, and not believed.
    Unproven,
}

impl Tick {
    /// As it is stored.
    #[must_use]
    pub fn code(self) -> i64 {
        match self {
            Self::Open => 0,
            Self::Ticked => 1,
            Self::Unproven => 2,
        }
    }

    /// As it was stored.
    #[must_use]
    pub fn from_code(code: i64) -> Self {
        match code {
            0 => Self::Open,
            2 => Self::Unproven,
            _ => Self::Ticked,
        }
    }
}

/// The fix tasks that a task of a spec had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFixes {
    /// What the file calls the task.
    pub name: String,
    /// The keys of its fix tasks, in order.
    pub keys: Vec<String>,
    /// The last error.
    pub last_error: String,
}

/// A task as an import names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportedTask {
    /// Its id.
    pub id: TaskId,
    /// What people call it.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Where it stands now.
    pub status: Status,
    /// Whether it is done and a gate that passed stands behind it.
    pub verified: bool,
    /// What it rests on, where it is done and that was recorded.
    pub done_by: Option<DoneBy>,
}

/// Another gate for a task than the one it had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GateEdit {
    /// The task's id.
    pub id: TaskId,
    /// What people call it.
    pub name: String,
    /// The command of the plan so far.
    pub before: Option<String>,
    /// The command in the file.
    pub after: Option<String>,
}

/// A gate that was changed in a plan's file while an agent was at work, and that a person has not imported since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitingGate {
    /// The two gates.
    #[serde(flatten)]
    pub gate: GateEdit,
    /// The plan's file.
    pub path: String,
}

/// What an import did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// New tasks.
    pub added: Vec<ImportedTask>,
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
    pub without_gate: u64,
    /// Tasks that are as they were.
    pub unchanged: usize,
}

impl ImportReport {
    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.updated.is_empty()
            && self.finished.is_empty()
            && self.unproven.is_empty()
    }
}

/// A task as its file is to show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FiledTask {
    /// The task.
    pub id: TaskId,
    /// What the file calls it.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Where it stands.
    pub status: Status,
    /// How its box stood when the file was last read or written.
    pub tick: Tick,
    /// The commit after the attempt that finished it.
    pub commit: Option<String>,
    /// Whether it is a fix task.
    pub is_fix: bool,
}

/// A task that Ralph added to a plan and that its file does not have yet.
#[derive(Clone, Debug, PartialEq)]
pub struct UnfiledTask {
    /// The task.
    pub task: crate::model::Task,
    /// What the file calls the task beside which it goes.
    pub beside: String,
    /// On which side.
    pub side: Side,
    /// What was asked for, where it is a fix task.
    pub fix: Option<FixText>,
}

/// Where a block goes, seen from the task it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before its line.
    Before,
    /// After its last descendant.
    After,
}

/// What a fix task's block is made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FixText {
    /// The key of the task it mends.
    pub original: String,
    /// What went wrong.
    pub error: String,
    /// What was tried against it, where that is known.
    pub attempted: Option<String>,
    /// What kind of failure it was.
    pub category: Option<String>,
}

/// Where plans come from.
pub trait SourceStore {
    /// All files that tasks came from.
    fn sources(&self) -> Result<Vec<SourceFile>>;
    /// Where the file of a task is, where it has one.
    fn source_path(&self, task: &TaskId) -> Result<Option<String>>;
    /// Takes a plan in: all of it or nothing.
    fn import_plan(
        &mut self,
        request: &ImportRequest<'_>,
        now: Timestamp,
        random: Random<'_>,
    ) -> Result<ImportReport>;
    /// Gates that wait for a person to import their file, in plan order.
    fn waiting_gates(&self) -> Result<Vec<WaitingGate>>;
    /// A file's tasks in plan order.
    fn filed_tasks(&self, source: i64) -> Result<Vec<FiledTask>>;
    /// One task as its file is to show it; none where it has no file.
    fn filed_task(&self, task: &TaskId) -> Result<Option<FiledTask>>;
    /// Tasks that belong into a file and are not in it, in the order in which they go in.
    fn unfiled_tasks(&self, source: i64) -> Result<Vec<UnfiledTask>>;
    /// Notes what a file shows now: its look, whose boxes are ticked or not, and which tasks it has got.
    fn note_filed(
        &mut self,
        source: i64,
        digest: &str,
        ticked: &[(TaskId, bool)],
        filed: &[(TaskId, String)],
    ) -> Result<()>;
}
