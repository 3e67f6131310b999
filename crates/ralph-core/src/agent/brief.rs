//! Short, clean texts out of long ones, so that what is kept of a stream stays small.

use super::json::Text;
use crate::text::{head, one_line};

/// How much of the agent's words is kept in case no result repeats them.
pub(super) const SAID_LIMIT: usize = 256 * 1024;
/// Characters of one action or one line for a display.
pub(super) const SHOWN: usize = 120;
/// Characters of names and ids.
pub(super) const NAME: usize = 200;
/// Characters of the message of a fault.
pub(super) const MESSAGE: usize = 500;

/// The text of a field.
pub(super) fn text(field: Option<&Text>) -> Option<&str> {
    field.map(|text| text.0.as_str())
}

/// A name or an id, where the field holds one.
pub(super) fn name(field: Option<Text>) -> Option<String> {
    field
        .map(|text| short(&text.0, NAME))
        .filter(|name| !name.is_empty())
}

/// The first of some fields that is there, in a line for a display.
pub(super) fn first<const N: usize>(fields: [Option<Text>; N]) -> String {
    let known = fields.into_iter().flatten().next();
    known.map(|text| short(&text.0, SHOWN)).unwrap_or_default()
}

/// One clean line; of a long text only the start is looked at.
pub(super) fn short(text: &str, max_chars: usize) -> String {
    one_line(head(text, 8 * max_chars), max_chars)
}

/// Adds a text on a line of its own. The start is dropped only when twice the limit is reached, so that many
/// small texts do not move the whole each time.
pub(super) fn push_bounded(said: &mut String, text: &str) {
    if !said.is_empty() {
        said.push('\n');
    }
    said.push_str(tail(text));
    if said.len() > 2 * SAID_LIMIT {
        let kept = tail(said).len();
        said.drain(..said.len() - kept);
    }
}

/// The last [`SAID_LIMIT`] bytes, from a character's start on.
pub(super) fn tail(text: &str) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(SAID_LIMIT));
    text.get(start..).unwrap_or_default()
}
