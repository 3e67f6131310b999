//! The lines that announce a request.

use memchr::memmem;

use super::is_example;
use crate::modification::request::Kind;

/// The word that announces a request.
const MARKER: &str = "TASK_MODIFICATION_REQUEST";

/// A marker and what belongs to it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section<'a> {
    /// The kind given on the marker's line, or empty.
    pub(super) kind: &'a str,
    /// The text from there to the next marker.
    pub(super) body: &'a str,
}

/// A marker's line: where it begins, the kind it gives, and where its section's body begins.
struct Line<'a> {
    start: usize,
    kind: &'a str,
    body: usize,
}

/// Everything that a marker introduces, in order.
pub(super) fn sections<'a>(text: &'a str) -> Vec<Section<'a>> {
    let quotations = crate::signals::quotations(text);
    let lines: Vec<Line<'a>> = memmem::find_iter(text.as_bytes(), MARKER)
        .filter(|at| !quotations.cover(*at))
        .filter_map(|at| line(text, at))
        .collect();
    let ends = lines
        .iter()
        .skip(1)
        .map(|next| next.start)
        .chain([text.len()]);
    let section = |(line, end): (&Line<'a>, usize)| Section {
        kind: line.kind,
        body: text.get(line.body..end).unwrap_or_default(),
    };
    lines.iter().zip(ends).map(section).collect()
}

/// The marker's line around `at`, if the marker stands alone there but for a kind or the object's
/// beginning.
fn line(text: &str, at: usize) -> Option<Line<'_>> {
    let before = text.get(..at)?.trim_end_matches(is_margin);
    if !(before.is_empty() || before.ends_with('\n')) {
        return None;
    }
    let after = at + MARKER.len();
    let rest = text.get(after..)?;
    let end = memchr::memchr2(b'\n', b'{', rest.as_bytes()).unwrap_or(rest.len());
    let tail = rest.get(..end)?;
    if tail.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let kind =
        tail.trim_matches(|c| is_margin(c) || matches!(c, ':' | '"' | '-' | '(' | ')' | '='));
    // The info word of a fence that opens on the marker's line.
    let kind = if kind.eq_ignore_ascii_case("json") {
        ""
    } else {
        kind
    };
    may_be_kind(kind).then_some(Line {
        start: before.len(),
        kind,
        body: after + end,
    })
}

/// Characters around a marker that do not make it part of a sentence.
const fn is_margin(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '`' | '#' | '*' | '\u{feff}')
}

/// Whether the rest of a marker's line is a kind, right or wrong, and not the rest of a sentence.
fn may_be_kind(word: &str) -> bool {
    let loud = |c: char| c.is_ascii_uppercase() || c == '_';
    word.is_empty()
        || Kind::parse(word).is_some()
        || is_example(word)
        || (word.contains('_') && word.chars().all(loud))
}

#[cfg(test)]
mod tests {
    use super::{Section, sections};

    fn kinds(text: &str) -> Vec<&str> {
        sections(text).iter().map(|section| section.kind).collect()
    }

    #[test]
    fn mod_01_the_marker_stands_on_a_line_of_its_own() {
        for line in [
            "TASK_MODIFICATION_REQUEST",
            "  `TASK_MODIFICATION_REQUEST`\r",
            "### TASK_MODIFICATION_REQUEST:",
            "**TASK_MODIFICATION_REQUEST**:",
            "**TASK_MODIFICATION_REQUEST:**",
        ] {
            for text in [line.to_owned(), format!("x\n{line}\ny")] {
                assert_eq!(kinds(&text), [""], "{text}");
            }
        }
        for line in [
            "I send a TASK_MODIFICATION_REQUEST",
            "TASK_MODIFICATION_REQUEST is not needed",
            "TASK_MODIFICATION_REQUEST: none",
            "TASK_MODIFICATION_REQUEST: NONE",
            "TASK_MODIFICATION_REQUESTS",
            "TASK_MODIFICATION_REQUEST_ID",
            "task_modification_request",
            "\"TASK_MODIFICATION_REQUEST\"",
        ] {
            assert_eq!(kinds(line), [""; 0], "{line}");
        }
    }

    #[test]
    fn mod_01_the_kind_may_stand_beside_the_marker() {
        for line in [
            "TASK_MODIFICATION_REQUEST: SPLIT_TASK",
            "## TASK_MODIFICATION_REQUEST: `SPLIT_TASK`",
            "**TASK_MODIFICATION_REQUEST** (SPLIT_TASK)",
            "TASK_MODIFICATION_REQUEST - SPLIT_TASK {}",
        ] {
            assert_eq!(kinds(line), ["SPLIT_TASK"], "{line}");
        }
        assert_eq!(
            kinds("TASK_MODIFICATION_REQUEST: MERGE_TASKS"),
            ["MERGE_TASKS"]
        );
        assert_eq!(kinds("TASK_MODIFICATION_REQUEST ```json"), [""]);
    }

    #[test]
    fn mod_01_a_section_reaches_to_the_next_marker() {
        let text = "a\nTASK_MODIFICATION_REQUEST {1}\nb\n## TASK_MODIFICATION_REQUEST\n{2}\n";
        let expected = [("", "{1}\nb\n"), ("", "\n{2}\n")];
        assert_eq!(
            sections(text),
            expected.map(|(kind, body)| Section { kind, body })
        );
    }
}
