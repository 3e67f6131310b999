//! `ralph logs`: what agents said and did, and what happened in a run.

mod attempt;
mod follow;
mod page;
mod prune;
mod story;
mod target;

use std::path::Path;

use crate::command_error::CommandResult;
use crate::workspace::Workspace;

/// Show the log of an attempt or of a run.
///
/// With a task, shows its current or last attempt; without, the current or last run. Times are local; times with a + are
/// relative to the start of the attempt. Possible secrets are masked, except with --raw.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task's id or key; if omitted, shows the run.
    task: Option<String>,
    /// The attempt's number in `ralph history`.
    #[arg(long, value_name = "N", requires = "task")]
    attempt: Option<u32>,
    /// The attempt's number with uncounted attempts included: in parentheses in `ralph history`, `attempt_number` in
    /// its JSON.
    #[arg(
        long = "attempt-number",
        alias = "try",
        value_name = "N",
        requires = "task",
        conflicts_with = "attempt"
    )]
    try_number: Option<u32>,
    /// The run to show instead of the current or last one; with a task, its attempts in that run.
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Follow the log, including the task's next attempts, until the run ends.
    #[arg(short, long, conflicts_with = "path")]
    follow: bool,
    /// Print the raw log: the agent's output unchanged, or the run's events as JSON lines.
    #[arg(long, conflicts_with_all = ["path", "json"])]
    raw: bool,
    /// Print the path of the log file.
    #[arg(long)]
    path: bool,
    /// Print JSON: the log's path, or a run's events (with --follow one line per event).
    #[arg(long)]
    json: bool,
    /// Delete old logs according to [logs] keep_days and max_mb, as every run does at its end.
    #[arg(long, conflicts_with_all = ["task", "run", "follow", "raw", "path"])]
    prune: bool,
    /// Show what would be deleted, and delete nothing.
    #[arg(long, requires = "prune")]
    dry_run: bool,
}

impl Args {
    /// Whether it deletes logs instead of showing some.
    pub fn prunes(&self) -> bool {
        self.prune
    }
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    if args.prune {
        return prune::run(&Workspace::open(dir)?, args);
    }
    let workspace = Workspace::open_to_read(dir)?;
    match &args.task {
        Some(name) => {
            let task = workspace.task(name)?;
            if args.json && args.follow {
                return story::follow_task(&workspace, &task.id, args);
            }
            attempt::run(&workspace, task, args)
        }
        None => story::run(&workspace, args),
    }
}
