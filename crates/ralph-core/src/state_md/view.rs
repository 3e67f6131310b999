//! What the page shows.

use crate::store::PlanCounts;

/// Where everything stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateView {
    /// When the page is written: `YYYY-MM-DD HH:MM:SS UTC`, shown as it is.
    pub updated_at: String,
    /// The project's name.
    pub project: String,
    /// The newest run.
    pub run: Option<RunView>,
    /// The tasks by status.
    pub counts: PlanCounts,
    /// The attempts under way.
    pub under_way: Vec<AttemptView>,
    /// The task that is next.
    pub next: Option<TaskView>,
    /// `closed`, `open` or `half_open`.
    pub breaker: String,
    /// Tasks that wait for a human, and why.
    pub waiting: Vec<(String, String)>,
    /// Attempts, newest first.
    pub history: Vec<HistoryRow>,
    /// The lines of the failure analysis, with or without its heading.
    pub analysis: Option<Vec<String>>,
}

/// A run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunView {
    /// Its id.
    pub id: String,
    /// `running`, or how it ended.
    pub status: String,
    /// When it started.
    pub started_at: String,
    /// Attempts so far.
    pub iteration: u32,
    /// Attempts it may make.
    pub limit: Option<u32>,
    /// What it cost so far.
    pub cost_usd: Option<f64>,
    /// Whether an estimate is part of that.
    pub cost_estimated: bool,
}

/// A task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskView {
    /// Its key or id.
    pub name: String,
    /// What is to be done.
    pub title: String,
}

/// An attempt under way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttemptView {
    /// The task.
    pub task: TaskView,
    /// Its number on that task.
    pub attempt: u32,
    /// With which model.
    pub model: String,
    /// When it began.
    pub since: String,
}

/// An attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryRow {
    /// Its number in the run.
    pub iteration: u32,
    /// When it ended.
    pub time: String,
    /// `done`, `failed`, `no_sigil`, `error`, or the word to show.
    pub outcome: String,
    /// The task's name.
    pub task: String,
    /// What was done or why it failed.
    pub details: String,
}
