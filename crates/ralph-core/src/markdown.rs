//! Markdown as Ralph reads it: pulldown-cmark says what the lines of a file are, and `splice` changes lines while every other byte
//! stays as it was.
//!
//! Whatever reads a file of Markdown goes by [`Lines`], so that fences, comments, headings and list items are recognized in one place.
//! `inline` reads what stands within a line.

mod inline;
mod splice;

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr_iter;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::text::Pattern;

pub(crate) use inline::{
    Checkbox, as_code, atx_heading, bullet, bulleted, checkbox, code_only, indent, is_rule, leading_code,
    list_item, numbered, spans, without_comments, without_emphasis,
};
pub(crate) use splice::{Insertion, Spacing, commonest_line_end};

/// How deep lists and quotations may be nested in one line: the time that deeper ones take is quadratic.
const MAX_DEPTH: usize = 200;

/// What a line is to the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Blank,
    /// A heading of this level, or the first line of an underlined one.
    Heading(usize),
    /// The first line of a bulleted list item at column 0.
    Bullet,
    /// A further line of a list item. Text that is not indented is none, although Markdown takes it for one: a person's
    /// paragraph below Ralph's item must not go with it.
    Inside,
    Paragraph,
    /// Part of a fenced block, a comment or verbatim HTML.
    Closed,
    /// Anything else: a rule, a quotation, indented code, HTML, the first line of other list items.
    Other,
}

/// Code and comments, wherever they stand: whatever looks like Markdown in them is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hidden {
    FenceBegin,
    FenceInside,
    FenceEnd,
    Comment,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// The whole line with its line end.
    pub(crate) raw: &'a str,
    /// The line without its line end.
    pub(crate) text: &'a str,
    /// Where it begins in the file, in bytes.
    pub(crate) start: usize,
    pub(crate) kind: Kind,
    /// Whether Markdown takes it for a further line of a list item.
    pub(crate) is_in_item: bool,
    pub(crate) hidden: Option<Hidden>,
}

impl<'a> Line<'a> {
    pub(crate) fn is_blank(&self) -> bool {
        self.kind == Kind::Blank
    }

    /// Whether it begins as a paragraph does, be it underlined or not.
    fn is_text(&self) -> bool {
        match self.kind {
            Kind::Heading(_) => atx_heading(self.words()).is_none(),
            kind => kind == Kind::Paragraph,
        }
    }

    /// Where the next line begins.
    pub(crate) fn end(&self) -> usize {
        self.start + self.raw.len()
    }

    pub(crate) fn columns(&self) -> usize {
        indent(self.text).0
    }

    /// The line without its indent.
    pub(crate) fn words(&self) -> &'a str {
        indent(self.text).1
    }

    /// Level and words of the heading it is.
    pub(crate) fn heading(&self) -> Option<(usize, &'a str)> {
        match self.kind {
            Kind::Heading(level) => {
                let words = self.words();
                Some(atx_heading(words).unwrap_or((level, words.trim_end())))
            }
            _ => None,
        }
    }
}

/// The lines of a file up to a block that is opened and never closed, and that block. Nothing can
/// be put behind it, for it would be swallowed.
#[derive(Clone, Debug)]
pub(crate) struct Lines<'a> {
    /// The file's byte order mark, where it has one.
    pub(crate) mark: &'a str,
    pub(crate) lines: Vec<Line<'a>>,
    pub(crate) tail: &'a str,
    /// A line that is nested so deeply that it is taken for text.
    pub(crate) too_deep: Option<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(file: &'a str) -> Self {
        let text = file.strip_prefix('\u{feff}').unwrap_or(file);
        let mark = &file[..file.len() - text.len()];
        let lines = split(text, mark.len());
        let mut reader = Reader { text, lines, offset: mark.len(), at: 0, depth: 0, unclosed: None };
        let (bounded, too_deep) = bounded(text);
        for (event, range) in Parser::new_ext(&bounded, Options::empty()).into_offset_iter() {
            reader.add(&event, range);
        }
        let Reader { mut lines, unclosed, .. } = reader;
        let tail = unclosed.and_then(|first| lines.get(first)).map_or("", |line| &file[line.start..]);
        lines.truncate(unclosed.unwrap_or(lines.len()));
        Self { mark, lines, tail, too_deep }
    }

    /// What is missing behind the block that is never closed, for messages.
    pub(crate) fn never_closed(&self) -> Option<String> {
        let opening = self.tail.lines().next()?.trim_start();
        Some(match Fence::opened_by(opening) {
            Some(fence) => {
                let marks = char::from(fence.mark).to_string().repeat(fence.length.min(8));
                format!("a code block is never closed; expected a line {marks} after it")
            }
            None if opening.starts_with("<!--") => {
                "a comment is never closed; expected --> after it".to_owned()
            }
            None => "a block of HTML is never closed; expected its closing tag after it".to_owned(),
        })
    }
}

/// The lines of a text that begins at `offset` in its file.
fn split(text: &str, offset: usize) -> Vec<Line<'_>> {
    let mut lines = Vec::with_capacity(text.len() / 32);
    let mut start = offset;
    for raw in text.split_inclusive('\n') {
        let text = raw.strip_suffix('\n').unwrap_or(raw).trim_end_matches('\r');
        let is_blank = text.bytes().all(|byte| matches!(byte, b' ' | b'\t'));
        lines.push(Line {
            raw,
            text,
            start,
            kind: if is_blank { Kind::Blank } else { Kind::Paragraph },
            is_in_item: false,
            hidden: None,
        });
        start += raw.len();
    }
    lines
}

/// The text as the parser gets it, of the same length, and the number of the first line that is nested too deeply. Such lines are
/// replaced by letters, and so is a `\r` within a line, since only `\n` ends one here.
fn bounded(text: &str) -> (Cow<'_, str>, Option<usize>) {
    let too_deep = text.lines().position(is_too_deep);
    let bytes = text.as_bytes();
    let is_lone = |at: usize| bytes.get(at + 1) != Some(&b'\n');
    if too_deep.is_none() && !memchr_iter(b'\r', bytes).any(is_lone) {
        return (Cow::Borrowed(text), None);
    }
    let mut out = String::with_capacity(text.len());
    for raw in text.split_inclusive('\n') {
        let line = raw.trim_end_matches(['\r', '\n']);
        match is_too_deep(line) {
            true => out.extend(std::iter::repeat_n('x', line.len())),
            false => out.push_str(&line.replace('\r', "x")),
        }
        out.push_str(&raw[line.len()..].replace('\r', " "));
    }
    (Cow::Owned(out), too_deep)
}

fn is_too_deep(line: &str) -> bool {
    let (columns, mut rest) = indent(line);
    let mut markers = 0;
    while let Some(after) = rest.strip_prefix('>').or_else(|| list_item(rest)) {
        markers += 1;
        rest = after.trim_start_matches([' ', '\t']);
        if rest.is_empty() {
            break;
        }
    }
    markers > 0 && markers + columns / 2 > MAX_DEPTH
}

/// Tells lines what they are, block by block.
struct Reader<'a> {
    text: &'a str,
    lines: Vec<Line<'a>>,
    /// Where the text begins in its file.
    offset: usize,
    /// The line that the last block began at.
    at: usize,
    /// How many list items and quotations are open.
    depth: usize,
    /// The first line of a block at the end of the file that hides all that is put behind it.
    unclosed: Option<usize>,
}

impl Reader<'_> {
    fn add(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            Event::End(TagEnd::Item | TagEnd::BlockQuote(_)) => {
                self.depth = self.depth.saturating_sub(1);
            }
            Event::Rule => self.set(range, Kind::Other),
            Event::Start(tag) => match tag {
                Tag::Item => {
                    if self.depth == 0 {
                        self.item(range);
                    }
                    self.depth += 1;
                }
                Tag::BlockQuote(_) => {
                    self.set(range, Kind::Other);
                    self.depth += 1;
                }
                Tag::Heading { level, .. } => {
                    let first = self.first(range.start);
                    if let Some(line) = self.lines.get_mut(first).filter(|_| self.depth == 0) {
                        line.kind = Kind::Heading(*level as usize);
                    }
                }
                Tag::CodeBlock(CodeBlockKind::Indented) => self.set(range, Kind::Other),
                Tag::CodeBlock(CodeBlockKind::Fenced(_)) => self.fence(range),
                Tag::HtmlBlock => self.html(range),
                _ => {}
            },
            _ => {}
        }
    }

    /// The line that a block begins at. Blocks come in the order of the text.
    fn first(&mut self, start: usize) -> usize {
        let start = start + self.offset;
        self.at += self.lines[self.at..].iter().take_while(|line| line.end() <= start).count();
        self.at
    }

    fn block(&mut self, range: &Range<usize>) -> Range<usize> {
        let first = self.first(range.start);
        let end = range.end + self.offset;
        let length = self.lines[first..].partition_point(|line| line.start < end);
        first..(first + length.max(1)).min(self.lines.len())
    }

    /// Tells the lines of a block what they are, unless it stands in an item or a quotation.
    fn set(&mut self, range: Range<usize>, kind: Kind) {
        if self.depth > 0 {
            return;
        }
        let block = self.block(&range);
        for line in &mut self.lines[block] {
            if kind == Kind::Closed || !line.is_blank() {
                line.kind = kind;
            }
        }
    }

    fn item(&mut self, range: Range<usize>) {
        let block = self.block(&range);
        let Some((first, below)) = self.lines[block].split_first_mut() else { return };
        let (columns, words) = indent(first.text);
        let marker = numbered(words).map_or(1, |(marker, _)| marker.len());
        let is_bullet = columns == 0 && bullet(words).is_some();
        first.kind = if is_bullet { Kind::Bullet } else { Kind::Other };
        // Below text that is not indented the lines stand as if the item were over.
        let (mut is_over, mut was_text) = (false, true);
        for line in below {
            if line.is_blank() {
                was_text = false;
                continue;
            }
            line.is_in_item = true;
            is_over |= line.columns() <= columns + marker;
            line.kind = match (is_over, was_text) {
                (false, _) => Kind::Inside,
                (true, true) => Kind::Paragraph,
                (true, false) => Kind::Other,
            };
            was_text = true;
        }
    }

    fn fence(&mut self, range: Range<usize>) {
        let block = self.block(&range);
        let opening = self.text.get(range.start..).unwrap_or_default();
        let fence = Fence::opened_by(opening.lines().next().unwrap_or_default());
        let is_top = self.depth == 0;
        let mut is_closed = false;
        for at in block.clone() {
            let line = &mut self.lines[at];
            let words = line.text.trim_start_matches(|c| matches!(c, ' ' | '\t') || (c == '>' && !is_top));
            let may_close = at + 1 == block.end && at > block.start && !(is_top && line.columns() > 3);
            is_closed = may_close && fence.is_some_and(|fence| fence.is_closed_by(words));
            line.hidden = Some(match at == block.start {
                true => Hidden::FenceBegin,
                false if is_closed => Hidden::FenceEnd,
                false => Hidden::FenceInside,
            });
        }
        self.closed(range, &block, is_closed);
    }

    fn html(&mut self, range: Range<usize>) {
        let block = self.block(&range);
        let html = self.text.get(range.clone()).unwrap_or_default().trim_start();
        if html.starts_with("<!--") {
            self.lines[block.clone()].iter_mut().for_each(|line| line.hidden = Some(Hidden::Comment));
        }
        match html_ends(html) {
            [] => self.set(range, Kind::Other),
            ends => {
                let text = html.to_ascii_lowercase();
                let is_closed = ends.iter().any(|end| text.contains(end));
                self.closed(range, &block, is_closed);
            }
        }
    }

    /// A block that ends where it is closed.
    fn closed(&mut self, range: Range<usize>, block: &Range<usize>, is_closed: bool) {
        let is_last = block.end >= self.lines.len();
        if self.depth == 0 && is_last && !is_closed {
            self.unclosed = Some(block.start);
        }
        self.set(range, Kind::Closed);
    }
}

/// What ends a block of HTML that holds blank lines too.
fn html_ends(html: &str) -> &'static [&'static str] {
    static VERBATIM: Pattern = Pattern::new("^<(?i-u:pre|script|style|textarea)(?:$|[ \t\r\n>])");
    match html.as_bytes() {
        [_, b'!', b'-', ..] => &["-->"],
        [_, b'!', b'[', ..] => &["]]>"],
        [_, b'!', ..] => &[">"],
        [_, b'?', ..] => &["?>"],
        _ if VERBATIM.is_match(html) => &["</pre>", "</script>", "</style>", "</textarea>"],
        _ => &[],
    }
}

/// The line of a fence, for texts that are no Markdown as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    pub(crate) mark: u8,
    pub(crate) length: usize,
}

impl Fence {
    /// The fence that a line opens, given without its indent.
    pub(crate) fn opened_by(words: &str) -> Option<Self> {
        let mark = words.bytes().next().filter(|mark| b"`~".contains(mark))?;
        let length = words.bytes().take_while(|byte| *byte == mark).count();
        let is_code = mark == b'`' && words.get(length..).is_some_and(|info| info.contains('`'));
        (length >= 3 && !is_code).then_some(Self { mark, length })
    }

    /// Whether a line closes the fence, given without its indent.
    pub(crate) fn is_closed_by(self, words: &str) -> bool {
        let length = words.bytes().take_while(|byte| *byte == self.mark).count();
        let after = words.get(length..).unwrap_or_default();
        length >= self.length && after.trim_matches([' ', '\t']).is_empty()
    }
}

#[cfg(test)]
mod tests;
