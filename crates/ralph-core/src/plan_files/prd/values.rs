//! The values of a story, each of the type it should have or a problem.

use serde_json::{Map, Value};

use super::lines::StoryLines;
use crate::plan_files::draft::Problem;

/// A story's object while it is read.
pub(super) struct Values<'a> {
    pub(super) object: &'a Map<String, Value>,
    pub(super) lines: &'a StoryLines,
    pub(super) problems: &'a mut Vec<Problem>,
}

impl<'a> Values<'a> {
    /// A text.
    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        match self.get(key)? {
            Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            _ => self.wrong(key, "a string"),
        }
    }

    /// A text that people also write as a number: an id, a phase.
    pub(super) fn name(&mut self, key: &str) -> Option<String> {
        match self.get(key)? {
            Value::Number(number) => Some(number.to_string()),
            _ => self.text(key),
        }
    }

    /// Several texts, or one.
    pub(super) fn texts(&mut self, key: &str) -> Vec<String> {
        let values = match self.get(key) {
            None => return Vec::new(),
            Some(Value::Array(values)) => values.as_slice(),
            Some(value) => std::slice::from_ref(value),
        };
        let mut texts = Vec::with_capacity(values.len());
        for value in values {
            match value {
                Value::String(text) => texts.push(text.trim().to_owned()),
                Value::Number(number) => texts.push(number.to_string()),
                _ => {
                    self.wrong::<()>(key, "an array of strings");
                    break;
                }
            }
        }
        texts.retain(|text| !text.is_empty());
        texts
    }

    /// A whole number.
    pub(super) fn number(&mut self, key: &str) -> Option<i64> {
        let value = self.get(key)?;
        match value.as_i64().or_else(|| value.as_f64().and_then(whole)) {
            Some(number) => Some(number),
            None => self.wrong(key, "a whole number"),
        }
    }

    /// True or false.
    pub(super) fn flag(&mut self, key: &str) -> Option<bool> {
        match self.get(key)? {
            Value::Bool(flag) => Some(*flag),
            _ => self.wrong(key, "true or false"),
        }
    }

    /// Tells that a key is missing, unless it was told since there were so many problems that it
    /// is bad.
    pub(super) fn missing(&mut self, key: &str, problems: usize) {
        if self.problems.len() == problems {
            self.problem(
                key,
                format!("this story has no `{key}`; expected a value that is not empty"),
            );
        }
    }

    /// Tells of something bad.
    pub(super) fn problem(&mut self, key: &str, expected: String) {
        self.problems.push(Problem {
            line: self.lines.of(key),
            expected,
        });
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    fn wrong<T>(&mut self, key: &str, what: &str) -> Option<T> {
        self.problem(key, format!("`{key}` has the wrong type; expected {what}"));
        None
    }
}

/// A number such as 2.0 is a whole one.
fn whole(number: f64) -> Option<i64> {
    // Beyond this, numbers with a point are not exact any more.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is whole and within the bounds"
    )]
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}
