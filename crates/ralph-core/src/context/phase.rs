//! `### Failure Context`: what went wrong in other tasks of the phase, one line each.

use super::explain::LeftOut;
use super::input::PhaseFailure;
use super::measure::{chars, shorten};
use super::neutral::{inert, inert_line};
use super::section::Section;

/// The section's title.
pub(super) const TITLE: &str = "Failure Context";

/// A line is cut rather than dropped while this much of its error can be shown; the file that the
/// section names has it in full.
const MIN_ERROR: usize = 30;

/// The failures as lines, newest first.
#[derive(Clone, Debug)]
pub(super) struct PhaseFailures {
    head: String,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    key: String,
    label: String,
    line: String,
}

impl PhaseFailures {
    pub(super) fn new(failures: &[PhaseFailure], agents_md: Option<&str>) -> Self {
        let file = agents_md.map(inert_line);
        let full = match file.as_deref() {
            Some("") => String::new(),
            Some(file) => format!(" ({file} has them in full)"),
            None => " (AGENTS.md has them in full)".to_owned(),
        };
        Self {
            head: format!("\n### {TITLE}\n\nOther tasks of this phase failed{full}:\n\n"),
            entries: failures.iter().map(Entry::new).collect(),
        }
    }

    /// The size with every failure in it.
    pub(super) fn demand(&self) -> usize {
        if self.entries.is_empty() {
            return 0;
        }
        let lines = self
            .entries
            .iter()
            .map(|entry| chars(&entry.line))
            .sum::<usize>();
        chars(&self.head).saturating_add(lines)
    }

    /// The newest failures that fit; the first that does not is cut if enough of it remains, and
    /// ends the list.
    pub(super) fn render(&self, room: usize) -> Section {
        let mut left = room.saturating_sub(chars(&self.head));
        let mut lines = String::new();
        let mut left_out = Vec::new();
        let mut entries = self.entries.iter();
        for entry in entries.by_ref() {
            let size = chars(&entry.line);
            if size <= left {
                left -= size;
                lines.push_str(&entry.line);
                continue;
            }
            let piece = entry.cut(left);
            let part = if piece.is_some() { "end of the " } else { "" };
            let what = format!("{part}failure of {}", entry.key);
            left_out.push(LeftOut::no_room(what, size, left));
            let piece = piece.unwrap_or_default();
            left -= chars(&piece);
            lines.push_str(&piece);
            break;
        }
        left_out.extend(entries.map(|entry| {
            let what = format!("failure of {}", entry.key);
            LeftOut::no_room(what, chars(&entry.line), left)
        }));
        let head = if lines.is_empty() { "" } else { &self.head };
        Section {
            text: format!("{head}{lines}"),
            left_out,
        }
    }
}

impl Entry {
    fn new(failure: &PhaseFailure) -> Self {
        let key = inert_line(&failure.key);
        let label = format!("- [{key} | {}] ", inert_line(&failure.time));
        let line = format!("{label}{}\n", inert_line(&failure.error));
        Self { key, label, line }
    }

    /// The line with the end of its error missing; none where too little of it would be left.
    fn cut(&self, room: usize) -> Option<String> {
        let text_room = room.checked_sub(1)?;
        let is_telling = chars(&self.label) + MIN_ERROR <= text_room;
        // Once more inert, for a cut can make a signal's name out of a longer word.
        is_telling.then(|| {
            let cut = shorten(self.line.trim_end(), text_room);
            format!("{}\n", inert(&cut))
        })
    }
}
