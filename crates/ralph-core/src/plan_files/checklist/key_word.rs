//! The key that an author wrote before a title: `T001 Title`, `**US-12**: Title`, `1.3 Title`.

use crate::plan_files::key;
use crate::plan_files::markdown::without_emphasis;

/// The longest word that is taken for a key.
const LONGEST: usize = 16;

/// The key an item's words begin with, and the words after it (none where the key is all).
pub(super) fn key_word(words: &str) -> Option<(&str, &str)> {
    let words = without_emphasis(words);
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let marks = ["**", "__", "`"]
        .into_iter()
        .find(|marks| words.starts_with(marks))
        .unwrap_or("");
    let bare = words.get(marks.len()..)?;
    let end = bare.find(|c| !is_of_word(c)).unwrap_or(bare.len());
    // A stop after the word is no part of it: `1. Title`.
    let word = bare.get(..end)?.trim_end_matches('.');
    let (after, title) = after_word(bare.get(word.len()..)?, marks)?;
    let is_set_apart = match after {
        After::Colon => true,
        After::Stop => word
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.'),
        After::Blank => false,
    };
    let is_key = word.len() <= LONGEST
        && word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.contains(|c: char| c.is_ascii_digit())
        && (is_set_apart || looks_like_a_key(word))
        && key::is_usable(word);
    is_key.then_some((word, title))
}

/// What stands between a word and the title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Colon,
    /// `.` or `)`.
    Stop,
    Blank,
}

/// Takes off emphasis (`**T1:** Title`, `**T1**: Title`) and what else stands before the title.
fn after_word<'a>(text: &'a str, marks: &str) -> Option<(After, &'a str)> {
    let (inner, text) = stop(text);
    let (outer, text) = stop(text.strip_prefix(marks)?);
    let after = match (inner, outer) {
        (After::Blank, after) | (after, After::Blank) => after,
        _ => return None,
    };
    (text.is_empty() || text.starts_with([' ', '\t'])).then(|| (after, text.trim()))
}

fn stop(text: &str) -> (After, &str) {
    match text.split_at_checked(1) {
        Some((":", rest)) => (After::Colon, rest),
        Some(("." | ")", rest)) => (After::Stop, rest),
        _ => (After::Blank, text),
    }
}

/// Before a blank alone, a word with a digit may as well be a part of the title (`OAuth2 login`,
/// `3 tests`, `2-factor login`), so it must look like a key.
fn looks_like_a_key(word: &str) -> bool {
    let mut parts = word.split(['.', '-', '_']);
    let first = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    if first.starts_with(|c: char| c.is_ascii_digit()) {
        // `1.3`, `12-01`, `02.1-03a`; a number alone is a quantity, and one of four digits a year.
        let is_short = |part: &&str| part.len() <= 3 && is_numbered(part);
        return !rest.is_empty() && is_short(&first) && rest.iter().all(is_short);
    }
    let letters = first.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = first.get(letters..).unwrap_or_default();
    match rest.split_last() {
        // `T001`, `VE2`, `T12a`, but neither `HTML5` nor `E2E`.
        None => {
            let is_short = (1..=3).contains(&letters);
            is_short && is_numbered(digits) && !digits.ends_with(|c: char| c.is_ascii_uppercase())
        }
        // `US-12`, `AUTH-API-3`, `P2-01`.
        Some((last, between)) => {
            letters > 0
                && (digits.is_empty() || is_numbered(digits))
                && is_numbered(last)
                && between
                    .iter()
                    .all(|part| is_numbered(part) || is_upper(part))
        }
    }
}

/// Some digits, perhaps with a letter after them.
fn is_numbered(part: &str) -> bool {
    let number = part
        .strip_suffix(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(part);
    (1..=5).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_upper(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::key_word;
    use proptest::prelude::*;

    #[test]
    fn keys_before_titles() {
        for (words, key, title) in [
            ("T001 Set up", "T001", "Set up"),
            ("US-12: Log in", "US-12", "Log in"),
            ("1.3 Parse", "1.3", "Parse"),
            ("12-01 Parse", "12-01", "Parse"),
            ("V4 [VERIFY] Check", "V4", "[VERIFY] Check"),
            ("02.1-03a Do", "02.1-03a", "Do"),
            ("AUTH-API-3 Do", "AUTH-API-3", "Do"),
            ("**T001** Do", "T001", "Do"),
            ("**T001:** Do", "T001", "Do"),
            ("**T001**: Do", "T001", "Do"),
            ("**T001 Do it**", "T001", "Do it"),
            ("`T001` Do", "T001", "Do"),
            ("T1. Do", "T1", "Do"),
            ("1. Do", "1", "Do"),
            ("1.1. Do", "1.1", "Do"),
            ("**1.** Do", "1", "Do"),
            ("3) Do", "3", "Do"),
            ("ABC-1234 Do", "ABC-1234", "Do"),
            ("step1: Do", "step1", "Do"),
            ("3: Do", "3", "Do"),
            ("T001", "T001", ""),
        ] {
            assert_eq!(key_word(words), Some((key, title)), "{words}");
        }
    }

    #[test]
    fn words_that_belong_to_the_title() {
        for words in [
            "3 tests",
            "404 page",
            "OAuth2 login",
            "HTML5 player",
            "E2E tests",
            "i18n strings",
            "v2 API",
            "v2. API",
            "`oauth2` login",
            "**OAuth2** login",
            "T1.: twice",
            "2-factor login",
            "2024-05-01 release",
            "utf-8 names",
            "localhost:3000 answers",
            "10:30 call",
            "T001/T002 together",
            "Title without digits",
            "T001, then more",
            "t-00ff00: id of a task",
            "T00000000000000001: long",
            "`",
            "**",
            "",
        ] {
            assert_eq!(key_word(words), None, "{words}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(words in any::<String>(), near in "[*_`T1.:é -]{0,12}") {
            for words in [&words, &near] {
                if let Some((key, _)) = key_word(words) {
                    prop_assert!(crate::plan_files::key::is_usable(key));
                }
            }
        }
    }
}
