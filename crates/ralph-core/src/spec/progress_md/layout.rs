//! The sections of the log that Ralph knows, and the list items in them.

use super::entry::flat;
use crate::markdown::{Kind, Line, Lines, atx_heading, bullet, indent};

/// A section that Ralph writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Completed,
    Current,
    FixHistory,
    Learnings,
}

impl Section {
    /// In the order in which they stand in a log.
    pub(super) const ALL: [Self; 4] = [
        Self::Completed,
        Self::Current,
        Self::FixHistory,
        Self::Learnings,
    ];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Completed => "Completed Tasks",
            Self::Current => "Current Task",
            Self::FixHistory => "Fix Task History",
            Self::Learnings => "Learnings",
        }
    }

    /// The section that a heading begins.
    fn begun_by(line: &Line<'_>) -> Option<Self> {
        let (_, rest) = indent(line.text);
        let (level, words) = atx_heading(rest)?;
        let words = words.trim_end_matches(':').trim_end();
        let mut all = Self::ALL.into_iter();
        all.find(|section| level == 2 && section.title().eq_ignore_ascii_case(words))
    }
}

/// Where a section stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) name: Section,
    /// The line of its heading.
    pub(super) heading: usize,
    /// The line after its last.
    pub(super) end: usize,
}

/// A list item with some text, its marker at column 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'a> {
    pub(super) start: usize,
    /// The line after its last.
    pub(super) end: usize,
    /// What stands after the marker on its first line.
    pub(super) first: &'a str,
}

/// A log's lines and the known sections in them.
pub(super) struct Layout<'a> {
    pub(super) file: Lines<'a>,
    spans: Vec<Span>,
}

impl<'a> Layout<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let file = Lines::of(text);
        let mut spans: Vec<Span> = Vec::new();
        let mut is_open = false;
        for (at, line) in file.lines.iter().enumerate() {
            if let Kind::Heading(..=2) = line.kind {
                let name = Section::begun_by(line);
                is_open = name.is_some();
                spans.extend(name.map(|name| Span {
                    name,
                    heading: at,
                    end: at,
                }));
            }
            if let Some(span) = spans.last_mut().filter(|_| is_open) {
                span.end = at + 1;
            }
        }
        Self { file, spans }
    }

    /// The sections of this name. The first is written to.
    pub(super) fn sections(&self, name: Section) -> impl Iterator<Item = Span> {
        self.spans
            .iter()
            .copied()
            .filter(move |span| span.name == name)
    }

    /// The items of all sections of this name.
    pub(super) fn items(&self, name: Section) -> impl Iterator<Item = Item<'a>> {
        self.sections(name).flat_map(|span| self.items_in(span))
    }

    /// The items of a section.
    pub(super) fn items_in(&self, span: Span) -> impl Iterator<Item = Item<'a>> {
        (span.heading..span.end).filter_map(|start| {
            let first = bullet(self.bullet_line(start)?.text)?;
            let end = self.end_of_item(start);
            (!first.trim().is_empty()).then_some(Item { start, end, first })
        })
    }

    fn bullet_line(&self, at: usize) -> Option<&Line<'a>> {
        self.file
            .lines
            .get(at)
            .filter(|line| line.kind == Kind::Bullet)
    }

    /// The line after the last one of the item that begins at `start`: what is indented below it
    /// belongs to it, and text that goes on without an indent.
    fn end_of_item(&self, start: usize) -> usize {
        let mut end = start + 1;
        for (at, line) in self.file.lines.iter().enumerate().skip(start + 1) {
            match line.kind {
                Kind::Inside => end = at + 1,
                Kind::Paragraph if end == at => end = at + 1,
                Kind::Blank => {}
                _ => break,
            }
        }
        end
    }

    /// The whole text of an item, on one line.
    pub(super) fn item_text(&self, item: Item<'a>) -> String {
        let further = self
            .file
            .lines
            .get(item.start + 1..item.end)
            .unwrap_or_default();
        let mut text = item.first.to_owned();
        for line in further {
            text.push('\n');
            text.push_str(line.text);
        }
        flat(&text)
    }

    /// The first line under a section's heading that is not blank.
    pub(super) fn first_content(&self, span: Span) -> Option<(usize, &Line<'a>)> {
        let lines = self.file.lines.get(span.heading + 1..span.end)?;
        let first = lines.iter().position(|line| !line.is_blank())?;
        Some((span.heading + 1 + first, lines.get(first)?))
    }
}
