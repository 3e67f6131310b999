//! Where new lines go.

use super::layout::{Item, Layout, Section, Span};
use crate::markdown::{Kind, Line};

/// Lines to be put before line `at`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Insertion {
    pub(super) at: usize,
    pub(super) belongs: Belongs,
    pub(super) spacing: Spacing,
    pub(super) lines: Vec<String>,
}

/// What the lines are part of. Where several go before one line, they go in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Belongs {
    /// The section above.
    Above,
    /// A section of their own.
    Own,
}

/// The blank lines around inserted ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spacing {
    /// None: they go on with a list.
    Tight,
    /// One below.
    UnderHeading,
    /// One above and one below.
    Apart,
}

/// Items for the end of a section's list. `is_one` tells which items are of the list, where there
/// are others as well.
pub(super) fn at_end_of_list(
    layout: &Layout<'_>,
    name: Section,
    is_one: &dyn Fn(&Item<'_>) -> bool,
    lines: Vec<String>,
) -> Insertion {
    let Some(span) = layout.sections(name).next() else {
        return as_section(layout, name, lines);
    };
    let (mut last, mut last_like) = (None, None);
    for item in layout.items_in(span) {
        last = Some(item.end);
        if is_one(&item) {
            last_like = last;
        }
    }
    let (at, spacing) = match last_like.or(last) {
        Some(end) => (end, Spacing::Tight),
        None => end_of_text(layout, span),
    };
    Insertion {
        at,
        belongs: Belongs::Above,
        spacing,
        lines,
    }
}

/// A line for the start of a section.
pub(super) fn at_start(layout: &Layout<'_>, name: Section, line: String) -> Insertion {
    match layout.sections(name).next() {
        None => as_section(layout, name, vec![line]),
        Some(span) => Insertion {
            at: span.heading + 1,
            belongs: Belongs::Above,
            spacing: Spacing::UnderHeading,
            lines: vec![line],
        },
    }
}

/// A section that is not there yet: before the next of the known ones that is.
fn as_section(layout: &Layout<'_>, name: Section, mut lines: Vec<String>) -> Insertion {
    lines.insert(0, format!("## {}", name.title()));
    let later = Section::ALL.into_iter().skip_while(|other| *other != name);
    let next = later
        .filter_map(|other| layout.sections(other).next())
        .next();
    Insertion {
        at: next.map_or(layout.file.lines.len(), |span| span.heading),
        belongs: Belongs::Own,
        spacing: Spacing::Apart,
        lines,
    }
}

/// The end of what stands in a section before any heading within it.
fn end_of_text(layout: &Layout<'_>, span: Span) -> (usize, Spacing) {
    let start = span.heading + 1;
    let lines = layout.file.lines.get(start..span.end).unwrap_or_default();
    let is_heading = |line: &Line<'_>| matches!(line.kind, Kind::Heading(_));
    let own = lines.iter().position(is_heading).unwrap_or(lines.len());
    let text = lines.iter().take(own).rposition(|line| !line.is_blank());
    match text {
        Some(last) => (start + last + 1, Spacing::Apart),
        None => (start, Spacing::UnderHeading),
    }
}
