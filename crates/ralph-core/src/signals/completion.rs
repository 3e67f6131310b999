//! Done or failed: the tags and the dialects that count only on a line of their own.

use serde::Serialize;

use super::limits::{self, cut};
use super::placeholder::is_placeholder;
use super::{Promise, Scope};
use crate::text::{Element, Quotations, without_signals};

/// The `Task KEY: NAME FAILED` block of spec executors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedBlock {
    /// The key or id as it was written.
    pub key: String,
    /// The task's name as it was written.
    pub name: String,
    /// What went wrong.
    pub error: Option<String>,
    /// What the agent tried against it.
    pub attempted_fix: Option<String>,
    /// How it left the task.
    pub status: Option<String>,
}

/// What the text says about the end of the attempt, before it is weighed.
#[derive(Default)]
pub(super) struct Said {
    pub(super) done: bool,
    pub(super) failed: bool,
    pub(super) promise: Option<Promise>,
    pub(super) failed_block: Option<FailedBlock>,
    pub(super) failure_reason: Option<String>,
}

/// Characters around a signal that do not make it part of a sentence.
const fn is_margin(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '`' | '\u{feff}')
}

/// Whether a text is signals and nothing else: tags, the dialects, or a request for a change of the plan.
pub(super) fn is_only_signals(text: &str) -> bool {
    let rest = without_signals(text);
    let rest = rest.trim();
    if let Some(request) = rest.strip_prefix("TASK_MODIFICATION_REQUEST") {
        let object = request.find('{').and_then(|at| request.get(at..));
        return object.is_some_and(|object| object.ends_with('}'));
    }
    let mut in_block = false;
    let is_signal = |line: &str| {
        let line = line.trim_matches(is_margin);
        let opens_block = heading(line).is_some();
        in_block |= opens_block;
        opens_block
            || line.is_empty()
            || line == "TASK_COMPLETE"
            || line.starts_with("FAILURE_REASON:")
            || in_block && labelled(line).is_some()
    };
    !text.trim().is_empty() && rest.lines().all(is_signal)
}

impl Said {
    /// Takes in a `task-done`, `task-failed` or `promise` element if it stands alone on its line.
    pub(super) fn element(&mut self, text: &str, element: &Element<'_>, scope: &Scope<'_>) {
        let content = element.content.trim();
        let kind = match element.name {
            "task-done" | "task-failed" if !scope.names(content) => return,
            "promise" if content != "FAILURE" && content != "COMPLETE" => return,
            name => name,
        };
        let before = text
            .get(..element.span.start)
            .unwrap_or_default()
            .trim_end_matches(is_margin);
        let after = text
            .get(element.span.end..)
            .unwrap_or_default()
            .trim_start_matches(is_margin);
        if !(before.is_empty() || before.ends_with('\n'))
            || !(after.is_empty() || after.starts_with('\n'))
        {
            return;
        }
        match kind {
            "task-done" => self.done = true,
            "task-failed" => self.failed = true,
            // A failure anywhere outweighs: it asks to stop, and COMPLETE asks for nothing.
            "promise" if content == "FAILURE" => self.promise = Some(Promise::Failure),
            "promise" => self.promise = self.promise.or(Some(Promise::Complete)),
            _ => {}
        }
    }

    /// Takes in the dialects, line by line.
    pub(super) fn lines(&mut self, text: &str, quotations: &Quotations, scope: &Scope<'_>) {
        let mut lines = Lines { text };
        loop {
            let at = text.len() - lines.text.len();
            let Some(line) = lines.next() else { break };
            if quotations.cover(at) {
                continue;
            }
            let line = line.trim_matches(is_margin);
            match line.as_bytes().first() {
                Some(b'T') if line == "TASK_COMPLETE" => self.done = true,
                Some(b'F') => self.reason(line),
                Some(b'T' | b'*' | b'#') => self.block(line, &mut lines, scope),
                _ => {}
            }
        }
    }

    fn reason(&mut self, line: &str) {
        let Some(reason) = line.strip_prefix("FAILURE_REASON:") else {
            return;
        };
        if self.failure_reason.is_none() && !is_placeholder(reason) {
            self.failure_reason = Some(cut(reason, limits::FIELD_CHARS));
        }
    }

    /// Reads a FAILED block, its heading in `line`; the lines after it are taken from `lines` only as
    /// far as they belong to it.
    fn block(&mut self, line: &str, lines: &mut Lines<'_>, scope: &Scope<'_>) {
        let Some((key, name)) = heading(line) else {
            return;
        };
        if !scope.names(key) {
            return;
        }
        self.failed = true;
        let mut labels: [Option<String>; LABELS.len()] = [const { None }; LABELS.len()];
        let mut current = None;
        loop {
            let mut ahead = *lines;
            let Some(line) = ahead.next() else { break };
            if let Some((label, value)) = labelled(line) {
                current = None;
                if let Some(slot) = labels.get_mut(label).filter(|slot| slot.is_none()) {
                    *slot = Some(value.to_owned());
                    current = Some(label);
                }
            } else if line.trim_matches(is_margin).is_empty() {
                current = None;
            } else if let Some(label) = current.filter(|_| line.starts_with([' ', '\t'])) {
                // An indented line goes on with the value above; the block's values are single lines.
                if let Some(Some(value)) = labels.get_mut(label) {
                    value.push(' ');
                    value.push_str(line.trim());
                }
            } else {
                break;
            }
            *lines = ahead;
        }
        let [error, attempted_fix, status] = labels.map(|value| {
            value
                .filter(|value| !is_placeholder(value))
                .map(|value| cut(&value, limits::FIELD_CHARS))
        });
        self.failed_block.get_or_insert_with(|| FailedBlock {
            key: key.to_owned(),
            name: cut(name, limits::FIELD_CHARS),
            error,
            attempted_fix,
            status,
        });
    }
}

/// The lines of a text that are still to be read; a copy looks ahead.
#[derive(Clone, Copy)]
struct Lines<'a> {
    text: &'a str,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a str> {
        if self.text.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', self.text.as_bytes()).unwrap_or(self.text.len());
        let line = self.text.get(..end);
        self.text = self.text.get(end + 1..).unwrap_or_default();
        line
    }
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

/// The labels of a FAILED block, in the order of the fields.
const LABELS: [&str; 3] = ["Error", "Attempted fix", "Status"];

/// Which label a `- Label: value` line has, and its value; Markdown's marks and the bullet may be missing.
fn labelled(line: &str) -> Option<(usize, &str)> {
    let item = line
        .trim_matches(is_margin)
        .trim_start_matches(['-', '*', '+', ' ']);
    LABELS.iter().enumerate().find_map(|(label, name)| {
        let said = item
            .get(..name.len())
            .filter(|said| said.eq_ignore_ascii_case(name))?;
        // The colon may stand inside or outside of the marks.
        let value = item
            .get(said.len()..)?
            .trim_start_matches('*')
            .strip_prefix(':')?;
        Some((label, value.trim_start_matches('*').trim()))
    })
}

#[cfg(test)]
#[path = "completion_tests.rs"]
mod tests;
