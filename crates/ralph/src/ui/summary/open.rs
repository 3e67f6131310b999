//! Every task that is not done: what happened to it, why, and what to type.

use std::collections::HashMap;
use std::time::Duration;

use ralph_core::decide::{Blocker, held_up, outlook};
use ralph_core::model::{Attempt, DoneBy, Key, Outcome, Status, Task, TaskId, Timestamp};
use ralph_core::store::{HistoryStore, PlanStore, Scope, StoreError};
use serde::Serialize;

use super::next_command;
use crate::command_error::CommandError;
use crate::ui::format;
use crate::ui::style::{BOLD, CYAN, Standing, paint, status_word};
use crate::ui::table::wrap;
use crate::workspace::{Workspace, now};

/// A task that is not done. As JSON this is a row of `open` in `ralph status --json`, so the names of its fields stay.
#[derive(Clone, Debug, Serialize)]
pub struct OpenTask {
    pub task_id: TaskId,
    pub key: Option<Key>,
    pub title: String,
    pub status: Status,
    /// In a few words: `blocked after 5 attempts`, `ready, not started`.
    pub happened: String,
    /// The reason that was recorded, else the error of the last attempt.
    pub why: Option<String>,
    /// The command to type next, where one helps.
    pub next: Option<String>,
    /// Counted attempts.
    pub attempts: u32,
    /// When the last one ended, counted or not.
    pub last_attempt_at: Option<Timestamp>,
    /// How many unfinished tasks cannot go on before this one, where it is blocked or failed.
    pub dependents: u64,
    /// What it waits for itself.
    pub waits_for: Vec<Blocker>,
}

impl OpenTask {
    /// The name people use.
    pub fn name(&self) -> &str {
        self.key.as_ref().map_or(self.task_id.as_str(), Key::as_str)
    }

    /// Whether nothing but a person moves it on.
    pub fn needs_you(&self) -> bool {
        matches!(self.status, Status::Blocked | Status::Failed)
    }

    fn standing(&self) -> Standing {
        Standing {
            status: self.status,
            verified: false,
            done_by: None,
        }
    }

    /// The task in a line: its mark and name, what happened and when, who waits for it.
    pub fn headline(&self) -> String {
        let name = paint(BOLD, format_args!("{} {}", self.name(), self.title));
        let ago = |at: Timestamp| format!(", last {} ago", format::age(now().since(at)));
        let last = self.last_attempt_at.filter(|_| self.attempts > 0);
        let last = last.map(ago).unwrap_or_default();
        let waiting = match self.dependents {
            0 => String::new(),
            n => format!(" · blocks {}", format::counted(n, "task")),
        };
        let (mark, happened) = (self.standing().mark(), &self.happened);
        format!("  {mark} {name} · {happened}{last}{waiting}")
    }

    /// The same with why and what to type below.
    pub fn paragraph(&self, width: usize) -> String {
        let mut lines = vec![self.headline()];
        lines.extend(self.why.as_ref().map(|why| format!("      {why}")));
        let next = self.next.as_ref();
        lines.extend(next.map(|next| format!("      next: {}", paint(CYAN, next))));
        let lines = lines.iter().map(|line| wrap(line, width) + "\n");
        lines.collect()
    }
}

/// Every task that is not done, in plan order.
pub fn open_tasks(workspace: &Workspace) -> Result<Vec<OpenTask>, CommandError> {
    let store = &workspace.store;
    let plan = store.skeleton()?;
    let waiting = outlook(&plan, &Scope::All).waiting;
    let mut waiting: HashMap<TaskId, Vec<Blocker>> = waiting
        .into_iter()
        .map(|waiter| (waiter.task_id, waiter.waits_for))
        .collect();
    let held_up = held_up(&plan);
    let tries = store.last_tries()?;
    let tries: HashMap<TaskId, Attempt> = tries
        .into_iter()
        .map(|attempt| (attempt.task_id.clone(), attempt))
        .collect();
    let is_running = workspace.has_active_run()?;
    let tasks = store.tasks(None)?;
    let stuck: HashMap<TaskId, String> = tasks.iter().filter_map(go_ahead).collect();
    let open = tasks.into_iter().filter(|task| task.status != Status::Done);
    Ok(open
        .map(|task| {
            let waits_for = waiting.remove(&task.id).unwrap_or_default();
            let last = tries.get(&task.id);
            let next = match task.status {
                Status::Blocked | Status::Failed => stuck.get(&task.id).cloned(),
                Status::Skipped => Some(format!("ralph task reset {}", task.name())),
                Status::InProgress => Some(format!("ralph logs -f {}", task.name())),
                Status::Pending | Status::Done => {
                    let first = held_up.by.get(&task.id).and_then(|by| stuck.get(by));
                    let run = || (!is_running).then(|| "ralph run".to_owned());
                    first.cloned().or_else(run)
                }
            };
            OpenTask {
                happened: happened(&task, &waits_for, last),
                why: task.reason.clone().or_else(|| error_of(last?)),
                next,
                attempts: task.attempts,
                last_attempt_at: last.map(ended_at),
                dependents: held_up.dependents.get(&task.id).copied().unwrap_or(0),
                waits_for,
                task_id: task.id,
                key: task.key,
                title: task.title,
                status: task.status,
            }
        })
        .collect())
}

/// A done task that no gate verified. As JSON this is a row of `unverified` in `ralph status --json`.
#[derive(Clone, Debug, Serialize)]
pub struct UnverifiedTask {
    pub task_id: TaskId,
    pub key: Option<Key>,
    pub title: String,
    /// What it rests on, where that was recorded.
    pub done_by: Option<DoneBy>,
}

impl UnverifiedTask {
    /// The name people use.
    pub fn name(&self) -> &str {
        self.key.as_ref().map_or(self.task_id.as_str(), Key::as_str)
    }

    /// The task in a line.
    pub fn headline(&self) -> String {
        let standing = Standing {
            status: Status::Done,
            verified: false,
            done_by: self.done_by,
        };
        let (mark, word) = (standing.mark(), standing.plain());
        format!("  {mark} {} {} · {word}", self.name(), self.title)
    }
}

/// Every done task that no gate verified, those that rest on an agent's word first. A parent that is done by its children
/// is not named: they are.
pub fn unverified_tasks(workspace: &Workspace) -> Result<Vec<UnverifiedTask>, StoreError> {
    let done = workspace.store.tasks(Some(Status::Done))?;
    let of_children = |task: &Task| task.done_by == Some(DoneBy::Children);
    let mut unverified: Vec<UnverifiedTask> = done
        .into_iter()
        .filter(|task| !task.verified && !of_children(task))
        .map(|task| UnverifiedTask {
            task_id: task.id,
            key: task.key,
            title: task.title,
            done_by: task.done_by,
        })
        .collect();
    unverified.sort_by_key(|task| task.done_by == Some(DoneBy::Person));
    Ok(unverified)
}

/// What moves a task on that only a person can move on.
fn go_ahead(task: &Task) -> Option<(TaskId, String)> {
    let next = next_command(task.name(), task.status, task.reason.as_deref())?;
    Some((task.id.clone(), next))
}

fn happened(task: &Task, waits_for: &[Blocker], last: Option<&Attempt>) -> String {
    let attempts = format::counted(u64::from(task.attempts), "attempt");
    let so_far = match task.attempts {
        0 => String::new(),
        _ => format!("; {attempts} so far"),
    };
    match task.status {
        Status::Blocked if task.attempts == 0 => "blocked before the first attempt".to_owned(),
        Status::Blocked => format!("blocked after {attempts}"),
        Status::Failed => "marked failed".to_owned(),
        Status::InProgress => "running".to_owned(),
        Status::Pending if !waits_for.is_empty() => {
            let names: Vec<String> = waits_for
                .iter()
                .map(|blocker| format!("{} ({})", blocker.name, status_word(blocker.status)))
                .collect();
            format!("waiting for {}{so_far}", names.join(", "))
        }
        Status::Pending if last.is_none() => "ready, not started".to_owned(),
        Status::Pending => format!("ready{so_far}"),
        Status::Skipped | Status::Done => task.status.to_string(),
    }
}

fn ended_at(attempt: &Attempt) -> Timestamp {
    let took = Duration::from_millis(attempt.duration_ms);
    attempt.started_at.plus(took)
}

/// What went wrong in an attempt, in a line.
fn error_of(attempt: &Attempt) -> Option<String> {
    if attempt.outcome == Outcome::Done {
        return None;
    }
    Some(format!("last attempt: {}", format::outcome_line(attempt)))
}
