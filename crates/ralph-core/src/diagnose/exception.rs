//! Exception types and how their messages begin: what tells two failures at one place apart.

use std::collections::BTreeSet;

use super::normal::{Quotes, normal};
use super::runners;
use super::shape;
use super::summary::Summary;
use super::xml::{Failure, Report};

/// How much of a message counts: its end often holds data.
const MESSAGE_CHARS: usize = 80;

/// More kinds of exception than this in one output tell nothing more.
const EXCEPTIONS: usize = 50;

/// What may stand before an exception's name.
const LEADS: [&str; 8] = [
    "[ERROR] ",
    "Caused by: ",
    "Uncaught ",
    "uncaught exception: ",
    "Unhandled exception: ",
    "error: ",
    "→ ",
    "=> ",
];

/// The exceptions seen so far.
#[derive(Default)]
pub(super) struct Exceptions {
    /// What pytest marked with `E`: what programs print beside it is not the test's failure.
    marked: BTreeSet<String>,
    seen: BTreeSet<String>,
    last: Option<String>,
    /// Whether the explanation that is being read has been taken up.
    explained: bool,
    summary: Summary,
    report: Report,
    after_panic: bool,
}

impl Exceptions {
    pub(super) fn line(&mut self, line: &str) {
        if let Some(failure) = self.report.line(line) {
            let (name, message) = reported(&failure);
            self.add(&name, &message);
            return;
        }
        if let Some(text) = shape::marked(line) {
            // A report repeats it with XML's escapes.
            if !self.report.in_test() {
                self.explanation(text);
            }
            return;
        }
        self.explained = false;
        let text = line.trim_start();
        if self.after_panic && !text.is_empty() {
            self.after_panic = false;
            self.add("panic", text);
            return;
        }
        if let Some((_, at)) = text
            .split_once(" panicked at ")
            .filter(|_| text.starts_with("thread '"))
        {
            // The message stands on the next line, or in older releases in quotes on this one.
            match at.strip_prefix('\'') {
                Some(message) => self.add("panic", message),
                None => self.after_panic = true,
            }
        } else if let Some(message) = text.strip_prefix("panic: ") {
            self.add("panic", message);
        } else if let Some((_, message)) = runners::summary(text) {
            self.summary.add(text, message);
        } else if let Some((name, message)) = thrown(text) {
            self.add(name, message);
        }
    }

    /// pytest's explanation of a failure: its first exception counts, the rest is data.
    fn explanation(&mut self, text: &str) {
        if let Some((name, message)) = explained(text).filter(|_| !self.explained) {
            self.explained = true;
            let entry = entry(name, message);
            self.last = Some(entry.clone());
            bounded(&mut self.marked, entry);
        }
    }

    fn add(&mut self, name: &str, message: &str) {
        let entry = entry(name, message);
        self.last = Some(entry.clone());
        bounded(&mut self.seen, entry);
    }

    /// All of them, sorted: tests fail in any order.
    pub(super) fn all(self) -> Vec<String> {
        let shown = if self.marked.is_empty() {
            self.seen
        } else {
            self.marked
        };
        let all = self.summary.complete(shown);
        all.into_iter().take(EXCEPTIONS).collect()
    }

    /// The last one, which ended the program.
    pub(super) fn last(self) -> Option<String> {
        self.last
    }
}

/// The exception that pytest's explanation of a failure names; an assertion need not name its own.
pub(super) fn explained(text: &str) -> Option<(&str, &str)> {
    if text.starts_with("assert ") {
        Some(("AssertionError", text))
    } else {
        shape::exception(text)
    }
}

/// The exception of a test in a report, whose message may name it once more.
fn reported(failure: &Failure) -> (String, String) {
    let kind = failure.kind.as_str();
    let message = failure.message.trim_start();
    if kind.is_empty() || kind.contains(' ') {
        let (name, message) = explained(message).unwrap_or(("failure", message));
        return (name.to_owned(), message.to_owned());
    }
    let name = kind.rsplit(['.', '$', ':']).next().unwrap_or(kind);
    let again = message
        .strip_prefix(kind)
        .filter(|rest| rest.is_empty() || rest.starts_with(':'));
    let message = again.map_or(message, |rest| rest.trim_start_matches([':', ' ']));
    (name.to_owned(), message.to_owned())
}

/// Gradle's `com.foo.BarException at BarTest.java:10`.
fn placed(text: &str) -> Option<&str> {
    let (path, place) = text.split_once(" at ")?;
    let (file, line) = place.split_once(':')?;
    let source = [".java", ".kt", ".groovy", ".scala"];
    let name = path.rsplit(['.', '$']).next()?;
    (source.iter().any(|end| file.ends_with(end))
        && line.parse::<u32>().is_ok()
        && name.starts_with(char::is_uppercase)
        && !path.contains([' ', ':']))
    .then_some(name)
}

/// A line without what stands before an exception.
pub(super) fn without_leads(mut text: &str) -> &str {
    while let Some(rest) = LEADS.iter().find_map(|lead| text.strip_prefix(lead)) {
        text = rest.trim_start();
    }
    let thread = text.strip_prefix("Exception in thread \"");
    thread
        .and_then(|rest| rest.split_once("\" "))
        .map_or(text, |(_, exception)| exception)
}

/// The exception that a line reports.
fn thrown(text: &str) -> Option<(&str, &str)> {
    let text = without_leads(text);
    if text.starts_with("expect(") && text.contains(").") {
        return Some(("expect", text));
    }
    // `x_test.go:12: got 3, want 4`
    if let Some((path, 1, message)) = shape::place(text)
        && path.ends_with("_test.go")
    {
        return Some(("go", message.trim()));
    }
    placed(text)
        .map(|name| (name, ""))
        .or_else(|| shape::exception(text))
}

pub(super) fn entry(name: &str, message: &str) -> String {
    // The values that an assertion compares are data, quoted or not.
    let quotes = if message.starts_with("assert ") {
        Quotes::Drop
    } else {
        Quotes::Keep
    };
    let mut start = normal(message, quotes);
    if let Some((end, _)) = start.char_indices().nth(MESSAGE_CHARS) {
        start.truncate(end);
    }
    format!("{name}: {}", start.trim_end())
        .trim_end_matches([' ', ':'])
        .to_owned()
}

/// Keeps the first in order, so that the order in which they came does not matter.
pub(super) fn bounded(set: &mut BTreeSet<String>, entry: String) {
    set.insert(entry);
    if set.len() > EXCEPTIONS {
        set.pop_last();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn finds(text: &str, expected: &[&str]) {
        let mut exceptions = Exceptions::default();
        text.lines().for_each(|line| exceptions.line(line));
        assert_eq!(exceptions.all(), expected);
    }

    #[test]
    fn fp_04_types_and_messages() {
        finds("E   KeyError: 'a'", &["KeyError: 'a'"]);
        finds("E   assert 1 == 2", &["AssertionError: assert # == #"]);
        finds(
            "Caused by: java.lang.Foo$BarException: x 3",
            &["BarException: x #"],
        );
        finds(
            "Exception in thread \"main\" java.lang.RuntimeException: w",
            &["RuntimeException: w"],
        );
        finds(
            "thread 'a' (12) panicked at src/l.rs:9:18:\nboom 3",
            &["panic: boom #"],
        );
        finds(
            "thread 'a' panicked at 'boom', src/l.rs:9",
            &["panic: boom', <path>"],
        );
        finds(
            "panic: runtime error: index",
            &["panic: runtime error: index"],
        );
        finds("    a_test.go:12: got 3", &["go: got #"]);
        finds("FAILED a.py::t - ValueError: x", &["ValueError: x"]);
        finds("E  OSError: y\nFAILED a.py::t - OSE...", &["OSError: y"]);
        finds(
            "=> org.opentest4j.AssertionFailedError: expected: <1>",
            &["AssertionFailedError: expected: <#>"],
        );
        finds("    a.b.Oops at BTest.kt:10", &["Oops"]);
        finds("look at a.java:10\nfoo at bar:3", &[]);
        finds("all is well", &[]);
    }
}
