//! Lines of the log: how they are written, and how they are recognised. All without list marker.

use super::model::Completed;
use crate::markdown::numbered;
use crate::recovery::FixHistory;
use crate::text::one_line;

const SHORTEST_COMMIT: usize = 6;
const LONGEST_COMMIT: usize = 64;

/// A text on one line.
pub(super) fn flat(text: &str) -> String {
    one_line(text, usize::MAX)
}

/// A key as it is written: one word, without the marks that people put around one.
pub(super) fn written_key(key: &str) -> String {
    bare(&flat(key).replace(' ', "-")).to_owned()
}

impl Completed {
    /// The text of its line, or none where it has no key.
    pub(super) fn text(&self) -> Option<String> {
        let key = written_key(&self.key);
        if key.is_empty() {
            return None;
        }
        let mut text = format!("[x] {key}");
        let title = flat(&self.title);
        if !title.is_empty() {
            text.push(' ');
            text.push_str(&title);
        }
        let commit = flat(self.commit.as_deref().unwrap_or_default());
        if let Some(commit) = commit.split(' ').next().filter(|word| !word.is_empty()) {
            text.push_str(" - ");
            text.push_str(commit);
        }
        Some(text)
    }

    /// What the text of a line says, where it says that a task is finished.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (is_done, rest) = checkbox(text)?;
        let word = rest.split_whitespace().next().filter(|_| is_done)?;
        // The space before ` - COMMIT` stays in view also where there is no title.
        let rest = rest.trim_start().get(word.len()..).unwrap_or_default();
        let (title, commit) = match rest.rsplit_once(" - ") {
            Some((title, commit)) if is_commit(commit.trim()) => (title, Some(commit.trim())),
            _ => (rest, None),
        };
        Some(Self {
            key: bare(word).to_owned(),
            title: title.trim().to_owned(),
            commit: commit.map(str::to_owned),
        })
    }
}

/// The key of the finished task whose line this is, also where its box is not ticked yet.
pub(super) fn completed_key(text: &str) -> Option<&str> {
    let (_, rest) = checkbox(text)?;
    rest.split_whitespace().next().map(bare)
}

/// The key of the task whose fixes this line is about.
pub(super) fn history_key(text: &str) -> Option<&str> {
    FixHistory::key_of(text).map(bare)
}

/// The text of the line of a task's fixes, or none where it has none.
pub(super) fn history_text(history: &FixHistory) -> Option<String> {
    let fixes = history.fixes.iter().map(|fix| written_key(fix));
    let written = FixHistory {
        key: written_key(&history.key),
        fixes: fixes.filter(|fix| !fix.is_empty()).collect(),
        end: history.end,
    };
    (!written.key.is_empty() && !written.fixes.is_empty()).then(|| written.text())
}

/// A text as a line of its own that is a paragraph to Markdown, whatever it begins with.
pub(super) fn paragraph(text: &str) -> String {
    let mut line = flat(text);
    if line.starts_with(|c: char| c.is_ascii_punctuation()) {
        line.insert(0, '\\');
    } else if let Some((marker, _)) = numbered(&line) {
        line.insert(marker.len() - 1, '\\');
    }
    line
}

fn bare(word: &str) -> &str {
    match word.trim_matches(['*', '`', ':']) {
        "" => word,
        bare => bare,
    }
}

/// Whether a box is ticked, and what stands after it.
fn checkbox(text: &str) -> Option<(bool, &str)> {
    let inner = text.trim_start().strip_prefix('[')?;
    let is_done = inner.starts_with(['x', 'X']);
    let rest = inner.strip_prefix(['x', 'X', ' '])?.strip_prefix(']')?;
    rest.starts_with([' ', '\t']).then_some((is_done, rest))
}

fn is_commit(word: &str) -> bool {
    (SHORTEST_COMMIT..=LONGEST_COMMIT).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn completed(key: &str, title: &str, commit: Option<&str>) -> Completed {
        let commit = commit.map(str::to_owned);
        Completed {
            key: key.into(),
            title: title.into(),
            commit,
        }
    }

    #[test]
    fn rch_04_a_finished_task_is_written_and_read() {
        for (task, text) in [
            (
                completed("1.1", "Task A", Some("abc123")),
                "[x] 1.1 Task A - abc123",
            ),
            (completed("1.1", "Task A", None), "[x] 1.1 Task A"),
            (completed("V4", "", Some("abc1234")), "[x] V4 - abc1234"),
            (completed("V4", "", None), "[x] V4"),
            (
                completed("1", "A - B", Some("0123456789")),
                "[x] 1 A - B - 0123456789",
            ),
            (completed("1", "A - B", None), "[x] 1 A - B"),
        ] {
            assert_eq!(task.text().as_deref(), Some(text));
            assert_eq!(Completed::read(text), Some(task));
        }
        assert_eq!(completed(" ", "x", None).text(), None);
        assert_eq!(
            completed("a b", "x\ny", Some(" \n")).text().as_deref(),
            Some("[x] a-b x y")
        );
    }

    #[test]
    fn rch_04_reading_is_tolerant() {
        let read = Completed::read(" [X]  **1.3**:  Title  ").unwrap();
        assert_eq!(read, completed("1.3", "Title", None));
        for other in [
            "[ ] 1.3 Title",
            "1.3 Title",
            "[x]",
            "[x] ",
            "[x]1.3",
            "",
            "[y] 1",
            "[é] 1",
        ] {
            assert_eq!(Completed::read(other), None, "{other}");
        }
        assert_eq!(completed_key("[ ] 1.3 Title"), Some("1.3"));
    }

    #[test]
    fn a_line_of_its_own_is_a_paragraph() {
        assert_eq!(paragraph("1.3 Add\nparser"), "1.3 Add parser");
        assert_eq!(paragraph("# x"), "\\# x");
        assert_eq!(paragraph("12) x"), "12\\) x");
        assert_eq!(paragraph(" \n"), "");
    }

    proptest! {
        #[test]
        fn rch_04_a_key_is_found_again(key in "[a-z0-9.:*` -]{1,8}", title in any::<String>()) {
            let key = written_key(&key);
            if let Some(text) = completed(&key, &title, None).text() {
                prop_assert_eq!(completed_key(&text), Some(key.as_str()));
                prop_assert_eq!(flat(&text), text);
            }
        }
    }
}
