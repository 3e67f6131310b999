//! Colours and marks. `anstream` takes them away where they are not wanted.

use anstyle::{AnsiColor, Style};
use ralph_core::model::{DoneBy, Level, Outcome, Status, Task, Verification};
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
    #[serde(skip)]
    pub evidence: EvidenceKind,
}

/// What people should know of what a done task rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EvidenceKind {
    #[default]
    Plain,
    /// Its gate passed before any work, too.
    AlreadyGreen,
    /// Its gate failed at first and passed when run again.
    Flaky,
    /// Another agent accepted it, and no gate passed.
    Reviewed,
}

impl From<&Verification> for EvidenceKind {
    fn from(verification: &Verification) -> Self {
        match verification {
            Verification { level: Level::Review, .. } => Self::Reviewed,
            Verification { already_green: true, .. } => Self::AlreadyGreen,
            Verification { flaky: true, .. } => Self::Flaky,
            _ => Self::Plain,
        }
    }
}

impl From<&Task> for Standing {
    fn from(task: &Task) -> Self {
        let evidence = task.verification.as_ref().map(EvidenceKind::from).unwrap_or_default();
        Self { status: task.status, verified: task.verified, done_by: task.done_by, evidence }
    }
}

/// What a done task or attempt is called.
pub fn done_word(verified: bool, evidence: EvidenceKind) -> &'static str {
    match (verified, evidence) {
        (false, EvidenceKind::Reviewed) => "done, reviewed",
        (false, _) => UNVERIFIED,
        (true, EvidenceKind::AlreadyGreen) => "done, already green",
        (true, EvidenceKind::Flaky) => "done, flaky gate",
        (true, EvidenceKind::Plain | EvidenceKind::Reviewed) => "done",
    }
}

impl Standing {
    fn is_unverified(self) -> bool {
        self.status == Status::Done && !self.verified
    }

    pub fn of(status: Status) -> Self {
        Self { status, verified: false, done_by: None, evidence: EvidenceKind::Plain }
    }

    /// In a few words: `done`, `done, unverified`, `done (by you)`, `blocked`.
    pub fn plain(self) -> String {
        match (self.status, self.done_by) {
            (Status::Done, Some(DoneBy::Person)) if !self.verified => "done (by you)".to_owned(),
            (Status::Done, _) => done_word(self.verified, self.evidence).to_owned(),
            (status, _) => status_word(status).to_owned(),
        }
    }

    /// The same in its color.
    pub fn word(self) -> String {
        paint(self.style(), self.plain())
    }

    /// As one character.
    pub fn glyph(self) -> &'static str {
        match self.status {
            Status::Done if self.verified => "✓",
            Status::Done => "◐",
            Status::Failed | Status::Blocked => "✗",
            Status::InProgress => "▶",
            Status::Pending => "·",
            Status::Skipped => "–",
        }
    }

    /// As one character in its color.
    pub fn mark(self) -> String {
        paint(self.style(), self.glyph())
    }

    fn style(self) -> Style {
        match self.is_unverified() || self.evidence == EvidenceKind::AlreadyGreen {
            true => YELLOW,
            false => of(self.status),
        }
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
        let of = |status, verified, done_by| Standing { verified, done_by, ..Standing::of(status) };
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
