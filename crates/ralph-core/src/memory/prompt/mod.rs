//! The prompt of an attempt: the task, then what is remembered, within a budget; pure and
//! deterministic.
//!
//! ```text
//! Memory ─► sections (attempts, learnings, status, phase failures)
//!             └─► room: how much each of them gets ─► RenderedMemory ┐
//! TaskPart ───────────────────────────────────────────► template ◄─┘ ─► the prompt
//! ```
//!
//! The caller ranks learnings, reads the database and the template's file; this module only turns
//! what it is given into text. Stored text is made harmless on its way ([`neutral`](crate::text::neutral)).

mod attempts;
mod review;
mod room;
mod sections;
mod task;

#[cfg(test)]
mod tests;

use std::fmt;

use serde::Serialize;

use crate::memory::recall::Candidate;
use crate::model::ReportRow;
use crate::text::first_chars;

pub use review::{ReviewPart, render_review};
pub use room::{RenderedMemory, render_memory};
pub use task::{
    ExtraSection, FailureToFix, LandingConflict, Template, TemplateError, failed_before, failure_to_fix,
    landing_conflict, refused_changes, render_task, users_notes,
};

/// How much of a stack trace is shown at most, in characters.
const TRACE_CHARS: usize = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// What the whole memory part may take in Unicode characters, titles and blank lines counted.
    pub budget_chars: usize,
    pub max_learnings: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { budget_chars: 5000, max_learnings: 5 }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskPart {
    pub id: String,
    pub title: String,
    /// The task's description: the user's text, shown as it is.
    pub description: String,
    /// When its author calls it done: the user's text.
    pub done_when: Option<String>,
    pub commit: Option<String>,
    /// Further sections, safe to show.
    pub further: Vec<ExtraSection>,
    pub parent: Option<ParentPart>,
    /// Dependencies that are done, in plan order.
    pub prerequisites: Vec<Prerequisite>,
    pub specs_dir: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ParentPart {
    pub title: String,
    pub description: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Prerequisite {
    pub id: String,
    pub title: String,
    /// What its done attempt said it did: an agent's words, so they are neutralised.
    pub summary: Option<String>,
}

/// One failed, counted attempt of this task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PastAttempt {
    /// The ordinal among counted attempts.
    pub number: u32,
    pub model: String,
    /// How it ended: `failed`, `no_sigil` or `error`.
    pub outcome: String,
    pub duration_ms: u64,
    pub report: Option<ReportRow>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopStatus {
    pub iteration: u32,
    /// The run's limit of iterations; none, or 0, is `unlimited`.
    pub limit: Option<u32>,
    /// One more than the task's recorded attempts.
    pub attempt: u32,
    pub consecutive_failures: u32,
    /// Attempts of this run that ended done.
    pub run_successes: u32,
    pub run_total: u32,
    pub model: String,
    pub rationale: String,
    /// Whether the task counts as stuck, which brings the warning.
    pub stuck: bool,
    /// Further lines, quoted after the warning (stance, split hint); shown only when stuck.
    pub further_lines: Vec<String>,
    /// Whether the rules of this prompt say how to ask for a change to the plan; then the warning says so too.
    pub may_change_plan: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseFailure {
    pub key: String,
    /// When it failed, as it is to be shown.
    pub time: String,
    pub error: String,
}

/// Everything remembered that may be worth telling this attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// This task's failed attempts, oldest first.
    pub attempts: Vec<PastAttempt>,
    /// Relevant learnings, best first, without near-duplicates, all above the floor.
    pub learnings: Vec<Candidate>,
    pub status: LoopStatus,
    /// Failures of other tasks of the phase, newest first.
    pub phase_failures: Vec<PhaseFailure>,
    /// The file that has the phase's failures in full; `AGENTS.md` if not given, none if empty.
    pub agents_md: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Explanation {
    pub budget_chars: usize,
    pub used_chars: usize,
    /// The sections that had something to say, in the order of the prompt.
    pub sections: Vec<SectionUse>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SectionUse {
    pub title: &'static str,
    /// The characters it could have taken.
    pub given_chars: usize,
    /// The characters it took; 0 where it is left out.
    pub used_chars: usize,
    /// What it does not show, or not whole.
    pub left_out: Vec<LeftOut>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The thing, as in `attempt 2` or `learning l-12ab34`.
    pub what: String,
    pub why: String,
}

impl LeftOut {
    fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into() }
    }

    fn no_room(what: impl Into<String>, needed: usize, left: usize) -> Self {
        Self::new(what, format!("needs {needed} characters, {left} left"))
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Memory: {} of {} characters", self.used_chars, self.budget_chars)?;
        for section in &self.sections {
            let SectionUse { title, given_chars: given, used_chars: used, .. } = section;
            match used {
                0 => writeln!(f, "  {title}: empty")?,
                _ => writeln!(f, "  {title}: {used} of {given} characters")?,
            }
            for LeftOut { what, why } in &section.left_out {
                writeln!(f, "    not shown: {what} ({why})")?;
            }
        }
        Ok(())
    }
}

/// A section's text and what did not get into it. Text that is not empty begins with the blank
/// line that sets it off and ends with one line end, so that sections are simply joined.
#[derive(Clone, Debug, Default)]
struct Section {
    text: String,
    left_out: Vec<LeftOut>,
    /// The ids of what it shows, where it is a list.
    shown: Vec<String>,
    /// The room it was offered.
    given: usize,
}

impl Section {
    fn size(&self) -> usize {
        chars(&self.text)
    }
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// A text of at most `max` characters: the whole one, or its beginning with `…` behind,
/// cut between words where that costs no more than a third of the room.
fn shorten(text: &str, max: usize) -> String {
    let Some(room) = max.checked_sub(1) else { return String::new() };
    if first_chars(text, max).len() == text.len() {
        return text.to_owned();
    }
    let start = first_chars(text, room);
    let ends_a_word = text.split_at(start.len()).1.starts_with(char::is_whitespace);
    let words = start.rfind(char::is_whitespace).map(|space| start.split_at(space).0);
    let words = words.filter(|words| !ends_a_word && chars(words) >= room * 2 / 3);
    format!("{}…", words.unwrap_or(start).trim_end())
}
