//! What people give a command: text, times and files, each refused with what was expected.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ralph_core::files::write_whole;
use ralph_core::model::Timestamp;
use ralph_core::text::one_line;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::command_error::CommandError;
use crate::settings::parse_duration;
use crate::workspace::start_dir;

/// A text given on the command line; `-` reads it from standard input.
pub fn argument(text: String, what: &str) -> Result<String, CommandError> {
    if text != "-" {
        return Ok(text);
    }
    let text = String::from_utf8(stdin()?)
        .map_err(|_| CommandError::usage(format_args!("the {what} on stdin is not valid UTF-8")))?;
    Ok(text.trim_end().to_owned())
}

/// More input is a mistake, such as a pipe without end.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

fn stdin() -> Result<Vec<u8>, CommandError> {
    bounded(std::io::stdin()).map_err(|e| CommandError::environment(format_args!("cannot read stdin: {e}")))
}

/// All of a file that a person named, or standard input where it is called `-`. It may be a pipe.
pub fn file(dir: Option<&Path>, file: &Path) -> Result<Vec<u8>, CommandError> {
    if file == Path::new("-") {
        return stdin();
    }
    std::fs::File::open(start_dir(dir)?.join(file))
        .and_then(bounded)
        .map_err(|e| CommandError::usage(format_args!("cannot read {}: {e}", file.display())))
}

fn bounded(from: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES { Err(std::io::Error::other("larger than 64 MiB")) } else { Ok(bytes) }
}

/// Asks on the terminal; `None` at the end of input.
pub fn ask(question: &str) -> Option<String> {
    let mut err = std::io::stderr().lock();
    let _ = write!(err, "{question}").and_then(|()| err.flush());
    let mut line = String::new();
    let length = std::io::stdin().read_line(&mut line).ok()?;
    (length > 0).then(|| line.trim().to_owned())
}

/// Opens a text in the person's editor, as a file of this name for as long as that takes.
pub fn edited(path: &Path, text: &str) -> Result<String, CommandError> {
    let named = ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok());
    let editor = named.filter(|value| !value.trim().is_empty()).unwrap_or_else(|| "vi".to_owned());
    write_whole(path, text.as_bytes()).map_err(|error| CommandError::cannot_write(path, &error))?;
    let status = Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(path).status();
    let read = file(None, path);
    let _ = std::fs::remove_file(path);
    match status {
        Ok(status) if status.success() => Ok(String::from_utf8_lossy(&read?).into_owned()),
        Ok(_) => Err(CommandError::environment(format_args!("{editor} failed"))),
        Err(error) => Err(CommandError::environment(format_args!("cannot start {editor}: {error}"))
            .hint("set EDITOR to your editor")),
    }
}

pub fn span(text: &str) -> Result<Duration, String> {
    parse_duration(text).ok_or_else(|| "expected seconds or a duration such as 90d, 12h or 30m".into())
}

/// A point in time, for flags and files: RFC 3339, or a date, which begins at midnight. What names no zone is in UTC.
pub fn time(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse_lenient(text)
        .ok_or_else(|| "expected a time such as 2026-01-31T12:00:00Z, or a date such as 2026-01-31".into())
}

pub struct Lines {
    name: String,
    text: String,
}

impl Lines {
    /// Reads a file, or standard input where it is called `-`.
    pub fn read(dir: Option<&Path>, file: &Path) -> Result<Self, CommandError> {
        let stdin_given = file == Path::new("-");
        let name = if stdin_given { "stdin".to_owned() } else { file.display().to_string() };
        let bytes = self::file(dir, file).map_err(|error| match stdin_given {
            true => error,
            false => error.hint("pass a file with JSON lines, or `-` for stdin"),
        })?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { name, text }),
            Err(error) => {
                let good = error.utf8_error().valid_up_to();
                let line = error.as_bytes().iter().take(good).filter(|b| **b == b'\n').count() + 1;
                Err(CommandError::usage(format_args!("{name}:{line}: expected UTF-8 text")))
            }
        }
    }

    /// The lines that are not blank, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        let text = self.text.strip_prefix('\u{feff}').unwrap_or(&self.text);
        (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty())
    }

    pub fn error(&self, line: usize, what: &str) -> CommandError {
        // What the line says may be part of the message.
        let what = one_line(what, 500);
        CommandError::usage(format_args!("{}:{line}: {what}", self.name))
    }
}

/// One JSON object of a file. A member that is `null` counts as missing.
pub struct Object<'t>(BTreeMap<String, &'t RawValue>);

impl<'t> Object<'t> {
    pub fn parse(line: &'t str) -> Result<Self, String> {
        serde_json::from_str(line).map(Self).map_err(|error| {
            let why = error.to_string();
            let why = why.split(" at line ").next().unwrap_or_default();
            format!("expected a JSON object: {why} (column {})", error.column())
        })
    }

    fn raw(&self, name: &str) -> Option<&'t RawValue> {
        self.0.get(name).copied().filter(|value| value.get() != "null")
    }

    fn member<T: Deserialize<'t>>(&self, name: &str, expected: &str) -> Result<Option<T>, String> {
        let Some(raw) = self.raw(name) else { return Ok(None) };
        serde_json::from_str(raw.get())
            .map(Some)
            .map_err(|_| format!("expected `{name}` to be {expected}, found {raw}"))
    }

    /// A member that names something, as it is written.
    pub fn name(&self, name: &str) -> Result<Option<&'t RawValue>, String> {
        match self.raw(name) {
            Some(other) if other.get().starts_with(['[', '{', 't', 'f']) => {
                Err(format!("expected `{name}` to be a string or a number, found {other}"))
            }
            named => Ok(named),
        }
    }

    pub fn text(&self, name: &str) -> Result<Option<String>, String> {
        self.member(name, "a string")
    }

    pub fn texts(&self, name: &str) -> Result<Vec<String>, String> {
        Ok(self.member(name, "an array of strings")?.unwrap_or_default())
    }

    pub fn time(&self, name: &str) -> Result<Option<Timestamp>, String> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        time(&text).map(Some).map_err(|expected| format!("`{name}`: {expected}, found `{text}`"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_read_in_utc() {
        let at = |text: &str| time(text).map(|time| time.to_string());
        let noon = "2026-01-31T12:00:00.000Z";
        for text in [
            "2026-01-31T12:00:00Z",
            "2026-01-31T14:00:00+02:00",
            " 2026-01-31T12:00:00 ",
            "2026-01-31 12:00:00",
        ] {
            assert_eq!(at(text).as_deref(), Ok(noon), "{text}");
        }
        assert_eq!(at("2026-01-31").as_deref(), Ok("2026-01-31T00:00:00.000Z"));
        for bad in ["", "Z", "yesterday", "2026-13-01", "31.1.2026", "12:00"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn members_of_the_wrong_kind_are_named() {
        let object = Object::parse(r#"{"a": 1, "b": null, "c": ["x", 2], "d": "\u00e9"}"#).unwrap();
        assert_eq!(object.text("d"), Ok(Some("é".into())));
        assert_eq!(object.text("b"), Ok(None));
        assert_eq!(object.text("none"), Ok(None));
        assert_eq!(object.texts("b"), Ok(Vec::new()));
        assert!(object.text("a").unwrap_err().contains("`a`"));
        assert!(object.texts("c").unwrap_err().contains("array of strings"));
        assert!(object.texts("d").is_err());
        let error = Object::parse("{\"a\": }").err().unwrap();
        assert!(error.contains("column 7") && !error.contains("line"), "{error}");
    }

    proptest! {
        #[test]
        fn any_line_is_harmless(line in ".{0,60}") {
            let _ = Object::parse(&line);
            let _ = time(&line);
        }
    }
}
