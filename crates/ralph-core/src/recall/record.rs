//! What a learning's record of helping or hurting does to its rank.

use super::weights::Weights;
use super::{Candidate, as_f64};
use crate::model::Record;

/// The record from -1 (always hurt) to 1 (always helped); 0 where nothing is known or where all went as expected.
///
/// What counts is how many tasks were done against how many were to be expected: failing on a task that mostly fails
/// says little against a learning. What helped is a share of all tasks, what hurt a share of those that were expected
/// done, so that always failing tells at any rate, only later where little was expected. Imagined undecided tasks hold
/// the record near 0 until there is evidence.
#[must_use]
pub fn record(record: &Record, weights: &Weights) -> f64 {
    let tasks = as_f64(record.tasks());
    let unjudged = as_f64(record.tasks().saturating_sub(record.judged));
    // Counters that no attempt explains were set by a file or by hand: an even chance.
    let expected = finite(record.expected).clamp(0.0, tasks - unjudged) + unjudged / 2.0;
    let difference = as_f64(record.helpful) - expected;
    let out_of = if difference < 0.0 { expected } else { tasks };
    difference / (out_of + weights.record_prior)
}

/// Whether the record is bad enough to show the learning no more: never a pinned one, and never before enough tasks
/// have judged it.
#[must_use]
pub fn withheld(candidate: &Candidate, weights: &Weights) -> bool {
    !candidate.pinned
        && candidate.record.tasks() >= weights.withhold_tasks
        && record(&candidate.record, weights) <= weights.withhold_record
}

/// What is believed of attempts before any was recorded, by the counted tries of the task before them; the last
/// stands for all from there on. Every failure makes the next success less likely.
const BELIEFS: [f64; 4] = [0.5, 0.38, 0.25, 0.15];
/// As many attempts as the belief is worth.
const BELIEF_ATTEMPTS: f64 = 2.0;

/// Attempts of one kind: how many were recorded, and how many of them ended done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All of them.
    pub attempts: u64,
    /// The done ones.
    pub done: u64,
}

/// Which kind an attempt is, by the counted tries of its task before it.
#[must_use]
pub fn kind_of_attempt(tries_before: u32) -> u32 {
    tries_before.min(3)
}

/// How often attempts like this one end done.
#[must_use]
pub fn base_rate(tries_before: u32, tally: Tally) -> f64 {
    let kind = usize::try_from(kind_of_attempt(tries_before)).unwrap_or(0);
    let belief = BELIEFS.get(kind).copied().unwrap_or(0.5);
    let done = as_f64(tally.done.min(tally.attempts));
    (done + belief * BELIEF_ATTEMPTS) / (as_f64(tally.attempts) + BELIEF_ATTEMPTS)
}

fn finite(number: f64) -> f64 {
    if number.is_finite() { number } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(helpful: u64, harmful: u64, rate: f64) -> f64 {
        let judged = helpful + harmful;
        let expected = as_f64(judged) * rate;
        record(
            &Record {
                helpful,
                harmful,
                judged,
                expected,
            },
            &Weights::TUNED,
        )
    }

    #[test]
    fn lrn_09_a_hard_task_does_not_sink_good_advice() {
        assert!(judged(0, 1, 0.05) > -0.05);
        assert!(judged(0, 1, 0.9) < -0.25);
        // One success where nearly all fail is worth many failures there.
        assert!(judged(1, 9, 0.05) > 0.0);
    }

    #[test]
    fn lrn_09_what_never_helps_is_withheld_in_the_end_also_where_little_is_expected() {
        let limit = Weights::TUNED.withhold_record;
        for (rate, tasks) in [(0.9, 5), (0.5, 5), (0.25, 5), (0.15, 8), (0.05, 25)] {
            assert!(judged(0, tasks, rate) <= limit, "{rate}");
            assert!(judged(0, tasks / 5, rate) > limit, "{rate}");
        }
    }

    #[test]
    fn lrn_09_what_goes_as_expected_says_nothing() {
        assert!(judged(8, 2, 0.8).abs() < 1e-9);
        assert!(judged(0, 0, 0.8).abs() < 1e-9);
    }

    #[test]
    fn lrn_09_counters_that_no_attempt_explains_count_at_even_chances() {
        let by_hand = Record {
            harmful: 5,
            ..Record::default()
        };
        assert!((record(&by_hand, &Weights::TUNED) - judged(0, 5, 0.5)).abs() < 1e-9);
        let odd = Record {
            helpful: 1,
            judged: 9,
            expected: f64::NAN,
            ..Record::default()
        };
        assert!(record(&odd, &Weights::TUNED).is_finite());
    }

    #[test]
    fn lrn_09_base_rates_begin_with_a_belief_and_follow_what_happens() {
        let tally = |attempts, done| Tally { attempts, done };
        assert!((base_rate(0, tally(0, 0)) - 0.5).abs() < 1e-9);
        assert!(base_rate(9, tally(0, 0)) < base_rate(1, tally(0, 0)));
        assert!(base_rate(0, tally(100, 10)) < 0.12);
        assert!(base_rate(3, tally(100, 90)) > 0.85);
        assert!(base_rate(0, tally(1, 5)) < 1.0);
    }
}
