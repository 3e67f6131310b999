//! Two people changed one text at the same time: both changes, line by line.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffTag};

/// What becomes of `base` when both `one` and `other` were made from it. Where both changed the same lines, those of `one`
/// stand first and no line of either is lost.
#[must_use]
pub fn merge(base: &[u8], one: &[u8], other: &[u8]) -> Vec<u8> {
    let [base, one, other] = [base, one, other].map(lines);
    let (first, second) = (changes(&base, &one), changes(&base, &other));
    let (mut first, mut second) = (first.as_slice(), second.as_slice());
    let mut out = Vec::new();
    let mut put = |lines: &[&[u8]]| lines.iter().for_each(|line| put_line(&mut out, line));
    let between = |from: usize, to: usize| base.get(from..to).unwrap_or_default();
    let mut at = 0;
    while let Some(next) =
        [first, second].iter().filter_map(|side| side.first()).min_by_key(|one| one.order())
    {
        // What both changed there.
        let mut there = next.at.clone();
        let (mut ones, mut others) = (0, 0);
        loop {
            let joins = |change: &&Change<'_>| change.at == next.at || change.at.start < there.end;
            let (a, b) = (first.get(ones).filter(joins), second.get(others).filter(joins));
            let Some(change) = a.or(b) else { break };
            if a.is_some() {
                ones += 1
            } else {
                others += 1
            }
            there.end = there.end.max(change.at.end);
        }
        let (a, b);
        (a, first) = first.split_at(ones);
        (b, second) = second.split_at(others);
        put(between(at, there.start));
        match (a, b) {
            // Both added lines at one place. What one added the other may have seen.
            ([a], [b]) if there.is_empty() && b.lines.starts_with(a.lines) => put(b.lines),
            ([a], [b]) if there.is_empty() && !a.lines.starts_with(b.lines) => {
                put(&[a.lines, b.lines].concat())
            }
            (alone, []) | ([], alone) | (alone, _) => {
                let mut shown: Vec<&[u8]> = Vec::new();
                let mut from = there.start;
                for change in alone {
                    shown.extend(between(from, change.at.start).iter().chain(change.lines));
                    from = change.at.end;
                }
                shown.extend(between(from, there.end));
                let is_new = |line: &&&[u8]| !a.is_empty() && !shown.contains(line);
                let new: Vec<&[u8]> =
                    b.iter().flat_map(|change| change.lines).filter(is_new).copied().collect();
                put(&shown);
                put(&new);
            }
        }
        at = there.end;
    }
    put(between(at, base.len()));
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

impl Change<'_> {
    /// Lines that are added stand before those that another replaces there.
    fn order(&self) -> (usize, usize) {
        (self.at.start, self.at.end)
    }
}

/// How long differences are looked for; from then on they are only told roughly.
const PATIENCE: Duration = Duration::from_secs(1);

/// The stretches in which two texts differ, in order; equal lines are between any two.
fn changes<'t>(base: &[&[u8]], new: &'t [&'t [u8]]) -> Vec<Change<'t>> {
    let until = Some(Instant::now() + PATIENCE);
    let mut found: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    let (mut old, mut own) = (0, 0);
    let ops = similar::capture_diff_slices_deadline(Algorithm::Patience, base, new, until);
    let equal = ops.iter().filter(|op| op.tag() == DiffTag::Equal);
    let same = equal.map(|op| (op.old_range(), op.new_range()));
    for (same, there) in same.chain([(base.len()..base.len(), new.len()..new.len())]) {
        if same.start > old || there.start > own {
            found.push((old..same.start, own..there.start));
        }
        (old, own) = (same.end, there.end);
    }
    let lines = |range| new.get(range).unwrap_or_default();
    found.into_iter().map(|(at, range)| Change { at, lines: lines(range) }).collect()
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
        // Several places each, in turn.
        assert_eq!(
            merged("a\n\nb\n\nc\nd\n", "x\na\n\nB\n\nc\nd\n", "a\n\nb\n\nC\nd\ny\n"),
            "x\na\n\nB\n\nC\nd\ny\n"
        );
        assert_eq!(
            merged("[ ] a\n\n[ ] b\n", "[x] a\n\n[ ] b\n", "r\n[ ] a\n\n[x] b\n"),
            "r\n[x] a\n\n[x] b\n"
        );
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

        /// Each ticks some boxes, and one adds lines: everything is in its place.
        #[test]
        fn agm_16_changes_of_different_lines_are_all_in_their_places(
            who in prop::collection::vec(0..4u8, 1..30),
        ) {
            let text = |mark: &dyn Fn(u8) -> bool, adds: &dyn Fn(u8) -> bool| -> String {
                let line = |(at, who): (usize, &u8)| {
                    let added = if adds(*who) { format!("remark {at}\n") } else { String::new() };
                    format!("- [{}] task {at}\n\n{added}", if mark(*who) { 'x' } else { ' ' })
                };
                who.iter().enumerate().map(line).collect()
            };
            let base = text(&|_| false, &|_| false);
            let (one, other) = (text(&|who| who == 1, &|_| false), text(&|who| who == 2, &|who| who == 3));
            prop_assert_eq!(merged(&base, &one, &other), text(&|who| who == 1 || who == 2, &|who| who == 3));
        }
    }
}
