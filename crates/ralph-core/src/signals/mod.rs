//! Signals: what the agent says in its final text for Ralph to read.
//!
//! [`parse`] is tolerant and total: any text gives an answer, in time linear in its length, and a
//! signal that is unclosed, empty or malformed is passed over without touching the others.

mod completion;
mod contradiction;
mod learning;
pub mod limits;
mod placeholder;
mod report;

use serde::Serialize;

use crate::model::Difficulty;
use crate::text::{Element, Quotations, elements};
use limits::cut;
use placeholder::is_placeholder;

pub use completion::FailedBlock;
pub use learning::LearningSignal;
pub use report::{FailureReport, clip_trace};

/// Whose signals count: the task being attempted and the models it may ask for.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// The task's id.
    pub task_id: &'a str,
    /// The task's key, where it has one.
    pub task_key: Option<&'a str>,
    /// The agent's models, cheapest first.
    pub ladder: &'a [String],
}

impl Scope<'_> {
    /// Whether `name` is this task's id or key.
    fn names(&self, name: &str) -> bool {
        !name.is_empty() && (name == self.task_id || Some(name) == self.task_key)
    }
}

/// What the agent says about the end of its attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// Nothing.
    #[default]
    Absent,
    /// The task is done. The gate still decides.
    Done,
    /// The task failed, whatever else the text says.
    Failed,
}

/// A word about the whole run.
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
    /// A word about the whole run.
    pub promise: Option<Promise>,
    /// The model asked for the next attempt, as the ladder spells it.
    pub next_model: Option<String>,
    /// The first valid report.
    pub failure_report: Option<FailureReport>,
    /// All valid learnings, in order, up to the limit.
    pub learnings: Vec<LearningSignal>,
    /// The first valid estimate.
    pub difficulty: Option<Difficulty>,
    /// The first suggestion that says something.
    pub retry_suggestion: Option<String>,
    /// The first FAILED block of this task.
    pub failed_block: Option<FailedBlock>,
    /// The first `FAILURE_REASON` that says something.
    pub failure_reason: Option<String>,
}

/// Reads every signal of `text` that concerns the task in `scope`.
#[must_use]
pub fn parse(text: &str, scope: &Scope<'_>) -> Signals {
    let mut signals = Signals::default();
    let mut said = completion::Said::default();
    let quotations = quotations(text);
    for element in elements(text) {
        match element.name {
            "task-done" | "task-failed" | "promise" if quotations.cover(element.span.start) => {}
            "task-done" | "task-failed" | "promise" => said.element(text, &element, scope),
            _ => signals.remember(&element, scope),
        }
    }
    said.lines(text, &quotations, scope);

    let stops = said.promise == Some(Promise::Failure);
    signals.completion = match (
        said.done,
        said.failed || said.failure_reason.is_some() || stops,
    ) {
        (_, true) => Completion::Failed,
        (true, false) => Completion::Done,
        (false, false) => Completion::Absent,
    };
    signals.contradicted =
        signals.completion == Completion::Done && contradiction::contradicts(text);
    signals.promise = said.promise;
    signals.failed_block = said.failed_block;
    signals.failure_reason = said.failure_reason;
    signals
}

/// The parts of `text` where completion, promise and plan-change signals are only quoted.
#[must_use]
pub fn quotations(text: &str) -> Quotations {
    Quotations::of(text, completion::is_only_signals)
}

impl Signals {
    /// Takes in a signal that counts anywhere in the text; the first valid one of its kind stays.
    fn remember(&mut self, element: &Element<'_>, scope: &Scope<'_>) {
        let content = element.content.trim();
        match element.name {
            "next-model" if self.next_model.is_none() => {
                self.next_model = scope
                    .ladder
                    .iter()
                    .find(|model| model.eq_ignore_ascii_case(content))
                    .cloned();
            }
            "failure-report" if self.failure_report.is_none() => {
                self.failure_report = report::read(element.content);
            }
            "learning" if self.learnings.len() < limits::LEARNINGS => {
                self.learnings.extend(learning::read(element));
            }
            "difficulty-estimate" if self.difficulty.is_none() => {
                self.difficulty = Difficulty::parse(content);
            }
            "retry-suggestion" if self.retry_suggestion.is_none() && !is_placeholder(content) => {
                self.retry_suggestion = Some(cut(content, limits::SUGGESTION_CHARS));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
