//! Lines that speak of errors and report none, and lines that only say that there was one.

use super::super::reports_error;

/// How a line begins that never reports an error.
const QUIET: [&str; 32] = [
    "warning:",
    "warning[",
    "Warning:",
    "WARNING:",
    "npm warn",
    "npm WARN",
    "note:",
    "help:",
    "hint:",
    "Hint:",
    "= help:",
    "= note: `",
    "+ ",
    "++ ",
    "> ",
    "ok ",
    "--- PASS",
    "=== RUN",
    "PASS ",
    "SKIPPED ",
    "XFAIL ",
    "# Subtest",
    "For more information",
    "Some errors have",
    "Compiling ",
    "Checking ",
    "Running ",
    "checking ",
    "looking for ",
    "plugins: ",
    "http://",
    "https://",
];

/// How a line begins that says only that something failed, not what.
const WRAPPERS: [&str; 33] = [
    "error: test failed, to rerun",
    "error: doctest failed",
    "error: test run failed",
    "error: could not compile",
    "error: aborting due to",
    "error: linking with",
    "error: failed to run custom build command",
    "error: subprocess-exited-with-error",
    "error: metadata-generation-failed",
    "error: failed to push some refs",
    "Error: Process completed with exit code",
    "ERROR: ResolutionImpossible",
    "ERROR: usage:",
    "collect2: error:",
    "clang: error: linker command failed",
    "cc1: all warnings",
    "compilation terminated",
    "test result: FAILED",
    "Test executable failed",
    "FAILED (",
    "Result: FAIL",
    "Errors while running",
    "The following tests FAILED",
    "tar: Error is not recoverable",
    "tar: Child returned",
    "Automatic merge failed",
    "CMake Generate step failed",
    "-- Configuring incomplete",
    "[ERROR] To see the full stack",
    "[ERROR] For more information",
    "[ERROR] Re-run",
    "[ERROR] [Help",
    "(Use `node",
];

/// What has been read of a part that reports no errors.
#[derive(Default)]
pub(super) struct Noise {
    in_warnings: bool,
}

impl Noise {
    /// Whether a line says nothing of a failure.
    pub(super) fn skips(&mut self, line: &str) -> bool {
        if line.starts_with("===") {
            self.in_warnings = line.contains(" warnings summary ");
        }
        self.in_warnings || is_quiet(line) || is_code(line) || is_warning(line) || is_passing(line)
    }
}

fn is_quiet(line: &str) -> bool {
    QUIET.iter().any(|begin| line.starts_with(begin))
}

/// A line of source that a compiler or a runner shows: `12 | let x`, `| ^^^`.
fn is_code(line: &str) -> bool {
    let after = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = after.len() < line.len() && after.trim_start().starts_with('|');
    numbered || line.starts_with("| ") || line == "|"
}

fn is_warning(line: &str) -> bool {
    line.contains(": warning: ") || line.contains("Warning: ") || line.contains("  warning  ")
}

/// A test that passed, as runners list it.
fn is_passing(line: &str) -> bool {
    line.starts_with(['✓', '✔'])
        || line.ends_with(" ... ok")
        || line.contains(" ... ignored")
        || line.contains(" PASSED")
        || line.contains("   Passed  ")
        || is_zero(line)
}

/// `fail 0`, `"failed": 0,`, `"error": null`.
fn is_zero(line: &str) -> bool {
    let line = line.trim_end_matches(',');
    let value = line.rsplit([' ', ':', '=']).next().unwrap_or_default();
    let short = line.len() < 40 && line.split_whitespace().count() <= 3;
    short
        && matches!(
            value,
            "0" | "null" | "false" | "[]" | "none" | "None" | "undefined"
        )
}

/// Whether a line only says that something failed, or how many things did.
pub(super) fn is_summary(line: &str) -> bool {
    WRAPPERS.iter().any(|begin| line.starts_with(begin))
        || line.contains("previous error")
        || line.contains("aborted due to")
        || is_heading(line)
        || is_count(line)
        || is_makes(line)
}

/// `Failures:`, `stack traceback:`
fn is_heading(line: &str) -> bool {
    line.ends_with(':') && line.split_whitespace().count() <= 3 && !line.contains('/')
}

/// Whether a runner says that nothing failed: `1 example, 0 failures`, `test result: ok. …`.
pub(super) fn declares_success(line: &str) -> bool {
    let bare = line.trim_matches(['=', ' ']);
    bare.starts_with("test result: ok")
        || bare.starts_with(|c: char| c.is_ascii_digit())
            && [" 0 failed", " 0 failures", " 0 errors"]
                .iter()
                .any(|word| bare.contains(word))
            && !reports_error(bare)
}

/// `make[1]: *** [Makefile:3: x.o] Error 1`
fn is_makes(line: &str) -> bool {
    line.contains(": *** [") && line.contains("] Error ")
        || line.contains("not remade because of errors")
}

/// `1 failed, 2 passed`, `Found 2 errors in 1 file`, `✖ 3 problems (1 error)`.
fn is_count(line: &str) -> bool {
    let bare = line.trim_matches(['=', ' ', '!', '✖', '-']);
    let bare = bare.strip_prefix("Found ").unwrap_or(bare);
    let mut words = bare
        .split([' ', ',', ';', '(', ')', '|'])
        .filter(|w| !w.is_empty());
    let mut number = false;
    let counted = words.clone().take(12).any(|word| {
        let is = number
            && matches!(
                word.trim_end_matches('.'),
                "failed"
                    | "failures"
                    | "failure"
                    | "failing"
                    | "errors"
                    | "error"
                    | "problems"
                    | "problem"
            );
        number = word.bytes().all(|b| b.is_ascii_digit());
        is
    });
    let first = words.next().unwrap_or_default();
    let begins = first.starts_with(|c: char| c.is_ascii_digit())
        || matches!(
            first,
            "Tests" | "Tests:" | "Test" | "Summary" | "Interrupted:"
        );
    let short = bare.len() <= 60 && !bare.contains(':');
    let some = short && bare.contains("fail") && (begins || first.eq_ignore_ascii_case("ran"));
    some || counted && begins && !bare.contains(": ") || counted && first.starts_with("Test")
}

/// Whether a line speaks of an error that is past, overcome or only a name in the code.
pub(super) fn is_mild(line: &str) -> bool {
    let lower = line.to_lowercase();
    let over = [
        "no longer",
        "instead of",
        "fixed ",
        "now passes",
        "defaulting to",
        "falling back",
        "retrying",
        "reconnecting",
    ];
    let heading = line.bytes().all(|b| b.is_ascii_lowercase());
    heading || over.iter().any(|words| lower.contains(words)) || only_names(line)
}

/// Whether nothing but names of the code, `Error::Date` or `handles_error`, would make a line report
/// an error.
fn only_names(line: &str) -> bool {
    let is_name = |word: &str| {
        word.contains("::") || word.contains('_') && !word.contains(|c: char| c.is_uppercase())
    };
    line.split_whitespace().any(is_name) && {
        let rest: Vec<&str> = line.split_whitespace().filter(|w| !is_name(w)).collect();
        !reports_error(&rest.join(" "))
    }
}
