//! Short ways to read.

use crate::plan_files::tasks_md::read;
use crate::plan_files::{Draft, DraftTask, Problem};

/// The programs there are in these tests.
const PROGRAMS: [&str; 5] = ["pnpm", "grep", "cargo", "curl", "npx"];

pub(super) fn try_draft(text: &str) -> Result<Draft, Vec<Problem>> {
    read(text, &|word| PROGRAMS.contains(&word))
}

pub(super) fn draft(text: &str) -> Draft {
    try_draft(text).unwrap()
}

/// The first task of a text.
pub(super) fn first(text: &str) -> DraftTask {
    draft(text).tasks.swap_remove(0)
}

/// A task of a draft by its key.
pub(super) fn task<'d>(draft: &'d Draft, key: &str) -> &'d DraftTask {
    draft.tasks.iter().find(|task| task.name == key).unwrap()
}

/// Names of all tasks with what each waits for, as `1.2<1.1`.
pub(super) fn order(text: &str) -> Vec<String> {
    let tasks = draft(text).tasks;
    tasks
        .iter()
        .map(|task| format!("{}<{}", task.name, task.after.join(",")))
        .collect()
}

/// Lines and texts of the notes on a text.
pub(super) fn notes(text: &str) -> Vec<(usize, String)> {
    draft(text)
        .notes
        .into_iter()
        .map(|note| (note.line, note.text))
        .collect()
}
