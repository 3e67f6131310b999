//! What has been learnt, as plain numbers that fit in database rows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::grid::{self, Weights};
use super::tuning::Tuning;
use crate::model::Difficulty;

/// What is believed of one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelBelief {
    /// Mean of its ability, on the scale of difficulty: equal to a task's difficulty means every second try succeeds.
    pub ability: f64,
    /// Variance of that.
    pub variance: f64,
    /// First tries seen.
    pub tries: u32,
    /// Attempts that were reported to cost nothing.
    pub cost_zeros: u32,
    /// First tries whose cost was seen.
    pub cost_count: u32,
    /// Mean of the logarithms of those, each less what is known of its task.
    pub cost_mean: f64,
    /// Sum of their squared deviations from the mean.
    pub cost_squares: f64,
    /// Its price, in whatever unit all models of the ladder share, such as dollars per million tokens.
    pub price: Option<f64>,
}

/// What is believed of the tasks of one difficulty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BucketBelief {
    /// Tasks, imagined ones included, at each point of the scale of difficulty.
    pub tasks: Vec<f64>,
    /// Costs seen.
    pub cost_count: u32,
    /// Sum of the logarithms of those, each less its model's mean.
    pub cost_sum: f64,
}

/// What tasks are thought to be like before anyone tried; the last is what all tasks together look like.
pub const BUCKETS: [Option<Difficulty>; 6] = [
    Some(Difficulty::Trivial),
    Some(Difficulty::Easy),
    Some(Difficulty::Moderate),
    Some(Difficulty::Hard),
    Some(Difficulty::Blocked),
    None,
];

fn place(difficulty: Option<Difficulty>) -> usize {
    BUCKETS
        .iter()
        .position(|bucket| *bucket == difficulty)
        .unwrap_or(BUCKETS.len() - 1)
}

/// All that was learnt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beliefs {
    /// By the model's name.
    pub models: BTreeMap<String, ModelBelief>,
    /// By difficulty, in the order of [`BUCKETS`].
    pub buckets: Vec<BucketBelief>,
    /// Failures that the same model made good, imagined ones included.
    pub retry_successes: f64,
    /// Retries by the same model, imagined ones included.
    pub retry_tries: f64,
    /// What was assumed at first.
    #[serde(skip)]
    pub tuning: Tuning,
}

impl ModelBelief {
    /// Its ability, on the scale whatever a row says.
    pub(super) fn ability(&self) -> f64 {
        if self.ability.is_finite() {
            self.ability.clamp(-MOST_ABILITY, MOST_ABILITY)
        } else {
            0.0
        }
    }

    /// Its variance, never so small that nothing can be learnt any more: models change behind their names.
    pub(super) fn variance(&self) -> f64 {
        // Nothing is ever known for certain: such a row is damaged.
        let sound = self.variance.is_finite() && self.variance > 0.0;
        if sound {
            self.variance.clamp(LEAST_VARIANCE, MOST_VARIANCE)
        } else {
            MOST_VARIANCE
        }
    }
}

const MOST_ABILITY: f64 = 8.0;
const LEAST_VARIANCE: f64 = 0.02;
const MOST_VARIANCE: f64 = 16.0;

impl Default for Beliefs {
    fn default() -> Self {
        Self::new(Tuning::DEFAULT)
    }
}

impl Beliefs {
    /// Nothing seen yet.
    #[must_use]
    pub fn new(tuning: Tuning) -> Self {
        let buckets = tuning.difficulty.iter().map(|&difficulty| BucketBelief {
            tasks: grid::normal(difficulty, tuning.spread)
                .map(|share| share * tuning.bucket_tasks)
                .to_vec(),
            cost_sum: 0.0,
            cost_count: 0,
        });
        Self {
            models: BTreeMap::new(),
            buckets: buckets.collect(),
            retry_successes: tuning.retry * tuning.retry_tries,
            retry_tries: tuning.retry_tries,
            tuning,
        }
    }

    /// Tells what models cost relative to each other, in a unit that all of them share; nothing for a free one.
    pub fn set_prices<'p>(
        &mut self,
        ladder: &[String],
        prices: impl IntoIterator<Item = (&'p str, f64)>,
    ) {
        self.meet(ladder);
        for (model, price) in prices {
            if let Some(belief) = self.models.get_mut(model) {
                belief.price = (price.is_finite() && price >= 0.0).then_some(price);
            }
        }
    }

    /// Makes sure that every model of a ladder is known: higher rungs are thought to be abler until seen.
    pub fn meet(&mut self, ladder: &[String]) {
        for (rung, name) in ladder.iter().enumerate() {
            if !self.models.contains_key(name) {
                let stranger = self.stranger(rung);
                self.models.insert(name.clone(), stranger);
            }
        }
    }

    /// What is believed of a model never seen, on this rung.
    pub(super) fn stranger(&self, rung: usize) -> ModelBelief {
        let rung = grid::count(rung.min(8));
        ModelBelief {
            ability: self.tuning.ability + self.tuning.ability_step * rung,
            variance: self.tuning.ability_variance,
            tries: 0,
            cost_zeros: 0,
            cost_count: 0,
            cost_mean: 0.0,
            cost_squares: 0.0,
            price: None,
        }
    }

    /// What is believed of the tasks of a difficulty.
    #[must_use]
    pub fn bucket(&self, difficulty: Option<Difficulty>) -> Option<&BucketBelief> {
        self.buckets.get(place(difficulty))
    }

    /// The same, to be changed.
    pub fn bucket_mut(&mut self, difficulty: Option<Difficulty>) -> Option<&mut BucketBelief> {
        self.buckets.get_mut(place(difficulty))
    }

    /// How much more hope a model deserves the longer the others were tried instead.
    pub(super) fn neglect(&self, model: &str) -> f64 {
        let all: f64 = self
            .models
            .values()
            .map(|belief| f64::from(belief.tries))
            .sum();
        let own = self
            .models
            .get(model)
            .map_or(0.0, |belief| f64::from(belief.tries));
        (1.0 + (all / (1.0 + own)).max(1.0).ln()).sqrt()
    }

    /// The shares of a bucket's tasks at each difficulty.
    pub(super) fn difficulty(&self, bucket: Option<Difficulty>) -> Weights {
        let mut weights = grid::normal(0.0, self.tuning.spread);
        if let Some(belief) = self.bucket(bucket) {
            for (weight, &tasks) in weights.iter_mut().zip(&belief.tasks) {
                // A row that someone damaged must not spoil every decision after it.
                *weight = if tasks.is_finite() {
                    tasks.max(0.0)
                } else {
                    0.0
                };
            }
        }
        grid::normalised(weights)
    }
}
