//! What kind of error a text reports: a word or two for a commit message.

use std::fmt;

use super::error_words::{CATEGORIES, CAUSES, Phrases, STEPS};

/// A kind of error. Displays as it stands in a commit message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Something that should be on disk is not.
    MissingFile,
    /// Text that its language does not allow.
    Syntax,
    /// Types that do not fit.
    Type,
    /// Something is not allowed to the program.
    Permission,
    /// Something took too long.
    Timeout,
    /// A package or program that others need is missing or does not fit.
    Dependency,
    /// A test failed.
    TestFailure,
    /// Something cannot be built.
    Build,
    /// It runs, but does the wrong thing.
    Logic,
    /// None of these, or not known.
    Other,
}

impl ErrorKind {
    /// The kind that the text names, else that of the report's category.
    #[must_use]
    pub fn of(error: &str, category: Option<&str>) -> Self {
        let error = error.to_lowercase();
        let by_text = named(&error, &CAUSES)
            .or_else(|| of_absent_file(&error))
            .or_else(|| of_code(&error))
            .or_else(|| named(&error, &STEPS));
        by_text
            .or_else(|| of_category(category?))
            .unwrap_or(Self::Other)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::MissingFile => "missing file",
            Self::Syntax => "syntax",
            Self::Type => "type",
            Self::Permission => "permission",
            Self::Timeout => "timeout",
            Self::Dependency => "dependency",
            Self::TestFailure => "test failure",
            Self::Build => "build",
            Self::Logic => "logic",
            Self::Other => "error",
        })
    }
}

fn named(error: &str, table: &[Phrases]) -> Option<ErrorKind> {
    let found = table.iter().find(|(_, phrases)| names_any(error, phrases));
    found.map(|(kind, _)| *kind)
}

/// `File a.ts does not exist`: the file's name stands between.
fn of_absent_file(error: &str) -> Option<ErrorKind> {
    let is_absent = names_any(
        error,
        &[
            "not found",
            "does not exist",
            "could not find",
            "cannot find",
        ],
    );
    let is_file = names_any(error, &["file", "files", "directory", "folder"]);
    (is_absent && is_file).then_some(ErrorKind::MissingFile)
}

/// The codes of TypeScript (`TS2322`) and Rust (`E0308`).
fn of_code(error: &str) -> Option<ErrorKind> {
    let words = error.split(|c: char| !is_of_word(c));
    words.into_iter().find_map(|word| {
        let digits = word.strip_prefix("ts").or_else(|| word.strip_prefix('e'))?;
        let is_code = digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
        match (word.as_bytes().first()?, digits.as_bytes().first()?) {
            _ if !is_code => None,
            (b't', _) if digits == "2307" => Some(ErrorKind::MissingFile),
            (b't', b'1') => Some(ErrorKind::Syntax),
            (b't', _) => Some(ErrorKind::Type),
            (_, b'0') if digits == "0308" => Some(ErrorKind::Type),
            (_, b'0') => Some(ErrorKind::Build),
            _ => None,
        }
    })
}

fn of_category(category: &str) -> Option<ErrorKind> {
    let category = category.trim();
    let found = CATEGORIES
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(category));
    found.map(|(_, kind)| *kind)
}

fn names_any(text: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| names(text, phrase))
}

/// Whether the phrase stands in the text as whole words.
fn names(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + phrase.len()..).unwrap_or_default();
        !before.ends_with(is_of_word) && !after.starts_with(is_of_word)
    })
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kind(error: &str) -> String {
        ErrorKind::of(error, None).to_string()
    }

    #[test]
    fn rcg_05_the_kind_is_that_of_the_error() {
        for (expected, errors) in [
            (
                "missing file",
                &[
                    "File not found: src/parser.ts",
                    "ENOENT: no such file or directory, open 'a'",
                    "Error: Cannot find module './parser'",
                    "the file src/a.ts does not exist",
                    "src/a.ts(1,1): error TS2307: x",
                ][..],
            ),
            (
                "syntax",
                &[
                    "Syntax error in parser.ts line 42",
                    "SyntaxError: Unexpected token '}'",
                    "a.ts(3,4): error TS1005: ';' expected.",
                    "Parse error on line 3",
                ],
            ),
            (
                "type",
                &[
                    "error[E0308]: mismatched types",
                    "TypeError: undefined is not a function",
                    "a.ts(1,2): error TS2322: something",
                    "2 tests failed, one with E0308",
                ],
            ),
            (
                "permission",
                &[
                    "bash: ./x: Permission denied",
                    "EACCES: x",
                    "build failed: EPERM",
                ],
            ),
            (
                "timeout",
                &["Request timed out after 30 s", "test failed: timeout"],
            ),
            (
                "dependency",
                &["bash: jq: command not found", "No module named 'yaml'"],
            ),
            (
                "test failure",
                &["3 tests failed", "assertion failed: a == b"],
            ),
            (
                "build",
                &[
                    "error: could not compile `x`",
                    "error[E0433]: failed to resolve",
                    "Build failed",
                ],
            ),
            (
                "error",
                &[
                    "",
                    "It does not work",
                    "setTimeout is not defined",
                    "handle_timeout is red",
                    "E1234",
                    "ts",
                ],
            ),
        ] {
            for error in errors {
                assert_eq!(kind(error), expected, "{error}");
            }
        }
    }

    #[test]
    fn rcg_05_the_category_speaks_where_the_text_does_not() {
        for (category, expected) in [
            ("test_failure", "test failure"),
            ("build_error", "build"),
            ("missing_file", "missing file"),
            ("logic_error", "logic"),
            ("type_error", "type"),
            ("dependency_error", "dependency"),
            ("timeout", "timeout"),
            ("Timeout ", "timeout"),
            ("unknown", "error"),
            ("", "error"),
        ] {
            assert_eq!(
                ErrorKind::of("It broke", Some(category)).to_string(),
                expected
            );
        }
        let named = ErrorKind::of("File not found: a", Some("test_failure"));
        assert_eq!(named, ErrorKind::MissingFile);
    }

    proptest! {
        #[test]
        fn rcg_05_any_text_has_a_kind(error in any::<String>(), category in any::<String>()) {
            prop_assert!(!ErrorKind::of(&error, Some(&category)).to_string().is_empty());
        }
    }
}
