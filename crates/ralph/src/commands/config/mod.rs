//! `ralph config …`: the settings in force and where each comes from.

mod get;
mod path;
mod rows;
mod show;

use std::path::Path;

use crate::command_error::CommandResult;

/// What to do with settings.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Show(show::Args),
    Get(get::Args),
    Path(path::Args),
}

pub fn run(dir: Option<&Path>, command: &Command) -> CommandResult {
    match command {
        Command::Show(args) => show::run(dir, args),
        Command::Get(args) => get::run(dir, args),
        Command::Path(args) => path::run(dir, args),
    }
}
