//! Lines without what changes from run to run: numbers, hashes, times, paths and quoted text.

use super::quotes::{closing_quote, is_apostrophe, is_quote};
use super::shape;

/// Stands for numbers, hex, hashes and times alike: a hash may happen to be all digits.
const NUMBER: &str = "#";
const PATH: &str = "<path>";
const TEXT: &str = "<text>";

/// More of a line says nothing more about it, and a bound keeps every search in it cheap.
const CHARS: usize = 400;

/// Words after a number that make it a time.
const UNITS: [&str; 22] = [
    "AM", "PM", "UTC", "GMT", "s", "ms", "us", "µs", "μs", "ns", "m", "h", "min", "mins", "sec",
    "secs", "second", "seconds", "minute", "minutes", "hour", "hours",
];

/// Whether quoted text is dropped as well.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    /// Dropped.
    Drop,
    /// Normalised like the rest: it is often what a message is about.
    Keep,
}

/// `line` with everything that varies replaced by a sign for its kind.
pub(super) fn normal(line: &str, quotes: Quotes) -> String {
    let chars: Vec<char> = line.chars().take(CHARS).collect();
    let mut out = Out::default();
    let mut at = 0;
    // Quotes that do not close: looking again for each would take the square of the time.
    let mut unclosed: Vec<char> = Vec::new();
    while let Some(&c) = chars.get(at) {
        let quotation = if is_quote(c) && !unclosed.contains(&c) && !is_apostrophe(&chars, at) {
            closing_quote(&chars, at)
        } else {
            None
        };
        if c.is_whitespace() {
            out.blank();
            at += 1;
        } else if let Some(end) = quotation {
            match quotes {
                Quotes::Drop => out.push(TEXT),
                Quotes::Keep => {
                    let inside: String =
                        chars.get(at + 1..end).unwrap_or_default().iter().collect();
                    out.push("'");
                    out.push(&normal(&inside, Quotes::Drop));
                    out.push("'");
                }
            }
            at = end + 1;
        } else if is_delimiter(c) {
            out.push(c.encode_utf8(&mut [0; 4]));
            at += 1;
        } else {
            if is_quote(c) && !is_apostrophe(&chars, at) {
                unclosed.push(c);
            }
            let rest = chars.get(at..).unwrap_or_default();
            // A quote ends a word only where it opens something, or is no apostrophe.
            let length = rest
                .iter()
                .enumerate()
                .position(|(i, &c)| {
                    c.is_whitespace()
                        || is_delimiter(c)
                        || (is_quote(c) && i > 0 && !is_apostrophe(&chars, at + i))
                })
                .unwrap_or(rest.len())
                .max(1);
            let word: String = rest.iter().take(length).collect();
            push_word(&mut out, &word);
            at += length;
        }
    }
    out.finish()
}

/// Text under construction: single blanks, and a row of numbers counts as one.
#[derive(Default)]
struct Out {
    text: String,
}

impl Out {
    fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
    }

    fn push(&mut self, part: &str) {
        if part == NUMBER && self.text.trim_end().ends_with(NUMBER) {
            self.text.truncate(self.text.trim_end().len());
            return;
        }
        self.text.push_str(part);
    }

    fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        self.text
    }
}

fn push_word(out: &mut Out, word: &str) {
    let core = word.trim_end_matches([':', '.', '!', '?', '…']);
    let tail = word.get(core.len()..).unwrap_or_default();
    if is_path(core) {
        out.push(PATH);
    } else if shape::is_day_or_month(core) || is_random(core) {
        out.push(NUMBER);
    } else if UNITS.contains(&core) && out.text.ends_with("# ") {
        // `3 ms`: the unit goes with the number.
        out.text.truncate(out.text.trim_end().len());
    } else {
        push_parts(out, core, &[':', '.', '_', '-']);
    }
    out.push(tail);
}

/// Replaces the hashes among the parts of a word, as in `sha256:9fce…`, and the numbers elsewhere.
///
/// Only a word with a hash in it is taken apart: the parts of a number or a time belong together.
fn push_parts(out: &mut Out, word: &str, separators: &[char]) {
    let hashed = word.split(separators).any(is_random);
    let Some((&separator, others)) = separators.split_first().filter(|_| hashed) else {
        push_numbers(out, word);
        return;
    };
    for (i, part) in word.split(separator).enumerate() {
        if i > 0 {
            out.text.push(separator);
        }
        if is_random(part) {
            out.push(NUMBER);
        } else {
            push_parts(out, part, others);
        }
    }
}

/// Replaces the numbers in a word: `v1.2.3`, `-5`, `350ms`, `12:03:04`, `test_12`.
fn push_numbers(out: &mut Out, word: &str) {
    let mut rest = word;
    let signed = rest.strip_prefix(['-', '+']);
    if let Some(number) = signed.filter(|r| r.starts_with(|c: char| c.is_ascii_digit())) {
        rest = number;
    }
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let before = rest.get(..start).unwrap_or_default();
        if !before.is_empty() {
            out.push(before);
        }
        out.push(NUMBER);
        rest = after_number(rest.get(start..).unwrap_or_default());
        let letters = rest
            .find(|c: char| !c.is_alphabetic())
            .unwrap_or(rest.len());
        if UNITS.contains(&rest.get(..letters).unwrap_or_default()) {
            rest = rest.get(letters..).unwrap_or_default();
        }
    }
    if !rest.is_empty() {
        out.push(rest);
    }
}

/// What follows a number that may have several parts, an exponent or a `T` between date and time.
fn after_number(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let joined = rest.trim_start_matches(['.', ',', ':', '-', '+', '_', 'T', 'e', 'E']);
        let short = rest.len() - joined.len() <= 2;
        if rest.len() > joined.len() && short && joined.starts_with(|c: char| c.is_ascii_digit()) {
            rest = joined;
        } else {
            return rest.strip_prefix('Z').unwrap_or(rest);
        }
    }
}

fn is_path(word: &str) -> bool {
    let separators = word.matches('\\').count();
    let windows = separators > 1 || word.get(1..3) == Some(":\\");
    (word.contains('/') || windows) && word.contains(|c: char| c.is_alphanumeric())
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

const fn is_delimiter(c: char) -> bool {
    matches!(
        c,
        '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | ',' | ';' | '=' | '|' | '@' | '*'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn same(lines: &[&str], expected: &str) {
        for line in lines {
            assert_eq!(normal(line, Quotes::Drop), expected, "{line}");
        }
    }

    #[test]
    fn fp_03_what_varies_is_replaced() {
        same(
            &["took 3 ms", "took 1.5s", "took  350ms", "took 1m 20s"],
            "took #",
        );
        same(
            &[
                "at 0x7f3a",
                "at 12",
                "at 9fceb02d0ae598e95dc970b74767f19372d61af8",
            ],
            "at #",
        );
        same(
            &["id 550e8400-e29b-41d4-a716-446655440000.", "id 7."],
            "id #.",
        );
        same(
            &[
                "open /tmp/a1/x.log: no",
                "open ../b: no",
                "open C:\\x\\y: no",
            ],
            "open <path>: no",
        );
        same(
            &[
                "on 2026-01-02T03:04:05Z",
                "on Nov 16 01:24:59",
                "on 12:03:04.123",
            ],
            "on #",
        );
        same(
            &["bad 'a b' x", "bad \"c\" x", "bad ‘d’ x", "bad `e' x"],
            "bad <text> x",
        );
        same(&["got b'xx', f\"y\""], "got b<text>, f<text>");
        same(&["can't do Agent's job"], "can't do Agent's job");
        same(
            &["make[2]: *** [Makefile:12: all] Error 2"],
            "make[#]: *** [Makefile:#: all] Error #",
        );
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
        assert_eq!(
            normal("KeyError: \"a 12\"", Quotes::Keep),
            "KeyError: 'a #'"
        );
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
