//! Labels of phases and the headings they stand in.

/// A phase as it is compared and ordered: numbers, then names, then no phase.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum PhaseLabel {
    /// A decimal number, exact: its digits before and after the point without needless zeros.
    Number {
        /// Digits before the point; first, so that the longer number is the greater.
        length: usize,
        whole: String,
        fraction: String,
    },
    Named(String),
    NoPhase,
}

const NO_PHASE: &str = "No phase:";

impl PhaseLabel {
    pub(super) fn new(label: Option<&str>) -> Self {
        let label = label.unwrap_or_default();
        if let Some(number) = Self::number(label) {
            return number;
        }
        let spaced: String = label
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let first = words.first().and_then(|word| word.split(':').next());
        if let Some(number) = first.and_then(Self::number) {
            return number;
        }
        let name = words.join(" ");
        match name.trim_end_matches([':', ' ']) {
            "" => Self::NoPhase,
            name => Self::Named(name.to_owned()),
        }
    }

    fn number(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !is_digits(whole) || !is_digits(fraction) {
            return None;
        }
        let whole = match whole.trim_start_matches('0') {
            "" => "0",
            digits => digits,
        };
        Some(Self::Number {
            length: whole.len(),
            whole: whole.to_owned(),
            fraction: fraction.trim_end_matches('0').to_owned(),
        })
    }

    /// The phase whose subsection a heading with these words begins.
    pub(super) fn of_heading(words: &str) -> Option<Self> {
        if words == NO_PHASE {
            return Some(Self::NoPhase);
        }
        let label = words.strip_prefix("Phase")?;
        if !label.starts_with(char::is_whitespace) {
            return None;
        }
        match Self::new(Some(label)) {
            // Without the colon it is a person's own heading, such as `### Phase overview`.
            Self::Named(_) if !words.ends_with(':') => None,
            Self::NoPhase => None,
            label => Some(label),
        }
    }

    /// The whole heading line of the phase's subsection.
    pub(super) fn heading(&self) -> String {
        match self.label() {
            Some(label) => format!("### Phase {label}:"),
            None => format!("### {NO_PHASE}"),
        }
    }

    /// The label without needless zeros.
    pub(super) fn label(&self) -> Option<String> {
        match self {
            Self::Number {
                whole, fraction, ..
            } if fraction.is_empty() => Some(whole.clone()),
            Self::Number {
                whole, fraction, ..
            } => Some(format!("{whole}.{fraction}")),
            Self::Named(name) => Some(name.clone()),
            Self::NoPhase => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PhaseLabel;
    use proptest::prelude::*;

    fn label(text: &str) -> PhaseLabel {
        PhaseLabel::new(Some(text))
    }

    #[test]
    fn agm_03_07_labels_compare_as_numbers() {
        assert_eq!(label("05"), label("5"));
        assert_eq!(label(" 2.10"), label("2.1"));
        assert_eq!(label("2.0"), label("2"));
        assert_ne!(label("2"), label("2.1"));
        assert_eq!(label("00").heading(), "### Phase 0:");
        assert_eq!(label("012.50").heading(), "### Phase 12.5:");
        let sorted = ["0", "2", "2.05", "2.1", "9", "10", "alpha"].map(label);
        assert!(sorted.is_sorted());
        assert!(sorted.iter().all(|one| *one < PhaseLabel::NoPhase));
        assert_eq!(PhaseLabel::new(None), label(" \n:"));
    }

    #[test]
    fn agm_03_headings_of_phases() {
        for words in [
            "Phase 5:",
            "Phase 05",
            "Phase  5: Login",
            "Phase 5 (login):",
            "Phase 5.0",
        ] {
            assert_eq!(PhaseLabel::of_heading(words), Some(label("5")), "{words}");
        }
        assert_eq!(
            PhaseLabel::of_heading("No phase:"),
            Some(PhaseLabel::NoPhase)
        );
        assert_eq!(
            PhaseLabel::of_heading("Phase set up:"),
            Some(label("set up"))
        );
        for other in [
            "Phase",
            "Phase :",
            "Phase overview",
            "Phases 5:",
            "phase 5:",
            "No phase",
        ] {
            assert_eq!(PhaseLabel::of_heading(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn any_label_reads_back_from_its_heading(text in r"(\PC|[0-9.: \x00-\x1f#]){0,12}") {
            let label = label(&text);
            let heading = label.heading();
            let (level, words) = crate::markdown::atx_heading(&heading).unwrap();
            prop_assert_eq!(level, 3);
            prop_assert_eq!(PhaseLabel::of_heading(words), Some(label));
        }
    }
}
