//! What a single line can be in Markdown; of list items what stands after the marker's blanks.

use crate::markdown;

pub(super) use crate::markdown::{atx_heading as heading, indent, is_rule, run};

/// What stands after the marker of a bulleted list item.
pub(super) fn bullet(words: &str) -> Option<&str> {
    markdown::bullet(words).map(without_blanks)
}

/// What stands after the marker (`12.`, `3)`) of a numbered list item.
pub(super) fn numbered(words: &str) -> Option<&str> {
    markdown::numbered(words).map(|(_, text)| without_blanks(text))
}

fn without_blanks(text: &str) -> &str {
    text.trim_start_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indents_are_columns() {
        assert_eq!(indent("  a"), (2, "a"));
        assert_eq!(indent(" \ta"), (4, "a"));
        assert_eq!(indent("\t a"), (5, "a"));
        assert_eq!(indent("  "), (2, ""));
        assert_eq!(indent("é"), (0, "é"));
    }

    #[test]
    fn list_items() {
        assert_eq!(bullet("- a"), Some("a"));
        assert_eq!(bullet("*\t a"), Some("a"));
        assert_eq!(bullet("+"), Some(""));
        for other in ["-a", "--", "**a**", "", "–"] {
            assert_eq!(bullet(other), None, "{other}");
        }
        assert_eq!(numbered("12. a"), Some("a"));
        assert_eq!(numbered("1)"), Some(""));
        for other in ["1", "1.a", ". a", "1234567890. a", "1é", "1.2 a"] {
            assert_eq!(numbered(other), None, "{other}");
        }
    }

    #[test]
    fn headings() {
        assert_eq!(heading("## A b"), Some((2, "A b")));
        assert_eq!(heading("# A ##  "), Some((1, "A")));
        assert_eq!(heading("### A#"), Some((3, "A#")));
        assert_eq!(heading("## ##"), Some((2, "")));
        assert_eq!(heading("#"), Some((1, "")));
        for other in ["##A", "####### A", " # A", "A", ""] {
            assert_eq!(heading(other), None, "{other}");
        }
    }

    #[test]
    fn rules() {
        assert!(is_rule("---") && is_rule("* * *") && is_rule("_ __\t"));
        assert!(!is_rule("--") && !is_rule("--*") && !is_rule("+++") && !is_rule(""));
    }
}
