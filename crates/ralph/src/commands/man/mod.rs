//! `ralph man`: the manual, a page per command.

mod page;
mod sections;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Command, CommandFactory, ValueHint};
use ralph_core::files::write_whole;

use crate::cli::Cli;
use crate::command_error::{CommandError, CommandResult};
use crate::output;

/// Print the manual page, or write the pages of all commands to a directory.
///
/// Example: ralph man --dir ~/.local/share/man/man1, then: man ralph-run
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write ralph.1, ralph-run.1 and so on to this directory, which is created if needed.
    // It takes the place of the flag of the same name that says where to work.
    #[arg(id = "dir", long = "dir", value_name = "DIR", value_hint = ValueHint::DirPath)]
    dir: Option<PathBuf>,
}

pub fn run(args: &Args) -> CommandResult {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let asked = is_asked_to_write(std::env::args_os());
    let Some(dir) = args.dir.as_ref().filter(|_| asked) else {
        output::text(page::render(&command)?);
        return Ok(ExitCode::SUCCESS);
    };
    std::fs::create_dir_all(dir).map_err(|error| unwritten(dir, &error))?;
    let written = write(&command, dir)?;
    output::line(format_args!("wrote {written} pages to {}", dir.display()));
    Ok(ExitCode::SUCCESS)
}

/// Whether the flag follows the command's name. `ralph -C DIR man` says where to work, not where to write.
fn is_asked_to_write(words: impl Iterator<Item = OsString>) -> bool {
    words
        .skip_while(|word| word != "man")
        .any(|word| word.to_string_lossy().starts_with("--dir"))
}

/// Writes the page of a command, and those of all below it; says how many.
fn write(command: &Command, dir: &Path) -> Result<usize, CommandError> {
    let path = dir.join(format!("{}.1", page::name(command)));
    let text = page::render(command)?;
    write_whole(&path, text.as_bytes()).map_err(|error| unwritten(&path, &error))?;
    let below = command
        .get_subcommands()
        .filter(|below| !below.is_hide_set());
    below
        .map(|below| write(below, dir))
        .sum::<Result<usize, _>>()
        .map(|n| n + 1)
}

fn unwritten(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::environment(format_args!("cannot write {}: {error}", path.display()))
        .hint("check the permissions and the free space of the directory")
}
