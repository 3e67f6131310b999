//! `ralph task list`.

use std::collections::HashSet;
use std::path::Path;
use std::process::ExitCode;

use ralph_core::model::{Phase, Status, Task, TaskId};
use ralph_core::store::{PlanStore, Scope};

use crate::command_error::CommandResult;
use crate::output;
use crate::ui::{style, table::Table};
use crate::workspace::Workspace;

/// List tasks in plan order.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only tasks with this status: pending, in_progress, done, failed, blocked, skipped.
    #[arg(long)]
    status: Option<Status>,
    /// Only tasks of this phase.
    #[arg(long, value_name = "N")]
    phase: Option<String>,
    /// Only tasks that are ready to run.
    #[arg(long)]
    ready: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::look(dir)?;
    let mut tasks = workspace.store.tasks(args.status)?;
    if let Some(phase) = &args.phase {
        let phase = Phase::parse(phase)?;
        tasks.retain(|task| task.phase == Some(phase));
    }
    if args.ready {
        let ready: HashSet<TaskId> = workspace
            .store
            .ready(&Scope::All, usize::MAX)?
            .into_iter()
            .collect();
        tasks.retain(|task| ready.contains(&task.id));
    }
    if args.json {
        output::json(&tasks);
    } else if tasks.is_empty() {
        output::note("no tasks match; add one with `ralph task add TITLE`");
    } else {
        output::text(table(&tasks).render());
    }
    Ok(ExitCode::SUCCESS)
}

fn table(tasks: &[Task]) -> Table {
    let mut table = Table::new(["ID", "KEY", "STATUS", "ATTEMPTS", "TITLE"]);
    for task in tasks {
        table.row([
            task.id.to_string(),
            task.key
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            style::Standing::from(task).word(),
            task.attempts.to_string(),
            task.title.clone(),
        ]);
    }
    table
}
