//! One task as the policy sees it, and what its failures so far say about it.

use serde::{Deserialize, Serialize};

use super::beliefs::{Beliefs, ModelBelief};
use super::bucket::Bucket;
use super::grid::{self, Weights};

/// The failures of one model on a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The model.
    pub model: String,
    /// How often it failed.
    pub times: u32,
    /// Whether its last failure was the same as one before.
    pub same_again: bool,
    /// What its last attempt cost, where the agent said so.
    pub cost: Option<f64>,
}

/// What the open task's past and neighbours say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskView {
    /// The difficulty somebody estimated.
    pub difficulty: Bucket,
    /// How many similar tasks had which difficulty, weighted by how similar they are.
    pub similar: Vec<(Bucket, f64)>,
    /// Failures so far, by model.
    pub failures: Vec<Failure>,
    /// How many more attempts are allowed.
    pub attempts_left: u32,
}

impl TaskView {
    /// How often a model failed here, and whether in the same way again.
    pub(super) fn failed(&self, model: &str) -> (u32, bool) {
        let of = self
            .failures
            .iter()
            .filter(|failure| failure.model == model);
        of.fold((0, false), |(times, same), failure| {
            (
                times.saturating_add(failure.times),
                same || failure.same_again,
            )
        })
    }
}

/// Estimates of similar tasks that weigh as much as the task's own.
const OWN_ESTIMATE: f64 = 4.0;
/// The same for a task without an estimate.
const NO_ESTIMATE: f64 = 1.0;

/// The difficulty to expect before any attempt.
pub(super) fn prior(beliefs: &Beliefs, view: &TaskView) -> Weights {
    let own = beliefs.difficulty(view.difficulty);
    let similar = view
        .similar
        .iter()
        .filter(|(_, weight)| weight.is_finite() && *weight > 0.0);
    let mut all = own.map(|weight| {
        weight
            * if view.difficulty == Bucket::Unknown {
                NO_ESTIMATE
            } else {
                OWN_ESTIMATE
            }
    });
    for (bucket, weight) in similar {
        let theirs = beliefs.difficulty(*bucket);
        for (sum, share) in all.iter_mut().zip(theirs) {
            *sum += weight.min(1e6) * share;
        }
    }
    grid::normalised(all)
}

/// The difficulty to expect after the failures so far.
pub(super) fn posterior(beliefs: &Beliefs, view: &TaskView) -> Weights {
    let prior = prior(beliefs, view);
    let mut weights = prior;
    for failure in &view.failures {
        let stranger = beliefs.stranger(0);
        let belief = beliefs.models.get(&failure.model).unwrap_or(&stranger);
        let tries = Tries::new(beliefs, belief, &prior, false);
        // Failed retries say nothing of the difficulty: their chance does not depend on it.
        if failure.times > 0 {
            for (weight, chance) in weights.iter_mut().zip(tries.first) {
                *weight *= 1.0 - chance;
            }
        }
        weights = grid::normalised(weights);
    }
    weights
}

/// The chances of one model's tries on a task, at each difficulty.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tries {
    first: Weights,
    /// Chance of the first retry, whatever the difficulty.
    retry: f64,
    again: f64,
}

impl Tries {
    pub(super) fn new(
        beliefs: &Beliefs,
        belief: &ModelBelief,
        prior: &Weights,
        same_again: bool,
    ) -> Self {
        let (ability, variance) = (belief.ability(), belief.variance());
        let first = grid::points().map(|point| grid::chance(ability, variance, point));
        let rate = beliefs.retry_successes / beliefs.retry_tries;
        let rate = if rate.is_finite() {
            rate.clamp(0.0, 1.0)
        } else {
            beliefs.tuning.retry
        };
        let same = if same_again {
            beliefs.tuning.same_failure
        } else {
            1.0
        };
        // A retry knows more than the first try, but a model that hardly ever succeeds does not become able by it.
        let retry = rate.min(grid::dot(prior, &first)) * same;
        Self {
            first,
            retry,
            again: beliefs.tuning.retry_again,
        }
    }

    /// Those of the try after so many failures.
    pub(super) fn after(&self, earlier: u32) -> Weights {
        match i32::try_from(earlier.min(MOST_TIMES)).unwrap_or(0) {
            0 => self.first,
            earlier => [self.retry * self.again.powi(earlier - 1); grid::POINTS],
        }
    }
}

/// Further retries of one model are as hopeless as these.
const MOST_TIMES: u32 = 16;
