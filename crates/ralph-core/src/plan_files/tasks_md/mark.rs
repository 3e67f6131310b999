//! Ticking tasks off: the one character in a checkbox changes, nothing else.

use std::collections::HashMap;

use super::head::{CHECKBOX, Head};
use super::lines::{Kind, Lines};

/// What [`mark`] made of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marked {
    /// The file with the checkboxes as wanted.
    pub text: String,
    /// Keys that no task of the file has, in the order they were given.
    pub missing: Vec<String>,
}

/// Makes these tasks done (`true`) or open (`false`). A task that is so already stays byte for
/// byte, also with its `[X]`; of several with one key the first is meant.
#[must_use]
pub fn mark(text: &str, tasks: &[(&str, bool)]) -> Marked {
    let mut wanted: HashMap<&str, bool> = tasks.iter().copied().collect();
    let mut marked = Marked {
        text: String::with_capacity(text.len()),
        missing: Vec::new(),
    };
    let mut kept = 0;
    let mut lines = Lines::of(text).filter(|line| line.kind == Kind::Task);
    // Most often one is wanted, and the rest of the file need not be looked at.
    while !wanted.is_empty()
        && let Some(line) = lines.next()
    {
        let head = Head::of(line.text);
        let change = head.and_then(|head| Some((wanted.remove(head.key)?, head.is_done)));
        if let Some((done, _)) = change.filter(|(done, is_done)| done != is_done) {
            let checkbox = line.start + CHECKBOX;
            marked
                .text
                .push_str(text.get(kept..checkbox).unwrap_or_default());
            marked.text.push(if done { 'x' } else { ' ' });
            kept = checkbox + 1;
        }
    }
    marked.text.push_str(text.get(kept..).unwrap_or_default());
    for (key, _) in tasks {
        if wanted.remove(key).is_some() {
            marked.missing.push((*key).to_owned());
        }
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "- [ ] 1.1 a\r\n  - [ ] 1.2 b\r\n```\n- [ ] 1.2 c\n```\n- [ ] 1.2 é\n\
                        - [X] 1.20 e\n- [x] 1.2.1 f\n- [ ] 1.1 g";

    #[test]
    fn imp_08_only_the_character_in_the_checkbox_changes() {
        let expected = FILE
            .replace("- [ ] 1.2 é", "- [x] 1.2 é")
            .replace("[X]", "[ ]");
        let marked = mark(FILE, &[("1.2", true), ("1.20", false)]);
        assert_eq!(
            marked,
            Marked {
                text: expected,
                missing: Vec::new()
            }
        );
    }

    #[test]
    fn what_is_so_already_stays() {
        let same = mark(FILE, &[("1.20", true), ("1.2.1", true), ("1.1", false)]);
        assert_eq!(
            same,
            Marked {
                text: FILE.to_owned(),
                missing: Vec::new()
            }
        );
        assert_eq!(mark(FILE, &[]).text, FILE);
    }

    #[test]
    fn missing_keys_are_told_in_order() {
        let marked = mark(
            FILE,
            &[("9", true), ("1.1", true), ("1.3", false), ("9", true)],
        );
        assert_eq!(marked.missing, ["9", "1.3"]);
        assert_eq!(marked.text, FILE.replacen("- [ ]", "- [x]", 1));
    }
}
