//! Reading events of programs that change often: a field that is missing, of another type or broken costs only itself.

use std::fmt;

use serde::de::{DeserializeOwned, Error, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Reads a whole line, or one event's fields out of it; what is no such object reads as `None`.
pub(super) fn read<T: DeserializeOwned>(line: &str) -> Option<T> {
    serde_json::from_str(line).ok()
}

/// A field that is `None` where it is missing or of another type.
pub(super) fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Option<T>, D::Error> {
    let raw = <&RawValue>::deserialize(from)?;
    Ok(read(raw.get()))
}

/// A list of what can be read of it.
pub(super) fn lenient_list<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    let raw = <&RawValue>::deserialize(from)?;
    let items: Vec<&RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
    Ok(items
        .into_iter()
        .filter_map(|item| read(item.get()))
        .collect())
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
