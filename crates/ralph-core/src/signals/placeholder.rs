//! Telling a value from the prompt's own description of it.

/// Field descriptions an agent may have been shown, here or by an older prompt, and give back as
/// they are. Anything wholly in angle brackets, as in `templates/rules.md`, needs no entry.
const DESCRIPTIONS: [&str; 4] = [
    "Brief description of approach taken (1-2 sentences)",
    "Root cause analysis (1-2 sentences)",
    "First 3-5 lines of error output or stack trace",
    "src/path/to/file.rs, src/another/file.rs",
];

/// Whether a value says nothing of its own: empty, dots, `<a description>`, or one known from a prompt.
pub(super) fn is_placeholder(value: &str) -> bool {
    let value = value.trim_matches(|c: char| c.is_whitespace() || c == '`');
    let dots = value.chars().all(|c| c == '.' || c == '…');
    let bracketed = value
        .strip_prefix('<')
        .and_then(|inner| inner.strip_suffix('>'))
        .is_some_and(|inner| !inner.contains(['<', '>']));
    dots || bracketed || DESCRIPTIONS.contains(&value)
}

#[cfg(test)]
mod tests {
    use super::is_placeholder;

    #[test]
    fn sig_07_what_counts_as_a_placeholder() {
        for value in [
            "",
            " ",
            "...",
            "…",
            " `...` ",
            "<what you did>",
            "Root cause analysis (1-2 sentences)",
        ] {
            assert!(is_placeholder(value), "{value:?}");
        }
        for value in ["a...", "<T> is not <U>", "Vec<T>", "[x]", "Root cause"] {
            assert!(!is_placeholder(value), "{value:?}");
        }
    }
}
