//! Masking keys, tokens and passwords before text is stored, shown, sent or put into a prompt.
//!
//! Five finders look at the same text, each linear in its length; what they find is replaced in one go.

mod commands;
mod known;
mod named;
mod names;
mod pem;
mod token_shapes;

use std::borrow::Cow;
use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};

pub use known::{is_worth_masking, remember_secrets};
pub use names::is_secret_name;

/// What stands in the place of a secret.
pub const MASK: &str = "[masked]";

/// Masking can uncover at most a little more (a quote inside a key block); this many rounds are
/// plenty, and a bound keeps the whole linear.
const ROUNDS: usize = 4;

/// `text` with every secret replaced by [`MASK`]: those in a common shape, those that a name or a
/// command gives away, and the values given to [`remember_secrets`]. Masked text stays as it is.
pub fn mask_secrets(text: &str) -> Cow<'_, str> {
    let mut masked = Cow::Borrowed(text);
    for _ in 0..ROUNDS {
        let found = find(&masked);
        if found.is_empty() {
            break;
        }
        masked = Cow::Owned(replaced(&masked, found));
    }
    masked
}

/// Where secrets stand; parts of them may be found more than once.
fn find(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    known::find(text, &mut found);
    token_shapes::find(text, &mut found);
    pem::find(text, &mut found);
    commands::find(text, &mut found);
    named::find(text, &mut found);
    found
}

/// The text with one mask for all that overlaps or touches.
fn replaced(text: &str, mut found: Vec<Range<usize>>) -> String {
    found.sort_unstable_by_key(|range| range.start);
    let mut out = String::with_capacity(text.len());
    let (mut kept, mut masked_to) = (0, None);
    for range in found {
        if masked_to.is_none_or(|end| range.start > end) {
            out.push_str(text.get(kept..range.start).unwrap_or_default());
            out.push_str(MASK);
        }
        kept = kept.max(range.end);
        masked_to = Some(kept);
    }
    out.push_str(text.get(kept..).unwrap_or_default());
    out
}

/// A pattern of this module's own, over bytes: without Unicode's classes it compiles in a fraction of
/// the time. What it finds begins and ends with ASCII. One that does not compile finds nothing; the labelled tests would fail.
fn pattern(source: &str) -> Option<Regex> {
    RegexBuilder::new(source).unicode(false).build().ok()
}

/// Characters that names and most tokens are made of.
const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// How many bytes of `text` from `start` on satisfy `fits`.
fn run(text: &str, start: usize, fits: fn(u8) -> bool) -> usize {
    text.as_bytes().iter().skip(start).take_while(|byte| fits(**byte)).count()
}

/// Whether a value has a run of letters and digits, both among them, that no word or version has.
fn is_random(value: &str) -> bool {
    value.as_bytes().split(|b| !b.is_ascii_alphanumeric()).any(|part| {
        part.len() >= 16 && part.iter().any(u8::is_ascii_digit) && part.iter().any(u8::is_ascii_alphabetic)
    })
}

/// The part of `text` from `start` on where, in JSON inside JSON, a line break is the two characters
/// `\n`: the `n` is not the word's.
fn after_escape(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let escaped = start > 0 && bytes.get(start - 1) == Some(&b'\\');
    start + usize::from(escaped && matches!(bytes.get(start), Some(b'n' | b't' | b'r')))
}

/// Lines before a piece that may say what it is: those of a netrc entry, a name above its value.
const LINES: usize = 4;
/// How long those lines may be together.
const LINES_BYTES: usize = 2048;

/// Masks one piece after another, each in the light of those before it. Memory is bounded: it keeps a few
/// lines, and within a private key what there is of it.
#[derive(Debug, Default)]
pub struct StreamMask {
    before: String,
    start: pem::Start,
}

impl StreamMask {
    /// The next piece (whole lines, the last without its end) without its secrets.
    pub fn mask(&mut self, piece: &str) -> String {
        let start = self.before.len();
        self.before.push_str(piece);
        let inside = find(&self.before)
            .into_iter()
            .filter(|range| range.end > start)
            .map(|range| range.start.saturating_sub(start)..range.end - start);
        let mut inside: Vec<Range<usize>> = inside.collect();
        self.start.find(piece, &mut inside);
        let masked = replaced(piece, inside);
        self.forget();
        mask_secrets(&masked).into_owned()
    }

    fn forget(&mut self) {
        self.before.push('\n');
        let near = self.before.len().saturating_sub(LINES_BYTES);
        let near = self.before.ceil_char_boundary(near);
        let mut ends = self.before.rmatch_indices('\n');
        let lines = ends.nth(LINES).map_or(0, |(end, _)| end + 1).max(near);
        let keep = pem::open_at(&self.before).map_or(lines, |key| key.min(lines));
        self.before.drain(..keep);
    }
}

#[cfg(test)]
mod labelled_tests;
#[cfg(test)]
mod tests;
