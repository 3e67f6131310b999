//! `ralph workers`: who works on the plan at this moment, on which host and on what.

use std::path::Path;

use ralph_core::host::{Host, ThisHost};
use ralph_core::model::{RunId, TaskId, Timestamp};
use ralph_core::store::{Claim, Purpose, Stage};
use serde::Serialize;

use crate::command_error::CommandResult;
use crate::output::{self, Json};
use crate::ui::format;
use crate::ui::table::Table;
use crate::workspace::{Workspace, is_active, now};

/// Where a worker is and what it does.
#[derive(Serialize)]
struct Line {
    host: String,
    pid: u32,
    run_id: RunId,
    /// None for a run that has no task at the moment.
    worker: Option<String>,
    task_id: Option<TaskId>,
    task: Option<String>,
    title: Option<String>,
    /// What it does with the task.
    doing: &'static str,
    since: Timestamp,
}

pub fn run(dir: Option<&Path>, args: &Json) -> CommandResult {
    let workspace = Workspace::open_to_read(dir)?;
    let lines = lines(&workspace)?;
    output::list(args.json, &lines, "nobody works on the plan; start with `ralph run`", || table(&lines))
}

fn lines(workspace: &Workspace) -> Result<Vec<Line>, crate::command_error::CommandError> {
    let store = &workspace.store;
    let claims = store.claims()?;
    let mut lines = Vec::new();
    for run in store.open_runs()?.into_iter().filter(is_active) {
        let own: Vec<&Claim> = claims.iter().filter(|claim| claim.run_id == run.id).collect();
        if own.is_empty() {
            lines.push(Line {
                host: run.owner.host.clone(),
                pid: run.owner.pid,
                run_id: run.id.clone(),
                worker: None,
                task_id: None,
                task: None,
                title: None,
                doing: "waiting",
                since: run.started_at,
            });
        }
        for claim in own {
            let task = store.task(claim.task_id.as_str())?;
            lines.push(Line {
                host: claim.owner.host.clone(),
                pid: claim.owner.pid,
                run_id: run.id.clone(),
                worker: Some(claim.worker.clone()),
                task: Some(task.name().to_owned()),
                task_id: Some(task.id),
                title: Some(task.title),
                doing: doing(claim),
                since: claim.attempt.started_at.unwrap_or(claim.claimed_at),
            });
        }
    }
    lines.sort_by(|one, other| {
        (&one.host, &one.run_id, &one.worker).cmp(&(&other.host, &other.run_id, &other.worker))
    });
    Ok(lines)
}

fn doing(claim: &Claim) -> &'static str {
    match (claim.purpose, claim.stage) {
        (Purpose::ParentGate, _) => "verifying",
        (Purpose::Attempt, None) if claim.attempt.attempt_number == 0 => "preparing",
        (Purpose::Attempt, None | Some(Stage::Working)) => "working",
        (Purpose::Attempt, Some(Stage::Verifying)) => "verifying",
        (Purpose::Attempt, Some(Stage::Landing)) => "landing",
    }
}

fn table(lines: &[Line]) -> String {
    let here = ThisHost::new().owner().host;
    let mut table = Table::new(["HOST", "RUN", "WORKER", "DOES", "FOR", "TASK"]);
    for line in lines {
        let host = if line.host == here { format!("{} (this)", line.host) } else { line.host.clone() };
        let task = [line.task.as_deref(), line.title.as_deref()].into_iter().flatten().collect::<Vec<_>>();
        table.row([
            host,
            line.run_id.to_string(),
            line.worker.clone().unwrap_or_default(),
            line.doing.to_owned(),
            format::age(now().since(line.since)),
            task.join(" "),
        ]);
    }
    table.render()
}
