//! A file as lines, each with what Markdown makes of it.
//!
//! One thing is simpler than in CommonMark: a line that is not indented never continues the
//! paragraph of a list item or a quotation, it begins one of its own. So taking an item out or
//! putting one in never changes what the lines around it are.

use super::syntax::{Closed, atx_heading, bullet, indent, is_rule, numbered, underline};

/// What a line is to the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing but white space.
    Blank,
    /// A heading of this level, or the first line of an underlined one.
    Heading(usize),
    /// The first line of a bulleted list item at column 0.
    Bullet,
    /// A further line of a list item.
    Inside,
    /// Text of a paragraph.
    Paragraph,
    /// Part of a fenced block, a comment or verbatim HTML.
    Closed,
    /// Anything else: a rule, a quotation, indented code, the first line of other list items.
    Other,
}

/// One line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// The whole line with its line end.
    pub(crate) raw: &'a str,
    /// The line without its line end.
    pub(crate) text: &'a str,
    pub(crate) kind: Kind,
}

impl Line<'_> {
    pub(crate) fn is_blank(&self) -> bool {
        self.kind == Kind::Blank
    }
}

/// The lines of a file up to a block that is opened and never closed, and that block. Nothing can
/// be put behind it, for it would be swallowed.
#[derive(Clone, Debug)]
pub(crate) struct Lines<'a> {
    /// The file's byte order mark, where it has one.
    pub(crate) mark: &'a str,
    pub(crate) lines: Vec<Line<'a>>,
    pub(crate) tail: &'a str,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(file: &'a str) -> Self {
        let mark = if file.starts_with('\u{feff}') { 3 } else { 0 };
        let (mark, file) = file.split_at_checked(mark).unwrap_or(("", file));
        let mut scanner = Scanner::default();
        let mut lines: Vec<Line<'a>> = Vec::with_capacity(file.len() / 32);
        let mut offset = 0;
        for raw in file.split_inclusive('\n') {
            let line = raw.strip_suffix('\n').unwrap_or(raw);
            let text = line.trim_end_matches('\r');
            let position = Position {
                line: lines.len(),
                offset,
            };
            let kind = match scanner.next(text, position) {
                Found::Line(kind) => kind,
                Found::Underline { of, level } => {
                    if let Some(first) = lines.get_mut(of) {
                        first.kind = Kind::Heading(level);
                    }
                    Kind::Paragraph
                }
            };
            lines.push(Line { raw, text, kind });
            offset += raw.len();
        }
        let mut tail = "";
        if let Some((_, opened)) = scanner.closed {
            lines.truncate(opened.line);
            tail = file.get(opened.offset..).unwrap_or_default();
        }
        Self { mark, lines, tail }
    }

    /// All lines with their line ends, also those of the tail.
    pub(crate) fn raw_lines(&self) -> impl Iterator<Item = &'a str> {
        let lines = self.lines.iter().map(|line| line.raw);
        lines.chain(self.tail.split_inclusive('\n'))
    }
}

#[derive(Clone, Copy, Debug)]
struct Position {
    line: usize,
    offset: usize,
}

enum Found {
    Line(Kind),
    /// The underline of the heading that begins at line `of`.
    Underline {
        of: usize,
        level: usize,
    },
}

/// An open list item.
#[derive(Clone, Copy, Debug)]
struct Item {
    /// Columns of indent that a line needs to belong to it.
    needs: usize,
    /// So far it is only a marker; a blank line ends it then.
    is_empty: bool,
}

/// What is open at the end of the lines so far.
#[derive(Default)]
struct Scanner {
    closed: Option<(Closed, Position)>,
    item: Option<Item>,
    /// First line of the paragraph.
    paragraph: Option<usize>,
}

impl Scanner {
    fn next(&mut self, text: &str, position: Position) -> Found {
        if let Some((block, _)) = self.closed {
            if block.is_closed_by(text) {
                self.closed = None;
            }
            return Found::Line(Kind::Closed);
        }
        let (columns, rest) = indent(text);
        if rest.is_empty() {
            self.paragraph = None;
            self.item = self.item.filter(|item| !item.is_empty);
            return Found::Line(Kind::Blank);
        }
        if let Some(item) = self.item.as_mut().filter(|item| columns >= item.needs) {
            item.is_empty = false;
            return Found::Line(Kind::Inside);
        }
        self.item = None;
        let paragraph = self.paragraph.take();
        if columns < 4 {
            self.block(text, columns, rest, paragraph, position)
        } else if paragraph.is_some() {
            self.paragraph = paragraph;
            Found::Line(Kind::Paragraph)
        } else {
            Found::Line(Kind::Other)
        }
    }

    /// A line that may begin a block of its own; `paragraph` is the one that was open before it.
    fn block(
        &mut self,
        text: &str,
        columns: usize,
        rest: &str,
        paragraph: Option<usize>,
        position: Position,
    ) -> Found {
        if let Some(block) = Closed::opened_by(rest) {
            if !(block.can_be_one_line() && block.is_closed_by(text)) {
                self.closed = Some((block, position));
            }
            return Found::Line(Kind::Closed);
        }
        if let Some((level, _)) = atx_heading(rest) {
            return Found::Line(Kind::Heading(level));
        }
        if let Some(of) = paragraph
            && let Some(level) = underline(rest)
        {
            return Found::Underline { of, level };
        }
        if is_rule(rest) || rest.starts_with('>') {
            return Found::Line(Kind::Other);
        }
        // An item that is only a marker, or a number other than 1, does not interrupt a paragraph.
        if let Some(after) = bullet(rest)
            && (paragraph.is_none() || !after.trim().is_empty())
        {
            self.open_item(columns + 2, after);
            let kind = if columns == 0 {
                Kind::Bullet
            } else {
                Kind::Other
            };
            return Found::Line(kind);
        }
        if let Some((marker, after)) = numbered(rest) {
            let is_first = matches!(marker, "1." | "1)") && !after.trim().is_empty();
            if paragraph.is_none() || is_first {
                self.open_item(columns + marker.len() + 1, after);
                return Found::Line(Kind::Other);
            }
        }
        self.paragraph = paragraph.or(Some(position.line));
        Found::Line(Kind::Paragraph)
    }

    fn open_item(&mut self, needs: usize, after: &str) {
        let is_empty = after.trim().is_empty();
        self.item = Some(Item { needs, is_empty });
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Kind::*, Lines};

    fn kinds(file: &str) -> Vec<Kind> {
        Lines::of(file).lines.iter().map(|line| line.kind).collect()
    }

    #[test]
    fn a_line_end_is_no_part_of_the_text() {
        let lines = Lines::of("\u{feff}## A\r\n\r\r\nb\r");
        let texts: Vec<_> = lines.lines.iter().map(|line| line.text).collect();
        assert_eq!(texts, ["## A", "", "b"]);
        let raw: String = lines.lines.iter().map(|line| line.raw).collect();
        assert_eq!(raw, "## A\r\n\r\r\nb\r");
        assert_eq!((lines.mark, lines.tail), ("\u{feff}", ""));
    }

    #[test]
    fn agm_13_fences_hide_headings() {
        assert_eq!(
            kinds("```\n# A\n``\n```\n# B"),
            [Closed, Closed, Closed, Closed, Heading(1)]
        );
        assert_eq!(kinds("   ~~~~ x\n~~~\n# A\n~~~~~\n"), [Closed; 4]);
        assert_eq!(kinds("``` a`b\n# A"), [Paragraph, Heading(1)]);
        assert_eq!(kinds("    ```\n# A"), [Other, Heading(1)]);
    }

    #[test]
    fn agm_13_comments_and_indented_code_hide_headings() {
        assert_eq!(
            kinds("<!-- a\n# A\n\n# B --> x\n# C"),
            [Closed, Closed, Closed, Closed, Heading(1)]
        );
        assert_eq!(kinds("<!-- a -->\n# A"), [Closed, Heading(1)]);
        assert_eq!(
            kinds("<pre>\n# A\n\n</pre>\n# B"),
            [Closed, Closed, Closed, Closed, Heading(1)]
        );
        assert_eq!(kinds("    # A\n\t# B\n   # C"), [Other, Other, Heading(1)]);
    }

    #[test]
    fn agm_13_what_is_never_closed_is_the_tail() {
        for tail in [
            "```\n# A\n",
            "~~~~\n~~~\n",
            "<!-- a\n\n# A",
            "<pre>\n# A\n",
            "```",
        ] {
            let file = format!("a\r\n\n{tail}");
            let lines = Lines::of(&file);
            assert_eq!(lines.lines.len(), 2);
            assert_eq!(lines.tail, tail);
        }
    }

    #[test]
    fn underlined_headings_begin_with_their_paragraph() {
        assert_eq!(kinds("a\nb\n---\n"), [Heading(2), Paragraph, Paragraph]);
        assert_eq!(
            kinds("a\n    b\n  ==  \n"),
            [Heading(1), Paragraph, Paragraph]
        );
        assert_eq!(kinds("a\n\n---\n"), [Paragraph, Blank, Other]);
        assert_eq!(kinds("- a\n---\n> b\n---"), [Bullet, Other, Other, Other]);
        assert_eq!(kinds("a\n- \n"), [Heading(2), Paragraph]);
    }

    #[test]
    fn indented_lines_belong_to_the_item_above() {
        assert_eq!(
            kinds("- a\n  # b\n\n\n  ```\n\tc\n# d"),
            [Bullet, Inside, Blank, Blank, Inside, Inside, Heading(1)]
        );
        assert_eq!(kinds("- a\n # b\n  # c"), [Bullet, Heading(1), Heading(1)]);
        assert_eq!(kinds("- a\nb\n  c"), [Bullet, Paragraph, Paragraph]);
        assert_eq!(kinds("10. a\n    ```\n   b"), [Other, Inside, Paragraph]);
        assert_eq!(kinds(" - a\n   b\n  c"), [Other, Inside, Paragraph]);
    }

    #[test]
    fn markers_alone() {
        assert_eq!(kinds("-\n  a"), [Bullet, Inside]);
        assert_eq!(kinds("-\n\n  # a"), [Bullet, Blank, Heading(1)]);
        assert_eq!(kinds("-\n  a\n\n  b"), [Bullet, Inside, Blank, Inside]);
        assert_eq!(
            kinds("a\n*\n2. b\n1. c"),
            [Paragraph, Paragraph, Paragraph, Other]
        );
        assert_eq!(kinds("* * *\n*a*\n- b"), [Other, Paragraph, Bullet]);
    }
}
