//! One task as the policy sees it: a weight on each point of the scale of difficulty, and what its failures so
//! far say about it.

use serde::{Deserialize, Serialize};

use super::{Beliefs, ModelBelief, tuning};
use crate::model::{Difficulty, Neighbour};

pub(super) const POINTS: usize = 17;
const FIRST: f64 = -8.0;
const STEP: f64 = 1.0;

pub(super) type Weights = [f64; POINTS];

pub(super) fn points() -> Weights {
    std::array::from_fn(|place| FIRST + STEP * count(place))
}

/// The normal distribution on the points.
pub(super) fn normal(mean: f64, deviation: f64) -> Weights {
    normalized(points().map(|point| (-0.5 * ((point - mean) / deviation).powi(2)).exp()))
}

/// Scaled to a sum of one; evenly spread where there is nothing to scale.
pub(super) fn normalized(weights: Weights) -> Weights {
    let sum: f64 = weights.iter().sum();
    if sum.is_finite() && sum > f64::MIN_POSITIVE {
        weights.map(|weight| weight / sum)
    } else {
        [1.0 / count(POINTS); POINTS]
    }
}

/// The chance that an ability, known up to a variance, is enough for a difficulty: the logistic function, flattened by
/// what is not known.
pub(super) fn chance(ability: f64, variance: f64, difficulty: f64) -> f64 {
    let flat = (1.0 + std::f64::consts::PI * variance / 8.0).sqrt();
    1.0 / (1.0 + (-(ability - difficulty) / flat).exp())
}

pub(super) fn dot(a: &Weights, b: &Weights) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Small counts only.
pub(super) fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

/// The failures of one model on a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    pub model: String,
    pub times: u32,
    /// Whether its last failure was the same as one before, of whichever model.
    pub same_again: bool,
    /// Whether it failed twice in the same way itself: then it is not asked again.
    pub repeats: bool,
    /// What its last attempt cost, where the agent said so.
    pub cost: Option<f64>,
}

/// What the open task's past and neighbours say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskView {
    pub difficulty: Option<Difficulty>,
    /// Similar tasks that were attempted.
    pub similar: Vec<Neighbour>,
    /// Failures so far, by model.
    pub failures: Vec<Failure>,
    /// How many more attempts are allowed.
    pub attempts_left: u32,
}

impl TaskView {
    /// Whether a model failed here twice in the same way.
    pub(super) fn repeats(&self, model: &str) -> bool {
        self.failures.iter().any(|failure| failure.model == model && failure.repeats)
    }

    /// How often a model failed here, and whether in the same way again.
    pub(super) fn failed(&self, model: &str) -> (u32, bool) {
        let of = self.failures.iter().filter(|failure| failure.model == model);
        of.fold((0, false), |(times, same), failure| {
            (times.saturating_add(failure.times), same || failure.same_again)
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
    let certainty = match view.difficulty {
        Some(_) => OWN_ESTIMATE,
        None => NO_ESTIMATE,
    };
    let mut all = own.map(|weight| weight * certainty);
    for similar in &view.similar {
        if !similar.likeness.is_finite() || similar.likeness <= 0.0 {
            continue;
        }
        for (sum, share) in all.iter_mut().zip(of_similar(beliefs, similar)) {
            *sum += similar.likeness.min(1.0) * share;
        }
    }
    normalized(all)
}

/// How hard a similar task turned out to be.
fn of_similar(beliefs: &Beliefs, similar: &Neighbour) -> Weights {
    let mut weights = beliefs.difficulty(similar.difficulty);
    let failed = similar.failed.iter().map(|model| (model, false));
    let done = similar.done.iter().map(|model| (model, true));
    for (model, success) in failed.chain(done) {
        for (weight, chance) in weights.iter_mut().zip(first_chances(beliefs, model)) {
            *weight *= if success { chance } else { 1.0 - chance };
        }
        weights = normalized(weights);
    }
    weights
}

/// The chances of a model's first attempt at each difficulty.
fn first_chances(beliefs: &Beliefs, model: &str) -> Weights {
    match beliefs.models.get(model) {
        Some(belief) => belief.chances(),
        None => ModelBelief::stranger(0).chances(),
    }
}

impl ModelBelief {
    /// The chances of its first attempt at each difficulty.
    fn chances(&self) -> Weights {
        points().map(|point| chance(self.ability(), self.variance(), point))
    }
}

/// The difficulty to expect after the failures so far.
pub(super) fn posterior(beliefs: &Beliefs, view: &TaskView) -> Weights {
    let mut weights = prior(beliefs, view);
    for failure in &view.failures {
        // Failed retries say nothing of the difficulty: their chance does not depend on it.
        if failure.times > 0 {
            for (weight, chance) in weights.iter_mut().zip(first_chances(beliefs, &failure.model)) {
                *weight *= 1.0 - chance;
            }
        }
        weights = normalized(weights);
    }
    weights
}

/// The chances of one model's attempts on a task, at each difficulty.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttemptChances {
    first: Weights,
    /// Chance of the first retry, whatever the difficulty.
    retry: f64,
}

impl AttemptChances {
    pub(super) fn new(beliefs: &Beliefs, belief: &ModelBelief, prior: &Weights, same_again: bool) -> Self {
        let first = belief.chances();
        let rate = beliefs.retry_successes / beliefs.retry_tries;
        let rate = if rate.is_finite() { rate.clamp(0.0, 1.0) } else { tuning::RETRY };
        let same = if same_again { tuning::SAME_FAILURE } else { 1.0 };
        // A retry knows more than the first attempt, but a model that hardly ever succeeds does not become able by it.
        let retry = rate.min(dot(prior, &first)) * same;
        Self { first, retry }
    }

    /// The same, as far as this model's own record on similar tasks makes it more or less likely.
    pub(super) fn among(mut self, prior: &Weights, similar: &[Neighbour], model: &str) -> Self {
        let (mut done, mut all) = (0.0, 0.0);
        for task in similar {
            let likeness = if task.likeness.is_finite() { task.likeness.clamp(0.0, 1.0) } else { 0.0 };
            if task.failed.iter().any(|failed| failed == model) {
                all += likeness;
            }
            if task.done.as_deref() == Some(model) {
                all += likeness;
                done += likeness;
            }
        }
        let usual = dot(prior, &self.first);
        if all > 0.0 && usual > 0.0 {
            let now = (KIN_TASKS * usual + done) / (KIN_TASKS + all);
            self.first = self.first.map(|chance| (chance * now / usual).clamp(0.0, 1.0));
        }
        self
    }

    /// Those of the attempt after so many failures.
    pub(super) fn after(&self, earlier: u32) -> Weights {
        match i32::try_from(earlier.min(MOST_TIMES)).unwrap_or(0) {
            0 => self.first,
            earlier => [self.retry * tuning::RETRY_AGAIN.powi(earlier - 1); POINTS],
        }
    }
}

/// Similar tasks that what is known of a model in general weighs as much as.
const KIN_TASKS: f64 = 1.0;

/// Further retries of one model are as hopeless as these.
const MOST_TIMES: u32 = 16;
