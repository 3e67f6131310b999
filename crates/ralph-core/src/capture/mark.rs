//! What a failure is recognised by: from the gate's output, else the report's trace, else what the agent said.

use crate::agent::Ending;
use crate::diagnose::{Fingerprint, fingerprint, reports_error};
use crate::evidence::{Evidence, GateView, Verdict};
use crate::model::{ErrorType, FailureMark, GateOutcome, MarkSource, Outcome, ReportRow};
use crate::text::without_signals;

/// The mark of a counted failure. One that said nothing at all is recognised by how it ended; but not a timeout, which
/// shows nothing of the cause.
pub fn mark(evidence: &Evidence<'_>, verdict: &Verdict, report: &ReportRow) -> Option<FailureMark> {
    if let GateView::Ran(gate) = evidence.gate
        && gate.outcome != GateOutcome::Passed
        && let Some(found) = &gate.diagnosis.fingerprint
    {
        return Some(mark_of(found.clone(), MarkSource::Gate));
    }
    // A crash that is explained is recognized by that, not by what the agent said before.
    let fault = match &evidence.report.ending {
        Ending::Faulted { message, .. } if verdict.error_type == Some(ErrorType::Crash) => {
            Some(message.as_str()).filter(|message| reports_error(message))
        }
        Ending::Faulted { .. } | Ending::Completed => None,
    };
    let said = without_signals(&evidence.report.result_text);
    let reason = Some(report.why_it_failed.as_str()).filter(|_| !report.auto);
    let trace = report.stack_trace_snippet.as_deref();
    [
        (trace, MarkSource::Trace),
        (fault, MarkSource::Text),
        (Some(said.as_ref()), MarkSource::Text),
        (reason, MarkSource::Text),
    ]
    .into_iter()
    .find_map(|(text, source)| Some(mark_of(fingerprint(text?)?, source)))
    .or_else(|| silent(verdict))
}

fn silent(verdict: &Verdict) -> Option<FailureMark> {
    let how = match (verdict.outcome, &verdict.error_type) {
        (Outcome::NoSigil, _) => "error: the agent ended without output",
        (Outcome::Error, Some(ErrorType::Crash)) => "error: the agent crashed without output",
        _ => return None,
    };
    Some(mark_of(fingerprint(how)?, MarkSource::Text))
}

/// The mark that a fingerprint makes.
pub fn mark_of(found: Fingerprint, source: MarkSource) -> FailureMark {
    FailureMark {
        source,
        coarse: found.coarse,
        fine: found.fine,
        failing: found.failing,
    }
}
