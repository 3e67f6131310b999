//! What the state file says and what is to be told to it.

use std::collections::HashSet;

use super::value::Wanted;

/// What a state file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecState {
    /// Whether recovery is on, where `recoveryMode` is exactly `true` or `false`.
    pub recovery_mode: Option<bool>,
    /// How many fix tasks one task may have.
    pub max_fix_tasks_per_original: Option<usize>,
    /// How many fix tasks may stand one below the other.
    pub max_fix_task_depth: Option<usize>,
    /// How often a task may be tried.
    pub max_task_iterations: Option<usize>,
    /// The number of the task that is next, counted from 0.
    pub task_index: Option<usize>,
    /// The number of tasks.
    pub total_tasks: Option<usize>,
    /// The attempt at the task.
    pub task_iteration: Option<usize>,
    /// Where the spec stands, such as `execution`.
    pub phase: Option<String>,
    /// The fixes of each task that had some, in the file's order.
    pub fix_task_map: Vec<(String, FixEntry)>,
    /// The keys that Ralph does not know, each with its JSON text.
    pub other: Vec<(String, String)>,
    /// What was passed over.
    pub notes: Vec<StateProblem>,
}

/// The fixes of one task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FixEntry {
    /// How many there were.
    pub attempts: usize,
    /// Their keys, in order.
    pub fix_task_ids: Vec<String>,
    /// The error of the newest failure.
    pub last_error: String,
}

impl FixEntry {
    /// The entry of a task with these fixes.
    #[must_use]
    pub fn new(fix_task_ids: Vec<String>, last_error: String) -> Self {
        let attempts = fix_task_ids.len();
        Self {
            attempts,
            fix_task_ids,
            last_error,
        }
    }
}

/// What is to stand in the file. What is not named here is not touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateNews {
    /// Where the spec stands.
    pub phase: Option<String>,
    /// The number of the task that is next, counted from 0.
    pub task_index: Option<usize>,
    /// The number of tasks.
    pub total_tasks: Option<usize>,
    /// The attempt at the task.
    pub task_iteration: Option<usize>,
    /// The fixes of tasks, each entry whole. Entries of other tasks stay.
    pub fix_task_map: Vec<(String, FixEntry)>,
}

/// A place in the file and what should stand there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {expected}")]
pub struct StateProblem {
    /// Counted from 1.
    pub line: usize,
    /// What was expected, and what was found.
    pub expected: String,
}

/// The keys that Ralph knows.
pub(super) mod key {
    pub(crate) const RECOVERY_MODE: &str = "recoveryMode";
    pub(crate) const MAX_FIX_TASKS_PER_ORIGINAL: &str = "maxFixTasksPerOriginal";
    pub(crate) const MAX_FIX_TASK_DEPTH: &str = "maxFixTaskDepth";
    pub(crate) const MAX_TASK_ITERATIONS: &str = "maxTaskIterations";
    pub(crate) const TASK_INDEX: &str = "taskIndex";
    pub(crate) const TOTAL_TASKS: &str = "totalTasks";
    pub(crate) const TASK_ITERATION: &str = "taskIteration";
    pub(crate) const PHASE: &str = "phase";
    pub(crate) const FIX_TASK_MAP: &str = "fixTaskMap";
    pub(crate) const ATTEMPTS: &str = "attempts";
    pub(crate) const FIX_TASK_IDS: &str = "fixTaskIds";
    pub(crate) const LAST_ERROR: &str = "lastError";
}

impl StateNews {
    /// The values that are to stand in the file, in the order in which a new file has them.
    pub(super) fn wanted(&self) -> Vec<(String, Wanted)> {
        let phase = self.phase.clone().map(Wanted::Text);
        let count = |count: Option<usize>| count.map(Wanted::Count);
        let mut seen = HashSet::new();
        let newest = self
            .fix_task_map
            .iter()
            .rev()
            .filter(|(task, _)| seen.insert(task));
        let mut map: Vec<_> = newest
            .map(|(task, entry)| (task.clone(), entry.wanted()))
            .collect();
        map.reverse();
        let map = (!map.is_empty()).then_some(Wanted::Object(map));
        let all = [
            (key::PHASE, phase),
            (key::TASK_INDEX, count(self.task_index)),
            (key::TOTAL_TASKS, count(self.total_tasks)),
            (key::TASK_ITERATION, count(self.task_iteration)),
            (key::FIX_TASK_MAP, map),
        ];
        let given = all
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?)));
        given.collect()
    }
}

impl FixEntry {
    fn wanted(&self) -> Wanted {
        Wanted::Object(vec![
            (key::ATTEMPTS.to_owned(), Wanted::Count(self.attempts)),
            (
                key::FIX_TASK_IDS.to_owned(),
                Wanted::List(self.fix_task_ids.clone()),
            ),
            (
                key::LAST_ERROR.to_owned(),
                Wanted::Text(self.last_error.clone()),
            ),
        ])
    }
}
