//! Which names can be keys of tasks.

/// The longest key, in characters.
const LONGEST: usize = 64;

/// What a key may look like, for messages.
pub(crate) const RULE: &str = "up to 64 letters, digits and . _ - : / # +, not beginning with - \
    and not of the form t-0a1b2c";

/// Whether a text can be the key of a task.
pub(crate) fn is_usable(text: &str) -> bool {
    let is_of_key =
        |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | ':' | '/' | '#' | '+');
    (1..=LONGEST).contains(&text.chars().count())
        && text.chars().all(is_of_key)
        && !text.starts_with('-')
        && !is_task_id(text)
}

/// Whether a text looks like the id that a task gets by itself.
fn is_task_id(text: &str) -> bool {
    text.strip_prefix("t-")
        .is_some_and(|hex| hex.len() == 6 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::is_usable;

    #[test]
    fn keys_are_short_words() {
        for good in [
            "1.3", "US-12", "a/b", "x:y#2+z_", "t-00ff0", "t-00ff0g", "T-00ff00", "é1",
        ] {
            assert!(is_usable(good), "{good}");
        }
        for bad in [
            "",
            "-1",
            "a b",
            "t-00ff00",
            "t-ABCDEF",
            "a,b",
            "a\n",
            &"x".repeat(65),
        ] {
            assert!(!is_usable(bad), "{bad}");
        }
        assert!(is_usable(&"x".repeat(64)));
    }
}
