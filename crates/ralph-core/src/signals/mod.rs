//! Signals: what the agent's final text tells Ralph, requests to change the plan included.
//!
//! [`parse`] and [`plan_requests`] are tolerant and total: any text gives an answer, in time linear in
//! its length, and a signal that is unclosed, empty or malformed is skipped without touching the others.

mod completion;
pub mod plan_change;
mod plan_request;
mod proposed_task;
mod quotations;
mod report;
mod review;

use std::collections::HashSet;

use serde::Serialize;

use crate::model::Difficulty;
use crate::text::{Element, cut_words, elements, mask_secrets};
use quotations::Quotations;

pub use completion::FailedBlock;
pub use plan_request::{
    ChangeKind, PLAN_REQUEST_INSTRUCTIONS, PlanRequest, UnreadableRequest, plan_requests,
};
pub use proposed_task::ProposedTask;
pub use report::{FailureReport, clip_trace};
pub use review::{ReviewSignals, review};

/// How much of each signal is kept, in characters; the rest is cut at the end of a word, so that no
/// answer can flood the memory of later ones.
pub mod limits {
    pub const LEARNING_CHARS: usize = 10_000;
    pub const LEARNINGS: usize = 500;
    /// Name of a learning's or an error's category.
    pub const CATEGORY_CHARS: usize = 64;
    pub const TAGS: usize = 100;
    pub const TAG_CHARS: usize = 100;
    pub const FIELD_CHARS: usize = 10_000;
    pub const FILES: usize = 500;
    /// A stack trace, which is cut inside words as well.
    pub const TRACE_CHARS: usize = 500;
    pub const SUGGESTION_CHARS: usize = 10_000;
    pub const FINDINGS: usize = 20;
    pub const FINDING_CHARS: usize = 1000;
    /// Why nothing had to be changed.
    pub const REASON_CHARS: usize = 300;
}

/// Whose signals count: the task being attempted and the models it may ask for.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    pub task_id: &'a str,
    pub task_key: Option<&'a str>,
    /// The agent's models, cheapest first.
    pub ladder: &'a [String],
}

impl Scope<'_> {
    fn names(&self, name: &str) -> bool {
        !name.is_empty() && (name == self.task_id || Some(name) == self.task_key)
    }
}

/// What the agent says about the end of its attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    #[default]
    Absent,
    /// The task is done. The gate still decides.
    Done,
    /// The task failed, whatever else the text says.
    Failed,
}

/// What the agent says about the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Promise {
    /// The agent believes everything done; changes nothing.
    Complete,
    /// Nothing in this run can succeed: the attempt is failed and the run stops.
    Failure,
}

/// Everything found in one answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Signals {
    /// Done or failed, in any dialect; both mean failed, and so does `<promise>FAILURE</promise>`.
    pub completion: Completion,
    /// Done, but the closing paragraph says otherwise: to be accepted only with a passing gate.
    pub contradicted: bool,
    pub promise: Option<Promise>,
    /// The model asked for the next attempt, as the ladder spells it.
    pub next_model: Option<String>,
    pub failure_report: Option<FailureReport>,
    pub learnings: Vec<LearningSignal>,
    pub difficulty: Option<Difficulty>,
    /// The first suggestion that says something.
    pub retry_suggestion: Option<String>,
    pub failed_block: Option<FailedBlock>,
    /// The first `FAILURE_REASON` that says something.
    pub failure_reason: Option<String>,
    pub no_change_needed: Option<String>,
}

/// `<learning category tags>`: an insight for later tasks, as the agent gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LearningSignal {
    /// The category, which need not be one of the documented ones.
    pub category: String,
    pub tags: Vec<String>,
    pub content: String,
}

/// Reads every signal of `text` that concerns the task in `scope`.
pub fn parse(text: &str, scope: &Scope<'_>) -> Signals {
    let mut signals = Signals::default();
    let mut done = false;
    let mut failed = false;
    let quotations = Quotations::of(text);
    for element in elements(text) {
        let content = element.content.trim();
        match element.name {
            "task-done" | "task-failed" | "promise" | "no-change-needed"
                if quotations.cover(element.span.start) || !completion::is_alone(text, &element.span) => {}
            "task-done" => done |= scope.names(content),
            "task-failed" => failed |= scope.names(content),
            // A failure anywhere outweighs: it asks to stop, and COMPLETE asks for nothing.
            "promise" if content == "FAILURE" => signals.promise = Some(Promise::Failure),
            "promise" if content == "COMPLETE" => {
                signals.promise.get_or_insert(Promise::Complete);
            }
            _ => signals.remember(&element, scope),
        }
    }
    completion::read_lines(text, &quotations, scope, &mut signals, &mut done);
    failed |= signals.failed_block.is_some()
        || signals.failure_reason.is_some()
        || signals.promise == Some(Promise::Failure);
    signals.completion = match (done, failed) {
        (_, true) => Completion::Failed,
        (true, false) => Completion::Done,
        (false, false) => Completion::Absent,
    };
    signals.contradicted = signals.completion == Completion::Done && completion::gives_up_at_the_end(text);
    signals
}

impl Signals {
    /// Takes in a signal that counts anywhere in the text; the first valid one of its kind stays.
    fn remember(&mut self, element: &Element<'_>, scope: &Scope<'_>) {
        let content = element.content.trim();
        match element.name {
            "next-model" if self.next_model.is_none() => {
                let mut ladder = scope.ladder.iter();
                self.next_model = ladder.find(|model| model.eq_ignore_ascii_case(content)).cloned();
            }
            "failure-report" if self.failure_report.is_none() => {
                self.failure_report = report::read(element.content);
            }
            "learning" if self.learnings.len() < limits::LEARNINGS => {
                self.learnings.extend(learning(element));
            }
            "difficulty-estimate" if self.difficulty.is_none() => {
                self.difficulty = Difficulty::parse(content.trim());
            }
            "retry-suggestion" if self.retry_suggestion.is_none() && !is_placeholder(content) => {
                self.retry_suggestion = Some(cut(content, limits::SUGGESTION_CHARS));
            }
            "no-change-needed" if self.no_change_needed.is_none() && !is_placeholder(content) => {
                self.no_change_needed = Some(cut(content, limits::REASON_CHARS));
            }
            _ => {}
        }
    }
}

/// `None` where category, tags or content are missing or placeholders.
fn learning(element: &Element<'_>) -> Option<LearningSignal> {
    let attribute = |wanted: &str| {
        let mut attributes = element.attributes.iter();
        attributes.find(|(name, _)| *name == wanted).map(|(_, value)| *value)
    };
    let category = attribute("category").filter(|value| !is_placeholder(value))?;
    let tags = attribute("tags")?.split(',');
    let tags = list(tags, limits::TAGS, limits::TAG_CHARS);
    (!tags.is_empty() && !is_placeholder(element.content)).then(|| LearningSignal {
        category: cut(category, limits::CATEGORY_CHARS),
        tags,
        content: cut(element.content, limits::LEARNING_CHARS),
    })
}

/// Field descriptions an agent may have been shown, here or by another program's prompt, and give back
/// as they are. Anything wholly in angle brackets, as in `templates/rules.md`, needs no entry.
const DESCRIPTIONS: [&str; 6] = [
    "Brief description of approach taken (1-2 sentences)",
    "Root cause analysis (1-2 sentences)",
    "First 3-5 lines of error output or stack trace",
    "src/path/to/file.rs, src/another/file.rs",
    "X.Y",
    "Why this modification is needed",
];

/// Whether a value says nothing of its own: empty, dots, `<a description>`, or one known from a prompt.
fn is_placeholder(value: &str) -> bool {
    let value = value.trim_matches(|c: char| c.is_whitespace() || c == '`');
    let dots = value.chars().all(|c| c == '.' || c == '…');
    let inner = value.strip_prefix('<').and_then(|inner| inner.strip_suffix('>'));
    dots || inner.is_some_and(|inner| !inner.contains(['<', '>'])) || DESCRIPTIONS.contains(&value)
}

/// The trimmed value, if it is neither a placeholder nor a word for nothing.
fn given(value: &str) -> Option<&str> {
    let value = value.trim();
    let mut nothing = ["none", "n/a", "-", "null"].iter();
    let says_nothing = nothing.any(|none| value.eq_ignore_ascii_case(none));
    (!says_nothing && !is_placeholder(value)).then_some(value)
}

/// The trimmed start of `text` without secrets, at most `max_chars` long.
fn cut(text: &str, max_chars: usize) -> String {
    cut_words(&mask_secrets(text.trim()), max_chars).into_owned()
}

/// The trimmed, shortened parts of a list that are not placeholders, each once.
fn list<'a>(parts: impl Iterator<Item = &'a str>, max_items: usize, max_chars: usize) -> Vec<String> {
    let mut known = HashSet::new();
    parts
        .map(|part| cut(part, max_chars))
        .filter(|item| !is_placeholder(item) && known.insert(item.clone()))
        .take(max_items)
        .collect()
}

#[cfg(test)]
mod tests;
