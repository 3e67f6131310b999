//! `ralph task done|fail|reset|skip`: status changes made by a person.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::agent::adopt_orphans;
use ralph_core::gate::{self, Gate, GateResult};
use ralph_core::model::{GateOutcome, Task};
use ralph_core::store::{Mark, PlanStore};

use crate::command_error::{CommandError, CommandResult};
use crate::workspace::{Workspace, now};
use crate::{interrupts, output};

/// Tasks by name.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The tasks' ids or keys.
    #[arg(required = true)]
    tasks: Vec<String>,
}

/// Tasks by name, and why.
#[derive(Debug, clap::Args)]
pub struct ReasonArgs {
    /// The tasks' ids or keys.
    #[arg(required = true)]
    tasks: Vec<String>,
    /// The reason, shown by `status` and `task show`.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Tasks by name, and whether to run their gates.
#[derive(Debug, clap::Args)]
pub struct DoneArgs {
    /// The tasks' ids or keys.
    #[arg(required = true)]
    tasks: Vec<String>,
    /// Run the gate first and change nothing if it fails.
    #[arg(long)]
    verify: bool,
}

pub fn done(dir: Option<&Path>, args: &DoneArgs) -> CommandResult {
    let mut workspace = Workspace::open(dir)?;
    let tasks = named(&workspace, &args.tasks)?;
    if args.verify {
        for task in &tasks {
            verify(&workspace, task)?;
        }
    }
    let mark = match args.verify {
        true => Mark::Verified,
        false => Mark::Done,
    };
    mark_all(&mut workspace, &tasks, &mark)
}

pub fn fail(dir: Option<&Path>, args: &ReasonArgs) -> CommandResult {
    mark(
        dir,
        &args.tasks,
        &Mark::Failed {
            reason: args.reason.clone(),
        },
    )
}

pub fn skip(dir: Option<&Path>, args: &ReasonArgs) -> CommandResult {
    mark(
        dir,
        &args.tasks,
        &Mark::Skipped {
            reason: args.reason.clone(),
        },
    )
}

pub fn reset(dir: Option<&Path>, args: &Args) -> CommandResult {
    mark(dir, &args.tasks, &Mark::Pending)
}

fn mark(dir: Option<&Path>, names: &[String], mark: &Mark) -> CommandResult {
    let mut workspace = Workspace::open(dir)?;
    let tasks = named(&workspace, names)?;
    mark_all(&mut workspace, &tasks, mark)
}

/// All of them exist, or nothing is done.
fn named(workspace: &Workspace, names: &[String]) -> Result<Vec<Task>, CommandError> {
    names.iter().map(|name| workspace.task(name)).collect()
}

fn mark_all(workspace: &mut Workspace, tasks: &[Task], mark: &Mark) -> CommandResult {
    workspace.forget_dead_claims()?;
    for task in tasks {
        workspace.store.mark(&task.id, mark, now())?;
    }
    workspace.refresh_pages()?;
    Ok(ExitCode::SUCCESS)
}

fn verify(workspace: &Workspace, task: &Task) -> Result<(), CommandError> {
    let settings = workspace.settings()?;
    let Some(command) = task.verify.as_deref().or(settings.text("gate", "verify")) else {
        return Err(
            CommandError::usage(format_args!("task {} has no gate", task.name())).hint(
                format_args!("add one: ralph task edit {} --verify CMD", task.name()),
            ),
        );
    };
    adopt_orphans();
    let run_settings = crate::commands::run::gate_limits(&settings);
    let gate = Gate {
        command,
        dir: workspace.project.root(),
        env: Vec::new(),
        timeout: run_settings.0,
        grace: run_settings.1,
        retries: settings.count("gate", "retries").unwrap_or(0),
        task_texts: gate::task_texts(task),
    };
    output::note(format_args!("running the gate: {command}"));
    let result = gate::run(&gate, None, &interrupts::listen()?, &mut |_| {})
        .map_err(|e| CommandError::environment(e.to_string()))?;
    match result {
        GateResult::Ran(record) if record.outcome == GateOutcome::Passed => Ok(()),
        GateResult::Ran(record) if record.outcome == GateOutcome::Broken => {
            output::note(record.output_tail);
            let (name, why) = (task.name(), record.ended);
            let fix = record.fix.unwrap_or_default();
            Err(CommandError::environment(format_args!(
                "the gate of {name} {why}; the task was not marked as done"
            ))
            .hint(format_args!(
                "{fix}, or change the gate: ralph task edit {name} --verify CMD"
            )))
        }
        GateResult::Ran(record) => {
            output::note(record.output_tail);
            let name = task.name();
            Err(CommandError::environment(format_args!(
                "the gate of {name} failed; the task was not marked as done"
            )))
        }
        GateResult::NotStarted(why) => Err(CommandError::environment(why)),
        GateResult::Interrupted => Err(CommandError::environment(
            "interrupted while the gate was running",
        )),
    }
}
