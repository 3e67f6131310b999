//! The last lines that report an error, for outputs that name neither tests nor compiler errors.

use super::error_line::is_stated;
use super::normal::{Quotes, normal};
use super::shape;

/// How many count.
const KEPT: usize = 3;

/// Words that a failing program uses of itself.
const TELLING: [&str; 31] = [
    "error",
    "errors",
    "failed",
    "failure",
    "failures",
    "fail",
    "fails",
    "fatal",
    "exception",
    "panicked",
    "panic",
    "cannot",
    "can't",
    "couldn't",
    "could not",
    "unable to",
    "not found",
    "no such file",
    "assertion",
    "denied",
    "refused",
    "aborted",
    "segmentation fault",
    "killed",
    "timed out",
    "timeout",
    "undefined",
    "unexpected",
    "invalid",
    "missing",
    "traceback",
];

/// Phrases in which those words mean the opposite.
const HARMLESS: [&str; 16] = [
    "0 errors",
    "no errors",
    "0 error",
    "0 failed",
    "0 failures",
    "no failures",
    "without error",
    "\"is_error\": false",
    "\"is_error\":false",
    "error: null",
    "errors: 0",
    "failures: 0",
    "failed: 0",
    "errors=0",
    "error handling",
    "no error",
];

/// What is said of errors that are overcome.
const OVERCOME: [&str; 17] = [
    " is gone",
    " are gone",
    " is fixed",
    " are fixed",
    " was fixed",
    " were fixed",
    " is resolved",
    " are resolved",
    " was resolved",
    " were resolved",
    "been fixed",
    "been resolved",
    " went away",
    " goes away",
    " disappeared",
    "no longer",
    "none of ",
];

/// Words that deny what follows them: `none failed`, `no tests failed`, `without any errors`.
const DENYING: [&str; 11] = [
    "no", "none", "nothing", "nobody", "zero", "never", "without", "not", "didn't", "doesn't",
    "don't",
];

/// What can be denied of a run: of `cannot`, `missing` and the like the opposite is said in other words.
const DENIED: [&str; 10] = [
    "error",
    "errors",
    "failed",
    "failing",
    "failure",
    "failures",
    "fail",
    "fails",
    "exception",
    "exceptions",
];

/// The last error lines of an output.
///
/// pytest marks its own with `E`; where it does, the program's other chatter does not count.
#[derive(Default)]
pub(super) struct ErrorLines {
    marked: Last,
    reported: Last,
    any: Last,
    /// The message of the failure that is being read.
    message: Option<String>,
    in_marks: bool,
}

/// What the last lines come to.
pub(super) struct LastLines {
    /// Without what changes from run to run.
    pub(super) lines: Vec<String>,
    /// The last one with its quoted text.
    pub(super) end: Option<String>,
    /// Whether they tell of an error, or are just the last that was printed.
    pub(super) report_errors: bool,
}

/// The last few of many lines.
#[derive(Default)]
struct Last(Vec<String>);

impl Last {
    fn push(&mut self, line: &str) {
        if self.0.len() == KEPT {
            self.0.remove(0);
        }
        self.0.push(line.to_owned());
    }
}

impl ErrorLines {
    pub(super) fn line(&mut self, line: &str) {
        if let Some(text) = shape::marked(line) {
            self.mark(text);
            return;
        }
        self.in_marks = false;
        if let Some(name) = shape::raised_at(line) {
            // The name alone where the message was cut off.
            let message = self
                .message
                .take()
                .filter(|m| shape::exception(m).is_some());
            self.marked.push(message.as_deref().unwrap_or(name));
            return;
        }
        let text = line.trim();
        if text.is_empty() {
            return;
        }
        self.any.push(text);
        if reports_error(text) {
            self.reported.push(text);
        }
    }

    /// A line that reports nothing by itself.
    pub(super) fn aside(&mut self, line: &str) {
        self.any.push(line);
    }

    /// A line of pytest's explanation: the one with the exception speaks for all.
    fn mark(&mut self, text: &str) {
        if !self.in_marks
            && let Some(before) = self.message.take()
        {
            self.marked.push(&before);
        }
        self.in_marks = true;
        let better = shape::exception(text).is_some()
            && self
                .message
                .as_deref()
                .is_some_and(|m| shape::exception(m).is_none());
        if self.message.is_none() || better {
            self.message = Some(without_values(text).to_owned());
        }
    }

    pub(super) fn finish(mut self) -> LastLines {
        if let Some(message) = self.message.take() {
            self.marked.push(&message);
        }
        let report_errors = !(self.marked.0.is_empty() && self.reported.0.is_empty());
        let chosen = [self.marked, self.reported, self.any]
            .into_iter()
            .find(|last| !last.0.is_empty())
            .unwrap_or_default();
        let lines = chosen
            .0
            .iter()
            .map(|l| normal(without_level(l), Quotes::Drop))
            .collect();
        let end = chosen
            .0
            .last()
            .map(|l| normal(without_level(l), Quotes::Keep));
        LastLines {
            lines,
            end,
            report_errors,
        }
    }
}

/// An assertion's values are data: `AssertionError: assert {'a': 1} == …`.
fn without_values(text: &str) -> &str {
    let bare = text.starts_with("assert ").then_some(0);
    let at = bare.or_else(|| text.find(": assert ").map(|at| at + 2));
    at.and_then(|at| text.get(..at + "assert".len()))
        .unwrap_or(text)
}

fn without_level(line: &str) -> &str {
    ["[ERROR] ", "[FATAL] ", "[error] "]
        .iter()
        .find_map(|level| line.strip_prefix(level))
        .unwrap_or(line)
}

/// Whether a line says that something went wrong, and not that nothing did.
#[must_use]
pub fn reports_error(line: &str) -> bool {
    let named = || {
        line.split_whitespace()
            .any(|word| shape::exception(word).is_some())
    };
    if is_frame(line) || !(is_telling(line) || shape::exception(line).is_some() || named()) {
        return false;
    }
    let lower = line.to_lowercase();
    let last = lower.split_whitespace().next_back().unwrap_or_default();
    let passing = lower.starts_with(['✓', '✔'])
        || (matches!(last, "ok" | "passed" | "✓" | "success") && !lower.ends_with("not ok"));
    let denied = || {
        let overcome = OVERCOME.iter().any(|words| lower.contains(words));
        !is_stated(line) && (overcome || is_denied(&lower))
    };
    !passing && !lower.starts_with("traceback (") && !is_harmless(&lower) && !denied()
}

/// Whether it says that nothing failed: at most one word stands between the denial and what is denied.
fn is_denied(lower: &str) -> bool {
    let around = |c: char| !(c.is_alphanumeric() || c == '\'');
    let words: Vec<&str> = lower
        .split_whitespace()
        .map(|word| word.trim_matches(around))
        .collect();
    words.iter().enumerate().any(|(at, word)| {
        let mut next = words.iter().skip(at + 1).take(2);
        DENYING.contains(word) && next.any(|word| DENIED.contains(word))
    })
}

/// Whether it says that there were none: `0 errors`, but not `10 errors`.
fn is_harmless(lower: &str) -> bool {
    HARMLESS.iter().any(|phrase| {
        lower.match_indices(phrase).any(|(at, _)| {
            let before = lower.get(..at).and_then(|l| l.chars().next_back());
            !before.is_some_and(|c| c.is_ascii_digit())
        })
    })
}

/// A line of a stack trace: where, not what.
fn is_frame(line: &str) -> bool {
    line.starts_with("at ")
        || line.starts_with("File \"")
        || line.starts_with("... ")
        || line.starts_with('^')
        || line.starts_with('~')
        || line.starts_with("goroutine ")
}

/// Whether a telling word stands in the line, alone: not in `error.rs`, not in `handles_error`.
fn is_telling(line: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80;
    let bytes = line.as_bytes();
    let mut before = b' ';
    bytes.iter().enumerate().any(|(at, &first)| {
        let starts = is_part(first) && !is_part(before) && before != b'/';
        before = first;
        starts
            && TELLING.iter().any(|word| {
                let end = at + word.len();
                let next = |n: usize| bytes.get(end + n).copied().is_some_and(is_part);
                let file_name = bytes.get(end) == Some(&b'.') && next(1);
                word.as_bytes().first() == Some(&first.to_ascii_lowercase())
                    && bytes
                        .get(at..end)
                        .is_some_and(|b| b.eq_ignore_ascii_case(word.as_bytes()))
                    && !next(0)
                    && !file_name
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn last(text: &str, expected: &[&str]) {
        let mut lines = ErrorLines::default();
        text.lines().for_each(|line| lines.line(line));
        assert_eq!(lines.finish().lines, expected);
    }

    #[test]
    fn fp_03_the_last_three_error_lines_count() {
        last(
            "error: a\nerror: b\nfine\nerror: c 12\nhandles_error ok\nfatal: d\nbye",
            &["error: b", "error: c #", "fatal: d"],
        );
        last(
            "10 errors found\n0 errors\ncannot open notebook\nerror test ok",
            &["# errors found", "cannot open notebook"],
        );
        last("one\ntwo\n\nthree\nfour", &["two", "three", "four"]);
        last(
            "0 errors\nat error (x.js:1)\ncompiling error.rs",
            &["# errors", "at error (x.js:#)", "compiling error.rs"],
        );
        last("", &[]);
    }

    #[test]
    fn fp_03_pytests_own_marks_count_alone() {
        last(
            "E   AssertionError: assert {'a': 1} == {}\nE     more\n\na.py:3: AssertionError\nerror: x",
            &["AssertionError: assert"],
        );
        last("E   part of a diff\na.py:3: KeyError\n", &["KeyError"]);
        last(
            "E   KeyError: 'a'\nx\nE   ValueError: b 3",
            &["KeyError: <text>", "ValueError: b #"],
        );
    }
}
