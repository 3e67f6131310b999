//! `ralph breaker`.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::store::{Breaker, BreakerState, HistoryStore, RunStore};
use serde_json::json;

use crate::command_error::CommandResult;
use crate::output;
use crate::ui::format;
use crate::workspace::{Workspace, now};

/// Show or close the circuit breaker, which stops runs when everything fails.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Show whether it is open, and the number of consecutive failures.
    Show(Args),
    /// Close it, clear the failure counts and make the tasks it blocked pending again.
    Reset(Args),
}

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, command: &Command) -> CommandResult {
    let (workspace, args) = match command {
        Command::Show(args) => (Workspace::look(dir)?, args),
        Command::Reset(args) => {
            let mut workspace = Workspace::open(dir)?;
            workspace.store.close_breaker(now())?;
            (workspace, args)
        }
    };
    let breaker = workspace.store.breaker()?;
    let settings = workspace.settings()?;
    let threshold = settings.count("breaker", "threshold").unwrap_or(5);
    if args.json {
        output::json(&json!({
            "state": breaker.state, "failures": breaker.failures, "threshold": threshold,
            "opened_at": breaker.opened_at, "tasks": breaker.tasks,
        }));
    } else {
        output::line(words(&breaker, threshold));
    }
    Ok(ExitCode::SUCCESS)
}

fn words(breaker: &Breaker, threshold: u32) -> String {
    let failures = format::counted(breaker.failures, "failure");
    let tasks = format::counted(breaker.tasks, "task");
    let row = format!("{failures} in a row on {tasks}; it opens at {threshold}");
    match breaker.state {
        BreakerState::Closed => format!("closed: {row}"),
        BreakerState::Open => {
            let since = breaker.opened_at.map(format::time).unwrap_or_default();
            format!(
                "open since {since}: {failures} in a row on {tasks}\n\
                 `ralph analyze` says what they have in common; the next `ralph run` probes with one attempt;\n\
                 to close it: ralph breaker reset"
            )
        }
        BreakerState::HalfOpen => {
            format!("half open, running one trial attempt: {failures} in a row on {tasks}")
        }
    }
}
