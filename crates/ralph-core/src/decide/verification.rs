//! What the word done rests on.

use crate::evidence::{Evidence, Verdict};
use crate::gate::Tampered;
use crate::model::{GateOf, GateRecord, GateRun, Level, Outcome, ReviewVerdict, Verification};
use crate::text::{code_line, mask_secrets, one_line};

/// How much of a reason for changing nothing is shown.
const REASON_CHARS: usize = 300;

/// What an attempt that ended like this rests on.
pub fn verification(verdict: &Verdict, evidence: &Evidence) -> Verification {
    let reason = evidence.session.signals.no_change_needed.as_deref().filter(|_| evidence.changed_nothing());
    let integrity = &evidence.integrity;
    let is_done = verdict.outcome == Outcome::Done;
    let of_gates = of_gates(is_done, evidence.gates());
    let accepted = integrity.review().is_some_and(|review| review.verdict == ReviewVerdict::Accepted);
    Verification {
        level: if is_done && accepted && of_gates.level == Level::None {
            Level::Review
        } else {
            of_gates.level
        },
        protected: integrity.tampering.iter().flat_map(|tampering| &tampering.files).map(path).collect(),
        weakened: integrity.weakened.clone(),
        review: integrity.review().cloned(),
        no_change_needed: reason.map(|reason| one_line(&mask_secrets(reason), REASON_CHARS)),
        ..of_gates
    }
}

/// What these gates show, in the order in which they ran. The first of them is the task's where it has one.
pub fn of_gates<'g>(is_done: bool, gates: impl Iterator<Item = &'g GateRecord>) -> Verification {
    let gates: Vec<GateRun> = gates.map(GateRecord::evidence).collect();
    let mut passed = gates.iter().filter(|gate| gate.outcome.passed());
    let own = gates.iter().find(|gate| gate.of != GateOf::Always);
    let is_judged_by_other = own.is_some_and(|own| !own.outcome.passed());
    let judge = passed.next().filter(|_| is_done && !is_judged_by_other);
    let level = match judge.map(|gate| gate.of) {
        Some(GateOf::Task) => Level::Gate,
        Some(GateOf::Default | GateOf::Always) => Level::Project,
        None => Level::None,
    };
    Verification {
        level,
        baseline: gates.first().map(|gate| gate.baseline.result).unwrap_or_default(),
        already_green: judge.is_some_and(GateRun::is_already_green),
        flaky: gates.iter().any(|gate| gate.flaky),
        gates,
        ..Verification::default()
    }
}

fn path(file: &Tampered) -> String {
    code_line(&file.path, 200)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Baseline, BaselineRun, GateOutcome, TestCounts};

    fn ran(of: GateOf, outcome: GateOutcome) -> GateRecord {
        GateRecord { of, ..GateRecord::new("check", outcome, "ended") }
    }

    #[test]
    fn the_gate_that_passed_gives_the_level() {
        use GateOf::{Always, Default, Task};
        use GateOutcome::{Failed, FailedDifferently, Passed};
        for (gates, level) in [
            (vec![(Task, Passed)], Level::Gate),
            (vec![(Task, Passed), (Always, Passed)], Level::Gate),
            (vec![(Task, Passed), (Always, Failed)], Level::Gate),
            (vec![(Default, Passed)], Level::Project),
            (vec![(Always, Passed)], Level::Project),
            (vec![(Always, Failed)], Level::None),
            // A fix task whose original still fails.
            (vec![(Task, FailedDifferently), (Always, Passed)], Level::None),
            (vec![], Level::None),
        ] {
            let records: Vec<GateRecord> = gates.iter().map(|(of, outcome)| ran(*of, *outcome)).collect();
            assert_eq!(of_gates(true, records.iter()).level, level, "{gates:?}");
            assert_eq!(of_gates(false, records.iter()).level, Level::None, "{gates:?}");
        }
    }

    #[test]
    fn a_gate_that_was_green_before_shows_little_unless_there_are_more_tests() {
        let tests = |collected| Some(TestCounts { collected, passed: collected, ..TestCounts::default() });
        for (result, before, after, already_green) in [
            (Baseline::Green, None, None, true),
            (Baseline::Green, tests(3), tests(3), true),
            (Baseline::Green, tests(3), tests(2), true),
            (Baseline::Green, tests(3), tests(4), false),
            (Baseline::Green, None, tests(4), true),
            (Baseline::Red, tests(3), tests(3), false),
            (Baseline::Unknown, None, None, false),
        ] {
            let mut record = ran(GateOf::Task, GateOutcome::Passed);
            record.baseline = BaselineRun { result, tests: before, failing: Vec::new() };
            record.diagnosis.tests = after;
            let found = of_gates(true, std::iter::once(&record));
            assert_eq!((found.already_green, found.baseline), (already_green, result));
        }
    }
}
