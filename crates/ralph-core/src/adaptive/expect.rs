//! What is expected of each model on a task nobody knows anything of: for people.

use serde::Serialize;

use super::beliefs::Beliefs;
use super::task::{self, TaskView, Tries};
use super::{costs, grid};

/// What is expected of a model's first try.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expectation {
    /// The model.
    pub model: String,
    /// First tries that this rests on.
    pub tries: u32,
    /// The chance of success.
    pub chance: f64,
    /// The cost in dollars.
    pub cost_usd: f64,
    /// Costs that this rests on; without any it is a guess.
    pub costs_seen: u32,
}

/// For every model of a ladder, in its order.
#[must_use]
pub fn expectations(beliefs: &Beliefs, ladder: &[String]) -> Vec<Expectation> {
    let view = TaskView::default();
    let prior = task::prior(beliefs, &view);
    let of = |(rung, model): (usize, &String)| {
        let stranger = beliefs.stranger(rung);
        let belief = beliefs.models.get(model).unwrap_or(&stranger);
        let tries = Tries::new(beliefs, belief, &prior, false);
        Expectation {
            model: model.clone(),
            tries: belief.tries,
            chance: grid::dot(&prior, &tries.after(0)),
            costs_seen: belief.cost_count.saturating_add(belief.cost_zeros),
            cost_usd: costs::expected(beliefs, ladder, rung, &view).mean,
        }
    };
    ladder.iter().enumerate().map(of).collect()
}
