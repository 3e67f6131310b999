//! Work that attempts left in the tree.

use super::Result;
use crate::model::{CommitIntent, LeftFile, TaskId, Timestamp, Token};

/// The tree before attempts that were under way when their run died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstLook {
    /// The task; of a fix task the one at the root of its chain.
    pub task: TaskId,
    /// The tree, in words of git's only caller.
    pub look: String,
    /// The branch that was worked on, where there was one.
    pub branch: Option<String>,
    /// When the last attempt on the task or on its fixes ended, as far as is known.
    pub ended_at: Option<Timestamp>,
}

/// Work that attempts left in the tree.
pub trait LeftWorkStore {
    /// Remembers how the tree looked before a task's attempts, and on which branch, until what they left is known.
    fn set_first_look(&mut self, task: &TaskId, look: &str, branch: Option<&str>) -> Result<()>;
    /// The looks that nothing came of, and when the last attempt on each task, or on its fixes, gave its last sign of life.
    fn first_looks(&self) -> Result<Vec<FirstLook>>;
    /// Remembers what attempts on a task left uncommitted, in place of what was known.
    fn set_left_work(&mut self, task: &TaskId, files: &[LeftFile]) -> Result<()>;
    /// What was left of every task that is not done.
    fn left_work(&self) -> Result<Vec<(TaskId, LeftFile)>>;
    /// Whose work the changes of an attempt on a task are: a fix task works for the one at the root of its chain.
    fn work_owner(&self, task: &TaskId) -> Result<TaskId>;
    /// Remembers with a claim what its attempt is about to commit; it is forgotten with the claim.
    fn set_commit_intent(
        &mut self,
        task: &TaskId,
        token: &Token,
        intent: &CommitIntent,
    ) -> Result<()>;
    /// What the attempt of the claim on a task was about to commit.
    fn commit_intent(&self, task: &TaskId) -> Result<Option<CommitIntent>>;
    /// Whether a commit is on record as what came of an attempt.
    fn is_recorded_commit(&self, commit: &str) -> Result<bool>;
}
