//! Whether a failed task may get another fix task, under which key, and how the fixes of a task ended.

use std::fmt;

/// How many fix tasks there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub per_task: usize,
    pub depth: usize,
    /// Below one root, all of them together.
    pub per_root: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { per_task: 3, depth: 3, per_root: 9 }
    }
}

/// Where a failed task stands among the fixes of its root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lineage {
    /// The keys above it by fix links, the root first; none where it is no fix task itself.
    pub above: Vec<String>,
    /// The failed task's key.
    pub failed: String,
    /// The keys of the fix tasks it has had, in order.
    pub fixes: Vec<String>,
    /// How many fix tasks there are below the root, at any depth.
    pub below_root: usize,
}

impl Lineage {
    /// The key of the task that all the fixes are for in the end.
    #[must_use]
    pub fn root(&self) -> &str {
        self.above.first().unwrap_or(&self.failed)
    }

    /// How many fix links lead from the root to the failed task.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.above.len()
    }

    fn chain(&self) -> Vec<String> {
        let chain = self.above.iter().chain([&self.failed]);
        chain.cloned().collect()
    }
}

/// Why a failed task gets no further fix task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitReached {
    /// All that is to be printed, the error first.
    pub lines: Vec<String>,
    /// How the root's line in the log ends.
    pub end: FinalState,
}

/// The key of the next fix of the failed task, or the limit that forbids one.
///
/// The number is that of the fixes so far plus 1, or the next one whose key is not `taken` by
/// another task of the plan. A plan ends, so there always is one.
pub fn next_fix(
    lineage: &Lineage,
    limits: &Limits,
    taken: &dyn Fn(&str) -> bool,
) -> Result<String, LimitReached> {
    let task = &lineage.failed;
    let chain = format!("Fix task chain: {}", lineage.chain().join(" -> "));
    if lineage.fixes.len() >= limits.per_task {
        let max = limits.per_task;
        let lines = vec![
            format!("ERROR: Max fix attempts ({max}) reached for task {task}"),
            format!("Fix attempts: {}", lineage.fixes.join(", ")),
        ];
        let end = FinalState::MaxLimit;
        return Err(LimitReached { lines, end });
    }
    if lineage.depth() >= limits.depth {
        let max = limits.depth;
        let lines = vec![
            format!("ERROR: Max fix task depth ({max}) exceeded for task {task}"),
            chain,
            "The fix chain has become too deep. Manual intervention required.".to_owned(),
        ];
        let end = FinalState::MaxDepth;
        return Err(LimitReached { lines, end });
    }
    if lineage.below_root >= limits.per_root {
        let (max, root) = (limits.per_root, lineage.root());
        let lines = vec![
            format!("ERROR: Max fix tasks ({max}) reached below task {root}"),
            chain,
            "The fix tasks did not fix this task. Manual intervention required.".to_owned(),
        ];
        let end = FinalState::MaxBelowRoot;
        return Err(LimitReached { lines, end });
    }
    let mut number = lineage.fixes.len();
    loop {
        number += 1;
        let key = format!("{task}.{number}");
        if !taken(&key) {
            return Ok(key);
        }
    }
}

/// The fixes of one task and how they ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixHistory {
    pub key: String,
    /// The keys of its fix tasks, in order.
    pub fixes: Vec<String>,
    pub end: FinalState,
}

/// How a task with fixes ended; in every failure, a person has to go on with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FinalState {
    Pass,
    /// A task has used up its fixes.
    MaxLimit,
    /// The chain of fixes is too deep.
    MaxDepth,
    /// There are too many fixes below the root.
    MaxBelowRoot,
    /// For a reason that is not known.
    Fail,
}

impl FixHistory {
    /// The text of its line, without the list's marker:
    /// `Task 1.3: 1 fix attempted (1.3.1) - Final: PASS`.
    #[must_use]
    pub fn text(&self) -> String {
        let (count, end) = (self.fixes.len(), self.end);
        let noun = if count == 1 { "fix" } else { "fixes" };
        let fixes = self.fixes.join(", ");
        format!("Task {}: {count} {noun} attempted ({fixes}) - Final: {end}", self.key)
    }

    /// The key of the task whose line this is.
    pub(crate) fn key_of(text: &str) -> Option<&str> {
        let word = text.trim().strip_prefix("Task ")?.split_whitespace().next()?;
        word.strip_suffix(':').filter(|key| !key.is_empty())
    }

    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let key = Self::key_of(text)?.to_owned();
        let (_, rest) = text.split_once('(')?;
        let (fixes, rest) = rest.split_once(')')?;
        let (_, end) = rest.split_once("Final:")?;
        let fixes = fixes.split(',').map(str::trim).filter(|fix| !fix.is_empty());
        let fixes = fixes.map(str::to_owned).collect();
        let end = FinalState::read(end.trim())?;
        Some(Self { key, fixes, end })
    }
}

/// The states in words, the more telling ones first: the last is the start of the others.
const STATES: [(FinalState, &str); 5] = [
    (FinalState::Pass, "PASS"),
    (FinalState::MaxLimit, "FAIL (max limit)"),
    (FinalState::MaxDepth, "FAIL (max depth)"),
    (FinalState::MaxBelowRoot, "FAIL (max below root)"),
    (FinalState::Fail, "FAIL"),
];

impl FinalState {
    pub(crate) fn read(text: &str) -> Option<Self> {
        let found = STATES.iter().find(|(_, words)| text.starts_with(words));
        found.map(|(state, _)| *state)
    }
}

impl fmt::Display for FinalState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = STATES.iter().find(|(state, _)| state == self);
        f.pad(found.map_or("FAIL", |(_, words)| words))
    }
}

#[cfg(test)]
mod tests;
