//! The failing tests' own lines: what each runner prints of a failure, wherever in the output it stands.

use std::collections::BTreeMap;

use super::go_event::Event;
use super::names::untimed;
use super::runners::{banner, junit_method, summary, unittest_name};
use super::shape;
use super::xml::Report;
use crate::text::{clean, plain_line};

/// More failing tests than these are named by the fingerprint, but nobody reads all their lines.
const TESTS: usize = 20;
/// Lines that are kept of a test, and characters of a line.
const LINES: usize = 6;
const LINE_CHARS: usize = 300;
/// Of a test that logs a lot, so many lines are the first ones; the others are the last.
const FIRST_LINES: usize = 2;
/// How long a test's message may get in one line.
const HEADLINE_CHARS: usize = 300;
/// How much of a line tells it from others.
const TELLING_CHARS: usize = 20;

/// Tests that may run at once, as far as what they print is remembered.
const RUNNING: usize = 200;
/// How a line begins that says which test runs now, and one that says that a test passed.
const STARTS: [&str; 4] = ["=== RUN ", "=== CONT ", "=== NAME ", "[ RUN      ] "];
const PASSES: [&str; 3] = ["--- PASS: ", "--- SKIP: ", "[       OK ] "];

/// What follows jest's dot without being a test.
const NO_TESTS: [&str; 3] = ["Console", "Cannot log after tests", "Validation"];

/// How lines begin after which nothing more is said of a failure: frames of a stack, and the next part of a report.
const ENDS: [&str; 27] = [
    "✔ ",
    "✓ ",
    "▶ ",
    "ℹ ",
    "test at ",
    "at ",
    "❯ ",
    "|",
    "> ",
    "note: run with",
    "stack backtrace:",
    "stack: |-",
    "failures:",
    "test result:",
    "Test Suites:",
    "Tests:",
    "Test run finished",
    "Finished in",
    "PASS ",
    "ok ",
    "=== ",
    "⎯⎯⎯",
    "[ERROR] Tests run:",
    "[INFO]",
    "JUnit ",
    "1..",
    "# Subtest",
];

/// How lines begin that say nothing of a failure but stand among those that do.
const NOISE: [&str; 14] = [
    "---",
    "...",
    "===",
    "duration_ms:",
    "type: '",
    "location: '",
    "failureType: '",
    "code: '",
    "name: '",
    "operator: '",
    "error: |-",
    "running ",
    "Traceback (most recent call last)",
    "# Failure",
];

/// A failing test and the lines that are its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailingTest {
    /// As its runner writes it.
    pub name: String,
    /// The message first.
    pub lines: Vec<String>,
}

impl FailingTest {
    /// Whether a line of the output names the test and says why it failed.
    pub(super) fn is_told_by(&self, line: &str) -> bool {
        let begins = |own: &String| own.chars().take(TELLING_CHARS).collect::<String>();
        line.contains(last_part(&self.name))
            && !line.ends_with(':')
            && self.lines.iter().any(|own| line.contains(&begins(own)))
    }

    /// The test and its message in one line.
    pub(super) fn headline(&self) -> String {
        let mut text = format!("{}:", self.name);
        for line in &self.lines {
            text.push_str(if text.ends_with(':') { " " } else { "; " });
            text.push_str(line);
        }
        plain_line(&text, HEADLINE_CHARS)
    }

    /// The test in a few lines, its own below its name.
    pub(super) fn shown(&self) -> impl Iterator<Item = String> {
        let own = self.lines.iter().map(|line| format!("  {line}"));
        std::iter::once(self.name.clone()).chain(own)
    }
}

/// Which of the lines that follow a test's name are its own.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Reading {
    #[default]
    Nothing,
    /// Those that pytest marks with `E`.
    Marked,
    /// Those that are indented.
    Indented,
    /// Those of a Python traceback that are no frames.
    Traceback,
    /// All until the stack or the next part of the report.
    Free,
    /// The same from the panic on: nextest shows what the test printed first.
    Panic,
    /// minitest gives the name on the line below the heading.
    Name,
}

/// Collects failing tests while an output is read.
#[derive(Default)]
pub(super) struct FailingTests {
    tests: Vec<FailingTest>,
    reading: Reading,
    /// The test whose lines are read now.
    open: usize,
    /// What tests that run now have printed so far: some runners say only afterwards that one failed.
    printed: BTreeMap<String, Vec<String>>,
    /// The test that prints now.
    running: Option<String>,
    /// pytest's short summary: the full name and the message.
    summary: Vec<FailingTest>,
    in_pytest_failures: bool,
    /// `1) suite` is a failing test only below `3 failing` or `Failures:`.
    in_numbered: bool,
    report: Report,
}

impl FailingTests {
    pub(super) fn line(&mut self, line: &str) {
        let text = line.trim();
        if let Some(failure) = self.report.line(line) {
            let parts = [failure.class.as_str(), failure.test.as_str()];
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            self.begin(&parts.join("."), Reading::Free);
            let kind = Some(failure.kind).filter(|kind| !failure.message.contains(kind.as_str()));
            let message = [kind.unwrap_or_default(), failure.message].join(": ");
            self.keep(message.trim_matches([':', ' ']));
            self.reading = Reading::Nothing;
        } else if self.report.in_test() || self.takes_header(line, text) {
        } else if let Some(name) = after_any(text, &STARTS) {
            self.reading = Reading::Nothing;
            self.running = Some(name.to_owned());
        } else if let Some(name) = after_any(text, &PASSES) {
            self.reading = Reading::Nothing;
            self.printed.remove(untimed(name));
        } else if self.reading != Reading::Nothing {
            self.read_own(line, text);
        } else if let Some(name) = self.running.take() {
            self.print(&name, text);
            self.running = Some(name);
        }
    }

    /// An event of `go test -json`, in which the lines of several tests are mixed.
    pub(super) fn event(&mut self, event: &Event) {
        if let Some((_, test)) = event.failed() {
            let printed = self.printed.remove(test).unwrap_or_default();
            self.begin(test, Reading::Nothing);
            self.keep_all(printed);
        } else if let Some(test) = event.test() {
            for line in event.output().lines().map(str::trim) {
                if !line.starts_with("=== ") && !line.starts_with("--- ") {
                    self.print(test, line);
                }
            }
        }
    }

    fn print(&mut self, test: &str, text: &str) {
        if self.printed.len() == RUNNING && !self.printed.contains_key(test) {
            self.printed.pop_first();
        }
        let printed = self.printed.entry(test.to_owned()).or_default();
        let fails = |line: &str| line.ends_with(": Failure");
        if fails(text) && !printed.iter().any(|line| fails(line)) {
            printed.clear();
        }
        keep_in(printed, text);
    }

    /// Whether a line names a failing test, or begins a part of the report.
    fn takes_header(&mut self, line: &str, text: &str) -> bool {
        if let Some(title) = banner(line, '=') {
            self.in_pytest_failures = matches!(title, "FAILURES" | "ERRORS");
            self.reading = Reading::Nothing;
            return true;
        }
        if let Some((name, message)) = summary(line) {
            if self.summary.len() < TESTS {
                let message = message.strip_suffix("...").unwrap_or(message);
                self.summary.push(FailingTest {
                    name: name.to_owned(),
                    lines: own(message).into_iter().collect(),
                });
            }
            return true;
        }
        if text == "Failures:" || text.strip_suffix(" failing").is_some_and(is_number) {
            self.in_numbered = true;
        }
        if self.reading == Reading::Name && !text.is_empty() {
            self.begin(text.trim_end_matches(':'), Reading::Free);
            return true;
        }
        if let Some(source) = text.strip_prefix("MethodSource [") {
            self.begin(&junit_method(source, ""), Reading::Free);
            return true;
        }
        if let Some(name) = text.strip_prefix("[  FAILED  ] ") {
            if let Some(printed) = self.printed.remove(untimed(name)) {
                self.begin(untimed(name), Reading::Nothing);
                self.keep_all(printed);
            }
            return true;
        }
        let Some((name, reading)) = self.header(line, text) else {
            return false;
        };
        let printed = self.printed.remove(untimed(name)).unwrap_or_default();
        self.begin(untimed(name), reading);
        self.keep_all(printed);
        true
    }

    fn header<'l>(&self, line: &'l str, text: &'l str) -> Option<(&'l str, Reading)> {
        if self.in_pytest_failures {
            let title = banner(line, '_')?;
            let name = title
                .rsplit_once(" of ")
                .filter(|_| title.starts_with("ERROR"));
            return Some((name.map_or(title, |(_, name)| name), Reading::Marked));
        }
        for lead in ["FAIL: ", "ERROR: "] {
            if let Some(name) = line.strip_prefix(lead)
                && unittest_name(name).is_some()
            {
                return Some((name, Reading::Traceback));
            }
        }
        if let Some(name) = text
            .strip_prefix("---- ")
            .and_then(|t| t.strip_suffix(" stdout ----"))
        {
            return Some((name, Reading::Free));
        }
        if let Some(name) = nextest(text) {
            return Some((name, Reading::Panic));
        }
        if let Some(name) = text.strip_prefix("● ") {
            let other = NO_TESTS.iter().any(|other| name.starts_with(other));
            return (!other).then_some((name, Reading::Free));
        }
        if let Some(name) = text.strip_prefix("FAIL ").filter(|n| n.contains(" > ")) {
            return Some((name.trim_start(), Reading::Free));
        }
        if let Some(name) = not_ok(text) {
            return Some((name, Reading::Free));
        }
        if let Some(name) = text.strip_prefix("✖ ") {
            return (untimed(name).len() < name.len()).then_some((name, Reading::Free));
        }
        if let Some(name) = after_any(text, &["--- FAIL: ", "=== FAIL: "]) {
            return Some((name, Reading::Indented));
        }
        if let Some((name, _)) = text.split_once(" <<< ")
            && text.starts_with("[ERROR]")
            && !text.contains("Tests run:")
        {
            let name = name.trim_start_matches("[ERROR]").trim();
            let name = name.split("Time elapsed").next().unwrap_or(name);
            return Some((name.trim_end_matches([' ', '-']), Reading::Free));
        }
        if let Some(name) = line.strip_suffix(" FAILED")
            && name.contains(" > ")
            && !name.contains("::")
            && !name.starts_with(' ')
        {
            return Some((name, Reading::Indented));
        }
        if let Some((before, _)) = text.split_once("***")
            && let Some((_, name)) = before.split_once(" Test ")
            && let Some((_, name)) = name.split_once(": ")
        {
            return Some((name.trim_end_matches(['.', ' ']), Reading::Free));
        }
        let (number, title) = text.split_once(") ")?;
        match title {
            _ if !is_number(number) => None,
            "Failure:" | "Error:" => Some(("", Reading::Name)),
            _ => self.in_numbered.then_some((title, Reading::Free)),
        }
    }

    /// Opens a test, unless its lines are known: runners repeat failures in a summary.
    fn begin(&mut self, name: &str, reading: Reading) {
        self.reading = Reading::Nothing;
        if reading == Reading::Name {
            self.reading = reading;
            return;
        }
        let name = plain_line(&clean(name), LINE_CHARS);
        let known = self.tests.iter().position(|test| test.name == name);
        let at = known.unwrap_or(self.tests.len());
        if known.is_none() {
            if name.is_empty() || at == TESTS {
                self.open = TESTS;
                return;
            }
            self.tests.push(FailingTest {
                name,
                lines: Vec::new(),
            });
        }
        let is_new = self.tests.get(at).is_some_and(|test| test.lines.is_empty());
        self.open = if is_new { at } else { TESTS };
        if is_new {
            self.reading = reading;
        }
    }

    fn read_own(&mut self, line: &str, text: &str) {
        let indented = line.starts_with([' ', '\t']);
        let panics = text.starts_with("thread '") && text.contains(" panicked at ");
        match self.reading {
            Reading::Nothing | Reading::Name => {}
            _ if text.is_empty() => {}
            Reading::Marked => {
                if let Some(text) = shape::marked(line) {
                    self.keep(text);
                }
            }
            Reading::Traceback if text.starts_with("====") || text.starts_with("Ran ") => {
                self.reading = Reading::Nothing;
            }
            Reading::Traceback if indented => {}
            Reading::Indented if !indented => self.reading = Reading::Nothing,
            Reading::Panic if text.starts_with("Error: ") => {
                self.reading = Reading::Free;
                self.keep(text);
            }
            Reading::Panic if !panics => {}
            Reading::Free | Reading::Panic if panics => {
                self.reading = Reading::Free;
                if let Some(test) = self.tests.get_mut(self.open) {
                    // What the test printed before is not why it failed.
                    test.lines.clear();
                }
                let at = text.find("panicked at ").unwrap_or_default();
                self.keep(text.get(at..).unwrap_or(text));
            }
            _ if is_end(text) => self.reading = Reading::Nothing,
            _ => self.keep(text),
        }
    }

    fn keep_all(&mut self, lines: Vec<String>) {
        lines.iter().for_each(|line| self.keep(line));
    }

    fn keep(&mut self, text: &str) {
        // Only where tests log as they run does the end of their lines tell more than the beginning.
        let logs = matches!(self.reading, Reading::Indented | Reading::Nothing);
        if let Some(test) = self.tests.get_mut(self.open)
            && (logs || test.lines.len() < LINES)
        {
            keep_in(&mut test.lines, text);
        }
    }

    /// Those with a message first.
    pub(super) fn finish(mut self) -> Vec<FailingTest> {
        for told in self.summary {
            let name = last_part(&told.name);
            let same = |test: &&mut FailingTest| {
                test.name == told.name || last_part(&test.name.replace('.', "::")) == name
            };
            if let Some(test) = self.tests.iter_mut().find(same) {
                test.name = told.name;
                if test.lines.is_empty() {
                    test.lines = told.lines;
                }
            } else if self.tests.len() < TESTS {
                self.tests.push(told);
            }
        }
        self.tests.sort_by_key(|test| test.lines.is_empty());
        self.tests
    }
}

/// A line as it is kept; none where it says nothing of a failure.
fn own(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text.strip_prefix("=> ").unwrap_or(text);
    let noise = NOISE.iter().any(|begin| text.starts_with(begin))
        || text.chars().all(|c| !c.is_alphanumeric())
        || text.ends_with(" ... FAILED");
    (!noise).then(|| plain_line(&clean(text), LINE_CHARS))
}

/// Keeps the first lines and the last ones.
fn keep_in(lines: &mut Vec<String>, text: &str) {
    let Some(line) = own(text) else { return };
    if lines.len() == LINES {
        lines.remove(FIRST_LINES);
    }
    lines.push(line);
}

/// What follows one of these beginnings.
fn after_any<'t>(text: &'t str, begins: &[&str]) -> Option<&'t str> {
    let after = begins.iter().find_map(|begin| text.strip_prefix(begin));
    after.map(str::trim)
}

fn is_end(text: &str) -> bool {
    let after = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_source = after.len() < text.len() && after.trim_start().starts_with('|');
    is_source
        || text.ends_with(" ... ok")
        || text.contains(" PASSED")
        || ENDS.iter().any(|begin| text.starts_with(begin))
}

fn is_number(text: &str) -> bool {
    text.parse::<u32>().is_ok()
}

/// `FAIL [   0.005s] (1/3) shop tests::adds`, and the same with `TIMEOUT` or a signal's name.
fn nextest(text: &str) -> Option<&str> {
    let (status, rest) = text.split_once(" [")?;
    if !matches!(status, "FAIL" | "TIMEOUT" | "ABORT") && !status.starts_with("SIG") {
        return None;
    }
    let (time, name) = rest.split_once("s] ")?;
    time.trim().parse::<f64>().ok()?;
    let name = name.trim_start();
    let counted = name.strip_prefix('(').and_then(|r| r.split_once(") "));
    Some(counted.map_or(name, |(_, name)| name).trim_start())
}

/// `not ok 3 - name`, unless it is to fail or to be skipped.
fn not_ok(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("not ok ")?;
    let name = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let name = name.trim_start().trim_start_matches("- ");
    let lower = name.to_ascii_lowercase();
    let meant = lower.contains("# todo") || lower.contains("# skip");
    (!meant && !name.is_empty()).then_some(name)
}

/// The test's own name, without the file, the suite or the class.
fn last_part(name: &str) -> &str {
    let name = name.rsplit(" › ").next().unwrap_or(name);
    let name = name.rsplit(" > ").next().unwrap_or(name);
    name.rsplit("::").next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use crate::diagnose::diagnose;

    /// Each output, the failing tests with their own lines, and what went wrong in one line.
    const CASES: [(&str, &str, &str); 15] = [
        (
            "=== FAILURES ===\n____ TestC.test_b ____\n\n    def test_b():\n>       assert add(1, 2) == 3, \"sum\"\n\
             E       AssertionError: sum\nE       assert -1 == 3\nE        +  where -1 = add(1, 2)\n\n\
             t/test_a.py:4: AssertionError\n--- Captured stdout call ---\nnoise\n=== short test summary info ===\n\
             FAILED t/test_a.py::TestC::test_b - AssertionError: sum...\n",
            "t/test_a.py::TestC::test_b\n  AssertionError: sum\n  assert -1 == 3\n  + where -1 = add(1, 2)",
            "t/test_a.py::TestC::test_b: AssertionError: sum; assert -1 == 3; + where -1 = add(1, 2)",
        ),
        (
            "FAILED a.py::test_x - KeyError: 'x'\n",
            "a.py::test_x\n  KeyError: 'x'",
            "FAILED a.py::test_x - KeyError: 'x'",
        ),
        (
            "FAIL: test_bad (m.A.test_bad)\n-----\nTraceback (most recent call last):\n  File \"a.py\", line 3, in test_bad\n    \
             self.assertEqual(1, 2)\nAssertionError: 1 != 2\n\n-----\nRan 3 tests in 0.001s\n",
            "test_bad (m.A.test_bad)\n  AssertionError: 1 != 2",
            "test_bad (m.A.test_bad): AssertionError: 1 != 2",
        ),
        (
            "---- tests::adds stdout ----\nprinted\n\nthread 'tests::adds' (7) panicked at src/lib.rs:4:68:\n\
             assertion `left == right` failed\n  left: -1\n right: 3\nnote: run with `RUST_BACKTRACE=1`\n\nfailures:\n    tests::adds\n",
            "tests::adds\n  panicked at src/lib.rs:4:68:\n  assertion `left == right` failed\n  left: -1\n  right: 3",
            "tests::adds: panicked at src/lib.rs:4:68: assertion `left == right` failed; left: -1; right: 3",
        ),
        (
            "        FAIL [   0.005s] (1/3) shop tests::adds\n  stdout ───\n\n    running 1 test\n    test tests::adds ... FAILED\n\n\
             \x20   failures:\n\n  stderr ───\n\n    thread 'tests::adds' panicked at src/lib.rs:9:9:\n    the queue is full\n",
            "shop tests::adds\n  panicked at src/lib.rs:9:9:\n  the queue is full",
            "shop tests::adds: panicked at src/lib.rs:9:9: the queue is full",
        ),
        (
            "  ● Math › adds\n\n    expect(received).toBe(expected)\n\n    Expected: 3\n    Received: 2\n\n      4 | x\n    > 5 | y\n\
             \x20     at Object.<anonymous> (a.test.js:5:3)\n",
            "Math › adds\n  expect(received).toBe(expected)\n  Expected: 3\n  Received: 2",
            "Math › adds: expect(received).toBe(expected); Expected: 3; Received: 2",
        ),
        (
            " FAIL  src/a.test.ts > Math > adds\nAssertionError: expected 2 to be 3\n ❯ src/a.test.ts:5:3\n",
            "src/a.test.ts > Math > adds\n  AssertionError: expected 2 to be 3",
            "src/a.test.ts > Math > adds: AssertionError: expected 2 to be 3",
        ),
        (
            "  1 failing\n\n  1) Math\n       adds:\n     AssertionError: 2 == 3\n      at Context.<anonymous> (a.js:3:1)\n",
            "Math\n  adds:\n  AssertionError: 2 == 3",
            "Math: adds: AssertionError: 2 == 3",
        ),
        (
            "not ok 1 - adds\n  ---\n  duration_ms: 1.2\n  location: '/p/a.js:2:1'\n  error: |-\n    Expected values to be equal:\n    \n\
             \x20   -1 !== 3\n  code: 'ERR_ASSERTION'\n  expected: 3\n  stack: |-\n    f (a.js:1:1)\n  ...\nok 2 - b\nnot ok 3 - c # TODO\n",
            "adds\n  Expected values to be equal:\n  -1 !== 3\n  expected: 3",
            "adds: Expected values to be equal: -1 !== 3; expected: 3",
        ),
        (
            "✖ adds (1.5ms)\n✔ ok 1 (0.1ms)\n\n✖ failing tests:\n\ntest at a.mjs:2:1\n✖ adds (1.5ms)\n  TypeError: x is not a function\n\
             \x20     at f (a.mjs:1:1)\n",
            "adds\n  TypeError: x is not a function",
            "adds: TypeError: x is not a function",
        ),
        (
            "=== RUN   TestA\n=== RUN   TestA/sub\n    a_test.go:4: got 3\n--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/sub (0.00s)\n\
             === RUN   TestB\n    a_test.go:9: fine\n--- PASS: TestB (0.00s)\nFAIL\n",
            "TestA/sub\n  a_test.go:4: got 3\nTestA",
            "TestA/sub: a_test.go:4: got 3",
        ),
        (
            "{\"Action\":\"output\",\"Package\":\"p\",\"Test\":\"TestB\",\"Output\":\"    b_test.go:4: boom\\n\"}\n\
             {\"Action\":\"output\",\"Package\":\"p\",\"Test\":\"TestC\",\"Output\":\"    c_test.go:1: fine\\n\"}\n\
             {\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"TestC\"}\n{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"TestB\"}\n",
            "TestB\n  b_test.go:4: boom",
            "TestB: b_test.go:4: boom",
        ),
        (
            "[ERROR] com.foo.BarTest.adds -- Time elapsed: 0.01 s <<< FAILURE!\norg.opentest4j.AssertionFailedError: expected: <1> but was: <2>\n\
             \tat com.foo.BarTest.adds(BarTest.java:10)\n[ERROR] Tests run: 1\n",
            "com.foo.BarTest.adds\n  org.opentest4j.AssertionFailedError: expected: <1> but was: <2>",
            "com.foo.BarTest.adds: org.opentest4j.AssertionFailedError: expected: <1> but was: <2>",
        ),
        (
            "<testcase classname=\"a.B\" name=\"x\">\n<failure message=\"no &lt;user&gt;\" type=\"E\">t</failure>\n</testcase>\n",
            "a.B.x\n  E: no <user>",
            "a.B.x: E: no <user>",
        ),
        (
            "[ RUN      ] S.a\nnoise\na.cc:3: Failure\nExpected: 1\n[  FAILED  ] S.a (3 ms)\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] S.a\n",
            "S.a\n  a.cc:3: Failure\n  Expected: 1",
            "S.a: a.cc:3: Failure; Expected: 1",
        ),
    ];

    #[test]
    fn the_own_lines_of_failing_tests_are_found_wherever_they_stand() {
        let passing: String = (0..2000).map(|n| format!("test ok_{n} ... ok\n")).collect();
        for (output, lines, headline) in CASES {
            for whole in [output.to_owned(), format!("{passing}{output}{passing}")] {
                let found = diagnose(&whole);
                assert_eq!(found.excerpt(500).as_deref(), Some(lines), "{output}");
                assert_eq!(found.headline().as_deref(), Some(headline), "{output}");
            }
        }
    }

    #[test]
    fn what_is_kept_of_failing_tests_is_bounded() {
        let endless = "x ".repeat(50_000);
        let failing: String = (0..500)
            .map(|n| {
                let logged = "    a_test.go:1: logged\n".repeat(50);
                format!("--- FAIL: Test{n} (0.00s)\n{logged}    a_test.go:9: {endless}\n")
            })
            .collect();
        let found = diagnose(&failing);
        assert_eq!(found.failing_tests.len(), super::TESTS);
        for test in &found.failing_tests {
            assert_eq!(test.lines.len(), super::LINES);
            assert!(test.lines[super::LINES - 1].starts_with("a_test.go:9: x x"));
            assert!(
                test.lines
                    .iter()
                    .all(|line| line.chars().count() <= super::LINE_CHARS)
            );
        }
        let shown = found.excerpt(500).unwrap();
        assert!(shown.chars().count() <= 500 && shown.starts_with("Test0\n  a_test.go:1: logged"));
    }
}
