//! The sections beside the attempts: learnings, Loop Status and the failures of the phase, each able to fit
//! itself to a room.

use super::{LeftOut, LoopStatus, PhaseFailure, Section, ShownLearning, chars, shorten};
use crate::text::neutral::{inert, inert_line};

pub(super) const LEARNINGS: &str = "Learnings from Previous Iterations";

/// The learnings as lines, within the limit on their number.
#[derive(Clone, Debug)]
pub(super) struct Learnings {
    head: String,
    entries: Vec<LearningLine>,
    over_limit: Vec<LeftOut>,
}

#[derive(Clone, Debug)]
struct LearningLine {
    id: String,
    line: String,
    size: usize,
}

impl Learnings {
    pub(super) fn new(learnings: &[ShownLearning], max: usize) -> Self {
        let said = |learning: &&ShownLearning| !learning.content.trim().is_empty();
        let entries = learnings.iter().filter(said).take(max).map(LearningLine::new).collect();
        let why = format!("more than {max} learnings");
        let beyond = learnings.iter().filter(said).skip(max);
        Self {
            head: format!("\n### {LEARNINGS}\n\n"),
            entries,
            over_limit: beyond.map(|l| LeftOut::new(name(&l.id), why.clone())).collect(),
        }
    }

    /// Whether there is anything to show or to explain.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.over_limit.is_empty()
    }

    /// The size with every learning in it.
    pub(super) fn demand(&self) -> usize {
        if self.entries.is_empty() {
            return 0;
        }
        let lines = self.entries.iter().map(|entry| entry.size).sum::<usize>();
        chars(&self.head).saturating_add(lines)
    }

    /// The section and the ids it shows. One that does not fit makes way for a later one that does.
    pub(super) fn render(&self, room: usize) -> (Section, Vec<String>) {
        let mut left = room.saturating_sub(chars(&self.head));
        let mut section = Section::default();
        let mut shown = Vec::new();
        for entry in &self.entries {
            if entry.size > left {
                section.left_out.push(LeftOut::no_room(name(&entry.id), entry.size, left));
                continue;
            }
            if shown.is_empty() {
                section.text.clone_from(&self.head);
            }
            left -= entry.size;
            section.text.push_str(&entry.line);
            shown.push(entry.id.clone());
        }
        section.left_out.extend(self.over_limit.iter().cloned());
        (section, shown)
    }
}

impl LearningLine {
    fn new(learning: &ShownLearning) -> Self {
        let category = inert_line(&learning.category);
        let line = format!("- **[{category}]** {}\n", inert_line(&learning.content));
        Self { id: learning.id.clone(), size: chars(&line), line }
    }
}

fn name(id: &str) -> String {
    format!("learning {id}")
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

/// The section in its forms, fullest first: the hints after the warning may go, what the section
/// must have may not.
#[derive(Clone, Debug)]
pub(super) struct Status {
    forms: Vec<String>,
    stuck: bool,
}

impl Status {
    pub(super) fn new(status: &LoopStatus) -> Self {
        let LoopStatus { iteration, attempt, consecutive_failures, .. } = status;
        let LoopStatus { run_successes, run_total, .. } = status;
        let limit = match status.limit {
            Some(limit) if limit > 0 => limit.to_string(),
            Some(_) | None => "unlimited".to_owned(),
        };
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
        let mut hints: String = status
            .further_lines
            .iter()
            .map(|line| inert_line(line))
            .filter(|line| status.stuck && !line.is_empty())
            .map(|line| format!("> {line}\n"))
            .collect();
        if status.stuck && status.may_change_plan {
            hints.push_str(PLAN_CHANGE);
        }
        let full = (!hints.is_empty()).then(|| format!("{bare}{hints}"));
        Self { forms: full.into_iter().chain([bare]).collect(), stuck: status.stuck }
    }

    /// Whether the section carries the warning, for which room is kept before anything else.
    pub(super) fn is_stuck(&self) -> bool {
        self.stuck
    }

    /// The fullest form that fits.
    pub(super) fn within(&self, room: usize) -> Option<&str> {
        self.forms.iter().map(String::as_str).find(|form| chars(form) <= room)
    }

    /// The form without hints, if it fits.
    pub(super) fn smallest_within(&self, room: usize) -> Option<&str> {
        self.forms.last().map(String::as_str).filter(|form| chars(form) <= room)
    }

    /// The size below which there is no form at all.
    pub(super) fn smallest(&self) -> usize {
        self.forms.last().map_or(0, |form| chars(form))
    }

    /// Whether a form is not the fullest one.
    pub(super) fn lacks_hints(&self, form: &str) -> bool {
        self.forms.first().is_some_and(|full| full != form)
    }
}

/// A share in whole percent, halves rounded up; nothing of nothing is 0.
fn percent(part: u32, whole: u32) -> u64 {
    let (part, whole) = (u64::from(part), u64::from(whole));
    (200 * part + whole).checked_div(2 * whole).unwrap_or(0)
}

pub(super) const PHASE_FAILURES: &str = "Failure Context";

/// A line is cut rather than dropped while this much of its error can be shown; the file that the
/// section names has it in full.
const MIN_ERROR: usize = 30;

/// The failures as lines, newest first.
#[derive(Clone, Debug)]
pub(super) struct PhaseFailures {
    head: String,
    entries: Vec<FailureLine>,
}

#[derive(Clone, Debug)]
struct FailureLine {
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
            head: format!("\n### {PHASE_FAILURES}\n\nOther tasks of this phase failed{full}:\n\n"),
            entries: failures.iter().map(FailureLine::new).collect(),
        }
    }

    /// The size with every failure in it.
    pub(super) fn demand(&self) -> usize {
        if self.entries.is_empty() {
            return 0;
        }
        let lines = self.entries.iter().map(|entry| chars(&entry.line)).sum::<usize>();
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
        Section { text: format!("{head}{lines}"), left_out }
    }
}

impl FailureLine {
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
