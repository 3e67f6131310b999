//! Telling a value from a prompt's own description of it.

/// Values of the example in other programs' prompts for the same format.
const DESCRIPTIONS: [&str; 2] = ["X.Y", "Why this modification is needed"];

/// Whether a value says nothing of its own: empty, dots, `<a description>`, or known from a prompt.
pub(super) fn is_placeholder(value: &str) -> bool {
    let value = value.trim_matches(|c: char| c.is_whitespace() || c == '`');
    let dots = value.chars().all(|c| c == '.' || c == '…');
    let bracketed = value
        .strip_prefix('<')
        .and_then(|inner| inner.strip_suffix('>'))
        .is_some_and(|inner| !inner.contains(['<', '>']));
    dots || bracketed || DESCRIPTIONS.contains(&value)
}

/// Whether a value shows several names to choose from.
pub(super) fn is_alternatives(value: &str) -> bool {
    value.contains('|')
}

/// The trimmed value, if it says something; the words for nothing say nothing.
pub(super) fn given(value: &str) -> Option<&str> {
    const NOTHING: [&str; 4] = ["none", "n/a", "-", "null"];
    let value = value.trim();
    let nothing = NOTHING.iter().any(|none| value.eq_ignore_ascii_case(none));
    (!nothing && !is_placeholder(value)).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::{given, is_placeholder};

    #[test]
    fn sig_07_what_counts_as_a_placeholder() {
        for value in ["", "...", "…", " `...` ", "<one line>", "X.Y"] {
            assert!(is_placeholder(value), "{value}");
        }
        for value in ["1.3", "a...", "Vec<T>", "<a> and <b>", "none"] {
            assert!(!is_placeholder(value), "{value}");
        }
    }

    #[test]
    fn words_for_nothing_are_nothing() {
        assert_eq!(given(" None "), None);
        assert_eq!(given("<path>"), None);
        assert_eq!(given(" a "), Some("a"));
    }
}
