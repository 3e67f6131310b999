//! Secrets that their own shape gives away: an issuer's prefix, a webhook's address, a JSON web token.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memchr;
use regex::bytes::Regex;

use super::{pattern, run};

/// What secrets begin with, one pattern a line. The lengths are below the real ones, so that clipped keys are caught as well.
///
/// No pattern is open-ended: what follows belongs to the secret as far as its characters go, and is
/// added once a match counts. So a rejected match costs little, wherever it stands.
const SHAPES: &str = include_str!("shapes.txt");

static SHAPE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let patterns = SHAPES.lines().filter(|line| !line.starts_with('#'));
    pattern(&patterns.collect::<Vec<_>>().join("|"))
});

/// Characters that go on with a secret.
const fn goes_on(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'=' | b'~' | b'%')
}

/// Where the secret ends that goes on at `from`. A dot belongs to it only before another part that is no word.
fn end_of(text: &str, from: usize) -> usize {
    let mut end = from + run(text, from, goes_on);
    while text.as_bytes().get(end) == Some(&b'.') {
        let part = run(text, end + 1, goes_on);
        let part = text.get(end + 1..end + 1 + part).unwrap_or_default();
        let is_word = part.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        if part.len() < 6 || is_word {
            break;
        }
        end += 1 + part.len();
    }
    end
}

pub(super) fn find(text: &str, found: &mut Vec<Range<usize>>) {
    let Some(shape) = SHAPE.as_ref() else { return };
    let (mut at, mut run_end) = (0, 0);
    while let Some(hit) = shape.find_at(text.as_bytes(), at) {
        // Shapes are ASCII, so the next byte is a character's beginning.
        at = hit.start() + 1;
        let Some(start) = beginning(text, hit.start()) else { continue };
        if hit.end() > run_end {
            run_end = end_of(text, hit.end());
        }
        let word = text.get(start..run_end).unwrap_or_default();
        let may_be_web_token = word.starts_with("eyJ") && !word.starts_with("eyJrIjoi");
        if is_mixed(word) && (!may_be_web_token || is_web_token(word)) {
            found.push(start..start + word.len());
            at = start + word.len();
        }
    }
}

/// A header and a body of the lengths that JSON web tokens have, and a signature.
fn is_web_token(word: &str) -> bool {
    let part = |from: usize, most: usize| {
        let rest = word.as_bytes().get(from..)?;
        memchr(b'.', rest.get(..most).unwrap_or(rest)).filter(|length| *length >= 8)
    };
    let Some(header) = part(0, 2048) else { return false };
    part(header + 1, 8192).is_some_and(|body| word.len() >= header + body + 10)
}

/// Where the secret begins that a shape was found in; `None` where the shape stands inside a word.
fn beginning(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let part_of_word = |at: usize| bytes.get(at).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    if !part_of_word(start) {
        // A shape from the middle of a secret: its first letters and digits stand before it.
        let before = bytes.get(..start)?;
        let letters = before.iter().rev().take(64);
        let length = letters.take_while(|b| b.is_ascii_alphanumeric()).count();
        return (length >= 6).then_some(start - length);
    }
    let inside = start > 0 && part_of_word(start - 1);
    let escaped = start > 1
        && matches!(bytes.get(start - 1), Some(b'n' | b't' | b'r'))
        && bytes.get(start - 2) == Some(&b'\\');
    (!inside || escaped).then_some(start)
}

/// Random characters have a digit or both cases among them; hyphenated words have neither.
fn is_mixed(word: &str) -> bool {
    // A bound, because one long run of characters may hold many shapes.
    let rest = word.as_bytes().get(4..word.len().min(256)).unwrap_or_default();
    let has = |kind: fn(&u8) -> bool| rest.iter().any(kind);
    has(u8::is_ascii_digit) || has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)
}
