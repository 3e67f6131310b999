//! The failing tests' own lines: what each runner prints of a failure, wherever in the output it stands.

use std::collections::BTreeMap;

use super::shapes;
use crate::text::{Pattern, clean, plain_line};

/// More failing tests than these are named by the fingerprint, but nobody reads all their lines.
const TESTS: usize = 20;
/// Lines that are kept of a test, and characters of a line.
const LINES: usize = 6;
const LINE_CHARS: usize = 300;
/// Of a test that logs a lot, so many lines are the first ones; the others are the last.
const FIRST_LINES: usize = 2;
const HEADLINE_CHARS: usize = 300;
/// How much of a line tells it from others.
const TELLING_CHARS: usize = 20;
/// Tests that may run at once, as far as what they print is remembered.
const RUNNING: usize = 200;

/// Lines after which nothing more is said of a failure: frames of a stack, shown source, and the next part of a report.
static END: Pattern = Pattern::new(concat!(
    r"^(?:[✔✓▶ℹ❯] |test at |at |\||> |[0-9]+ *\||note: run with|stack backtrace:|stack: \|-|failures:|test result:",
    r"|Test Suites:|Tests:|Test run finished|Finished in|PASS |ok |=== |⎯⎯⎯|\[ERROR\] Tests run:|\[INFO\]|JUnit |1\.\.|# Subtest)",
    r"| \.\.\. ok$| PASSED"
));

/// Lines that say nothing of a failure but stand among those that do.
static NOISE: Pattern = Pattern::new(concat!(
    r"^(?:---|\.\.\.|===|duration_ms:|(?:type|location|failureType|code|name|operator): '|error: \|-|running ",
    r"|Traceback \(most recent call last\)|# Failure)| \.\.\. FAILED$"
));

/// A failing test and the lines that are its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailingTest {
    pub name: String,
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
pub(super) enum Reading {
    #[default]
    Nothing,
    /// Those that pytest marks with `E`.
    Marked,
    Indented,
    /// Those of a Python traceback that are no frames.
    Traceback,
    /// All until the stack or the next part of the report.
    Free,
    /// The same from the panic on: nextest shows what the test printed first.
    Panic,
    /// minitest gives the name on the line below the heading.
    Name,
    /// None, but what the test has printed before, if anything.
    Printed,
}

/// Collects the lines of failing tests, whose names [`Runners`](super::runners::Runners) finds.
#[derive(Default)]
pub(super) struct OwnLines {
    tests: Vec<FailingTest>,
    reading: Reading,
    open: usize,
    /// What tests that run now have printed so far: some runners say only afterwards that one failed.
    printed: BTreeMap<String, Vec<String>>,
    running: Option<String>,
    /// pytest's short summary: the full name and the message.
    summary: Vec<FailingTest>,
}

impl OwnLines {
    pub(super) fn line(&mut self, line: &str) {
        let text = line.trim();
        if self.reading != Reading::Nothing {
            self.read(line, text);
        } else if let Some(name) = self.running.take() {
            self.print(&name, text);
            self.running = Some(name);
        }
    }

    /// Whether the next line with text is the name of a test.
    pub(super) fn expects_name(&self) -> bool {
        self.reading == Reading::Name
    }

    /// Opens a test, unless its lines are known: runners repeat failures in a summary.
    pub(super) fn begin(&mut self, name: &str, reading: Reading) {
        self.close();
        if reading == Reading::Name {
            self.reading = reading;
            return;
        }
        let printed = self.printed.remove(name);
        if reading == Reading::Printed && printed.is_none() {
            return;
        }
        let name = plain_line(&clean(name), LINE_CHARS);
        let at = match self.tests.iter().position(|test| test.name == name) {
            Some(at) => at,
            None if name.is_empty() || self.tests.len() == TESTS => return,
            None => {
                let lines = Vec::new();
                self.tests.push(FailingTest { name, lines });
                self.tests.len() - 1
            }
        };
        if self.tests.get(at).is_some_and(|test| test.lines.is_empty()) {
            (self.open, self.reading) = (at, reading);
        }
        printed.iter().flatten().for_each(|line| self.keep(line));
    }

    pub(super) fn close(&mut self) {
        (self.open, self.reading) = (TESTS, Reading::Nothing);
    }

    /// A test and its message, as a report gives them.
    pub(super) fn report(&mut self, name: &str, message: &str) {
        self.begin(name, Reading::Free);
        self.keep(message);
        self.close();
    }

    /// A test and its message in pytest's short summary.
    pub(super) fn summarize(&mut self, name: &str, message: &str) {
        if self.summary.len() < TESTS {
            let message = message.strip_suffix("...").unwrap_or(message);
            let (name, lines) = (name.to_owned(), Vec::from_iter(own(message)));
            self.summary.push(FailingTest { name, lines });
        }
    }

    /// What is printed from now on is this test's.
    pub(super) fn start(&mut self, name: &str) {
        self.reading = Reading::Nothing;
        self.running = Some(name.to_owned());
    }

    pub(super) fn pass(&mut self, name: &str) {
        self.reading = Reading::Nothing;
        self.printed.remove(name);
    }

    pub(super) fn print(&mut self, test: &str, text: &str) {
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

    fn read(&mut self, line: &str, text: &str) {
        let indented = line.starts_with([' ', '\t']);
        let panics = text.starts_with("thread '") && text.contains(" panicked at ");
        match self.reading {
            Reading::Nothing | Reading::Name | Reading::Printed => {}
            _ if text.is_empty() => {}
            Reading::Marked => {
                if let Some(text) = shapes::marked(line) {
                    self.keep(text);
                }
            }
            Reading::Traceback if text.starts_with("====") || text.starts_with("Ran ") => {
                self.close();
            }
            Reading::Traceback if indented => {}
            Reading::Indented if !indented => self.close(),
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
            _ if END.is_match(text) => self.close(),
            _ => self.keep(text),
        }
    }

    fn keep(&mut self, text: &str) {
        // Only where tests log as they run does the end of their lines tell more than the beginning.
        let logs = matches!(self.reading, Reading::Indented | Reading::Nothing | Reading::Printed);
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
    let noise = NOISE.is_match(text) || text.chars().all(|c| !c.is_alphanumeric());
    (!noise).then(|| plain_line(&clean(text), LINE_CHARS))
}

fn keep_in(lines: &mut Vec<String>, text: &str) {
    let Some(line) = own(text) else { return };
    if lines.len() == LINES {
        lines.remove(FIRST_LINES);
    }
    lines.push(line);
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
                assert_eq!(found.error_output(500).as_deref(), Some(lines), "{output}");
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
            assert!(test.lines.iter().all(|line| line.chars().count() <= super::LINE_CHARS));
        }
        let shown = found.error_output(500).unwrap();
        assert!(shown.chars().count() <= 500 && shown.starts_with("Test0\n  a_test.go:1: logged"));
    }
}
