//! What a failure is recognised by: from the gate's output, else the report's trace, else what the agent said.

use crate::evidence::{Evidence, GateView};
use crate::fingerprint::fingerprint;
use crate::model::{FailureMark, MarkSource, ReportRow};
use crate::text::without_signals;

/// The mark of a counted failure; none where nothing was said.
pub fn mark(evidence: &Evidence<'_>, report: &ReportRow) -> Option<FailureMark> {
    let gate = match evidence.gate {
        GateView::Ran(gate) => Some(gate.output.as_str()),
        _ => None,
    };
    let said = without_signals(&evidence.report.result_text);
    let trace = report.stack_trace_snippet.as_deref();
    [
        (gate, MarkSource::Gate),
        (trace, MarkSource::Trace),
        (Some(said.as_ref()), MarkSource::Text),
    ]
    .into_iter()
    .find_map(|(text, source)| mark_of(text?, source))
}

/// The mark of an output.
pub fn mark_of(output: &str, source: MarkSource) -> Option<FailureMark> {
    let found = fingerprint(output)?;
    Some(FailureMark {
        source,
        coarse: found.coarse,
        fine: found.fine,
        failing: found.failing,
    })
}
