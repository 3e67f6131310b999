//! What is wrong with a file that is not valid TOML, in one line: where, what, and what to do.
//!
//! The line itself is not quoted: it may hold a secret.

use toml_edit::{Document, Item, TableLike, TomlError};

use crate::command_error::CommandError;

/// The error for a file that could not be parsed.
pub(super) fn explain(file: &str, text: &str, error: &TomlError) -> CommandError {
    let at = error.span().map_or(text.len(), |span| span.start);
    let line = line_of(text, at);
    if error.message() == "duplicate key"
        && let Some(twice) = Duplicate::find(text, error)
    {
        return twice.explain(file, line);
    }
    CommandError::usage(format_args!(
        "{file} is not valid TOML: line {line}: {}",
        error.message().lines().next().unwrap_or_default()
    ))
    .hint(format_args!("fix line {line} of {file}"))
}

/// The line that holds this byte, counted from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    let before = text.bytes().take(at);
    before.filter(|byte| *byte == b'\n').count() + 1
}

/// Something that is defined a second time.
struct Duplicate {
    /// `[run]`, or the name of a key.
    name: String,
    is_table: bool,
    first_line: usize,
}

impl Duplicate {
    /// Everything before the second definition is a valid document: the first is found there.
    fn find(text: &str, error: &TomlError) -> Option<Self> {
        let span = error.span()?;
        let start = text.get(..span.start)?.rfind('\n').map_or(0, |end| end + 1);
        let before = Document::parse(text.get(..start)?).ok()?;
        let line = text.get(start..)?.lines().next()?;
        let (name, first) = match line.trim_start().starts_with('[') {
            true => {
                let path = header_path(line)?;
                (
                    format!("[{}]", path.join(".")),
                    find_path(before.as_table(), &path)?,
                )
            }
            false => {
                let key = text.get(span)?;
                (key.to_owned(), last_key(before.as_table(), key)?)
            }
        };
        Some(Self {
            is_table: name.starts_with('['),
            name,
            first_line: line_of(text, first),
        })
    }

    fn explain(&self, file: &str, line: usize) -> CommandError {
        let (name, first) = (&self.name, self.first_line);
        if self.is_table {
            return CommandError::usage(format_args!(
                "{file} defines {name} twice, on lines {first} and {line}"
            ))
            .hint(format_args!(
                "move the keys below line {line} to the table on line {first}, then delete line {line}"
            ));
        }
        CommandError::usage(format_args!(
            "{file} sets `{name}` twice, on lines {first} and {line}"
        ))
        .hint(format_args!("delete one of the two lines"))
    }
}

/// The names in a header such as `[agents.mine]`.
fn header_path(line: &str) -> Option<Vec<String>> {
    let header = Document::parse(line).ok()?;
    let mut path = Vec::new();
    let mut table: &dyn TableLike = header.as_table();
    while let Some((name, item)) = table.iter().next() {
        path.push(name.to_owned());
        match item.as_table_like() {
            Some(below) => table = below,
            None => break,
        }
    }
    (!path.is_empty()).then_some(path)
}

/// Where the item at a path begins.
fn find_path(root: &dyn TableLike, path: &[String]) -> Option<usize> {
    let (name, rest) = path.split_first()?;
    let (key, item) = root.get_key_value(name)?;
    match (rest, item.as_table_like()) {
        ([_, ..], Some(below)) => find_path(below, rest),
        // A header has a place of its own; a table made by dotted keys has only its key's.
        _ => start(item).or_else(|| key.span().map(|span| span.start)),
    }
}

fn start(item: &Item) -> Option<usize> {
    item.span().map(|span| span.start)
}

/// Where the last key of this name stands, in whatever table.
fn last_key(table: &dyn TableLike, name: &str) -> Option<usize> {
    let mut last = None;
    for (key, item) in table.iter() {
        let here = match table.get_key_value(key) {
            Some((spelled, _)) if key == name => spelled.span().map(|span| span.start),
            _ => None,
        };
        let below = item.as_table_like().and_then(|below| last_key(below, name));
        last = last.max(here).max(below);
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(text: &str) -> String {
        let error = Document::parse(text).unwrap_err();
        let error = explain(".ralph.toml", text, &error);
        assert!(!error.message().contains('\n'), "{}", error.message());
        assert!(!error.hints().is_empty(), "{}", error.message());
        error.message().to_owned()
    }

    #[test]
    fn a_table_or_key_that_is_there_twice_is_named_with_both_lines() {
        for (text, expected) in [
            (
                "[run]\na = 1\n\n[run]\nb = 2\n",
                "[run] twice, on lines 1 and 4",
            ),
            ("run.a = 1\n# x\n[run]\n", "[run] twice, on lines 1 and 3"),
            (
                "[a]\n\n[agents.x]\nb = 1\n[agents.\"x\"]\n",
                "[agents.x] twice, on lines 3 and 5",
            ),
            (
                "[a]\nx = 1\n[run]\nx = 1\ny = 1\nx = 2\n",
                "sets `x` twice, on lines 4 and 6",
            ),
            (
                "[run]\na = [\n1,\n]\n[ run ]\n",
                "[run] twice, on lines 1 and 5",
            ),
        ] {
            let message = explained(text);
            assert!(message.ends_with(expected), "{text:?}: {message}");
        }
    }

    #[test]
    fn other_mistakes_are_named_with_their_line_and_without_the_text_that_may_be_secret() {
        for (text, line) in [
            ("[run\n", 1),
            ("\n[notify]\nwebhook_secret = hunter2\n", 3),
            ("a = { b = 1, b = 2 }", 1),
        ] {
            let message = explained(text);
            assert!(message.contains(&format!("line {line}: ")), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    }
}
