//! JSON whose values know where they stand, for messages with lines and for edits in place.

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde::de::IgnoredAny;

use super::Problem;

/// A valid JSON text and its value.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    text: &'a str,
    /// Bytes of the byte order mark.
    offset: usize,
    lines: Vec<usize>,
    pub(crate) value: Value<'a>,
    /// Why it is not strictly JSON.
    pub(crate) fault: Option<Problem>,
}

impl<'a> Document<'a> {
    /// Parses strict JSON; `invalid` words what is wrong with a text that is none, from the parser's words and the column.
    pub(crate) fn of(file: &'a str, invalid: impl Fn(&str, usize) -> String) -> Result<Self, Problem> {
        let document = Self::of_people(file, invalid)?;
        document.fault.clone().map_or(Ok(document), Err)
    }

    /// Parses JSON with comments, and with commas that are missing or too many, as in files that people and agents edit.
    pub(crate) fn of_people(file: &'a str, invalid: impl Fn(&str, usize) -> String) -> Result<Self, Problem> {
        let text = file.strip_prefix('\u{feff}').unwrap_or(file);
        // The other parser's own words are worse.
        let fault = serde_json::from_str::<IgnoredAny>(text).err();
        let fault = fault.map(|error| Problem::of_json(&error, &invalid));
        let options = ParseOptions {
            allow_comments: true,
            allow_loose_object_property_names: false,
            allow_trailing_commas: true,
            allow_missing_commas: true,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let parsed = parse_to_ast(text, &CollectOptions::default(), &options);
        let value = match parsed.map(|parsed| parsed.value) {
            Ok(Some(value)) => value,
            Ok(None) => {
                return Err(fault.unwrap_or_else(|| Problem::new(1, invalid("EOF while parsing a value", 0))));
            }
            Err(error) => {
                let own = || {
                    let expected = invalid(&error.kind().to_string(), error.column_display());
                    Problem::new(error.line_display(), expected)
                };
                return Err(fault.unwrap_or_else(own));
            }
        };
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = newlines.map(|(at, _)| at).collect();
        Ok(Self { text, offset: file.len() - text.len(), lines, value, fault })
    }

    /// The line that a value or member begins at, counted from 1.
    pub(crate) fn line(&self, of: &impl Ranged) -> usize {
        let start = of.start();
        self.lines.partition_point(|newline| *newline < start) + 1
    }

    /// A value as it is written.
    pub(crate) fn source(&self, of: &impl Ranged) -> &'a str {
        self.text.get(of.start()..of.end()).unwrap_or_default()
    }

    /// Where a value stands in the file.
    pub(crate) fn range(&self, of: &impl Ranged) -> Range<usize> {
        of.start() + self.offset..of.end() + self.offset
    }
}

/// The member with this name; of several the last counts, as everywhere in JSON.
pub(crate) fn member<'o, 'a>(object: &'o Object<'a>, name: &str) -> Option<&'o ObjectProp<'a>> {
    let mut members = object.properties.iter().rev();
    members.find(|member| member.name.as_str() == name)
}

/// The members of an object, read as values of the kinds they should have; what is of another kind is a problem.
pub(crate) struct Members<'v, 'a> {
    pub(crate) document: &'v Document<'a>,
    pub(crate) object: &'v Object<'a>,
    pub(crate) problems: &'v mut Vec<Problem>,
    /// Words a problem from the member's name, the kind that was expected and the text that was found.
    pub(crate) wrong: fn(&str, &str, &str) -> String,
}

impl<'v, 'a> Members<'v, 'a> {
    /// The value of a member; `null` is none.
    pub(crate) fn get<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&'v Value<'a>) -> Option<T>,
    ) -> Option<T> {
        let found = member(self.object, name).filter(|found| found.value.as_null_keyword().is_none())?;
        let value = read(&found.value);
        if value.is_none() {
            let text = &self.document.text[found.value.start()..found.value.end()];
            self.problem(name, (self.wrong)(name, expected, text));
        }
        value
    }

    pub(crate) fn problem(&mut self, name: &str, expected: String) {
        self.problems.push(Problem::new(self.line(name), expected));
    }

    /// The line of a member, or that of the object.
    pub(crate) fn line(&self, name: &str) -> usize {
        let found = member(self.object, name);
        found.map_or_else(|| self.document.line(self.object), |found| self.document.line(found))
    }
}

pub(crate) fn text_of(value: &Value<'_>) -> Option<String> {
    value.as_string_lit().map(|text| text.value.to_string())
}
