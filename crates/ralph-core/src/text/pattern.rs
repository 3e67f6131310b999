//! Regular expressions, each compiled when it is first used.

use std::borrow::Cow;
use std::sync::OnceLock;

use regex::{Captures, Regex, RegexSet, Replacer};

pub(crate) struct Pattern {
    text: &'static str,
    regex: OnceLock<Option<Regex>>,
}

impl Pattern {
    pub(crate) const fn new(text: &'static str) -> Self {
        Self { text, regex: OnceLock::new() }
    }

    /// None for a pattern that does not compile; the tests use each of them.
    pub(crate) fn regex(&self) -> Option<&Regex> {
        let regex = self.regex.get_or_init(|| Regex::new(self.text).ok());
        debug_assert!(regex.is_some(), "{}", self.text);
        regex.as_ref()
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(text))
    }

    pub(crate) fn captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        self.regex()?.captures(text)
    }

    pub(crate) fn captures_iter<'t>(&self, text: &'t str) -> impl Iterator<Item = Captures<'t>> {
        self.regex().into_iter().flat_map(move |regex| regex.captures_iter(text))
    }

    pub(crate) fn replace_all<'t>(&self, text: &'t str, with: impl Replacer) -> Cow<'t, str> {
        self.regex().map_or(Cow::Borrowed(text), |regex| regex.replace_all(text, with))
    }

    /// What the group `name` matches.
    pub(crate) fn name<'t>(&self, text: &'t str) -> Option<&'t str> {
        Some(self.captures(text)?.name("name")?.as_str())
    }
}

/// Rows with a pattern each, of which all that match a text are found in one pass over it.
pub(crate) struct Table<T: 'static> {
    rows: &'static [(T, &'static str)],
    compiled: OnceLock<Option<(RegexSet, Vec<Regex>)>>,
}

impl<T: Copy> Table<T> {
    pub(crate) const fn new(rows: &'static [(T, &'static str)]) -> Self {
        Self { rows, compiled: OnceLock::new() }
    }

    /// The rows that match a text, in their order, each with what its pattern matches.
    pub(crate) fn matches<'t>(&self, text: &'t str) -> Vec<(T, Captures<'t>)> {
        let compiled = self.compiled.get_or_init(|| {
            let texts = self.rows.iter().map(|(_, text)| text);
            let each: Option<Vec<Regex>> = texts.clone().map(|text| Regex::new(text).ok()).collect();
            RegexSet::new(texts).ok().zip(each)
        });
        debug_assert!(compiled.is_some(), "a pattern does not compile");
        let Some((set, each)) = compiled.as_ref().filter(|(set, _)| set.is_match(text)) else {
            return Vec::new();
        };
        let matching = set.matches(text).into_iter();
        let row = |at: usize| Some((self.rows.get(at)?.0, each.get(at)?.captures(text)?));
        matching.filter_map(row).collect()
    }
}

/// What a group matched, else an empty text.
pub(crate) fn group<'t>(found: &Captures<'t>, name: &str) -> &'t str {
    found.name(name).map_or("", |text| text.as_str())
}
