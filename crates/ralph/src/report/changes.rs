//! What tasks changed, as much of it as a report holds.

use std::collections::HashMap;
use std::path::Path;

use ralph_core::agent::Interrupt;
use ralph_core::event::TaskRef;
use ralph_core::git::{DiffForm, Git, GitLimits};
use ralph_core::model::{Attempt, TaskId};
use ralph_core::text::{clean_bytes, first_bytes, mask_secrets};
use serde::Serialize;

use crate::commands::diff::{changes as commit_of, choose};
use crate::facts::{RunFacts, RunTask};

/// Tasks whose changes are shown, and how much of each and of all. Each costs a call of git.
const TASKS: usize = 40;
const TASK_BYTES: usize = 24 * 1024;
const ALL_BYTES: usize = 600 * 1024;
/// Bytes of a diff that are masked: far more than is shown, so that a secret that is cut in two is not shown.
const READ: usize = 2 * TASK_BYTES;

#[derive(Debug, Serialize)]
pub struct TaskChanges {
    #[serde(flatten)]
    pub task: TaskRef,
    /// Of all its attempts whose changes these are.
    pub files: Vec<String>,
    pub rolled_back: bool,
    /// Whether they are in a commit, or saved where Ralph rolled them back.
    pub in_git: bool,
    /// The beginning of the diff; none where git has none, or where the report is full.
    pub diff: Option<String>,
    /// Whether the diff goes on.
    pub is_cut: bool,
}

impl TaskChanges {
    /// Where the changes are, unless they are in a commit.
    pub fn state(&self) -> &'static str {
        match (self.rolled_back, self.in_git) {
            (true, _) => ", rolled back",
            (false, true) => "",
            (false, false) => ", not committed",
        }
    }
}

/// The changes of a run's tasks, those first that are not done. What git cannot show is left out: the report is about more.
pub fn changes(root: &Path, run: &RunFacts, attempts: &[Attempt], interrupt: &Interrupt) -> Vec<TaskChanges> {
    let mut by_task: HashMap<&TaskId, Vec<Attempt>> = HashMap::new();
    for attempt in attempts {
        by_task.entry(&attempt.task_id).or_default().push(attempt.clone());
    }
    let limits = GitLimits { interrupt: interrupt.clone(), ..GitLimits::default() };
    let git = Git::open(root, limits).ok().flatten();
    let mut room = ALL_BYTES;
    let tasks: Vec<&RunTask> = run.blocked.iter().chain(&run.others).chain(&run.done).collect();
    let mut told = Vec::new();
    for task in tasks {
        let attempts = by_task.remove(&task.task.task_id).unwrap_or_default();
        let changed = |one: &&Attempt| one.files_changed.as_ref().is_some_and(|files| !files.is_empty());
        let uncommitted = attempts.iter().rfind(changed).cloned();
        let mut chosen = choose(attempts, None);
        let in_git = !chosen.is_empty();
        if !in_git {
            chosen.extend(uncommitted);
        }
        let Some(last) = chosen.last() else { continue };
        let mut files: Vec<String> =
            chosen.iter().filter_map(|one| one.files_changed.clone()).flatten().collect();
        files.sort();
        files.dedup();
        let has_room = told.len() < TASKS && room > 0;
        let diff = git.as_ref().filter(|_| has_room).and_then(|git| {
            let diffs = chosen.iter().filter_map(|attempt| {
                git.diff(attempt.commit_before.as_deref(), commit_of(attempt)?, DiffForm::Patch).ok()
            });
            Some(diffs.collect::<Vec<_>>().concat()).filter(|diff| !diff.is_empty())
        });
        let (diff, is_cut) = match diff {
            Some(diff) => {
                let (text, is_cut) = bounded(&diff, TASK_BYTES.min(room));
                room -= text.len().min(room);
                (Some(text), is_cut)
            }
            None => (None, true),
        };
        told.push(TaskChanges {
            task: task.task.clone(),
            files,
            rolled_back: last.undone_ref.is_some(),
            in_git,
            diff,
            is_cut,
        });
    }
    told
}

/// Whole lines of a diff, clean and masked, and whether there are more.
fn bounded(diff: &[u8], most: usize) -> (String, bool) {
    let read = clean_bytes(diff.get(..READ).unwrap_or(diff));
    let masked = mask_secrets(&read);
    let start = first_bytes(&masked, most);
    let is_cut = start.len() < masked.len() || diff.len() > READ;
    let whole = match start.rfind('\n') {
        Some(end) if is_cut => start.get(..end).unwrap_or_default(),
        _ => start,
    };
    (whole.to_owned(), is_cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_diff_ends_with_a_whole_line_and_shows_no_secret_cut_in_two() {
        let (text, is_cut) = bounded(b"+one\n+two\n", 100);
        assert_eq!((text.as_str(), is_cut), ("+one\n+two\n", false));
        let (text, is_cut) = bounded(b"+one\n+two\n", 7);
        assert_eq!((text.as_str(), is_cut), ("+one", true));
        let key = "AKIAIOSFODNN7EXAMPLE";
        for cut in 1..60 {
            let (text, _) = bounded(format!("+key {key} and\n+more\n").as_bytes(), cut);
            assert!(!text.contains("AKIA"), "{cut}: {text}");
        }
    }
}
