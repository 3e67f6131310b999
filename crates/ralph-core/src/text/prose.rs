//! The prose of an agent's answer: what is left of it without signals, and its first and last words.

use std::borrow::Cow;
use std::ops::Range;

use super::{elements, one_line};

/// Length limit of [`first_sentence`], in characters.
const SENTENCE_CHARS: usize = 200;

/// How much of a paragraph [`last_paragraph`] gives.
const PARAGRAPH_BYTES: usize = 8 * 1024;

/// Line starts that are signals of the older dialects.
const DIALECTS: [&str; 2] = ["TASK_COMPLETE", "FAILURE_REASON:"];

/// Words whose full stop does not end a sentence.
const ABBREVIATIONS: [&str; 6] = ["e.g.", "i.e.", "etc.", "vs.", "cf.", "approx."];

/// `text` without the elements Ralph reads.
pub fn without_signals(text: &str) -> Cow<'_, str> {
    let mut spans: Vec<Range<usize>> = elements(text).map(|element| element.span).collect();
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    // Elements of different names may overlap; sorted by start, one pass skips them all.
    spans.sort_unstable_by_key(|span| span.start);
    let mut prose = String::with_capacity(text.len());
    let mut at = 0;
    for span in spans {
        prose.push_str(text.get(at..span.start).unwrap_or_default());
        at = at.max(span.end);
    }
    prose.push_str(text.get(at..).unwrap_or_default());
    Cow::Owned(prose)
}

/// The first sentence of the prose, on one line of at most 200 characters; a heading only where
/// there is nothing else, code never.
pub fn first_sentence(text: &str) -> Option<String> {
    let prose = without_signals(text);
    let mut heading = None;
    let mut in_fence = false;
    let mut sentence = String::new();
    for line in prose.lines() {
        if is_fence(line) {
            in_fence = !in_fence;
        }
        let title = line.trim_start().starts_with('#');
        let words = if is_fence(line) || in_fence { "" } else { plain(line) };
        if words.is_empty() || title {
            if !sentence.is_empty() {
                break;
            }
            if title && heading.is_none() && !words.is_empty() {
                heading = Some(words);
            }
            continue;
        }
        if !sentence.is_empty() {
            let item = line.trim_start();
            if after_bullet(item).len() < item.len() {
                break;
            }
            sentence.push(' ');
        }
        let checked = sentence.len();
        sentence.push_str(words);
        if let Some(end) = sentence_end(&sentence, checked) {
            sentence.truncate(end);
            break;
        }
        // Longer than anything that will be kept; the byte count is only an early stop.
        if sentence.len() > SENTENCE_CHARS * 8 {
            break;
        }
    }
    let chosen = if sentence.is_empty() { heading? } else { &sentence };
    let line = one_line(&chosen.replace("**", ""), SENTENCE_CHARS);
    (!line.is_empty()).then_some(line)
}

/// The text up to the end of so many sentences.
pub fn first_sentences(text: &str, most: usize) -> &str {
    let text = text.trim();
    let mut at = 0;
    for _ in 0..most {
        let Some(end) = sentence_end(text, at) else { return text };
        at = end;
    }
    text.get(..at).unwrap_or(text)
}

/// The last paragraph of the prose, its lines as they are, or the end of it where it is very long;
/// empty where there is none.
pub fn last_paragraph(text: &str) -> String {
    let prose = without_signals(text);
    let mut lines: Vec<&str> = Vec::new();
    let mut room = PARAGRAPH_BYTES;
    for line in prose.lines().rev() {
        let words = if is_fence(line) { "" } else { plain(line) };
        if words.is_empty() && !lines.is_empty() {
            break;
        }
        if !words.is_empty() {
            lines.push(
                line.get(line.ceil_char_boundary(line.len().saturating_sub(room))..).unwrap_or_default(),
            );
            room = room.saturating_sub(line.len());
        }
        if room == 0 {
            break;
        }
    }
    lines.reverse();
    lines.join("\n")
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// What follows `- `, `* `, `+ `, `1. ` or `1) `, else the line itself.
fn after_bullet(line: &str) -> &str {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = rest.len() != line.len();
    let marks: &[char] = if numbered { &['.', ')'] } else { &['-', '*', '+', '•'] };
    rest.strip_prefix(marks).and_then(|rest| rest.strip_prefix(' ')).unwrap_or(line)
}

/// A line's words without Markdown's marks; empty for signals, rules and stray tags.
fn plain(line: &str) -> &str {
    let words = line.trim_start_matches(|c: char| c.is_whitespace() || c == '#' || c == '>');
    let words = after_bullet(words).trim();
    let bare = words.trim_start_matches(['*', '`', ' ']);
    let signal = DIALECTS.iter().any(|dialect| bare.starts_with(dialect)) || bare.starts_with('<');
    let wordless = !words.contains(char::is_alphanumeric);
    if signal || wordless { "" } else { words }
}

/// Where the first sentence ends that ends at or after byte `from`.
fn sentence_end(text: &str, from: usize) -> Option<usize> {
    let mut stops = text.char_indices().filter(|(_, c)| matches!(c, '.' | '!' | '?' | '。'));
    stops.find_map(|(at, stop)| {
        let after = text.get(at + stop.len_utf8()..)?;
        let closers = after.len() - after.trim_start_matches(['"', '\'', ')', '`', '*', '”']).len();
        let end = at + stop.len_utf8() + closers;
        let ends = text.get(end..)?.chars().next().is_none_or(char::is_whitespace);
        let word = text.get(..=at).and_then(|head| head.split_whitespace().next_back());
        let word = word.unwrap_or_default().trim_start_matches(['(', '"', '\'']);
        let is_short = stop == '.' && ABBREVIATIONS.iter().any(|known| word.eq_ignore_ascii_case(known));
        (end > from && (ends && !is_short || stop == '。')).then_some(end)
    })
}

#[cfg(test)]
mod tests {
    use super::{first_sentence, first_sentences, last_paragraph, without_signals};
    use proptest::prelude::*;

    fn first(text: &str) -> String {
        first_sentence(text).unwrap_or_default()
    }

    #[test]
    fn agm_06_so_many_sentences() {
        let text = " One e.g. two. Two e.g. this! Three (three).\nFour. Five";
        assert_eq!(first_sentences(text, 3), "One e.g. two. Two e.g. this! Three (three).");
        assert_eq!(first_sentences(text, 9), text.trim());
        assert_eq!(first_sentences("a。b。c。d。", 2), "a。b。");
        assert_eq!(first_sentences("", 3), "");
    }

    #[test]
    fn the_first_sentence_stands_after_headings_fences_and_signals() {
        let text = "## Summary\n\n```rust\nfn main() {}\n```\n<task-done>t-1</task-done>\n\
                    - **Added** the parser in `src/a.rs`, e.g. for tags.\nThen more. And more.";
        assert_eq!(first(text), "Added the parser in `src/a.rs`, e.g. for tags.");
        assert_eq!(
            first("TASK_COMPLETE\n> Moved v1.2 to v1.3\nof the file! Next."),
            "Moved v1.2 to v1.3 of the file!"
        );
        assert_eq!(first("One line without an end\n\nOther."), "One line without an end");
        assert_eq!(first("# Only a title\n---\n"), "Only a title");
        assert_eq!(first("Did it:\n- one\n- two"), "Did it:");
        assert_eq!(first_sentence("\n<learning category='a' tags='b'>\nx.\n</learning>\n```\n"), None);
    }

    #[test]
    fn the_first_sentence_is_bounded() {
        assert_eq!(first(&"word ".repeat(1000)).chars().count(), 200);
        assert_eq!(first(&"ä".repeat(1_000_000)).chars().count(), 200);
    }

    #[test]
    fn the_last_paragraph_ignores_signals_and_fences() {
        let text = "First.\n\nI could not\ncomplete it.\n\n```\n<task-done>t-1</task-done>\n```\n\
                    <learning category=\"a\" tags=\"b\">\nNot prose.\n</learning>\nTASK_COMPLETE\n";
        assert_eq!(last_paragraph(text), "I could not\ncomplete it.");
        assert_eq!(last_paragraph("\n\n---\n"), "");
        assert_eq!(last_paragraph(&("ä".repeat(9999) + "\nend")).len(), 8 * 1024);
    }

    #[test]
    fn overlapping_elements_are_removed_once() {
        let text = "a<promise>1<next-model>2</promise>3</next-model>b<promise>x</promise>c";
        assert_eq!(without_signals(text), "abc");
    }

    proptest! {
        #[test]
        fn sentences_are_short_single_lines(text in "(\\PC|[#.!? \n`<>-]){0,300}") {
            if let Some(line) = first_sentence(&text) {
                prop_assert!(line.chars().count() <= 200 && !line.contains('\n') && !line.is_empty());
            }
        }
    }
}
