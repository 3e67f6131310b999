//! What is known when a request is judged: the task, the plan around it, and the limits.

use std::fmt;

/// The task whose attempt asks, and where it stands in the plan.
#[derive(Clone, Copy)]
pub struct Standing<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its key, where it has one.
    pub key: Option<&'a str>,
    /// Name of the task it is a part of.
    pub parent: Option<&'a str>,
    /// Whether it has a verify command.
    pub has_gate: bool,
    /// The phase it belongs to.
    pub phase: Option<f64>,
    /// Changes of this task's plan that were accepted before.
    pub modifications: u32,
    /// How many changes lie between its author and it: 0 for a task of the author, 1 for one made
    /// by a change, and so on. A fix task is as deep as the task it mends, else depth could be had
    /// for nothing.
    pub depth: u32,
    /// Whether some of its children are not finished.
    pub has_open_children: bool,
    /// The plan: what a name, id or key, stands for, if anything.
    pub plan: &'a dyn Fn(&str) -> Option<Known>,
    /// Whether a verify command can be run here as far as one can tell; prose cannot.
    pub can_run: &'a dyn Fn(&str) -> bool,
}

/// A task that is in the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The one name it goes by here, whichever of its names was asked for.
    pub name: String,
    /// Names of all it waits for: dependencies, children, and the fixes that block it.
    pub waits_for: Vec<String>,
}

impl Standing<'_> {
    /// The name people use: the key, else the id.
    #[must_use]
    pub fn name(&self) -> &str {
        self.key.unwrap_or(self.id)
    }

    /// Whether `name` is this task's id or key.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        name == self.id || Some(name) == self.key
    }
}

impl fmt::Debug for Standing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Standing")
            .field("id", &self.id)
            .field("key", &self.key)
            .field("parent", &self.parent)
            .field("has_gate", &self.has_gate)
            .field("phase", &self.phase)
            .field("modifications", &self.modifications)
            .field("depth", &self.depth)
            .field("has_open_children", &self.has_open_children)
            .finish_non_exhaustive()
    }
}

/// How much may be asked for. All lengths are in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Accepted changes of one task.
    pub per_task: u32,
    /// Depth of the tasks made, where the author's own have 0.
    pub depth: u32,
    /// Tasks proposed at once.
    pub proposed: usize,
    /// A title; longer ones are cut.
    pub title_chars: usize,
    /// A description, a reasoning or another text in words; longer ones are cut.
    pub text_chars: usize,
    /// A verify command; longer ones are refused, since half a command is another command.
    pub verify_chars: usize,
    /// Files of one task.
    pub files: usize,
    /// One file's path.
    pub path_chars: usize,
    /// Dependencies of one task.
    pub dependencies: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            per_task: 3,
            depth: 2,
            proposed: 10,
            title_chars: 200,
            text_chars: 10_000,
            verify_chars: 2_000,
            files: 50,
            path_chars: 500,
            dependencies: 50,
        }
    }
}
