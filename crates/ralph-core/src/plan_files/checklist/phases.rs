//! The phase that the headings above an item give it.

use crate::plan_files::phase::phase_words;

/// Follows the headings of a file.
#[derive(Debug, Default)]
pub(super) struct Phases<'a> {
    /// Headings of phases, each deeper than the one before it.
    open: Vec<(usize, &'a str)>,
}

impl<'a> Phases<'a> {
    /// Takes the next heading.
    pub(super) fn heading(&mut self, level: usize, words: &'a str) {
        while self.open.last().is_some_and(|(open, _)| *open >= level) {
            self.open.pop();
        }
        // Below `## Phase 2` a `### 1. Setup` is a part of phase 2.
        let phase =
            phase_words(words).filter(|phase| phase.is_called_phase || self.open.is_empty());
        if let Some(phase) = phase {
            self.open.push((level, phase.number));
        }
    }

    /// The phase of what comes next.
    pub(super) fn current(&self) -> Option<&'a str> {
        self.open.last().map(|(_, number)| *number)
    }
}

#[cfg(test)]
mod tests {
    use super::Phases;

    #[test]
    fn headings_open_and_close_phases() {
        let mut phases = Phases::default();
        let steps = [
            (1, "Plan", None),
            (2, "Phase 1: Base", Some("1")),
            (3, "Notes", Some("1")),
            (3, "2. Setup", Some("1")),
            (3, "Phase 1.1", Some("1.1")),
            (3, "More", Some("1")),
            (2, "2. Core", Some("2")),
            (2, "Later", None),
            (3, "Phase 3", Some("3")),
            (1, "End", None),
        ];
        for (level, words, phase) in steps {
            phases.heading(level, words);
            assert_eq!(phases.current(), phase, "{words}");
        }
    }
}
