//! Putting lines between the lines of a file, with blank lines around them where they are due.

use super::layout::Layout;
use super::text::item_lines;
use crate::markdown::indent;

/// Ends a list, so that an indented line after it is no part of its last item.
const END_OF_LIST: &str = "<!-- -->";

/// Lines to be put before line `at`.
pub(super) struct Insertion {
    pub(super) at: usize,
    spacing: Spacing,
    lines: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Spacing {
    /// Follows what stands above without a blank line.
    Tight,
    /// Has blank lines around it.
    Apart,
}

impl Insertion {
    /// A heading or another line that stands alone.
    pub(super) fn heading(at: usize, line: String) -> Self {
        let lines = vec![line];
        Self {
            at,
            spacing: Spacing::Apart,
            lines,
        }
    }

    /// A list of items with these texts.
    pub(super) fn list(at: usize, spacing: Spacing, texts: &[&str]) -> Self {
        let lines = texts.iter().flat_map(|text| item_lines(text)).collect();
        Self { at, spacing, lines }
    }
}

/// The first line from `at` on that is not blank, or the number of lines.
pub(super) fn next_content(layout: &Layout<'_>, at: usize) -> usize {
    let lines = layout.file.lines.get(at..).unwrap_or_default();
    at + lines.iter().take_while(|line| line.is_blank()).count()
}

/// Whether a list item put above this line would swallow it.
pub(super) fn is_indented(layout: &Layout<'_>, at: usize) -> bool {
    let line = layout.file.lines.get(at).map(|line| line.text);
    let (columns, rest) = indent(line.unwrap_or(layout.file.tail));
    columns >= 2 && !rest.is_empty()
}

/// The file with insertions, which are given in order.
pub(super) fn spliced(layout: &Layout<'_>, insertions: &[Insertion], line_end: &str) -> String {
    let lines = &layout.file.lines;
    let mut out = Output {
        text: with_room(layout, insertions),
        line_end,
        is_blank: true,
        owes_blank: false,
        is_mid_line: false,
    };
    let mut insertions = insertions.iter().peekable();
    for at in 0..=lines.len() {
        let mut is_changed = false;
        while let Some(insertion) = insertions.next_if(|one| one.at == at) {
            out.insert(insertion.spacing, &insertion.lines);
            is_changed = true;
        }
        if is_changed && is_indented(layout, next_content(layout, at)) {
            out.insert(Spacing::Apart, &[END_OF_LIST.to_owned()]);
        }
        if let Some(line) = lines.get(at) {
            out.keep(line.raw, line.is_blank());
        }
    }
    if !layout.file.tail.is_empty() {
        out.keep(layout.file.tail, false);
    }
    out.text
}

/// The byte order mark, with room for all that comes after it.
fn with_room(layout: &Layout<'_>, insertions: &[Insertion]) -> String {
    let kept = layout.file.lines.iter().map(|line| line.raw.len());
    let new = insertions
        .iter()
        .flat_map(|one| &one.lines)
        .map(|line| line.len() + 4);
    let size = layout.file.tail.len() + kept.chain(new).sum::<usize>() + 16;
    let mut text = String::with_capacity(size);
    text.push_str(layout.file.mark);
    text
}

struct Output<'e> {
    text: String,
    line_end: &'e str,
    /// Whether the last line is blank, or there is none yet.
    is_blank: bool,
    /// Whether a blank line must come before text.
    owes_blank: bool,
    /// Whether the last line lacks its end.
    is_mid_line: bool,
}

impl Output<'_> {
    fn keep(&mut self, raw: &str, is_blank: bool) {
        if !is_blank && self.owes_blank {
            self.blank_line();
        }
        self.text.push_str(raw);
        self.is_blank = is_blank;
        self.owes_blank = false;
        self.is_mid_line = !raw.ends_with('\n');
    }

    fn insert(&mut self, spacing: Spacing, lines: &[String]) {
        if self.is_mid_line {
            self.text.push_str(self.line_end);
        }
        if spacing == Spacing::Apart || self.owes_blank {
            self.blank_line();
        }
        for line in lines {
            self.text.push_str(line);
            self.text.push_str(self.line_end);
        }
        self.is_blank = false;
        self.is_mid_line = false;
        self.owes_blank = spacing == Spacing::Apart;
    }

    fn blank_line(&mut self) {
        if !self.is_blank {
            self.text.push_str(self.line_end);
        }
    }
}
