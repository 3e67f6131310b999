//! Blocks whose lines are nothing but their own until they are closed: fences and comments.

use super::syntax::{bullet, indent, numbered, run};

/// What kind of block it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// A fence of this many of this character.
    Fence(u8, usize),
    /// `<!-- … -->`.
    Comment,
}

/// A block that a line opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) what: Closed,
    /// The column it begins in.
    pub(super) column: usize,
    /// Whether it is one even when nothing closes it.
    pub(super) is_certain: bool,
}

impl Closed {
    /// The block that a text opens by what it begins with.
    pub(super) fn opened_by(words: &str) -> Option<Self> {
        match words.bytes().next()? {
            mark @ (b'`' | b'~') => {
                let length = run(words, mark);
                let info = words.get(length..).unwrap_or_default();
                let is_code_span = mark == b'`' && info.contains('`');
                (length >= 3 && !is_code_span).then_some(Self::Fence(mark, length))
            }
            b'<' => words.starts_with("<!--").then_some(Self::Comment),
            _ => None,
        }
    }

    /// Whether a line, given without its indent, closes the block.
    pub(super) fn is_closed_by(self, words: &str) -> bool {
        match self {
            Self::Fence(mark, length) => {
                closing_fence(words).is_some_and(|(by, found)| by == mark && found >= length)
            }
            Self::Comment => words.contains("-->"),
        }
    }
}

impl Opening {
    /// The block that a line opens which stands `columns` to the right.
    pub(super) fn of(columns: usize, words: &str) -> Option<Self> {
        let certain = |what, column| Self {
            what,
            column,
            is_certain: true,
        };
        let item = match words.bytes().next()? {
            b'`' | b'~' | b'<' => {
                return Closed::opened_by(words).map(|what| certain(what, columns));
            }
            b'-' | b'*' | b'+' => bullet(words),
            b'0'..=b'9' => numbered(words),
            _ => None,
        };
        if let Some(text) = item
            && let Some(what) = Closed::opened_by(text)
        {
            return Some(certain(what, columns + words.len() - text.len()));
        }
        let what = fence_after_colon(words)?;
        Some(Self {
            what,
            column: columns,
            is_certain: false,
        })
    }
}

/// Mark and length of the fence that a line can close.
pub(super) fn closing_fence(words: &str) -> Option<(u8, usize)> {
    let mark = words
        .bytes()
        .next()
        .filter(|mark| matches!(mark, b'`' | b'~'))?;
    let length = run(words, mark);
    let (_, after) = indent(words.get(length..)?);
    (length >= 3 && after.is_empty()).then_some((mark, length))
}

/// The fence at the end of a line such as `**Verify**: ```bash`, which is none to Markdown, but is
/// meant as one where a closing line follows.
fn fence_after_colon(words: &str) -> Option<Closed> {
    let before = words.trim_end_matches(|c: char| c.is_ascii_alphanumeric());
    if !before.ends_with("```") {
        return None;
    }
    let label = before.trim_end_matches('`');
    let is_label = label.trim_end().ends_with([':', '*']) && !label.contains('`');
    is_label.then(|| Closed::opened_by(words.get(label.len()..)?))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_and_their_ends() {
        let fence = Closed::opened_by("```rust x").unwrap();
        assert_eq!(fence, Closed::Fence(b'`', 3));
        assert!(fence.is_closed_by("`````  "));
        for other in ["``", "~~~", "``` x", "", "a```"] {
            assert!(!fence.is_closed_by(other), "{other}");
        }
        assert_eq!(Closed::opened_by("~~~~ a`b"), Some(Closed::Fence(b'~', 4)));
        assert_eq!(Closed::opened_by("``` a`b"), None);
        assert_eq!(Closed::opened_by("``"), None);
    }

    #[test]
    fn comments() {
        assert_eq!(Closed::opened_by("<!-- a"), Some(Closed::Comment));
        assert_eq!(Closed::opened_by("<!- a"), None);
        assert!(Closed::Comment.is_closed_by("a --> b"));
        assert!(!Closed::Comment.is_closed_by("-- >"));
    }

    #[test]
    fn where_a_block_can_open() {
        let opening = |words| Opening::of(2, words).map(|o| (o.what, o.column, o.is_certain));
        let fence = Closed::Fence(b'`', 3);
        assert_eq!(opening("```sh"), Some((fence, 2, true)));
        assert_eq!(opening("- ```sh"), Some((fence, 4, true)));
        assert_eq!(opening("12. ```"), Some((fence, 6, true)));
        assert_eq!(opening("- <!-- a"), Some((Closed::Comment, 4, true)));
        assert_eq!(opening("- **Verify**: ```bash"), Some((fence, 2, false)));
        assert_eq!(opening("**Verify:** ```"), Some((fence, 2, false)));
        for other in [
            "a ```",
            "- `a`: ```",
            "- a: `b",
            "- a: ```b```",
            "- a",
            "a <!--",
            "",
            "- a:",
        ] {
            assert_eq!(opening(other), None, "{other}");
        }
    }
}
