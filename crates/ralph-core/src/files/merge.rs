//! Two people changed one text at the same time: both changes, line by line.

use std::collections::HashMap;
use std::ops::Range;

/// What becomes of `base` when both `one` and `other` were made from it. Where both changed the same lines, those of `one`
/// stand first and no line of either is lost.
#[must_use]
pub fn merge(base: &[u8], one: &[u8], other: &[u8]) -> Vec<u8> {
    let [base, one, other] = [base, one, other].map(lines);
    let (first, second) = (Change::between(&base, &one), Change::between(&base, &other));
    let (Some(first), Some(second)) = (first, second) else {
        let unchanged = Change::between(&base, &one).is_none();
        return if unchanged { other } else { one }.concat();
    };
    let mut out = Vec::new();
    let mut put = |lines: &[&[u8]]| lines.iter().for_each(|line| put_line(&mut out, line));
    let between = |from: usize, to: usize| base.get(from..to).unwrap_or_default();
    if first.at == second.at && first.at.is_empty() {
        // Both added lines at one place. What one added the other may have seen.
        put(between(0, first.at.start));
        if second.lines.starts_with(first.lines) {
            put(second.lines);
        } else {
            put(first.lines);
            if !first.lines.starts_with(second.lines) {
                put(second.lines);
            }
        }
        put(between(first.at.end, base.len()));
    } else if first.at.end <= second.at.start || second.at.end <= first.at.start {
        let (early, late) = if first.at.start <= second.at.start && first.at.end <= second.at.end {
            (&first, &second)
        } else {
            (&second, &first)
        };
        put(between(0, early.at.start));
        put(early.lines);
        put(between(early.at.end, late.at.start));
        put(late.lines);
        put(between(late.at.end, base.len()));
    } else {
        put(between(0, first.at.start.min(second.at.start)));
        put(first.lines);
        let new: Vec<&[u8]> =
            second.lines.iter().filter(|line| !first.lines.contains(line)).copied().collect();
        put(&new);
        put(between(first.at.end.max(second.at.end), base.len()));
    }
    out
}

/// A text with the lines at its end that somebody added elsewhere to `before`, from which it was made too. Those that it has
/// already are not added again.
pub(super) fn append(before: &[u8], text: &[u8], added: &[u8]) -> Vec<u8> {
    let mut there: HashMap<&[u8], isize> = HashMap::new();
    for line in lines(text) {
        *there.entry(line).or_default() += 1;
    }
    for line in lines(before) {
        *there.entry(line).or_default() -= 1;
    }
    let mut out = text.to_vec();
    for line in lines(added) {
        let times = there.entry(line).or_default();
        if *times > 0 {
            *times -= 1;
        } else {
            put_line(&mut out, line);
        }
    }
    out
}

/// A line without an end gets one where another follows it.
fn put_line(out: &mut Vec<u8>, line: &[u8]) {
    if out.last().is_some_and(|last| *last != b'\n') {
        out.push(b'\n');
    }
    out.extend_from_slice(line);
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Lines of a text that were replaced by others.
struct Change<'t> {
    at: Range<usize>,
    lines: &'t [&'t [u8]],
}

impl<'t> Change<'t> {
    /// The one stretch in which two texts differ; none where they are the same.
    fn between(base: &[&[u8]], new: &'t [&'t [u8]]) -> Option<Self> {
        let same = |(a, b): &(&&[u8], &&[u8])| a == b;
        let before = base.iter().zip(new).take_while(same).count();
        let most = base.len().min(new.len()) - before;
        let after = base.iter().rev().zip(new.iter().rev()).take(most).take_while(same).count();
        let at = before..base.len() - after;
        let lines = new.get(before..new.len() - after)?;
        (!at.is_empty() || !lines.is_empty()).then_some(Self { at, lines })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn merged(base: &str, one: &str, other: &str) -> String {
        String::from_utf8(merge(base.as_bytes(), one.as_bytes(), other.as_bytes())).unwrap()
    }

    #[test]
    fn agm_16_both_changes_are_kept() {
        assert_eq!(merged("a\nb\nc\n", "x\nb\nc\n", "a\nb\ny\n"), "x\nb\ny\n");
        assert_eq!(merged("a\nb\nc\n", "a\nb\n", "a\nc\n"), "a\n");
        assert_eq!(merged("a\n", "a\none\n", "a\ntwo\n"), "a\none\ntwo\n");
        assert_eq!(merged("a\n", "a\none\n", "a\none\n"), "a\none\n");
        assert_eq!(merged("a\n", "a\none\n", "a\none\ntwo\n"), "a\none\ntwo\n");
        assert_eq!(merged("a\n", "a\none", "a\ntwo\n"), "a\none\ntwo\n");
        assert_eq!(merged("a\nb\n", "a\nB\n", "a\nbb\n"), "a\nB\nbb\n");
        assert_eq!(merged("a\n", "a\n", "b\n"), "b\n");
        assert_eq!(merged("a\n", "b\n", "a\n"), "b\n");
        assert_eq!(merged("", "", ""), "");
    }

    #[test]
    fn lines_added_elsewhere_are_added_once() {
        let appended = |before: &str, text: &str, added: &str| {
            let text = append(before.as_bytes(), text.as_bytes(), added.as_bytes());
            String::from_utf8(text).unwrap()
        };
        assert_eq!(appended("a\n", "x\na\n", "b\n"), "x\na\nb\n");
        assert_eq!(appended("a\n", "x\na\nb\n", "b\n"), "x\na\nb\n");
        assert_eq!(appended("a\n", "x\na\nb\n", "b\nb\n"), "x\na\nb\nb\n");
        assert_eq!(appended("a\n", "x\na\n", "a\n"), "x\na\na\n");
        assert_eq!(appended("", "a", "a\nb"), "a\na\nb");
    }

    proptest! {
        #[test]
        fn agm_16_no_new_line_of_either_is_lost(
            base in "([a-e]\n){0,8}",
            one in "([a-h]\n){0,8}",
            other in "([a-ei-k]\n){0,8}",
        ) {
            let whole = merged(&base, &one, &other);
            for line in one.lines().chain(other.lines()) {
                let new = !base.lines().any(|old| old == line);
                prop_assert!(!new || whole.lines().any(|kept| kept == line), "{line} in {whole}");
            }
            prop_assert_eq!(merged(&base, &one, &base), one.clone());
            prop_assert_eq!(merged(&base, &base, &other), other);
        }
    }
}
