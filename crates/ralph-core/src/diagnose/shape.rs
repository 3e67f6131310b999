//! What small pieces of text look like: times, places in files, exception names.

/// Weekdays and months as clocks write them. `May` is left out: it is a word.
const DAYS_AND_MONTHS: [&str; 18] = [
    "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "Jan", "Feb", "Mar", "Apr", "Jun", "Jul",
    "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// How the last part of an exception's name ends.
const EXCEPTION_ENDS: [&str; 11] = [
    "Error",
    "Exception",
    "Failure",
    "Failed",
    "Fault",
    "Exit",
    "Interrupt",
    "Expired",
    "Timeout",
    "Panic",
    "_error",
];

/// The text up to the first blank.
pub(super) fn word(text: &str) -> &str {
    text.split([' ', '\t']).next().unwrap_or_default()
}

/// A clock time with seconds, perhaps with a date before it: `12:03:04.123`, `2026-01-02T03:04:05Z`.
pub(super) fn is_time(word: &str) -> bool {
    let word = word
        .trim_start_matches('[')
        .trim_end_matches([']', ':', ',']);
    let clock = word.split_once('T').map_or(word, |(_, clock)| clock);
    let mut parts = clock.splitn(3, ':');
    let two = |part: Option<&str>| {
        part.is_some_and(|p| p.len() == 2 && p.bytes().all(|b| b.is_ascii_digit()))
    };
    let clocked = two(parts.next())
        && two(parts.next())
        && parts.next().is_some_and(|p| {
            let seconds = p.bytes().take_while(u8::is_ascii_digit).count();
            let rest = p.get(seconds..).unwrap_or_default();
            seconds == 2
                && rest
                    .bytes()
                    .all(|b| b.is_ascii_digit() || b".,Z+-:".contains(&b))
        });
    clocked && (clock.len() == word.len() || word.split_once('T').is_some_and(|(d, _)| is_date(d)))
}

/// A date in digits: `2026-01-02`, `2026/01/02`.
pub(super) fn is_date(word: &str) -> bool {
    let parts = word.split(['-', '/']);
    word.len() >= 8
        && parts.clone().count() == 3
        && parts
            .into_iter()
            .all(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()))
}

/// A weekday or a month, shortened.
pub(super) fn is_day_or_month(word: &str) -> bool {
    DAYS_AND_MONTHS.contains(&word)
}

/// The last part of a path.
pub(super) fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// `path:12:5: rest`, `path:12: rest` or `path(12,5): rest`: the path, how many numbers, the rest.
pub(super) fn place(line: &str) -> Option<(&str, usize, &str)> {
    // The numbers follow the first `:` or `(` with a digit after it; a drive letter has none.
    let bytes = line.as_bytes();
    let at = bytes
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
    let rest = rest
        .strip_prefix(')')
        .map_or(rest, |r| r.strip_prefix(':').unwrap_or(r));
    let named =
        path.contains(|c: char| c.is_alphanumeric()) && !path.contains(['"', '<', '>', '|']);
    named.then_some((path, numbers, rest))
}

/// pytest's closing line of a failure, `path:12: ValueError`: the exception.
pub(super) fn raised_at(line: &str) -> Option<&str> {
    if line.starts_with([' ', '\t']) {
        return None;
    }
    let (path, numbers, rest) = place(line)?;
    let name = rest.strip_prefix(' ')?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || c == '.' || c == '_');
    (numbers == 1 && is_name && !path.contains(' ')).then_some(name)
}

/// The text of a line that pytest marked.
pub(super) fn marked(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('E')?;
    (rest.is_empty() || rest.starts_with("  ")).then(|| rest.trim())
}

/// The exception that a text begins with, as in `pkg.ValueError: bad`: its last name, the message.
pub(super) fn exception(text: &str) -> Option<(&str, &str)> {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '\\');
    let mut end = 0;
    loop {
        let rest = text.get(end..)?;
        end += rest.find(|c| !part(c)).unwrap_or(rest.len());
        match text.get(end..)?.strip_prefix("::") {
            Some(next) if next.starts_with(part) => end += 2,
            _ => break,
        }
    }
    let path = text.get(..end)?;
    let name = path.rsplit(['.', ':', '$', '\\']).next()?;
    if !name.starts_with(|c: char| c.is_alphabetic())
        || !EXCEPTION_ENDS.iter().any(|ending| name.ends_with(ending))
    {
        return None;
    }
    let rest = text.get(end..)?;
    // Node's code: `AssertionError [ERR_ASSERTION]: …`.
    let rest = match rest.strip_prefix(" [").and_then(|r| r.split_once(']')) {
        Some((_, after)) => after,
        None => rest,
    };
    match rest.strip_prefix(':') {
        Some(message) => Some((name, message.trim())),
        None => rest.trim().is_empty().then_some((name, "")),
    }
}

/// The first text between quotes, as the symbol that a message is about.
pub(super) fn quoted(message: &str) -> Option<&str> {
    let (at, open) = message
        .char_indices()
        .find(|(_, c)| matches!(c, '`' | '"' | '\'' | '‘' | '“'))?;
    let rest = message.get(at + open.len_utf8()..)?;
    let close: &[char] = match open {
        '`' => &['`', '\''],
        '‘' => &['’'],
        '“' => &['”'],
        '"' => &['"'],
        _ => &['\''],
    };
    rest.split_once(close).map(|(inside, _)| inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_are_told_from_sentences() {
        assert_eq!(exception("ValueError: bad"), Some(("ValueError", "bad")));
        assert_eq!(
            exception("java.lang.NullPointerException"),
            Some(("NullPointerException", ""))
        );
        assert_eq!(
            exception("AssertionError [ERR_ASSERTION]: 2 == 3"),
            Some(("AssertionError", "2 == 3"))
        );
        assert_eq!(
            exception("std::runtime_error: x"),
            Some(("runtime_error", "x"))
        );
        assert_eq!(exception("Failed: no"), Some(("Failed", "no")));
        for text in [
            "Error in x",
            "error: x",
            "ValueErrors: x",
            "",
            "::",
            "a: Error",
        ] {
            assert_eq!(exception(text), None, "{text}");
        }
    }

    #[test]
    fn places_are_found() {
        assert_eq!(
            place("a/b.c:12:5: error: x"),
            Some(("a/b.c", 2, " error: x"))
        );
        assert_eq!(
            place("t.ts(1,5): error TS1: x"),
            Some(("t.ts", 2, " error TS1: x"))
        );
        assert_eq!(place("C:\\a\\b.c:3: x"), Some(("C:\\a\\b.c", 1, " x")));
        assert_eq!(raised_at("../t/test_a.py:3: KeyError"), Some("KeyError"));
        assert_eq!(raised_at("a.py:3: in f"), None);
        assert_eq!(raised_at("a.py:3: some words"), None);
        assert_eq!(place("no place"), None);
    }

    #[test]
    fn the_first_quoted_text() {
        assert_eq!(quoted("undefined reference to `f'"), Some("f"));
        assert_eq!(quoted("cannot find `a` in `b`"), Some("a"));
        assert_eq!(quoted("‘y’ undeclared"), Some("y"));
        assert_eq!(quoted("none"), None);
    }
}
