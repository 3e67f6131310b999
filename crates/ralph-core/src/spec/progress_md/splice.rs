//! Putting new lines in place of and between the lines of a log.

use super::layout::Layout;
use super::place::Spacing;
use super::plan::Edits;
use crate::markdown::{bullet, indent};

/// Ends a list, so that an indented line after it is no part of its last item.
const END_OF_LIST: &str = "<!-- -->";

/// The log with the edits made.
pub(super) fn spliced(layout: &Layout<'_>, mut edits: Edits) -> String {
    let file = &layout.file;
    let mut out = Output::new(file.mark, commonest_line_end(file.raw_lines()));
    let mut inserted = edits.inserted.into_iter().peekable();
    for at in 0..=file.lines.len() {
        let mut ends_in_item = false;
        while let Some(insertion) = inserted.next_if(|one| one.at == at) {
            let last = insertion.lines.last();
            ends_in_item = last.is_some_and(|line| bullet(line).is_some());
            out.insert(insertion.spacing, &insertion.lines);
        }
        if ends_in_item && is_indented(layout, at) {
            out.insert(Spacing::Apart, &[END_OF_LIST.to_owned()]);
        }
        let Some(line) = file.lines.get(at) else {
            break;
        };
        match edits.replaced.remove(&at) {
            None => out.keep(line.raw, line.is_blank()),
            Some(text) => {
                let line_end = line.raw.get(line.text.len()..).unwrap_or_default();
                out.keep(&(text + line_end), false);
            }
        }
    }
    if !file.tail.is_empty() {
        out.keep(file.tail, false);
    }
    out.text
}

/// Whether a list item put before line `at` would swallow the next line that is not blank.
fn is_indented(layout: &Layout<'_>, at: usize) -> bool {
    let lines = layout.file.lines.get(at..).unwrap_or_default();
    let next = lines.iter().find(|line| !line.is_blank());
    let (columns, rest) = indent(next.map_or(layout.file.tail, |line| line.text));
    columns >= 2 && !rest.is_empty()
}

fn commonest_line_end<'a>(lines: impl Iterator<Item = &'a str>) -> &'static str {
    let (mut windows, mut all) = (0usize, 0usize);
    for line in lines {
        all += usize::from(line.ends_with('\n'));
        windows += usize::from(line.ends_with("\r\n"));
    }
    if windows * 2 > all { "\r\n" } else { "\n" }
}

struct Output {
    text: String,
    line_end: &'static str,
    /// Whether the last line is blank, or there is none yet.
    is_blank: bool,
    /// Whether a blank line must come before text.
    owes_blank: bool,
    /// Whether the last line lacks its end.
    is_mid_line: bool,
}

impl Output {
    fn new(mark: &str, line_end: &'static str) -> Self {
        let text = mark.to_owned();
        Self {
            text,
            line_end,
            is_blank: true,
            owes_blank: false,
            is_mid_line: false,
        }
    }

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
        self.owes_blank = spacing != Spacing::Tight;
    }

    fn blank_line(&mut self) {
        if !self.is_blank {
            self.text.push_str(self.line_end);
        }
    }
}
