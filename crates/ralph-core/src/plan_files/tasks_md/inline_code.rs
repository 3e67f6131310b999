//! Code in a line of Markdown: `` `so` ``, or with more backticks on both sides.

use std::collections::HashMap;
use std::ops::Range;

use memchr::memchr;

/// The codes in a text, in order.
pub(super) fn codes(text: &str) -> Vec<&str> {
    let spans = spans(text).into_iter();
    spans.map(|span| span.content).collect()
}

/// The code that a text begins with, and what stands after it.
pub(super) fn leading_code(text: &str) -> Option<(&str, &str)> {
    let spans = spans(text);
    let first = spans.first().filter(|span| span.whole.start == 0)?;
    Some((first.content, text.get(first.whole.end..)?))
}

/// A text as inline code, with as many backticks as it takes.
pub(super) fn as_code(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    let has_edge = text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']);
    let space = if has_edge && !text.trim().is_empty() {
        " "
    } else {
        ""
    };
    format!("{fence}{space}{text}{space}{fence}")
}

/// How many backticks a text has side by side at most.
pub(super) fn longest_run(text: &str) -> usize {
    runs(text).map(|run| run.len()).max().unwrap_or(0)
}

/// One code in a text.
pub(super) struct Span<'a> {
    /// With its backticks.
    pub(super) whole: Range<usize>,
    pub(super) content: &'a str,
}

/// The codes of a text and where they stand.
pub(super) fn spans(text: &str) -> Vec<Span<'_>> {
    let runs: Vec<_> = runs(text).collect();
    let closing = next_of_same_length(&runs);
    let mut spans = Vec::new();
    let mut at = 0;
    while let (Some(open), Some(close)) = (runs.get(at), closing.get(at)) {
        at += 1;
        if let Some(end) = close.and_then(|close| runs.get(close)) {
            let content = code_text(text.get(open.end..end.start).unwrap_or_default());
            spans.push(Span {
                whole: open.start..end.end,
                content,
            });
            at = close.map_or(at, |close| close + 1);
        }
    }
    spans
}

/// One space on each side only keeps backticks of the code from those around it.
fn code_text(inside: &str) -> &str {
    let shorter = inside
        .strip_prefix(' ')
        .and_then(|text| text.strip_suffix(' '));
    shorter
        .filter(|text| !text.trim().is_empty())
        .unwrap_or(inside)
}

/// Where runs of backticks stand.
fn runs(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.as_bytes().get(at..)?;
        let start = at + memchr(b'`', rest)?;
        let run = text.as_bytes().get(start..)?;
        at = start + run.iter().take_while(|byte| **byte == b'`').count();
        Some(start..at)
    })
}

/// For each run the next one that is as long.
fn next_of_same_length(runs: &[Range<usize>]) -> Vec<Option<usize>> {
    let mut last: HashMap<usize, usize> = HashMap::new();
    let mut next = Vec::with_capacity(runs.len());
    for (at, run) in runs.iter().enumerate().rev() {
        next.push(last.insert(run.len(), at));
    }
    next.reverse();
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_a_line() {
        assert_eq!(codes("run `a b` and `c`."), ["a b", "c"]);
        assert_eq!(codes("``a `b` c`` ```d```"), ["a `b` c", "d"]);
        assert_eq!(codes("`` `a` `` ` b ` `  `"), ["`a`", "b", "  "]);
        assert_eq!(codes("a `b``c` d"), ["b``c"]);
        assert_eq!(codes("`` a ` b"), Vec::<&str>::new());
        assert_eq!(codes("`` a `b`"), ["b"]);
        assert_eq!(codes("é `ü` ``"), ["ü"]);
    }

    #[test]
    fn code_at_the_start() {
        assert_eq!(leading_code("`a` (b `c`)"), Some(("a", " (b `c`)")));
        assert_eq!(leading_code("a `b`"), None);
        assert_eq!(leading_code("`a"), None);
    }

    #[test]
    fn a_text_as_code_reads_back() {
        for text in ["a", "a `b` c", "`a`", "``", " a ", " a", "a``b`", " ` "] {
            assert_eq!(codes(&as_code(text)), [text], "{text}");
        }
        assert_eq!(as_code("pnpm test"), "`pnpm test`");
    }
}
