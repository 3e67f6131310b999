//! The fields of a JSON object, under any of the names that agents give them.

use std::collections::HashMap;

use serde_json::Value;

use super::fault::Fault;
use crate::modification::request::fold;

/// An object whose names are matched without case, `_`, `-` and blanks.
pub(super) struct Fields(HashMap<String, Value>);

impl Fields {
    /// Takes an object apart; anything else has no fields. Nulls are as good as absent.
    pub(super) fn new(value: Value) -> Self {
        let mut fields = HashMap::new();
        if let Value::Object(object) = value {
            for (name, value) in object.into_iter().filter(|(_, value)| !value.is_null()) {
                fields.entry(fold(&name)).or_insert(value);
            }
        }
        Self(fields)
    }

    /// The value under the first of these names that is there.
    pub(super) fn take(&mut self, names: &[&str]) -> Option<Value> {
        names.iter().find_map(|name| self.0.remove(&fold(name)))
    }

    /// The strings under the first of these names that is there; `called` is its name in complaints.
    pub(super) fn strings(
        &mut self,
        names: &[&str],
        called: &'static str,
    ) -> Result<Option<Vec<String>>, Fault> {
        let values = match self.take(names) {
            None => return Ok(None),
            Some(Value::Array(values)) => values,
            Some(value) => vec![value],
        };
        values
            .into_iter()
            .filter(|value| !value.is_null())
            .map(|value| scalar(value).ok_or(Fault::BadField(called)))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// The text under the first of these names that is there, trimmed, an array's lines joined; empty
    /// without any.
    pub(super) fn text(&mut self, names: &[&str], called: &'static str) -> Result<String, Fault> {
        let lines = self.strings(names, called)?.unwrap_or_default();
        Ok(lines.join("\n").trim().to_owned())
    }
}

/// A string, or a whole number as its digits. Other numbers are refused: `1.10` would become `1.1`.
fn scalar(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) if !number.is_f64() => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, Fields};
    use serde_json::json;

    #[test]
    fn mod_01_names_are_matched_loosely() {
        for name in ["doneWhen", "done_when", "Done when", "DONE-WHEN"] {
            let mut fields = Fields::new(json!({ name: " x " }));
            assert_eq!(
                fields.text(&["doneWhen"], "doneWhen").unwrap(),
                "x",
                "{name}"
            );
        }
        let mut fields = Fields::new(json!({"action": "b", "type": null, "kind": 7}));
        assert_eq!(
            fields.text(&["type", "action", "kind"], "type").unwrap(),
            "b"
        );
        assert_eq!(
            fields.text(&["type", "action", "kind"], "type").unwrap(),
            "7"
        );
        assert_eq!(
            fields.text(&["type", "action", "kind"], "type").unwrap(),
            ""
        );
    }

    #[test]
    fn mod_01_texts_may_be_arrays_of_lines() {
        let mut fields = Fields::new(json!({"a": ["x", null, 2], "b": {"c": 1}, "d": 1.1}));
        assert_eq!(fields.text(&["a"], "a").unwrap(), "x\n2");
        assert_eq!(fields.text(&["b"], "b"), Err(Fault::BadField("b")));
        assert_eq!(fields.text(&["d"], "d"), Err(Fault::BadField("d")));
        assert_eq!(Fields::new(json!([1])).text(&["a"], "a").unwrap(), "");
    }
}
