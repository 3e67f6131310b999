//! Where the values of a JSON text stand. The text is known to be valid, so that little is checked.

use std::collections::HashMap;
use std::ops::Range;

use serde::de::IgnoredAny;

use super::model::StateProblem;

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A valid JSON text whose value is an object.
#[derive(Debug)]
pub(super) struct Document<'a> {
    pub(super) text: &'a str,
    pub(super) root: Object,
}

/// Where an object stands, and its members.
#[derive(Debug)]
pub(super) struct Object {
    /// What stands between the braces.
    pub(super) inside: Range<usize>,
    pub(super) members: Vec<Member>,
    /// Of several members with one key the last counts.
    by_key: HashMap<String, usize>,
}

/// Where a member of an object stands, or an item of a list, which has no name.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) name: Range<usize>,
    pub(super) value: Range<usize>,
}

impl Member {
    /// Where it begins.
    pub(super) fn start(&self) -> usize {
        self.name.start
    }
}

impl<'a> Document<'a> {
    /// The document, or none where the text is blank.
    pub(super) fn of(text: &'a str) -> Result<Option<Self>, StateProblem> {
        let mark = if text.starts_with(BYTE_ORDER_MARK) {
            BYTE_ORDER_MARK.len()
        } else {
            0
        };
        let json = text.get(mark..).unwrap_or_default();
        if json.trim().is_empty() {
            return Ok(None);
        }
        if let Err(error) = serde_json::from_str::<IgnoredAny>(json) {
            return Err(invalid(&error));
        }
        let mut scanner = Scanner { text, at: mark };
        scanner.skip_space();
        let start = scanner.at;
        scanner.skip_value();
        match Object::of(text, start..scanner.at) {
            Some(root) => Ok(Some(Self { text, root })),
            None => Err(StateProblem {
                line: line_of(text, start),
                expected: "expected a JSON object `{…}`".to_owned(),
            }),
        }
    }

    /// A part of the text.
    pub(super) fn part(&self, range: &Range<usize>) -> &'a str {
        self.text.get(range.clone()).unwrap_or_default()
    }
}

impl Object {
    /// The object that stands in `span`, if it is one.
    pub(super) fn of(text: &str, span: Range<usize>) -> Option<Self> {
        let (inside, members) = parts(text, span, b'{')?;
        let mut by_key = HashMap::new();
        for (at, member) in members.iter().enumerate() {
            // A name that is no text (half of a surrogate pair) is none of ours.
            let name = text
                .get(member.name.clone())
                .map(serde_json::from_str::<String>);
            if let Some(Ok(name)) = name {
                by_key.insert(name, at);
            }
        }
        Some(Self {
            inside,
            members,
            by_key,
        })
    }

    /// The member that counts for a key.
    pub(super) fn get(&self, key: &str) -> Option<&Member> {
        self.members.get(*self.by_key.get(key)?)
    }

    /// The members that count, with their keys, in the order of the text.
    pub(super) fn named(&self) -> Vec<(&str, &Member)> {
        let mut order: Vec<(usize, &str)> = self
            .by_key
            .iter()
            .map(|(key, at)| (*at, key.as_str()))
            .collect();
        order.sort_unstable();
        let named = order
            .into_iter()
            .filter_map(|(at, key)| Some((key, self.members.get(at)?)));
        named.collect()
    }
}

/// What stands between the brackets of a list, and where its items stand.
pub(super) fn list(text: &str, span: Range<usize>) -> Option<(Range<usize>, Vec<Member>)> {
    parts(text, span, b'[')
}

fn parts(text: &str, span: Range<usize>, open: u8) -> Option<(Range<usize>, Vec<Member>)> {
    let mut scanner = Scanner {
        text,
        at: span.start,
    };
    if scanner.peek() != Some(open) {
        return None;
    }
    let inside = span.start + 1..span.end.saturating_sub(1);
    let mut members = Vec::new();
    scanner.at += 1;
    loop {
        scanner.skip_space();
        if scanner.at >= inside.end {
            return Some((inside, members));
        }
        let start = scanner.at;
        scanner.skip_value();
        let mut name = start..scanner.at;
        let mut value = start..scanner.at;
        scanner.skip_space();
        if scanner.peek() == Some(b':') {
            scanner.at += 1;
            scanner.skip_space();
            value.start = scanner.at;
            scanner.skip_value();
            value.end = scanner.at;
            scanner.skip_space();
        } else {
            name.end = start;
        }
        members.push(Member { name, value });
        // The comma, or the end.
        scanner.at += 1;
    }
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_while(&mut self, is_one: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&is_one) {
            self.at += 1;
        }
    }

    fn skip_space(&mut self) {
        self.skip_while(is_space);
    }

    fn skip_value(&mut self) {
        let mut depth = 0usize;
        loop {
            match self.peek() {
                None => return,
                Some(b'"') => self.skip_string(),
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.at += 1;
                }
                Some(b'}' | b']') => {
                    depth = depth.saturating_sub(1);
                    self.at += 1;
                }
                // What divides values, inside of one.
                Some(b',' | b':') => self.at += 1,
                Some(byte) if is_space(byte) => self.at += 1,
                Some(_) => self.skip_while(|byte| !is_space(byte) && !b",:]}".contains(&byte)),
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn skip_string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                return;
            }
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().iter().take(at);
    1 + before.filter(|byte| **byte == b'\n').count()
}

/// What is wrong with a text that is no JSON. The parser's place goes in front of its words.
fn invalid(error: &serde_json::Error) -> StateProblem {
    let words = error.to_string();
    let words = words
        .rsplit_once(" at line ")
        .map_or(words.as_str(), |(words, _)| words);
    let expected = format!("expected valid JSON: {words} (column {})", error.column());
    StateProblem {
        line: error.line().max(1),
        expected,
    }
}

#[cfg(test)]
mod tests;
