//! `ralph man`: the manual, a page per command. `clap_mangen` writes what the command line knows of itself; the files beside
//! this one hold what only a manual says.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Command, CommandFactory, ValueHint};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use ralph_core::exit::RunExit;
use ralph_core::files::write_whole;

use super::Cli;
use crate::command_error::{CommandError, CommandResult};
use crate::output;

/// When the manual was last revised. It is fixed here so that a page does not depend on when it is built.
const DATE: &str = "2026-11-16";
const SEE_ALSO: &str = ".SH \"SEE ALSO\"\n\\fIralph\\fR(1)\n";

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
        output::text(page(&command)?);
        return Ok(ExitCode::SUCCESS);
    };
    std::fs::create_dir_all(dir).map_err(|error| CommandError::cannot_write(dir, &error))?;
    let written = write(&command, dir)?;
    output::line(format_args!("wrote {written} pages to {}", dir.display()));
    Ok(ExitCode::SUCCESS)
}

/// Whether the flag follows the command's name. `ralph -C DIR man` says where to work, not where to write.
fn is_asked_to_write(words: impl Iterator<Item = OsString>) -> bool {
    let mut after = words.skip_while(|word| word != "man");
    after.any(|word| word.to_string_lossy().starts_with("--dir"))
}

/// Writes the page of a command, and those of all below it; says how many.
fn write(command: &Command, dir: &Path) -> Result<usize, CommandError> {
    let path = dir.join(format!("{}.1", name(command)));
    let text = page(command)?;
    write_whole(&path, text.as_bytes()).map_err(|error| CommandError::cannot_write(&path, &error))?;
    let below = command.get_subcommands().filter(|below| !below.is_hide_set());
    let written: Result<usize, _> = below.map(|below| write(below, dir)).sum();
    written.map(|n| n + 1)
}

/// The name of a command's page: `ralph-task-add`.
fn name(command: &Command) -> &str {
    let name = command.get_display_name();
    name.unwrap_or_else(|| command.get_name())
}

fn page(command: &Command) -> Result<String, CommandError> {
    let mut page = Vec::new();
    render(command, &mut page)
        .map_err(|error| CommandError::environment(format_args!("cannot create the manual page: {error}")))?;
    let page = String::from_utf8_lossy(&page);
    // Every section brings the same first lines; once is enough.
    let first = Roff::default().render();
    let title =
        format!(".TH {} 1 {DATE} \"ralph {}\" \"Ralph Manual\"\n", name(command), env!("CARGO_PKG_VERSION"));
    Ok(format!("{first}{title}{}", page.replace(&first, "")))
}

fn render(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let man = Man::new(command.clone());
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    if command.get_subcommands().any(|below| !below.is_hide_set()) {
        man.render_subcommands_section(page)?;
    }
    let more = match name(command) {
        "ralph" => {
            let mut exits = RunExit::ALL;
            exits.sort_by_key(|exit| exit.code());
            let words = "Exit codes of ralph run. Other commands use 0, 1 and 2 with the same meaning.";
            exit_status(words, &exits).to_writer(page)?;
            [include_str!("man/ralph.roff"), ""]
        }
        "ralph-run" => {
            exit_status("The first that applies:", &RunExit::ALL).to_writer(page)?;
            [include_str!("man/ralph-run.roff"), SEE_ALSO]
        }
        "ralph-doctor" => [include_str!("man/ralph-doctor.roff"), SEE_ALSO],
        _ => ["", SEE_ALSO],
    };
    page.extend(more.concat().bytes());
    Ok(())
}

fn exit_status(words: &str, exits: &[RunExit]) -> Roff {
    let mut roff = Roff::default();
    roff.control("SH", ["EXIT STATUS"]).text([roman(words)]);
    for exit in exits {
        roff.control("TP", []);
        roff.text([bold(exit.code().to_string())]);
        roff.text([roman(exit.meaning())]);
    }
    roff
}
