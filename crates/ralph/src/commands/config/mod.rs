//! `ralph config …`: the settings in force, where each comes from, and changes to them.

pub mod edit;
mod get;
mod path;
pub mod rows;
mod set;
mod show;

use std::path::Path;

use crate::command_error::CommandResult;

/// The config commands.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Show(show::Args),
    Get(get::Args),
    Set(set::SetArgs),
    Unset(set::UnsetArgs),
    Path(path::Args),
}

pub fn run(dir: Option<&Path>, command: &Command) -> CommandResult {
    match command {
        Command::Show(args) => show::run(dir, args),
        Command::Get(args) => get::run(dir, args),
        Command::Set(args) => set::set(dir, args),
        Command::Unset(args) => set::unset(dir, args),
        Command::Path(args) => path::run(dir, args),
    }
}
