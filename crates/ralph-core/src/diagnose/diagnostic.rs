//! Single lines in which compilers report errors.

use super::Tool;
use super::shape;

/// One error as a compiler wrote it.
pub(super) struct Found<'a> {
    pub(super) tool: Tool,
    /// What kind of error: a code, or the message without what is quoted in it.
    pub(super) code: &'a str,
    pub(super) file: &'a str,
    pub(super) symbol: &'a str,
    pub(super) message: &'a str,
}

/// `error TS2322: message`: the code and the message.
pub(super) fn coded(text: &str) -> Option<(&str, &str)> {
    let (code, message) = text.strip_prefix("error ")?.split_once(": ")?;
    let letters = code.trim_end_matches(|c: char| c.is_ascii_digit());
    let valid = !letters.is_empty()
        && letters.len() < code.len()
        && letters.bytes().all(|b| b.is_ascii_uppercase());
    valid.then_some((code, message))
}

/// ``d.c:(.text+0xa): undefined reference to `f'``
pub(super) fn undefined_reference(text: &str) -> Option<Found<'_>> {
    let (before, symbol) = text.split_once("undefined reference to ")?;
    let file = before
        .split(": ")
        .find(|part| part.contains(":(") || part.contains(".c"))
        .and_then(|part| part.split([':', '(']).next())
        .unwrap_or_default();
    Some(Found {
        tool: Tool::Linker,
        code: "undefined reference",
        file: shape::base_name(file),
        symbol: shape::quoted(symbol).unwrap_or(symbol.trim()),
        message: "undefined reference",
    })
}

/// Maven's way with javac: `/p/A.java:[3,5] cannot find symbol`.
pub(super) fn maven(text: &str) -> Option<(&str, &str)> {
    let (path, rest) = text.split_once(":[")?;
    let (place, message) = rest.split_once("] ")?;
    let numbers = place.bytes().all(|b| b.is_ascii_digit() || b == b',');
    let source = ["java", "kt", "scala", "groovy"]
        .iter()
        .any(|end| is_file(path, end));
    (numbers && source).then_some((path, message.strip_prefix("error: ").unwrap_or(message)))
}

/// Whether a path ends in this extension.
pub(super) fn is_file(path: &str, extension: &str) -> bool {
    path.rsplit_once('.')
        .is_some_and(|(_, end)| end == extension)
}
