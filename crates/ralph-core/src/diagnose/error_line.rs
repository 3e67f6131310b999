//! The line of an output that says what went wrong, and the lines around it.
//!
//! Each line that says something is given a [`Rank`] by what it looks like: what a test runner or compiler says of the
//! cause ranks above what a program says of itself, and that above counts and wrappers (`1 failed`, `make: *** … Error
//! 1`). One line is kept of each rank, the first or the last; the best rank wins.

use super::error_words as words;
use super::messages::Explanation;
use crate::agent::push_last;
use crate::text::Pattern;

/// How many lines are kept before and after the one that tells.
const LINES_BEFORE: usize = 3;
const LINES_AFTER: usize = 9;

/// How much a line tells of the cause, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// A count or a wrapper: `1 failed, 2 passed`, `error: could not compile`.
    Summary,
    /// A phrase that programs use of failures among other things.
    Hint,
    /// A place in a file and something about it.
    Placed,
    Plain,
    /// What the shell or the system says: `x: command not found`, `No such file or directory`.
    System,
    Npm,
    /// A program's own word for it: `error: …`, `fatal: …`.
    Stated,
    Named,
    Exception,
    Traceback,
    /// The message of a panic or of a failing test.
    Message,
    /// A compiler's or linter's, with a place or a code.
    Diagnostic,
    /// What pytest says of the first failing test.
    Pytest,
}

/// Whether a line is of some kind.
type Check = fn(&str) -> bool;

impl Rank {
    const COUNT: usize = Self::Pytest as usize + 1;

    /// Whether later lines of the rank give way to the first: the first compiler error causes the
    /// others, whereas the last thing that a program says is what ended it.
    const fn first_counts(self) -> bool {
        matches!(
            self,
            Self::Placed
                | Self::Npm
                | Self::Named
                | Self::Exception
                | Self::Message
                | Self::Diagnostic
                | Self::Pytest
        )
    }

    fn of(line: &str) -> Option<Self> {
        if words::is_summary(line) {
            return words::reports_error(line).then_some(Self::Summary);
        }
        // The first that holds; what is past, and npm's lines that say nothing, have no rank.
        let ranks: [(Check, Option<Self>); 11] = [
            (words::is_diagnostic, Some(Self::Diagnostic)),
            (|line| words::NPM.is_match(line) && !words::NPM_QUIET.is_match(line), Some(Self::Npm)),
            (|line| words::NPM.is_match(line), None),
            (words::is_exception, Some(Self::Exception)),
            (|line| words::NAMES_TEST.is_match(line), Some(Self::Named)),
            (|line| words::STATED.is_match(line), Some(Self::Stated)),
            (words::is_mild, None),
            (|line| words::SYSTEM.is_match(line), Some(Self::System)),
            (words::reports_error, Some(Self::Plain)),
            (words::has_place, Some(Self::Placed)),
            (words::hints, Some(Self::Hint)),
        ];
        ranks.iter().find(|(holds, _)| holds(line))?.1
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LineInContext {
    pub(super) line: String,
    pub(super) before: Vec<String>,
    pub(super) after: Vec<String>,
}

impl LineInContext {
    pub(super) fn lines(&self) -> impl Iterator<Item = &str> {
        let line = Some(&self.line).filter(|line| !line.is_empty());
        let lines = self.before.iter().chain(line).chain(&self.after);
        lines.map(String::as_str)
    }
}

/// What the next line with text will be.
#[derive(Clone, Copy, Default)]
enum Expected {
    #[default]
    Nothing,
    Panic,
    Jest,
    /// The name of minitest's failing test, or the message of a TAP test.
    Message,
    /// The place and message of Go's failing test.
    Go,
    /// The place of the diagnostic that a compiler names above it.
    Place,
}

/// Looks for the line while an output is read.
#[derive(Default)]
pub(super) struct ErrorLine {
    best: [Option<LineInContext>; Rank::COUNT],
    recent: Vec<String>,
    expected: Expected,
    head: String,
    /// Whether jest shows what the tests printed.
    in_console: bool,
    in_warnings: bool,
    python: Python,
}

impl ErrorLine {
    /// An explanation of pytest's that has ended; that of the first failing test counts.
    pub(super) fn explanation(&mut self, explanation: &Explanation) {
        let python = &mut self.python;
        let better = match &python.explained {
            Some(before) if !python.chained => {
                explanation.speaks() && !before.speaks() && python.summary.is_none()
            }
            _ => true,
        };
        if better {
            python.explained = Some(explanation.clone());
        }
        python.chained = false;
    }

    /// A line that pytest did not mark.
    pub(super) fn line(&mut self, line: &str) {
        let text = line.trim();
        let is_passed = words::is_passed_test(text);
        for told in self.best.iter_mut().flatten() {
            if told.after.len() < LINES_AFTER && !is_passed {
                told.after.push(line.to_owned());
            }
        }
        let is_pythons = self.python.takes(line, text);
        if let Some(ended) = self.python.ended.take() {
            self.offer(Rank::Traceback, &ended);
        }
        if !is_pythons && !text.is_empty() {
            self.plain(text);
        }
        if !is_passed {
            push_last(&mut self.recent, LINES_BEFORE, line);
        }
    }

    fn plain(&mut self, text: &str) {
        let expected = std::mem::take(&mut self.expected);
        if let Some((rank, is_head)) = announced(expected, text) {
            let head = self.head.clone();
            self.offer(rank, if is_head { &head } else { text });
            return;
        }
        if let Some(rank) = self.announces(text) {
            self.offer(rank, text);
        } else if words::declares_success(text) {
            // What only looked like an error: the runner says that there was none.
            for slot in self.best.iter_mut().take(Rank::System as usize) {
                *slot = None;
            }
        } else if !self.in_console
            && !self.is_noise(text)
            && let Some(rank) = Rank::of(text)
        {
            self.offer(rank, text);
        }
    }

    /// Whether a line stands in a part that reports no errors, or speaks of none.
    fn is_noise(&mut self, text: &str) -> bool {
        if text.starts_with("===") {
            self.in_warnings = text.contains(" warnings summary ");
        }
        self.in_warnings || words::is_quiet(text)
    }

    /// Reads a line after which another one tells; the rank of one that tells by itself.
    fn announces(&mut self, line: &str) -> Option<Rank> {
        if ["PASS ", "FAIL ", "Test Suites: "].iter().any(|begin| line.starts_with(begin)) {
            self.in_console = false;
        }
        let mut told = None;
        self.expected = if let Some(test) = line.strip_prefix("● ") {
            self.in_console = test == "Console";
            if self.in_console {
                return None;
            }
            told = Some(Rank::Named);
            Expected::Jest
        } else if line.starts_with("thread ") && line.contains(" panicked at ") {
            if line.contains(" panicked at '") {
                return Some(Rank::Message);
            }
            Expected::Panic
        } else if line.contains("test did not panic as expected") {
            return Some(Rank::Message);
        } else if line.starts_with("--- FAIL: ") {
            Expected::Go
        } else if line.ends_with(") Failure:") || line.ends_with(") Error:") || line == "error: |-" {
            Expected::Message
        } else if line == "Message:" {
            Expected::Jest
        } else if words::may_name_place(line) {
            Expected::Place
        } else {
            return None;
        };
        line.clone_into(&mut self.head);
        told
    }

    fn offer(&mut self, rank: Rank, line: &str) {
        let Some(slot) = self.best.get_mut(rank as usize) else { return };
        if slot.is_none() || !rank.first_counts() {
            *slot =
                Some(LineInContext { line: line.to_owned(), before: self.recent.clone(), after: Vec::new() });
        }
    }

    /// What tells best what went wrong, if anything does.
    pub(super) fn finish(mut self) -> Option<LineInContext> {
        if let Some(line) = self.python.best() {
            self.recent.clear();
            self.offer(Rank::Pytest, &line);
        }
        self.best.into_iter().rev().flatten().next()
    }
}

/// What a line is after one that announced it; the rank, and whether the announcing line says more.
fn announced(expected: Expected, line: &str) -> Option<(Rank, bool)> {
    let bare_assertion = || line.starts_with("assertion `") && line.ends_with("` failed");
    match expected {
        Expected::Panic => Some((Rank::Message, bare_assertion())),
        Expected::Jest if line.starts_with("Jest encountered") => None,
        // `expect(received).toBe(expected)` says nothing; the test's name does.
        Expected::Jest => Some((Rank::Message, line.starts_with("expect("))),
        Expected::Go if !line.contains(".go:") => None,
        Expected::Go | Expected::Message => Some((Rank::Message, false)),
        Expected::Place if line.starts_with("--> ") => Some((Rank::Diagnostic, true)),
        Expected::Nothing | Expected::Place => None,
    }
}

/// What has been read of pytest's report, unittest's, and Python's tracebacks, which take several lines to say one thing.
#[derive(Default)]
struct Python {
    summary: Option<String>,
    /// What pytest explained of the first failing test.
    explained: Option<Explanation>,
    /// Whether the next explanation belongs to the same failure: an exception led to another.
    chained: bool,
    /// The indent of the traceback that is being read.
    traceback: Option<usize>,
    /// How the traceback ended that has just been read.
    ended: Option<String>,
    has_ended: bool,
    /// Whether the line before was the one above unittest's headings.
    after_ruler: bool,
    /// How many failures unittest has headed; the first one counts.
    headed: usize,
}

/// What stands between an exception and the one it led to.
static LINK: Pattern =
    Pattern::new("^(?:The above exception was the direct cause|During handling of the above exception)");
/// `FAILED tests/test_a.py::test_b - message`, `ERROR tests/test_a.py`.
static SUMMARY: Pattern = Pattern::new(r"^(?:FAILED|ERROR) [^ ]*\.py(?:::| |$)");

impl Python {
    /// Reads a line; `true` where it needs no other reader.
    fn takes(&mut self, line: &str, text: &str) -> bool {
        if LINK.is_match(text) {
            self.chained = true;
            return true;
        }
        if SUMMARY.is_match(text) {
            self.summary.get_or_insert_with(|| text.to_owned());
            return true;
        }
        let heads = text.starts_with("FAIL: ") || text.starts_with("ERROR: ");
        self.headed += usize::from(self.after_ruler && heads);
        self.after_ruler = text.len() >= 70 && text.bytes().all(|b| b == b'=');
        self.in_traceback(line, text)
    }

    /// Whether the line is part of a traceback; its last one, at the indent of the first, is kept.
    fn in_traceback(&mut self, line: &str, text: &str) -> bool {
        let indent = indent(line);
        if text.contains("Traceback (most recent call last)") {
            self.traceback = Some(indent);
            return true;
        }
        let Some(begin) = self.traceback else { return false };
        if indent <= begin && !text.is_empty() {
            self.traceback = None;
            if self.headed < 2 || !self.has_ended {
                self.ended = Some(text.to_owned());
                self.has_ended = true;
            }
        }
        true
    }

    /// The line that pytest has for the first failure: its summary, unless that was cut.
    fn best(&mut self) -> Option<String> {
        let is_whole = |line: &String| line.contains(" - ") && !line.ends_with("...");
        match self.summary.take() {
            Some(line) if is_whole(&line) => Some(line),
            summary => {
                let explained = self.explained.take().map(|explained| explained.shown);
                explained.or(summary)
            }
        }
    }
}

/// How far a line is indented, the bars of an exception group counted.
fn indent(line: &str) -> usize {
    let blanks = |text: &str| text.len() - text.trim_start().len();
    let own = blanks(line);
    let rest = line.get(own..).unwrap_or_default();
    match rest.strip_prefix("| ").or_else(|| rest.strip_prefix("+ ")) {
        Some(inner) if own > 0 => own + 2 + blanks(inner),
        _ => own,
    }
}

#[cfg(test)]
mod corpus_tests;
#[cfg(test)]
mod tests;
