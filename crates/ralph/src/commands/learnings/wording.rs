//! A learning's text as it is stored, from every source: clean, masked, within limits.

use std::collections::HashSet;

use ralph_core::signals::limits;
use ralph_core::text::{MASK, clean, mask_secrets};

use crate::output;

/// How long things may be, in characters.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    title: usize,
    tags: usize,
    tag: usize,
}

/// What a person types is held to what agents are held to.
pub const BY_HAND: Limits = Limits { title: 300, tags: limits::TAGS, tag: limits::TAG_CHARS };

/// Files come from merges, which unite tags, and from other programs.
pub const IN_FILES: Limits = Limits { title: 2000, tags: 1000, tag: 500 };

/// Makes text fit to be stored, or says why it is not.
pub struct Wording {
    limits: Limits,
    masked: bool,
}

impl Wording {
    pub fn new(limits: Limits) -> Self {
        Self { limits, masked: false }
    }

    /// Whether anything was masked since this was last asked.
    pub fn take_masked(&mut self) -> bool {
        std::mem::take(&mut self.masked)
    }

    pub fn note_masked(&mut self) {
        if self.take_masked() {
            output::note(format_args!("masked a possible secret; it is stored as {MASK}"));
        }
    }

    pub fn category(&mut self, text: &str) -> Result<String, String> {
        self.not_empty("the category", text, limits::CATEGORY_CHARS)
    }

    pub fn title(&mut self, text: &str) -> Result<Option<String>, String> {
        let title = self.text("the title", text, self.limits.title)?;
        Ok(Some(title).filter(|title| !title.is_empty()))
    }

    pub fn content(&mut self, text: &str) -> Result<String, String> {
        self.not_empty("the content", text, limits::LEARNING_CHARS)
    }

    /// Tags, each once; empty ones are left out.
    pub fn tags(&mut self, texts: &[String]) -> Result<Vec<String>, String> {
        let mut known = HashSet::new();
        let mut tags = Vec::new();
        for text in texts {
            let tag = self.text("a tag", text, self.limits.tag)?;
            if !tag.is_empty() && known.insert(tag.clone()) {
                tags.push(tag);
            }
        }
        let (most, given) = (self.limits.tags, tags.len());
        if given > most {
            return Err(format!("{given} tags given; at most {most} are allowed"));
        }
        Ok(tags)
    }

    fn text(&mut self, what: &str, text: &str, most: usize) -> Result<String, String> {
        let cleaned = clean(text);
        let masked = mask_secrets(cleaned.trim());
        self.masked |= *masked != *cleaned.trim();
        // A mask may be longer than what it stands for; an export must fit when it comes back.
        let length = masked.replace(MASK, "").chars().count();
        if length > most {
            return Err(format!("{what} has {length} characters; at most {most} are allowed"));
        }
        Ok(masked.into_owned())
    }

    fn not_empty(&mut self, what: &str, text: &str, most: usize) -> Result<String, String> {
        let text = self.text(what, text, most)?;
        if text.is_empty() { Err(format!("{what} is empty")) } else { Ok(text) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn limits_are_said() {
        let mut by_hand = Wording::new(BY_HAND);
        let error = by_hand.content(&"x".repeat(10_001)).unwrap_err();
        assert_eq!(error, "the content has 10001 characters; at most 10000 are allowed");
        assert!(by_hand.content(&"ä".repeat(10_000)).is_ok());
        assert!(by_hand.category(" \n").unwrap_err().contains("empty"));
        let tags: Vec<String> = (0..101).map(|n| n.to_string()).collect();
        assert!(by_hand.tags(&tags).unwrap_err().contains("at most 100"));
        assert!(Wording::new(IN_FILES).tags(&tags).is_ok());
        assert_eq!(by_hand.title(" "), Ok(None));
        assert!(!by_hand.take_masked());
    }

    #[test]
    fn secrets_are_masked_and_told_once() {
        let mut wording = Wording::new(BY_HAND);
        let content = wording.content("password = hunter2hunter2").unwrap();
        assert_eq!(content, format!("password = {MASK}"));
        assert!(wording.take_masked());
        assert!(!wording.take_masked());
        assert_eq!(wording.content(&content), Ok(content));
        assert!(!wording.take_masked());
    }

    proptest! {
        #[test]
        fn what_was_stored_is_stored_again_unchanged(text in "(password=x1y2z3w4 |\u{1b}\\[1m|\r|ä|[a-z ]){0,200}") {
            let mut wording = Wording::new(IN_FILES);
            if let Ok(once) = wording.content(&text) {
                prop_assert_eq!(wording.content(&once), Ok(once));
            }
        }
    }
}
