//! What must not be seen: values of variables and settings that hold a secret, by their names and by their looks.

use std::ffi::OsString;

use ralph_core::text::{MASK, is_secret_name, mask_secrets, one_line, remember_secrets};
use serde_json::Value;

use crate::settings::Settings;

/// Has the secrets of the environment masked from now on, whatever text they turn up in.
pub fn remember_environment(variables: impl Iterator<Item = (OsString, OsString)>) {
    remember_secrets(variables.flat_map(|(name, value)| match (name.to_str(), value.to_str()) {
        (Some(name), Some(value)) => secrets_in(name, value),
        _ => Vec::new(),
    }));
}

pub fn remember_settings(settings: &Settings) {
    let secret = settings.notify.webhook_secret.iter();
    let mut found: Vec<String> = secret.map(|secret| secret.0.clone()).collect();
    if let Some(url) = &*settings.notify.webhook {
        found.extend(secrets_in_url("webhook", &url.0));
    }
    if let Some(url) = &*settings.store.url {
        found.extend(secrets_in_url("store", &url.0));
    }
    for agent in settings.agents.values() {
        let setup = &agent.setup;
        found.extend(setup.env.iter().flat_map(|(name, value)| secrets_in(name, value)));
        for words in [&setup.command, &setup.args] {
            // `--key value` and `--key=value`
            let next = words.iter().skip(1).map(String::as_str).chain([""]);
            let flags = words.iter().zip(next).filter(|(flag, _)| flag.starts_with('-'));
            let pairs = flags.map(|(flag, next)| flag.split_once('=').unwrap_or((flag, next)));
            found.extend(pairs.flat_map(|(name, value)| secrets_in(name, value)));
        }
    }
    remember_secrets(found);
}

/// What is secret in the value of something of this name.
fn secrets_in(name: &str, value: &str) -> Vec<String> {
    if value.contains("://") {
        return secrets_in_url(name, value);
    }
    if !is_secret_name(name) {
        return Vec::new();
    }
    // Credentials of a service are often a whole JSON file, most of which is no secret.
    match serde_json::from_str::<Value>(value) {
        Ok(json @ Value::Object(_)) => secrets_in_json(name, &json),
        _ => vec![value.to_owned()],
    }
}

/// The password of an address, whatever it is named; the path and the query of a webhook's, which are all
/// that is needed to post.
fn secrets_in_url(name: &str, address: &str) -> Vec<String> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let login = authority.rsplit_once('@').map(|(login, _)| login);
    let password = login.and_then(|login| login.split_once(':')).map(|(_, password)| password);
    let mut found: Vec<String> = password.map(str::to_owned).into_iter().collect();
    let query = path.split_once('?').map_or("", |(_, query)| query);
    found.extend(query.split('&').filter_map(|pair| pair.strip_prefix("password=")).map(str::to_owned));
    if name.to_ascii_lowercase().contains("webhook") {
        found.extend(path.split(['/', '?', '&', '=', '#']).map(str::to_owned));
    }
    found
}

fn secrets_in_json(name: &str, json: &Value) -> Vec<String> {
    match json {
        Value::Object(fields) => {
            fields.iter().flat_map(|(name, field)| secrets_in_json(name, field)).collect()
        }
        Value::Array(entries) => entries.iter().flat_map(|entry| secrets_in_json(name, entry)).collect(),
        Value::String(text) => secrets_in(name, text),
        _ => Vec::new(),
    }
}

/// Masks the texts in a JSON document, which stays one. Without secrets it is left as it is.
pub fn mask_json(json: &mut String) {
    if mask_secrets(json) == *json {
        return;
    }
    fn mask(value: &mut Value) {
        match value {
            Value::String(text) => *text = mask_secrets(text).into_owned(),
            Value::Array(entries) => entries.iter_mut().for_each(mask),
            Value::Object(fields) => fields.values_mut().for_each(mask),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    if let Ok(mut value) = serde_json::from_str::<Value>(json) {
        mask(&mut value);
        *json = value.to_string();
    }
}

/// A value as it may be shown, on one line of so many characters.
pub fn shown(name: &str, value: &str, max_chars: usize) -> String {
    if !value.is_empty() && is_secret_name(name) {
        return MASK.to_owned();
    }
    one_line(&mask_secrets(value), max_chars)
}

/// Words of a command line as they may be shown: what follows a flag of a secret name is one.
pub fn shown_words<'w>(words: impl IntoIterator<Item = &'w str>, max_chars: usize) -> Vec<String> {
    // Prose may contain a `=`, too.
    let is_name = |text: &str| text.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
    let mut after_secret_flag = false;
    let show = |word: &str| {
        let is_flag = word.starts_with('-');
        let is_value = after_secret_flag && !is_flag;
        after_secret_flag = is_flag && !word.contains('=') && is_secret_name(word);
        match word.split_once('=') {
            _ if is_value => MASK.to_owned(),
            Some((name, value)) if !value.is_empty() && is_name(name) && is_secret_name(name) => {
                format!("{name}={MASK}")
            }
            _ => one_line(&mask_secrets(word), max_chars),
        }
    };
    words.into_iter().map(show).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cap_10_what_is_secret_in_a_variable() {
        let json =
            r#"{"type": "service_account", "project_id": "my-project-1234", "private_key": "line1\nline2"}"#;
        for (name, value, expected) in [
            ("API_TOKEN", "abc", vec!["abc"]),
            ("EDITOR", "abc", vec![]),
            ("PUBLIC_KEY", "abc", vec![]),
            ("GITHUB_PAT", "abc", vec!["abc"]),
            ("DATABASE_URL", "postgres://app:pw@db:5432/x", vec!["pw"]),
            ("DATABASE_URL", "postgres://app@db/x?sslmode=require&password=p@w", vec!["p@w"]),
            ("API_KEY_URL", "https://host.example/login", vec![]),
            ("SLACK_WEBHOOK", "https://h.example/a/b?c=d", vec!["", "a", "b", "c", "d"]),
            ("GCP_CREDENTIALS", json, vec!["line1\nline2"]),
        ] {
            assert_eq!(secrets_in(name, value), expected, "{name}");
        }
    }

    #[test]
    fn cap_10_masked_json_is_json() {
        for (json, expected) in [
            (
                r#"{"b": ["curl -u me:hunter2! x", 1], "a": "say \"curl -u me:hunter2\""}"#,
                r#"{"a":"say \"curl -u me:[masked]\"","b":["curl -u me:[masked] x",1]}"#,
            ),
            (r#"{"b": 1, "a": "plain"}"#, r#"{"b": 1, "a": "plain"}"#),
        ] {
            let mut json = json.to_owned();
            mask_json(&mut json);
            assert_eq!(json, expected);
        }
    }

    #[test]
    fn a_secret_is_never_shown() {
        assert_eq!(shown("MY_KEY", "hunter2", 80), MASK);
        assert_eq!(shown("MY_KEY", "", 80), "");
        assert_eq!(shown("MODEL", "opus", 80), "opus");
        assert_eq!(shown("URL", "https://me:hunter2@host/x", 80), "https://me:[masked]@host/x");
    }

    #[test]
    fn a_command_line_is_shown_without_its_secrets() {
        let words =
            ["prog", "--api-key", "hunter2==", "--token=abc", "--token", "--verbose", "MY_KEY=x", "plain"];
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
