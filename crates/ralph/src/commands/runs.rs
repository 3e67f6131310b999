//! `ralph runs`: every run, with what it did and what it cost.

use std::path::Path;
use std::time::Duration;

use crate::command_error::CommandResult;
use crate::facts::RunLine;
use crate::output;
use crate::ui::format;
use crate::ui::table::Table;
use crate::workspace::{Workspace, now};

/// List all runs, oldest first.
///
/// `ralph status --run ID` and `ralph history --run ID` show one of them.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show at most N runs, the newest.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::open_to_read(dir)?;
    let lines = RunLine::newest(&workspace.store, args.limit.unwrap_or(usize::MAX))?;
    output::list(args.json, &lines, "no runs yet; start one with `ralph run`", || table(&lines))
}

fn outcome_in_words(outcome: &str) -> String {
    match outcome {
        "limit" => "limit reached".to_owned(),
        "died" => "crashed".to_owned(),
        other => other.replace('_', " "),
    }
}

fn table(lines: &[RunLine]) -> String {
    let mut table = Table::new(["RUN", "STARTED", "TIME", "DONE", "FAILED", "COST", "AGENTS", "OUTCOME"]);
    for line in lines {
        table.row([
            line.run_id.to_string(),
            line.started_at.local_near(now()),
            format::duration(Duration::from_millis(line.duration_ms)),
            line.done_in_words(),
            line.failed.to_string(),
            format::short_total(&line.cost),
            line.agents_in_words(),
            outcome_in_words(&line.outcome),
        ]);
    }
    table.render()
}
