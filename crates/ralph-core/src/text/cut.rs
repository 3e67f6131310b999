//! Shortening text to a number of characters without breaking words.

use std::borrow::Cow;

use super::{clean, invisible_escaped, mask_secrets};

/// Longer runs of characters are data, not words: JSON on one line, a path, base64.
const LONGEST_WORD: usize = 200;

/// The start of `text`, at most `max_chars` characters, never ending inside a word or in whitespace.
///
/// What is too long to be a word, or the only one, is cut hard: the alternative is to lose it.
pub fn cut_words(text: &str, max_chars: usize) -> Cow<'_, str> {
    let start = first_chars(text, max_chars);
    let next = text.get(start.len()..).and_then(|rest| rest.chars().next());
    let ends_a_word = next.is_none_or(char::is_whitespace);
    let words = start.rfind(char::is_whitespace).and_then(|space| start.get(..space)).map(str::trim_end);
    Cow::Borrowed(match words.filter(|words| !ends_a_word && !words.is_empty()) {
        Some(words) if start.len() - words.len() <= LONGEST_WORD => words,
        _ => start.trim_end(),
    })
}

pub fn first_chars(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// The first `max` bytes, or less where a character would be cut in two.
pub fn first_bytes(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or(text)
}

/// `text` as one clean line of at most `max_chars` characters without secrets, which are masked before
/// anything is cut: half a key is none that is recognized. What was cut is marked by `…`.
pub fn one_line(text: &str, max_chars: usize) -> String {
    plain_line(&mask_secrets(&clean(text)), max_chars)
}

/// The first `max_bytes` of a text without the word that would be cut in two, for text that is masked afterwards: half a key is
/// none that is recognized.
pub fn head(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    let start = first_bytes(text, max_bytes);
    let words = start.rfind(char::is_whitespace).and_then(|end| start.get(..end));
    words.unwrap_or(start)
}

/// A command or a path as [`one_line`], with invisible characters shown as escapes.
pub fn code_line(text: &str, max_chars: usize) -> String {
    one_line(&invisible_escaped(text), max_chars)
}

/// A person's own words, such as a task's title, as one clean line of at most `max_chars` characters. Their
/// secrets are theirs: what they wrote has to be found again in their files.
pub fn plain_line(text: &str, max_chars: usize) -> String {
    let text = clean(text);
    let mut line = String::new();
    let mut chars = 0;
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
            chars += 1;
        }
        line.push_str(word);
        chars += word.chars().count();
        if chars > max_chars {
            return shorten(&line, max_chars);
        }
    }
    line
}

/// Cuts a line that is known to be too long, with room for the mark.
fn shorten(line: &str, max_chars: usize) -> String {
    let Some(room) = max_chars.checked_sub(1) else { return String::new() };
    format!("{}…", cut_words(line, room))
}

#[cfg(test)]
mod tests {
    use super::{cut_words, one_line};
    use proptest::prelude::*;

    #[test]
    fn ext_03_cut_on_a_word_boundary() {
        assert_eq!(cut_words("alpha beta gamma", 16), "alpha beta gamma");
        assert_eq!(cut_words("alpha beta gamma", 15), "alpha beta");
        assert_eq!(cut_words("alpha beta gamma", 11), "alpha beta");
        assert_eq!(cut_words("alpha beta gamma", 10), "alpha beta");
        assert_eq!(cut_words("alpha beta gamma", 9), "alpha");
        assert_eq!(cut_words("alpha  \n", 100), "alpha");
    }

    #[test]
    fn ext_03_a_single_long_word_is_cut_hard() {
        assert_eq!(cut_words("abcdefgh", 3), "abc");
        assert_eq!(cut_words("äöüß", 2), "äö");
        assert_eq!(cut_words("  abcdefgh", 4), "  ab");
        assert_eq!(cut_words("abc", 0), "");
        let data = format!("error: {{\"message\":\"{}\"}}", "x".repeat(700));
        assert_eq!(cut_words(&data, 500).len(), 500);
    }

    #[test]
    fn one_line_collapses_and_marks_the_cut() {
        assert_eq!(one_line(" a\n\tb\u{1b}[31m c ", 10), "a b c");
        assert_eq!(one_line("alpha beta gamma", 12), "alpha beta…");
        assert_eq!(one_line("abcdefgh", 4), "abc…");
        assert_eq!(one_line("abc", 0), "");
        assert_eq!(one_line("abc", 1), "…");
    }

    proptest! {
        #[test]
        fn ext_03_cut_is_a_bounded_prefix_of_whole_words(text in "[ab \n…ä]{0,60}", max in 0usize..40) {
            let cut = cut_words(&text, max);
            prop_assert!(text.starts_with(&*cut));
            prop_assert!(cut.chars().count() <= max);
            prop_assert_eq!(cut.trim_end(), &*cut);
            let rest = &text[cut.len()..];
            let inside_a_word = rest.starts_with(|c: char| !c.is_whitespace()) && !cut.is_empty();
            prop_assert!(!inside_a_word || !cut.trim_start().contains(char::is_whitespace));
        }

        #[test]
        fn one_line_is_one_bounded_line(text in any::<String>(), max in 0usize..40) {
            let line = one_line(&text, max);
            prop_assert!(line.chars().count() <= max);
            prop_assert!(!line.contains('\n'));
            prop_assert_eq!(one_line(&line, max), line);
        }
    }
}
