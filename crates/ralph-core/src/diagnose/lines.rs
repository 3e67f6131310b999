//! The lines of an output as a person would see them: no escapes, no overwritten progress, no clock; and without what
//! changes from run to run: numbers, hashes, times, paths and quoted text.

use std::borrow::Cow;

use regex::Captures;

use crate::text::{Pattern, clean, first_bytes, first_chars, group};

/// No test name or message begins later in its line than this.
pub(super) const LINE_BYTES: usize = 2000;

pub(super) fn raw_lines(output: &str) -> impl Iterator<Item = &str> {
    output.strip_suffix('\n').unwrap_or(output).split('\n')
}

/// What is left on the screen of a line: after the last carriage return, without escapes, cut to a bounded length.
pub(super) fn visible(line: &str) -> Cow<'_, str> {
    let last = line.rsplit('\r').find(|part| !part.trim().is_empty());
    // Room for escapes, which make a line longer than it looks.
    let last = first_bytes(last.unwrap_or_default(), LINE_BYTES * 4);
    match clean(last) {
        Cow::Borrowed(text) => Cow::Borrowed(first_bytes(text, LINE_BYTES).trim_end()),
        Cow::Owned(text) => Cow::Owned(first_bytes(&text, LINE_BYTES).trim_end().to_owned()),
    }
}

/// The date and time that a logger puts before a line. `May` is left out: it is a word.
static STAMP: Pattern = Pattern::new(concat!(
    r"^(?:\[(?:[^\]]{0,20}[ T])?[0-9]{2}:[0-9]{2}:[0-9]{2}[^\]]{0,20}\] ?",
    r"| *(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec|[0-9]{1,2}|[0-9]+[-/][0-9]+[-/][0-9]+) +){0,3}",
    r"(?:[0-9]+[-/][0-9]+[-/][0-9]+T)?[0-9]{2}:[0-9]{2}:[0-9]{2}[0-9.,Z+:-]*\]?(?: (?:UTC )?|$))"
));
/// The words by which loggers say how serious a line is, where that is nothing bad.
static LEVEL: Pattern = Pattern::new(r"^\[ *(?:INFO|DEBUG|TRACE|NOTICE|WARN|WARNING|VERBOSE) *\] ?");
static LEVEL_AFTER_STAMP: Pattern =
    Pattern::new(r"^[ -]*(?:INFO|DEBUG|TRACE|NOTICE|WARN|WARNING|VERBOSE)(?:[ :-]+|$)");

/// A line without the time stamp and the harmless level that a logger put before it.
pub(super) fn without_clock(line: &str) -> &str {
    let timed = after(&STAMP, line);
    let rest = timed.unwrap_or(line);
    after(&LEVEL, rest).or_else(|| after(&LEVEL_AFTER_STAMP, timed?)).unwrap_or(rest)
}

fn after<'t>(pattern: &Pattern, text: &'t str) -> Option<&'t str> {
    let found = pattern.regex()?.find(text)?;
    text.get(found.end()..)
}

/// More of a line says nothing more about it, and a bound keeps every search in it cheap.
const CHARS: usize = 400;

/// Whether quoted text is dropped as well.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    Drop,
    /// Normalized like the rest: it is often what a message is about.
    Keep,
}

/// Quoted text, with a literal's letter before it; or a word, perhaps with an apostrophe in it. The linker writes `f'.
static TOKEN: Pattern = Pattern::new(concat!(
    r#"(?<letter>[bfruBFRU]?)(?:"(?<a>(?:[^"\\]|\\.)*)"|'(?<b>(?:[A-Za-z0-9]'[A-Za-z0-9]|[^'\\]|\\.)*)'"#,
    r"|`(?<c>(?:[A-Za-z0-9]'[A-Za-z0-9]|[^`'\\]|\\.)*)[`']|‘(?<d>[^’]*)’|“(?<e>[^”]*)”|«(?<f>[^»]*)»)",
    r#"|(?<word>(?:[^ ()\[\]{}<>,;=|@*"'`‘“«]*[A-Za-z0-9]'[A-Za-z0-9])+[^ ()\[\]{}<>,;=|@*"'`‘“«]*"#,
    r#"|[^ ()\[\]{}<>,;=|@*"'`‘“«]+)"#
));
static NUMBER: Pattern = Pattern::new(concat!(
    r"[0-9]+(?:[.,:+_TeE-]{1,2}[0-9]+)*Z?",
    r"(?:(?:AM|PM|UTC|GMT|s|ms|us|µs|μs|ns|m|h|mins?|secs?|seconds?|minutes?|hours?)(?-u:\b))?"
));
/// Stands for a number, hex, a hash or a time alike, until `#` does: a hash may happen to be all digits.
const NUMBER_SIGN: &str = "\0";
/// A row of numbers counts as one, and a unit goes with its number.
static ROW: Pattern = Pattern::new(
    r"(?:# ?)?\x00(?: ?\x00| (?:AM|PM|UTC|GMT|s|ms|us|µs|μs|ns|m|h|mins?|secs?|seconds?|minutes?|hours?)(?-u:\b))*",
);
/// Weekdays and months as clocks write them. `May` is left out: it is a word.
static DAY: Pattern =
    Pattern::new("^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec)$");
static PATH: Pattern = Pattern::new(r"^(?:[^/]*/.*|[^\\]*\\.*\\.*|.:\\.*)$");

/// `line` with everything that varies replaced by a sign for its kind.
pub(super) fn normal(line: &str, quotes: Quotes) -> String {
    let line = first_chars(line, CHARS).split_whitespace().collect::<Vec<_>>().join(" ");
    let replaced = TOKEN.replace_all(&line, |found: &Captures<'_>| {
        if let Some(word) = found.name("word") {
            return normal_word(word.as_str());
        }
        let letter = group(found, "letter");
        let inside = ["a", "b", "c", "d", "e", "f"].iter().map(|name| group(found, name));
        match quotes {
            Quotes::Drop => format!("{letter}<text>"),
            Quotes::Keep => {
                let inside: String = inside.collect();
                format!("{letter}'{}'", normal(&inside, Quotes::Drop))
            }
        }
    });
    ROW.replace_all(&replaced, "#").into_owned()
}

fn normal_word(word: &str) -> String {
    let core = word.trim_end_matches([':', '.', '!', '?', '…']);
    let tail = word.get(core.len()..).unwrap_or_default();
    let is_path = PATH.is_match(core) && core.contains(|c: char| c.is_alphanumeric());
    let core = if is_path {
        "<path>".to_owned()
    } else if DAY.is_match(core) || is_random(core) {
        NUMBER_SIGN.to_owned()
    } else {
        normal_parts(core, &[':', '.', '_', '-'])
    };
    core + tail
}

/// Replaces the hashes among the parts of a word, as in `sha256:9fce…`, and the numbers elsewhere.
///
/// Only a word with a hash in it is taken apart: the parts of a number or a time belong together.
fn normal_parts(word: &str, separators: &[char]) -> String {
    let hashed = word.split(separators).any(is_random);
    let Some((&separator, others)) = separators.split_first().filter(|_| hashed) else {
        let signed = word.strip_prefix(['-', '+']);
        let number = signed.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        return NUMBER.replace_all(number.unwrap_or(word), NUMBER_SIGN).into_owned();
    };
    let parts = word.split(separator).map(|part| match is_random(part) {
        true => NUMBER_SIGN.to_owned(),
        false => normal_parts(part, others),
    });
    parts.collect::<Vec<_>>().join(&separator.to_string())
}

/// A hash, a UUID, an address or an identifier that a machine made up.
fn is_random(word: &str) -> bool {
    let hex = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
    if hex.is_some_and(|h| !h.is_empty() && h.bytes().all(|b| b.is_ascii_hexdigit())) {
        return true;
    }
    let hex_only = word.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    if hex_only && word.len() >= 7 && (digits > 0 || word.len() >= 8) {
        return word.contains(|c: char| c.is_ascii_hexdigit());
    }
    let changes = word
        .as_bytes()
        .windows(2)
        .filter(|pair| matches!(pair, [a, b] if a.is_ascii_digit() != b.is_ascii_digit()))
        .count();
    word.len() >= 8 && changes >= 4 && word.bytes().all(|b| b.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn seen(output: &str, expected: &[&str]) {
        let shown: Vec<_> = raw_lines(output).map(visible).collect();
        let bare: Vec<&str> = shown.iter().map(|line| without_clock(line)).collect();
        assert_eq!(bare, expected);
    }

    #[test]
    fn escapes_and_progress_are_gone() {
        seen("\u{1b}[31mE\u{1b}[0m   x\r\n", &["E   x"]);
        seen("10%\r 50%\r100% done  \nnext", &["100% done", "next"]);
        seen("\u{1b}]0;title\u{7}x\u{1b}(By\u{1b}", &["xy"]);
        assert!(visible(&"ä".repeat(5000)).len() <= LINE_BYTES);
    }

    #[test]
    fn clocks_and_levels_are_gone() {
        for line in [
            "12:03:04.123 [INFO]   x y",
            "[INFO]   x y",
            "2026-01-02T03:04:05.678Z   x y",
            "[2026-01-02 03:04:05]   x y",
            "Nov 16 01:24:59   x y",
            "2026/01/02 03:04:05   x y",
        ] {
            seen(line, &["  x y"]);
        }
        seen("2026-01-02 03:04:05,678 - INFO - x y", &["x y"]);
        seen("12:03:04 ERROR x y", &["ERROR x y"]);
        for line in ["[ERROR] x", "  1:33  error  x", "[1/2] x", "12 tests", "May 12 fail"] {
            seen(line, &[line]);
        }
    }

    #[track_caller]
    fn same(lines: &[&str], expected: &str) {
        for line in lines {
            assert_eq!(normal(line, Quotes::Drop), expected, "{line}");
        }
    }

    #[test]
    fn fp_03_what_varies_is_replaced() {
        same(&["took 3 ms", "took 1.5s", "took  350ms", "took 1m 20s"], "took #");
        same(&["at 0x7f3a", "at 12", "at 9fceb02d0ae598e95dc970b74767f19372d61af8"], "at #");
        same(&["id 550e8400-e29b-41d4-a716-446655440000.", "id 7."], "id #.");
        same(&["open /tmp/a1/x.log: no", "open ../b: no", "open C:\\x\\y: no"], "open <path>: no");
        same(&["on 2026-01-02T03:04:05Z", "on Nov 16 01:24:59", "on 12:03:04.123"], "on #");
        same(&["bad 'a b' x", "bad \"c\" x", "bad ‘d’ x", "bad `e' x"], "bad <text> x");
        same(&["got b'xx', f\"y\""], "got b<text>, f<text>");
        same(&["can't do Agent's job"], "can't do Agent's job");
        same(&["make[2]: *** [Makefile:12: all] Error 2"], "make[#]: *** [Makefile:#: all] Error #");
        same(
            &[
                "got sha256:9fceb02d0ae598e9",
                "got sha256:1dceb02d0ae598e9",
                "got sha256:550e8400-e29b-41d4-a716-446655440000",
            ],
            "got sha#:#",
        );
        same(&["app.9fceb02d.js", "app.0a0a0a0a.js"], "app.#.js");
        same(&["-5 < +7"], "# < #");
        same(&["an open ' only"], "an open ' only");
        same(&["root@f3f2bffc2bbc:/app#"], "root@<path>");
    }

    #[test]
    fn fp_04_quoted_text_can_be_kept() {
        assert_eq!(normal("KeyError: \"a 12\"", Quotes::Keep), "KeyError: 'a #'");
    }

    proptest! {
        #[test]
        fn any_line_is_taken_and_the_result_is_bounded(line in any::<String>()) {
            for quotes in [Quotes::Drop, Quotes::Keep] {
                let out = normal(&line, quotes);
                prop_assert!(!out.contains('\n'));
                prop_assert!(out.chars().count() <= CHARS * 6);
            }
        }

        #[test]
        fn fp_03_numbers_never_matter(a in 0u64.., b in 0u64..) {
            let line = |n: u64| format!("error {n} in line {n}: 0x{n:x} took {n}.5s at /tmp/{n}/x");
            prop_assert_eq!(normal(&line(a), Quotes::Drop), normal(&line(b), Quotes::Drop));
        }
    }
}
