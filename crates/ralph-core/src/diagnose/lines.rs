//! The lines of an output as a person would see them: no escapes, no overwritten progress, no clock.

use std::borrow::Cow;

use super::shape;
use super::xml;

/// No test name or message begins later in its line than this.
const LINE_BYTES: usize = 2000;

/// The words by which loggers say how serious a line is, where that is nothing bad.
const QUIET_LEVELS: [&str; 7] = [
    "INFO", "DEBUG", "TRACE", "NOTICE", "WARN", "WARNING", "VERBOSE",
];

/// The lines of `output`, cleaned and cut to a bounded length.
pub(super) fn lines(output: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let whole = output.strip_suffix('\n').unwrap_or(output);
    whole.split('\n').flat_map(xml::parts).map(visible)
}

/// What is left on the screen of a line: after the last carriage return, without escapes.
fn visible(line: &str) -> Cow<'_, str> {
    let last = line
        .rsplit('\r')
        .find(|part| !part.trim().is_empty())
        .unwrap_or_default();
    // Room for escapes, which make a line longer than it looks.
    let last = head(last, LINE_BYTES * 4);
    if !last.bytes().any(|b| (b < 0x20 && b != b'\t') || b == 0x7f) {
        return Cow::Borrowed(head(last, LINE_BYTES).trim_end());
    }
    let mut plain = String::with_capacity(last.len());
    let mut rest = last;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        rest = if c == '\u{1b}' {
            after_escape(after)
        } else {
            after
        };
        if c == '\t' || !c.is_control() {
            plain.push(c);
        }
    }
    plain.truncate(plain.floor_char_boundary(LINE_BYTES));
    plain.truncate(plain.trim_end().len());
    Cow::Owned(plain)
}

/// What follows an escape sequence whose introducer has been read.
fn after_escape(text: &str) -> &str {
    let skip = match text.chars().next() {
        Some('[') => text
            .bytes()
            .skip(1)
            .position(|b| (0x40..=0x7e).contains(&b))
            .map_or(text.len(), |at| at + 2),
        // A title or a hyperlink, up to its terminator.
        Some(']' | 'P' | '_' | '^') => text.find(['\u{7}', '\u{1b}']).map_or(1, |at| {
            at + usize::from(text.get(at..).is_some_and(|t| t.starts_with('\u{7}')))
        }),
        Some('(' | ')' | '#' | '%') => 2,
        Some(c) => c.len_utf8(),
        None => 0,
    };
    text.get(skip..).unwrap_or_default()
}

fn head(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// A line without the time stamp and the harmless level that a logger put before it.
pub(super) fn without_clock(line: &str) -> &str {
    let timed = after_stamp(line);
    let rest = timed.unwrap_or(line);
    if let Some((level, after)) = rest.strip_prefix('[').and_then(|r| r.split_once(']'))
        && QUIET_LEVELS.contains(&level.trim())
    {
        return after.strip_prefix(' ').unwrap_or(after);
    }
    if timed.is_none() {
        return line;
    }
    let bare = rest.trim_start_matches([' ', '-']);
    let word = shape::word(bare);
    let level = word.trim_end_matches(':');
    if QUIET_LEVELS.contains(&level) {
        let after = bare.get(word.len()..).unwrap_or_default();
        return after.trim_start_matches([' ', '-', ':']);
    }
    rest
}

/// What follows the date and time that a line begins with, and one space.
fn after_stamp(line: &str) -> Option<&str> {
    if let Some((inside, after)) = line.strip_prefix('[').and_then(|r| r.split_once(']')) {
        let words: Vec<&str> = inside.split_whitespace().take(3).collect();
        let timed = words.iter().any(|w| shape::is_time(w));
        return (timed && inside.len() < 40).then(|| after.strip_prefix(' ').unwrap_or(after));
    }
    let mut rest = line.trim_start_matches(' ');
    // At most a month, a day, a time and a zone.
    for _ in 0..4 {
        let word = shape::word(rest);
        let after = rest.get(word.len()..).unwrap_or_default();
        if shape::is_time(word) {
            let after = after.strip_prefix(' ').unwrap_or(after);
            return Some(after.strip_prefix("UTC ").unwrap_or(after));
        }
        if !(shape::is_date(word) || shape::is_day_or_month(word) || is_day(word)) {
            return None;
        }
        rest = after.trim_start_matches(' ');
    }
    None
}

/// A day of the month, as in `Nov 16`.
fn is_day(word: &str) -> bool {
    matches!(word.len(), 1 | 2) && word.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn seen(output: &str, expected: &[&str]) {
        let shown: Vec<_> = lines(output).collect();
        let bare: Vec<&str> = shown.iter().map(|line| without_clock(line)).collect();
        assert_eq!(bare, expected);
    }

    #[test]
    fn escapes_and_progress_are_gone() {
        seen("\u{1b}[31mE\u{1b}[0m   x\r\n", &["E   x"]);
        seen("10%\r 50%\r100% done  \nnext", &["100% done", "next"]);
        seen("\u{1b}]0;title\u{7}x\u{1b}(By\u{1b}", &["xy"]);
        assert!(lines(&"ä".repeat(5000)).all(|line| line.len() <= LINE_BYTES));
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
        for line in [
            "[ERROR] x",
            "  1:33  error  x",
            "[1/2] x",
            "12 tests",
            "May 12 fail",
        ] {
            seen(line, &[line]);
        }
    }
}
