//! What must not be seen: values of variables and settings that hold a secret, by their names and by their looks.

use ralph_core::text::{MASK, mask_secrets, one_line};

/// Words of a name that promise a secret.
const WORDS: [&str; 12] = [
    "key",
    "apikey",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "pass",
    "credential",
    "credentials",
    "auth",
    "cookie",
];
/// Endings of names in one word: `apiKey`, `authtoken`.
const ENDINGS: [&str; 5] = ["apikey", "token", "secret", "password", "accesskey"];

/// Ralph's own variable, which names a task.
const TASK_KEY: &str = "RALPH_TASK_KEY";

/// Whether something of this name holds a secret: `ANTHROPIC_API_KEY`, `--auth-token`, but not `MAX_TOKENS`.
pub fn is_secret_name(name: &str) -> bool {
    if name == TASK_KEY {
        return false;
    }
    let name = name.to_ascii_lowercase();
    name.split(|c: char| !c.is_alphanumeric())
        .any(|word| WORDS.contains(&word))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Whether a value of this name is a secret, or looks like one.
pub fn is_secret(name: &str, value: &str) -> bool {
    !value.is_empty() && (is_secret_name(name) || mask_secrets(value) != value)
}

/// A value as it may be shown, on one line of so many characters.
pub fn shown(name: &str, value: &str, max_chars: usize) -> String {
    if !value.is_empty() && is_secret_name(name) {
        return MASK.to_owned();
    }
    one_line(&mask_secrets(value), max_chars)
}

/// Whether a text before a `=` is a name, and not the beginning of prose that has one somewhere.
fn is_name(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_alphanumeric() || "-_.".contains(c))
}

/// Words of a command line as they may be shown: what follows a flag of a secret name is one.
pub fn shown_words<'w>(words: impl IntoIterator<Item = &'w str>, max_chars: usize) -> Vec<String> {
    let mut is_value = false;
    words
        .into_iter()
        .map(|word| {
            let flag = word.starts_with('-').then_some(word);
            let secret = std::mem::replace(
                &mut is_value,
                flag.is_some_and(|flag| !flag.contains('=') && is_secret_name(flag)),
            );
            match (word.split_once('='), flag) {
                (None, None) if secret => MASK.to_owned(),
                (Some((name, value)), _)
                    if !value.is_empty() && is_name(name) && is_secret_name(name) =>
                {
                    format!("{name}={MASK}")
                }
                _ => one_line(&mask_secrets(word), max_chars),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell() {
        for name in [
            "ANTHROPIC_API_KEY",
            "GITHUB_TOKEN",
            "secret",
            "webhook_secret",
            "--auth-token",
            "DB_PASSWORD",
            "apiKey",
            "SESSION_COOKIE",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "MAX_TOKENS",
            "MAX_THINKING_TOKENS",
            "KEYBOARD",
            "model",
            "PATH",
            "monkey",
            "AUTHOR",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn a_secret_is_never_shown() {
        assert_eq!(shown("MY_KEY", "hunter2", 80), MASK);
        assert_eq!(shown("MY_KEY", "", 80), "");
        assert_eq!(shown("MODEL", "opus", 80), "opus");
        assert_eq!(
            shown("URL", "https://me:hunter2@host/x", 80),
            "https://me:[masked]@host/x"
        );
        assert!(is_secret("URL", "https://me:hunter2@host/x"));
        assert!(!is_secret("URL", "https://host/x") && !is_secret("MY_KEY", ""));
    }

    #[test]
    fn a_command_line_is_shown_without_its_secrets() {
        let words = [
            "prog",
            "--api-key",
            "hunter2",
            "--token=abc",
            "--token",
            "--verbose",
            "MY_KEY=x",
            "plain",
        ];
        assert_eq!(
            shown_words(words, 80),
            [
                "prog",
                "--api-key",
                "[masked]",
                "--token=[masked]",
                "--token",
                "--verbose",
                "MY_KEY=[masked]",
                "plain"
            ]
        );
    }
}
