//! Whether a failed task may get another fix task, and under which key.

use std::fmt;

use super::history::{FailReason, FinalState};

const CHAIN_LINK: &str = " -> ";

/// How many fix tasks there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For one task.
    pub per_task: usize,
    /// One below the other.
    pub depth: usize,
    /// Below one root, all of them together.
    pub per_root: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            per_task: 3,
            depth: 3,
            per_root: 9,
        }
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

/// The key of a fix task that is yet to be made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FixKey(pub String);

impl fmt::Display for FixKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Why a failed task gets no further fix task. Displays as the error's first line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitReached {
    /// It has had as many as one task may have.
    #[error("ERROR: Max fix attempts ({max}) reached for task {task}")]
    PerTask {
        /// The failed task's key.
        task: String,
        /// The limit.
        max: usize,
        /// The keys of its fixes.
        fixes: Vec<String>,
    },
    /// It is itself as deep below the root as a fix task may be.
    #[error("ERROR: Max fix task depth ({max}) exceeded for task {task}")]
    Depth {
        /// The failed task's key.
        task: String,
        /// The limit.
        max: usize,
        /// The keys from the root to it.
        chain: Vec<String>,
    },
    /// There are as many below the root as there may be.
    #[error("ERROR: Max fix tasks ({max}) reached below task {root}")]
    PerRoot {
        /// The root's key.
        root: String,
        /// The limit.
        max: usize,
        /// The keys from the root to the failed task.
        chain: Vec<String>,
    },
}

impl LimitReached {
    /// All that is to be printed, the error's first line included.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.to_string()];
        match self {
            Self::PerTask { fixes, .. } => {
                lines.push(format!("Fix attempts: {}", fixes.join(", ")))
            }
            Self::Depth { chain, .. } => {
                lines.push(chain_line(chain));
                let advice = "The fix chain has become too deep. Manual intervention required.";
                lines.push(advice.to_owned());
            }
            Self::PerRoot { chain, .. } => {
                lines.push(chain_line(chain));
                let advice = "The fix tasks did not fix this task. Manual intervention required.";
                lines.push(advice.to_owned());
            }
        }
        lines
    }

    /// How the root's line in the log ends.
    #[must_use]
    pub fn final_state(&self) -> FinalState {
        FinalState::Fail(match self {
            Self::PerTask { .. } => FailReason::MaxLimit,
            Self::Depth { .. } => FailReason::MaxDepth,
            Self::PerRoot { .. } => FailReason::MaxBelowRoot,
        })
    }
}

fn chain_line(chain: &[String]) -> String {
    format!("Fix task chain: {}", chain.join(CHAIN_LINK))
}

/// The key of the next fix of the failed task, or the limit that forbids one.
///
/// The number is that of the fixes so far plus 1, or the next one whose key is not `taken` by
/// another task of the plan. A plan ends, so there always is one.
pub fn next_fix(
    lineage: &Lineage,
    limits: &Limits,
    taken: &dyn Fn(&str) -> bool,
) -> Result<FixKey, LimitReached> {
    let task = &lineage.failed;
    if lineage.fixes.len() >= limits.per_task {
        return Err(LimitReached::PerTask {
            task: task.clone(),
            max: limits.per_task,
            fixes: lineage.fixes.clone(),
        });
    }
    if lineage.depth() >= limits.depth {
        return Err(LimitReached::Depth {
            task: task.clone(),
            max: limits.depth,
            chain: lineage.chain(),
        });
    }
    if lineage.below_root >= limits.per_root {
        return Err(LimitReached::PerRoot {
            root: lineage.root().to_owned(),
            max: limits.per_root,
            chain: lineage.chain(),
        });
    }
    let mut number = lineage.fixes.len();
    loop {
        number += 1;
        let key = format!("{task}.{number}");
        if !taken(&key) {
            return Ok(FixKey(key));
        }
    }
}

#[cfg(test)]
mod tests;
