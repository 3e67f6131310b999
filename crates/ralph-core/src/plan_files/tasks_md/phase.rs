//! The phases that headings give to the tasks below them.

/// Where a file stands in its phases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Phases {
    current: Option<(usize, String)>,
    /// Goes up with every phase that begins or ends.
    pub(super) count: usize,
}

impl Phases {
    /// The number of the phase, as it is written.
    pub(super) fn number(&self) -> Option<&str> {
        self.current.as_ref().map(|(_, number)| number.as_str())
    }

    /// Goes on past a heading. One that is no phase ends the phase unless it is deeper.
    pub(super) fn pass(&mut self, level: usize, words: &str) {
        let ends = self
            .current
            .as_ref()
            .is_some_and(|(of_phase, _)| level <= *of_phase);
        if let Some(number) = phase_number(words) {
            self.current = Some((level, number.to_owned()));
            self.count += 1;
        } else if ends {
            self.current = None;
            self.count += 1;
        }
    }
}

/// The number in `Phase 2.1 - Words`, `2. Words` and `2 Words`.
fn phase_number(words: &str) -> Option<&str> {
    let words = words.trim_start_matches(['*', '_']);
    let after = match words.split_at_checked("phase".len()) {
        Some((name, after)) if name.eq_ignore_ascii_case("phase") => {
            after.strip_prefix([' ', '\t'])?.trim_start()
        }
        _ => words,
    };
    let end = after
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(after.len());
    let number = after.get(..end)?.trim_end_matches('.');
    let is_number = !number.is_empty() && number.split('.').all(|part| !part.is_empty());
    // `3rd` and `2x` are words.
    let goes_on = after
        .get(end..)?
        .starts_with(|c: char| c.is_alphanumeric() || c == '_');
    (is_number && !goes_on).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imp_04_numbers_in_headings() {
        for (words, number) in [
            ("Phase 1: X", "1"),
            ("phase 2.1 - Y", "2.1"),
            ("PHASE 05", "05"),
            ("**Phase 3**: X", "3"),
            ("Phase  4. X", "4"),
            ("2. Core", "2"),
            ("3 Extras", "3"),
            ("1.2. A", "1.2"),
            ("4: A", "4"),
            ("5", "5"),
        ] {
            assert_eq!(phase_number(words), Some(number), "{words}");
        }
        for words in [
            "Tasks: a",
            "Phase A",
            "Phase",
            "Phases 1",
            "Phase1",
            "3rd party",
            "1..2 a",
            ".5",
            "",
        ] {
            assert_eq!(phase_number(words), None, "{words}");
        }
    }

    #[test]
    fn imp_04_what_ends_a_phase() {
        let mut phases = Phases::default();
        let mut seen = Vec::new();
        for (level, words) in [
            (1, "Tasks"),
            (2, "Phase 1"),
            (3, "Notes"),
            (2, "2. B"),
            (2, "Notes"),
            (3, "Phase 3"),
            (1, "Notes"),
        ] {
            phases.pass(level, words);
            seen.push((phases.number().map(str::to_owned), phases.count));
        }
        let expected = [None, Some("1"), Some("1"), Some("2"), None, Some("3"), None];
        let counts = [0, 1, 1, 2, 3, 4, 5];
        let expected: Vec<_> = expected
            .map(|n| n.map(str::to_owned))
            .into_iter()
            .zip(counts)
            .collect();
        assert_eq!(seen, expected);
    }
}
