//! Exception types with how their messages begin, which tell two failures at one place apart; and the last lines that
//! report an error, for outputs that name neither tests nor compiler errors.

use std::collections::BTreeSet;

use super::error_words::reports_error;
use super::lines::{Quotes, normal};
use super::reports::Failure;
use super::shapes::{self, explained, insert_bounded};
use crate::agent::push_last;
use crate::text::{Pattern, group};

/// How much of a message counts: its end often holds data.
const MESSAGE_CHARS: usize = 80;

/// More kinds of exception than this in one output tell nothing more.
const EXCEPTIONS: usize = 50;

const LAST_LINES: usize = 3;

/// A summary's line as long as this may have been wrapped by the terminal: no narrower one is usual.
const WIDTH: usize = 80;

/// What may stand before an exception's name.
static LEADS: Pattern = Pattern::new(concat!(
    r"^(?:(?:\[ERROR\]|Caused by:|Uncaught|uncaught exception:|Unhandled exception:|error:|→|=>) +)*",
    r#"(?:Exception in thread "[^"]*" )?(?<name>.*)$"#
));
/// A panic of Rust, whose message stands on the next line, or in older releases in quotes on this one; and one of Go.
static PANIC: Pattern =
    Pattern::new(r"^(?:thread '.* panicked at (?:(?<next>[^'])|'(?<old>.*))|panic: (?<go>.*))");
/// Gradle's `com.foo.BarException at BarTest.java:10`.
static PLACED: Pattern =
    Pattern::new(r"^(?:[^ :]*[.$])?(?<name>[A-Z][^ :.$]*) at [^:]*\.(?:java|kt|groovy|scala):[0-9]+$");
/// `x_test.go:12: got 3, want 4`
static GO_TEST: Pattern = Pattern::new(r"^[^:(]*_test\.go:[0-9]+: *(?<name>[^0-9].*|)$");

/// What pytest marked with `E` and no other line between.
#[derive(Clone, Debug, Default)]
pub(super) struct Explanation {
    first: String,
    /// The first line that names an exception or an assertion, and which does so expressly.
    speaking: Option<String>,
    exception: Option<String>,
    /// The line that speaks for all, with its mark.
    pub(super) shown: String,
}

impl Explanation {
    pub(super) fn push(&mut self, text: &str, shown: &str) {
        let is_first = self.first.is_empty();
        if is_first {
            text.clone_into(&mut self.first);
        }
        let speaks = self.speaking.is_none() && explained(text).is_some();
        if speaks {
            self.speaking = Some(text.to_owned());
        }
        if is_first || speaks {
            shown.trim().clone_into(&mut self.shown);
        }
        if self.exception.is_none() && shapes::exception(text).is_some() {
            self.exception = Some(text.to_owned());
        }
    }

    /// Whether a line of it names an exception or an assertion.
    pub(super) const fn speaks(&self) -> bool {
        self.speaking.is_some()
    }
}

/// The exceptions and the last error lines seen so far.
#[derive(Default)]
pub(super) struct Messages {
    /// What pytest explained: what programs print beside it is not the test's failure.
    explained: BTreeSet<String>,
    thrown: BTreeSet<String>,
    /// What pytest's summary says, for tests whose explanation is not shown.
    summary: BTreeSet<String>,
    /// The same where it was cut to the width of the terminal, up to its last whole word, or perhaps wrapped.
    cut: BTreeSet<String>,
    last: Option<String>,
    after_panic: bool,
    /// An explanation whose closing line, with the exception, may follow.
    pending: Option<String>,
    /// The last few lines that pytest marked, that report an error, and of all.
    marked_lines: Vec<String>,
    error_lines: Vec<String>,
    any_lines: Vec<String>,
}

/// What a fingerprint is made of where neither tests nor compiler errors are named.
pub(super) struct LastLines {
    /// Without what changes from run to run.
    pub(super) lines: Vec<String>,
    pub(super) shown: Vec<String>,
    /// The exception that ended the program, else the last line with its quoted text.
    pub(super) end: Option<String>,
    /// Whether they tell of an error, or are just the last that was printed.
    pub(super) report_errors: bool,
}

impl Messages {
    /// An explanation of pytest's, when it has ended.
    pub(super) fn explanation(&mut self, explanation: &Explanation) {
        if let Some((name, message)) = explanation.speaking.as_deref().and_then(explained) {
            let entry = entry(name, message);
            self.last = Some(entry.clone());
            keep(&mut self.explained, entry);
        }
        let text = explanation.exception.as_ref().unwrap_or(&explanation.first);
        if let Some(before) = self.pending.replace(without_values(text).to_owned()) {
            push_last(&mut self.marked_lines, LAST_LINES, &before);
        }
    }

    pub(super) fn failure(&mut self, failure: &Failure) {
        let kind = failure.kind.as_str();
        let message = failure.message.trim_start();
        if kind.is_empty() || kind.contains(' ') {
            let (name, message) = explained(message).unwrap_or(("failure", message));
            return self.add(name, message);
        }
        // The message may name the exception once more.
        let again = message.strip_prefix(kind);
        let again = again.filter(|rest| rest.is_empty() || rest.starts_with(':'));
        let message = again.map_or(message, |rest| rest.trim_start_matches([':', ' ']));
        self.add(kind.rsplit(['.', '$', ':']).next().unwrap_or(kind), message);
    }

    /// A line that pytest did not mark.
    pub(super) fn line(&mut self, line: &str) {
        self.exception(line);
        let text = line.trim();
        if let Some(name) = shapes::RAISED_AT.name(line) {
            // The name alone where the message was cut off.
            let message = self.pending.take();
            let message = message.filter(|m| shapes::exception(m).is_some());
            push_last(&mut self.marked_lines, LAST_LINES, message.as_deref().unwrap_or(name));
        } else if !text.is_empty() {
            push_last(&mut self.any_lines, LAST_LINES, text);
            if reports_error(text) {
                push_last(&mut self.error_lines, LAST_LINES, text);
            }
        }
    }

    pub(super) fn aside(&mut self, line: &str) {
        push_last(&mut self.any_lines, LAST_LINES, line);
    }

    fn exception(&mut self, line: &str) {
        let text = line.trim_start();
        if self.after_panic && !text.is_empty() {
            self.after_panic = false;
            self.add("panic", text);
        } else if text.contains("panic")
            && let Some(found) = PANIC.captures(text)
        {
            self.after_panic = found.name("next").is_some();
            if !self.after_panic {
                let message = [group(&found, "old"), group(&found, "go")].concat();
                self.add("panic", &message);
            }
        } else if let Some((name, message)) = thrown(text) {
            self.add(name, message);
        }
    }

    /// A line of pytest's short summary: `FAILED a.py::t - message`.
    pub(super) fn summarize(&mut self, line: &str, message: &str) {
        let Some((name, text)) = explained(message) else { return };
        match text.strip_suffix("...") {
            // How much of an assertion is left depends on its values.
            Some(_) if text.starts_with("assert ") => keep(&mut self.cut, entry(name, "assert")),
            Some(cut) => {
                let start = cut.rsplit_once(' ').map_or("", |(words, _)| words);
                keep(&mut self.cut, entry(name, start));
            }
            None if line.chars().count() >= WIDTH => keep(&mut self.cut, entry(name, text)),
            None => keep(&mut self.summary, entry(name, text)),
        }
    }

    fn add(&mut self, name: &str, message: &str) {
        let entry = entry(name, message);
        self.last = Some(entry.clone());
        keep(&mut self.thrown, entry);
    }

    /// All exceptions, sorted: tests fail in any order.
    pub(super) fn exceptions(self) -> Vec<String> {
        let mut all = if self.explained.is_empty() { self.thrown } else { self.explained };
        all.extend(self.summary);
        for start in self.cut {
            let next = all.range(start.clone()..).next();
            if !next.is_some_and(|whole| whole.starts_with(&start)) {
                all.insert(start);
            }
        }
        all.into_iter().take(EXCEPTIONS).collect()
    }

    /// The last lines that pytest marked, else that report an error, else that were printed.
    pub(super) fn last_lines(mut self) -> LastLines {
        if let Some(message) = self.pending.take() {
            push_last(&mut self.marked_lines, LAST_LINES, &message);
        }
        let report_errors = !(self.marked_lines.is_empty() && self.error_lines.is_empty());
        let chosen = [self.marked_lines, self.error_lines, self.any_lines];
        let chosen = chosen.into_iter().find(|last| !last.is_empty()).unwrap_or_default();
        let normal = |line: &String, quotes| normal(without_level(line), quotes);
        LastLines {
            lines: chosen.iter().map(|line| normal(line, Quotes::Drop)).collect(),
            end: self.last.or_else(|| Some(normal(chosen.last()?, Quotes::Keep))),
            report_errors,
            shown: chosen,
        }
    }
}

/// A line without what stands before an exception.
pub(super) fn without_leads(text: &str) -> &str {
    LEADS.name(text).unwrap_or(text)
}

fn thrown(text: &str) -> Option<(&str, &str)> {
    let text = without_leads(text);
    if text.starts_with("expect(") && text.contains(").") {
        return Some(("expect", text));
    }
    if text.contains("_test.go:")
        && let Some(message) = GO_TEST.name(text)
    {
        return Some(("go", message.trim()));
    }
    PLACED.name(text).map(|name| (name, "")).or_else(|| shapes::exception(text))
}

fn entry(name: &str, message: &str) -> String {
    // The values that an assertion compares are data, quoted or not.
    let quotes = if message.starts_with("assert ") { Quotes::Drop } else { Quotes::Keep };
    let start: String = normal(message, quotes).chars().take(MESSAGE_CHARS).collect();
    let entry = format!("{name}: {}", start.trim_end());
    entry.trim_end_matches([' ', ':']).to_owned()
}

fn keep(set: &mut BTreeSet<String>, entry: String) {
    insert_bounded(set, entry, EXCEPTIONS);
}

/// An assertion's values are data: `AssertionError: assert {'a': 1} == …`.
fn without_values(text: &str) -> &str {
    let bare = text.starts_with("assert ").then_some(0);
    let at = bare.or_else(|| text.find(": assert ").map(|at| at + 2));
    at.and_then(|at| text.get(..at + "assert".len())).unwrap_or(text)
}

fn without_level(line: &str) -> &str {
    ["[ERROR] ", "[FATAL] ", "[error] "].iter().find_map(|level| line.strip_prefix(level)).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use crate::diagnose::fingerprint;

    /// What a fingerprint is made of, with names of tests left out.
    #[track_caller]
    fn finds(text: &str, expected: &[&str]) {
        let evidence = fingerprint(text).unwrap().evidence;
        let messages: Vec<&str> = evidence.iter().filter_map(|e| e.strip_prefix("message: ")).collect();
        assert_eq!(messages, expected, "{text}");
    }

    #[track_caller]
    fn last(text: &str, expected: &[&str]) {
        let evidence = fingerprint(text).map(|print| print.evidence).unwrap_or_default();
        let lines = evidence.iter().filter(|line| !line.starts_with("message: "));
        assert_eq!(lines.collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn fp_04_types_and_messages() {
        let failed = |text: &str| format!("FAILED a.py::t\n{text}\n");
        for (text, expected) in [
            ("E   KeyError: 'a'", "KeyError: 'a'"),
            ("E   assert 1 == 2", "AssertionError: assert # == #"),
            ("Caused by: java.lang.Foo$BarException: x 3", "BarException: x #"),
            ("Exception in thread \"main\" java.lang.RuntimeException: w", "RuntimeException: w"),
            ("thread 'a' (12) panicked at src/l.rs:9:18:\nboom 3", "panic: boom #"),
            ("thread 'a' panicked at 'boom', src/l.rs:9", "panic: boom', <path>"),
            ("panic: runtime error: index", "panic: runtime error: index"),
            ("    a_test.go:12: got 3", "go: got #"),
            ("FAILED a.py::t - ValueError: x", "ValueError: x"),
            ("E  OSError: y\nFAILED a.py::t - OSE...", "OSError: y"),
            ("=> org.opentest4j.AssertionFailedError: expected: <1>", "AssertionFailedError: expected: <#>"),
            ("    a.b.Oops at BTest.kt:10", "Oops"),
        ] {
            finds(&failed(text), &[expected]);
        }
        finds(&failed("look at a.java:10\nfoo at bar:3\nall is well"), &[]);
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
        last("E   KeyError: 'a'\nx\nE   ValueError: b 3", &["KeyError: <text>", "ValueError: b #"]);
    }
}
