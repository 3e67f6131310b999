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

/// Export the plan as JSON lines, one task per line, for `ralph import`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write to this file instead of stdout.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// No effect: the output is always JSON lines.
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
        CommandError::environment(format_args!("cannot write {}: {error}", path.display()))
            .hint("check the permissions and the free space of the directory")
    })?;
    let count = counted(tasks.len() as u64, "task");
    output::note(format_args!("exported {count} to {}", file.display()));
    Ok(ExitCode::SUCCESS)
}
