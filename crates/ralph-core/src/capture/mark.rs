//! What a failure is recognised by: from the gate's output, else the report's trace, else what the agent said.

use crate::evidence::{Evidence, GateView};
use crate::fingerprint::fingerprint;
use crate::model::{FailureMark, ReportRow};
use crate::text::without_signals;

/// The mark of a counted failure; none where nothing was said.
pub fn mark(evidence: &Evidence<'_>, report: &ReportRow) -> Option<FailureMark> {
    let gate = match evidence.gate {
        GateView::Ran(gate) => Some(gate.output_tail.as_str()),
        _ => None,
    };
    let said = without_signals(&evidence.report.result_text);
    gate.and_then(mark_of)
        .or_else(|| mark_of(report.stack_trace_snippet.as_deref()?))
        .or_else(|| mark_of(&said))
}

/// The mark of an output.
pub fn mark_of(output: &str) -> Option<FailureMark> {
    let found = fingerprint(output)?;
    Some(FailureMark {
        coarse: found.coarse,
        fine: found.fine,
        failing: found.failing,
    })
}
