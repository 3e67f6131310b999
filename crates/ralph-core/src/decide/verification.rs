//! What the word done rests on.

use crate::evidence::{Evidence, Verdict};
use crate::model::{Baseline, Level, Outcome, Verification};

/// What an attempt that ended like this rests on.
pub fn verification(
    verdict: &Verdict,
    evidence: &Evidence,
    has_own_gate: bool,
    green_before: Option<bool>,
) -> Verification {
    let baseline = Baseline::from_green(green_before);
    let level = match verdict.outcome {
        Outcome::Done if evidence.gate_passed() && has_own_gate => Level::Gate,
        Outcome::Done if evidence.gate_passed() => Level::Project,
        _ => Level::None,
    };
    Verification {
        level,
        baseline,
        already_green: level.is_verified() && baseline == Baseline::Green,
        flaky: evidence.gate_record().is_some_and(|gate| gate.flaky),
        ..Verification::default()
    }
}
