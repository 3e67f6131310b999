//! What a single line can be in Markdown, as CommonMark has it.

/// Columns of white space a line begins with, and the rest of it.
pub(crate) fn indent(line: &str) -> (usize, &str) {
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

/// Whether nothing but spaces and tabs stands in a text.
pub(crate) fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// A block whose lines are nothing but its own until it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// A fence of this many of this character.
    Fence(u8, usize),
    /// `<!-- … -->`.
    Comment,
    /// `<pre>` and its like, which also hold blank lines.
    Verbatim,
}

const VERBATIM: [&str; 4] = ["pre", "script", "style", "textarea"];

impl Closed {
    /// The block that a line opens, by what stands after its indent.
    pub(crate) fn opened_by(rest: &str) -> Option<Self> {
        match rest.bytes().next()? {
            mark @ (b'`' | b'~') => {
                let length = run(rest, mark);
                let info = rest.get(length..).unwrap_or_default();
                let is_code_span = mark == b'`' && info.contains('`');
                (length >= 3 && !is_code_span).then_some(Self::Fence(mark, length))
            }
            b'<' if rest.starts_with("<!--") => Some(Self::Comment),
            b'<' => VERBATIM
                .iter()
                .any(|tag| opens_tag(rest, tag))
                .then_some(Self::Verbatim),
            _ => None,
        }
    }

    /// Whether a line is the last one of the block. The line that opens a comment may be.
    pub(crate) fn is_closed_by(self, line: &str) -> bool {
        match self {
            Self::Fence(mark, length) => {
                let (columns, rest) = indent(line);
                let closing = run(rest, mark);
                columns < 4
                    && closing >= length
                    && is_blank(rest.get(closing..).unwrap_or_default())
            }
            Self::Comment => line.contains("-->"),
            Self::Verbatim => {
                let line = line.to_ascii_lowercase();
                VERBATIM
                    .iter()
                    .any(|tag| line.contains(&format!("</{tag}>")))
            }
        }
    }

    /// Whether the line that opens the block can close it as well.
    pub(crate) fn can_be_one_line(self) -> bool {
        !matches!(self, Self::Fence(..))
    }
}

fn opens_tag(rest: &str, tag: &str) -> bool {
    let name = rest.get(1..=tag.len());
    let next = rest.as_bytes().get(tag.len() + 1);
    name.is_some_and(|name| name.eq_ignore_ascii_case(tag))
        && matches!(next, None | Some(b' ' | b'\t' | b'>'))
}

/// Level and words of a heading such as `## Words ##`.
pub(crate) fn atx_heading(rest: &str) -> Option<(usize, &str)> {
    let level = run(rest, b'#');
    let words = rest.get(level..)?;
    let is_heading = (1..=6).contains(&level) && (words.is_empty() || starts_blank(words));
    is_heading.then(|| {
        (
            level,
            without_closing_marks(words.trim_matches([' ', '\t'])),
        )
    })
}

fn without_closing_marks(words: &str) -> &str {
    let open = words.trim_end_matches('#');
    match open.is_empty() || open.ends_with([' ', '\t']) {
        true => open.trim_end_matches([' ', '\t']),
        false => words,
    }
}

/// Level of the heading that a line of `===` or `---` makes of the paragraph above it.
pub(crate) fn underline(rest: &str) -> Option<usize> {
    let mark = rest.bytes().next()?;
    let level = match mark {
        b'=' => 1,
        b'-' => 2,
        _ => return None,
    };
    is_blank(rest.get(run(rest, mark)..)?).then_some(level)
}

/// Whether a line is a rule across the page such as `***` or `- - -`.
pub(crate) fn is_rule(rest: &str) -> bool {
    let Some(mark @ (b'-' | b'*' | b'_')) = rest.bytes().next() else {
        return false;
    };
    let mut marks = 0;
    for byte in rest.bytes() {
        match byte {
            b' ' | b'\t' => {}
            byte if byte == mark => marks += 1,
            _ => return false,
        }
    }
    marks >= 3
}

/// What stands after the marker of a bulleted list item.
pub(crate) fn bullet(rest: &str) -> Option<&str> {
    let text = rest.strip_prefix(['-', '*', '+'])?;
    (text.is_empty() || starts_blank(text)).then_some(text)
}

/// Marker (`12.`, `3)`) and text of a numbered list item.
pub(crate) fn numbered(rest: &str) -> Option<(&str, &str)> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (marker, text) = rest.split_at_checked(digits + 1)?;
    let is_marker = (1..=9).contains(&digits) && marker.ends_with(['.', ')']);
    (is_marker && (text.is_empty() || starts_blank(text))).then_some((marker, text))
}

fn starts_blank(text: &str) -> bool {
    text.starts_with([' ', '\t'])
}

/// How often `mark` stands at the start of a text.
pub(crate) fn run(text: &str, mark: u8) -> usize {
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
    }

    #[test]
    fn headings() {
        assert_eq!(atx_heading("## A b"), Some((2, "A b")));
        assert_eq!(atx_heading("##\tA \t"), Some((2, "A")));
        assert_eq!(atx_heading("# A ##  "), Some((1, "A")));
        assert_eq!(atx_heading("### A#"), Some((3, "A#")));
        assert_eq!(atx_heading("## ##"), Some((2, "")));
        assert_eq!(atx_heading("##"), Some((2, "")));
        for other in ["##A", "####### A", "A", "", "\\## A"] {
            assert_eq!(atx_heading(other), None, "{other}");
        }
    }

    #[test]
    fn fences_and_their_ends() {
        let fence = Closed::opened_by("```rust x").unwrap();
        assert_eq!(fence, Closed::Fence(b'`', 3));
        assert!(fence.is_closed_by("   `````  "));
        for other in ["``", "~~~", "``` x", "    ```"] {
            assert!(!fence.is_closed_by(other), "{other}");
        }
        assert_eq!(Closed::opened_by("~~~~ a`b"), Some(Closed::Fence(b'~', 4)));
        assert_eq!(Closed::opened_by("``` a`b"), None);
        assert_eq!(Closed::opened_by("``"), None);
    }

    #[test]
    fn html_that_hides_headings() {
        assert_eq!(Closed::opened_by("<!-- a"), Some(Closed::Comment));
        assert_eq!(Closed::opened_by("<PRE class=x>"), Some(Closed::Verbatim));
        assert_eq!(Closed::opened_by("<script"), Some(Closed::Verbatim));
        assert_eq!(Closed::opened_by("<prefix>"), None);
        assert_eq!(Closed::opened_by("<é"), None);
        assert!(Closed::Verbatim.is_closed_by("x </Style> y"));
        assert!(Closed::Comment.is_closed_by("x --> y"));
        assert!(!Closed::Comment.is_closed_by("-- >"));
    }

    #[test]
    fn underlines_rules_and_markers() {
        assert_eq!(underline("==="), Some(1));
        assert_eq!(underline("-  "), Some(2));
        assert_eq!(underline("- -"), None);
        assert_eq!(underline("=-"), None);
        assert!(is_rule("* * *") && is_rule("---") && is_rule("_ __\t"));
        assert!(!is_rule("--") && !is_rule("--*") && !is_rule("+++") && !is_rule(""));
        assert_eq!(bullet("- a"), Some(" a"));
        assert_eq!(bullet("*\ta"), Some("\ta"));
        assert_eq!(bullet("+"), Some(""));
        assert_eq!(bullet("-a"), None);
        assert_eq!(numbered("12. a"), Some(("12.", " a")));
        assert_eq!(numbered("1)"), Some(("1)", "")));
        for other in ["1", "1.a", ". a", "1234567890. a", "1é"] {
            assert_eq!(numbered(other), None, "{other}");
        }
    }
}
