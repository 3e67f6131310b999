//! What the lines below an item say: fields that Ralph knows, and the description.

use super::items::LineBelow;
use crate::plan_files::draft::Note;
use crate::plan_files::markdown::{Place, code_only, list_item};
use crate::plan_files::text::{dedented, indent};

/// The lines below an item, read.
#[derive(Debug, Default)]
pub(super) struct Fields<'a> {
    pub(super) description: String,
    pub(super) verify: Option<String>,
    pub(super) files: Vec<String>,
    /// Names with their lines.
    pub(super) after: Vec<(usize, &'a str)>,
}

/// Reads the lines below an item.
pub(super) fn read<'a>(below: &[LineBelow<'a>], notes: &mut Vec<Note>) -> Fields<'a> {
    let mut fields = Fields::default();
    let mut commands = Vec::new();
    let mut lines = Vec::new();
    for line in below {
        let field = (line.place == Place::Open)
            .then(|| field(line.text))
            .flatten();
        match field {
            Some((Field::Verify, value)) => match code_only(value.trim_end_matches('.')) {
                Some(command) => commands.push(command),
                None => {
                    notes.push(Note {
                        line: line.number,
                        text:
                            "This check is not a command in backticks, so Ralph reads it as text."
                                .to_owned(),
                    });
                    lines.push(*line);
                }
            },
            Some((Field::Files, value)) => {
                fields.files.extend(listed(value).map(str::to_owned));
            }
            Some((Field::After, value)) => {
                let names = listed(value).filter(|name| !is_nothing(name));
                fields.after.extend(names.map(|name| (line.number, name)));
            }
            None => lines.push(*line),
        }
    }
    fields.verify = crate::plan_files::command::all_of(&commands);
    fields.description = description(&lines);
    fields
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Verify,
    Files,
    After,
}

/// A field and its value: `- **Verify**: …`, `Files: …`.
fn field(line: &str) -> Option<(Field, &str)> {
    let line = line.trim();
    let line = list_item(line).unwrap_or(line);
    let bare = line.trim_start_matches(['*', '_']);
    let marks = line.get(..line.len() - bare.len()).unwrap_or_default();
    let (label, value) = bare.split_once(':')?;
    let (label, value) = match label.strip_suffix(marks) {
        Some(label) => (label, value),
        None => (label, value.strip_prefix(marks)?),
    };
    let field = match label.trim().to_ascii_lowercase().as_str() {
        "verify" => Field::Verify,
        "files" => Field::Files,
        "after" | "depends on" => Field::After,
        _ => return None,
    };
    let value = value.trim();
    (!value.is_empty()).then_some((field, value))
}

/// What stands between commas, without backticks.
fn listed(value: &str) -> impl Iterator<Item = &str> {
    let words = value
        .split(',')
        .map(|word| word.trim().trim_matches('`').trim_end_matches('.'));
    words.map(str::trim).filter(|word| !word.is_empty())
}

fn is_nothing(name: &str) -> bool {
    ["none", "nothing", "-", "—", "n/a"]
        .iter()
        .any(|nothing| name.eq_ignore_ascii_case(nothing))
}

/// The lines without the indent they share; where lines were left out or blank, one is blank.
fn description(lines: &[LineBelow<'_>]) -> String {
    // What stands in a fence may be indented less than the fence.
    let outside = lines.iter().filter(|line| line.place != Place::Fenced);
    let shared = outside.map(|line| indent(line.text).0).min().unwrap_or(0);
    let mut out = String::new();
    let mut last = None;
    for line in lines {
        match last {
            None => {}
            Some(last) if last + 1 == line.number => out.push('\n'),
            Some(_) => out.push_str("\n\n"),
        }
        out.push_str(&dedented(line.text, shared));
        last = Some(line.number);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Field, field, listed};
    use proptest::prelude::*;

    #[test]
    fn fields_in_all_their_shapes() {
        for line in [
            "Verify: x",
            "- verify: x",
            "  * **Verify**: x",
            "**Verify:** x",
            "_Verify_: x",
        ] {
            assert_eq!(field(line), Some((Field::Verify, "x")), "{line}");
        }
        assert_eq!(field("- Files: *.rs"), Some((Field::Files, "*.rs")));
        assert_eq!(field("After: T1"), Some((Field::After, "T1")));
        assert_eq!(field("**Depends on:** T1"), Some((Field::After, "T1")));
        for line in [
            "Verify:",
            "Verify that it works",
            "I verify: x",
            "**Verify: x",
            "",
            ":",
        ] {
            assert_eq!(field(line), None, "{line}");
        }
    }

    #[test]
    fn lists_between_commas() {
        let words: Vec<_> = listed("`a.rs`, b , ,c.").collect();
        assert_eq!(words, ["a.rs", "b", "c"]);
    }

    proptest! {
        #[test]
        fn never_panics(line in any::<String>(), near in "[-*_:Verify `é]{0,16}") {
            let _ = (field(&line), field(&near));
        }
    }
}
