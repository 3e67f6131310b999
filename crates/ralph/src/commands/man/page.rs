//! One page of the manual: what the command line knows of itself, and what only a manual says.

use std::io;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::Roff;

use super::sections;
use crate::command_error::CommandError;

/// When the manual was last revised. It is fixed here so that a page does not depend on when it is built.
const DATE: &str = "2026-11-16";

/// The name of a command's page: `ralph-task-add`.
pub fn name(command: &Command) -> &str {
    command
        .get_display_name()
        .unwrap_or_else(|| command.get_name())
}

/// The page as troff.
pub fn render(command: &Command) -> Result<String, CommandError> {
    let mut page = Vec::new();
    write(command, &mut page).map_err(|error| {
        CommandError::environment(format_args!("cannot create the manual page: {error}"))
    })?;
    let page = String::from_utf8_lossy(&page);
    // Every section brings the same first lines; once is enough.
    let first = Roff::default().render();
    let title = format!(
        ".TH {} 1 {DATE} \"ralph {}\" \"Ralph Manual\"\n",
        name(command),
        env!("CARGO_PKG_VERSION")
    );
    Ok(format!("{first}{title}{}", page.replace(&first, "")))
}

fn write(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let man = Man::new(command.clone());
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    if command.get_subcommands().any(|below| !below.is_hide_set()) {
        man.render_subcommands_section(page)?;
    }
    sections::of(name(command)).to_writer(page)
}
