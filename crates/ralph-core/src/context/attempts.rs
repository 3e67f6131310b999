//! `### Previous Attempts`: chosen newest first, shown oldest first, the newest always there.

use super::attempt::Attempt;
use super::explain::LeftOut;
use super::input::PastAttempt;
use super::measure::{chars, shorten};
use super::neutral::{inert, prose_lines};
use super::section::Section;

/// The section's title.
pub(super) const TITLE: &str = "Previous Attempts";

const OMITTED: &str = "\n_(Earlier attempts truncated due to context budget)_\n";

const SUGGESTION: &str = "\n**Suggested approach for this retry:**\n";

/// How much of the newest attempt's fields even a long suggestion leaves standing.
const FIELDS_FLOOR: usize = 40;

/// How much of a suggestion must be shown for it to count as shown.
const SUGGESTION_FLOOR: usize = 80;

/// A piece of a suggestion shorter than this is not shown.
const SUGGESTION_SCRAP: usize = 12;

/// The failed attempts, ready to be laid out.
#[derive(Clone, Debug)]
pub(super) struct Attempts {
    intro: String,
    earlier: Vec<Attempt>,
    newest: Attempt,
    suggestion: String,
}

impl Attempts {
    /// `None` where there are no attempts. They come oldest first.
    pub(super) fn new(attempts: &[PastAttempt], trace_chars: usize) -> Option<Self> {
        let (newest, earlier) = attempts.split_last()?;
        let suggested = newest
            .report
            .as_ref()
            .and_then(|report| report.retry_suggestion.as_deref());
        let suggested = prose_lines(suggested.unwrap_or_default()).join("\n");
        let suggestion = match suggested.as_str() {
            "" => String::new(),
            text => inert(&format!("{SUGGESTION}{text}\n")),
        };
        Some(Self {
            intro: format!(
                "\n### {TITLE}\n\nThis task has been attempted {} time(s) before. \
                 **Do not repeat these approaches.**\n",
                attempts.len()
            ),
            earlier: earlier
                .iter()
                .map(|attempt| Attempt::new(attempt, trace_chars))
                .collect(),
            newest: Attempt::new(newest, trace_chars),
            suggestion,
        })
    }

    /// The size with every attempt whole.
    pub(super) fn demand(&self) -> usize {
        let earlier = self
            .earlier
            .iter()
            .map(Attempt::size)
            .fold(0, usize::saturating_add);
        self.frame()
            .saturating_add(self.newest.size())
            .saturating_add(earlier)
    }

    /// The room without which the newest attempt and a recognisable piece of its suggestion cannot
    /// both be shown.
    pub(super) fn kernel(&self) -> usize {
        self.kernel_with(SUGGESTION_FLOOR)
    }

    /// The room in which the newest attempt, however cut, leaves its suggestion whole, unless that
    /// is longer than `max_suggestion`.
    pub(super) fn reserve(&self, max_suggestion: usize) -> usize {
        self.kernel_with(max_suggestion.max(SUGGESTION_FLOOR))
    }

    fn kernel_with(&self, max_suggestion: usize) -> usize {
        let suggestion = chars(&self.suggestion).min(chars(SUGGESTION) + max_suggestion);
        let newest = self.newest.size().min(self.newest.cut_size(FIELDS_FLOOR));
        (chars(&self.intro) + self.note().len() + newest + suggestion).min(self.demand())
    }

    /// The section in the room: everything, or the newest with as many before it as fit, or the
    /// newest alone and cut.
    pub(super) fn render(&self, room: usize) -> Section {
        if self.demand() <= room {
            self.lay_out("", &self.earlier, self.newest.whole(), &self.suggestion)
        } else if self.frame() + self.note().len() + self.newest.size() <= room {
            self.newest_whole(room)
        } else {
            self.newest_cut(room)
        }
    }

    fn newest_whole(&self, room: usize) -> Section {
        let note = self.note();
        let mut left = room - self.frame() - note.len() - self.newest.size();
        let mut first = self.earlier.len();
        for (index, attempt) in self.earlier.iter().enumerate().rev() {
            let Some(rest) = left.checked_sub(attempt.size()) else {
                break;
            };
            left = rest;
            first = index;
        }
        let (omitted, shown) = self.earlier.split_at(first);
        let mut section = self.lay_out(note, shown, self.newest.whole(), &self.suggestion);
        section.left_out.extend(no_room_for(omitted, left));
        section
    }

    fn newest_cut(&self, room: usize) -> Section {
        let note = self.note();
        let name = format!("attempt {}", self.newest.number);
        let bare = chars(&self.intro) + note.len() + self.newest.cut_size(0);
        let Some(spare) = room.checked_sub(bare) else {
            let mut section = Section {
                left_out: no_room_for(&self.earlier, 0),
                ..Section::default()
            };
            section.left_out.push(LeftOut::no_room(name, bare, room));
            return section;
        };
        let suggestion = self.suggestion_beside_newest(spare);
        let for_newest = self
            .newest
            .cut_size(spare.saturating_sub(chars(&suggestion)));
        // A suggestion that had to be cut may leave room for the whole attempt.
        let is_whole = self.newest.size() <= for_newest;
        let newest = if is_whole {
            self.newest.whole()
        } else {
            self.newest.cut(for_newest)
        };
        let mut section = self.lay_out(note, &[], newest, &suggestion);
        section.left_out.extend(no_room_for(&self.earlier, 0));
        if !is_whole {
            let what = format!("part of {name}");
            section
                .left_out
                .push(LeftOut::no_room(what, self.newest.size(), for_newest));
        }
        let (needed, given) = (chars(&self.suggestion), chars(&suggestion));
        if given < needed {
            let what = format!("part of the suggestion of {name}");
            section.left_out.push(LeftOut::no_room(what, needed, given));
        }
        section
    }

    /// The suggestion comes before the attempt's own lines; only one that would leave next to
    /// nothing of them is cut, and then shares the room with them.
    fn suggestion_beside_newest(&self, spare: usize) -> String {
        let fields = self.newest.size().saturating_sub(self.newest.cut_size(0));
        if chars(&self.suggestion) + fields.min(FIELDS_FLOOR) <= spare {
            return self.suggestion.clone();
        }
        let room = spare.saturating_sub(fields).max(spare / 2);
        let for_text = room.saturating_sub(chars(SUGGESTION) + 1);
        if for_text < SUGGESTION_SCRAP {
            return String::new();
        }
        let text = self.suggestion.strip_prefix(SUGGESTION).unwrap_or_default();
        inert(&format!(
            "{SUGGESTION}{}\n",
            shorten(text.trim_end(), for_text)
        ))
    }

    /// What stands around the attempts when they are whole.
    fn frame(&self) -> usize {
        chars(&self.intro) + chars(&self.suggestion)
    }

    /// The note that attempts are missing, which is plain ASCII; empty where none can be.
    fn note(&self) -> &'static str {
        if self.earlier.is_empty() { "" } else { OMITTED }
    }

    fn lay_out(&self, note: &str, earlier: &[Attempt], newest: String, end: &str) -> Section {
        let cut_trace = |attempt: &Attempt| {
            let what = format!("end of the error output of attempt {}", attempt.number);
            LeftOut::new(what, "over the display limit")
        };
        let shown = earlier.iter().chain([&self.newest]);
        let left_out = shown
            .filter(|attempt| attempt.trace_was_cut)
            .map(cut_trace)
            .collect();
        let earlier: String = earlier.iter().map(Attempt::whole).collect();
        let text = [&self.intro, note, &earlier, &newest, end].concat();
        Section { text, left_out }
    }
}

fn no_room_for(attempts: &[Attempt], left: usize) -> Vec<LeftOut> {
    let name = |attempt: &Attempt| format!("attempt {}", attempt.number);
    attempts
        .iter()
        .map(|a| LeftOut::no_room(name(a), a.size(), left))
        .collect()
}
