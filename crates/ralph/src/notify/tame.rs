//! Text on its way out: no control codes, no secrets, not too long.

use ralph_core::text::{clean, head, mask_secrets, one_line};
use serde_json::Value;

/// Characters of one line of a message.
const LINE: usize = 300;
/// Lines of a message.
const LINES: usize = 12;
/// Characters of one text within the event.
const TEXT: usize = 1000;
/// Entries of one list within the event.
const ENTRIES: usize = 50;

/// Bytes of a text, and of one of several, that are looked at: far more than is shown, so that the end of what is looked
/// at, where a secret may be cut in two, is not.
const LOOKED_AT: usize = 64 * 1024;
const LOOKED_AT_EACH: usize = 4 * 1024;

/// One clean, masked line of at most so many characters.
pub fn line(text: &str, most: usize) -> String {
    one_line(&masked(text), most)
}

/// A few clean, masked lines; empty ones are left out.
pub fn lines<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    // Masked as a whole: a key may stand on several lines.
    let few = texts.into_iter().take(LINES);
    let few: Vec<&str> = few.map(|text| head(text, LOOKED_AT_EACH)).collect();
    let masked = masked(&few.join("\n"));
    let lines = masked.lines().map(|text| one_line(text, LINE));
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).take(LINES).collect();
    lines.join("\n")
}

/// A JSON value whose texts are clean, masked and bounded, and whose lists are not too long.
pub fn value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(bounded(&masked(&text))),
        Value::Array(entries) => entries.into_iter().take(ENTRIES).map(self::value).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, field)| (name, self::value(field)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

fn masked(text: &str) -> String {
    mask_secrets(&clean(head(text, LOOKED_AT))).into_owned()
}

fn bounded(text: &str) -> String {
    match text.char_indices().nth(TEXT) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_and_control_codes_do_not_leave() {
        let key = format!("sk-ant-{}", "a1".repeat(20));
        let hostile = format!("key \u{1b}[31m{key}\u{7}\u{0} \u{202e}end");
        assert_eq!(line(&hostile, 100), "key [masked] end");
        let event = json!({ "message": hostile, "list": [key, 1, null], "deep": { "a": [key] } });
        let expected = json!({
            "message": "key [masked] end", "list": ["[masked]", 1, null], "deep": { "a": ["[masked]"] }
        });
        assert_eq!(value(event), expected);
    }

    #[test]
    fn nothing_is_longer_than_it_may_be() {
        assert_eq!(line(&"word ".repeat(1000), 50).chars().count(), 50);
        let many = vec!["x".repeat(5000); 100];
        let message = lines(many.iter().map(String::as_str));
        assert_eq!(message.lines().count(), LINES);
        assert!(message.chars().count() <= LINES * (LINE + 1));
        let Value::Array(few) = value(json!(many)) else {
            panic!("no list");
        };
        assert_eq!(few.len(), ENTRIES);
        assert!(
            few.iter()
                .all(|text| text.as_str().unwrap().chars().count() == TEXT + 1)
        );
    }

    proptest! {
        #[test]
        fn any_text_becomes_a_few_clean_lines(texts in proptest::collection::vec(any::<String>(), 0..20)) {
            let message = lines(texts.iter().map(String::as_str));
            prop_assert!(message.chars().count() <= LINES * (LINE + 1));
            prop_assert!(message.chars().all(|c| c == '\n' || !c.is_control()));
        }
    }
}
