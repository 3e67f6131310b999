//! Exception types and how their messages begin: what tells two failures at one place apart.

use std::collections::BTreeSet;

use super::normal::{Quotes, normal};
use super::shape;

/// How much of a message counts: its end often holds data.
const MESSAGE_CHARS: usize = 80;

/// More kinds of exception than this in one output tell nothing more.
const EXCEPTIONS: usize = 50;

/// What may stand before an exception's name.
const LEADS: [&str; 7] = [
    "[ERROR] ",
    "Caused by: ",
    "Uncaught ",
    "uncaught exception: ",
    "Unhandled exception: ",
    "error: ",
    "→ ",
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
    /// From pytest's summary, which repeats them shortened: for when there is nothing else.
    summary: BTreeSet<String>,
    after_panic: bool,
}

impl Exceptions {
    pub(super) fn line(&mut self, line: &str) {
        if let Some(text) = shape::marked(line) {
            self.explanation(text);
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
        } else if text.starts_with("FAILED ") || text.starts_with("ERROR ") {
            if let Some((name, message)) = text
                .rsplit_once(" - ")
                .and_then(|(_, end)| shape::exception(end))
            {
                bounded(&mut self.summary, entry(name, message));
            }
        } else if let Some((name, message)) = thrown(text) {
            self.add(name, message);
        }
    }

    /// pytest's explanation of a failure: its first exception counts, the rest is data.
    fn explanation(&mut self, text: &str) {
        let found = if text.starts_with("assert ") {
            Some(("AssertionError", text))
        } else {
            shape::exception(text)
        };
        if let Some((name, message)) = found.filter(|_| !self.explained) {
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
        let chosen = [self.marked, self.seen, self.summary]
            .into_iter()
            .find(|set| !set.is_empty())
            .unwrap_or_default();
        chosen.into_iter().collect()
    }

    /// The last one, which ended the program.
    pub(super) fn last(self) -> Option<String> {
        self.last
    }
}

/// The exception that a line reports.
fn thrown(text: &str) -> Option<(&str, &str)> {
    let mut text = text;
    while let Some(rest) = LEADS.iter().find_map(|lead| text.strip_prefix(lead)) {
        text = rest.trim_start();
    }
    if let Some(rest) = text.strip_prefix("Exception in thread \"") {
        text = rest.split_once("\" ")?.1;
    }
    if text.starts_with("expect(") && text.contains(").") {
        return Some(("expect", text));
    }
    // `x_test.go:12: got 3, want 4`
    if let Some((path, 1, message)) = shape::place(text)
        && path.ends_with("_test.go")
    {
        return Some(("go", message.trim()));
    }
    shape::exception(text)
}

fn entry(name: &str, message: &str) -> String {
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
fn bounded(set: &mut BTreeSet<String>, entry: String) {
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
        finds("all is well", &[]);
    }
}
