//! What small pieces of text look like: exceptions, places in files, names of files, quoted text.

use std::collections::BTreeSet;

use crate::text::{Pattern, group};

/// Adds to a set that keeps the first in order, so that the order in which items came does not matter.
pub(super) fn insert_bounded<T: Ord>(set: &mut BTreeSet<T>, item: T, most: usize) {
    set.insert(item);
    if set.len() > most {
        set.pop_last();
    }
}

/// The path and the name of an exception; its endings are listed here alone.
macro_rules! exception {
    () => {
        r"(?:(?:[A-Za-z0-9_.$\\]|::)*(?:[.$\\]|::))?(?<name>[A-Za-z][A-Za-z0-9_]*(?:Error|Exception|Failure|Failed|Fault|Exit|Interrupt|Expired|Timeout|Panic|_error)|Error|Exception|Failure|Failed|Fault|Exit|Interrupt|Expired|Timeout|Panic)"
    };
}

/// Node puts a code between name and message: `AssertionError [ERR_ASSERTION]: …`.
static EXCEPTION: Pattern =
    Pattern::new(concat!("^", exception!(), r"(?: \[[^\]]*\])?(?::(?<message>.*)|[ \t]*)$"));
pub(super) static EXCEPTION_WORD: Pattern =
    Pattern::new(concat!(r"(?:^|[ \t])", exception!(), r"(?::[^ \t]*)?(?:[ \t]|$)"));

/// The exception that a text begins with, as in `pkg.ValueError: bad`: its last name, the message.
pub(super) fn exception(text: &str) -> Option<(&str, &str)> {
    let found = EXCEPTION.captures(text)?;
    Some((group(&found, "name"), group(&found, "message").trim()))
}

/// The exception that pytest's explanation of a failure names; an assertion need not name its own.
pub(super) fn explained(text: &str) -> Option<(&str, &str)> {
    if text.starts_with("assert ") { Some(("AssertionError", text)) } else { exception(text) }
}

/// The text of a line that pytest marked.
pub(super) fn marked(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('E')?;
    (rest.is_empty() || rest.starts_with("  ")).then(|| rest.trim())
}

/// A place in a file at the beginning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place<'t> {
    pub(super) path: &'t str,
    /// How many numbers follow the path: the line, perhaps the column.
    pub(super) numbers: usize,
    pub(super) rest: &'t str,
}

/// `path:12:5: rest`, `path:12: rest` or `path(12,5): rest`.
pub(super) fn place(line: &str) -> Option<Place<'_>> {
    // The numbers follow the first `:` or `(` with a digit after it; a drive letter has none.
    let at = line
        .as_bytes()
        .windows(2)
        .position(|pair| matches!(pair, [b':' | b'(', digit] if digit.is_ascii_digit()))?;
    let path = line.get(..at)?;
    let mut rest = line.get(at + 1..)?;
    let mut numbers = 0;
    while rest.starts_with(|c: char| c.is_ascii_digit()) {
        numbers += 1;
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let Some(next) = rest.strip_prefix([':', ',']) else { break };
        rest = next;
    }
    let rest = rest.strip_prefix(')').map_or(rest, |r| r.strip_prefix(':').unwrap_or(r));
    let named = path.contains(|c: char| c.is_alphanumeric()) && !path.contains(['"', '<', '>', '|']);
    named.then_some(Place { path, numbers, rest })
}

/// pytest's closing line of a failure: `path:12: ValueError`.
pub(super) const RAISED_AT_TEXT: &str = r#"^[^ \t"<>|:][^ "<>|]*?:[0-9]+: (?<name>[A-Za-z][A-Za-z0-9_.]*)$"#;
pub(super) static RAISED_AT: Pattern = Pattern::new(RAISED_AT_TEXT);

pub(super) fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

static QUOTED: Pattern =
    Pattern::new(r#"`(?<a>[^`']*)[`']|"(?<b>[^"]*)"|'(?<c>[^']*)'|‘(?<d>[^’]*)’|“(?<e>[^”]*)”"#);

/// The first text between quotes, as the symbol that a message is about.
pub(super) fn quoted(message: &str) -> Option<&str> {
    let found = QUOTED.captures(message)?;
    let inside = found.iter().skip(1).flatten().next()?;
    Some(inside.as_str())
}

/// Endings by which a name without a directory is known as a file.
const ENDINGS: [&str; 46] = [
    "bash", "c", "cc", "cfg", "cjs", "conf", "cpp", "cs", "css", "dart", "env", "ex", "exs", "go", "gradle",
    "h", "hpp", "html", "ini", "java", "js", "json", "jsx", "kt", "lock", "lua", "md", "mjs", "php", "proto",
    "py", "rb", "rs", "scala", "scss", "sh", "sql", "swift", "toml", "ts", "tsx", "txt", "vue", "xml",
    "yaml", "yml",
];
const FILE_NAMES: [&str; 4] = ["Dockerfile", "Gemfile", "Justfile", "Makefile"];
/// Programs and libraries that are called like files.
const NOT_FILES: [&str; 5] = ["node.js", "next.js", "vue.js", "express.js", "three.js"];
/// Longer ones are not paths.
const PATH_CHARS: usize = 200;

/// The files that a line names, and whether a line number follows each: `src/lib.rs:12:5`.
pub(super) fn files_in(line: &str) -> impl Iterator<Item = (&str, bool)> {
    let around = |c: char| c.is_whitespace() || "()[]{}\"'`‘’“”,;<>|=".contains(c);
    line.split(around).filter_map(|word| {
        let word = word.trim_end_matches(['.', ':', '!', '?']);
        let (path, after) = word.split_once(':').unwrap_or((word, ""));
        let numbered = after.starts_with(|c: char| c.is_ascii_digit());
        is_file(path).then_some((path, numbered))
    })
}

pub(super) fn is_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    if FILE_NAMES.contains(&name) {
        return true;
    }
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let known = ENDINGS.iter().any(|own| own.eq_ignore_ascii_case(ending));
    // With a directory before it a name of any type is a file.
    let pathlike = path.contains('/')
        && ending.len() <= 8
        && ending.chars().all(|c| c.is_ascii_alphanumeric())
        && ending.chars().any(|c| c.is_ascii_alphabetic());
    let other = NOT_FILES.iter().any(|own| own.eq_ignore_ascii_case(name));
    !stem.is_empty() && !other && (known || pathlike) && path.chars().count() <= PATH_CHARS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_are_told_from_sentences() {
        for (text, expected) in [
            ("ValueError: bad", ("ValueError", "bad")),
            ("java.lang.NullPointerException", ("NullPointerException", "")),
            ("AssertionError [ERR_ASSERTION]: 2 == 3", ("AssertionError", "2 == 3")),
            ("std::runtime_error: x", ("runtime_error", "x")),
            ("a.Foo$BarException: x", ("BarException", "x")),
            ("Failed: no", ("Failed", "no")),
        ] {
            assert_eq!(exception(text), Some(expected), "{text}");
        }
        for text in ["Error in x", "error: x", "ValueErrors: x", "", "::", "a: Error"] {
            assert_eq!(exception(text), None, "{text}");
        }
        assert!(EXCEPTION_WORD.is_match("raised a.KeyError: here"));
        assert!(!EXCEPTION_WORD.is_match("Errors: here"));
    }

    #[test]
    fn places_are_found() {
        let found = |line| place(line).map(|at| (at.path, at.numbers, at.rest));
        assert_eq!(found("a/b.c:12:5: error: x"), Some(("a/b.c", 2, " error: x")));
        assert_eq!(found("t.ts(1,5): error TS1: x"), Some(("t.ts", 2, " error TS1: x")));
        assert_eq!(found("C:\\a\\b.c:3: x"), Some(("C:\\a\\b.c", 1, " x")));
        assert_eq!(found("no place"), None);
        assert_eq!(RAISED_AT.name("../t/test_a.py:3: KeyError"), Some("KeyError"));
        assert_eq!(RAISED_AT.name("a.py:3: in f"), None);
        assert_eq!(RAISED_AT.name("a.py:3: some words"), None);
    }

    #[test]
    fn the_first_quoted_text() {
        assert_eq!(quoted("undefined reference to `f'"), Some("f"));
        assert_eq!(quoted("cannot find `a` in `b`"), Some("a"));
        assert_eq!(quoted("‘y’ undeclared"), Some("y"));
        assert_eq!(quoted("none"), None);
    }

    #[test]
    fn ana_02_files_of_any_type_are_found_in_text() {
        let found = |line: &'static str| files_in(line).map(|(path, _)| path).collect::<Vec<_>>();
        assert_eq!(found(" --> src/lib.rs:3:5"), ["src/lib.rs"]);
        assert_eq!(found("File \"app/x.py\", line 3"), ["app/x.py"]);
        assert_eq!(found("cannot parse conf/app.yaml: bad"), ["conf/app.yaml"]);
        assert_eq!(found("in main.c:7: and Makefile."), ["main.c", "Makefile"]);
        assert_eq!(found("FAILED t/test_a.py::test_b"), ["t/test_a.py"]);
        for line in
            ["Node.js v18.2 needs self.assertEqual", "see https://x.org/a.rs, e.g. 1.5/2.0", "and/or .rs"]
        {
            assert_eq!(files_in(line).next(), None, "{line}");
        }
    }
}
