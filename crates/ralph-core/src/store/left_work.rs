//! Work that attempts left in the tree.

use super::Result;
use crate::model::{LeftFile, TaskId};

/// Work that attempts left in the tree.
pub trait LeftWorkStore {
    /// Remembers what attempts on a task left uncommitted, in place of what was known.
    fn set_left_work(&mut self, task: &TaskId, files: &[LeftFile]) -> Result<()>;
    /// What was left of every task that is not done.
    fn left_work(&self) -> Result<Vec<(TaskId, LeftFile)>>;
}
