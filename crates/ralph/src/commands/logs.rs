//! `ralph logs TASK`: the raw stream of an attempt.

use std::fs::File;
use std::path::Path;
use std::process::ExitCode;

use ralph_core::store::HistoryStore;
use serde_json::json;

use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::workspace::Workspace;

/// Print the raw output of a task's attempt, the last one unless told otherwise.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Id or key.
    task: String,
    /// Which attempt, as `ralph history` numbers them.
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    /// Print where the log is, not what is in it.
    #[arg(long)]
    path: bool,
    /// Print where the log is as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::open(dir)?;
    let task = workspace.task(&args.task)?;
    let attempts = workspace.store.history(Some(&task.id))?;
    let log = attempts
        .iter()
        .filter(|attempt| args.attempt.is_none_or(|n| attempt.attempt == n))
        .filter_map(|attempt| Some((attempt.attempt, attempt.detail.log_path.as_deref()?)))
        .next_back();
    let Some((attempt, log)) = log else {
        return Err(
            CommandError::usage(format_args!("`{}` has no such attempt", task.name())).hint(
                format_args!("`ralph history {}` lists its attempts", task.name()),
            ),
        );
    };
    let path = workspace.project.root().join(log);
    if args.json {
        output::json(&json!({ "task_id": task.id, "attempt": attempt, "path": path }));
        return Ok(ExitCode::SUCCESS);
    }
    if args.path {
        output::line(path.display());
        return Ok(ExitCode::SUCCESS);
    }
    let mut file = File::open(&path).map_err(|e| {
        CommandError::environment(format_args!("{} cannot be read: {e}", path.display()))
    })?;
    // A closed pipe ends the copy; that is what the reader wanted.
    let _ = std::io::copy(&mut file, &mut std::io::stdout().lock());
    let errors = path.with_extension("stderr.log");
    if errors.exists() {
        output::note(format_args!(
            "what it wrote to standard error is in {}",
            errors.display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}
