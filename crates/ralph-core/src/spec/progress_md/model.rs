//! What the log says and what is to be told to it.

use crate::recovery::FixHistory;

/// A finished task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completed {
    /// Its key, or its id where it has none.
    pub key: String,
    /// Its title.
    pub title: String,
    /// The commit that finished it.
    pub commit: Option<String>,
}

/// What is to stand in the log. What is not named here is not touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Finished tasks; each has one line, the newest counts.
    pub completed: Vec<Completed>,
    /// The line that says which task is under way.
    pub current: Option<String>,
    /// How the fixes of tasks ended; each task has one line, one without fixes has none.
    pub fix_history: Vec<FixHistory>,
    /// What was learnt; nothing is written twice.
    pub learnings: Vec<String>,
}

/// What a log says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Finished tasks in the log's order; of several lines with one key the last counts.
    pub completed: Vec<Completed>,
    /// The first line under Current Task.
    pub current: Option<String>,
    /// How the fixes of tasks ended.
    pub fix_history: Vec<FixHistory>,
    /// The bullets under Learnings, each on one line.
    pub learnings: Vec<String>,
}
