//! The rules one by one, and what holds for any output.

use crate::diagnose::error_line;
use crate::diagnose::lines::{LINE_BYTES, raw_lines, visible};
use proptest::prelude::*;

#[track_caller]
fn found(text: &str, expected: &str) {
    assert_eq!(error_line(text).as_deref(), Some(expected));
}

#[test]
fn ext_02_errors_are_found_and_harmless_words_are_not() {
    for line in [
        "error[E0433]: failed to resolve",
        "FAILED tests/test_a.py::test_b - assert 1 == 2",
        "sh: 1: frobnicate: not found",
        "cat: x: No such file or directory",
        "thread 'main' panicked at src/main.rs:3",
        "FAIL: greeting is missing",
        "10 errors, 3 warnings",
        "error: cannot open notebook",
        "make: *** [Makefile:3: check] Error 1",
    ] {
        found(line, line);
    }
    for line in [
        "0 errors, 3 warnings",
        "\"is_error\": false",
        "\"failed\": 0,",
        "# fail 0",
        "compiling src/error.rs",
        "test handles_error ... ok",
        "test_e.py::test_error[fatal error] PASSED   [ 50%]",
        "a.c:2:3: warning: unused variable 'failed'",
        "+ grep error log.txt",
        "no errors found",
        "all is well",
        "",
    ] {
        assert_eq!(error_line(line), None, "{line}");
    }
}

#[test]
fn the_last_stated_error_counts_and_the_first_compiler_error() {
    found("error: a\nfine\nerror: b\nbye", "error: b");
    found("a.c:1:2: error: x\na.c:3:4: error: y\n", "a.c:1:2: error: x");
    found("error: x\n --> a.rs:1:2\nerror: y\n --> a.rs:2:2\n", "error: x");
    found("a.ts(1,5): error TS2322: x\na.ts(2,5): error TS1: y", "a.ts(1,5): error TS2322: x");
    found("/p/a.js\n  1:5  error  x  rule\n  2:1  error  y  rule", "1:5  error  x  rule");
}

#[test]
fn counts_and_wrappers_give_way() {
    for wrapper in [
        "1 failed, 2 passed in 0.1s",
        "error: could not compile `a` (lib) due to 1 previous error",
        "error: test failed, to rerun pass `--lib`",
        "make[1]: *** [Makefile:3: x.o] Error 1",
        "Error: Process completed with exit code 1.",
        "Found 3 errors in 1 file (checked 2 source files)",
        "✖ 5 problems (3 errors, 2 warnings)",
        "Tests:       1 failed, 1 passed, 2 total",
        "collect2: error: ld returned 1 exit status",
    ] {
        let text = format!("cp: cannot stat 'a': No such file or directory\n{wrapper}\n");
        found(&text, "cp: cannot stat 'a': No such file or directory");
        found(wrapper, wrapper);
    }
}

#[test]
fn pytest_names_the_first_failure() {
    let marks = "E       AssertionError: assert 'aa' == 'ab'\nE         - ab\n\na.py:3: AssertionError\n\
                 E       KeyError: 'x'\n";
    let whole = "FAILED a.py::test_a - AssertionError: assert 'aa' == 'ab'";
    found(&format!("{marks}{whole}\nFAILED a.py::test_b - KeyError: 'x'\n"), whole);
    // A summary that was cut or says nothing leaves the word to the explanation.
    let mark = "E       AssertionError: assert 'aa' == 'ab'";
    found(&format!("{marks}FAILED a.py::test_a - AssertionError: as...\n"), mark);
    found(&format!("{marks}ERROR a.py\n"), mark);
    found(
        "E     File \"a.py\", line 1\nE       x(\nE   SyntaxError: bad\nERROR a.py",
        "E   SyntaxError: bad",
    );
    let link = "The above exception was the direct cause of the following exception:";
    found(&format!("E   KeyError: 1\n\n{link}\n\nE   a.MyError: 2\nE   b.MyError: 3"), "E   a.MyError: 2");
}

#[test]
fn the_end_of_the_last_traceback_counts() {
    let traceback = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\n";
    found(&format!("{traceback}KeyError: 1\n{traceback}Odd: 2\ndone, no errors"), "Odd: 2");
    found(&format!("  {}Odd: 2\n", traceback.replace('\n', "\n  ")), "Odd: 2");
    let ruler = "=".repeat(70);
    found(&format!("{ruler}\nx\n{ruler}\n{traceback}A: 1\n{traceback}B: 2\n"), "B: 2");
    let head = format!("{}\nFAIL: test_a (a.T)\n-----\n", "=".repeat(70));
    found(
        &format!("{head}{traceback}AssertionError: a\n{head}{traceback}AssertionError: b\n"),
        "AssertionError: a",
    );
}

#[test]
fn a_panic_says_why_and_where_if_why_says_nothing() {
    let at = "thread 'tests::a' (12) panicked at src/lib.rs:1:2:";
    found(&format!("error: noise\n{at}\nthe queue is full\nnote: run with"), "the queue is full");
    found(&format!("{at}\nassertion `left == right` failed\n  left: 1\n"), at);
    found(&format!("{at}\nassertion `left == right` failed: sum\n"), "assertion `left == right` failed: sum");
    let old = "thread 'main' panicked at 'boom', src/main.rs:2:5";
    found(old, old);
    found(at, at);
}

#[test]
fn jest_names_the_message_or_else_the_test() {
    let console = "● Console\n\n  console.error\n    Error: retry 1 failed\n\n";
    found(&format!("{console}  ● pays\n\n    card was declined\n"), "card was declined");
    found(&format!("{console}  ● adds\n\n    expect(received).toBe(expected)\n"), "● adds");
}

#[test]
fn what_tests_print_and_warn_of_is_not_why_they_failed() {
    let console = "  ● Console\n\n    console.error\n      Error: retry 1 failed\n\n";
    assert_eq!(error_line(&format!("{console}Tests:       1 passed, 1 total\n")), None);
    found(&format!("{console}Test Suites: 1 passed\nerror: a\n"), "error: a");
    let warnings = "=== warnings summary ===\na.py::test_a\n  old() fails: an error\n";
    assert_eq!(error_line(&format!("{warnings}=== 1 passed, 1 warning ===\n")), None);
    found(&format!("{warnings}=== x ===\nerror: a\n"), "error: a");
}

#[test]
fn linkers_say_it_before_the_compiler_does() {
    for line in [
        "main.c:(.text+0xa): undefined reference to `start'",
        "/usr/bin/ld: a.o:(.data+0x0): multiple definition of `total'; b.o: first defined here",
        "/usr/bin/ld: cannot find -lfrob: No such file or directory",
        "= note: rust-lld: error: undefined symbol: start",
    ] {
        found(&format!("error: linking with `cc` failed\n{line}\nerror: late\n"), line);
    }
}

#[test]
fn npms_own_lines_are_sorted_out() {
    let noise = "npm error A complete log of this run can be found in: x.log";
    found(
        &format!("npm error code ENOENT\nnpm error path /p\nnpm error enoent Could not read x\n{noise}"),
        "npm error enoent Could not read x",
    );
    found(
        &format!("sh: 1: lint: not found\nnpm ERR! code ELIFECYCLE\nnpm ERR! errno 127\n{noise}"),
        "sh: 1: lint: not found",
    );
}

#[test]
fn what_is_past_or_only_a_name_is_no_error() {
    for line in [
        "The parser no longer crashes on an invalid date.",
        "Added `Error::Date` to the enum.",
        "Start 1: handles_error",
        "https://example.org/docs/#error-name",
        "Model x not found. Defaulting to y.",
        "The error is gone.",
        "none failed",
        "All 12 tests ran and none of them failed.",
        "Nothing failed, no test fails any more.",
        "It does not fail now; the exception was fixed.",
        "Ran the suite without any failures",
    ] {
        assert_eq!(error_line(line), None, "{line}");
    }
}

#[test]
fn a_runner_that_counts_no_failure_is_believed() {
    let listed = "errors\n  raises ArgumentError when invalid\n\n";
    assert_eq!(error_line(&format!("{listed}1 example, 0 failures\n")), None);
    found(&format!("{listed}1 example, 1 failure\n"), "raises ArgumentError when invalid");
    found("3 passed, 0 failed\nerror: no space\n", "error: no space");
    found("a.c:1:2: error: x\n3 passed, 0 failed\n", "a.c:1:2: error: x");
}

#[test]
fn what_the_system_says_ranks_above_talk_and_places_above_hints() {
    let shell = "run.sh: line 6: scp: command not found";
    found(&format!("{shell}\ndeploy failed at line 6 (exit 127)\n"), shell);
    let bracket = "run.sh: line 2: [: abc: integer expression expected";
    found(&format!("{bracket}\nthe deploy failed\n"), bracket);
    found("a.proto:2:13: no type.\na.proto:3:1: no name.\nunknown x", "a.proto:2:13: no type.");
    found("lua: a.lua:2: nil value\nstack traceback:\n", "lua: a.lua:2: nil value");
    found("$x is not declared at a.pl line 2.", "$x is not declared at a.pl line 2.");
    found("loading\nReached maximum number of turns (3)", "Reached maximum number of turns (3)");
    assert_eq!(error_line("a.py:1: note: see the guide\n12 files"), None);
}

#[test]
fn names_of_failing_tests_are_found() {
    for line in [
        "not ok 2 - parses",
        "SIGSEGV [   0.006s] (1/1) shop tests::reads",
        "TIMEOUT [   1.002s] (1/1) inv waits",
        "1/2 Test #1: adds ....***Failed    0.00 sec",
        "#   Failed test 'adds'",
        "✘ [fail]: adds",
        "case totals: FAIL (want 12, have 13)",
    ] {
        found(&format!("error: noise\n{line}\nerror: test run failed\n"), line);
    }
    found("--- FAIL: TestA (0.00s)\n    a_test.go:9: got 1\nFAIL\n", "a_test.go:9: got 1");
    found("--- FAIL: TestA (0.00s)\nFAIL\n", "--- FAIL: TestA (0.00s)");
    found("  1) Failure:\nT#test_a [t.rb:5]:\nExpected: 4\n", "T#test_a [t.rb:5]:");
    found("not ok 1 - a\n  error: |-\n    Expected 3\n  code: 'x'\n", "Expected 3");
}

#[test]
fn exceptions_count_with_what_stands_before_them() {
    for line in [
        "TypeError: x is not a function",
        "Exception in thread \"worker-1\" java.lang.IllegalStateException: no port",
        "AssertionError [ERR_ASSERTION]: 2 == 3",
        "panic: runtime error: index out of range",
        "what():  queue is full",
    ] {
        found(&format!("error: noise\n{line}\n    at f (a.js:1:2)\nTypeError: later\n"), line);
    }
}

#[test]
fn a_very_long_error_line_is_cut() {
    let long = format!("error: {}", "é".repeat(LINE_BYTES));
    let line = error_line(&format!("error: a\n{long}\n")).unwrap();
    assert!(long.starts_with(&line) && line.len() > LINE_BYTES - 4);
}

#[test]
fn large_outputs_are_read_in_linear_time() {
    for unit in ["E  x\n", "a.c:1:2: error: x\n", "error: x\n", ":1", "● a\n", "1 failed ", "::Error "] {
        let text = unit.repeat(400_000 / unit.len());
        assert!(error_line(&text).is_none_or(|line| line.len() <= LINE_BYTES));
    }
}

/// Pieces of what the rules look for, in orders that no program writes.
const PIECES: [&str; 40] = [
    "FAILED ",
    "ERROR ",
    "a.py::t",
    " - ",
    "...",
    "====",
    " warnings summary ",
    "E   ",
    "assert ",
    "KeyError: ",
    "Traceback (most recent call last):\n",
    "  File \"a\"\n",
    "| ",
    "+ ",
    "thread 'a' panicked at ",
    "● ",
    "Console",
    "expect(",
    "--- FAIL: ",
    "x_test.go:1: ",
    "1) Failure:\n",
    "error: |-\n",
    "error: ",
    "error[E1]: ",
    " --> ",
    "F401 ",
    "a.c:1:2: ",
    "a(1,2): ",
    "1:2  error  ",
    "npm error ",
    "code ",
    "make: *** [",
    "] Error 1",
    "1 failed",
    "::",
    "é",
    "\r",
    "\n",
    "\n\n",
    "\u{2028}",
];

fn mixture() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => proptest::sample::select(PIECES.to_vec()).prop_map(str::to_owned),
        1 => "\\PC{0,5}",
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn is_a_trimmed_line(text: &str) {
    if let Some(line) = error_line(text) {
        assert!(!line.is_empty() && line.trim() == line);
        let mut lines = raw_lines(text).map(visible);
        assert!(lines.any(|shown| shown.trim() == line), "{line:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_taken(text in any::<String>()) {
        is_a_trimmed_line(&text);
    }

    #[test]
    fn any_mixture_of_known_pieces_is_taken(text in mixture()) {
        is_a_trimmed_line(&text);
    }
}
