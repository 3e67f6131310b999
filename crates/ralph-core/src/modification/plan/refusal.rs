//! Why a request is not granted.

use serde::Serialize;

/// Why a request is refused as a whole, in one sentence that says what to do instead. Names in it are
/// harmless wherever it is shown. Positions count the proposed tasks from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The request names no task.
    #[error("the request has no originalTaskId: use `{attempted}`")]
    NoOriginal {
        /// The task of the attempt.
        attempted: String,
    },
    /// The request is about a task that is not being attempted.
    #[error(
        "originalTaskId is `{named}`, but an attempt can only change its own task: use `{attempted}`"
    )]
    OtherTask {
        /// What the request says.
        named: String,
        /// The task of the attempt.
        attempted: String,
    },
    /// The task has been changed often enough.
    #[error(
        "this task was already changed {limit} times, which is the limit: do the task as it is, or report \
         why it fails"
    )]
    TooManyChanges {
        /// Changes that are allowed.
        limit: u32,
    },
    /// The new tasks would be too far from the author's.
    #[error(
        "this task comes from earlier plan changes, and the limit is {limit} levels: do the task as it is, \
         or report why it fails"
    )]
    TooDeep {
        /// Levels that are allowed.
        limit: u32,
    },
    /// A split of a task whose parts are not finished.
    #[error("this task already has unfinished parts: those must be done first")]
    OpenParts,
    /// The request gives no reason.
    #[error("the request has no reasoning: say in a sentence or two why the plan must change")]
    NoReasoning,
    /// The request proposes nothing.
    #[error("the request proposes no tasks: list them in proposedTasks")]
    NoTasks,
    /// A split into one part.
    #[error(
        "a SPLIT_TASK needs at least two proposed tasks: propose more parts, or do `{attempted}` as it is"
    )]
    OnePart {
        /// The task of the attempt.
        attempted: String,
    },
    /// The request proposes too much.
    #[error(
        "the request proposes {given} tasks and {limit} are allowed: propose fewer, larger ones"
    )]
    TooManyTasks {
        /// Tasks proposed.
        given: usize,
        /// Tasks that are allowed.
        limit: usize,
    },
    /// A proposed task has no title.
    #[error("proposed task {position} has no title: give it one line that says what it is")]
    NoTitle {
        /// Which task.
        position: usize,
    },
    /// A proposed task has no verify command although the original has one.
    #[error(
        "proposed task {position} has no verify command, and the original has one: give it a command \
         that exits 0 only when the task is done"
    )]
    NoGate {
        /// Which task.
        position: usize,
    },
    /// A proposed task's verify command always passes although the original has a real one.
    #[error(
        "the verify command of proposed task {position} always passes: give it one that fails while \
         the task is not done"
    )]
    IdleGate {
        /// Which task.
        position: usize,
    },
    /// A proposed task's verify command cannot be run.
    #[error(
        "the verify command of proposed task {position} is not a runnable command: give it a shell command, \
         and put prose into doneWhen"
    )]
    UnrunnableGate {
        /// Which task.
        position: usize,
    },
    /// Something of a proposed task is too long to be kept whole.
    #[error("proposed task {position} has {what} over the limit of {limit}: shorten it")]
    TooLong {
        /// Which task.
        position: usize,
        /// What is too long or too many.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A proposed id cannot be a key.
    #[error(
        "`{key}` cannot be the id of a task: use up to 64 letters, digits and . _ - : / # +, or leave \
         the id out"
    )]
    BadKey {
        /// The id.
        key: String,
    },
    /// Two proposed tasks have one id.
    #[error("two proposed tasks have the id `{key}`: give each its own, or leave the ids out")]
    RepeatedKey {
        /// The id.
        key: String,
    },
    /// A proposed id is another task's.
    #[error(
        "the id `{key}` belongs to another task in the plan: choose another, or leave the id out"
    )]
    TakenKey {
        /// The id.
        key: String,
    },
    /// No key can be made for a task that has none.
    #[error("cannot derive ids from `{base}`: give every proposed task a new id")]
    NoFreeKey {
        /// The name the key would have extended.
        base: String,
    },
    /// A dependency that nobody has heard of.
    #[error(
        "proposed task {position} depends on `{name}`, which is neither proposed nor in the plan: \
         name an existing id, or leave it out"
    )]
    UnknownDependency {
        /// Which task.
        position: usize,
        /// The name.
        name: String,
    },
    /// Tasks would wait for each other.
    #[error(
        "the change would create a dependency cycle ({}): remove one of these dependencies",
        .path.join(" → ")
    )]
    Circle {
        /// The tasks around the circle, the first one again at the end.
        path: Vec<String>,
    },
}
