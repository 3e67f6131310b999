//! The line of an output that says what went wrong.

use crate::fingerprint::reports_error;

/// A line of prose or data longer than this is no message.
const LONGEST: usize = 2000;

/// The last line that reports an error, if any does.
pub fn error_line(text: &str) -> Option<&str> {
    text.lines()
        .map(str::trim)
        .rfind(|line| line.len() <= LONGEST && reports_error(line))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ] {
            assert_eq!(error_line(line), Some(line));
        }
        for line in [
            "0 errors, 3 warnings",
            "\"is_error\": false",
            "compiling src/error.rs",
            "test handles_error ... ok",
            "all is well",
            "",
        ] {
            assert_eq!(error_line(line), None, "{line}");
        }
    }

    #[test]
    fn the_last_one_counts() {
        assert_eq!(
            error_line("error: a\nfine\nerror: b\nbye"),
            Some("error: b")
        );
    }
}
