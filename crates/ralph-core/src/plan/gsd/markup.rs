//! The two markups of a plan file: the frontmatter's flat keys, and elements such as `<task type="auto">…</task>`.
//!
//! The frontmatter is no YAML, only what plans have: `key: value`, `key: [a, "b"]` (on one line or more) and a key with `- a` lines
//! below it; what is nested is passed over. The rest is no XML: between the tags stands Markdown and code, with any number of
//! `<` and `>` that mean nothing. A tag counts where it begins a line or follows another tag. What stands
//! between the tags of an element is not read here, so code there needs no care.

use std::collections::HashMap;
use std::ops::Range;

use super::super::Problem;
use crate::markdown::Fence;
use crate::text::Pattern;

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
        let body = file.trim_start_matches('\u{feff}');
        let mut front = Self { end: file.len() - body.len(), ..Self::default() };
        let mut lines = body.split_inclusive('\n');
        match lines.next() {
            Some(first) if first.trim_end() == "---" => front.end += first.len(),
            _ => return Ok(front),
        }
        // The key that lines below belong to, and the one whose list in brackets goes on.
        let (mut key, mut open_list) = (None, None);
        for (number, line) in (2..).zip(lines) {
            front.end += line.len();
            if line.trim_end() == "---" {
                let Some(entry) = open_list.and_then(|key| front.entries.get(key)) else {
                    return Ok(front);
                };
                return Err(Problem::new(entry.line, "a list is never closed; expected ] after it"));
            }
            let text = without_comment(line).trim_end();
            let mut value = text.trim();
            if open_list.is_some() {
                key = open_list;
            } else if let Some(item) = value.strip_prefix("- ") {
                front.add(key, item);
                continue;
            } else if text.starts_with([' ', '\t']) {
                // Anything indented that is no item is nested, and so are the items below it.
                key = None;
                continue;
            } else if let Some((name, after)) = text.split_once(':') {
                front.entries.insert(name.trim(), Entry { line: number, values: Vec::new() });
                (key, value) = (Some(name.trim()), after.trim());
            } else {
                continue;
            }
            if open_list.is_some() || value.starts_with('[') {
                let list = value.strip_prefix('[').unwrap_or(value);
                open_list = key.filter(|_| !list.ends_with(']'));
                list.trim_end_matches(']').split(',').for_each(|value| front.add(key, value));
            } else {
                front.add(key, value);
            }
            if !value.is_empty() {
                key = None;
            }
        }
        Err(Problem::new(1, "the frontmatter is never closed; expected a line --- after it"))
    }

    fn add(&mut self, key: Option<&str>, value: &'a str) {
        let value = value.trim();
        let inner = |mark| value.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
        let value = inner('"').or_else(|| inner('\'')).unwrap_or(value).trim();
        if let Some(entry) = key.and_then(|key| self.entries.get_mut(key))
            && !matches!(value, "" | "null" | "~" | "[]")
        {
            entry.values.push(value);
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Entry<'a>> {
        self.entries.get(key)
    }

    pub(super) fn first(&self, key: &str) -> Option<&'a str> {
        self.get(key).and_then(|entry| entry.values.first().copied())
    }
}

/// The line up to a `#` that begins it or follows white space.
fn without_comment(line: &str) -> &str {
    let is_comment = |at: &usize| line[..*at].is_empty() || line[..*at].ends_with(char::is_whitespace);
    let end = line.match_indices('#').map(|(at, _)| at).find(is_comment);
    &line[..end.unwrap_or(line.len())]
}

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
        static ATTRIBUTE: Pattern = Pattern::new(r#"([^ \t"'=]+)[ \t]*=[ \t]*(?:"([^"]*)"|'([^']*)')"#);
        let mut all = ATTRIBUTE.regex()?.captures_iter(self.attributes);
        let found = all.find(|found| found.get(1).is_some_and(|key| key.as_str() == name))?;
        found.get(2).or_else(|| found.get(3)).map(|value| value.as_str())
    }
}

/// Elements that must be closed.
const KNOWN: [&str; 8] = ["objective", "context", "task", "name", "files", "action", "verify", "done"];

/// Elements that only hold others.
const AROUND: [&str; 2] = ["tasks", "plan"];

#[derive(Debug)]
pub(super) struct Tags<'a> {
    file: &'a str,
    /// Where lines begin.
    lines: Vec<usize>,
    /// Opening tags by where they begin.
    opening: HashMap<usize, Opening<'a>>,
}

#[derive(Clone, Debug)]
struct Opening<'a> {
    name: &'a str,
    attributes: &'a str,
    end: usize,
    closing: Option<Range<usize>>,
}

impl<'a> Tags<'a> {
    pub(super) fn of(file: &'a str) -> Self {
        static TAG: Pattern = Pattern::new(r"<(/?)([A-Za-z][A-Za-z0-9_-]*)([ \t][^<>\n]*)?>");
        let mut opening: HashMap<usize, Opening<'a>> = HashMap::new();
        let mut unclosed: HashMap<&'a str, Vec<usize>> = HashMap::new();
        for tag in TAG.regex().into_iter().flat_map(|regex| regex.captures_iter(file)) {
            let group = |number| tag.get(number).map_or("", |group| group.as_str());
            let (slash, name, attributes) = (group(1), group(2), group(3));
            let whole = tag.get(0).map(|whole| whole.range()).unwrap_or_default();
            let before = file[..whole.start].trim_end_matches([' ', '\t']);
            if slash.is_empty() {
                let may_open = before.is_empty() || before.ends_with(['\n', '>']);
                if may_open && !attributes.ends_with('/') {
                    unclosed.entry(name).or_default().push(whole.start);
                    opening.insert(whole.start, Opening { name, attributes, end: whole.end, closing: None });
                }
            } else if attributes.trim().is_empty()
                && !before.ends_with('`')
                && let Some(open) = unclosed.get_mut(name).and_then(Vec::pop)
            {
                opening.entry(open).and_modify(|open| open.closing = Some(whole));
            }
        }
        let newlines = file.match_indices('\n').map(|(at, _)| at + 1);
        Self { file, lines: [0].into_iter().chain(newlines).collect(), opening }
    }

    /// The line that a place in the file is on.
    pub(super) fn line_of(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at)
    }

    /// The elements of a part of the file that are not within others there.
    pub(super) fn within(&self, part: Range<usize>, problems: &mut Vec<Problem>) -> Vec<Element<'a>> {
        let mut found = Vec::new();
        let mut fence: Option<(Fence, usize)> = None;
        let mut at = part.start;
        while at < part.end {
            let line = self.line_of(at);
            let line_end = self.lines.get(line).map_or(part.end, |next| part.end.min(*next));
            let words = self.file[at..line_end].trim_start_matches([' ', '\t']);
            let begin = line_end - words.len();
            let words = words.trim_end_matches(['\r', '\n']);
            at = line_end;
            if let Some((open, _)) = fence {
                fence = fence.filter(|_| !open.is_closed_by(words));
            } else if words.starts_with("<!--") {
                let Some(end) = self.file[begin..part.end].find("-->") else {
                    problems.push(unclosed(line, "<!--", "-->"));
                    break;
                };
                at = begin + end + "-->".len();
            } else if let Some(opened) = Fence::opened_by(words) {
                fence = Some((opened, line));
            } else if let Some(opening) = self.opening.get(&begin) {
                let Opening { name, attributes, end, closing } = opening;
                at = *end;
                match closing.as_ref().filter(|closing| closing.end <= part.end) {
                    _ if AROUND.contains(name) => {}
                    Some(closing) => {
                        at = closing.end;
                        let range = *end..closing.start;
                        let content = &self.file[range.clone()];
                        found.push(Element { name, attributes, content, range, line });
                    }
                    None if KNOWN.contains(name) => {
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
    Problem::new(line, format!("{what} is never closed; expected {missing} after it"))
}

#[cfg(test)]
#[path = "markup_tests.rs"]
mod tests;
