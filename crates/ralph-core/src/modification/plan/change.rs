//! What a granted request comes to.

use serde::Serialize;

use super::standing::{Known, Standing};
use crate::modification::request::Kind;

/// A change to the plan, to be made as a whole or not at all.
///
/// - A split: the new tasks become children of the original. It waits for them as a parent does, and
///   its own gate still runs at the end.
/// - A prerequisite: the original depends on every new task, and is attempted again after them.
/// - A follow-up: every new task depends on the original. What depended on the original stays so.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// What was asked for.
    pub kind: Kind,
    /// Why; to be recorded.
    pub reasoning: String,
    /// The new tasks, each after those of them it depends on.
    pub tasks: Vec<PlannedTask>,
    /// Where they belong.
    pub place: Place,
    /// New tasks, by key, that the original is to depend on.
    pub original_depends: Vec<String>,
    /// The depth of the new tasks; see [`Standing::depth`].
    pub depth: u32,
    /// The phase of the new tasks: the original's.
    pub phase: Option<f64>,
}

/// Where new tasks belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The original is their parent.
    BelowOriginal,
    /// They have the original's parent, if it has one, and come before it in plan order.
    BeforeOriginal,
    /// They have the original's parent, if it has one, and come after it in plan order.
    AfterOriginal,
}

/// A task to be added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedTask {
    /// Its key; nobody else has it.
    pub key: String,
    /// One line, never empty.
    pub title: String,
    /// What to do; Markdown.
    pub description: String,
    /// Files it is about.
    pub files: Vec<String>,
    /// Its gate.
    pub verify: Option<String>,
    /// When it counts as done, in words.
    pub done_when: Option<String>,
    /// The commit message wished for.
    pub commit: Option<String>,
    /// What must be done before, each once.
    pub depends: Vec<Dependency>,
}

/// What a new task waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dependency {
    /// Another new task, by its key; it comes earlier in the list.
    New(String),
    /// A task of the plan, by the name its lookup gave.
    Existing(String),
}

impl Dependency {
    /// The name of the task.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::New(name) | Self::Existing(name) => name,
        }
    }
}

impl Change {
    /// A new task as part of the plan that later requests are judged against.
    #[must_use]
    pub fn known(&self, name: &str) -> Option<Known> {
        let task = self.tasks.iter().find(|task| task.key == name)?;
        let waits_for = task.depends.iter();
        Some(Known {
            name: task.key.clone(),
            waits_for: waits_for.map(|other| other.name().to_owned()).collect(),
        })
    }

    /// New tasks that the original will wait for: prerequisites, and the parts of a split.
    pub fn original_waits_for(&self) -> impl Iterator<Item = &str> {
        let waits = self.kind.leaves_original_open();
        let tasks = self.tasks.iter().filter(move |_| waits);
        tasks.map(|task| task.key.as_str())
    }

    /// Puts the parts together.
    pub(super) fn new(
        kind: Kind,
        reasoning: String,
        tasks: Vec<PlannedTask>,
        standing: &Standing<'_>,
    ) -> Self {
        let (place, original_depends) = match kind {
            Kind::SplitTask => (Place::BelowOriginal, Vec::new()),
            Kind::AddPrerequisite => (
                Place::BeforeOriginal,
                tasks.iter().map(|task| task.key.clone()).collect(),
            ),
            Kind::AddFollowup => (Place::AfterOriginal, Vec::new()),
        };
        let depth = standing.depth.saturating_add(1);
        Self {
            kind,
            reasoning,
            tasks,
            place,
            original_depends,
            depth,
            phase: standing.phase,
        }
    }
}
