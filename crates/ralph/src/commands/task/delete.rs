//! `ralph task delete`.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use ralph_core::store::{Children, PlanStore};

use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::workspace::{Workspace, now};

/// Delete a task and its history; its learnings are kept.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task's id or key.
    task: String,
    /// Do not ask for confirmation.
    #[arg(short, long)]
    yes: bool,
    /// Delete the task's children too.
    #[arg(long)]
    recursive: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let mut workspace = Workspace::open(dir)?;
    let task = workspace.task(&args.task)?;
    if !args.yes
        && !confirmed(&format!(
            "Delete {} ({}) and its history?",
            task.name(),
            task.title
        ))?
    {
        return Err(CommandError::usage("nothing was deleted"));
    }
    workspace.forget_dead_claims()?;
    let children = if args.recursive {
        Children::Delete
    } else {
        Children::Refuse
    };
    let deleted = workspace.store.delete_task(&task.id, children, now())?;
    for freed in &deleted.freed {
        let name = workspace
            .task(freed.as_str())
            .map(|task| task.name().to_owned());
        let name = name.unwrap_or_else(|_| freed.to_string());
        output::note(format_args!("{name} no longer depends on {}", task.name()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks at a terminal. Elsewhere nobody can answer.
fn confirmed(question: &str) -> Result<bool, CommandError> {
    if !std::io::stdin().is_terminal() {
        return Err(
            CommandError::usage("cannot ask for confirmation: stdin is not a terminal")
                .hint("add --yes"),
        );
    }
    let mut err = std::io::stderr().lock();
    let _ = write!(err, "{question} [y/N] ");
    let _ = err.flush();
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .map_err(|e| CommandError::environment(format_args!("cannot read the answer: {e}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
