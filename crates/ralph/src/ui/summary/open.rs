//! Every task that is not done: what happened to it, why, and what to type.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use ralph_core::decide::{Blocker, held_up, outlook};
use ralph_core::model::{Attempt, DoneBy, GateOutcome, Key, Outcome, Status, Task, TaskId, Timestamp};
use ralph_core::store::{PlanNode, Scope, StoreError};
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
    pub waits_for: Vec<Blocker>,
    /// The task with which it was blocked, where it is a fix task of that one's: a person moves on that one.
    pub blocked_with: Option<TaskId>,
}

impl OpenTask {
    pub fn name(&self) -> &str {
        self.key.as_ref().map_or(self.task_id.as_str(), Key::as_str)
    }

    /// Whether nothing but a person moves it on.
    pub fn needs_you(&self) -> bool {
        self.is_stuck() && self.blocked_with.is_none()
    }

    pub fn is_stuck(&self) -> bool {
        matches!(self.status, Status::Blocked | Status::Failed)
    }

    fn standing(&self) -> Standing {
        Standing { status: self.status, verified: false, done_by: None }
    }

    /// The task in a line: its mark and name, what happened and when, who waits for it.
    pub fn headline(&self) -> String {
        let name = paint(BOLD, format_args!("{} {}", self.name(), self.title));
        let ago = |at: Timestamp| format!(", last {}", format::ago(now().since(at)));
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
    let interrupted = workspace.interrupted_tasks()?;
    let mut plan = store.skeleton()?;
    for node in plan.iter_mut().filter(|node| interrupted.contains(&node.id)) {
        node.status = Status::Pending;
    }
    let waiting = outlook(&plan, &Scope::All).waiting;
    let mut waiting: HashMap<TaskId, Vec<Blocker>> =
        waiting.into_iter().map(|waiter| (waiter.task_id, waiter.waits_for)).collect();
    let held_up = held_up(&plan);
    let tries = store.last_attempts()?;
    let tries: HashMap<TaskId, Attempt> =
        tries.into_iter().map(|attempt| (attempt.task_id.clone(), attempt)).collect();
    let is_running = workspace.has_active_run()?;
    let mut tasks = store.tasks(None)?;
    for task in tasks.iter_mut().filter(|task| interrupted.contains(&task.id)) {
        task.status = Status::Pending;
    }
    let chains = blocked_chains(&plan, &tasks);
    let stuck = tasks.iter().filter_map(|task| go_ahead(task, tries.get(&task.id)));
    let mut stuck: HashMap<TaskId, String> = stuck.collect();
    for (fix, root) in &chains {
        if let Some(next) = stuck.get(root).cloned() {
            stuck.insert(fix.clone(), next);
        }
    }
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
            let is_interrupted = interrupted.contains(&task.id);
            let happened = match is_interrupted {
                true => "interrupted by a crash of Ralph".to_owned(),
                false => happened(&task, &waits_for, last),
            };
            let fixes = chains.iter().filter(|(_, root)| **root == task.id);
            let of_fixes = fixes.filter_map(|(fix, _)| tries.get(fix));
            let why = match of_fixes.max_by_key(|attempt| attempt.started_at) {
                Some(last) => Some(with_last_failure(task.reason.as_deref(), last)),
                None => task.reason.clone().or_else(|| error_of(last?)),
            };
            OpenTask {
                happened,
                why: why.filter(|_| !is_interrupted),
                next,
                blocked_with: chains.get(&task.id).cloned(),
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

/// Fix tasks that were blocked together with the task they are for, and that task.
fn blocked_chains(plan: &[PlanNode], tasks: &[Task]) -> HashMap<TaskId, TaskId> {
    let made_for: HashMap<&TaskId, &TaskId> =
        plan.iter().filter_map(|node| Some((&node.id, node.made_for.as_ref()?))).collect();
    let is_part = |task: &&Task| {
        let reason = task.reason.as_deref().unwrap_or_default();
        // Earlier versions wrote `blocked with`.
        let is_along = |start: &&str| reason.starts_with(*start);
        task.status == Status::Blocked && ["blocked because ", "blocked with "].iter().any(is_along)
    };
    let parts: HashSet<&TaskId> = tasks.iter().filter(is_part).map(|task| &task.id).collect();
    let root = |id: &TaskId| {
        let mut root = *made_for.get(id)?;
        while parts.contains(root) {
            root = made_for.get(root)?;
        }
        Some((id.clone(), root.clone()))
    };
    parts.iter().copied().filter_map(root).collect()
}

/// Why a task is blocked after fixes were tried for it, and what failed last.
fn with_last_failure(reason: Option<&str>, last: &Attempt) -> String {
    let failure = format::outcome_line(last);
    match reason {
        Some(reason) => format!("{}. Last failure: {failure}", reason.trim_end_matches('.')),
        None => format!("last failure: {failure}"),
    }
}

/// A done task that no gate verified. As JSON this is a row of `unverified` in `ralph status --json`.
#[derive(Clone, Debug, Serialize)]
pub struct UnverifiedTask {
    pub task_id: TaskId,
    pub key: Option<Key>,
    pub title: String,
    /// What it rests on, where that was recorded.
    pub done_by: Option<DoneBy>,
    /// Whether it has a gate that could verify it.
    pub has_gate: bool,
}

impl UnverifiedTask {
    pub fn name(&self) -> &str {
        self.key.as_ref().map_or(self.task_id.as_str(), Key::as_str)
    }

    /// The command that verifies it.
    pub fn next(&self) -> String {
        let name = self.name();
        match self.has_gate {
            true => format!("ralph task done {name} --verify"),
            false => {
                format!("ralph task edit {name} --verify CMD && ralph task done {name} --verify")
            }
        }
    }

    /// The task in a line.
    pub fn headline(&self) -> String {
        let standing = Standing { status: Status::Done, verified: false, done_by: self.done_by };
        let (mark, word) = (standing.mark(), standing.plain());
        format!("  {mark} {} {} · {word}", self.name(), self.title)
    }
}

/// Every done task that no gate verified: first those that rest on an agent's word, last the parents of such tasks.
pub fn unverified_tasks(workspace: &Workspace) -> Result<Vec<UnverifiedTask>, StoreError> {
    let done = workspace.store.tasks(Some(Status::Done))?;
    let has_project_gate = workspace.has_project_gate();
    let mut unverified: Vec<UnverifiedTask> = done
        .into_iter()
        .filter(|task| !task.verified)
        .map(|task| UnverifiedTask {
            task_id: task.id,
            key: task.key,
            title: task.title,
            done_by: task.done_by,
            has_gate: task.verify.is_some() || has_project_gate,
        })
        .collect();
    unverified.sort_by_key(|task| match task.done_by {
        Some(DoneBy::Children) => 2,
        Some(DoneBy::Person) => 1,
        _ => 0,
    });
    Ok(unverified)
}

/// What moves a task on that only a person can move on. Where its gate passed and only the report is missing, another
/// attempt would probably end the same way.
fn go_ahead(task: &Task, last: Option<&Attempt>) -> Option<(TaskId, String)> {
    let only_unreported = last.is_some_and(|last| {
        let unreported = matches!(last.outcome, Outcome::NoSigil | Outcome::Error);
        unreported && last.gate == Some(GateOutcome::Passed)
    });
    let next = match task.status {
        Status::Blocked if only_unreported => format!("ralph task done {} --verify", task.name()),
        status => next_command(task.name(), status, task.reason.as_deref())?,
    };
    Some((task.id.clone(), next))
}

fn happened(task: &Task, waits_for: &[Blocker], last: Option<&Attempt>) -> String {
    let attempts = format::counted(u64::from(task.attempts), "attempt");
    let so_far = match task.attempts {
        0 => String::new(),
        _ => format!("; {attempts} so far"),
    };
    match task.status {
        Status::Blocked if task.attempts == 0 => match last {
            None => "blocked before the first attempt".to_owned(),
            Some(last) => {
                let all = u64::from(last.attempt_number);
                format!("blocked after {}", format::attempts(0, all))
            }
        },
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
