//! Ralph on the command line. Everything that matters happens in `ralph-core`; this crate reads flags and settings,
//! shows what happens, and turns errors into messages and exit codes.

mod actions;
mod command_error;
mod commands;
#[cfg(test)]
mod docs_tests;
mod facts;
mod input;
mod inside;
mod interrupts;
mod notify;
mod output;
mod plots;
mod report;
mod secrets;
mod serve;
mod settings;
mod store_place;
#[cfg(test)]
mod texts_tests;
mod tui;
mod ui;
mod workspace;

use std::process::ExitCode;

use clap::Parser;
use ralph_core::sandbox::start_inside;

use crate::command_error::CommandError;

fn main() -> ExitCode {
    // Before anything else: every confined launch begins here, and nothing of the command line is meant for people.
    if let Some(error) = start_inside(std::env::args_os()) {
        return CommandError::environment(format_args!("cannot start in the sandbox: {error}")).report();
    }
    secrets::remember_environment(std::env::vars_os());
    let cli = commands::Cli::parse();
    match commands::dispatch(cli) {
        Ok(code) => match output::failed() {
            // A run that went on without its display keeps its own exit code.
            Some(error) if code == ExitCode::SUCCESS => command_error::unwritten(&error).report(),
            _ => code,
        },
        Err(error) => error.report(),
    }
}
