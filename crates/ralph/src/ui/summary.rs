//! The end of a run: what was done, what was not and why, what it cost, what to type next.

use std::time::Duration;

use ralph_core::engine::Summary;
use ralph_core::exit::RunExit;
use ralph_core::model::{Attempt, RunId, Status, TaskId};
use ralph_core::store::{HistoryStore, PlanStore, RunStore};

use super::style::{self, BOLD, paint};
use super::{format, table::Table};
use crate::workspace::Workspace;

/// Tasks listed at the end; `ralph status` and `ralph task list` have all.
const LISTED: usize = 20;

/// The summary as text. What cannot be read any more is left out: the run is over, and its exit code stands.
pub fn render(workspace: &Workspace, summary: &Summary) -> String {
    let Some(run_id) = &summary.run_id else {
        return String::new();
    };
    let mut text = String::from("\n");
    text.push_str(&tasks(workspace, run_id));
    text.push_str(&totals(workspace, run_id));
    if summary.exit != RunExit::Finished {
        let ended = format!("ended: {}", summary.reason);
        text.push_str(&format!("{}\n", super::table::wrap(&ended, super::width())));
    }
    for held in workspace.store.held(LISTED).unwrap_or_default() {
        let next = match held.status {
            Status::Blocked => format!("ralph run {}", held.name),
            _ => format!("ralph task reset {}", held.name),
        };
        let status = style::status(held.status);
        text.push_str(&format!(
            "  {} is {status}: `{next}` tries it again\n",
            held.name
        ));
    }
    text
}

/// A row per task the run worked on.
fn tasks(workspace: &Workspace, run_id: &RunId) -> String {
    let attempts = workspace.store.run_history(run_id).unwrap_or_default();
    let mut ids: Vec<&TaskId> = Vec::new();
    for attempt in &attempts {
        if !ids.contains(&&attempt.task_id) {
            ids.push(&attempt.task_id);
        }
    }
    if ids.is_empty() {
        return String::new();
    }
    let mut table = Table::new(["", "TASK", "TRIES", "TIME", "COST", "RESULT"]);
    for id in ids.iter().take(LISTED) {
        let Ok(task) = workspace.store.task(id.as_str()) else {
            continue;
        };
        let own: Vec<&Attempt> = attempts.iter().filter(|a| a.task_id == **id).collect();
        let cost = own.iter().filter_map(|a| a.cost_usd).reduce(|a, b| a + b);
        let why = task
            .reason
            .as_deref()
            .map(|reason| format!(": {reason}"))
            .unwrap_or_default();
        table.row([
            style::mark(task.status),
            format!("{} {}", task.name(), task.title),
            own.iter().filter(|a| a.counted).count().to_string(),
            format::duration(Duration::from_millis(
                own.iter().map(|a| a.duration_ms).sum(),
            )),
            cost.map(|usd| format::cost(Some(usd))).unwrap_or_default(),
            format!("{}{why}", style::status(task.status)),
        ]);
    }
    let mut text = table.render();
    if ids.len() > LISTED {
        let more = ids.len() - LISTED;
        text.push_str(&format!("… and {more} more; `ralph task list` shows all\n"));
    }
    text.push('\n');
    text
}

fn totals(workspace: &Workspace, run_id: &RunId) -> String {
    let (Ok(counts), Ok(Some(run))) = (workspace.store.counts(), workspace.store.run(run_id))
    else {
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
    let attempts = format::counted(run.attempts, "attempt");
    let time = run
        .ended_at
        .map(|ended| ended.since(run.started_at))
        .unwrap_or_default();
    let cost = if run.cost_usd > 0.0 {
        format!(", {}", format::cost(Some(run.cost_usd)))
    } else {
        String::new()
    };
    let parts = paint(BOLD, parts.join(", "));
    format!("{parts} · {attempts}, {}{cost}\n", format::duration(time))
}
