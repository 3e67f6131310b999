//! What the best matches agree on: a tag that many of them carry is probably what the task is about, so it speaks
//! for every learning that carries it, also where its own words match less well.

use super::weights::Weights;

/// The part that agreement gives to each learning.
///
/// `relevance` and `tags` are those of the candidates; a tag is a number, below `rarity.len()`, and `rarity` runs
/// from 0 (all have it) to 1. A learning votes for its tags too: without that, the better of two would help only
/// the worse one and could fall behind it.
pub(super) fn agreement(
    relevance: &[f64],
    tags: &[Vec<usize>],
    rarity: &[f64],
    weights: &Weights,
) -> Vec<f64> {
    let mut voters: Vec<usize> = (0..relevance.len()).collect();
    let value = |place: usize| relevance.get(place).copied().unwrap_or(0.0);
    voters.sort_by(|a, b| value(*b).total_cmp(&value(*a)).then(a.cmp(b)));
    voters.truncate(weights.voters);
    let mut votes = vec![0.0; rarity.len()];
    let mut all = 0.0;
    for voter in voters {
        // Squared: ten poor matches that agree say less than two good ones.
        let vote = value(voter) * value(voter);
        all += vote;
        for tag in tags.get(voter).map(Vec::as_slice).unwrap_or_default() {
            if let Some(sum) = votes.get_mut(*tag) {
                *sum += vote;
            }
        }
    }
    let share = |tag: &usize| {
        let (Some(votes), Some(rarity)) = (votes.get(*tag), rarity.get(*tag)) else {
            return 0.0;
        };
        votes / all * rarity
    };
    tags.iter()
        .map(|tags| {
            if all > 0.0 {
                weights.agreement * tags.iter().map(share).fold(0.0, f64::max)
            } else {
                0.0
            }
        })
        .collect()
}
