//! A node of the plan.

use serde::{Deserialize, Serialize};

use super::{Key, Phase, TaskId, Timestamp, Verification};

names! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Status as "a status" {
        Pending => "pending",
        /// An attempt is under way.
        InProgress => "in_progress",
        Done => "done",
        /// Given up by a person.
        Failed => "failed",
        Blocked => "blocked",
        /// Left out by a person; satisfies what depends on it.
        Skipped => "skipped",
    }
}

impl Status {
    /// Whether dependents and parents may go on.
    pub fn satisfies(self) -> bool {
        matches!(self, Self::Done | Self::Skipped)
    }
}

names! {
    /// What a done task rests on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum DoneBy {
        Gate => "gate",
        /// The agent's word alone: the task had no gate, or gates were off.
        Agent => "agent",
        /// A person's word: `ralph task done`, or a box ticked in a plan's file.
        Person => "person",
        /// Its children, all done or skipped.
        Children => "children",
    }
}

/// A task as stored. Serializes to the object of `ralph task list --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Task {
    pub id: TaskId,
    pub key: Option<Key>,
    /// The plan file whose keys it shares; none for tasks that came from no file.
    pub spec: Option<String>,
    /// What people call it: the key, `spec:key` where the plan has several specs, else the id.
    pub name: String,
    pub title: String,
    pub description: String,
    pub status: Status,
    /// Whether it is done and a gate that passed stands behind it.
    pub verified: bool,
    /// What it rests on, where it is done and that was recorded.
    pub done_by: Option<DoneBy>,
    /// The same in detail; none where it is not done.
    pub verification: Option<Verification>,
    pub phase: Option<Phase>,
    pub parent_id: Option<TaskId>,
    pub depends_on: Vec<TaskId>,
    pub priority: i64,
    /// The gate: a shell command that exits 0 when the task is really done.
    pub verify: Option<String>,
    pub files: Vec<String>,
    /// Patterns of files that its attempts may not change, beside those of the settings.
    pub protect: Vec<String>,
    /// Patterns of protected files that are its to change.
    pub may_change: Vec<String>,
    pub done_when: Option<String>,
    pub commit: Option<String>,
    /// What its author marked it with: `P`, `VERIFY`, `FIX 1.3`.
    pub markers: Vec<String>,
    pub model: Option<String>,
    pub attempts: u32,
    pub consecutive_failures: u32,
    /// Whether it waits for a person.
    pub needs_human: bool,
    /// Why it is blocked, failed or skipped, where that is known.
    pub reason: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Task {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its own plan file calls it.
    pub fn key_or_id(&self) -> &str {
        self.key.as_ref().map_or(self.id.as_str(), Key::as_str)
    }
}

/// Longest title of a task; what goes beyond it belongs into the description.
pub const TITLE_CHARS: usize = 300;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewTask {
    pub title: String,
    pub description: String,
    pub key: Option<Key>,
    pub phase: Option<Phase>,
    pub parent: Option<TaskId>,
    pub after: Vec<TaskId>,
    pub verify: Option<String>,
    pub files: Vec<String>,
    pub protect: Vec<String>,
    pub may_change: Vec<String>,
    pub priority: i64,
    pub model: Option<String>,
    pub done_when: Option<String>,
    pub commit: Option<String>,
    pub markers: Vec<String>,
}

/// A change to a task; `None` leaves a field, an inner `None` clears it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskEdit {
    pub title: Option<String>,
    pub description: Option<String>,
    pub key: Option<Option<Key>>,
    pub phase: Option<Option<Phase>>,
    pub parent: Option<Option<TaskId>>,
    pub verify: Option<Option<String>>,
    pub files: Option<Vec<String>>,
    pub protect: Option<Vec<String>>,
    pub may_change: Option<Vec<String>>,
    pub priority: Option<i64>,
    pub model: Option<Option<String>>,
    pub done_when: Option<Option<String>>,
    pub commit: Option<Option<String>>,
    pub markers: Option<Vec<String>>,
    /// The model of the next attempt alone.
    pub next_model: Option<Option<String>>,
}

impl TaskEdit {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
