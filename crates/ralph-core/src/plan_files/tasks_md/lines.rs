//! A file as lines, each with what it is to a spec.
//!
//! What begins at column 0 belongs to the document: a fence or comment there hides everything up
//! to its end. What is indented belongs to an item and never hides a task line or a heading: it
//! ends where it is closed. When nothing closes it before the next task, heading or field, it also
//! ends at a line that is indented less.

use memchr::memchr;

use super::ahead::Ahead;
use super::closed::{Closed, Opening};
use super::head::Head;
use super::syntax::{heading, indent};

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing but white space.
    Blank,
    /// The first line of a task.
    Task,
    Heading,
    Fence(Part),
    Comment(Part),
    Text,
}

/// Which line of a fence or comment it is. One that is a single line has only a beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Begin,
    Inside,
    End,
}

/// One line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// The line without its line end.
    pub(super) text: &'a str,
    /// The same without its indent.
    pub(super) words: &'a str,
    /// Columns it is indented by.
    pub(super) columns: usize,
    pub(super) kind: Kind,
    /// Where it begins in the file.
    pub(super) start: usize,
    /// Where the next one begins.
    pub(super) end: usize,
}

impl Line<'_> {
    pub(super) fn is_blank(&self) -> bool {
        self.words.is_empty()
    }
}

/// Goes through the lines of a file.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    file: &'a str,
    at: usize,
    open: Option<Open>,
    ahead: Ahead,
}

/// A fence or comment that has begun.
#[derive(Clone, Copy, Debug)]
struct Open {
    what: Closed,
    extent: Extent,
    /// Where it began.
    start: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// Begun at column 0: to its end, or to that of the file.
    Document,
    /// Indented: to its end, which is near.
    Item,
    /// Indented, and no end is near: to its end, or to a line indented less than this.
    Column(usize),
}

impl<'a> Lines<'a> {
    pub(super) fn of(file: &'a str) -> Self {
        let at = if file.starts_with('\u{feff}') { 3 } else { 0 };
        Self {
            file,
            at,
            open: None,
            ahead: Ahead::default(),
        }
    }

    /// Where the fence or comment began that hides what follows it; known after the last line.
    pub(super) fn never_closed(&self) -> Option<usize> {
        let open = self.open.filter(|open| open.extent == Extent::Document)?;
        Some(open.start)
    }

    fn kind(&mut self, line: &Line<'a>) -> Kind {
        let words = line.words;
        if let Some(open) = self.open {
            if let Some(part) = open.part(line.columns, words) {
                self.open = self.open.filter(|_| part != Part::End);
                return open.what.kind(part);
            }
            self.open = None;
        }
        match words.bytes().next() {
            None => Kind::Blank,
            Some(b'-') if line.columns == 0 && Head::of(words).is_some() => Kind::Task,
            Some(b'#') if line.columns == 0 && heading(words).is_some() => Kind::Heading,
            Some(_) => self.open(line).unwrap_or(Kind::Text),
        }
    }

    /// Opens the block that a line begins.
    fn open(&mut self, line: &Line<'a>) -> Option<Kind> {
        let Opening {
            what,
            column,
            is_certain,
        } = Opening::of(line.columns, line.words)?;
        if what == Closed::Comment && what.is_closed_by(line.words) {
            return Some(what.kind(Part::Begin));
        }
        let extent = if column == 0 && is_certain {
            Extent::Document
        } else if self.ahead.closes(self.file, line.end, what) {
            Extent::Item
        } else if is_certain {
            Extent::Column(column)
        } else {
            return None;
        };
        self.open = Some(Open {
            what,
            extent,
            start: line.start,
        });
        Some(what.kind(Part::Begin))
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let start = self.at;
        let (text, end) = next_line(self.file, start)?;
        let (columns, words) = indent(text);
        let mut line = Line {
            text,
            words,
            columns,
            kind: Kind::Blank,
            start,
            end,
        };
        line.kind = self.kind(&line);
        self.at = end;
        Some(line)
    }
}

impl Open {
    /// Which part of the block a line is, if it is one.
    fn part(self, columns: usize, words: &str) -> Option<Part> {
        let closes = self.what.is_closed_by(words);
        let is_fence = self.what != Closed::Comment;
        let is_end = match self.extent {
            Extent::Document => closes && (columns < 4 || !is_fence),
            Extent::Item => closes && (columns > 0 || !is_fence),
            Extent::Column(least) => {
                if columns < least && !words.is_empty() && !closes {
                    return None;
                }
                closes
            }
        };
        Some(if is_end { Part::End } else { Part::Inside })
    }
}

impl Closed {
    fn kind(self, part: Part) -> Kind {
        match self {
            Self::Fence(..) => Kind::Fence(part),
            Self::Comment => Kind::Comment(part),
        }
    }
}

/// The line at a position, without its line end, and where the next one begins.
pub(super) fn next_line(file: &str, start: usize) -> Option<(&str, usize)> {
    let rest = file.get(start..).filter(|rest| !rest.is_empty())?;
    let newline = memchr(b'\n', rest.as_bytes());
    let end = newline.map_or(rest.len(), |at| at + 1);
    let mut text = rest.get(..newline.unwrap_or(rest.len()))?;
    while let Some(shorter) = text.strip_suffix('\r') {
        text = shorter;
    }
    Some((text, start + end))
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
