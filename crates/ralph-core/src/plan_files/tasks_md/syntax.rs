//! What a single line can be in Markdown.

/// Columns of white space a line begins with, and the rest of it.
pub(super) fn indent(line: &str) -> (usize, &str) {
    let mut columns = 0;
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns += 4 - columns % 4,
            _ => return (columns, line.get(at..).unwrap_or_default()),
        }
    }
    (columns, "")
}

/// What stands after the marker of a bulleted list item.
pub(super) fn bullet(words: &str) -> Option<&str> {
    item_text(words.strip_prefix(['-', '*', '+'])?)
}

/// What stands after the marker (`12.`, `3)`) of a numbered list item.
pub(super) fn numbered(words: &str) -> Option<&str> {
    let after = words.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = words.len() - after.len();
    let text = after.strip_prefix(['.', ')'])?;
    (1..=9).contains(&digits).then(|| item_text(text))?
}

fn item_text(text: &str) -> Option<&str> {
    let is_item = text.is_empty() || text.starts_with([' ', '\t']);
    is_item.then(|| text.trim_start_matches([' ', '\t']))
}

/// Level and words of a heading such as `## Words ##`.
pub(super) fn heading(line: &str) -> Option<(usize, &str)> {
    let level = run(line, b'#');
    let words = line.get(level..)?;
    let is_heading =
        (1..=6).contains(&level) && (words.is_empty() || words.starts_with([' ', '\t']));
    is_heading.then(|| (level, without_closing_marks(words.trim())))
}

fn without_closing_marks(words: &str) -> &str {
    let open = words.trim_end_matches('#');
    let is_closed = open.is_empty() || open.ends_with([' ', '\t']);
    if is_closed { open.trim_end() } else { words }
}

/// Whether a line is a rule across the page such as `***` or `- - -`.
pub(super) fn is_rule(line: &str) -> bool {
    let Some(mark @ (b'-' | b'*' | b'_')) = line.bytes().next() else {
        return false;
    };
    let mut marks = 0;
    for byte in line.bytes() {
        match byte {
            b' ' | b'\t' => {}
            byte if byte == mark => marks += 1,
            _ => return false,
        }
    }
    marks >= 3
}

/// How often `mark` stands at the start of a text.
pub(super) fn run(text: &str, mark: u8) -> usize {
    text.bytes().take_while(|byte| *byte == mark).count()
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
