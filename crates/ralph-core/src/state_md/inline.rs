//! Hostile text on a line of Ralph's page: it cannot end the line, a cell, or the table.

use crate::text::one_line;

/// One clean, bounded line that opens no comment: Ralph's markers are comments.
pub(super) fn inline(text: &str, max_chars: usize) -> String {
    one_line(text, max_chars).replace("<!--", "‹!--")
}

/// The same where nothing of Ralph's stands before it: what would be a heading, a quote or a fence
/// begins with punctuation, and a backslash makes that plain.
pub(super) fn at_start(text: &str, max_chars: usize) -> String {
    let line = inline(text, max_chars);
    if line.starts_with(|c: char| c.is_ascii_punctuation()) {
        format!("\\{line}")
    } else {
        line
    }
}

/// The same for a cell of a table. Backslashes before a `|` are doubled, so that it is escaped for
/// readers that pair backslashes as well as for those that look at the last one only.
pub(super) fn cell(text: &str, max_chars: usize) -> String {
    let line = inline(text, max_chars);
    let mut out = String::with_capacity(line.len());
    let mut backslashes = 0;
    for c in line.chars() {
        if c == '|' {
            out.push_str(&"\\".repeat(backslashes + 1));
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ana_06_bars_are_escaped_for_every_reader() {
        assert_eq!(cell("a|b", 9), r"a\|b");
        assert_eq!(cell(r"a\|b", 9), r"a\\\|b");
        assert_eq!(cell(r"C:\x ||", 9), r"C:\x \|\|");
    }

    #[test]
    fn ana_06_comments_are_not_opened_even_with_hidden_characters() {
        assert_eq!(
            inline("<\u{0}!-- HISTORY_END --> <<!--", 60),
            "‹!-- HISTORY_END --> <‹!--"
        );
    }

    #[test]
    fn a_line_of_its_own_is_no_heading() {
        assert_eq!(at_start("## x\n# y", 60), r"\## x # y");
        assert_eq!(at_start("x # y", 60), "x # y");
        assert_eq!(at_start("  ```", 60), r"\```");
    }
}
