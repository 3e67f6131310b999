//! Keys that authors give their tasks, and how they stand before a title.

use crate::markdown::without_emphasis;
use crate::model::Key;

/// What a key may look like, for messages.
pub(crate) const RULE: &str = "up to 64 letters, digits and . _ - : / # +, not beginning with - \
    and not of the form t-0a1b2c";

/// The longest word before a title that is taken for a key.
const LONGEST: usize = 16;

/// Whether a text can be the key of a task.
pub(crate) fn is_usable(text: &str) -> bool {
    text.trim() == text && Key::parse(text).is_ok()
}

/// The key of a spec's task that a text begins with (`1.3`, `1.3.1`, `12-01`, `V4`, `VE2`, `VF`), and what stands after it; a `:`
/// or `.` that closes the key is no part of either.
pub(crate) fn spec_key(text: &str) -> Option<(&str, &str)> {
    let (key, after) = text.split_at_checked(spec_key_length(text)?)?;
    let open = after.strip_prefix([':', '.']).unwrap_or(after);
    let is_whole = open.is_empty() || open.starts_with([' ', '\t']);
    is_whole.then_some((key, open))
}

/// Bytes of a spec's key that a text begins with, whatever comes after it.
pub(crate) fn spec_key_length(text: &str) -> Option<usize> {
    let prefix = ["VE", "VF", "V"].into_iter().find(|p| text.starts_with(p));
    let start = prefix.map_or(0, str::len);
    let number = digits(text.get(start..)?);
    let mut end = start + number;
    match prefix {
        Some("VF") => {}
        Some(_) => end = (number > 0).then_some(end)?,
        None => {
            let second = digits(text.get(end..)?.strip_prefix(['.', '-'])?);
            end = (number > 0 && second > 0).then_some(end + 1 + second)?;
        }
    }
    while let Some(part) = text.get(end..)?.strip_prefix('.')
        && digits(part) > 0
    {
        end += 1 + digits(part);
    }
    Some(end)
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Whether `key` is below `ancestor`, as `1.3.1` is below `1.3` and `1.30` is not.
pub(crate) fn is_below(key: &str, ancestor: &str) -> bool {
    key.strip_prefix(ancestor).is_some_and(|rest| rest.starts_with('.'))
}

/// The key that a checklist's item begins with (`T001 Title`, `**US-12**: Title`, `1.3 Title`), and the words after it (none where
/// the key is all).
pub(crate) fn item_key(words: &str) -> Option<(&str, &str)> {
    let words = without_emphasis(words);
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let marks = ["**", "__", "`"].into_iter().find(|marks| words.starts_with(marks)).unwrap_or("");
    let bare = words.get(marks.len()..)?;
    let end = bare.find(|c| !is_of_word(c)).unwrap_or(bare.len());
    // A stop after the word is no part of it: `1. Title`.
    let word = bare.get(..end)?.trim_end_matches('.');
    let (after, title) = after_word(bare.get(word.len()..)?, marks)?;
    let is_set_apart = match after {
        After::Colon => true,
        After::Stop => word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'),
        After::Blank => false,
    };
    let is_key = word.len() <= LONGEST
        && word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.contains(|c: char| c.is_ascii_digit())
        && (is_set_apart || looks_like_a_key(word))
        && is_usable(word);
    is_key.then_some((word, title))
}

/// What stands between a word and the title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Colon,
    Stop,
    Blank,
}

/// Takes off emphasis (`**T1:** Title`, `**T1**: Title`) and what else stands before the title.
fn after_word<'a>(text: &'a str, marks: &str) -> Option<(After, &'a str)> {
    let stop = |text: &'a str| match text.split_at_checked(1) {
        Some((":", rest)) => (After::Colon, rest),
        Some(("." | ")", rest)) => (After::Stop, rest),
        _ => (After::Blank, text),
    };
    let (inner, text) = stop(text);
    let (outer, text) = stop(text.strip_prefix(marks)?);
    let after = match (inner, outer) {
        (After::Blank, after) | (after, After::Blank) => after,
        _ => return None,
    };
    (text.is_empty() || text.starts_with([' ', '\t'])).then(|| (after, text.trim()))
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
    let number = first.get(letters..).unwrap_or_default();
    match rest.split_last() {
        // `T001`, `VE2`, `T12a`, but neither `HTML5` nor `E2E`.
        None => {
            let is_short = (1..=3).contains(&letters);
            is_short && is_numbered(number) && !number.ends_with(|c: char| c.is_ascii_uppercase())
        }
        // `US-12`, `AUTH-API-3`, `P2-01`.
        Some((last, between)) => {
            letters > 0
                && (number.is_empty() || is_numbered(number))
                && is_numbered(last)
                && between.iter().all(|part| is_numbered(part) || is_upper(part))
        }
    }
}

/// Some digits, perhaps with a letter after them.
fn is_numbered(part: &str) -> bool {
    let number = part.strip_suffix(|c: char| c.is_ascii_alphabetic()).unwrap_or(part);
    (1..=5).contains(&number.len()) && digits(number) == number.len()
}

fn is_upper(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_are_short_words() {
        for good in ["1.3", "US-12", "a/b", "x:y#2+z_", "t-00ff0", "t-00ff0g", "T-00ff00", "é1"] {
            assert!(is_usable(good), "{good}");
        }
        for bad in ["", "-1", "a b", "t-00ff00", "a,b", "a\n", &"x".repeat(65)] {
            assert!(!is_usable(bad), "{bad}");
        }
        assert!(is_usable(&"x".repeat(64)));
    }

    #[test]
    fn imp_02_keys() {
        for key in
            ["1.3", "1.3.1", "01.02.003", "12-01", "12-01.1", "V4", "V4.1", "VE2.1.1", "VF", "VF.1", "VF2.10"]
        {
            assert_eq!(spec_key(key), Some((key, "")), "{key}");
            for (end, after) in [(" a", " a"), ("\ta", "\ta"), (": a", " a"), (". a", " a"), (".", "")] {
                let text = format!("{key}{end}");
                assert_eq!(spec_key(&text), Some((key, after)), "{text}");
            }
        }
    }

    #[test]
    fn imp_02_no_keys() {
        for text in [
            "",
            "3",
            "3. a",
            "3) a",
            "1.a",
            "1.3a",
            "1.3) a",
            "1.3.a",
            "1..3 a",
            "1.3:: a",
            "1.3:a",
            "V",
            "VE",
            "V a",
            "VX1",
            "VFa",
            "V.1",
            "v4",
            "T001",
            "US-001",
            "2024-01-02 a",
            "1-",
            "-1",
            "1.é",
            "**1.3** a",
            "1.3[P] a",
        ] {
            assert_eq!(spec_key(text), None, "{text}");
        }
    }

    #[test]
    fn rci_01_descendants() {
        assert!(is_below("1.3.1", "1.3") && is_below("VF.1.2", "VF"));
        assert!(!is_below("1.3", "1.3") && !is_below("1.30", "1.3") && !is_below("1.4.1", "1.3"));
    }

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
            assert_eq!(item_key(words), Some((key, title)), "{words}");
        }
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
            assert_eq!(item_key(words), None, "{words}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(words in any::<String>(), near in "[*_`T1.:é -]{0,12}") {
            for words in [&words, &near] {
                let _ = spec_key(words);
                if let Some((key, _)) = item_key(words) {
                    prop_assert!(is_usable(key));
                }
            }
        }
    }
}
