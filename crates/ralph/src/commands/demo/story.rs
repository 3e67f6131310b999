//! Which of its stories the demo tells.

/// A scratch project and what is seen in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Story {
    /// A to-do list: one task is done at the second attempt, and another learns from it.
    Learning,
    /// The to-do list in an environment in which no gate can pass.
    Broken,
    /// A greeter, its plan in a file: a task fails, and so does its fix.
    Recovery,
}
