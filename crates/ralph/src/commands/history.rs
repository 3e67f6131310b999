//! `ralph history`.

use std::path::Path;

use ralph_core::model::Task;

use crate::command_error::{CommandError, CommandResult};
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
    let attempts = workspace.store.history(task.as_ref().map(|task| &task.id))?;
    let none = none_yet(&workspace, task.as_ref())?;
    output::list(args.json, &attempts, none, || format::history(&attempts))
}
