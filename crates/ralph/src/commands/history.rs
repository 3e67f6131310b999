//! `ralph history`.

use std::path::Path;

use crate::command_error::CommandResult;
use crate::output;
use crate::ui::format;
use crate::workspace::Workspace;

/// Show all attempts, oldest first.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task's id or key; all tasks if omitted.
    task: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::open_to_read(dir)?;
    let task = workspace.optional_task(args.task.as_deref())?;
    let attempts = workspace.store.history(task.as_ref().map(|task| &task.id))?;
    let none = "no attempts yet; start a run with `ralph run`";
    output::list(args.json, &attempts, none, || format::history(&attempts))
}
