//! Builders and observers that keep the tests short.

use crate::memory::prompt::{
    Limits, LoopStatus, Memory, ParentPart, PastAttempt, PhaseFailure, Prerequisite, RenderedMemory,
    TaskPart, Template, render_memory, render_task,
};
use crate::memory::recall::Candidate;
use crate::model::ReportRow;

pub(super) const NOTE: &str = "_(Earlier attempts truncated due to context budget)_";
pub(super) const TRUNCATED: &str = "_(truncated)_";
pub(super) const SUGGESTED: &str = "**Suggested approach for this retry:**\n";

pub(super) fn task(id: &str, title: &str, description: &str) -> TaskPart {
    TaskPart {
        id: id.to_owned(),
        title: title.to_owned(),
        description: description.to_owned(),
        ..TaskPart::default()
    }
}

pub(super) fn parent(title: &str, description: &str) -> Option<ParentPart> {
    Some(ParentPart { title: title.to_owned(), description: description.to_owned() })
}

pub(super) fn done(id: &str, title: &str, summary: Option<&str>) -> Prerequisite {
    Prerequisite { id: id.to_owned(), title: title.to_owned(), summary: summary.map(str::to_owned) }
}

pub(super) fn attempt(number: u32, model: &str, report: Option<ReportRow>) -> PastAttempt {
    PastAttempt { number, model: model.to_owned(), outcome: "failed".to_owned(), duration_ms: 61_000, report }
}

pub(super) fn report(tried: &str, why: &str, category: &str) -> ReportRow {
    ReportRow {
        what_was_tried: tried.to_owned(),
        why_it_failed: why.to_owned(),
        error_category: Some(category.to_owned()),
        ..ReportRow::default()
    }
}

pub(super) fn learning(id: &str, category: &str, content: &str) -> Candidate {
    Candidate {
        id: id.to_owned(),
        category: category.to_owned(),
        content: content.to_owned(),
        ..Candidate::default()
    }
}

pub(super) fn failure(key: &str, time: &str, error: &str) -> PhaseFailure {
    PhaseFailure { key: key.to_owned(), time: time.to_owned(), error: error.to_owned() }
}

pub(super) fn status(attempt: u32, failures: u32) -> LoopStatus {
    LoopStatus {
        iteration: 7,
        limit: Some(20),
        attempt,
        consecutive_failures: failures,
        run_successes: 4,
        run_total: 6,
        model: "sonnet".to_owned(),
        rationale: "default, cost-optimized strategy".to_owned(),
        stuck: false,
        further_lines: Vec::new(),
        may_change_plan: false,
    }
}

/// `count` failed attempts, each with `length` characters of approach.
pub(super) fn long_attempts(count: u32, length: usize) -> Vec<PastAttempt> {
    let tried = |n: u32| words(&format!("way{n}"), length);
    (1..=count).map(|n| attempt(n, "haiku", Some(report(&tried(n), "it broke", "logic_error")))).collect()
}

/// A text of about `length` characters.
pub(super) fn words(word: &str, length: usize) -> String {
    let mut text = String::new();
    while text.len() + word.len() < length {
        text.push_str(word);
        text.push(' ');
    }
    text.push_str(word);
    text
}

pub(super) fn render(memory: &Memory) -> RenderedMemory {
    render_memory(memory, &Limits::default())
}

pub(super) fn render_in(memory: &Memory, budget_chars: usize) -> RenderedMemory {
    render_memory(memory, &Limits { budget_chars, ..Limits::default() })
}

pub(super) fn prompt(task: &TaskPart, memory: &Memory) -> String {
    render_task(task, &render(memory).text, &Template::built_in_task().unwrap()).unwrap()
}

/// The section with this title, from its blank line to the next section, in characters.
pub(super) fn section_size(text: &str, title: &str) -> usize {
    let mark = format!("\n### {title}\n");
    let Some(start) = text.find(&mark) else { return 0 };
    let rest = &text[start + 1..];
    let end = rest.find("\n### ").map_or(text.len(), |end| start + 1 + end);
    text[start..end].chars().count()
}
