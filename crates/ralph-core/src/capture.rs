//! What an attempt leaves behind: the report of a failure, what it is recognized by, what was learned. Pure; the store
//! writes it.

mod actions;

use actions::last_actions;

use crate::agent::Ending;
use crate::decide::NOT_COMMITTED;
use crate::diagnose::{Diagnosis, Fingerprint, diagnose, fingerprint, reports_error};
use crate::evidence::{Evidence, Verdict};
use crate::model::{
    ErrorType, FailureMark, GateOutcome, GateRecord, MarkSource, NewLearning, Outcome, ReportRow,
};
use crate::signals::{LearningSignal, Signals};
use crate::text::neutral::inert_prose;
use crate::text::{cut_words, mask_secrets, one_line, without_signals};

const ERROR_CHARS: usize = 500;
/// How much of the result text a report of Ralph's own shows.
const EXCERPT_CHARS: usize = 200;
pub(crate) const NOTHING_KNOWN: &str = "Task failed (no structured report)";

/// The report of a counted failure, and what it is recognized by. Secrets are masked.
pub fn failure(
    evidence: &Evidence,
    verdict: &Verdict,
    files_changed: &[String],
) -> (ReportRow, Option<FailureMark>) {
    let signals = &evidence.session.signals;
    let said = diagnose(&without_signals(&evidence.session.report.result_text));
    let own = of_agent(signals).filter(|_| verdict.error_type != Some(ErrorType::ReviewRejected));
    let mut row = own.unwrap_or_else(|| of_ralph(evidence, verdict, &said));
    for file in files_changed {
        let is_it = |named: &String| named.strip_prefix("./").unwrap_or(named) == file;
        if !row.relevant_files.iter().any(is_it) {
            row.relevant_files.push(file.clone());
        }
    }
    if row.auto && row.what_was_tried.is_empty() {
        row.what_was_tried = changed(files_changed);
    }
    row.retry_suggestion = retry_suggestion(evidence, verdict);
    let row = masked(row);
    let mark = match verdict.error_type {
        // A gate that passed and words of praise are no signs of this failure.
        Some(ErrorType::ReviewRejected) => None,
        _ => mark(evidence, verdict, &row, said),
    };
    (row, mark)
}

/// What the next attempt should do: what a reviewer wants, which files to leave alone, and what the agent suggests.
fn retry_suggestion(evidence: &Evidence, verdict: &Verdict) -> Option<String> {
    let mut parts = Vec::new();
    if verdict.error_type == Some(ErrorType::ReviewRejected)
        && let Some(review) = evidence.integrity.rejection()
    {
        let findings: Vec<String> = review.findings.iter().map(|finding| format!("- {finding}")).collect();
        parts.push(format!("Fix what the review found:\n{}", findings.join("\n")));
    } else {
        parts.extend(evidence.session.signals.retry_suggestion.clone());
    }
    if let Some(tampering) = &evidence.integrity.tampering {
        let files = tampering.files.iter().map(|file| format!("- {file}\n{}", indented(&file.diff)));
        parts.push(format!(
            "Leave protected files as they are. Ralph put back what this attempt changed of them:\n{}",
            files.collect::<String>().trim_end()
        ));
    }
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("      {line}\n")).collect()
}

/// From the gate's output, else the report's trace, else what the agent said. A failure that said nothing at all is
/// recognized by how it ended; but not a timeout, which shows nothing of the cause.
fn mark(evidence: &Evidence, verdict: &Verdict, report: &ReportRow, said: Diagnosis) -> Option<FailureMark> {
    if let Some(gate) = evidence.check()
        && gate.outcome != GateOutcome::Passed
        // A crash is recognized by its own words.
        && verdict.outcome != Outcome::Error
        && let Some(found) = &gate.diagnosis.fingerprint
    {
        return Some(mark_of(found.clone(), MarkSource::Gate));
    }
    // A crash that is explained is recognized by that, not by what the agent said before.
    let fault = match &evidence.session.report.ending {
        Ending::Faulted { message, .. } if verdict.error_type == Some(ErrorType::Crash) => {
            Some(message.as_str()).filter(|message| reports_error(message))
        }
        Ending::Faulted { .. } | Ending::Completed => None,
    };
    if let Some(trace) = report.stack_trace_snippet.as_deref().and_then(fingerprint) {
        return Some(mark_of(trace, MarkSource::Trace));
    }
    let reason = || Some(report.why_it_failed.as_str()).filter(|_| !report.auto);
    let silent = || match (verdict.outcome, &verdict.error_type) {
        (Outcome::NoSigil, _) => Some("error: the agent ended without output"),
        (Outcome::Error, Some(ErrorType::Crash)) => Some("error: the agent crashed without output"),
        _ => None,
    };
    let found = fault
        .and_then(fingerprint)
        .or(said.fingerprint)
        .or_else(|| reason().and_then(fingerprint))
        .or_else(|| silent().and_then(fingerprint))?;
    Some(mark_of(found, MarkSource::Text))
}

pub fn mark_of(found: Fingerprint, source: MarkSource) -> FailureMark {
    FailureMark { source, coarse: found.coarse, fine: found.fine, failing: found.failing }
}

/// What is known of an attempt whose agent tells nothing of itself.
fn changed(files: &[String]) -> String {
    const NAMED: usize = 3;
    let more = match files.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named: Vec<&str> = files.iter().take(NAMED).map(String::as_str).collect();
    if named.is_empty() {
        return String::new();
    }
    let named = named.join(", ");
    format!("Changed {named}{more}. The agent did not say what else it did.")
}

/// The report of a counted attempt that was lost.
pub fn lost_report() -> ReportRow {
    ReportRow {
        why_it_failed: "Ralph crashed during three attempts in a row.".into(),
        error_category: Some("unknown".into()),
        auto: true,
        ..ReportRow::default()
    }
}

/// The report of a parent whose children are done but whose own gate does not pass.
pub fn parent_gate_report(gate: &GateRecord, verdict: &Verdict) -> ReportRow {
    masked(ReportRow {
        what_was_tried: "All subtasks are done.".into(),
        why_it_failed: gate_error(gate, verdict),
        error_category: Some("test_failure".into()),
        stack_trace_snippet: shown_output(gate),
        auto: true,
        ..ReportRow::default()
    })
}

/// What the agent learned, ready to be stored.
pub fn learnings(signals: &[LearningSignal]) -> Vec<NewLearning> {
    let mask = |text: &String| mask_secrets(text).into_owned();
    signals
        .iter()
        .map(|signal| NewLearning {
            category: mask(&signal.category),
            title: None,
            // As it will stand in AGENTS.md, so that what is read back from there is the same learning.
            content: inert_prose(&mask_secrets(&signal.content)),
            tags: signal.tags.iter().map(mask).collect(),
        })
        .collect()
}

/// A `<failure-report>`, else a FAILED block.
fn of_agent(signals: &Signals) -> Option<ReportRow> {
    if let Some(report) = &signals.failure_report {
        return Some(ReportRow {
            what_was_tried: report.what_tried.clone(),
            why_it_failed: report.why_failed.clone(),
            error_category: Some(report.error_category.clone()),
            relevant_files: report.relevant_files.clone(),
            stack_trace_snippet: report.stack_trace.clone(),
            ..ReportRow::default()
        });
    }
    let block = signals.failed_block.as_ref()?;
    Some(ReportRow {
        what_was_tried: block.attempted_fix.clone().unwrap_or_else(|| "No fix attempted".into()),
        why_it_failed: block.error.clone().unwrap_or_else(|| "Task execution failed".into()),
        error_category: Some("unknown".into()),
        ..ReportRow::default()
    })
}

/// Where the agent wrote none: its reason, its structured error, the gate, an error-looking line, a plain sentence.
fn of_ralph(evidence: &Evidence, verdict: &Verdict, said: &Diagnosis) -> ReportRow {
    let report = &evidence.session.report;
    let mut row = ReportRow {
        what_was_tried: last_actions(&report.actions),
        excerpt: excerpt(&report.result_text),
        error_category: Some("unknown".into()),
        auto: true,
        ..ReportRow::default()
    };
    if verdict.error_type == Some(ErrorType::ReviewRejected) {
        row.why_it_failed = cut(verdict.message.as_deref().unwrap_or("the review rejected the work"));
        row.error_category = Some("review_rejected".into());
    } else if let Some(reason) = &evidence.session.signals.failure_reason {
        row.why_it_failed = cut(reason);
    } else if let Some(error) = structured_error(evidence, verdict) {
        row.why_it_failed = cut(&error);
        if matches!(verdict.error_type, Some(ErrorType::Timeout | ErrorType::IdleTimeout)) {
            row.error_category = Some("timeout".into());
        }
    } else if let Some(why) = green_without_signal(evidence, verdict) {
        row.why_it_failed = cut(why);
    } else if let Some(gate) = evidence.check() {
        row.relevant_files = gate.diagnosis.files();
        row.why_it_failed = gate_error(gate, verdict);
        let is_tampered = verdict.error_type == Some(ErrorType::Tampered);
        row.error_category = Some(if is_tampered { "tampered" } else { "test_failure" }.into());
        row.stack_trace_snippet = shown_output(gate);
    } else if let Some(line) = &said.error_line {
        row.relevant_files = said.files();
        row.why_it_failed = cut(line);
    } else {
        row.why_it_failed = NOTHING_KNOWN.into();
    }
    row
}

/// Why an attempt failed whose gate passed: only its signal is missing.
fn green_without_signal<'v>(evidence: &Evidence, verdict: &'v Verdict) -> Option<&'v str> {
    let passed = |gate: &GateRecord| gate.outcome == GateOutcome::Passed;
    evidence.check().filter(|gate| passed(gate))?;
    verdict.message.as_deref()
}

fn structured_error(evidence: &Evidence, verdict: &Verdict) -> Option<String> {
    // How an agent that took too long was ended says nothing.
    if let Some(ErrorType::Timeout | ErrorType::IdleTimeout) = verdict.error_type {
        return verdict.message.clone();
    }
    match &evidence.session.report.ending {
        Ending::Faulted { message, .. } => Some(message.clone()),
        Ending::Completed => None,
    }
}

fn gate_error(gate: &GateRecord, verdict: &Verdict) -> String {
    let said = verdict.message.as_deref().unwrap_or("the gate failed");
    match gate.headline() {
        Some(line) => {
            let said = format!(" ({said})");
            let room = ERROR_CHARS.saturating_sub(said.chars().count());
            cut_words(&mask_secrets(&line), room).into_owned() + &said
        }
        None if !gate.output_tail.trim().is_empty() => said.to_owned(),
        // What follows the end of the gate is another sentence.
        None => match said.split_once(&format!("` {}", gate.ended)) {
            Some((gate_name, rest)) => format!("{gate_name}` {} and printed nothing{rest}", gate.ended),
            None => format!("{said} and printed nothing"),
        },
    }
}

/// An error without what Ralph adds about the check that printed it.
pub fn bare_error(why_it_failed: &str) -> &str {
    let added =
        [" (the gate `".to_owned(), " (the project's gate `".to_owned(), format!(" ({NOT_COMMITTED}")];
    let end = added.iter().filter_map(|added| why_it_failed.find(added)).min();
    why_it_failed.get(..end.unwrap_or(why_it_failed.len())).unwrap_or(why_it_failed)
}

/// The failing tests' own lines, else what stands around the error, else the end of the output.
fn shown_output(gate: &GateRecord) -> Option<String> {
    let own = gate.diagnosis.error_output(ERROR_CHARS);
    own.or_else(|| Some(telling_end(&gate.output_tail))).filter(|text| !text.is_empty())
}

/// The end of an output, from a line's beginning.
fn telling_end(output: &str) -> String {
    let skip = output.chars().count().saturating_sub(ERROR_CHARS);
    let end: String = output.chars().skip(skip).collect();
    match end.split_once('\n') {
        Some((_, rest)) if skip > 0 && !rest.trim().is_empty() => rest.trim().to_owned(),
        _ => end.trim().to_owned(),
    }
}

fn excerpt(text: &str) -> Option<String> {
    let start: String = mask_secrets(text.trim()).chars().take(EXCERPT_CHARS).collect();
    (!start.is_empty()).then_some(start)
}

fn cut(text: &str) -> String {
    cut_words(&mask_secrets(text.trim()), ERROR_CHARS).into_owned()
}

fn masked(row: ReportRow) -> ReportRow {
    let mask = |text: String| mask_secrets(&text).into_owned();
    ReportRow {
        what_was_tried: mask(row.what_was_tried),
        why_it_failed: mask(row.why_it_failed),
        error_category: row.error_category.map(|text| one_line(&text, 64)),
        relevant_files: row.relevant_files.into_iter().map(mask).collect(),
        stack_trace_snippet: row.stack_trace_snippet.map(mask),
        retry_suggestion: row.retry_suggestion.map(mask),
        excerpt: row.excerpt.map(mask),
        auto: row.auto,
    }
}
