//! Names of things by how they begin, for completing what somebody types.

use super::Result;

/// A thing by its name, with a few words on what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// What to type.
    pub name: String,
    /// What it is, in one short line.
    pub about: String,
}

/// Looks names up, about as many as asked for out of however many there are. The first and the last of all are among them:
/// so what all of an answer begin with, all there are begin with, and a shell may type it for the person.
pub trait NameStore {
    /// Keys and ids of tasks that begin so. Without a beginning one name per task, in plan order.
    fn task_names(&self, prefix: &str, most: usize) -> Result<Vec<Named>>;
    /// Ids of learnings that begin so. Without a beginning the newest come first.
    fn learning_names(&self, prefix: &str, most: usize) -> Result<Vec<Named>>;
    /// Ids of runs that begin so. Without a beginning the newest come first.
    fn run_names(&self, prefix: &str, most: usize) -> Result<Vec<Named>>;
}
