//! What people see: a live display in a terminal, plain lines elsewhere, JSON lines for programs.

pub mod format;
mod lines;
mod plain;
pub mod style;
pub mod summary;
pub mod table;
mod terminal;

use std::io::IsTerminal;

use ralph_core::event::{Observer, RunEvent};

use crate::output;

/// The display that fits.
pub fn display(json: bool, quiet: bool) -> Box<dyn Observer> {
    if json {
        Box::new(|event: &RunEvent| output::json_line(event))
    } else if quiet {
        Box::new(|_: &RunEvent| {})
    } else if std::io::stdout().is_terminal() {
        Box::new(terminal::Terminal::new())
    } else {
        Box::new(plain::Plain)
    }
}

/// Columns of the terminal; a sensible width where there is none.
pub fn width() -> usize {
    terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0))
}
