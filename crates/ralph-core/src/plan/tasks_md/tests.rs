//! Specs, read and changed.

mod editing;
mod examples;
mod properties;
mod reading;
mod speed;

use super::Spec;
use crate::plan::{Draft, DraftTask, Format, Problem};

/// The programs there are in these tests.
const PROGRAMS: [&str; 5] = ["pnpm", "grep", "cargo", "curl", "npx"];

fn try_draft(text: &str) -> Result<Draft, Vec<Problem>> {
    Spec::of(text).read(&|word| PROGRAMS.contains(&word))
}

fn draft(text: &str) -> Draft {
    try_draft(text).unwrap()
}

fn first(text: &str) -> DraftTask {
    draft(text).tasks.swap_remove(0)
}

/// Names of all tasks with what each waits for, as `1.2<1.1`.
fn order(text: &str) -> Vec<String> {
    let tasks = draft(text).tasks;
    tasks.iter().map(|task| format!("{}<{}", task.name, task.after.join(","))).collect()
}

/// Lines and texts of the notes on a text.
fn notes(text: &str) -> Vec<(usize, String)> {
    let notes = draft(text).notes.into_iter();
    notes.map(|note| (note.line, note.text)).collect()
}

fn has(text: &str, key: &str) -> bool {
    Spec::of(text).has(key)
}

fn mark(text: &str, tasks: &[(&str, bool)]) -> String {
    crate::plan::marks::mark(Format::TasksMd, text, tasks)
}

fn insert_after(text: &str, key: &str, block: &str) -> Option<String> {
    Spec::of(text).insert_after(key, block)
}

fn insert_before(text: &str, key: &str, block: &str) -> Option<String> {
    Spec::of(text).insert_before(key, block)
}
