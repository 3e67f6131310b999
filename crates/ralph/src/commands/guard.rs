//! `ralph guard RUN`: what `ralph run` starts for itself.

use std::process::ExitCode;
use std::time::Duration;

use ralph_core::agent::stand_guard;
use ralph_core::model::RunId;

use crate::command_error::CommandResult;
use crate::interrupts;

/// Start the agents and gates of a run, and end them when its Ralph dies; started by `ralph run` itself.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How long agents have between TERM and KILL, in milliseconds.
    grace: u64,
    /// The run.
    run: String,
}

pub fn run(args: &Args) -> CommandResult {
    // What stops a service tells all of its processes at once. Ralph is the one that decides what follows.
    interrupts::outlive()?;
    stand_guard(
        &RunId::from_stored(args.run.as_str()),
        std::io::stdin(),
        Duration::from_millis(args.grace),
    );
    Ok(ExitCode::SUCCESS)
}
