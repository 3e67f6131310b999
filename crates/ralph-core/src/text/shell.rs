//! Words for a shell.

/// Characters that mean nothing to a shell, wherever they stand.
const PLAIN: &str = "-_./:=,@%+";

/// A text as one word of a POSIX shell.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || PLAIN.contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_words_stay_readable() {
        assert_eq!(shell_word("/srv/a-b_c.d"), "/srv/a-b_c.d");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("a b"), "'a b'");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
        assert_eq!(shell_word("~"), "'~'");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn a_shell_reads_the_same_text(text in "[^\\x00]{0,20}") {
            let script = format!("printf %s {}", shell_word(&text));
            let said = Command::new("sh").args(["-c", &script]).output().unwrap();
            prop_assert_eq!(String::from_utf8_lossy(&said.stdout), text);
        }
    }
}
