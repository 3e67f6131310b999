//! Done or failed: the tags and the dialects that count only on a line of their own.

use std::iter::Peekable;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::quotations::Quotations;
use super::{Scope, Signals, cut, is_placeholder, limits};
use crate::markdown::Fence;
use crate::text::{Pattern, last_paragraph, without_signals};

/// The `Task KEY: NAME FAILED` block of spec executors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedBlock {
    pub key: String,
    pub name: String,
    pub error: Option<String>,
    pub attempted_fix: Option<String>,
    /// How the agent left the task.
    pub status: Option<String>,
}

/// The labels of a FAILED block, in the order of the fields.
const LABELS: [&str; 3] = ["Error", "Attempted fix", "Status"];

/// What an agent writes when it gave up, in words between single blanks. Kept short: every phrase is a statement about the work
/// itself, not something code or tests may be described with. A word before it may turn it round: "no manual intervention was
/// needed".
static GIVEN_UP: Pattern = Pattern::new(concat!(
    r"(?:^| )(?<negation>(?:no|not|never|nothing|without|zero|longer) )?",
    r"(?:(?:could not|couldn't|cannot|can't|unable to|not able to|did not|didn't|not fully|not yet) complete",
    r"|(?:could not|couldn't|unable to) finish|could(?: not|n't) be completed|could not be fully completed",
    r"|(?:is|are|remains?|still|status) incomplete|(?:needs?|requires) manual|manual intervention)(?: |$)",
));

/// Characters around a signal that do not make it part of a sentence.
const fn is_margin(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '`' | '\u{feff}')
}

pub(super) fn is_alone(text: &str, span: &Range<usize>) -> bool {
    let before = text.get(..span.start).unwrap_or_default();
    let before = before.trim_end_matches(is_margin);
    let after = text.get(span.end..).unwrap_or_default();
    let after = after.trim_start_matches(is_margin);
    (before.is_empty() || before.ends_with('\n')) && (after.is_empty() || after.starts_with('\n'))
}

/// Whether a text is signals and nothing else: tags or the dialects.
pub(super) fn is_only_signals(text: &str) -> bool {
    let rest = without_signals(text);
    let mut in_block = false;
    let is_signal = |line: &str| {
        // A fence in a fence shows how a signal is written.
        let is_fence = Fence::opened_by(line.trim()).is_some();
        let line = line.trim_matches(is_margin);
        let opens_block = heading(line).is_some();
        in_block |= opens_block;
        opens_block
            || line.is_empty() && !is_fence
            || line == "TASK_COMPLETE"
            || line.starts_with("FAILURE_REASON:")
            || in_block && labelled(line).is_some()
    };
    !text.trim().is_empty() && rest.trim().lines().all(is_signal)
}

/// Reads the dialects, line by line.
pub(super) fn read_lines(
    text: &str,
    quotations: &Quotations,
    scope: &Scope<'_>,
    signals: &mut Signals,
    done: &mut bool,
) {
    let mut start = 0;
    let lines = text.split('\n').map(|line| {
        let at = start;
        start += line.len() + 1;
        (at, line)
    });
    let mut lines = lines.peekable();
    while let Some((at, line)) = lines.next() {
        if quotations.cover(at) {
            continue;
        }
        let line = line.trim_matches(is_margin);
        if line == "TASK_COMPLETE" {
            *done = true;
        } else if let Some(reason) = line.strip_prefix("FAILURE_REASON:") {
            if signals.failure_reason.is_none() && !is_placeholder(reason) {
                signals.failure_reason = Some(cut(reason, limits::FIELD_CHARS));
            }
        } else if let Some((key, name)) = heading(line).filter(|(key, _)| scope.names(key)) {
            let block = failed_block(key, name, &mut lines);
            signals.failed_block.get_or_insert(block);
        }
    }
}

/// Reads the values of a FAILED block; takes from `lines` only what belongs to it.
fn failed_block<'a>(
    key: &str,
    name: &str,
    lines: &mut Peekable<impl Iterator<Item = (usize, &'a str)>>,
) -> FailedBlock {
    let mut values: [Option<String>; LABELS.len()] = [const { None }; LABELS.len()];
    let mut current = None;
    while let Some((_, line)) = lines.peek() {
        if let Some((label, value)) = labelled(line) {
            current = None;
            if let Some(slot @ None) = values.get_mut(label) {
                *slot = Some(value.to_owned());
                current = Some(label);
            }
        } else if line.trim_matches(is_margin).is_empty() {
            current = None;
        } else if let Some(label) = current.filter(|_| line.starts_with([' ', '\t'])) {
            // An indented line continues the value above; the block's values are single lines.
            if let Some(Some(value)) = values.get_mut(label) {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else {
            break;
        }
        lines.next();
    }
    let said = |value: String| (!is_placeholder(&value)).then(|| cut(&value, limits::FIELD_CHARS));
    let [error, attempted_fix, status] = values.map(|value| value.and_then(said));
    FailedBlock { key: key.to_owned(), name: cut(name, limits::FIELD_CHARS), error, attempted_fix, status }
}

/// Key and name of a `Task KEY: NAME FAILED` line, Markdown's marks aside.
fn heading(line: &str) -> Option<(&str, &str)> {
    let is_mark = |c: char| is_margin(c) || c == '*' || c == '#';
    let line = line.trim_matches(is_mark);
    let (key, name) = line.strip_prefix("Task ")?.split_once(':')?;
    let name = name.strip_suffix("FAILED")?;
    let apart = name.is_empty() || name.ends_with(is_mark);
    apart.then(|| (key.trim_matches(is_mark), name.trim_matches(is_mark)))
}

/// Which label a `- Label: value` line has, and its value; Markdown's marks and the bullet may be missing.
fn labelled(line: &str) -> Option<(usize, &str)> {
    let item = line.trim_matches(is_margin);
    let item = item.trim_start_matches(['-', '*', '+', ' ']);
    LABELS.iter().enumerate().find_map(|(label, name)| {
        let (said, value) = item.split_at_checked(name.len())?;
        // The colon may stand inside or outside of the marks.
        let value = value.trim_start_matches('*').strip_prefix(':')?;
        said.eq_ignore_ascii_case(name).then(|| (label, value.trim_start_matches('*').trim()))
    })
}

/// Whether the last paragraph of the prose says that the work is not done.
pub(super) fn gives_up_at_the_end(text: &str) -> bool {
    let paragraph = last_paragraph(text).to_lowercase().replace('’', "'");
    let words = paragraph.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty());
    let words = words.collect::<Vec<_>>().join(" ");
    GIVEN_UP.captures_iter(&words).any(|phrase| phrase.name("negation").is_none())
}

#[cfg(test)]
#[path = "completion_tests.rs"]
mod tests;
