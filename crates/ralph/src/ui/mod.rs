//! What people see: a live display in a terminal, plain lines elsewhere, JSON lines for programs.

pub mod attendant;
pub mod format;
pub mod keys;
pub mod lines;
pub mod progress;
pub mod report;
pub mod scores;
pub mod style;
pub mod table;
mod terminal;

use std::io::IsTerminal;

use ralph_core::event::{Observer, RunEvent};

use crate::output;

pub fn display(json: bool, quiet: bool) -> Box<dyn Observer> {
    if json {
        Box::new(|event: &RunEvent| output::json_line(event))
    } else if quiet {
        Box::new(|_: &RunEvent| {})
    } else if is_live(json, quiet) {
        Box::new(terminal::Terminal::new())
    } else {
        let mut names = lines::WorkerNames::default();
        Box::new(move |event: &RunEvent| {
            if let Some(line) = lines::plain_line(event) {
                output::line(names.name(event, line));
            }
        })
    }
}

/// Whether the display draws on the screen anew all the time: then nobody else should write there.
pub fn is_live(json: bool, quiet: bool) -> bool {
    !json && !quiet && std::io::stdout().is_terminal()
}

/// Columns of the terminal; where standard output is none, lines may be as long as they are.
pub fn width() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stdout());
    size.map_or(usize::MAX / 2, |(width, _)| usize::from(width.0).max(20))
}
