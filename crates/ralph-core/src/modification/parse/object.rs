//! One JSON object at the beginning of a text.

use serde_json::Value;

use super::fault::Fault;

/// The longest object that is read, in characters.
pub(super) const MOST_CHARS: usize = 100_000;

/// Fence lines that may come before the object: the end of the marker's own, and the object's.
const FENCES: usize = 2;

/// The object that `body` begins with, blank lines and fences aside, up to its last brace.
pub(super) fn object(body: &str) -> Result<&str, Fault> {
    let mut text = body.trim_start();
    for _ in 0..FENCES {
        if text.starts_with("```") || text.starts_with("~~~") {
            let line = memchr::memchr2(b'\n', b'{', text.as_bytes()).unwrap_or(text.len());
            text = text.get(line..).unwrap_or_default().trim_start();
        }
    }
    if !text.starts_with('{') {
        return Err(Fault::NoObject);
    }
    let mut depth = 0_usize;
    let mut state = State::Outside;
    for (chars, (at, c)) in text.char_indices().enumerate() {
        if chars == MOST_CHARS {
            return Err(Fault::TooLong);
        }
        state = state.after(c);
        match c {
            '{' if state == State::Outside => depth += 1,
            '}' if state == State::Outside => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return text.get(..=at).ok_or(Fault::Unclosed);
                }
            }
            _ => {}
        }
    }
    Err(Fault::Unclosed)
}

/// What follows the object that `body` begins with, where it is another object but for blanks and fences.
pub(super) fn after(body: &str) -> Option<&str> {
    let first = object(body).ok()?;
    let start = body.find(first)? + first.len();
    let rest = body
        .get(start..)?
        .trim_start_matches(['`', '~', ',', ' ', '\t', '\r', '\n']);
    let rest = rest.strip_prefix("json").unwrap_or(rest).trim_start();
    rest.starts_with('{').then_some(rest)
}

/// Where in an object a character stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Outside,
    InString,
    Escaped,
}

impl State {
    const fn after(self, c: char) -> Self {
        match (self, c) {
            (Self::Outside, '"') => Self::InString,
            (Self::InString, '"') => Self::Outside,
            (Self::InString, '\\') => Self::Escaped,
            (Self::Escaped, _) => Self::InString,
            (state, _) => state,
        }
    }
}

/// The object as JSON. Line ends and tabs inside strings are let pass: agents write Markdown blocks
/// that way, and nothing else can be meant.
pub(super) fn json(object: &str) -> Result<Value, Fault> {
    serde_json::from_str(object).or_else(|error| {
        serde_json::from_str(&escape_controls(object))
            // The message holds a position and names of signs, never the agent's text.
            .map_err(|_| Fault::NotJson(error.to_string()))
    })
}

/// The same object with the control characters of its strings written as escapes.
fn escape_controls(object: &str) -> String {
    let mut state = State::Outside;
    let mut out = String::with_capacity(object.len());
    for c in object.chars() {
        let before = state;
        state = state.after(c);
        match c {
            '\r' if before == State::InString => {}
            '\n' if before == State::InString => out.push_str("\\n"),
            '\t' if before == State::InString => out.push_str("\\t"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Fault, MOST_CHARS, json, object};

    #[test]
    fn mod_01_the_object_stands_directly_or_in_a_fence() {
        for body in [
            "{\"a\": {}}",
            "\n\n  {\"a\": {}} and so on }",
            "\n```json\n{\"a\": {}}\n```\n",
            "```\n\n{\"a\": {}}\n```",
            "\n~~~ json {\"a\": {}} ~~~",
            "\n```\n\n```json\r\n{\"a\": {}}",
        ] {
            assert_eq!(object(body), Ok("{\"a\": {}}"), "{body}");
        }
        for body in ["", "x {}", "```\n```\n```\n{}", "[{}]", "\n```json\n"] {
            assert_eq!(object(body), Err(Fault::NoObject), "{body}");
        }
    }

    #[test]
    fn mod_01_braces_in_strings_do_not_count() {
        let text = r#"{"a": "}", "b": "\"}", "c": "\\"}"#;
        assert_eq!(object(&format!("{text} }}")), Ok(text));
        assert_eq!(object(r#"{"a": "}"#), Err(Fault::Unclosed));
        assert_eq!(object("{{}"), Err(Fault::Unclosed));
    }

    #[test]
    fn mod_01_an_object_is_bounded() {
        let of = |chars: usize| format!("{{\"{}\"}}", "ä".repeat(chars - 4));
        assert!(object(&of(MOST_CHARS)).is_ok());
        assert_eq!(object(&of(MOST_CHARS + 1)), Err(Fault::TooLong));
    }

    #[test]
    fn mod_01_line_ends_in_strings_are_let_pass() {
        let found = json("{\"a\": \"x\r\n\ty\\\"\",\n\t\"b\": 1}").unwrap();
        assert_eq!(found, serde_json::json!({"a": "x\n\ty\"", "b": 1}));
    }

    #[test]
    fn mod_03_broken_json_is_said_to_be_broken() {
        for text in [
            "{a: 1}",
            "{\"a\": 1,}",
            "{\"a\": ...}",
            "{'a': 1}",
            "{\"a\" 1}",
        ] {
            let Err(Fault::NotJson(why)) = json(text) else {
                panic!("{text}")
            };
            assert!(why.contains("line 1"), "{why}");
        }
        let deep = format!("{}{}", "{\"a\":".repeat(1000), "}".repeat(1000));
        assert!(matches!(json(&deep), Err(Fault::NotJson(_))));
    }
}
