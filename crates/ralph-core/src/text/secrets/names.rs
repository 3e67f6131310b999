//! What holds a secret, by its name.

/// Names of secrets contain one of these as a word, anywhere, or at the end (`apiKey`, `authtoken`).
const WORDS: [&str; 8] = ["key", "apikey", "token", "passphrase", "pass", "auth", "cookie", "pat"];
const PARTS: [&str; 4] = ["secret", "password", "passwd", "credential"];
const ENDINGS: [&str; 3] = ["apikey", "token", "accesskey"];

const TASK_KEY: &str = "RALPH_TASK_KEY";

/// Whether something of this name holds a secret: `ANTHROPIC_API_KEY`, `--auth-token`, but not `MAX_TOKENS`.
pub fn is_secret_name(name: &str) -> bool {
    if name == TASK_KEY {
        return false;
    }
    let name = name.to_ascii_lowercase();
    if name.contains("public") {
        return false;
    }
    name.split(|c: char| !c.is_alphanumeric()).any(|word| WORDS.contains(&word))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || PARTS.iter().any(|part| name.contains(part))
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
        for name in ["MAX_TOKENS", "MAX_THINKING_TOKENS", "KEYBOARD", "model", "PATH", "monkey", "AUTHOR"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
