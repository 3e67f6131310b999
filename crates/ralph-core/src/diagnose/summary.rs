//! What pytest's short summary says of each failure: for tests whose explanation is not shown.

use std::collections::BTreeSet;

use super::exception::{bounded, entry, explained};

/// A line as long as this may have been wrapped by the terminal: no narrower one is usual.
const WIDTH: usize = 80;

/// The exceptions of the summary.
#[derive(Default)]
pub(super) struct Summary {
    whole: BTreeSet<String>,
    /// What was cut to the width of the terminal, up to its last whole word, or perhaps wrapped.
    cut: BTreeSet<String>,
}

impl Summary {
    /// Takes the message of a line such as `FAILED a.py::t - message`.
    pub(super) fn add(&mut self, line: &str, message: &str) {
        let Some((name, text)) = explained(message) else {
            return;
        };
        let Some(cut) = text.strip_suffix("...") else {
            let wrapped = line.chars().count() >= WIDTH;
            let set = if wrapped {
                &mut self.cut
            } else {
                &mut self.whole
            };
            bounded(set, entry(name, text));
            return;
        };
        // How much of an assertion is left depends on its values.
        let start = if text.starts_with("assert ") {
            "assert"
        } else {
            cut.rsplit_once(' ').map_or("", |(words, _)| words)
        };
        bounded(&mut self.cut, entry(name, start));
    }

    /// The exceptions that were shown, and those that only the summary tells of.
    pub(super) fn complete(self, mut shown: BTreeSet<String>) -> BTreeSet<String> {
        shown.extend(self.whole);
        let missing: Vec<String> = self
            .cut
            .into_iter()
            .filter(|start| {
                let next = shown.range(start.clone()..).next();
                !next.is_some_and(|whole| whole.starts_with(start.as_str()))
            })
            .collect();
        shown.extend(missing);
        shown
    }
}
