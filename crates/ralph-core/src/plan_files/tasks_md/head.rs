//! The line that begins a task: `- [ ] KEY MARKERS TITLE`.

use super::key::leading_key;

/// Where the character in the checkbox stands in a task line.
pub(super) const CHECKBOX: usize = 3;

/// What stands in a task line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head<'a> {
    pub(super) key: &'a str,
    pub(super) is_done: bool,
    /// Markers and title, with white space around them.
    pub(super) words: &'a str,
}

impl<'a> Head<'a> {
    /// Reads a line without its line end.
    pub(super) fn of(line: &'a str) -> Option<Self> {
        let (is_done, after) = match line.strip_prefix("- [")? {
            after if after.starts_with(' ') => (false, after.strip_prefix(' ')?),
            after => (true, after.strip_prefix(['x', 'X'])?),
        };
        let after = after.strip_prefix(']')?;
        let text = after.trim_start_matches([' ', '\t']);
        let (key, words) = leading_key(text)?;
        (text.len() < after.len()).then_some(Self {
            key,
            is_done,
            words,
        })
    }
}

/// Markers and title of a task, told apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Words<'a> {
    pub(super) markers: Vec<&'a str>,
    pub(super) title: &'a str,
}

impl<'a> Words<'a> {
    pub(super) fn of(words: &'a str) -> Self {
        let mut found = Self {
            markers: Vec::new(),
            title: words.trim(),
        };
        while let Some((marker, after)) = leading_marker(found.title) {
            found.markers.push(marker);
            found.title = after.trim_start();
        }
        found
    }

    /// The task that this one is to mend.
    pub(super) fn fix_of(&self) -> Option<&'a str> {
        self.markers.iter().find_map(|marker| fixed_key(marker))
    }

    /// Whether it may run beside its neighbours. A checkpoint never does.
    pub(super) fn is_parallel(&self) -> bool {
        self.has("P") && !self.is_checkpoint()
    }

    pub(super) fn is_checkpoint(&self) -> bool {
        self.has("VERIFY")
    }

    fn has(&self, name: &str) -> bool {
        self.markers.iter().any(|marker| is_named(marker, name))
    }
}

/// Text within the brackets of a marker at the start, and what stands after them.
fn leading_marker(text: &str) -> Option<(&str, &str)> {
    let (marker, after) = text.strip_prefix('[')?.split_once(']')?;
    let names = ["P", "VERIFY", "RED", "GREEN", "YELLOW"];
    let is_known =
        fixed_key(marker).is_some() || names.into_iter().any(|name| is_named(marker, name));
    // `[P](…)` is a link.
    let stands_alone = after.is_empty() || after.starts_with([' ', '\t', '[']);
    (is_known && stands_alone).then_some((marker, after))
}

/// Whether a marker is `NAME` or `NAME:SUFFIX`.
fn is_named(marker: &str, name: &str) -> bool {
    let rest = marker.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || (rest.starts_with(':') && rest.len() > 1))
}

fn fixed_key(marker: &str) -> Option<&str> {
    let key = marker.strip_prefix("FIX ")?.trim();
    let is_one_word = !key.is_empty() && !key.contains([' ', '\t']);
    is_one_word.then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imp_01_task_lines() {
        let head = |key, is_done, words| {
            Some(Head {
                key,
                is_done,
                words,
            })
        };
        assert_eq!(Head::of("- [ ] 1.3 A b "), head("1.3", false, " A b "));
        assert_eq!(Head::of("- [x] V4:\tA"), head("V4", true, "\tA"));
        assert_eq!(Head::of("- [X]  VF"), head("VF", true, ""));
        for other in [
            " - [ ] 1.3 A",
            "* [ ] 1.3 A",
            "-  [ ] 1.3 A",
            "- [] 1.3 A",
            "- [ ]1.3 A",
            "- [-] 1.3 A",
            "- [ ] A 1.3",
            "- [ ] **1.3** A",
            "- [ ]",
            "- 1.3 A",
            "",
            "- [é] 1.3 A",
        ] {
            assert_eq!(Head::of(other), None, "{other}");
        }
    }

    #[test]
    fn imp_02_markers() {
        let words = Words::of("[P] [VERIFY:TEST][RED] [FIX  1.3]  Do [P] it");
        assert_eq!(words.markers, ["P", "VERIFY:TEST", "RED", "FIX  1.3"]);
        assert_eq!(words.title, "Do [P] it");
        assert_eq!(words.fix_of(), Some("1.3"));
        assert!(words.is_checkpoint() && !words.is_parallel());
        assert!(Words::of("[GREEN] [P] a").is_parallel());
        assert_eq!(Words::of("[YELLOW]").title, "");
    }

    #[test]
    fn other_brackets_are_of_the_title() {
        for title in [
            "[Foo] a",
            "[P](x) a",
            "[FIX] a",
            "[FIX a b] c",
            "[PX] a",
            "[P:] a",
            "[P a",
            "[verify] a",
            "[VERIFYING] a",
            "[] a",
        ] {
            assert_eq!(
                Words::of(title),
                Words {
                    markers: Vec::new(),
                    title
                },
                "{title}"
            );
        }
    }
}
