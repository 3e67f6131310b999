//! `ralph task deps add|rm|list`.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::store::PlanStore;
use serde::Serialize;

use crate::command_error::CommandResult;
use crate::output;
use crate::workspace::{Workspace, now};

/// What to do with dependencies.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Make TASK depend on DEPENDENCY.
    Add(Pair),
    /// Remove the dependency of TASK on DEPENDENCY.
    Rm(Pair),
    /// List the dependencies of one task or of all tasks.
    List {
        /// The task's id or key.
        task: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// A task and a task it depends on.
#[derive(Debug, clap::Args)]
pub struct Pair {
    /// Id or key of the task.
    task: String,
    /// Id or key of the task that must be done first.
    dependency: String,
}

#[derive(Serialize)]
struct Row {
    task_id: String,
    depends_on: String,
}

pub fn run(dir: Option<&Path>, command: &Command) -> CommandResult {
    let mut workspace = match command {
        Command::List { .. } => Workspace::look(dir)?,
        Command::Add(_) | Command::Rm(_) => Workspace::open(dir)?,
    };
    match command {
        Command::Add(pair) => {
            let task = workspace.task(&pair.task)?;
            let dependency = workspace.task(&pair.dependency)?;
            if !workspace
                .store
                .add_dependency(&task.id, &dependency.id, now())?
            {
                output::note(format_args!(
                    "{} already depends on {}",
                    task.name(),
                    dependency.name()
                ));
            }
        }
        Command::Rm(pair) => {
            let task = workspace.task(&pair.task)?;
            let dependency = workspace.task(&pair.dependency)?;
            if !workspace
                .store
                .remove_dependency(&task.id, &dependency.id, now())?
            {
                output::note(format_args!(
                    "{} does not depend on {}",
                    task.name(),
                    dependency.name()
                ));
            }
        }
        Command::List { task, json } => list(&workspace, task.as_deref(), *json)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(
    workspace: &Workspace,
    task: Option<&str>,
    json: bool,
) -> Result<(), crate::command_error::CommandError> {
    let tasks = match task {
        Some(name) => vec![workspace.task(name)?],
        None => workspace.store.tasks(None)?,
    };
    let mut rows = Vec::new();
    for task in &tasks {
        for dependency in &task.depends_on {
            rows.push(Row {
                task_id: task.id.to_string(),
                depends_on: dependency.to_string(),
            });
            if !json {
                let dependency = workspace.store.task(dependency.as_str());
                let name = dependency
                    .map(|task| format!("{} ({})", task.name(), task.status))
                    .unwrap_or_else(|_| "a deleted task".into());
                output::line(format_args!("{} depends on {name}", task.name()));
            }
        }
    }
    if json {
        output::json(&rows);
    }
    Ok(())
}
