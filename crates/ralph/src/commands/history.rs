//! `ralph history`.

use std::path::Path;

use ralph_core::model::{Task, Timestamp};
use serde::Serialize;
use serde_json::Value;

use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::ui::format;
use crate::workspace::Workspace;

/// Show all attempts, oldest first.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task's id or key; all tasks if omitted.
    task: Option<String>,
    /// Only attempts of this run; `ralph runs` lists them.
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Why there is nothing to show.
pub fn none_yet(workspace: &Workspace, task: Option<&Task>) -> Result<&'static str, CommandError> {
    let interrupted = workspace.interrupted_tasks()?;
    let is_interrupted = task.map_or(!interrupted.is_empty(), |task| interrupted.contains_key(&task.id));
    Ok(match is_interrupted {
        true => {
            "no attempts recorded yet; one was interrupted by a crash, and the next `ralph run` records it"
        }
        false => "no attempts yet; start a run with `ralph run`",
    })
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::open_to_read(dir)?;
    let task = workspace.optional_task(args.task.as_deref())?;
    let run = args.run.as_deref().map(|id| workspace.run(id)).transpose()?;
    let mut attempts = workspace.store.history(task.as_ref().map(|task| &task.id))?;
    let mut plans = match task {
        Some(_) => Vec::new(),
        None => workspace.store.plan_sessions()?,
    };
    let mut none = none_yet(&workspace, task.as_ref())?;
    if let Some(run) = run {
        attempts.retain(|attempt| attempt.run_id.as_ref() == Some(&run.id));
        plans.retain(|session| session.run_id == run.id);
        none = "this run made no such attempts";
    }
    let mut rows: Vec<(Timestamp, Value)> = Vec::new();
    for attempt in &attempts {
        rows.push((attempt.started_at, row("task", attempt)?));
    }
    for session in &plans {
        rows.push((session.started_at, row("plan", session)?));
    }
    rows.sort_by_key(|(at, _)| *at);
    let rows: Vec<Value> = rows.into_iter().map(|(_, row)| row).collect();
    output::list(args.json, &rows, none, || format::plan_sessions(&plans) + &format::history(&attempts))
}

/// A row of the history, with its kind.
fn row(kind: &str, record: &impl Serialize) -> Result<Value, CommandError> {
    let mut row = serde_json::to_value(record).map_err(CommandError::environment)?;
    if let Some(row) = row.as_object_mut() {
        row.insert("kind".to_owned(), kind.into());
    }
    Ok(row)
}
