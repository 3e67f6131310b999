//! `Pattern:` the commonest error with its message and how often it came.

use super::picture::Picture;
use super::seen::{Sameness, Seen};
use super::words::commonest;
use crate::text::one_line;

/// How long the line's text may get.
const MAX_CHARS: usize = 160;

/// How much of a test's name is shown.
const TEST_CHARS: usize = 60;

/// Messages with fewer words in common have nothing in common.
const LEAST_WORDS: usize = 2;

/// The line's text.
pub(super) fn pattern(picture: &Picture<'_>) -> String {
    let trouble = picture.trouble.as_ref();
    let lead = trouble.map_or_else(String::new, |trouble| format!("{trouble}; "));
    one_line(&format!("{lead}{}", counted(picture)), MAX_CHARS)
}

fn counted(picture: &Picture<'_>) -> String {
    let failures = picture.failures();
    let alike = picture.alike();
    let Some(newest) = alike.first() else {
        return "no failures".to_owned();
    };
    if alike.len() > 1 || failures == 1 {
        return format!("{} of {failures}: {}", alike.len(), what(&alike));
    }
    // No two are the same; at least they may be of one kind.
    match commonest(picture.seen.iter().map(Seen::kind)) {
        Some((kind, count)) if count > 1 => {
            let newest = picture.seen.iter().find(|one| one.kind() == kind);
            let newest = newest.and_then(Seen::telling).unwrap_or_default();
            format!(
                "{count} of {failures}: {kind}, each with a different message; newest: {newest}"
            )
        }
        _ => format!("{failures} different errors; newest: {}", what(&[newest])),
    }
}

/// What failures that are alike have in common, in words.
fn what(alike: &[&Seen<'_>]) -> String {
    let Some(newest) = alike.first() else {
        return String::new();
    };
    let kind = newest.kind();
    let Some(own) = newest.telling() else {
        return kind;
    };
    let Some(message) = common(alike) else {
        return match newest.sameness {
            Sameness::TimedOut | Sameness::NoSignal => kind,
            _ => format!("{kind}, each with a different message; newest: {own}"),
        };
    };
    let shared = |test: &&String| alike.iter().all(|one| one.fact.failing.contains(test));
    match (&newest.sameness, newest.fact.failing.iter().find(shared)) {
        // The message alone may not say so, and may be another one each time.
        (Sameness::TimedOut, _) if message.starts_with(&kind) => message,
        (Sameness::TimedOut | Sameness::NoSignal, _) => format!("{kind}: {message}"),
        (_, Some(test)) if !message.contains(test.as_str()) => {
            let test = one_line(test, TEST_CHARS);
            match newest.fact.failing.len() {
                0 | 1 => format!("{test} fails: {message}"),
                all => format!("{test} and {} more fail: {message}", all - 1),
            }
        }
        _ => message,
    }
}

/// The message that all have; of messages that differ, the words they begin and end with.
fn common(alike: &[&Seen<'_>]) -> Option<String> {
    let told: Vec<&str> = alike.iter().filter_map(|one| one.telling()).collect();
    let (first, others) = told.split_first()?;
    if others.iter().all(|other| other == first) {
        return Some((*first).to_owned());
    }
    // Which gate it was and how it ended is not the error.
    let bare = |told: &&'_ str| -> Vec<String> {
        let error = told
            .split_once(" (the gate ")
            .map_or(*told, |(error, _)| error);
        error.split_whitespace().map(str::to_owned).collect()
    };
    let all: Vec<Vec<String>> = told.iter().map(bare).collect();
    let shortest = all.iter().min_by_key(|words| words.len())?;
    let same = |at: &dyn Fn(&Vec<String>, usize) -> Option<String>| {
        let is_same = |n: &usize| all.iter().all(|words| at(words, *n) == at(shortest, *n));
        (0..shortest.len()).take_while(is_same).count()
    };
    let start = same(&|words, n| words.get(n).cloned());
    if start == shortest.len() && all.iter().all(|words| words.len() == start) {
        return Some(shortest.join(" "));
    }
    let end = same(&|words, n| words.iter().rev().nth(n).cloned());
    let end = end.min(shortest.len() - start);
    let (head, tail) = (
        shortest.get(..start)?,
        shortest.get(shortest.len() - end..)?,
    );
    let said = format!("{} … {}", head.join(" "), tail.join(" "));
    (start + end >= LEAST_WORDS).then(|| said.trim().to_owned())
}
