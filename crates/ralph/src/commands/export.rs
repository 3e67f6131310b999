//! `ralph export`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ralph_core::files::write_whole;
use ralph_core::plan_files::lines;
use ralph_core::store::{PlanStore, RecoveryStore};

use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::ui::format::counted;
use crate::workspace::{Workspace, now, start_dir};

/// Write the plan as JSON lines, one task each; `ralph import` reads them.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Accepted for uniformity: the output is JSON lines in any case.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::look(dir)?;
    let tasks = workspace.store.tasks(None)?;
    let names: HashMap<&str, &str> = tasks
        .iter()
        .map(|task| (task.id.as_str(), task.name()))
        .collect();
    let mut fix_of = HashMap::new();
    for task in &tasks {
        let link = workspace.store.fix_link(&task.id)?;
        if let Some(original) = link.and_then(|link| link.original)
            && let Some(name) = names.get(original.as_str())
        {
            fix_of.insert(task.id.to_string(), (*name).to_owned());
        }
    }
    let text = lines::write(&tasks, &fix_of, now()).map_err(CommandError::environment)?;
    let Some(file) = &args.output else {
        output::text(text);
        return Ok(ExitCode::SUCCESS);
    };
    let path = start_dir(dir)?.join(file);
    write_whole(&path, text.as_bytes()).map_err(|error| {
        CommandError::environment(format_args!(
            "{} cannot be written: {error}",
            path.display()
        ))
        .hint("check the directory and free space")
    })?;
    let count = counted(tasks.len() as u64, "task");
    output::note(format_args!("{count} written to {}", file.display()));
    Ok(ExitCode::SUCCESS)
}
