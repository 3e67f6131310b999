//! `ralph status`.

mod active;
mod report;
mod show;
mod watch;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use crate::command_error::CommandResult;
use crate::output;
use crate::ui;
use crate::workspace::Workspace;
use report::Report;

/// Show the state of the plan, the current or last run, and what needs you.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Refresh until the run ends; press q to quit. Without a terminal, print the report after each change, with --json as
    /// one line.
    #[arg(short, long)]
    watch: bool,
    /// Seconds between refreshes.
    #[arg(long, value_name = "SECS", default_value = "1", value_parser = interval, requires = "watch")]
    interval: Duration,
}

fn interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|n| (0.1..=86_400.0).contains(n));
    seconds
        .and_then(|n| Duration::try_from_secs_f64(n).ok())
        .ok_or_else(|| "expected a number of seconds from 0.1 to 86400".into())
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::open_to_read(dir)?;
    if let Some(error) = workspace.replaced_plan() {
        output::note(format_args!("warning: {}", error.message()));
        for hint in error.hints() {
            output::note(format_args!(" hint: {hint}"));
        }
    }
    let settings = workspace.settings()?;
    if args.watch {
        return watch::watch(&workspace, &settings, args);
    }
    let report = Report::of(&workspace, &settings)?;
    if args.json {
        output::json(&report);
    } else {
        output::text(show::text(&report, ui::width()));
    }
    Ok(ExitCode::SUCCESS)
}
