//! Keys that authors give their tasks, and how they stand before a title.

use crate::markdown::without_emphasis;
use crate::model::Key;
use crate::text::Pattern;

/// What a key may look like, for messages.
pub(crate) const RULE: &str = "up to 64 letters, digits and . _ - : / # +, not beginning with - \
    and not of the form t-0a1b2c";

/// The longest word before a title that is taken for a key.
const LONGEST: usize = 16;

pub(crate) fn is_usable(text: &str) -> bool {
    text.trim() == text && Key::parse(text).is_ok()
}

/// The key of a spec's task that a text begins with (`1.3`, `1.3.1`, `12-01`, `V4`, `VE2`, `VF`), and what stands after it; a `:`
/// or `.` that closes the key is no part of either.
pub(crate) fn spec_key(text: &str) -> Option<(&str, &str)> {
    let (key, after) = leading_spec_key(text)?;
    let open = after.strip_prefix([':', '.']).unwrap_or(after);
    let is_whole = open.is_empty() || open.starts_with([' ', '\t']);
    is_whole.then_some((key, open))
}

/// The key that a task of a spec begins with: one as specs have them, or any that a checklist's item may have.
pub(crate) fn task_key(words: &str) -> Option<(&str, &str)> {
    let own = spec_key(words).filter(|(key, _)| is_usable(key));
    own.map(|(key, rest)| (key, rest.trim())).or_else(|| item_key(words))
}

pub(crate) fn is_number(key: &str) -> bool {
    key.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a key tells that its file is a spec, in which the order counts: `1.3`, `12-01`, `VF`, `1`, `T001`.
pub(crate) fn names_a_spec(key: &str) -> bool {
    static OF_TASK: Pattern = Pattern::new("^T[0-9]{1,5}[a-z]?$");
    let is_whole = |(_, rest): (&str, &str)| rest.is_empty();
    is_number(key) || OF_TASK.is_match(key) || leading_spec_key(key).is_some_and(is_whole)
}

/// The spec's key that a text begins with, whatever comes after it, and the rest of the text.
pub(crate) fn leading_spec_key(text: &str) -> Option<(&str, &str)> {
    static KEY: Pattern = Pattern::new(r"^(?:VF[0-9]*|VE?[0-9]+|[0-9]+[.-][0-9]+)(?:\.[0-9]+)*");
    text.split_at_checked(KEY.captures(text)?[0].len())
}

/// Whether `key` is below `ancestor`, as `1.3.1` is below `1.3` and `1.30` is not.
pub(crate) fn is_below(key: &str, ancestor: &str) -> bool {
    key.strip_prefix(ancestor).is_some_and(|rest| rest.starts_with('.'))
}

/// The key that a checklist's item begins with (`T001 Title`, `**US-12**: Title`, `1. Title`), and the words after it (none where
/// the key is all).
pub(crate) fn item_key(words: &str) -> Option<(&str, &str)> {
    static WORD: Pattern = Pattern::new(
        r"^(?<open>\*\*|__|`|)(?<word>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?)(?<stop>[:.)]?)(?<close>\*\*|__|`|)(?<outer_stop>[:.)]?)(?:$|[ \t](?<title>.*))",
    );
    let found = WORD.captures(without_emphasis(words))?;
    let group = |name| found.name(name).map_or("", |found| found.as_str());
    let word = group("word");
    let is_set_apart = match (group("stop"), group("outer_stop")) {
        ("", "") => looks_like_a_key(word),
        (":", "") | ("", ":") => true,
        (_, "") | ("", _) => {
            looks_like_a_key(word) || word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        }
        _ => false,
    };
    let is_key = is_set_apart
        && group("open") == group("close")
        && word.len() <= LONGEST
        && word.contains(|c: char| c.is_ascii_digit())
        && is_usable(word);
    is_key.then(|| (word, group("title").trim()))
}

/// Before a blank alone, a word with a digit may as well be a part of the title (`OAuth2 login`, `3 tests`, `2-factor login`), so it
/// must look like a key.
fn looks_like_a_key(word: &str) -> bool {
    /// `1.3`, `1.a`, `12-01`, `02.1-03a`; a number alone is a quantity, and one of four digits a year.
    static NUMBERS: Pattern = Pattern::new(
        r"^(?:[0-9]{1,3}|[0-9]{1,2}[A-Za-z])(?:[._-](?:[0-9]{1,3}|[0-9]{1,2}[A-Za-z])|\.[A-Za-z])+$",
    );
    /// `T001`, `VE2`, `T12a`, but neither `HTML5` nor `E2E`.
    static SHORT: Pattern = Pattern::new(r"^[A-Z]{1,3}[0-9]{1,5}[a-z]?$");
    /// `US-12`, `AUTH-API-3`, `P2-01`.
    static PARTS: Pattern = Pattern::new(
        r"^[A-Z]+(?:[0-9]{1,5}[A-Za-z]?)?(?:[._-](?:[0-9]{1,5}[A-Za-z]?|[A-Z]+))*[._-][0-9]{1,5}[A-Za-z]?$",
    );
    [&NUMBERS, &SHORT, &PARTS].iter().any(|shape| shape.is_match(word))
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
