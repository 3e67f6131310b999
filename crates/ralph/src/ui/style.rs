//! Colours and marks. `anstream` takes them away where they are not wanted.

use anstyle::{AnsiColor, Style};
use ralph_core::model::{Outcome, Status};

const fn colour(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(anstyle::Color::Ansi(colour)))
}

/// Good news.
pub const GREEN: Style = colour(AnsiColor::Green);
/// Bad news.
pub const RED: Style = colour(AnsiColor::Red);
/// News that needs somebody.
pub const YELLOW: Style = colour(AnsiColor::Yellow);
/// Work under way.
pub const CYAN: Style = colour(AnsiColor::Cyan);
/// Less important.
pub const DIM: Style = Style::new().dimmed();
/// More important.
pub const BOLD: Style = Style::new().bold();

fn of(status: Status) -> Style {
    match status {
        Status::Done => GREEN,
        Status::Failed => RED,
        Status::Blocked => YELLOW,
        Status::InProgress => CYAN,
        Status::Pending => Style::new(),
        Status::Skipped => DIM,
    }
}

/// A text in a style.
pub fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// A status as a word.
pub fn status(status: Status) -> String {
    paint(of(status), status.as_str().replace('_', " "))
}

/// A status as one character.
pub fn mark(status: Status) -> String {
    let mark = match status {
        Status::Done => "✓",
        Status::Failed => "✗",
        Status::Blocked => "!",
        Status::InProgress => "▶",
        Status::Pending => "○",
        Status::Skipped => "-",
    };
    paint(of(status), mark)
}

/// An outcome as one character.
pub fn outcome_mark(outcome: Outcome, counted: bool) -> String {
    match (outcome, counted) {
        (Outcome::Done, _) => paint(GREEN, "✓"),
        (_, true) => paint(RED, "✗"),
        (_, false) => paint(YELLOW, "~"),
    }
}

/// A progress bar.
pub fn bar(done: u64, total: u64, width: u64) -> String {
    let filled = (done * width).checked_div(total).unwrap_or(0);
    let full = "█".repeat(usize::try_from(filled).unwrap_or(0));
    let empty = "░".repeat(usize::try_from(width.saturating_sub(filled)).unwrap_or(0));
    format!("{}{}", paint(GREEN, full), paint(DIM, empty))
}
