//! A node of the plan.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Key, Phase, TaskId, Timestamp};

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Waits for its turn.
    Pending,
    /// An attempt is under way.
    InProgress,
    /// Finished.
    Done,
    /// Given up by a person.
    Failed,
    /// Waits for a person.
    Blocked,
    /// Left out by a person; satisfies what depends on it.
    Skipped,
}

/// A status that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a status: use pending, in_progress, done, failed, blocked or skipped")]
pub struct UnknownStatus(pub String);

impl Status {
    /// All of them, in the order they are shown.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::InProgress,
        Self::Done,
        Self::Failed,
        Self::Blocked,
        Self::Skipped,
    ];

    /// The stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Skipped => "skipped",
        }
    }

    /// Whether dependents and parents may go on.
    pub fn satisfies(self) -> bool {
        matches!(self, Self::Done | Self::Skipped)
    }
}

impl std::str::FromStr for Status {
    type Err = UnknownStatus;

    fn from_str(text: &str) -> Result<Self, UnknownStatus> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| UnknownStatus(text.to_owned()))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a done task rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DoneBy {
    /// A gate that passed.
    Gate,
    /// The agent's word alone: the task had no gate, or gates were off.
    Agent,
    /// A person's word: `ralph task done`, or a box ticked in a plan's file.
    Person,
    /// Its children, all done or skipped.
    Children,
}

impl DoneBy {
    /// The stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Agent => "agent",
            Self::Person => "person",
            Self::Children => "children",
        }
    }

    /// Reads the stored name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Gate, Self::Agent, Self::Person, Self::Children]
            .into_iter()
            .find(|by| by.as_str() == text)
    }
}

/// A task as stored. Serialises to the object of `ralph task list --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// The name its author gave it.
    pub key: Option<Key>,
    /// One line.
    pub title: String,
    /// What to do; Markdown.
    pub description: String,
    /// Where it stands.
    pub status: Status,
    /// Whether it is done and a gate that passed stands behind it.
    pub verified: bool,
    /// What it rests on, where it is done and that was recorded.
    pub done_by: Option<DoneBy>,
    /// The part of the plan it belongs to.
    pub phase: Option<Phase>,
    /// The task it is a part of.
    pub parent_id: Option<TaskId>,
    /// What must be done before.
    pub depends_on: Vec<TaskId>,
    /// Lower numbers first.
    pub priority: i64,
    /// The gate: a shell command that exits 0 when the task is really done.
    pub verify: Option<String>,
    /// Files it is about.
    pub files: Vec<String>,
    /// When its author calls it done.
    pub done_when: Option<String>,
    /// The commit message its author wishes.
    pub commit: Option<String>,
    /// What its author marked it with: `P`, `VERIFY`, `FIX 1.3`.
    pub markers: Vec<String>,
    /// The model it asks for.
    pub model: Option<String>,
    /// Counted attempts so far.
    pub attempts: u32,
    /// Counted failures since the last success.
    pub consecutive_failures: u32,
    /// Whether it waits for a person.
    pub needs_human: bool,
    /// Why it is blocked, failed or skipped, where that is known.
    pub reason: Option<String>,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Task {
    /// The name people use: the key, else the id.
    pub fn name(&self) -> &str {
        self.key.as_ref().map_or(self.id.as_str(), Key::as_str)
    }
}

/// Longest title of a task; what goes beyond it belongs into the description.
pub const TITLE_CHARS: usize = 300;

/// What is needed to add a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewTask {
    /// One line.
    pub title: String,
    /// What to do.
    pub description: String,
    /// The author's name for it.
    pub key: Option<Key>,
    /// Part of the plan.
    pub phase: Option<Phase>,
    /// The task it is a part of.
    pub parent: Option<TaskId>,
    /// What must be done before.
    pub after: Vec<TaskId>,
    /// The gate.
    pub verify: Option<String>,
    /// Files it is about.
    pub files: Vec<String>,
    /// Lower numbers first.
    pub priority: i64,
    /// The model it asks for.
    pub model: Option<String>,
    /// When its author calls it done.
    pub done_when: Option<String>,
    /// The commit message its author wishes.
    pub commit: Option<String>,
    /// What its author marked it with.
    pub markers: Vec<String>,
}

/// A change to a task; `None` leaves a field, an inner `None` clears it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskEdit {
    /// New title.
    pub title: Option<String>,
    /// New description.
    pub description: Option<String>,
    /// New key, or none.
    pub key: Option<Option<Key>>,
    /// New phase, or none.
    pub phase: Option<Option<Phase>>,
    /// New parent, or none.
    pub parent: Option<Option<TaskId>>,
    /// New gate, or none.
    pub verify: Option<Option<String>>,
    /// New files.
    pub files: Option<Vec<String>>,
    /// New priority.
    pub priority: Option<i64>,
    /// New model, or none.
    pub model: Option<Option<String>>,
    /// New condition, or none.
    pub done_when: Option<Option<String>>,
    /// New commit message, or none.
    pub commit: Option<Option<String>>,
    /// New markers.
    pub markers: Option<Vec<String>>,
}

impl TaskEdit {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
