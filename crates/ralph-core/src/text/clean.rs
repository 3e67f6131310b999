//! Making an agent's output plain: no escape sequences, no control codes, `\n` as the only line end.

use std::borrow::Cow;

const ESC: char = '\u{1b}';
const BELL: char = '\u{7}';

/// Decodes lossily, then cleans like [`clean`].
pub fn clean_bytes(bytes: &[u8]) -> String {
    clean(&String::from_utf8_lossy(bytes)).into_owned()
}

/// Removes terminal escape sequences, control codes but `\n` and `\t`, and [invisible](is_invisible)
/// characters (which can make text read as what it is not); `\r\n` and a lone `\r` become `\n`.
pub fn clean(text: &str) -> Cow<'_, str> {
    let Some(mut at) = next_dirty(text, 0) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len());
    let mut kept = 0;
    loop {
        out.push_str(text.get(kept..at).unwrap_or_default());
        let rest = text.get(at..).unwrap_or_default();
        if let Some(after) = rest.strip_prefix('\r') {
            out.push('\n');
            kept = at + if after.starts_with('\n') { 2 } else { 1 };
        } else {
            kept = at + junk_len(rest);
        }
        match next_dirty(text, kept) {
            Some(next) => at = next,
            None => break,
        }
    }
    out.push_str(text.get(kept..).unwrap_or_default());
    Cow::Owned(out)
}

/// Byte position of the first character from `from` on that cleaning touches.
fn next_dirty(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(&byte) = bytes.get(at) {
        let dirty = match byte {
            b'\n' | b'\t' => false,
            0..0x20 | 0x7f => true,
            0xc2 | 0xd8 | 0xe1 | 0xe2 | 0xe3 | 0xef | 0xf3 => text
                .get(at..)
                .and_then(|t| t.chars().next())
                .is_some_and(|c| c.is_control() || is_invisible(c)),
            _ => false,
        };
        if dirty {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// Whether nobody sees this character, or it changes the direction of what is around it: zero-width
/// characters, directional marks, tags, byte order marks, fillers. Selectors of emoji stay.
pub const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// The text without [invisible](is_invisible) characters; line ends and everything else stay.
pub fn without_invisible(text: &str) -> Cow<'_, str> {
    match !text.is_ascii() && text.contains(is_invisible) {
        true => Cow::Owned(text.chars().filter(|c| !is_invisible(*c)).collect()),
        false => Cow::Borrowed(text),
    }
}

/// The text with [invisible](is_invisible) characters as escapes such as `\u{202e}`: in a command or a path
/// nobody is to be misled about what stands there.
pub fn invisible_escaped(text: &str) -> String {
    let shown = |c: char| if is_invisible(c) { c.escape_unicode().to_string() } else { c.into() };
    text.chars().map(shown).collect()
}

/// Length of the escape sequence or single control character at the start of `text`.
fn junk_len(text: &str) -> usize {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return 0 };
    let rest = chars.as_str();
    let after_next = rest.get(1..).unwrap_or_default();
    first.len_utf8()
        + match first {
            ESC if rest.starts_with('[') => 1 + csi_len(after_next),
            ESC if rest.starts_with([']', 'P', 'X', '^', '_']) => 1 + string_len(after_next),
            ESC => short_len(rest),
            '\u{9b}' => csi_len(rest),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => string_len(rest),
            _ => 0,
        }
}

/// Parameters, intermediates and the final byte of a control sequence, as far as they are there.
fn csi_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let run = |from: usize, range: std::ops::RangeInclusive<u8>| {
        bytes.iter().skip(from).take_while(|b| range.contains(b)).count()
    };
    let parameters = run(0, 0x30..=0x3f);
    let body = parameters + run(parameters, 0x20..=0x2f);
    body + usize::from(matches!(bytes.get(body), Some(0x40..=0x7e)))
}

/// Payload and terminator of a control string such as a window title.
///
/// One without a terminator on its line is cut-off output: only its introducer goes, so that the
/// text after it survives. Stopping at the next escape also keeps the search linear.
fn string_len(text: &str) -> usize {
    for (at, c) in text.char_indices() {
        match c {
            BELL | '\u{9c}' => return at + c.len_utf8(),
            ESC if text.get(at + 1..).is_some_and(|t| t.starts_with('\\')) => return at + 2,
            ESC | '\n' | '\r' | '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => return 0,
            _ => {}
        }
    }
    0
}

/// The rest of a two-character escape, with intermediates where it has some (`ESC ( B`).
fn short_len(text: &str) -> usize {
    let between = text.bytes().take_while(|b| (0x20..=0x2f).contains(b)).count();
    let is_whole = matches!(text.as_bytes().get(between), Some(0x30..=0x7e));
    if is_whole { between + 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::{clean, clean_bytes};
    use proptest::prelude::*;
    use std::borrow::Cow;

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(clean("a\tb\nä – 漢字 ❤\u{fe0f}"), Cow::Borrowed(_)));
    }

    #[test]
    fn escape_sequences_go() {
        assert_eq!(clean("\u{1b}[1;31merror\u{1b}[0m: x"), "error: x");
        assert_eq!(clean("a\u{1b}]0;title\u{7}b\u{1b}]8;;u\u{1b}\\c"), "abc");
        assert_eq!(clean("a\u{1b}(Bb\u{1b}=c\u{1b}7d"), "abcd");
        assert_eq!(clean("a\u{9b}31mb\u{9d}0;t\u{9c}c"), "abc");
        assert_eq!(clean("a\u{1b}Pq#0\u{1b}\\b"), "ab");
    }

    #[test]
    fn cut_off_sequences_do_not_swallow_text() {
        assert_eq!(clean("a\u{1b}]0;title\nnext"), "a0;title\nnext");
        assert_eq!(clean("a\u{1b}[12\nnext\u{1b}"), "a\nnext");
        assert_eq!(clean("a\u{1b}[31ä"), "aä");
    }

    #[test]
    fn line_ends_and_controls() {
        assert_eq!(clean("a\r\nb\rc\r\r\nd"), "a\nb\nc\n\nd");
        assert_eq!(clean("a\0b\u{8}c\u{7f}d\u{85}e\u{202e}f\u{2066}g"), "abcdefg");
        assert_eq!(clean_bytes(b"a\xffb\x1b[0mc"), "a\u{fffd}bc");
        assert_eq!(clean_bytes(b"plain"), "plain");
    }

    #[test]
    fn large_inputs_are_linear() {
        for unit in ["\u{1b}]", "\u{1b}[", "\u{9d}", "\r", "\0", "\u{1b}P;", "\u{202e}", "\u{1b} "] {
            let text = unit.repeat(5_000_000 / unit.len());
            assert!(clean(&text).len() <= text.len());
        }
    }

    proptest! {
        #[test]
        fn cleaning_is_idempotent_and_leaves_no_controls(
            text in r"([a-zA\x00-\x1f\[\];\\\u{7f}-\u{9f}\u{2028}-\u{2069}äm0-9]|\PC){0,40}"
        ) {
            let once = clean(&text).into_owned();
            let plain = once.chars().all(|c| c == '\n' || c == '\t' || !c.is_control());
            prop_assert!(plain);
            prop_assert_eq!(clean(&once), once.as_str());
        }

        #[test]
        fn any_bytes_can_be_cleaned(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let once = clean_bytes(&bytes);
            prop_assert_eq!(clean_bytes(once.as_bytes()), once);
        }
    }
}
