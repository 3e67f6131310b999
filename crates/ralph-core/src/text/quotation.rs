//! Which parts of an answer only quote: what an agent shows there is not said to Ralph.
//!
//! Quotations are closed fences, closed HTML comments, indented code, reports and learnings. A fence that
//! holds nothing but signals is none: models often write their last words so.

use std::ops::Range;

use memchr::memmem;

use super::elements;

/// The quotations of a text.
#[derive(Debug, Default)]
pub struct Quotations {
    /// In order, none touching the next.
    ranges: Vec<Range<usize>>,
}

impl Quotations {
    /// Finds them in one pass; `is_signal` tells whether a whole text is signals and nothing else.
    #[must_use]
    pub fn of(text: &str, is_signal: impl Fn(&str) -> bool) -> Self {
        let mut ranges: Vec<Range<usize>> = elements(text)
            .filter(|element| {
                matches!(
                    element.name,
                    "failure-report" | "learning" | "retry-suggestion"
                )
            })
            .map(|element| element.span)
            .collect();
        blocks(text, is_signal, &mut ranges);
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

    /// Whether the byte at this place is part of one.
    #[must_use]
    pub fn cover(&self, at: usize) -> bool {
        let next = self.ranges.partition_point(|range| range.end <= at);
        self.ranges.get(next).is_some_and(|range| range.start <= at)
    }
}

/// One line: where it stands and what it could open or close.
struct Line<'a> {
    range: Range<usize>,
    text: &'a str,
    fence: Option<Fence>,
}

/// A line that begins with three or more backticks or tildes.
#[derive(Clone, Copy)]
struct Fence {
    mark: u8,
    length: usize,
    can_close: bool,
}

/// The fences, comments and indented blocks of a text.
fn blocks(text: &str, is_signal: impl Fn(&str) -> bool, found: &mut Vec<Range<usize>>) {
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut from = 0;
    for raw in text.split_inclusive('\n') {
        let range = from..from + raw.len();
        from = range.end;
        let fence = fence(raw.trim_ascii());
        lines.push(Line {
            range,
            text: raw.trim_ascii_end(),
            fence,
        });
    }
    let closers = longest_closers(&lines);
    let mut comments = Comments::default();
    let (mut at, mut in_list, mut code_may_begin) = (0, false, true);
    while let Some(line) = lines.get(at) {
        let opened = line.fence.filter(|fence| {
            let after = closers.get(at + 1).copied().unwrap_or_default();
            fence.length <= after.of(fence.mark)
        });
        if let Some(fence) = opened {
            let closes = |line: &Line<'_>| {
                line.fence.is_some_and(|end| {
                    end.can_close && end.mark == fence.mark && end.length >= fence.length
                })
            };
            let inside = lines.iter().skip(at + 1);
            let length = inside.take_while(|line| !closes(line)).count();
            let end = lines
                .get(at + 1 + length)
                .map_or(text.len(), |end| end.range.start);
            let content = text.get(line.range.end..end).unwrap_or_default();
            if !is_signal(content) {
                found.push(line.range.end..end);
            }
            at += length + 2;
            code_may_begin = true;
            continue;
        }
        if let Some(next) = comments.skip(text, &lines, at, found) {
            at = next;
            code_may_begin = true;
            continue;
        }
        let content = line.text.trim_ascii_start();
        let columns = line.text.bytes().take_while(u8::is_ascii_whitespace);
        let columns = columns.fold(0, |columns, byte| match byte {
            b'\t' => columns / 4 * 4 + 4,
            _ => columns + 1,
        });
        let blank = content.is_empty();
        // Nobody puts backticks around a line of indented code; they mark a signal.
        let code = columns >= 4 && !in_list && code_may_begin && !content.starts_with('`');
        if code && !blank {
            found.push(line.range.clone());
        } else if !blank {
            in_list = is_list_item(content) || in_list && columns >= 2;
            code_may_begin = false;
        } else {
            code_may_begin = true;
        }
        at += 1;
    }
}

/// How long the longest closing fences are from some line on.
#[derive(Clone, Copy, Default)]
struct Longest {
    backticks: usize,
    tildes: usize,
}

impl Longest {
    fn of(self, mark: u8) -> usize {
        if mark == b'`' {
            self.backticks
        } else {
            self.tildes
        }
    }
}

/// For each line the longest closing fences from there on, so that a fence that is never closed is known
/// at once.
fn longest_closers(lines: &[Line<'_>]) -> Vec<Longest> {
    let mut longest = Longest::default();
    let mut from_here: Vec<Longest> = lines
        .iter()
        .rev()
        .map(|line| {
            match line.fence {
                Some(fence) if !fence.can_close => {}
                Some(fence) if fence.mark == b'`' => {
                    longest.backticks = longest.backticks.max(fence.length);
                }
                Some(fence) => longest.tildes = longest.tildes.max(fence.length),
                None => {}
            }
            longest
        })
        .collect();
    from_here.reverse();
    from_here
}

fn fence(line: &str) -> Option<Fence> {
    // A fence may also be opened behind the marker of a request.
    let opened = match line.strip_prefix("TASK_MODIFICATION_REQUEST") {
        Some(rest) => rest.trim_start_matches([' ', ':', '\t']),
        None => line,
    };
    let mark = opened.bytes().next().filter(|b| matches!(b, b'`' | b'~'))?;
    let length = opened.bytes().take_while(|b| *b == mark).count();
    let info = opened.get(length..)?;
    (length >= 3 && !info.contains('`')).then_some(Fence {
        mark,
        length,
        can_close: info.is_empty() && opened.len() == line.len(),
    })
}

/// Finds comments; remembers that no end of one is left, so that many openings share one search.
#[derive(Default)]
struct Comments {
    no_end_left: bool,
}

impl Comments {
    /// Takes in the closed comments that begin on a line; the first line after the last of them.
    fn skip(
        &mut self,
        text: &str,
        lines: &[Line<'_>],
        at: usize,
        found: &mut Vec<Range<usize>>,
    ) -> Option<usize> {
        let mut line = lines.get(at)?;
        let (mut from, mut next) = (line.range.start, None);
        while let Some(open) = text.get(from..line.range.end)?.find("<!--") {
            let start = from + open;
            let in_code = text.get(..start)?.ends_with('`');
            if in_code {
                from = start + 4;
                continue;
            }
            if self.no_end_left {
                break;
            }
            let Some(length) = memmem::find(text.get(start..)?.as_bytes(), b"-->") else {
                self.no_end_left = true;
                break;
            };
            from = start + length + 3;
            found.push(start..from);
            let after = lines.partition_point(|line| line.range.start < from);
            line = lines.get(after.checked_sub(1)?)?;
            next = Some(after);
        }
        next
    }
}

fn is_list_item(content: &str) -> bool {
    let digits = content.bytes().take_while(u8::is_ascii_digit).count();
    let marker = content.get(digits..).unwrap_or_default();
    match digits {
        0 => marker.starts_with("- ") || marker.starts_with("* ") || marker.starts_with("+ "),
        _ => digits <= 9 && (marker.starts_with(". ") || marker.starts_with(") ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with `·` in the place of every covered character.
    fn shown(text: &str) -> String {
        let quotations = Quotations::of(text, |content| content.trim() == "S");
        text.char_indices()
            .map(|(at, c)| {
                if quotations.cover(at) && c != '\n' {
                    '·'
                } else {
                    c
                }
            })
            .collect()
    }

    #[test]
    fn sig_10_closed_fences_are_quotations_unless_all_is_signal() {
        assert_eq!(shown("a\n```\nb\n```\nc"), "a\n```\n·\n```\nc");
        assert_eq!(
            shown("~~~~x\nS\nb\n~~~\n~~~~\nc"),
            "~~~~x\n·\n·\n···\n~~~~\nc"
        );
        assert_eq!(shown("```\n\nS\n```\n"), "```\n\nS\n```\n");
        assert_eq!(shown("  ```x\n  b\n  ```\nc"), "  ```x\n···\n  ```\nc");
    }

    #[test]
    fn sig_10_what_is_never_closed_quotes_nothing() {
        for text in [
            "```\na\nb",
            "~~~\na\n```",
            "````\na\n```\nb",
            "<!-- a\nb",
            "```\na\n```x",
        ] {
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
        assert_eq!(
            shown("a<learning>\nb\n</learning>c"),
            "a··········\n·\n···········c"
        );
    }
}
