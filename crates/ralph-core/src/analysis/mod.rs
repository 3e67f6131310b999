//! The failure analysis: what the newest failures have in common, and what to do about it. Pure.
//!
//! Everything in a [`Fact`] may come from an agent, so every line is one clean, bounded line.

mod common;
mod failures;
mod suggestion;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::one_line;
use failures::Failures;

const NO_FAILURES: &str = "no failures";

/// Longer ones are not phases, keys, models or error types.
const NAME_CHARS: usize = 40;

/// A counted failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fact {
    /// The task's key or id: equal means the same task.
    pub task: String,
    /// The name its author gave it.
    pub key: Option<String>,
    pub phase: Option<String>,
    pub model: String,
    /// What kind of failure it was, such as `test_failure`, `timeout` or `crash`.
    pub error_type: Option<String>,
    /// `failed`, `no_sigil` or `error`.
    pub outcome: String,
    /// The coarse fingerprint: equal means the same failure.
    pub coarse: Option<String>,
    /// Why it failed, in one or more lines.
    pub message: String,
    /// Files the report names, then files the attempt changed.
    pub files: Vec<String>,
    /// The verify command that failed.
    pub gate: Option<String>,
    pub failing: Vec<String>,
}

impl Fact {
    fn is_error_type(&self, wanted: &[&str]) -> bool {
        self.error_type.as_deref().is_some_and(|own| wanted.contains(&own))
    }

    /// What kind of failure it was, in a few words.
    fn kind(&self) -> String {
        let words = match (self.error_type.as_deref(), self.outcome.as_str()) {
            (Some("timeout" | "idle_timeout"), _) => "timed out",
            (Some("crash"), _) => "the agent crashed",
            (Some("tampered"), _) => "the attempt changed protected files",
            (Some("review_rejected"), _) => "the review rejected the work",
            (Some("commit_refused"), _) => "the commit was refused",
            (Some(other), _) if !other.trim().is_empty() => other,
            (_, "no_sigil") => "ended without reporting a result",
            (_, "") => "failed",
            (_, outcome) => outcome,
        };
        one_line(words, NAME_CHARS)
    }
}

/// What stands around the failures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Recent failures that count against no task, by `error_type`, and how often.
    pub recent_uncounted: Vec<(String, u32)>,
    /// The agent's models, cheapest first.
    pub ladder: Vec<String>,
    /// How long an attempt may take; 0 is less than a minute.
    pub attempt_timeout_minutes: u64,
    /// Whether failed tasks get fix tasks.
    pub recovery: bool,
}

/// What was found. As JSON this is `ralph analyze --json`, so the names of its fields stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Analysis {
    /// How many failures were looked at.
    pub failures: usize,
    /// The commonest error and how often it came.
    pub pattern: Option<String>,
    /// The commonest file and how often it was named or changed.
    pub affected: Option<String>,
    /// The phase or key prefix that the failing tasks share.
    pub shared: Option<String>,
    /// The models tried, and whether that was an escalation.
    pub models: Option<String>,
    pub suggestion: String,
}

impl Analysis {
    /// Whether nothing has failed, counted or not.
    pub fn is_empty(&self) -> bool {
        self.pattern.as_deref() == Some(NO_FAILURES)
    }

    /// The text line by line: the heading, then what was found, the suggestion last.
    pub fn lines(&self) -> Vec<String> {
        let found = [
            ("Pattern", self.pattern.as_deref()),
            ("Affected", self.affected.as_deref()),
            ("Shared", self.shared.as_deref()),
            ("Models", self.models.as_deref()),
            ("Suggestion", Some(self.suggestion.as_str())),
        ];
        let lines = found.into_iter().filter_map(|(label, value)| Some(format!("  {label}: {}", value?)));
        std::iter::once("Failure Analysis:".to_owned()).chain(lines).collect()
    }
}

impl fmt::Display for Analysis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}

/// What the failures, newest first, have in common, and a suggestion that follows from it.
pub fn analyze(facts: &[Fact], around: &Surroundings) -> Analysis {
    let failures = Failures::new(facts, around);
    Analysis {
        failures: facts.len(),
        pattern: Some(failures.pattern()),
        affected: common::affected(&failures.all),
        shared: common::shared(facts),
        models: Some(common::models_line(facts, &around.ladder)),
        suggestion: suggestion::suggestion(&failures),
    }
}
