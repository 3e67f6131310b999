//! What is done to text alike for all formats.

pub(crate) use crate::markdown::indent;

/// The text without the byte order mark it may begin with.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The text on one line: runs of white space and control characters become one space.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if !word.is_empty() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    line
}

/// The line without up to `columns` columns of its indent, and without white space at its end.
pub(crate) fn dedented(line: &str, columns: usize) -> String {
    let mut gone = 0;
    let mut rest = line;
    while gone < columns {
        match rest.bytes().next() {
            Some(b' ') => gone += 1,
            Some(b'\t') => gone += 4 - gone % 4,
            _ => break,
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    let kept = gone.saturating_sub(columns);
    format!("{}{}", " ".repeat(kept), rest.trim_end())
}

/// Several lines without the indent they share and without blank lines around them. The first line
/// may stand behind a tag, so that its indent says nothing.
pub(crate) fn block(text: &str) -> String {
    let shared = text.lines().skip(1).filter(|line| !line.trim().is_empty());
    let shared = shared.map(|line| indent(line).0).min().unwrap_or(0);
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default().trim();
    let mut out = first.to_owned();
    for line in lines {
        out.push('\n');
        out.push_str(&dedented(line, shared));
    }
    out.trim_matches('\n').trim_end().to_owned()
}

/// The parts that say something, each after a blank line.
pub(crate) fn paragraphs<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

const SHORT_FORMS: [&str; 5] = ["e.g.", "i.e.", "etc.", "vs.", "cf."];

/// The first sentence of a line, without the full stop at its end.
pub(crate) fn first_sentence(line: &str) -> &str {
    let mut start = 0;
    for word in line.split_inclusive(' ') {
        let end = start + word.trim_end().len();
        start += word.len();
        let word = word.trim_end();
        let is_short_form =
            SHORT_FORMS.contains(&word.trim_start_matches('(').to_lowercase().as_str());
        if word.ends_with(['.', '!', '?']) && !is_short_form {
            let sentence = line.get(..end).unwrap_or(line);
            return sentence.strip_suffix('.').unwrap_or(sentence);
        }
    }
    line
}

/// The line, or its beginning up to a word's end with `…`; never more than `most` characters.
pub(crate) fn cut(line: &str, most: usize) -> String {
    let Some((end, _)) = line.char_indices().nth(most) else {
        return line.to_owned();
    };
    // One place is for the mark.
    let room = line
        .char_indices()
        .nth(most.saturating_sub(1))
        .map_or(end, |(at, _)| at);
    let head = line.get(..room).unwrap_or_default();
    let is_whole_word = line.get(room..).is_some_and(|rest| rest.starts_with(' '));
    let words = match head.rfind(' ') {
        Some(space) if !is_whole_word => head.get(..space).unwrap_or(head),
        _ => head,
    };
    format!("{}…", words.trim_end_matches([' ', ',', ';', ':', '-']))
}

#[cfg(test)]
mod tests {
    use super::{block, cut, dedented, first_sentence, indent, one_line};
    use proptest::prelude::*;

    #[test]
    fn tabs_go_to_the_next_fourth() {
        assert_eq!(indent(" \tx"), (4, "x"));
        assert_eq!(indent("\t x"), (5, "x"));
        assert_eq!(indent("  "), (2, ""));
        assert_eq!(dedented("\tx ", 2), "  x");
        assert_eq!(dedented(" x", 4), "x");
    }

    #[test]
    fn a_block_loses_the_indent_its_lines_share() {
        assert_eq!(
            block("first\n    a\n      b\n\n    c\n  "),
            "first\na\n  b\n\nc"
        );
        assert_eq!(block("\n  a\n    b\n"), "a\n  b");
        assert_eq!(block(""), "");
    }

    #[test]
    fn sentences_end_at_a_stop_before_white_space() {
        assert_eq!(
            first_sentence("Add v1.2 of it (e.g. now). Then rest."),
            "Add v1.2 of it (e.g. now)"
        );
        assert_eq!(first_sentence("Really? Yes."), "Really?");
        assert_eq!(first_sentence("No end"), "No end");
        assert_eq!(first_sentence("One."), "One");
    }

    #[test]
    fn cuts_fall_between_words() {
        assert_eq!(cut("one two three", 9), "one two…");
        assert_eq!(cut("one two three", 8), "one two…");
        assert_eq!(cut("one two", 7), "one two");
        assert_eq!(cut("abcdefgh", 4), "abc…");
        assert_eq!(cut("äöü äöü äöü", 8), "äöü äöü…");
    }

    proptest! {
        #[test]
        fn cuts_keep_the_limit(line in ".{0,60}", most in 1usize..40) {
            prop_assert!(cut(&line, most).chars().count() <= most);
        }

        #[test]
        fn one_line_is_one_line(text in any::<String>()) {
            let line = one_line(&text);
            prop_assert!(!line.contains(char::is_control));
            prop_assert_eq!(one_line(&line), line);
        }

        #[test]
        fn a_block_has_no_blank_ends(text in "[ \ta\n]{0,40}") {
            let block = block(&text);
            prop_assert!(!block.starts_with('\n'));
            prop_assert_eq!(block.trim_end(), &block);
        }
    }
}
