//! What the word done rests on.

use crate::evidence::{Evidence, Verdict};
use crate::gate::Tampered;
use crate::model::{Baseline, Level, Outcome, ReviewVerdict, Verification};
use crate::text::code_line;

/// What an attempt that ended like this rests on.
pub fn verification(
    verdict: &Verdict,
    evidence: &Evidence,
    has_own_gate: bool,
    green_before: Option<bool>,
) -> Verification {
    let baseline = Baseline::from_green(green_before);
    let integrity = &evidence.integrity;
    let accepted = integrity.review().is_some_and(|review| review.verdict == ReviewVerdict::Accepted);
    let level = match verdict.outcome {
        Outcome::Done if evidence.gate_passed() && has_own_gate => Level::Gate,
        Outcome::Done if evidence.gate_passed() => Level::Project,
        Outcome::Done if accepted => Level::Review,
        _ => Level::None,
    };
    Verification {
        level,
        baseline,
        already_green: level.is_verified() && baseline == Baseline::Green,
        flaky: evidence.gate_record().is_some_and(|gate| gate.flaky),
        protected: integrity.tampering.iter().flat_map(|tampering| &tampering.files).map(path).collect(),
        weakened: integrity.weakened.clone(),
        review: integrity.review().cloned(),
        ..Verification::default()
    }
}

fn path(file: &Tampered) -> String {
    code_line(&file.path, 200)
}
