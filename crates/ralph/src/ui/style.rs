//! Colours and marks. `anstream` takes them away where they are not wanted.

use anstyle::{AnsiColor, Style};
use ralph_core::model::{DoneBy, Outcome, Status, Task};
use ralph_core::store::PlanCounts;
use serde::Serialize;

const fn colour(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(anstyle::Color::Ansi(colour)))
}

pub const GREEN: Style = colour(AnsiColor::Green);
pub const RED: Style = colour(AnsiColor::Red);
pub const YELLOW: Style = colour(AnsiColor::Yellow);
pub const CYAN: Style = colour(AnsiColor::Cyan);
pub const DIM: Style = Style::new().dimmed();
pub const BOLD: Style = Style::new().bold();

/// What a done task is called that no gate verified.
pub const UNVERIFIED: &str = "done, unverified";

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

pub fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// The text, without styles where standard output wants none. For output that does not pass `anstream`, which would
/// take cursor movements away too.
pub fn if_wanted(text: &str) -> String {
    match anstream::AutoStream::choice(&std::io::stdout()) {
        anstream::ColorChoice::Never => anstream::adapter::strip_str(text).to_string(),
        _ => text.to_owned(),
    }
}

pub fn status_word(status: Status) -> &'static str {
    match status {
        Status::InProgress => "running",
        _ => status.as_str(),
    }
}

/// A status as a word, in its color.
pub fn status(status: Status) -> String {
    paint(of(status), status_word(status))
}

/// Where a task stands, as people see it: its status, and what a done one rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Standing {
    pub status: Status,
    /// Whether a gate that passed stands behind it.
    pub verified: bool,
    pub done_by: Option<DoneBy>,
}

impl From<&Task> for Standing {
    fn from(task: &Task) -> Self {
        Self { status: task.status, verified: task.verified, done_by: task.done_by }
    }
}

impl Standing {
    fn is_unverified(self) -> bool {
        self.status == Status::Done && !self.verified
    }

    /// In a few words: `done`, `done, unverified`, `done (by you)`, `blocked`.
    pub fn plain(self) -> String {
        match self.done_by {
            Some(DoneBy::Person) if self.is_unverified() => "done (by you)".to_owned(),
            _ if self.is_unverified() => UNVERIFIED.to_owned(),
            _ => status_word(self.status).to_owned(),
        }
    }

    /// The same in its color.
    pub fn word(self) -> String {
        paint(self.style(), self.plain())
    }

    /// As one character in its color.
    pub fn mark(self) -> String {
        let mark = match self.status {
            Status::Done if self.verified => "✓",
            Status::Done => "◐",
            Status::Failed | Status::Blocked => "✗",
            Status::InProgress => "▶",
            Status::Pending => "·",
            Status::Skipped => "–",
        };
        paint(self.style(), mark)
    }

    fn style(self) -> Style {
        if self.is_unverified() { YELLOW } else { of(self.status) }
    }
}

pub fn outcome_mark(outcome: Outcome, counted: bool, verified: bool) -> String {
    match (outcome, counted) {
        (Outcome::Done, _) if verified => paint(GREEN, "✓"),
        (Outcome::Done, _) => paint(YELLOW, "◐"),
        (_, true) => paint(RED, "✗"),
        (_, false) => paint(YELLOW, "~"),
    }
}

/// A progress bar: what is verified, what is done without a gate, what is not done.
pub fn bar(tasks: &PlanCounts, width: u64) -> String {
    let cells = |n: u64| (n * width).checked_div(tasks.total).unwrap_or(0);
    // Rounded down together, so that only a plan that is done fills the bar.
    let (verified, done) = (cells(tasks.verified), cells(tasks.done));
    let run = |n: u64, cell: &str| cell.repeat(usize::try_from(n).unwrap_or(0));
    format!(
        "{}{}{}",
        paint(GREEN, run(verified, "█")),
        paint(YELLOW, run(done.saturating_sub(verified), "▒")),
        paint(DIM, run(width.saturating_sub(done), "░"))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_and_open_tasks_leave_the_bar_empty() {
        let tasks = PlanCounts { total: 10, done: 5, verified: 3, skipped: 5, ..PlanCounts::default() };
        let shown = anstream::adapter::strip_str(&bar(&tasks, 20)).to_string();
        assert_eq!(shown, "██████▒▒▒▒░░░░░░░░░░");
        let empty = anstream::adapter::strip_str(&bar(&PlanCounts::default(), 4)).to_string();
        assert_eq!(empty, "░░░░");
    }

    #[test]
    fn every_kind_of_done_has_its_own_words() {
        let of = |status, verified, done_by| Standing { status, verified, done_by };
        for (standing, word, mark) in [
            (of(Status::Done, true, Some(DoneBy::Gate)), "done", "✓"),
            (of(Status::Done, true, Some(DoneBy::Children)), "done", "✓"),
            (of(Status::Done, false, Some(DoneBy::Agent)), "done, unverified", "◐"),
            (of(Status::Done, false, Some(DoneBy::Children)), "done, unverified", "◐"),
            (of(Status::Done, false, None), "done, unverified", "◐"),
            (of(Status::Done, false, Some(DoneBy::Person)), "done (by you)", "◐"),
            (of(Status::Skipped, false, None), "skipped", "–"),
            (of(Status::InProgress, false, None), "running", "▶"),
        ] {
            let shown = anstream::adapter::strip_str(&standing.mark()).to_string();
            assert_eq!((standing.plain().as_str(), shown.as_str()), (word, mark));
        }
    }
}
