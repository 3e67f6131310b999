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

/// Look at what an agent said and did, or at what happened in a run.
///
/// With a task: its last attempt, also one under way. Without: the run under way, or the last one. Times are UTC;
/// those with a + are since the attempt began. What looks like a secret is masked, but not with --raw.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Id or key; without one, what happened in the run.
    task: Option<String>,
    /// Which attempt, as `ralph history` numbers them.
    #[arg(long, value_name = "N", requires = "task")]
    attempt: Option<u32>,
    /// Which try, with those that do not count: `ralph history` has the number of such a one in parentheses, and its JSON
    /// that of every one as `attempt_number`.
    #[arg(
        long = "try",
        value_name = "N",
        requires = "task",
        conflicts_with = "attempt"
    )]
    try_number: Option<u32>,
    /// Which run, if not the one under way or the last; with a task, its tries in that run.
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Go on as more comes, also with the task's next attempts, until the run ends.
    #[arg(short, long, conflicts_with = "path")]
    follow: bool,
    /// As it came: an agent's output byte by byte, a run's events as JSON lines.
    #[arg(long, conflicts_with_all = ["path", "json"])]
    raw: bool,
    /// Print where it is, not what is in it.
    #[arg(long)]
    path: bool,
    /// Print JSON: where the log is, or a run's events; with --follow a line per event.
    #[arg(long)]
    json: bool,
    /// Delete logs that are too old or too many, as [logs] keep_days and max_mb say. Every run does so at its end.
    #[arg(long, conflicts_with_all = ["task", "run", "follow", "raw", "path"])]
    prune: bool,
    /// Only say what would be deleted.
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
    let workspace = Workspace::look(dir)?;
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
