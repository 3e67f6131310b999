//! The end of a run: what was done, what was not and why, what it cost, what to type next.

mod facts;
mod open;

use std::time::Duration;

pub use facts::{GateFacts, RunFacts, TaskFacts, next_command};
pub use open::{OpenTask, UnverifiedTask, open_tasks, unverified_tasks};
use ralph_core::engine::Summary;
use ralph_core::exit::RunExit;
use ralph_core::store::WaitingGate;

use super::style::{BOLD, CYAN, paint};
use super::table::{Table, wrap};
use super::{format, lines};
use crate::workspace::Workspace;

/// Tasks listed at the end; `ralph status` and `ralph task list` have all.
const LISTED: usize = 20;

/// The summary as text; its last line says how far the plan is. What cannot be read any more is left out: the run is over,
/// and its exit code stands.
pub fn render(workspace: &Workspace, summary: &Summary) -> String {
    let Some(run_id) = &summary.run_id else {
        return String::new();
    };
    let width = super::width();
    let mut text = String::from("\n");
    let run = workspace.store.run(run_id).ok().flatten();
    let facts = run.and_then(|run| RunFacts::of(workspace, &run).ok());
    if let Some(facts) = &facts {
        let tasks = tasks(&facts.worked_on(), LISTED, width);
        text.push_str(&tasks);
        text.push_str(if tasks.is_empty() { "" } else { "\n" });
        text.push_str(&gates(facts));
    }
    let open = open_tasks(workspace).unwrap_or_default();
    let held: Vec<&OpenTask> = open.iter().filter(|task| task.needs_you()).collect();
    text.push_str(&needs_you(&held, LISTED, width));
    if let Some(facts) = &facts {
        let tasks = unverified_tasks(workspace).unwrap_or_default();
        let own = |task: &UnverifiedTask| facts.done.iter().any(|done| done.task_id == task.task_id);
        let tasks: Vec<UnverifiedTask> = tasks.into_iter().filter(own).collect();
        text.push_str(&unverified(&tasks, LISTED, width));
    }
    if !is_error(summary.exit) {
        let ended = format::run_end(summary.exit == RunExit::Finished, &summary.reason);
        text.push_str(&format!("{}\n", wrap(&ended, width)));
    }
    if let Some(facts) = &facts {
        text.push_str(&format!("{}\n", spent(facts)));
    }
    if let Ok(counts) = workspace.store.counts() {
        text.push_str(&format!("{}\n", paint(BOLD, counts.summary())));
    }
    text
}

/// Whether the reason of an end is printed as an error, on standard error, and therefore not in the summary.
pub fn is_error(exit: RunExit) -> bool {
    matches!(exit, RunExit::Error | RunExit::NoPlan | RunExit::Aborted)
}

/// The tasks that only a person can move on, each with why and what to type.
pub fn needs_you(held: &[&OpenTask], most: usize, width: usize) -> String {
    if held.is_empty() {
        return String::new();
    }
    let mut text = format!("{}\n", paint(BOLD, "Needs you"));
    for task in held.iter().take(most) {
        text.push_str(&task.paragraph(width));
    }
    text.push_str(&more(held.len(), most));
    text.push('\n');
    text
}

/// The done tasks that no gate verified, and how to verify one.
pub fn unverified(tasks: &[UnverifiedTask], most: usize, width: usize) -> String {
    let Some(first) = tasks.first() else {
        return String::new();
    };
    let mut text = format!("{}\n", paint(BOLD, "Unverified (no gate passed)"));
    for task in tasks.iter().take(most) {
        text.push_str(&format!("{}\n", wrap(&task.headline(), width)));
    }
    text.push_str(&more(tasks.len(), most));
    let next = format!("  next: {}", paint(CYAN, first.next()));
    text.push_str(&format!("{}\n\n", wrap(&next, width)));
    text
}

fn more(total: usize, shown: usize) -> String {
    match total.saturating_sub(shown) {
        0 => String::new(),
        more => format!("  … and {more} more; `ralph task list` shows all\n"),
    }
}

/// A row per task that a run worked on, in so many columns.
pub fn tasks(tasks: &[&TaskFacts], most: usize, width: usize) -> String {
    if tasks.is_empty() {
        return String::new();
    }
    let mut table = Table::new(["", "TASK", "ATTEMPTS", "TIME", "COST", "RESULT"]);
    for task in tasks.iter().take(most) {
        let attempts = task.attempts + task.uncounted_attempts;
        let time = format::duration(Duration::from_millis(task.duration_ms));
        let tried = |text: String| if attempts > 0 { text } else { String::new() };
        table.row([
            task.standing().mark(),
            format!("{} {}", task.name(), task.title),
            tried(attempts.to_string()),
            tried(time),
            format::short_total(&task.cost),
            task.standing().word(),
        ]);
    }
    table.render_to(width) + &more(tasks.len(), most)
}

/// What is said of a gate that waits for a person to import its file.
pub fn waiting_gate(waiting: &WaitingGate) -> String {
    let gate = &waiting.gate;
    let (before, after) = (gate.before.as_deref(), gate.after.as_deref());
    lines::waiting_gate(&gate.name, &waiting.path, before, after)
}

/// A line per gate that was changed while the run was at work.
pub fn gates(facts: &RunFacts) -> String {
    let line = |change: &GateFacts| {
        format!(
            "  gate of {} changed{}: {} → {}\n",
            change.name(),
            lines::gate_author(change.by),
            lines::gate(change.before.as_deref()),
            lines::gate(change.after.as_deref())
        )
    };
    let changed = facts.gate_changes.iter().map(line);
    let waiting = facts.gates_waiting.iter().map(|one| format!("  {}\n", waiting_gate(one)));
    changed.chain(waiting).collect()
}

/// `31 attempts (2 not counted), 6 h 12 min, $4.12`: what a run took.
pub fn spent(facts: &RunFacts) -> String {
    let attempts = format::attempts(facts.attempts, facts.uncounted_attempts);
    let time = format::duration(Duration::from_millis(facts.duration_ms));
    let cost = format::total(&facts.cost).map(|cost| format!(", {cost}"));
    format!("{attempts}, {time}{}", cost.unwrap_or_default())
}
