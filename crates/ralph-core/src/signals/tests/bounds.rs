//! What holds for everything that was ever read out of a text.

use crate::signals::{Completion, FailedBlock, FailureReport, LearningSignal, Signals, limits};

/// Fails unless every value is there and within its limit.
#[track_caller]
pub(super) fn assert_bounded(found: &Signals) {
    assert!(
        is_bounded(found),
        "beyond a limit, or empty: {}",
        crate::text::one_line(&format!("{found:?}"), 4000)
    );
}

fn is_bounded(found: &Signals) -> bool {
    let Signals {
        completion,
        contradicted,
        promise: _,
        next_model: _,
        failure_report,
        learnings,
        difficulty: _,
        retry_suggestion,
        failed_block,
        failure_reason,
        no_change_needed,
    } = found;
    (!contradicted || *completion == Completion::Done)
        && (failed_block.is_none() && failure_reason.is_none() || *completion == Completion::Failed)
        && learnings.len() <= limits::LEARNINGS
        && learnings.iter().all(learning)
        && failure_report.iter().all(report)
        && failed_block.iter().all(block)
        && failure_reason.iter().all(|text| says(text, limits::FIELD_CHARS))
        && no_change_needed.iter().all(|text| says(text, limits::REASON_CHARS))
        && retry_suggestion.iter().all(|text| says(text, limits::SUGGESTION_CHARS))
}

fn learning(learning: &LearningSignal) -> bool {
    says(&learning.category, limits::CATEGORY_CHARS)
        && says(&learning.content, limits::LEARNING_CHARS)
        && !learning.tags.is_empty()
        && each_once(&learning.tags, limits::TAGS, limits::TAG_CHARS)
}

fn report(report: &FailureReport) -> bool {
    says(&report.what_tried, limits::FIELD_CHARS)
        && says(&report.why_failed, limits::FIELD_CHARS)
        && says(&report.error_category, limits::CATEGORY_CHARS)
        && !report.error_category.contains(['\n', '|'])
        && each_once(&report.relevant_files, limits::FILES, limits::FIELD_CHARS)
        && report.stack_trace.iter().all(|trace| says(trace, limits::TRACE_CHARS))
}

fn block(block: &FailedBlock) -> bool {
    let values = [&block.error, &block.attempted_fix, &block.status];
    says(&block.key, limits::FIELD_CHARS)
        && block.name.chars().count() <= limits::FIELD_CHARS
        && values.into_iter().flatten().all(|value| says(value, limits::FIELD_CHARS))
}

/// Whether a text is there, trimmed, and not too long.
fn says(text: &str, max_chars: usize) -> bool {
    !text.is_empty() && text.trim() == text && text.chars().count() <= max_chars
}

fn each_once(items: &[String], max_items: usize, max_chars: usize) -> bool {
    let repeats = |(at, item): (usize, &String)| items.iter().skip(at + 1).any(|i| i == item);
    items.len() <= max_items
        && items.iter().all(|item| says(item, max_chars))
        && !items.iter().enumerate().any(repeats)
}
