//! Settings as they may be shown and recorded: without what is secret in them.

use ralph_core::text::{MASK, mask_secrets, one_line};

use super::Value;
use super::keys::Key;

/// A value for other eyes.
pub fn shown(key: &Key, value: &Value) -> String {
    match (key.section, key.name, value) {
        ("notify", "webhook_secret", Value::Text(text)) if !text.is_empty() => MASK.to_owned(),
        ("notify", "webhook", Value::Text(url)) if !url.is_empty() => shown_url(url),
        _ => mask_secrets(&value.to_string()).into_owned(),
    }
}

/// A URL without login, path and query: for many services whoever knows them may post.
pub fn shown_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return MASK.to_owned();
    };
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or_default();
    let more = if path.len() > 1 { "/…" } else { "" };
    one_line(&format!("{scheme}://{host}{more}"), 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::keys::find;

    #[test]
    fn a_url_is_shown_by_its_host() {
        for (url, expected) in [
            (
                "https://hooks.example/services/T0/B0/key",
                "https://hooks.example/…",
            ),
            ("http://me:pass@localhost:8080/x", "http://localhost:8080/…"),
            ("http://me:p@ss@localhost?key=1", "http://localhost/…"),
            ("https://hooks.example", "https://hooks.example"),
            ("https://hooks.example/", "https://hooks.example"),
            ("token-without-scheme", MASK),
        ] {
            assert_eq!(shown_url(url), expected, "{url}");
        }
    }

    #[test]
    fn what_is_secret_is_not_shown() {
        let text = |text: &str| Value::Text(text.to_owned());
        let secret = find("notify", "webhook_secret").unwrap();
        assert_eq!(shown(secret, &text("hush")), MASK);
        assert_eq!(shown(secret, &text("")), "");
        let webhook = find("notify", "webhook").unwrap();
        assert_eq!(shown(webhook, &text("https://h/secret")), "https://h/…");
        let agent = find("run", "agent").unwrap();
        assert_eq!(shown(agent, &text("claude")), "claude");
    }
}
