//! Folding text that must stay as it is, spaces and all: what agents print is code as often as prose.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

/// A tab is shown as so many columns.
const TAB: &str = "    ";

/// A line in pieces of so many columns, broken after the last space that fits. One that fits is one piece.
pub fn fold(line: &str, columns: usize) -> Vec<Cow<'_, str>> {
    let line = match line.contains('\t') {
        true => Cow::Owned(line.replace('\t', TAB)),
        false => Cow::Borrowed(line),
    };
    // A byte is never more than one column, so this one fits.
    if line.len() <= columns {
        return vec![line];
    }
    let breaks = breaks(&line, columns.max(2));
    let mut pieces = Vec::with_capacity(breaks.len());
    let mut start = 0;
    for end in breaks {
        pieces.push(Cow::Owned(line.get(start..end).unwrap_or_default().to_owned()));
        start = end;
    }
    pieces
}

fn breaks(line: &str, columns: usize) -> Vec<usize> {
    let mut ends = Vec::new();
    let (mut used, mut start) = (0, 0);
    // After the last space of the piece, and the columns up to there.
    let mut space: Option<(usize, usize)> = None;
    for (at, c) in line.char_indices() {
        let width = c.width().unwrap_or(0);
        // Twice at most: what follows the space may still be too wide by half a character.
        while used + width > columns && at > start {
            let (end, kept) = match space.take() {
                Some((end, before)) => (end, used - before),
                None => (at, 0),
            };
            ends.push(end);
            start = end;
            used = kept;
        }
        used += width;
        if c == ' ' {
            space = Some((at + 1, used));
        }
    }
    ends.push(line.len());
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn lines_break_after_spaces_and_keep_them() {
        assert_eq!(fold("  a bc def", 6), ["  a ", "bc def"]);
        assert_eq!(fold("    if x {", 80), ["    if x {"]);
        assert_eq!(fold("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(fold("\tx", 10), ["    x"]);
        assert_eq!(fold("", 10), [""]);
        assert_eq!(fold("日本語です", 4), ["日本", "語で", "す"]);
    }

    #[test]
    fn a_huge_line_takes_linear_time() {
        let pieces = fold(&"x ".repeat(2_000_000), 80).len();
        assert_eq!(pieces, 50_000);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_everything_fits(line in r"[a-z 日é\u{301}]{0,60}", columns in 2_usize..20) {
            let pieces = fold(&line, columns);
            prop_assert_eq!(pieces.concat(), line.as_str());
            for piece in &pieces {
                prop_assert!(piece.trim_end().width() <= columns, "{piece:?}");
            }
        }
    }
}
