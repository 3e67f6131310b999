//! Elements such as `<task type="auto">…</task>` in a text that is no XML: between the tags stands
//! Markdown and code, with any number of `<` and `>` that mean nothing.
//!
//! A tag counts where it begins a line or follows another tag, and not in code spans. What stands
//! between the tags of an element is not looked at, so code there needs no care.

use std::collections::HashMap;
use std::ops::Range;

use crate::plan_files::draft::Problem;
use crate::plan_files::markdown::Fence;

/// An element and what stands between its tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Element<'a> {
    pub(super) name: &'a str,
    attributes: &'a str,
    pub(super) content: &'a str,
    /// Where the content stands in the file.
    pub(super) range: Range<usize>,
    pub(super) line: usize,
}

impl<'a> Element<'a> {
    /// The value of an attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<&'a str> {
        let mut rest = self.attributes;
        loop {
            let (key, value) = rest.split_once('=')?;
            let value = value.trim_start();
            let mark = value
                .chars()
                .next()
                .filter(|mark| matches!(mark, '"' | '\''))?;
            let (value, after) = value.get(1..)?.split_once(mark)?;
            if key.trim() == name {
                return Some(value);
            }
            rest = after;
        }
    }
}

/// Elements that must be closed.
const KNOWN: [&str; 8] = [
    "objective",
    "context",
    "task",
    "name",
    "files",
    "action",
    "verify",
    "done",
];

/// Elements that only hold others.
const AROUND: [&str; 2] = ["tasks", "plan"];

/// A file with its tags.
#[derive(Debug)]
pub(super) struct Tags<'a> {
    file: &'a str,
    /// Where each line begins.
    lines: Vec<usize>,
    /// Opening tags by where they begin.
    opening: HashMap<usize, Opening<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct Opening<'a> {
    name: &'a str,
    attributes: &'a str,
    /// Where the tag ends.
    end: usize,
    /// Where its closing tag begins and ends.
    close: Option<(usize, usize)>,
}

impl<'a> Tags<'a> {
    /// Finds all tags of a file.
    pub(super) fn of(file: &'a str) -> Self {
        let mut tags = Self {
            file,
            lines: Vec::new(),
            opening: HashMap::new(),
        };
        let mut unclosed: HashMap<&'a str, Vec<usize>> = HashMap::new();
        let mut start = 0;
        for line in file.split_inclusive('\n') {
            tags.lines.push(start);
            tags.scan_line(line, start, &mut unclosed);
            start += line.len();
        }
        tags.lines.push(start);
        tags
    }

    fn scan_line(
        &mut self,
        line: &'a str,
        start: usize,
        unclosed: &mut HashMap<&'a str, Vec<usize>>,
    ) {
        // Where a tag may have begun, and what stood before it.
        let mut begun: Option<(usize, Option<u8>)> = None;
        let mut before = None;
        let mut is_code = false;
        for (at, byte) in line.bytes().enumerate() {
            match byte {
                b'`' if before != Some(b'`') => is_code = !is_code,
                b'<' => begun = Some((at, before)),
                b'>' => {
                    if let Some((from, before)) = begun.take() {
                        let tag = line.get(from + 1..at).unwrap_or_default();
                        let is_last = line.get(at + 1..).is_some_and(is_blank_start);
                        let place = Place {
                            range: start + from..start + at + 1,
                            may_open: !is_code && matches!(before, None | Some(b'>')),
                            may_close: !is_code || is_last,
                        };
                        self.tag(tag, place, unclosed);
                    }
                }
                _ => {}
            }
            if !byte.is_ascii_whitespace() {
                before = Some(byte);
            }
        }
    }

    fn tag(&mut self, tag: &'a str, place: Place, unclosed: &mut HashMap<&'a str, Vec<usize>>) {
        if let Some(name) = tag
            .strip_prefix('/')
            .map(str::trim_end)
            .filter(|name| is_name(name))
        {
            let open = unclosed
                .get_mut(name)
                .filter(|_| place.may_close)
                .and_then(Vec::pop);
            if let Some(opening) = open.and_then(|at| self.opening.get_mut(&at)) {
                opening.close = Some((place.range.start, place.range.end));
            }
            return;
        }
        let end = tag.find([' ', '\t']).unwrap_or(tag.len());
        let (name, attributes) = tag.split_at_checked(end).unwrap_or((tag, ""));
        if place.may_open && is_name(name) && !attributes.ends_with('/') {
            let opening = Opening {
                name,
                attributes,
                end: place.range.end,
                close: None,
            };
            self.opening.insert(place.range.start, opening);
            unclosed.entry(name).or_default().push(place.range.start);
        }
    }

    /// The line that a place in the file is on.
    pub(super) fn line_of(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at).max(1)
    }

    /// The elements of a part of the file that are not within others there.
    pub(super) fn within(
        &self,
        part: Range<usize>,
        problems: &mut Vec<Problem>,
    ) -> Vec<Element<'a>> {
        let mut found = Vec::new();
        let mut fence: Option<(Fence, usize)> = None;
        let mut at = part.start;
        while at < part.end {
            let line = self.line_of(at);
            let line_end = self
                .lines
                .get(line)
                .copied()
                .unwrap_or(part.end)
                .min(part.end);
            let rest = self.file.get(at..line_end).unwrap_or_default();
            let words = rest.trim_start_matches([' ', '\t']);
            let begin = at + rest.len() - words.len();
            at = line_end;
            if let Some((open, _)) = fence {
                if open.is_closed_by(words) {
                    fence = None;
                }
            } else if words.starts_with("<!--") {
                let comment = self.file.get(begin..part.end).unwrap_or_default();
                match comment.find("-->") {
                    Some(end) => at = begin + end + "-->".len(),
                    None => {
                        problems.push(unclosed(line, "<!--", "-->"));
                        break;
                    }
                }
            } else if let Some(opened) = Fence::opened_by(words) {
                fence = Some((opened, line));
            } else if let Some(opening) = self.opening.get(&begin) {
                at = opening.end;
                match opening.close.filter(|(_, end)| *end <= part.end) {
                    _ if AROUND.contains(&opening.name) => {}
                    Some((close, end)) => {
                        at = end;
                        let content = self.file.get(opening.end..close).unwrap_or_default();
                        found.push(Element {
                            name: opening.name,
                            attributes: opening.attributes,
                            content,
                            range: opening.end..close,
                            line,
                        });
                    }
                    None if KNOWN.contains(&opening.name) => {
                        let name = opening.name;
                        problems.push(unclosed(line, &format!("<{name}>"), &format!("</{name}>")));
                    }
                    None => {}
                }
            } else if words.starts_with("</") {
                at = words.find('>').map_or(line_end, |end| begin + end + 1);
            }
        }
        if let Some((_, line)) = fence {
            problems.push(unclosed(line, "a code block", "its closing line"));
        }
        found
    }
}

fn unclosed(line: usize, what: &str, missing: &str) -> Problem {
    Problem {
        line,
        expected: format!("{what} is never closed; expected {missing} after it"),
    }
}

/// Where a tag stands, and what it may be there.
struct Place {
    range: Range<usize>,
    may_open: bool,
    may_close: bool,
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Whether nothing but white space stands before the next line end. Looks at few characters only:
/// more blanks than this are not worth the time.
fn is_blank_start(rest: &str) -> bool {
    rest.bytes()
        .take(8)
        .take_while(|byte| *byte != b'\n')
        .all(|byte| byte.is_ascii_whitespace())
}

#[cfg(test)]
#[path = "elements_tests.rs"]
mod tests;
