//! What small pieces of text look like: exceptions, places in files, names of files, quoted text.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use regex::{Captures, Regex, RegexSet, Replacer};

/// A pattern that is compiled when it is first used.
pub(super) struct Pattern {
    text: &'static str,
    regex: OnceLock<Option<Regex>>,
}

impl Pattern {
    pub(super) const fn new(text: &'static str) -> Self {
        Self { text, regex: OnceLock::new() }
    }

    /// None for a pattern that does not compile; the tests use each of them.
    pub(super) fn regex(&self) -> Option<&Regex> {
        let regex = self.regex.get_or_init(|| Regex::new(self.text).ok());
        debug_assert!(regex.is_some(), "{}", self.text);
        regex.as_ref()
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(text))
    }

    pub(super) fn captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        self.regex()?.captures(text)
    }

    pub(super) fn replace_all(&self, text: &str, with: impl Replacer) -> String {
        self.regex().map_or_else(|| text.to_owned(), |regex| regex.replace_all(text, with).into_owned())
    }

    /// What the group `name` matches.
    pub(super) fn name<'t>(&self, text: &'t str) -> Option<&'t str> {
        Some(self.captures(text)?.name("name")?.as_str())
    }
}

/// Rows with a pattern each, of which all that match a text are found in one pass over it.
pub(super) struct Table<T: 'static> {
    rows: &'static [(T, &'static str)],
    compiled: OnceLock<Option<(RegexSet, Vec<Regex>)>>,
}

impl<T: Copy> Table<T> {
    pub(super) const fn new(rows: &'static [(T, &'static str)]) -> Self {
        Self { rows, compiled: OnceLock::new() }
    }

    /// The rows that match a text, in their order, each with what its pattern matches.
    pub(super) fn matches<'t>(&self, text: &'t str) -> Vec<(T, Captures<'t>)> {
        let compiled = self.compiled.get_or_init(|| {
            let texts = self.rows.iter().map(|(_, text)| text);
            let each: Option<Vec<Regex>> = texts.clone().map(|text| Regex::new(text).ok()).collect();
            RegexSet::new(texts).ok().zip(each)
        });
        debug_assert!(compiled.is_some(), "a pattern does not compile");
        let Some((set, each)) = compiled.as_ref().filter(|(set, _)| set.is_match(text)) else {
            return Vec::new();
        };
        let matching = set.matches(text).into_iter();
        let row = |at: usize| Some((self.rows.get(at)?.0, each.get(at)?.captures(text)?));
        matching.filter_map(row).collect()
    }
}

/// Adds to a set that keeps the first in order, so that the order in which items came does not matter.
pub(super) fn insert_bounded<T: Ord>(set: &mut BTreeSet<T>, item: T, most: usize) {
    set.insert(item);
    if set.len() > most {
        set.pop_last();
    }
}

/// Adds to a list that forgets its oldest.
pub(super) fn push_last(list: &mut Vec<String>, line: &str, most: usize) {
    if list.len() == most {
        list.remove(0);
    }
    list.push(line.to_owned());
}

/// What a group matched, else an empty text.
pub(super) fn group<'t>(found: &Captures<'t>, name: &str) -> &'t str {
    found.name(name).map_or("", |text| text.as_str())
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
static EXCEPTION_WORD: Pattern =
    Pattern::new(concat!(r"(?:^|[ \t])", exception!(), r"(?::[^ \t]*)?(?:[ \t]|$)"));

/// The exception that a text begins with, as in `pkg.ValueError: bad`: its last name, the message.
pub(super) fn exception(text: &str) -> Option<(&str, &str)> {
    let found = EXCEPTION.captures(text)?;
    Some((group(&found, "name"), group(&found, "message").trim()))
}

/// Whether an exception's name stands anywhere in a line.
pub(super) fn names_exception(line: &str) -> bool {
    EXCEPTION_WORD.is_match(line)
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
        let Some(next) = rest.strip_prefix([':', ',']) else {
            break;
        };
        rest = next;
    }
    let rest = rest.strip_prefix(')').map_or(rest, |r| r.strip_prefix(':').unwrap_or(r));
    let named = path.contains(|c: char| c.is_alphanumeric()) && !path.contains(['"', '<', '>', '|']);
    named.then_some(Place { path, numbers, rest })
}

/// pytest's closing line of a failure: `path:12: ValueError`.
pub(super) const RAISED_AT_TEXT: &str = r#"^[^ \t"<>|:][^ "<>|]*?:[0-9]+: (?<name>[A-Za-z][A-Za-z0-9_.]*)$"#;
static RAISED_AT: Pattern = Pattern::new(RAISED_AT_TEXT);

/// pytest's closing line of a failure, `path:12: ValueError`: the exception.
pub(super) fn raised_at(line: &str) -> Option<&str> {
    RAISED_AT.name(line)
}

/// The last part of a path.
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

/// Whether a word is the name of a file.
pub(super) fn is_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    if FILE_NAMES.contains(&name) {
        return true;
    }
    let Some((stem, ending)) = name.rsplit_once('.') else {
        return false;
    };
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
        assert!(names_exception("raised a.KeyError: here") && !names_exception("Errors: here"));
    }

    #[test]
    fn places_are_found() {
        let found = |line| place(line).map(|at| (at.path, at.numbers, at.rest));
        assert_eq!(found("a/b.c:12:5: error: x"), Some(("a/b.c", 2, " error: x")));
        assert_eq!(found("t.ts(1,5): error TS1: x"), Some(("t.ts", 2, " error TS1: x")));
        assert_eq!(found("C:\\a\\b.c:3: x"), Some(("C:\\a\\b.c", 1, " x")));
        assert_eq!(found("no place"), None);
        assert_eq!(raised_at("../t/test_a.py:3: KeyError"), Some("KeyError"));
        assert_eq!(raised_at("a.py:3: in f"), None);
        assert_eq!(raised_at("a.py:3: some words"), None);
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
