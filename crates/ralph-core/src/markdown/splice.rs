//! New lines put between the lines of a file, or in their place, while every other byte stays as it was.

use std::collections::BTreeMap;

use memchr::memchr_iter;

use super::{Lines, bullet, indent};

/// Ends a list, so that an indented line after it is no part of its last item.
const END_OF_LIST: &str = "<!-- -->";

/// Lines to be put before line `at`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Insertion {
    pub(crate) at: usize,
    pub(crate) spacing: Spacing,
    pub(crate) lines: Vec<String>,
}

/// The blank lines around inserted ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spacing {
    /// None: they go on with a list.
    Tight,
    /// One below.
    UnderHeading,
    /// One above and one below.
    Apart,
}

/// `\r\n` where most lines of a file end so, else `\n`.
pub(crate) fn commonest_line_end(text: &str) -> &'static str {
    let bytes = text.as_bytes();
    let windows = memchr_iter(b'\r', bytes).filter(|at| bytes.get(at + 1) == Some(&b'\n'));
    if windows.count() * 2 > memchr_iter(b'\n', bytes).count() { "\r\n" } else { "\n" }
}

impl Lines<'_> {
    /// The line after the last one from `start` to `end` that is not blank.
    pub(crate) fn end_of_content(&self, start: usize, end: usize) -> usize {
        let last = self.lines[start..end].iter().rposition(|line| !line.is_blank());
        start + last.map_or(0, |last| last + 1)
    }

    /// The first line from `at` on that is not blank, or the number of lines.
    pub(crate) fn next_content(&self, at: usize) -> usize {
        at + self.lines[at..].iter().take_while(|line| line.is_blank()).count()
    }

    /// Whether a list item put above this line at this column would swallow it.
    pub(crate) fn is_indented(&self, at: usize, item: usize) -> bool {
        let line = self.lines.get(at).map_or(self.tail, |line| line.text);
        let (columns, rest) = indent(line);
        columns >= item + 2 && !rest.is_empty()
    }

    /// The file with some lines replaced (their line ends stay) and others put in, which are given
    /// in order.
    pub(crate) fn spliced(
        &self,
        replaced: &BTreeMap<usize, String>,
        insertions: &[Insertion],
        line_end: &'static str,
    ) -> String {
        let text = self.mark.to_owned();
        let mut out = Output { text, line_end, is_blank: true, owes_blank: false, is_mid_line: false };
        let mut insertions = insertions.iter().peekable();
        for at in 0..=self.lines.len() {
            let mut ends_in_item = false;
            let mut column = 0;
            while let Some(one) = insertions.next_if(|one| one.at == at) {
                let is_of_item = |line: &String| line.starts_with([' ', '\t']) || bullet(line).is_some();
                ends_in_item = one.lines.last().is_some_and(is_of_item);
                column = one.lines.first().map_or(0, |line| indent(line).0);
                out.insert(one.spacing, &one.lines);
            }
            if ends_in_item && self.is_indented(self.next_content(at), column) {
                out.insert(Spacing::Apart, &[END_OF_LIST.to_owned()]);
            }
            let Some(line) = self.lines.get(at) else { break };
            // Text right below an item would go on with it.
            out.owes_blank |= ends_in_item && line.is_text();
            match replaced.get(&at) {
                None => out.keep(line.raw, line.is_blank()),
                Some(text) => out.keep(&format!("{text}{}", &line.raw[line.text.len()..]), false),
            }
        }
        if !self.tail.is_empty() {
            out.keep(self.tail, false);
        }
        out.text
    }
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

#[cfg(test)]
mod tests {
    use super::commonest_line_end;

    #[test]
    fn the_commonest_line_end_is_found() {
        assert_eq!(commonest_line_end(""), "\n");
        assert_eq!(commonest_line_end("a"), "\n");
        assert_eq!(commonest_line_end("a\r\nb"), "\r\n");
        assert_eq!(commonest_line_end("a\r\nb\nc\r\n"), "\r\n");
        assert_eq!(commonest_line_end("a\r\nb\n"), "\n");
        assert_eq!(commonest_line_end("a\r\nb\nc\nd\r"), "\n");
    }
}
