//! How many tests a runner says it collected, passed, failed and skipped. Every line is looked at, however long the output is: a count of
//! a part would look like tests that were deleted.

use std::sync::LazyLock;

use super::lines;
use crate::model::TestCounts;
use crate::text::{Pattern, group};

/// What a line says of tests.
#[derive(Clone, Copy)]
enum Form {
    /// Numbers with their words: `3 passed, 1 failed`, `Failed: 1`, `failures=1`.
    Parts,
    /// The number of all, and which of them did not pass.
    Total,
    /// Which of those counted by the line before did not pass.
    Rest,
    /// A test that ended like this.
    One,
}

struct Row {
    form: Form,
    pattern: Pattern,
}

const fn row(form: Form, pattern: &'static str) -> Row {
    Row { form, pattern: Pattern::new(pattern) }
}

/// The first that matches a line counts.
static ROWS: [Row; 21] = [
    // pytest
    row(
        Form::Parts,
        r"^=*\s*(?<parts>[0-9]+ (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?)\b.*) in [0-9.]+s",
    ),
    // cargo test
    row(Form::Parts, r"^test result: [A-Za-z]+\. (?<parts>.*)"),
    // cargo nextest
    row(Form::Parts, r"^\s*Summary \[[^\]]*\] +[0-9/]+ tests? run: (?<parts>.*)"),
    // node --test
    row(Form::Parts, r"^(?:ℹ|#) (?<parts>(?:pass|fail|cancelled|skipped|todo) [0-9]+)$"),
    // jest
    row(Form::Parts, r"^Tests: +(?<parts>.*), [0-9]+ total"),
    // vitest
    row(Form::Parts, r"^\s*Tests  +(?<parts>[0-9]+ .*) \([0-9]+\)$"),
    // mocha
    row(Form::Parts, r"^\s+(?<parts>[0-9]+ (?:passing|failing|pending))\b"),
    // deno
    row(Form::Parts, r"^(?:ok|FAILED) \| (?<parts>.*) \([0-9]"),
    // dotnet
    row(Form::Parts, r"(?:Passed|Failed)! +- (?<parts>Failed: .*), Total:"),
    // go test -v, go test -json
    row(Form::One, r"^\s*--- (?<word>PASS|FAIL|SKIP): "),
    row(Form::One, r#"^\{.*"Action":"(?<word>pass|fail|skip)".*"Test":"#),
    // unittest
    row(Form::Total, r"^Ran (?<total>[0-9]+) tests? in [0-9.]+s"),
    row(Form::Rest, r"^(?:OK|FAILED) \((?<parts>[a-z ]+=[0-9][^)]*)\)$"),
    // rspec
    row(Form::Total, r"^(?<total>[0-9]+) examples?, (?<parts>.*)"),
    // minitest
    row(Form::Total, r"^(?<total>[0-9]+) runs, [0-9]+ assertions, (?<parts>.*)"),
    // PHPUnit
    row(Form::Total, r"^OK \((?<total>[0-9]+) tests?, "),
    row(Form::Total, r"^Tests: (?<total>[0-9]+), Assertions: [0-9]+(?<parts>.*)"),
    // surefire: its last line, for those of the classes say how long they took
    row(
        Form::Total,
        r"^\[(?:INFO|ERROR|WARNING)\] Tests run: (?<total>[0-9]+), (?<parts>Failures: [0-9]+, Errors: [0-9]+, Skipped: [0-9]+)$",
    ),
    // ctest
    row(Form::Total, r"^[0-9]+% tests passed, (?<parts>[0-9]+ tests? failed) out of (?<total>[0-9]+)"),
    // GoogleTest
    row(Form::Total, r"^\[=+\] (?<total>[0-9]+) tests? from [0-9]+ test (?:suite|case)s? ran"),
    row(Form::Rest, r"^ *(?<parts>[0-9]+ FAILED) TESTS?$"),
];

/// Words of which one stands in every line that counts tests.
static WORDS: LazyLock<Option<regex::bytes::Regex>> = LazyLock::new(|| {
    let words = r"pass|fail|PASS|FAIL|SKIP|skip|Passed!|Failed!|pending|todo|cancelled|Ran [0-9]|OK \(|examples?, | runs, |[Tt]ests? (?:run|from)|Tests: |error|deselected";
    regex::bytes::Regex::new(words).ok()
});

#[derive(Default)]
pub(super) struct Tally {
    counts: TestCounts,
    found: bool,
}

/// Which count a runner's word is for; none for words that count no tests.
fn field<'c>(counts: &'c mut TestCounts, word: &str) -> Option<&'c mut u64> {
    Some(match word.to_ascii_lowercase().as_str() {
        "passed" | "pass" | "passing" | "xpassed" => &mut counts.passed,
        "failed" | "fail" | "failing" | "failure" | "failures" | "error" | "errors" | "cancelled"
        | "timed" | "exec" | "unexpected" | "test" | "tests" => &mut counts.failed,
        "skipped" | "skip" | "skips" | "ignored" | "pending" | "todo" | "xfailed" | "incomplete"
        | "expected" => &mut counts.skipped,
        _ => return None,
    })
}

impl Tally {
    /// Reads whole lines.
    pub(super) fn block(&mut self, block: &[u8]) {
        let Some(words) = WORDS.as_ref().filter(|words| words.is_match(block)) else {
            return;
        };
        for line in block.split(|byte| *byte == b'\n').filter(|line| words.is_match(line)) {
            let line = String::from_utf8_lossy(line);
            let shown = lines::visible(line.trim_end());
            self.line(&shown);
        }
    }

    fn line(&mut self, line: &str) {
        let Some((form, found)) = ROWS.iter().find_map(|row| Some((row.form, row.pattern.captures(line)?)))
        else {
            return;
        };
        let of_line = parts(group(&found, "parts"));
        let counts = &mut self.counts;
        let took_part = of_line.passed + of_line.failed + of_line.skipped;
        match form {
            Form::Parts => {
                counts.collected += took_part;
                counts.passed += of_line.passed;
            }
            Form::Total => {
                let total = group(&found, "total").parse().unwrap_or(0_u64);
                counts.collected += total;
                counts.passed += total.saturating_sub(of_line.failed + of_line.skipped);
            }
            Form::Rest => counts.passed = counts.passed.saturating_sub(of_line.failed + of_line.skipped),
            Form::One => {
                counts.collected += 1;
                if let Some(field) = field(counts, group(&found, "word")) {
                    *field += 1;
                }
            }
        }
        counts.failed += of_line.failed;
        counts.skipped += of_line.skipped;
        self.found = true;
    }

    pub(super) fn finish(self) -> Option<TestCounts> {
        self.found.then_some(self.counts)
    }
}

/// The numbers of a text, each counted for the word beside it: `1 failed`, `failures=1`, `Errors: 0`, `pass 3`.
fn parts(text: &str) -> TestCounts {
    static PART: Pattern = Pattern::new(
        r"^\s*(?:(?<n>[0-9]+) (?<word>[A-Za-z]+)|(?<before>[A-Za-z]+)[A-Za-z ]*(?:[=:] ?| )\s*(?<m>[0-9]+))",
    );
    let mut counts = TestCounts::default();
    for part in text.split([',', ';', '|', '.']) {
        let Some(found) = PART.captures(part) else { continue };
        let (number, word) = match group(&found, "n") {
            "" => (group(&found, "m"), group(&found, "before")),
            number => (number, group(&found, "word")),
        };
        if let Some(field) = field(&mut counts, word) {
            *field += number.parse::<u64>().unwrap_or(0);
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use crate::diagnose::Reader;
    use crate::model::TestCounts;

    #[track_caller]
    fn counted(output: &str, expected: Option<[u64; 4]>) {
        let mut reader = Reader::default();
        reader.push(output.as_bytes());
        let expected = expected.map(|[collected, passed, failed, skipped]| TestCounts {
            collected,
            passed,
            failed,
            skipped,
        });
        assert_eq!(reader.finish().tests, expected, "{output}");
    }

    #[test]
    fn every_runners_counts_are_read() {
        for (output, counts) in [
            ("===== 1 failed, 4 passed, 2 skipped, 1 xfailed, 3 warnings in 0.12s =====", [8, 4, 1, 3]),
            ("3 passed in 0.01s", [3, 3, 0, 0]),
            ("\x1b[32m===== \x1b[32m\x1b[1m2 passed\x1b[0m\x1b[32m in 0.02s\x1b[0m =====", [2, 2, 0, 0]),
            (
                "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.00s\n\
                 test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
                [8, 6, 1, 1],
            ),
            ("     Summary [   0.012s] 5 tests run: 4 passed (1 slow), 1 failed, 2 skipped", [7, 4, 1, 2]),
            ("# tests 5\n# suites 1\n# pass 3\n# fail 1\n# cancelled 0\n# skipped 1\n# todo 0", [5, 3, 1, 1]),
            ("ℹ tests 2\nℹ pass 2\nℹ fail 0\nℹ duration_ms 41", [2, 2, 0, 0]),
            (
                "Test Suites: 1 failed, 1 total\nTests:       1 failed, 1 skipped, 4 passed, 6 total",
                [6, 4, 1, 1],
            ),
            (" Test Files  1 passed (1)\n      Tests  1 failed | 4 passed | 1 skipped (6)", [6, 4, 1, 1]),
            ("  5 passing (10ms)\n  2 pending\n  1 failing\n", [8, 5, 1, 2]),
            (
                "=== RUN   TestA\n--- PASS: TestA (0.00s)\n    --- FAIL: TestB/x (0.1s)\n--- SKIP: TestC",
                [3, 1, 1, 1],
            ),
            (
                "{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"TestA\"}\n{\"Action\":\"pass\",\"Package\":\"p\"}",
                [1, 1, 0, 0],
            ),
            ("Ran 5 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1)", [5, 2, 2, 1]),
            ("Ran 2 tests in 0.001s\n\nOK", [2, 2, 0, 0]),
            ("Ran 3 tests in 0.001s\n\nOK (skipped=1, expected failures=1)", [3, 1, 0, 2]),
            ("10 examples, 1 failure, 2 pending", [10, 7, 1, 2]),
            ("5 runs, 9 assertions, 1 failures, 0 errors, 1 skips", [5, 3, 1, 1]),
            ("OK (5 tests, 9 assertions)", [5, 5, 0, 0]),
            ("Tests: 5, Assertions: 9, Failures: 1, Skipped: 1.", [5, 3, 1, 1]),
            (
                "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in a.BTest\n\
                 [ERROR] Tests run: 5, Failures: 1, Errors: 0, Skipped: 1",
                [5, 3, 1, 1],
            ),
            ("80% tests passed, 1 tests failed out of 5", [5, 4, 1, 0]),
            ("[==========] 5 tests from 2 test suites ran. (0 ms total)\n\n 1 FAILED TEST", [5, 4, 1, 0]),
            ("Failed!  - Failed:     1, Passed:     5, Skipped:     2, Total:     8", [8, 5, 1, 2]),
            ("ok | 5 passed | 0 failed | 1 ignored (12ms)", [6, 5, 0, 1]),
        ] {
            counted(output, Some(counts));
        }
        for output in ["", "all tests passed", "5 passed the exam", "error: 3 errors"] {
            counted(output, None);
        }
    }

    #[test]
    fn tests_are_counted_in_the_middle_of_a_long_output() {
        let noise = "nothing of note\n".repeat(300_000);
        let passes = "--- PASS: TestA (0.00s)\n".repeat(3);
        counted(&format!("{passes}{noise}{passes}{noise}{passes}{noise}"), Some([9, 9, 0, 0]));
    }
}
