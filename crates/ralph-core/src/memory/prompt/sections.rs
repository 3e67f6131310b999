//! The sections beside the attempts: learnings, Loop Status and the failures of the phase, each able to fit
//! itself to a room.

use super::{LeftOut, LoopStatus, PhaseFailure, Section, chars, shorten};
use crate::memory::recall::Candidate;
use crate::text::neutral::{inert, inert_line};

pub(super) const LEARNINGS: &str = "Learnings from Previous Iterations";
pub(super) const PHASE_FAILURES: &str = "Failure Context";

/// A list of lines under a heading, of which those are shown that fit.
pub(super) struct List {
    head: String,
    entries: Vec<Entry>,
    /// Whether the first line that does not fit is cut and ends the list; else it makes way for a later one that fits.
    is_cut: bool,
    over_limit: Vec<LeftOut>,
}

struct Entry {
    id: String,
    /// What it is, for the account of what was left out.
    what: String,
    line: String,
    size: usize,
    /// The room without which too little of the line would be left.
    least: usize,
}

impl Entry {
    fn new(id: &str, what: String, label: &str, text: &str) -> Self {
        let line = format!("{label}{}\n", inert_line(text));
        Self { id: id.to_owned(), what, size: chars(&line), line, least: chars(label) + MIN_ERROR + 1 }
    }
}

/// A line is cut rather than dropped while this much of its error can be shown; the file that the
/// section names has it in full.
const MIN_ERROR: usize = 30;

impl List {
    /// The learnings, best first, within the limit on their number.
    pub(super) fn of_learnings(learnings: &[Candidate], max: usize) -> Self {
        let mut over_limit = Vec::new();
        let mut entries = Vec::new();
        for learning in learnings.iter().filter(|learning| !learning.content.trim().is_empty()) {
            let what = format!("learning {}", learning.id);
            if entries.len() < max {
                let label = format!("- **[{}]** ", inert_line(&learning.category));
                entries.push(Entry::new(&learning.id, what, &label, &learning.content));
            } else {
                over_limit.push(LeftOut::new(what, format!("more than {max} learnings")));
            }
        }
        Self { head: format!("\n### {LEARNINGS}\n\n"), entries, is_cut: false, over_limit }
    }

    /// The failures of other tasks, newest first.
    pub(super) fn of_failures(failures: &[PhaseFailure], agents_md: Option<&str>) -> Self {
        let full = match inert_line(agents_md.unwrap_or("AGENTS.md")).as_str() {
            "" => String::new(),
            file => format!(" ({file} has them in full)"),
        };
        let entry = |failure: &PhaseFailure| {
            let key = inert_line(&failure.key);
            let label = format!("- [{key} | {}] ", inert_line(&failure.time));
            Entry::new(&key, format!("failure of {key}"), &label, &failure.error)
        };
        Self {
            head: format!("\n### {PHASE_FAILURES}\n\nOther tasks of this phase failed{full}:\n\n"),
            entries: failures.iter().map(entry).collect(),
            is_cut: true,
            over_limit: Vec::new(),
        }
    }

    /// Whether there is anything to show or to explain.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.over_limit.is_empty()
    }

    pub(super) fn demand(&self) -> usize {
        match self.entries.is_empty() {
            true => 0,
            false => chars(&self.head) + self.entries.iter().map(|entry| entry.size).sum::<usize>(),
        }
    }

    pub(super) fn render(&self, room: usize) -> Section {
        let mut left = room.saturating_sub(chars(&self.head));
        let mut section = Section::default();
        let mut is_over = false;
        for entry in &self.entries {
            if entry.size <= left && !is_over {
                left -= entry.size;
                section.text.push_str(&entry.line);
                section.shown.push(entry.id.clone());
                continue;
            }
            let mut what = entry.what.clone();
            let mut piece = String::new();
            if self.is_cut && !is_over && entry.least <= left {
                what = format!("end of the {what}");
                // Once more inert, for a cut can make a signal's name out of a longer word.
                piece = format!("{}\n", inert(&shorten(entry.line.trim_end(), left - 1)));
            }
            section.left_out.push(LeftOut::no_room(what, entry.size, left));
            left -= chars(&piece);
            section.text.push_str(&piece);
            is_over = self.is_cut;
        }
        if !section.text.is_empty() {
            section.text.insert_str(0, &self.head);
        }
        section.left_out.extend(self.over_limit.iter().cloned());
        section
    }
}

pub(super) const STATUS: &str = "Loop Status";

const WARNING: &str = "
> ⚠️ **Stuck loop detected.** This task has failed 3+ times consecutively.
> Consider: decomposing the task, trying a fundamentally different approach,
> or signaling `<task-failed>` with a clear explanation.
";

/// What a stuck task's agent may do besides trying again. The rules say how.
const PLAN_CHANGE: &str = "> If the task is too large or something must be done first, request a plan \
                           change: `TASK_MODIFICATION_REQUEST` with `SPLIT_TASK` or `ADD_PREREQUISITE`, as \
                           described above.\n";

/// Names and reasons longer than this are not names and reasons.
const MAX_VALUE: usize = 200;

/// The section in its two forms: the hints after the warning may go, what the section must have may not.
pub(super) struct Status {
    full: String,
    bare: String,
    /// Whether the section carries the warning, for which room is kept before anything else.
    pub(super) is_stuck: bool,
}

impl Status {
    pub(super) fn new(status: &LoopStatus) -> Self {
        let LoopStatus { iteration, attempt, consecutive_failures, .. } = status;
        let LoopStatus { run_successes, run_total, .. } = status;
        let limit = status.limit.filter(|limit| *limit > 0);
        let limit = limit.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string());
        let percent = percent(*run_successes, *run_total);
        let model = shorten(&inert_line(&status.model), MAX_VALUE);
        let rationale = shorten(&inert_line(&status.rationale), MAX_VALUE);
        let warning = if status.stuck { WARNING } else { "" };
        let bare = format!(
            "\n### {STATUS}\n\n\
             - **Iteration:** {iteration} of {limit}\n\
             - **This task:** attempt #{attempt}, {consecutive_failures} consecutive failure(s)\n\
             - **Run success rate:** {run_successes}/{run_total} iterations succeeded \
             ({percent}%)\n\
             - **Current model:** {model} ({rationale})\n{warning}"
        );
        let mut full = bare.clone();
        if status.stuck {
            let hints = status.further_lines.iter().map(|line| inert_line(line));
            full.extend(hints.filter(|line| !line.is_empty()).map(|line| format!("> {line}\n")));
            full.push_str(if status.may_change_plan { PLAN_CHANGE } else { "" });
        }
        Self { full, bare, is_stuck: status.stuck }
    }

    /// The fullest form that fits.
    pub(super) fn within(&self, room: usize) -> Option<&str> {
        if chars(&self.full) <= room { Some(&self.full) } else { self.bare_within(room) }
    }

    pub(super) fn bare_within(&self, room: usize) -> Option<&str> {
        (chars(&self.bare) <= room).then_some(&self.bare)
    }

    /// What is missing from a text of it that was to fit into a room.
    pub(super) fn left_out(&self, shown: &str, room: usize) -> Option<LeftOut> {
        if shown.is_empty() {
            return Some(LeftOut::no_room("the section", chars(&self.bare), room));
        }
        (shown != self.full).then(|| LeftOut::new("the hints after the warning", "no room"))
    }
}

/// A share in whole percent, halves rounded up; nothing of nothing is 0.
fn percent(part: u32, whole: u32) -> u64 {
    let (part, whole) = (u64::from(part), u64::from(whole));
    (200 * part + whole).checked_div(2 * whole).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loop_03_percentages_are_rounded_to_whole_numbers() {
        let rates = [(4, 6, 67), (6, 11, 55), (6, 7, 86), (4, 5, 80), (1, 8, 13), (3, 3, 100)];
        for (part, whole, expected) in rates {
            assert_eq!(percent(part, whole), expected, "{part}/{whole}");
        }
    }

    #[test]
    fn loop_03_nothing_of_nothing_is_zero() {
        assert_eq!(percent(0, 0), 0);
        assert_eq!(percent(u32::MAX, u32::MAX), 100);
    }
}
