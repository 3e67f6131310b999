//! `ralph completions SHELL`.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::command_error::CommandResult;

/// Print a completion script for a shell.
///
/// For example: ralph completions bash > ~/.local/share/bash-completion/completions/ralph
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub fn run(args: &Args) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ralph", &mut script);
    crate::output::text(String::from_utf8_lossy(&script));
    Ok(ExitCode::SUCCESS)
}
