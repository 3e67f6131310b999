//! `ralph guard RUN`: what `ralph run` starts for itself.

use std::process::ExitCode;
use std::time::Duration;

use ralph_core::agent::stand_guard;
use ralph_core::model::RunId;

use crate::command_error::CommandResult;
use crate::interrupts;

/// Start the agents and gates of a run, and stop them if Ralph dies. `ralph run` starts this itself.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How long agents have to exit after SIGTERM, in milliseconds.
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
