//! The two markups of a plan file: the frontmatter's flat keys, and elements such as `<task type="auto">…</task>`.
//!
//! The frontmatter is no YAML, only what plans have: `key: value`, `key: [a, "b"]` (on one line or more) and a key with `- a` lines
//! below it; what is nested is passed over. The rest is no XML: between the tags stands Markdown and code, with any number of
//! `<` and `>` that mean nothing. A tag counts where it begins a line or follows another tag, and not in code spans. What stands
//! between the tags of an element is not read here, so code there needs no care.

use std::collections::HashMap;
use std::ops::Range;

use super::super::Problem;
use crate::markdown::Fence;

/// The keys of a file's frontmatter.
#[derive(Debug, Default)]
pub(super) struct Frontmatter<'a> {
    entries: HashMap<&'a str, Entry<'a>>,
    /// Where the text after it begins.
    pub(super) end: usize,
}

/// What a key holds; a single value is a list of one.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry<'a> {
    pub(super) line: usize,
    pub(super) values: Vec<&'a str>,
}

impl<'a> Frontmatter<'a> {
    /// Reads the frontmatter of a file; one without has no keys.
    pub(super) fn of(file: &'a str) -> Result<Self, Problem> {
        let mut end = file.len() - file.trim_start_matches('\u{feff}').len();
        let mut lines = file.get(end..).unwrap_or_default().split_inclusive('\n').enumerate();
        let mut reader = Reader::default();
        let Some((_, "---")) = lines.next().map(|(at, line)| (at, line.trim_end())) else {
            return Ok(Self { end, ..Self::default() });
        };
        end += file.get(end..).and_then(|rest| rest.find('\n')).map_or(0, |at| at + 1);
        for (at, line) in lines {
            end += line.len();
            if line.trim_end() == "---" {
                return match reader.open_list {
                    Some(_) => Err(Problem::new(reader.line, "a list is never closed; expected ] after it")),
                    None => Ok(Self { entries: reader.entries, end }),
                };
            }
            reader.line(at + 1, line);
        }
        let expected = "the frontmatter is never closed; expected a line --- after it";
        Err(Problem::new(1, expected))
    }

    pub(super) fn get(&self, key: &str) -> Option<&Entry<'a>> {
        self.entries.get(key)
    }

    pub(super) fn first(&self, key: &str) -> Option<&'a str> {
        self.get(key).and_then(|entry| entry.values.first().copied())
    }
}

#[derive(Default)]
struct Reader<'a> {
    entries: HashMap<&'a str, Entry<'a>>,
    /// The key that lines below belong to.
    key: Option<&'a str>,
    /// The key of a list in brackets that goes on.
    open_list: Option<&'a str>,
    line: usize,
}

impl<'a> Reader<'a> {
    fn line(&mut self, number: usize, line: &'a str) {
        let text = without_comment(line).trim_end();
        if let Some(key) = self.open_list {
            self.list(key, text.trim());
            return;
        }
        if let Some(item) = text.trim_start().strip_prefix("- ") {
            self.add(self.key, unquoted(item));
            return;
        }
        let is_indented = text.starts_with([' ', '\t']);
        let Some((key, value)) = text.split_once(':').filter(|_| !is_indented) else {
            // Anything indented that is no item is nested, and so are the items below it.
            if is_indented {
                self.key = None;
            }
            return;
        };
        let (key, value) = (key.trim(), value.trim());
        self.line = number;
        self.entries.insert(key, Entry { line: number, values: Vec::new() });
        self.key = value.is_empty().then_some(key);
        match value.strip_prefix('[') {
            Some(list) => self.list(key, list),
            None if value.is_empty() => {}
            None => self.add(Some(key), unquoted(value)),
        }
    }

    fn list(&mut self, key: &'a str, text: &'a str) {
        let (text, is_closed) = match text.strip_suffix(']') {
            Some(text) => (text, true),
            None => (text, false),
        };
        self.open_list = (!is_closed).then_some(key);
        for value in between_commas(text) {
            self.add(Some(key), unquoted(value));
        }
    }

    fn add(&mut self, key: Option<&'a str>, value: &'a str) {
        let is_nothing = matches!(value, "" | "null" | "~" | "[]");
        if let Some(entry) = key.and_then(|key| self.entries.get_mut(key)).filter(|_| !is_nothing) {
            entry.values.push(value);
        }
    }
}

fn unquoted(value: &str) -> &str {
    let value = value.trim();
    let inner = |mark| value.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    inner('"').or_else(|| inner('\'')).unwrap_or(value).trim()
}

/// The line up to a `#` after white space, outside of quotes.
fn without_comment(line: &str) -> &str {
    let mut quotes = Quotes::default();
    let mut is_after_blank = true;
    for (at, c) in line.char_indices() {
        if c == '#' && is_after_blank && !quotes.is_open() {
            return line.get(..at).unwrap_or(line);
        }
        quotes.next(c, is_after_blank);
        is_after_blank = c.is_whitespace() || matches!(c, '[' | ',');
    }
    line
}

fn between_commas(text: &str) -> Vec<&str> {
    let mut quotes = Quotes::default();
    let mut is_after_blank = true;
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        if c == ',' && !quotes.is_open() {
            parts.push(text.get(start..at).unwrap_or_default());
            start = at + 1;
        }
        quotes.next(c, is_after_blank);
        is_after_blank = c.is_whitespace() || c == ',';
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts
}

/// Whether quotes are open; they open only at the beginning of a value, so that `don't` is one.
#[derive(Default)]
struct Quotes {
    open: Option<char>,
}

impl Quotes {
    fn is_open(&self) -> bool {
        self.open.is_some()
    }

    fn next(&mut self, c: char, is_begin: bool) {
        match self.open {
            Some(open) if open == c => self.open = None,
            None if is_begin && matches!(c, '"' | '\'') => self.open = Some(c),
            _ => {}
        }
    }
}

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
    pub(super) fn attribute(&self, name: &str) -> Option<&'a str> {
        let mut rest = self.attributes;
        loop {
            let (key, value) = rest.split_once('=')?;
            let value = value.trim_start();
            let mark = value.chars().next().filter(|mark| matches!(mark, '"' | '\''))?;
            let (value, after) = value.get(1..)?.split_once(mark)?;
            if key.trim() == name {
                return Some(value);
            }
            rest = after;
        }
    }
}

/// Elements that must be closed.
const KNOWN: [&str; 8] = ["objective", "context", "task", "name", "files", "action", "verify", "done"];

/// Elements that only hold others.
const AROUND: [&str; 2] = ["tasks", "plan"];

#[derive(Debug)]
pub(super) struct Tags<'a> {
    file: &'a str,
    lines: Vec<usize>,
    /// Opening tags by where they begin.
    opening: HashMap<usize, Opening<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct Opening<'a> {
    name: &'a str,
    attributes: &'a str,
    end: usize,
    /// Where its closing tag begins and ends.
    close: Option<(usize, usize)>,
}

impl<'a> Tags<'a> {
    /// Finds all tags of a file.
    pub(super) fn of(file: &'a str) -> Self {
        let mut tags = Self { file, lines: Vec::new(), opening: HashMap::new() };
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

    fn scan_line(&mut self, line: &'a str, start: usize, unclosed: &mut HashMap<&'a str, Vec<usize>>) {
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
        if let Some(name) = tag.strip_prefix('/').map(str::trim_end).filter(|name| is_name(name)) {
            let open = unclosed.get_mut(name).filter(|_| place.may_close).and_then(Vec::pop);
            if let Some(opening) = open.and_then(|at| self.opening.get_mut(&at)) {
                opening.close = Some((place.range.start, place.range.end));
            }
            return;
        }
        let end = tag.find([' ', '\t']).unwrap_or(tag.len());
        let (name, attributes) = tag.split_at_checked(end).unwrap_or((tag, ""));
        if place.may_open && is_name(name) && !attributes.ends_with('/') {
            let opening = Opening { name, attributes, end: place.range.end, close: None };
            self.opening.insert(place.range.start, opening);
            unclosed.entry(name).or_default().push(place.range.start);
        }
    }

    /// The line that a place in the file is on.
    pub(super) fn line_of(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at).max(1)
    }

    /// The elements of a part of the file that are not within others there.
    pub(super) fn within(&self, part: Range<usize>, problems: &mut Vec<Problem>) -> Vec<Element<'a>> {
        let mut found = Vec::new();
        let mut fence: Option<(Fence, usize)> = None;
        let mut at = part.start;
        while at < part.end {
            let line = self.line_of(at);
            let line_end = self.lines.get(line).copied().unwrap_or(part.end).min(part.end);
            let rest = self.file.get(at..line_end).unwrap_or_default();
            let words = rest.trim_start_matches([' ', '\t']);
            let begin = at + rest.len() - words.len();
            let words = words.trim_end_matches(['\r', '\n']);
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
    let expected = format!("{what} is never closed; expected {missing} after it");
    Problem::new(line, expected)
}

/// Where a tag stands, and what it may be there.
struct Place {
    range: Range<usize>,
    may_open: bool,
    may_close: bool,
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Whether nothing but white space stands before the next line end. Looks at few characters only:
/// more blanks than this are not worth the time.
fn is_blank_start(rest: &str) -> bool {
    rest.bytes().take(8).take_while(|byte| *byte != b'\n').all(|byte| byte.is_ascii_whitespace())
}

#[cfg(test)]
#[path = "markup_tests.rs"]
mod tests;
