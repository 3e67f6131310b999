//! Finding tasks in a file without reading all of it.

use std::ops::Range;

use super::blocks::Blocks;
use super::entries::entries;
use super::label::Field;
use super::lines::{Kind, Line, Lines};

/// Where a task stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Of the task line, counted from 1.
    pub line: usize,
    /// Bytes of its block: up to the next task, heading or the end of the file.
    pub block: Range<usize>,
    /// Where the character in its checkbox stands.
    pub checkbox: usize,
    /// Whether the checkbox is ticked.
    pub done: bool,
}

/// Whether a text is a spec: some checkbox at column 0, in no fence, carries a key.
#[must_use]
pub fn looks_like(text: &str) -> bool {
    Lines::of(text).any(|line| line.kind == Kind::Task)
}

/// The task with this key, the first where there are several.
#[must_use]
pub fn find(text: &str, key: &str) -> Option<Place> {
    let blocks = Blocks::of(text);
    let block = blocks.find(key)?;
    Some(Place {
        line: block.lines.start + 1,
        block: block.bytes.clone(),
        checkbox: block.checkbox(),
        done: block.head.is_done,
    })
}

/// What a task's author wrote behind `Verify`, where that is one line.
#[must_use]
pub fn verify_field(text: &str, key: &str) -> Option<String> {
    let block = text.get(find(text, key)?.block)?;
    let mut lines = Vec::new();
    Blocks::with_lines(block, |line| lines.push(line));
    let entries = entries(lines.get(1..)?);
    let verify = entries
        .iter()
        .find(|entry| entry.field == Some(Field::Verify))?;
    let blank = |line: &Line<'_>| line.text.trim().is_empty();
    let alone = verify.below().iter().all(blank);
    let value = verify.value.trim();
    (alone && !value.is_empty()).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rcg_04_the_verify_field_is_given_as_it_is_written() {
        let text = "- [ ] 1.3 a\n  - **Verify**: `b` && c\n  - **Commit**: d\n- [ ] 1.4 e\n  - **Verify**:\n    - `f`\n";
        assert_eq!(verify_field(text, "1.3").as_deref(), Some("`b` && c"));
        assert_eq!(verify_field(text, "1.4"), None);
        assert_eq!(verify_field(text, "1.5"), None);
    }

    #[test]
    fn imp_02_what_looks_like_a_spec() {
        assert!(looks_like("# a\n\n- [x] V4 b"));
        assert!(looks_like("\u{feff}- [ ] 12-01 a\r\n"));
        for text in [
            "",
            "- [ ] a",
            "  - [ ] 1.1 a",
            "```\n- [ ] 1.1 a\n```",
            "<!--\n- [ ] 1.1 a\n-->",
        ] {
            assert!(!looks_like(text), "{text}");
        }
    }

    #[test]
    fn rci_01_a_task_is_found_by_its_whole_key() {
        let text = "é\n- [ ] 1.30 a\n- [ ] 1.3.1 b\n- [X] 1.3: c\n  d\n\n# e\n";
        let place = find(text, "1.3").unwrap();
        assert_eq!((place.line, place.done), (4, true));
        assert_eq!(text.get(place.block).unwrap(), "- [X] 1.3: c\n  d\n\n");
        assert_eq!(
            text.get(place.checkbox..).unwrap().chars().next(),
            Some('X')
        );
        assert_eq!(find(text, "1"), None);
    }
}
