//! `ralph complete SHELL -- WORD…`: what fits at the last word. Asked by the scripts of `ralph completions`.
//!
//! Whoever presses a key wants no trouble: nothing is written, brought up to date or complained about, and where there is
//! nothing to say, nothing is said.

mod grammar;
mod live;
mod shell;
mod values;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, ValueEnum};
use grammar::Place;

use crate::cli::Cli;
use crate::command_error::CommandResult;
use crate::output;

/// Complete the last word of a command line.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Whose words these are.
    #[arg(value_enum)]
    shell: Asker,
    /// The command line up to the cursor, `ralph` included.
    #[arg(last = true)]
    words: Vec<OsString>,
}

/// A shell that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Asker {
    /// Words as they are typed, split at `:` and `=` too.
    Bash,
    /// Words without quotes; wants descriptions after a colon.
    Zsh,
    /// Words without quotes but for the last; wants descriptions after a tab.
    Fish,
}

pub fn run(args: &Args) -> CommandResult {
    let typed = shell::read(args.shell, &args.words);
    let mut command = Cli::command();
    command.build();
    let place = Place::find(&command, &typed.words);
    let answer = values::answer(&place, &live::Project::of(&place));
    output::text(shell::write(args.shell, &typed, &answer));
    Ok(ExitCode::SUCCESS)
}
