//! Private keys in PEM: the lines between `-----BEGIN … PRIVATE KEY-----` and its end, or what is left of them.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;
use regex::bytes::Regex;

use super::{MASK, pattern};

/// A block longer than this is not a key but two unrelated lines.
const BLOCK_BYTES: usize = 16 * 1024;

/// No line of a key is longer than this; a bound keeps the search for line ends linear.
const LINE_BYTES: usize = 256;

static EDGE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern("-----(?:BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: [0-9]{1,3}")
});

pub(super) fn find(text: &str, found: &mut Vec<Range<usize>>) {
    if memmem::find(text.as_bytes(), b"PRIVATE KEY").is_none()
        && memmem::find(text.as_bytes(), b"Private-Lines: ").is_none()
    {
        return;
    }
    let Some(edge) = EDGE.as_ref() else { return };
    let mut opened = None;
    let mut from = 0;
    for hit in edge.find_iter(text.as_bytes()) {
        let ends = hit.as_bytes().starts_with(b"-----END");
        match opened.take() {
            Some(body) if ends && hit.start() - body <= BLOCK_BYTES => {
                found.extend(trimmed(text, body..hit.start()));
            }
            before => {
                found.extend(before.and_then(|body| lines_after(text, body)));
                if ends {
                    found.extend(lines_before(text, from, hit.start()));
                }
            }
        }
        if !ends {
            opened = Some(hit.end());
        }
        from = hit.end();
    }
    found.extend(opened.and_then(|body| lines_after(text, body)));
}

/// The lines of a key whose end is missing.
fn lines_after(text: &str, body: usize) -> Option<Range<usize>> {
    let mut stop = body;
    let most = text.floor_char_boundary(body + BLOCK_BYTES);
    for line in text.get(body..most)?.split_inclusive('\n') {
        if !is_key_line(line) {
            break;
        }
        stop += line.len();
    }
    trimmed(text, body..stop)
}

/// The lines of a key whose beginning is missing, as in the tail of a long output.
fn lines_before(text: &str, from: usize, end: usize) -> Option<Range<usize>> {
    let mut start = end;
    for line in text.get(from..end)?.split_inclusive('\n').rev() {
        if !is_key_line(line) {
            break;
        }
        start -= line.len();
    }
    trimmed(text, start..end)
}

/// A line of a key: base64, a header, or nothing; also quoted, numbered, or in a difference.
static KEY_LINE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^[ \t>|+]*(?:[0-9]{1,6}(?:[ \t:|]|→|│)+)?(?:[A-Za-z0-9+/=]*|(?:Proc-Type|DEK-Info|Version|Comment): .*)\s*$",
    )
});

fn is_key_line(line: &str) -> bool {
    line.len() <= LINE_BYTES && KEY_LINE.as_ref().is_some_and(|key| key.is_match(line.as_bytes()))
}

/// The first line of what may be the rest of a key: as long as the lines of a key are, and of all kinds of characters.
fn is_full_line(line: &str) -> bool {
    let line = line.trim().as_bytes();
    let has = |kind: fn(&u8) -> bool| line.iter().any(kind);
    let is_base64 = line.iter().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(b));
    let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    (48..=80).contains(&line.len()) && is_base64 && is_mixed
}

/// Which part of a stream is read: its beginning may be the rest of a key, whose own beginning was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Start {
    #[default]
    Beginning,
    InKey,
    Over,
}

impl Start {
    /// The lines of the next piece that may be the rest of a key.
    pub(super) fn find(&mut self, piece: &str, found: &mut Vec<Range<usize>>) {
        let mut at = 0;
        for line in piece.split_inclusive('\n') {
            // Ralph's note of what was dropped comes before the rest.
            let is_note = *self == Self::Beginning && line.starts_with('[');
            *self = match self {
                Self::InKey if is_key_line(line) => Self::InKey,
                Self::Beginning if is_full_line(line) => Self::InKey,
                Self::Beginning if is_note => Self::Beginning,
                _ => Self::Over,
            };
            if *self == Self::InKey {
                found.extend(trimmed(piece, at..at + line.len()));
            }
            at += line.len();
        }
    }
}

/// Where the key begins that `text` ends in the middle of, as far as can be told.
pub(super) fn open_at(text: &str) -> Option<usize> {
    let near = text.floor_char_boundary(text.len().saturating_sub(BLOCK_BYTES));
    let last = EDGE.as_ref()?.find_iter(text.get(near..)?.as_bytes()).last()?;
    (!last.as_bytes().starts_with(b"-----END")).then(|| near + last.start())
}

/// The range without whitespace (also written `\n`) at its ends; `None` if that leaves nothing new.
fn trimmed(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let body = text.get(range.clone())?;
    let inner = body.trim_start().trim_start_matches("\\n");
    let start = range.end - inner.len();
    let inner = inner.trim_end().trim_end_matches("\\n");
    (!inner.is_empty() && inner != MASK).then(|| start..start + inner.len())
}
