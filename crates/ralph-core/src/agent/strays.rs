//! Lines of an event stream that are no events: what a program that crashes prints, or one that was started wrongly.

use std::collections::VecDeque;

use serde::de::IgnoredAny;

use super::brief::{MESSAGE, short};

/// Lines that are remembered.
const KEPT: usize = 3;
/// Characters of one of them.
const SHOWN: usize = 200;
/// What begins like an event and is longer is taken for one.
const LOOKED_AT: usize = 64 * 1024;

/// The last of them.
#[derive(Debug, Default)]
pub(super) struct Strays {
    last: VecDeque<String>,
}

impl Strays {
    /// Remembers a line if it is none of the stream's.
    pub fn keep(&mut self, line: &[u8]) {
        if !is_stray(line) {
            return;
        }
        let start = line.get(..line.len().min(16 * SHOWN)).unwrap_or_default();
        let text = short(&String::from_utf8_lossy(start), SHOWN);
        if text.is_empty() {
            return;
        }
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(text);
    }

    /// What they say, in one line to follow a message: `: Error: no such module`; nothing where there are none.
    pub fn told(&self) -> String {
        let lines: Vec<&str> = self.last.iter().map(String::as_str).collect();
        match short(&lines.join("; "), MESSAGE) {
            told if told.is_empty() => told,
            told => format!(": {told}"),
        }
    }
}

/// Whether a whole line is text and no event. A blank line is neither.
pub(super) fn is_stray(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    match line.first() {
        None => false,
        Some(b'{') => {
            line.len() <= LOOKED_AT && serde_json::from_slice::<IgnoredAny>(line).is_err()
        }
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_is_no_event() {
        for (line, stray) in [
            ("Error: no such module", true),
            ("  at main.js:1", true),
            ("{", true),
            ("{ code: 'X' }", true),
            ("[1]", true),
            ("\u{1b}[31mred", true),
            ("", false),
            (" \t\r", false),
            ("{}", false),
            (r#" {"type":"unheard-of"} "#, false),
            // Half a surrogate pair, as JavaScript prints it.
            (r#"{"text":"\ud83d"}"#, false),
        ] {
            assert_eq!(is_stray(line.as_bytes()), stray, "{line}");
        }
        assert!(!is_stray(format!("{{{}", "x".repeat(LOOKED_AT)).as_bytes()));
        assert!(is_stray(b"\xff\xfe"));
    }

    #[test]
    fn the_last_lines_are_told_short_clean_and_without_secrets() {
        let mut strays = Strays::default();
        assert_eq!(strays.told(), "");
        strays.keep(b"{}");
        assert_eq!(strays.told(), "");
        for line in [
            "gone",
            "one\u{1b}[31m",
            "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789",
            "three",
        ] {
            strays.keep(line.as_bytes());
        }
        let told = strays.told();
        assert!(told.starts_with(": one; "), "{told}");
        assert!(told.ends_with("; three"), "{told}");
        assert!(!told.contains("abcdefghij"), "{told}");
        for _ in 0..100 {
            strays.keep("x ".repeat(100_000).as_bytes());
        }
        assert!(strays.told().chars().count() <= MESSAGE + 2);
    }
}
