//! `ralph guard RUN`: what `ralph run` starts for itself.

use std::process::ExitCode;
use std::time::Duration;

use ralph_core::agent::stand_guard;
use ralph_core::model::RunId;

use crate::command_error::CommandResult;

/// How long agents have between TERM and KILL when Ralph has died.
const GRACE: Duration = Duration::from_secs(5);

/// End the agents of a run when its Ralph dies; started by `ralph run` itself.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    run: String,
}

pub fn run(args: &Args) -> CommandResult {
    stand_guard(
        &RunId::from_stored(args.run.as_str()),
        std::io::stdin().lock(),
        GRACE,
    );
    Ok(ExitCode::SUCCESS)
}
