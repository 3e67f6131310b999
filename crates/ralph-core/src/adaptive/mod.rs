//! The adaptive policy: tries what is worth most, learns from what came of it, and says when a person is worth more.
//!
//! ```text
//! view of a task ─► posterior of its difficulty ─┐
//! beliefs ─► chances and costs of every model ───┴► search ─► plan ─► one attempt ─► observe ─► beliefs
//! ```
//!
//! | idea | where |
//! |---|---|
//! | tasks have a hidden difficulty, models an ability; success is logistic in the difference | `task` |
//! | every failure makes the task look harder, for all models | `task` |
//! | abilities, the difficulties within a bucket and the rate of retries are learned | [`observe()`] |
//! | costs have long tails, differ by model, bucket and task, and are hoped to be low until seen | `costs` |
//! | of all sequences of attempts the one with the least cost + value × failure | `plan` |
//!
//! `value_usd`, what a done task is worth, is the only knob.

mod costs;
mod observe;
#[cfg(test)]
mod property_tests;
mod sequence;
mod task;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::Difficulty;
use task::{Weights, normal, normalized};

pub use observe::{Seen, observe};
pub use sequence::{DEFAULT_VALUE_USD, Expectation, Plan, expectations, plan};
pub use task::{Failure, TaskView};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelBelief {
    /// Mean of its ability, on the scale of difficulty: equal to a task's difficulty means every second attempt succeeds.
    pub ability: f64,
    pub variance: f64,
    pub tries: u32,
    /// Attempts that were reported to cost nothing.
    pub cost_zeros: u32,
    /// First attempts whose cost was seen.
    pub cost_count: u32,
    /// Mean of the logarithms of those, each less what is known of its task.
    pub cost_mean: f64,
    /// Sum of their squared deviations from the mean.
    pub cost_squares: f64,
    /// Its price, in whatever unit all models of the ladder share, such as dollars per million tokens.
    #[serde(skip)]
    pub price: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BucketBelief {
    /// Tasks, imagined ones included, at each point of the scale of difficulty.
    pub tasks: Vec<f64>,
    pub cost_count: u32,
    /// Sum of the logarithms of those, each less its model's mean.
    pub cost_sum: f64,
}

/// What tasks are thought to be like before any attempt; the last is what all tasks together look like.
pub const BUCKETS: [Option<Difficulty>; 6] = [
    Some(Difficulty::Trivial),
    Some(Difficulty::Easy),
    Some(Difficulty::Moderate),
    Some(Difficulty::Hard),
    Some(Difficulty::Blocked),
    None,
];

fn place(difficulty: Option<Difficulty>) -> usize {
    BUCKETS.iter().position(|bucket| *bucket == difficulty).unwrap_or(BUCKETS.len() - 1)
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beliefs {
    pub models: BTreeMap<String, ModelBelief>,
    /// By difficulty, in the order of [`BUCKETS`].
    pub buckets: Vec<BucketBelief>,
    /// Failures that the same model made good, imagined ones included.
    pub retry_successes: f64,
    /// Retries by the same model, imagined ones included.
    pub retry_tries: f64,
}

impl ModelBelief {
    /// What is believed of a model never seen, on this rung.
    fn unseen(rung: usize) -> Self {
        let ability = tuning::ABILITY + tuning::ABILITY_STEP * task::count(rung.min(8));
        Self { ability, variance: tuning::ABILITY_VARIANCE, ..Self::default() }
    }

    /// Its ability, on the scale whatever a row says.
    fn ability(&self) -> f64 {
        if self.ability.is_finite() { self.ability.clamp(-MOST_ABILITY, MOST_ABILITY) } else { 0.0 }
    }

    /// Its variance, never so small that nothing can be learned any more: models change behind their names.
    fn variance(&self) -> f64 {
        // Nothing is ever known for certain: such a row is damaged.
        let sound = self.variance.is_finite() && self.variance > 0.0;
        if sound { self.variance.clamp(LEAST_VARIANCE, MOST_VARIANCE) } else { MOST_VARIANCE }
    }
}

const MOST_ABILITY: f64 = 8.0;
const LEAST_VARIANCE: f64 = 0.02;
const MOST_VARIANCE: f64 = 16.0;

impl Default for Beliefs {
    fn default() -> Self {
        let buckets = tuning::DIFFICULTY.iter().map(|&difficulty| BucketBelief {
            tasks: normal(difficulty, tuning::SPREAD).map(|share| share * tuning::BUCKET_TASKS).to_vec(),
            cost_sum: 0.0,
            cost_count: 0,
        });
        Self {
            models: BTreeMap::new(),
            buckets: buckets.collect(),
            retry_successes: tuning::RETRY * tuning::RETRY_TRIES,
            retry_tries: tuning::RETRY_TRIES,
        }
    }
}

impl Beliefs {
    /// Tells what models cost relative to each other, in a unit that all of them share; nothing for a free one.
    pub fn set_prices<'p>(&mut self, ladder: &[String], prices: impl IntoIterator<Item = (&'p str, f64)>) {
        self.add_models(ladder);
        for (model, price) in prices {
            if let Some(belief) = self.models.get_mut(model) {
                belief.price = (price.is_finite() && price >= 0.0).then_some(price);
            }
        }
    }

    /// Makes sure that every model of a ladder is known: higher rungs are thought to be abler until seen.
    pub fn add_models(&mut self, ladder: &[String]) {
        for (rung, name) in ladder.iter().enumerate() {
            self.models.entry(name.clone()).or_insert_with(|| ModelBelief::unseen(rung));
        }
    }

    pub fn bucket(&self, difficulty: Option<Difficulty>) -> Option<&BucketBelief> {
        self.buckets.get(place(difficulty))
    }

    pub fn bucket_mut(&mut self, difficulty: Option<Difficulty>) -> Option<&mut BucketBelief> {
        self.buckets.get_mut(place(difficulty))
    }

    /// How much more hope a model deserves the longer the others were tried instead.
    fn neglect(&self, model: &str) -> f64 {
        let all: f64 = self.models.values().map(|belief| f64::from(belief.tries)).sum();
        let own = self.models.get(model).map_or(0.0, |belief| f64::from(belief.tries));
        (1.0 + (all / (1.0 + own)).max(1.0).ln()).sqrt()
    }

    /// The shares of a bucket's tasks at each difficulty.
    fn difficulty(&self, bucket: Option<Difficulty>) -> Weights {
        let mut weights = normal(0.0, tuning::SPREAD);
        if let Some(belief) = self.bucket(bucket) {
            for (weight, &tasks) in weights.iter_mut().zip(&belief.tasks) {
                // A row that someone damaged must not spoil every decision after it.
                *weight = if tasks.is_finite() { tasks.max(0.0) } else { 0.0 };
            }
        }
        normalized(weights)
    }
}

/// What is assumed before anything was seen, and how fast that gives way.
mod tuning {
    /// Ability of the lowest rung on the scale of difficulty: it solves six in ten moderate tasks.
    pub(super) const ABILITY: f64 = 1.0;
    /// What each further rung is thought to add: little, for names and prices of models promise more than they keep.
    pub(super) const ABILITY_STEP: f64 = 0.25;
    /// Variance of that guess: from one in three to nine in ten.
    pub(super) const ABILITY_VARIANCE: f64 = 2.0;
    /// Spread of difficulty within a bucket. Wide: most tasks are solved by nearly all models or by none, so a failure
    /// of one says much about the others.
    pub(super) const SPREAD: f64 = 3.0;
    /// Difficulty of trivial, easy, moderate, hard, blocked and unknown tasks; about a spread from easy to hard.
    pub(super) const DIFFICULTY: [f64; 6] = [-3.0, -1.5, 0.0, 2.0, 4.0, 0.0];
    /// Imagined tasks per bucket that the assumed difficulties weigh. Anything from 4 to 50 does as well.
    pub(super) const BUCKET_TASKS: f64 = 8.0;
    /// Share of failures that the same model makes good when it tries again; measured on public runs.
    pub(super) const RETRY: f64 = 0.17;
    /// Imagined retries that this weighs. Many, for it was measured and retries are rare.
    pub(super) const RETRY_TRIES: f64 = 40.0;
    /// What the share is multiplied by for every further retry.
    pub(super) const RETRY_AGAIN: f64 = 0.5;
    /// What it is multiplied by when the same failure came twice.
    pub(super) const SAME_FAILURE: f64 = 0.5;
    /// Typical cost of an attempt on the lowest rung where nothing at all is known, in dollars.
    pub(super) const COST: f64 = 0.25;
    /// How much more expensive each further rung is thought to be.
    pub(super) const COST_STEP: f64 = 2.0;
    /// Cost of an attempt per unit of price, where prices are given but no cost was seen: for dollars per million output
    /// tokens, fifty thousand of them.
    pub(super) const COST_PER_PRICE: f64 = 0.05;
    /// Imagined attempts that a guessed cost weighs. Few: guesses are off by factors.
    pub(super) const COST_TRIES: f64 = 0.5;
    /// Variance of the logarithm of a model's costs: half to twice the middle is usual.
    pub(super) const COST_VARIANCE: f64 = 0.5;
    /// Imagined attempts that this weighs.
    pub(super) const COST_VARIANCE_TRIES: f64 = 5.0;
    /// Imagined attempts that "all buckets cost the same" weighs.
    pub(super) const BUCKET_COST_TRIES: f64 = 10.0;
    /// Which part of a surprise in one model's cost on a task is expected of the other models: the correlation.
    pub(super) const SIZE_SHARE: f64 = 0.5;
    /// Standard deviations by which costs are hoped to be lower than they seem. Without it, one expensive attempt at the start
    /// may condemn a model for ever; half as much is a little better on average and much worse at worst.
    pub(super) const HOPE: f64 = 1.0;
}
