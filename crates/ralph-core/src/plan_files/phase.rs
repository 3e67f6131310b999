//! Numbers of phases in headings.

/// The phase a heading or list item begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PhaseWords<'a> {
    /// The number as written.
    pub(crate) number: &'a str,
    /// Whether the word `Phase` stands before it.
    pub(crate) is_called_phase: bool,
}

/// Reads `Phase 2.1: Words`, `2. Words`, `2.1 Words`, `2 - Words`.
pub(crate) fn phase_words(words: &str) -> Option<PhaseWords<'_>> {
    // Emphasis and pictures may stand before the words.
    let words = words.trim_start_matches(|c: char| !c.is_alphanumeric());
    if let Some(after) = after_phase(words) {
        let number = number(after, |c| c.is_ascii_alphanumeric())?;
        return Some(PhaseWords {
            number,
            is_called_phase: true,
        });
    }
    let number = number(words, |c| c.is_ascii_digit())?;
    let after = words.get(number.len()..).unwrap_or_default();
    is_end_of_number(number, after).then_some(PhaseWords {
        number,
        is_called_phase: false,
    })
}

fn after_phase(words: &str) -> Option<&str> {
    let (word, after) = words.split_at_checked("phase".len())?;
    (word.eq_ignore_ascii_case("phase") && after.starts_with([' ', '\t']))
        .then(|| after.trim_start())
}

/// A digit, more of the same, and parts of that after points.
fn number(text: &str, is_of_part: impl Fn(char) -> bool) -> Option<&str> {
    let is_of_number = |c: char| c == '.' || is_of_part(c);
    let end = text.find(|c| !is_of_number(c)).unwrap_or(text.len());
    let number = text.get(..end)?.trim_end_matches('.');
    let is_number = number.starts_with(|c: char| c.is_ascii_digit())
        && number.split('.').count() <= 2
        && number.len() <= 8;
    is_number.then_some(number)
}

/// A number in a sentence (`3 wishes`) is no phase; one that is set apart is.
fn is_end_of_number(number: &str, after: &str) -> bool {
    let is_spaced = |after: &str| after.is_empty() || after.starts_with([' ', '\t', '*', '_']);
    match after.strip_prefix(['.', ')', ':']) {
        Some(after) => is_spaced(after),
        None if after.is_empty() => true,
        None => {
            let words = after.trim_start();
            is_spaced(after) && (number.contains('.') || words.starts_with(['-', '–', '—', '|']))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::phase_words;
    use proptest::prelude::*;

    fn read(words: &str) -> Option<(&str, bool)> {
        phase_words(words).map(|phase| (phase.number, phase.is_called_phase))
    }

    #[test]
    fn numbers_of_phases() {
        assert_eq!(read("Phase 1: Base"), Some(("1", true)));
        assert_eq!(read("PHASE 02.1 — Base"), Some(("02.1", true)));
        assert_eq!(read("**Phase 3**"), Some(("3", true)));
        assert_eq!(read("🚀 Phase 02B (new)"), Some(("02B", true)));
        assert_eq!(read("2. Core"), Some(("2", false)));
        assert_eq!(read("2) Core"), Some(("2", false)));
        assert_eq!(read("2.1 Core"), Some(("2.1", false)));
        assert_eq!(read("2 - Core"), Some(("2", false)));
        assert_eq!(read("3"), Some(("3", false)));
    }

    #[test]
    fn other_numbers_are_none() {
        for words in [
            "Phase one",
            "Phases 1-6",
            "3 wishes",
            "2024 goals",
            "1.2.3 Notes",
            "v1.0",
            "",
        ] {
            assert_eq!(read(words), None, "{words}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(words in any::<String>(), near in "[*# Phase0-9.:)é]{0,20}") {
            let _ = (phase_words(&words), phase_words(&near));
        }
    }
}
