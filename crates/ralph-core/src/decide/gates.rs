//! What a gate's result says of an attempt, next to what it said before the task.

use crate::model::{Baseline, BaselineRun, GateOf, GateOutcome, GateRecord};

/// How many tests of one kind are named in what is stored.
const MOST_TESTS: usize = 50;

/// What a gate said before any work is done on a task.
pub fn baseline_of(record: &GateRecord) -> BaselineRun {
    let result = match record.outcome {
        GateOutcome::Passed => Baseline::Green,
        GateOutcome::Failed | GateOutcome::FailedDifferently => Baseline::Red,
        // Nothing is concluded from a gate that was ended or could not run.
        GateOutcome::TimedOut | GateOutcome::Broken => Baseline::Unknown,
    };
    let failing = record.diagnosis.failing().iter().take(MOST_TESTS).cloned();
    let failing = failing.filter(|_| result == Baseline::Red);
    BaselineRun { result, tests: record.diagnosis.tests, failing: failing.collect() }
}

/// The record of a gate that ran after the agent, compared with what it said before the task. The task's own gate has to
/// pass. The project's gate is not held against a task where it failed before, too, unless tests fail now that did not.
pub fn compared(mut record: GateRecord, baseline: Option<&BaselineRun>) -> GateRecord {
    record.baseline = baseline.cloned().unwrap_or_default();
    if record.passed() || record.outcome == GateOutcome::Broken {
        return record;
    }
    let before = &record.baseline;
    let is_new = |test: &&String| !before.failing.contains(test);
    let new = record.diagnosis.failing().iter().filter(is_new).take(MOST_TESTS).cloned();
    let named_before = !before.failing.is_empty();
    let regressions: Vec<String> = match before.result {
        Baseline::Green => new.collect(),
        // Where no test was named before, each of them may have failed then.
        Baseline::Red if named_before => new.collect(),
        Baseline::Red | Baseline::Unknown => Vec::new(),
    };
    let fails_as_before = match named_before {
        true => regressions.is_empty() && !record.diagnosis.failing().is_empty(),
        false => true,
    };
    record.excused = record.of == GateOf::Always && before.result == Baseline::Red && fails_as_before;
    record.regressions = regressions;
    if record.of == GateOf::Always {
        // What failed before is none of the task's business.
        let known = record.baseline.failing.clone();
        record.diagnosis = Box::new((*record.diagnosis).without_tests(&known));
    }
    record
}

/// What to tell of a gate that collects fewer tests than before the task.
pub fn fewer_tests(record: &GateRecord) -> Option<String> {
    let (before, after) = record.baseline.tests.zip(record.diagnosis.tests)?;
    let is_less = after.collected < before.collected && record.passed();
    let tests = if after.collected == 1 { "test" } else { "tests" };
    is_less.then(|| format!("{} {tests} collected, {} before the task", after.collected, before.collected))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::diagnose;
    use crate::model::TestCounts;

    fn ran(of: GateOf, outcome: GateOutcome, output: &str) -> GateRecord {
        let diagnosis = Box::new(diagnose(output).of_gate("check"));
        GateRecord { of, diagnosis, ..GateRecord::new("check", outcome, "exited with code 1") }
    }

    const A: &str = "FAILED t.py::a - x\n";
    const B: &str = "FAILED t.py::b - x\n";
    const NO_BUILD: &str = "error: could not compile\n";

    #[test]
    fn what_failed_before_is_not_held_against_a_task() {
        use GateOutcome::{Broken, Failed, Passed, TimedOut};
        let both = format!("{A}{B}");
        let regressed = |names: &[&str]| names.iter().map(|name| format!("t.py::{name}")).collect::<Vec<_>>();
        for (before, output_before, now, output, excused, regressions) in [
            (Passed, "", Failed, A, false, vec!["a"]),
            (Passed, "", Failed, NO_BUILD, false, vec![]),
            (Failed, A, Failed, A, true, vec![]),
            (Failed, &both, Failed, A, true, vec![]),
            (Failed, A, Failed, &both, false, vec!["b"]),
            // Its tests ran before, and now it does not build or does not end.
            (Failed, A, Failed, NO_BUILD, false, vec![]),
            (Failed, A, TimedOut, "", false, vec![]),
            // No test is known to have passed before.
            (Failed, NO_BUILD, Failed, A, true, vec![]),
            (Failed, NO_BUILD, Failed, NO_BUILD, true, vec![]),
            (TimedOut, "", Failed, A, false, vec![]),
            (Broken, "", Failed, A, false, vec![]),
            (Failed, A, Passed, "", false, vec![]),
            (Failed, A, Broken, "", false, vec![]),
        ] {
            let baseline = baseline_of(&ran(GateOf::Always, before, output_before));
            for of in [GateOf::Always, GateOf::Task, GateOf::Default] {
                let found = compared(ran(of, now, output), Some(&baseline));
                let told = format!("{of} {before} {output_before:?} then {now} {output:?}");
                assert_eq!(found.excused, excused && of == GateOf::Always, "{told}");
                assert_eq!(found.regressions, regressed(&regressions), "{told}");
            }
        }
        let unknown = compared(ran(GateOf::Always, Failed, A), None);
        assert_eq!((unknown.excused, unknown.baseline.result), (false, Baseline::Unknown));
    }

    #[test]
    fn a_gate_that_collects_fewer_tests_is_told() {
        let tests = |collected| Some(TestCounts { collected, ..TestCounts::default() });
        for (before, after, told) in [
            (3, 2, Some("2 tests collected, 3 before the task")),
            (2, 1, Some("1 test collected, 2 before the task")),
            (2, 2, None),
        ] {
            let mut record = ran(GateOf::Task, GateOutcome::Passed, "");
            record.baseline.tests = tests(before);
            record.diagnosis.tests = tests(after);
            assert_eq!(fewer_tests(&record).as_deref(), told);
        }
    }
}
