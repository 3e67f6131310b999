//! `ralph logs`: what agents said and did, what happened in a run, and deleting old logs.

mod attempt;
mod events;
mod page;

pub use attempt::{AttemptReader, LogText, LoggedAttempt, State};
pub use events::Story;

use std::path::Path;
use std::time::Duration;

use ralph_core::engine::protected_logs;
use ralph_core::logs::{Pruned, plan, prune};
use serde_json::json;

use super::run::log_limits;
use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::ui::format;
use crate::workspace::{Workspace, now};

/// How often a log that is followed is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// How many names of files `--prune --dry-run` lists.
const LISTED: usize = 15;

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
    #[arg(long, value_name = "ID")]
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
        return prune_logs(&Workspace::open(dir)?, args);
    }
    let workspace = Workspace::open_to_read(dir)?;
    match &args.task {
        None => events::run(&workspace, None, args),
        Some(name) => {
            let task = workspace.task(name)?;
            match args.json && args.follow {
                true => events::run(&workspace, Some(&task.id), args),
                false => attempt::run(&workspace, &task, args),
            }
        }
    }
}

fn prune_logs(workspace: &Workspace, args: &Args) -> CommandResult {
    let dir = workspace.project.logs();
    let broken = |e: std::io::Error| CommandError::environment(format_args!("{}: {e}", dir.display()));
    let protected = protected_logs(&workspace.store, None)?;
    let files = plan(&dir, &protected, &log_limits(&workspace.settings()?), now()).map_err(broken)?;
    let (done, error) = match args.dry_run {
        true => {
            let bytes = files.iter().map(|file| file.bytes).sum();
            (Pruned { files: files.len() as u64, bytes }, None)
        }
        false => prune(&dir, &files, Duration::MAX),
    };
    if let Some(error) = error {
        return Err(broken(error).hint("check the permissions of .ralph/logs"));
    }
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let document =
        json!({ "files": done.files, "bytes": done.bytes, "dry_run": args.dry_run, "names": names });
    output::print(args.json, &document, || {
        if args.dry_run {
            for file in files.iter().take(LISTED) {
                output::line(format_args!("{}  {}", file.name, format::bytes(file.bytes)));
            }
            if files.len() > LISTED {
                output::line(format_args!("… and {} more", files.len() - LISTED));
            }
        }
        let deleted = if args.dry_run { "would be deleted" } else { "deleted" };
        let (count, bytes) = (format::counted(done.files, "log"), format::bytes(done.bytes));
        output::line(format_args!("{count} {deleted}, {bytes}"));
    })
}
