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
#[cfg(test)]
mod texts_tests;
mod tui;
mod ui;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
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
