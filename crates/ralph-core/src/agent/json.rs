//! Reading events of programs that change often: a field that is missing, of another type or broken costs only itself.

use std::fmt;

use serde::de::{DeserializeOwned, Error, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Reads a whole line, or one event's fields out of it; what is no such object reads as `None`.
pub(super) fn read<T: DeserializeOwned>(line: &str) -> Option<T> {
    serde_json::from_str(line).ok()
}

/// A struct whose fields are read each by itself: `Option`s of what is there and of its type, `Vec`s of what can be read.
macro_rules! each_by_itself {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $($(#[$of_field:meta])* $field_vis:vis $field:ident: $type:ty,)*
        }
    ) => {
        #[derive(Debug, Default, serde::Deserialize)]
        #[serde(default)]
        $(#[$meta])*
        $vis struct $name {
            $(
                $(#[$of_field])*
                #[serde(deserialize_with = "crate::agent::json::lenient")]
                $field_vis $field: $type,
            )*
        }
    };
}
pub(super) use each_by_itself;

/// A field that takes what can be read, and no harm from the rest.
pub(super) trait Field: Sized {
    /// What can be read of this JSON.
    fn of(json: &str) -> Self;
}

impl<T: DeserializeOwned> Field for Option<T> {
    fn of(json: &str) -> Self {
        read(json)
    }
}

impl<T: DeserializeOwned> Field for Vec<T> {
    fn of(json: &str) -> Self {
        let items: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
        let read_one = |item: &RawValue| read(item.get());
        items.into_iter().filter_map(read_one).collect()
    }
}

/// Reads such a field.
pub(super) fn lenient<'de, D: Deserializer<'de>, T: Field>(from: D) -> Result<T, D::Error> {
    let raw = <&RawValue>::deserialize(from)?;
    Ok(T::of(raw.get()))
}

/// A string that may hold half a surrogate pair: JavaScript cuts between the halves and prints `\ud83d`,
/// which no Rust string can hold. Such halves are replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text(pub String);

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
