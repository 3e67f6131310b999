//! What a learning's record of helping or hurting does to its rank.

use super::Candidate;
use super::weights::Weights;

/// The record from -1 (always hurt) to 1 (always helped); 0 where nothing is known.
///
/// Imagined undecided outcomes hold it near 0 until there is evidence.
#[must_use]
pub fn record(candidate: &Candidate, weights: &Weights) -> f64 {
    let helpful = counted(candidate.helpful);
    let harmful = counted(candidate.harmful);
    (helpful - harmful) / (helpful + harmful + weights.record_prior)
}

/// Whether the record is bad enough to show the learning no more: never a pinned one, and never before enough tasks
/// have judged it.
#[must_use]
pub fn withheld(candidate: &Candidate, weights: &Weights) -> bool {
    !candidate.pinned
        && candidate.tasks_credited >= weights.withhold_tasks
        && record(candidate, weights) <= weights.withhold_record
}

/// A stored counter as a number one can calculate with, whatever the file says.
fn counted(counter: f64) -> f64 {
    if counter.is_nan() {
        0.0
    } else {
        counter.clamp(0.0, 1e9)
    }
}
