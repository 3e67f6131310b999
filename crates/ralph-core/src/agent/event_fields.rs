//! Reading events of programs that change often. Every field is read on its own: one that is missing, of another type or
//! broken costs only itself, and what is taken from it for displays is short and clean.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeOwned, Error, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::Usage;
use crate::text::{head, one_line};

/// Characters of one action or one line for a display.
pub(super) const SHOWN: usize = 120;
/// Characters of names and ids.
pub(super) const NAME: usize = 200;
/// Characters of the message of a fault.
pub(super) const MESSAGE: usize = 500;

/// One clean line without secrets; of a long text only the start is looked at.
pub(super) fn short(text: &str, max_chars: usize) -> String {
    one_line(head(text, 8 * max_chars), max_chars)
}

pub(super) fn first_line(text: &str) -> Option<String> {
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    Some(short(line, SHOWN)).filter(|line| !line.is_empty())
}

/// A path as people see it: below the directory of work without that.
pub(super) fn short_path(path: &str, dir: Option<&str>) -> String {
    let below = dir.and_then(|dir| path.strip_prefix(dir)?.strip_prefix('/'));
    short(below.unwrap_or(path), SHOWN)
}

/// The fields of a JSON object, each still to be read.
#[derive(Debug, Default)]
pub(super) struct Fields<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Fields<'a> {
    /// `None` for what is no JSON object.
    pub fn of(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok().map(Self)
    }

    /// The object that a text begins with.
    pub fn of_first(json: &'a str) -> Option<Self> {
        let mut values = serde_json::Deserializer::from_str(json).into_iter();
        values.next()?.ok().map(Self)
    }

    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        serde_json::from_str(self.0.get(key)?.get()).ok()
    }

    pub fn text(&self, key: &str) -> Option<String> {
        self.get::<Text>(key).map(|text| text.0)
    }

    /// The text, or nothing.
    pub fn word(&self, key: &str) -> String {
        self.text(key).unwrap_or_default()
    }

    /// A name or an id, where the field holds one.
    pub fn name(&self, key: &str) -> Option<String> {
        let name = short(&self.text(key)?, NAME);
        (!name.is_empty()).then_some(name)
    }

    /// The first of some fields that is there, in a line for a display.
    pub fn first_of(&self, keys: &[&str]) -> String {
        let known = keys.iter().find_map(|key| self.text(key));
        known.map(|text| short(&text, SHOWN)).unwrap_or_default()
    }

    /// Counts of tokens: input, output, read from a cache, written to one; an empty key for what is not counted here.
    pub fn usage(&self, [input, output, cache_read, cache_write]: [&str; 4]) -> Usage {
        Usage {
            input: self.get(input),
            output: self.get(output),
            cache_read: self.get(cache_read),
            cache_write: self.get(cache_write),
        }
    }

    pub fn find(&self, key: &str) -> Option<Fields<'a>> {
        self.0.get(key).and_then(|value| Self::of(value.get()))
    }

    /// The same; without fields where there is none.
    pub fn object(&self, key: &str) -> Fields<'a> {
        self.find(key).unwrap_or_default()
    }

    /// The objects of a list, without what is none.
    pub fn objects(&self, key: &str) -> Vec<Fields<'a>> {
        let list = self.0.get(key).map_or("[]", |value| value.get());
        let items: Vec<&RawValue> = serde_json::from_str(list).unwrap_or_default();
        let objects = items.into_iter().map(RawValue::get);
        objects.filter_map(Self::of).collect()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, Fields<'a>)> {
        let read = |value: &&'a RawValue| Self::of(value.get()).unwrap_or_default();
        self.0.iter().map(move |(key, value)| (key.as_str(), read(value)))
    }
}

/// A string that may hold half a surrogate pair: JavaScript cuts between the halves and prints `\ud83d`, which no Rust
/// string can hold. Such halves are replaced.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_bytes(TextVisitor)
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a string")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Text, E> {
        Ok(Text(String::from_utf8_lossy(bytes).into_owned()))
    }
}
