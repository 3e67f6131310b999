//! `ralph history`.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::store::HistoryStore;

use crate::command_error::CommandResult;
use crate::output;
use crate::ui::format;
use crate::workspace::Workspace;

/// Show every attempt, oldest first; of one task, or of all.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Id or key.
    task: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::look(dir)?;
    let task = args
        .task
        .as_deref()
        .map(|name| workspace.task(name))
        .transpose()?;
    let attempts = workspace
        .store
        .history(task.as_ref().map(|task| &task.id))?;
    if args.json {
        output::json(&attempts);
    } else if attempts.is_empty() {
        output::note("no attempts yet; `ralph run` makes some");
    } else {
        output::text(format::history(&attempts));
    }
    Ok(ExitCode::SUCCESS)
}
