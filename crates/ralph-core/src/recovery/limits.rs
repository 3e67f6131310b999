//! Whether a failed task may get another fix task, under which key, and how the fixes of a task ended.

use crate::model::names;

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
    pub failed: String,
    pub fixes: Vec<String>,
    /// How many fix tasks there are below the root, at any depth.
    pub below_root: usize,
}

impl Lineage {
    /// The key of the task that all the fixes are for in the end.
    pub fn root(&self) -> &str {
        self.above.first().unwrap_or(&self.failed)
    }

    /// How many fix links lead from the root to the failed task.
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
    let Lineage { failed, fixes, .. } = lineage;
    let root = lineage.root();
    let chain = format!("Fix task chain: {}", lineage.chain().join(" -> "));
    let (end, lines) = if fixes.len() >= limits.per_task {
        let error = format!("ERROR: Max fix attempts ({}) reached for task {failed}", limits.per_task);
        (FinalState::MaxLimit, vec![error, format!("Fix attempts: {}", fixes.join(", "))])
    } else if lineage.depth() >= limits.depth {
        let error = format!("ERROR: Max fix task depth ({}) exceeded for task {failed}", limits.depth);
        let advice = "The fix chain has become too deep. Manual intervention required.";
        (FinalState::MaxDepth, vec![error, chain, advice.to_owned()])
    } else if lineage.below_root >= limits.per_root {
        let error = format!("ERROR: Max fix tasks ({}) reached below task {root}", limits.per_root);
        let advice = "The fix tasks did not fix this task. Manual intervention required.";
        (FinalState::MaxBelowRoot, vec![error, chain, advice.to_owned()])
    } else {
        let mut keys = (fixes.len() + 1..).map(|number| format!("{failed}.{number}"));
        return Ok(keys.find(|key| !taken(key)).unwrap_or_default());
    };
    Err(LimitReached { lines, end })
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixHistory {
    pub key: String,
    pub fixes: Vec<String>,
    pub end: FinalState,
}

names! {
    /// How a task with fixes ended; in every failure, a person has to go on with it. The more telling ones come first: the
    /// last is the start of the others.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FinalState {
        Pass => "PASS",
        MaxLimit => "FAIL (max limit)",
        MaxDepth => "FAIL (max depth)",
        MaxBelowRoot => "FAIL (max below root)",
        Fail => "FAIL",
    }
}

impl FixHistory {
    /// The text of its line, without the list's marker:
    /// `Task 1.3: 1 fix attempted (1.3.1) - Final: PASS`.
    pub fn text(&self) -> String {
        let (count, end) = (self.fixes.len(), self.end);
        let noun = if count == 1 { "fix" } else { "fixes" };
        let fixes = self.fixes.join(", ");
        format!("Task {}: {count} {noun} attempted ({fixes}) - Final: {end}", self.key)
    }

    pub(crate) fn key_of(text: &str) -> Option<&str> {
        let word = text.trim().strip_prefix("Task ")?.split_whitespace().next()?;
        word.strip_suffix(':').filter(|key| !key.is_empty())
    }
}

impl FinalState {
    pub(crate) fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| text.starts_with(state.as_str()))
    }
}

#[cfg(test)]
mod tests;
