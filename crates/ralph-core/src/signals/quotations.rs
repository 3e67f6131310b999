//! Which parts of an answer only quote: what an agent shows there is not said to Ralph.
//!
//! Quotations are closed fences, closed HTML comments, indented code, reports, learnings and the objects of requests to change
//! the plan. A fence that holds nothing but signals is none: models often write their last words so.

use std::ops::Range;

use memchr::memmem;

use super::completion::is_only_signals;
use super::plan_request::{MARKED_LINE, MARKER, objects};
use crate::markdown::{Fence, indent, list_item};
use crate::text::{elements, without_signals};

#[derive(Debug, Default)]
pub(super) struct Quotations {
    /// In order, none touching the next.
    ranges: Vec<Range<usize>>,
}

impl Quotations {
    pub(super) fn of(text: &str) -> Self {
        let quoting = ["failure-report", "learning", "retry-suggestion", "review-finding"];
        let mut ranges: Vec<Range<usize>> = elements(text)
            .filter(|element| quoting.contains(&element.name))
            .map(|element| element.span)
            .collect();
        blocks(text, &mut ranges);
        let mut quotations = Self::merged(ranges);
        let objects = objects(text, &quotations);
        if !objects.is_empty() {
            quotations = Self::merged(quotations.ranges.into_iter().chain(objects).collect());
        }
        quotations
    }

    fn merged(mut ranges: Vec<Range<usize>>) -> Self {
        ranges.sort_unstable_by_key(|range| range.start);
        let mut merged: Vec<Range<usize>> = Vec::new();
        for range in ranges {
            match merged.last_mut().filter(|last| range.start <= last.end) {
                Some(last) => last.end = last.end.max(range.end),
                None => merged.push(range),
            }
        }
        Self { ranges: merged }
    }

    pub(super) fn cover(&self, at: usize) -> bool {
        let next = self.ranges.partition_point(|range| range.end <= at);
        self.ranges.get(next).is_some_and(|range| range.start <= at)
    }
}

struct Line<'a> {
    range: Range<usize>,
    text: &'a str,
    /// The fence that the line opens, be it behind the marker of a request.
    fence: Option<Fence>,
    /// The longest closing fences of backticks and of tildes from this line on, so that a fence that is
    /// never closed is known at once.
    closers: [usize; 2],
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut from = 0;
    for raw in text.split_inclusive('\n') {
        let words = raw.trim_ascii();
        let behind = words.strip_prefix(MARKER).map(|rest| rest.trim_start_matches([' ', ':', '\t']));
        let fence = Fence::opened_by(behind.unwrap_or(words));
        lines.push(Line {
            range: from..from + raw.len(),
            text: raw.trim_ascii_end(),
            fence,
            closers: [0; 2],
        });
        from += raw.len();
    }
    let mut closers = [0; 2];
    for line in lines.iter_mut().rev() {
        let is_closing = |fence: &Fence| fence.is_closed_by(line.text.trim_ascii_start());
        if let Some(fence) = line.fence.filter(is_closing) {
            let [backticks, tildes] = &mut closers;
            let longest = if fence.mark == b'`' { backticks } else { tildes };
            *longest = fence.length.max(*longest);
        }
        line.closers = closers;
    }
    lines
}

/// Where the objects stand in a fence that holds requests to change the plan and nothing else but tags. What stands in them is no
/// other signal, be they valid JSON or not. `None` where the fence holds anything else.
fn objects_of_requests(fenced: &str) -> Option<Vec<Range<usize>>> {
    let rest = without_signals(fenced);
    let request = rest.trim().strip_prefix(MARKER)?;
    if !(request.contains('{') && request.ends_with('}')) {
        return None;
    }
    let markers = MARKED_LINE.captures_iter(fenced).filter_map(|line| Some(line.name("marker")?.start()));
    let markers: Vec<usize> = markers.collect();
    let ends = markers.iter().skip(1).copied().chain([fenced.len()]);
    let object = |(marker, end): (&usize, usize)| {
        let start = fenced.get(*marker..end)?.find('{')?;
        Some(marker + start..end)
    };
    Some(markers.iter().zip(ends).filter_map(object).collect())
}

/// The fences, comments and indented blocks of a text.
fn blocks(text: &str, found: &mut Vec<Range<usize>>) {
    let lines = lines(text);
    // Many comments that are opened and never closed share one search.
    let last_comment_end = memmem::rfind(text.as_bytes(), b"-->").unwrap_or(0);
    let (mut at, mut in_list, mut code_may_begin) = (0, false, true);
    while let Some(line) = lines.get(at) {
        let is_closed = |fence: &Fence| {
            let [backticks, tildes] = lines.get(at + 1).map_or([0; 2], |next| next.closers);
            fence.length <= if fence.mark == b'`' { backticks } else { tildes }
        };
        if let Some(fence) = line.fence.filter(is_closed) {
            let closes = |line: &Line<'_>| fence.is_closed_by(line.text.trim_ascii_start());
            let inside = lines.iter().skip(at + 1);
            let length = inside.take_while(|line| !closes(line)).count();
            let end = lines.get(at + 1 + length).map(|end| end.range.start);
            let quoted = line.range.end..end.unwrap_or(text.len());
            let fenced = text.get(quoted.clone()).unwrap_or_default();
            if let Some(objects) = objects_of_requests(fenced) {
                let in_text = |object: Range<usize>| quoted.start + object.start..quoted.start + object.end;
                found.extend(objects.into_iter().map(in_text));
            } else if !is_only_signals(fenced) {
                found.push(quoted);
            }
            at += length + 2;
            code_may_begin = true;
            continue;
        }
        if let Some(end) = comments(text, line.range.clone(), last_comment_end, found) {
            at = lines.partition_point(|line| line.range.start < end);
            code_may_begin = true;
            continue;
        }
        let (columns, content) = indent(line.text);
        // Nobody puts backticks around a line of indented code; they mark a signal.
        let is_code = columns >= 4 && !in_list && code_may_begin && !content.starts_with('`');
        if content.is_empty() {
            code_may_begin = true;
        } else if is_code {
            found.push(line.range.clone());
        } else {
            in_list = list_item(content).is_some() || in_list && columns >= 2;
            code_may_begin = false;
        }
        at += 1;
    }
}

/// Adds the closed comments that begin on a line, or on the line where the one before ends; where the
/// last of them ends.
fn comments(text: &str, line: Range<usize>, last_end: usize, found: &mut Vec<Range<usize>>) -> Option<usize> {
    let (mut from, mut line_end, mut ended) = (line.start, line.end, None);
    while let Some(open) = text.get(from..line_end)?.find("<!--") {
        let start = from + open;
        from = start + 4;
        if text.get(..start)?.ends_with('`') {
            continue;
        }
        if start > last_end {
            break;
        }
        let length = memmem::find(text.get(start..)?.as_bytes(), b"-->")?;
        from = start + length + 3;
        found.push(start..from);
        ended = Some(from);
        let rest = text.get(from..)?;
        line_end = rest.find('\n').map_or(text.len(), |end| from + end + 1);
    }
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with `·` in the place of every covered character.
    fn shown(text: &str) -> String {
        let quotations = Quotations::of(text);
        text.char_indices().map(|(at, c)| if quotations.cover(at) && c != '\n' { '·' } else { c }).collect()
    }

    #[test]
    fn sig_10_closed_fences_are_quotations_unless_all_is_signal() {
        assert_eq!(shown("a\n```\nb\n```\nc"), "a\n```\n·\n```\nc");
        assert_eq!(shown("~~~~x\na\nb\n~~~\n~~~~\nc"), "~~~~x\n·\n·\n···\n~~~~\nc");
        let signal = "```\n\nTASK_COMPLETE\n```\n";
        assert_eq!(shown(signal), signal);
        assert_eq!(shown("  ```x\n  b\n  ```\nc"), "  ```x\n···\n  ```\nc");
    }

    #[test]
    fn sig_10_what_is_never_closed_quotes_nothing() {
        for text in ["```\na\nb", "~~~\na\n```", "````\na\n```\nb", "<!-- a\nb", "```\na\n```x"] {
            assert_eq!(shown(text), text);
        }
        assert_eq!(shown("````\n```\na\n```\nb"), "````\n```\n·\n```\nb");
    }

    #[test]
    fn sig_10_comments_indented_code_reports_and_learnings_are_quotations() {
        assert_eq!(shown("<!-- a\nb -->\nc"), "······\n·····\nc");
        assert_eq!(shown("x <!-- a --> b\nc"), "x ·········· b\nc");
        assert_eq!(shown("<!----> <!--\na\n-->\nc"), "······· ····\n·\n···\nc");
        assert_eq!(shown("`<!--` a\nb -->"), "`<!--` a\nb -->");
        assert_eq!(shown("a\n\n    b\n\nc"), "a\n\n·····\n\nc");
        assert_eq!(shown("a\n    b"), "a\n    b");
        assert_eq!(shown("- a\n\n    b"), "- a\n\n    b");
        assert_eq!(shown("a\n\n    `b`"), "a\n\n    `b`");
        assert_eq!(
            shown("<retry-suggestion>\nb\n</retry-suggestion>"),
            "··················\n·\n···················"
        );
        assert_eq!(shown("a<learning>\nb\n</learning>c"), "a··········\n·\n···········c");
    }
}
