//! `ralph man`: the manual page, for packagers.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::cli::Cli;
use crate::command_error::{CommandError, CommandResult};

/// Print the manual page.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_args: &Args) -> CommandResult {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command())
        .render(&mut page)
        .map_err(|e| {
            CommandError::environment(format_args!("the manual page cannot be made: {e}"))
        })?;
    crate::output::text(String::from_utf8_lossy(&page));
    Ok(ExitCode::SUCCESS)
}
