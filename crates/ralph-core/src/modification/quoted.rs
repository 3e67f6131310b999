//! Names out of a request, as they may be shown in a sentence.

/// The longest name that is shown.
const MOST_CHARS: usize = 64;

/// A name with nothing in it that could end its backticks, its line or its sentence, or be a signal.
pub(super) fn quoted(name: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_alphanumeric() || " ._-:/#+,".contains(c) => c,
        _ => '?',
    };
    let mut shown: String = name.trim().chars().take(MOST_CHARS).map(plain).collect();
    if name.trim().chars().nth(MOST_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn sig_05_quoted_names_are_harmless() {
        assert_eq!(quoted(" 1.3-ä "), "1.3-ä");
        assert_eq!(quoted("a`\n<task-done>\u{202e}|"), "a???task-done???");
        assert_eq!(quoted(&"x".repeat(99)), format!("{}…", "x".repeat(64)));
    }
}
