//! `Pattern:` the commonest error with its message and how often it came.

use super::picture::Picture;
use super::seen::{Sameness, Seen};
use super::words::commonest;
use crate::text::one_line;

/// How long the line's text may get.
const MAX_CHARS: usize = 160;

/// How much of a test's name is shown.
const TEST_CHARS: usize = 60;

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
        return format!("{} of {failures}: {}", alike.len(), what(newest));
    }
    // No two are the same; at least they may be of one kind.
    match commonest(picture.seen.iter().map(Seen::kind)) {
        Some((kind, count)) if count > 1 => {
            let newest = picture.seen.iter().find(|one| one.kind() == kind);
            let newest = newest.and_then(Seen::telling).unwrap_or_default();
            format!("{count} of {failures}: {kind}, each another way; the newest: {newest}")
        }
        _ => format!("{failures} different errors; the newest: {}", what(newest)),
    }
}

/// The error in words.
fn what(one: &Seen<'_>) -> String {
    let Some(message) = one.telling() else {
        return one.kind();
    };
    match (&one.sameness, one.fact.failing.first()) {
        // The message alone may not say so, and may be another one each time.
        (Sameness::TimedOut | Sameness::NoSignal, _) => format!("{}: {message}", one.kind()),
        (_, Some(test)) if !message.contains(test.as_str()) => {
            let test = one_line(test, TEST_CHARS);
            match one.fact.failing.len() {
                0 | 1 => format!("{test} fails: {message}"),
                all => format!("{test} and {} more fail: {message}", all - 1),
            }
        }
        _ => message.to_owned(),
    }
}
