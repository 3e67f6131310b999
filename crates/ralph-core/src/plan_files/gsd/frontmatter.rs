//! The few flat keys of a plan's frontmatter that matter; what is nested is passed over.
//!
//! This is no YAML, only what plans have: `key: value`, `key: [a, "b"]` (on one line or more) and
//! a key with `- a` lines below it.

use std::collections::HashMap;

use crate::plan_files::draft::Problem;
use crate::plan_files::text::without_mark;

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
        let mut end = file.len() - without_mark(file).len();
        let mut lines = file
            .get(end..)
            .unwrap_or_default()
            .split_inclusive('\n')
            .enumerate();
        let mut reader = Reader::default();
        let Some((_, "---")) = lines.next().map(|(at, line)| (at, line.trim_end())) else {
            return Ok(Self {
                end,
                ..Self::default()
            });
        };
        end += file
            .get(end..)
            .and_then(|rest| rest.find('\n'))
            .map_or(0, |at| at + 1);
        for (at, line) in lines {
            end += line.len();
            if line.trim_end() == "---" {
                return match reader.open_list {
                    Some(_) => Err(Problem {
                        line: reader.line,
                        expected: "a list is never closed; expected ] after it".to_owned(),
                    }),
                    None => Ok(Self {
                        entries: reader.entries,
                        end,
                    }),
                };
            }
            reader.line(at + 1, line);
        }
        let expected = "the frontmatter is never closed; expected a line --- after it".to_owned();
        Err(Problem { line: 1, expected })
    }

    /// What a key holds.
    pub(super) fn get(&self, key: &str) -> Option<&Entry<'a>> {
        self.entries.get(key)
    }

    /// The first value of a key.
    pub(super) fn first(&self, key: &str) -> Option<&'a str> {
        self.get(key)
            .and_then(|entry| entry.values.first().copied())
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
        self.entries.insert(
            key,
            Entry {
                line: number,
                values: Vec::new(),
            },
        );
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
        if let Some(entry) = key
            .and_then(|key| self.entries.get_mut(key))
            .filter(|_| !is_nothing)
        {
            entry.values.push(value);
        }
    }
}

fn unquoted(value: &str) -> &str {
    let value = value.trim();
    let inner = |mark| {
        value
            .strip_prefix(mark)
            .and_then(|rest| rest.strip_suffix(mark))
    };
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

#[cfg(test)]
#[path = "frontmatter_tests.rs"]
mod tests;
