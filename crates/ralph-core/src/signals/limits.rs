//! How much of each signal is kept; the rest is cut at a word's end, so that no answer can flood the
//! memory of later ones. All lengths are in characters.

use std::collections::HashSet;

use crate::text::{cut_words, mask_secrets};

/// Text of a learning.
pub const LEARNING_CHARS: usize = 10_000;
/// Learnings of one answer.
pub const LEARNINGS: usize = 500;
/// Name of a learning's or an error's category.
pub const CATEGORY_CHARS: usize = 64;
/// Tags of one learning.
pub const TAGS: usize = 100;
/// One tag.
pub const TAG_CHARS: usize = 100;
/// One field of a report.
pub const FIELD_CHARS: usize = 10_000;
/// Files of a report.
pub const FILES: usize = 500;
/// A stack trace, which is cut inside words as well.
pub const TRACE_CHARS: usize = 500;
/// A suggestion for the retry.
pub const SUGGESTION_CHARS: usize = 10_000;

/// The trimmed start of `text`, at most `max_chars` long.
pub(super) fn cut(text: &str, max_chars: usize) -> String {
    cut_words(&mask_secrets(text.trim()), max_chars).into_owned()
}

/// The trimmed, shortened parts of a comma-separated list that are not placeholders, each once.
pub(super) fn list<'a>(
    parts: impl Iterator<Item = &'a str>,
    max_items: usize,
    max_chars: usize,
) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut known = HashSet::new();
    for part in parts {
        if items.len() == max_items {
            break;
        }
        let item = cut(part, max_chars);
        if !super::placeholder::is_placeholder(&item) && known.insert(item.clone()) {
            items.push(item);
        }
    }
    items
}
