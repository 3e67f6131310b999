//! The end of a run: what was done, what was not and why, what it cost, what to type next.

mod facts;

use std::time::Duration;

pub use facts::{GateFacts, RunFacts, TaskFacts, next_command};
use ralph_core::engine::Summary;
use ralph_core::exit::RunExit;
use ralph_core::model::Status;
use ralph_core::store::{PlanStore, RunStore};

use super::style::{self, BOLD, paint};
use super::{format, lines, table::Table};
use crate::workspace::Workspace;

/// Tasks listed at the end; `ralph status` and `ralph task list` have all.
const LISTED: usize = 20;

/// The summary as text. What cannot be read any more is left out: the run is over, and its exit code stands.
pub fn render(workspace: &Workspace, summary: &Summary) -> String {
    let Some(run_id) = &summary.run_id else {
        return String::new();
    };
    let mut text = String::from("\n");
    if let Ok(Some(run)) = workspace.store.run(run_id)
        && let Ok(facts) = RunFacts::of(workspace, &run)
    {
        let tasks = tasks(&facts.worked_on(), LISTED, super::width());
        text.push_str(&tasks);
        text.push_str(if tasks.is_empty() { "" } else { "\n" });
        text.push_str(&totals(workspace, &facts));
        text.push_str(&gates(&facts));
    }
    if summary.exit != RunExit::Finished && !is_error(summary.exit) {
        let ended = format!("ended: {}", summary.reason);
        text.push_str(&format!("{}\n", super::table::wrap(&ended, super::width())));
    }
    for held in workspace.store.held(LISTED).unwrap_or_default() {
        let next = next_command(&held.name, held.status, held.reason.as_deref());
        let next = next.unwrap_or_default();
        let status = style::status(held.status);
        text.push_str(&format!(
            "  {} is {status}: `{next}` tries it again\n",
            held.name
        ));
    }
    text
}

/// Whether the reason of an end is printed as an error, on standard error, and therefore not in the summary.
pub fn is_error(exit: RunExit) -> bool {
    matches!(exit, RunExit::Error | RunExit::NoPlan | RunExit::Aborted)
}

/// A row per task that a run worked on, in so many columns.
pub fn tasks(tasks: &[&TaskFacts], most: usize, width: usize) -> String {
    if tasks.is_empty() {
        return String::new();
    }
    let mut table = Table::new(["", "TASK", "TRIES", "TIME", "COST", "RESULT"]);
    for task in tasks.iter().take(most) {
        let why = task
            .reason
            .as_deref()
            .map(|reason| format!(": {reason}"))
            .unwrap_or_default();
        table.row([
            style::mark(task.status),
            format!("{} {}", task.name(), task.title),
            task.attempts.to_string(),
            format::duration(Duration::from_millis(task.duration_ms)),
            format::short_total(&task.cost),
            format!("{}{why}", style::status(task.status)),
        ]);
    }
    let mut text = table.render_to(width);
    if tasks.len() > most {
        let more = tasks.len() - most;
        text.push_str(&format!("… and {more} more; `ralph task list` shows all\n"));
    }
    text
}

/// A line per gate that was changed while the run was at work.
pub fn gates(facts: &RunFacts) -> String {
    let line = |change: &GateFacts| {
        format!(
            "  the gate of {} was changed{}: {} → {}\n",
            change.name(),
            lines::gate_author(change.by),
            lines::gate(change.before.as_deref()),
            lines::gate(change.after.as_deref())
        )
    };
    facts.gate_changes.iter().map(line).collect()
}

fn totals(workspace: &Workspace, facts: &RunFacts) -> String {
    let Ok(counts) = workspace.store.counts() else {
        return String::new();
    };
    let mut parts = vec![format!("{} of {} done", counts.done, counts.total)];
    for (n, status) in [
        (counts.skipped, Status::Skipped),
        (counts.blocked, Status::Blocked),
        (counts.failed, Status::Failed),
    ] {
        if n > 0 {
            parts.push(format!("{n} {}", style::status(status)));
        }
    }
    let parts = paint(BOLD, parts.join(", "));
    format!("{parts} · {}\n", spent(facts))
}

/// `31 attempts, 6:12:03, $4.12`: what a run took.
pub fn spent(facts: &RunFacts) -> String {
    let attempts = format::counted(facts.attempts, "attempt");
    let time = format::duration(Duration::from_millis(facts.duration_ms));
    let cost = format::total(&facts.cost).map(|cost| format!(", {cost}"));
    format!("{attempts}, {time}{}", cost.unwrap_or_default())
}
