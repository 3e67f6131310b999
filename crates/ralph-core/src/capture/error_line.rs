//! The line of an output that says what went wrong.

/// Words that a failing program uses of itself.
const TELLING: [&str; 14] = [
    "error",
    "errors",
    "failed",
    "failure",
    "failures",
    "fail",
    "fatal",
    "exception",
    "panicked",
    "cannot",
    "could not",
    "not found",
    "no such file",
    "assertion",
];

/// Phrases in which those words mean the opposite.
const HARMLESS: [&str; 12] = [
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
];

/// The last line that reports an error, if any does.
pub fn error_line(text: &str) -> Option<&str> {
    text.lines()
        .map(str::trim)
        .rfind(|line| reports_error(line))
}

fn reports_error(line: &str) -> bool {
    // A line of prose or data longer than this is no message.
    if line.is_empty() || line.len() > 2000 {
        return false;
    }
    let lower = line.to_lowercase();
    let last = lower.split_whitespace().next_back().unwrap_or_default();
    let passing = ["ok", "passed", "✓"].contains(&last) || lower.starts_with('✓');
    // As words: `10 errors` are not `0 errors`.
    if passing || HARMLESS.iter().any(|phrase| has_word(&lower, phrase)) {
        return false;
    }
    TELLING.iter().any(|word| has_word(&lower, word))
}

/// Whether a word stands alone: not in `error.rs`, not in `handles_error`.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let mut after = line[at + word.len()..].chars();
        let next = after.next();
        let file_name = next == Some('.') && after.next().is_some_and(is_part);
        !before.is_some_and(|c| is_part(c) || c == '/')
            && !next.is_some_and(|c| is_part(c) && !c.is_whitespace())
            && !file_name
    })
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
