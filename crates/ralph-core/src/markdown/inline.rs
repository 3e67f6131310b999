//! What stands within a line of Markdown: markers, checkboxes, emphasis and code.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use memchr::memchr;
use pulldown_cmark::{Event, Options, Parser};

/// Columns of white space a line begins with, and the rest of it.
pub(crate) fn indent(line: &str) -> (usize, &str) {
    let mut columns = 0;
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns += 4 - columns % 4,
            _ => return (columns, line.get(at..).unwrap_or_default()),
        }
    }
    (columns, "")
}

/// Level and words of a heading such as `## Words ##`.
pub(crate) fn atx_heading(rest: &str) -> Option<(usize, &str)> {
    let level = rest.bytes().take_while(|byte| *byte == b'#').count();
    let words = rest.get(level..)?;
    let is_heading = (1..=6).contains(&level) && (words.is_empty() || starts_blank(words));
    let words = words.trim_matches([' ', '\t']);
    let open = words.trim_end_matches('#');
    let words = match open.is_empty() || open.ends_with([' ', '\t']) {
        true => open.trim_end_matches([' ', '\t']),
        false => words,
    };
    is_heading.then_some((level, words))
}

/// Whether a line is a rule across the page such as `***` or `- - -`.
pub(crate) fn is_rule(rest: &str) -> bool {
    let Some(mark @ (b'-' | b'*' | b'_')) = rest.bytes().next() else { return false };
    let is_of_rule = |byte| byte == mark || byte == b' ' || byte == b'\t';
    rest.bytes().all(is_of_rule) && rest.bytes().filter(|byte| *byte == mark).count() >= 3
}

/// What stands after the marker of a bulleted list item.
pub(crate) fn bullet(rest: &str) -> Option<&str> {
    let text = rest.strip_prefix(['-', '*', '+'])?;
    (text.is_empty() || starts_blank(text)).then_some(text)
}

/// A list item with this text. `- --` would be a rule across the page.
pub(crate) fn bulleted(text: &str) -> String {
    let item = format!("- {text}");
    if is_rule(&item) { format!("+ {text}") } else { item }
}

/// Marker (`12.`, `3)`) and text of a numbered list item.
pub(crate) fn numbered(rest: &str) -> Option<(&str, &str)> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (marker, text) = rest.split_at_checked(digits + 1)?;
    let is_marker = (1..=9).contains(&digits) && marker.ends_with(['.', ')']);
    (is_marker && (text.is_empty() || starts_blank(text))).then_some((marker, text))
}

/// The words of a list item, bulleted or numbered.
pub(crate) fn list_item(rest: &str) -> Option<&str> {
    let text = bullet(rest).or_else(|| Some(numbered(rest)?.1))?;
    Some(text.trim_start_matches([' ', '\t']))
}

fn starts_blank(text: &str) -> bool {
    text.starts_with([' ', '\t'])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Checkbox<'a> {
    pub(crate) mark: char,
    /// Where that stands in the line, in bytes.
    pub(crate) at: usize,
    /// Whether a `*` behind the box says that the task may be left out.
    pub(crate) is_optional: bool,
    pub(crate) words: &'a str,
}

impl Checkbox<'_> {
    /// Whether it is ticked; other characters than a space and an `x` say neither.
    pub(crate) fn is_ticked(&self) -> Option<bool> {
        match self.mark {
            ' ' | '\t' => Some(false),
            'x' | 'X' => Some(true),
            _ => None,
        }
    }
}

/// The box that a line has behind its list marker.
pub(crate) fn checkbox(line: &str) -> Option<Checkbox<'_>> {
    let item = list_item(indent(line).1)?;
    // `1. **[ ] Title**`
    let emphasis = ["**", "__", "*", "_"].into_iter().find(|mark| item.starts_with(mark)).unwrap_or_default();
    let inner = item.get(emphasis.len()..)?.strip_prefix('[')?;
    let mark = inner.chars().next()?;
    let words = inner.get(mark.len_utf8()..)?.strip_prefix(']')?;
    let closed = words.strip_prefix(emphasis).or_else(|| words.trim_end().strip_suffix(emphasis));
    let words = closed.unwrap_or(words);
    let optional = ["*", "\\*"].into_iter().find_map(|star| words.strip_prefix(star));
    let optional = optional.filter(|words| starts_blank(words));
    let words = optional.unwrap_or(words);
    (words.is_empty() || starts_blank(words)).then(|| Checkbox {
        mark,
        at: line.len() - inner.len(),
        is_optional: optional.is_some(),
        words: words.trim(),
    })
}

pub(crate) fn without_emphasis(text: &str) -> &str {
    let mut text = text.trim();
    // Nothing is nested deeper than this by people.
    for _ in 0..4 {
        let inner = ["**", "__", "~~", "*", "_"].iter().find_map(|mark| {
            let inner = text.strip_prefix(mark)?.strip_suffix(mark)?;
            let is_one = !inner.contains(mark) && inner.trim() == inner;
            (is_one && !inner.is_empty()).then_some(inner)
        });
        text = inner.unwrap_or(text);
    }
    text
}

/// The text of a line without comments; what is not closed is none, and neither is what stands in code.
pub(crate) fn without_comments(line: &str) -> Cow<'_, str> {
    if !line.contains("<!--") {
        return Cow::Borrowed(line);
    }
    // As a part of a paragraph, whatever it begins with.
    let paragraph = format!("x{line}");
    let mut out = String::with_capacity(line.len());
    let mut kept = 1;
    for (event, range) in Parser::new_ext(&paragraph, Options::empty()).into_offset_iter() {
        if let Event::InlineHtml(html) = event
            && html.starts_with("<!--")
        {
            out.push_str(paragraph.get(kept..range.start).unwrap_or_default());
            kept = range.end;
        }
    }
    out.push_str(paragraph.get(kept..).unwrap_or_default());
    Cow::Owned(out)
}

/// A code in a text: `` `so` ``, or with more backticks on both sides.
pub(crate) struct Span<'a> {
    pub(crate) whole: Range<usize>,
    pub(crate) content: &'a str,
}

/// The codes of a text and where they stand.
pub(crate) fn spans(text: &str) -> Vec<Span<'_>> {
    let runs: Vec<Range<usize>> = backticks(text).collect();
    // For each run the next one that is as long.
    let mut last: HashMap<usize, usize> = HashMap::new();
    let mut closing = vec![None; runs.len()];
    for (at, run) in runs.iter().enumerate().rev() {
        closing[at] = last.insert(run.len(), at);
    }
    let mut spans = Vec::new();
    let mut at = 0;
    while at < runs.len() {
        if let Some(close) = closing[at] {
            let content = without_guard(&text[runs[at].end..runs[close].start]);
            spans.push(Span { whole: runs[at].start..runs[close].end, content });
            at = close;
        }
        at += 1;
    }
    spans
}

/// One space on each side only keeps backticks of the code from those around it.
fn without_guard(inside: &str) -> &str {
    let shorter = inside.strip_prefix(' ').and_then(|text| text.strip_suffix(' '));
    shorter.filter(|text| !text.trim().is_empty()).unwrap_or(inside)
}

fn backticks(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + memchr(b'`', &text.as_bytes()[at..])?;
        at = start + text.bytes().skip(start).take_while(|byte| *byte == b'`').count();
        Some(start..at)
    })
}

/// How many backticks a text has side by side at most.
fn longest_backticks(text: &str) -> usize {
    backticks(text).map(|run| run.len()).max().unwrap_or(0)
}

/// The code that a text begins with, and what stands after it.
pub(crate) fn leading_code(text: &str) -> Option<(&str, &str)> {
    let first = spans(text).into_iter().next()?;
    let after = text.get(first.whole.end..)?;
    (first.whole.start == 0).then_some((first.content, after))
}

/// The code where the whole text is one code.
pub(crate) fn code_only(text: &str) -> Option<&str> {
    let (code, after) = leading_code(text.trim())?;
    let code = code.trim();
    (after.is_empty() && !code.is_empty()).then_some(code)
}

/// A text as inline code, with as many backticks as it takes.
pub(crate) fn as_code(text: &str) -> String {
    let fence = "`".repeat(longest_backticks(text) + 1);
    let has_edge = text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']);
    let space = if has_edge && !text.trim().is_empty() { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}
