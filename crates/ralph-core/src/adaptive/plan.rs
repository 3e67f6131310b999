//! From beliefs to what to do next.

use serde::Serialize;

use super::beliefs::Beliefs;
use super::costs;
use super::grid;
use super::search::{self, MOST_ATTEMPTS, MOST_RUNGS, Rung};
use super::task::{self, TaskView, Tries};

/// What a done task is worth unless somebody says otherwise, in dollars: a quarter of an hour of a person's time, which is
/// what an unsolved one takes in the morning. docs/strategies.md has the measurements.
pub const DEFAULT_VALUE_USD: f64 = 15.0;
/// More than this nothing is worth; keeps sums finite.
const MOST_VALUE: f64 = 1e9;

/// Further attempts of a plan that people are told of: by the time they are made, more is known.
const SHOWN_STEPS: usize = 2;

/// What to do with a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Rungs of the ladder, in the order to try them until one succeeds; empty: ask a human.
    pub sequence: Vec<usize>,
    /// Chance that one of them succeeds.
    pub success: f64,
    /// Expected cost in dollars.
    pub cost: f64,
    /// Expected cost plus the value that is lost if all fail.
    pub loss: f64,
    /// Whether a person is worth more than another attempt.
    pub ask_human: bool,
    /// The rung that is best alone; none without a ladder.
    pub best: Option<usize>,
    /// Why, for people.
    pub rationale: String,
}

/// A rung of the ladder and what to expect of its next try.
struct Choice {
    place: usize,
    rung: Rung,
    chance: f64,
    /// It was tried, and nobody said what that cost.
    tells_no_costs: bool,
}

impl Choice {
    /// What is lost, on average, by this attempt alone; less is better.
    fn alone(&self, value: f64) -> f64 {
        self.rung.cost.hoped - value * self.chance
    }
}

/// The sequence with the least expected loss. Only its first attempt is to be made: after it, more is known.
#[must_use]
pub fn plan(beliefs: &Beliefs, ladder: &[String], view: &TaskView, value_usd: f64) -> Plan {
    let value = if value_usd.is_nan() {
        DEFAULT_VALUE_USD
    } else {
        value_usd.clamp(0.0, MOST_VALUE)
    };
    let weights = task::posterior(beliefs, view);
    let choices = choices(beliefs, ladder, view, &weights, value);
    let rungs: Vec<Rung> = choices.iter().map(|choice| choice.rung.clone()).collect();
    let found = search::search(&rungs, &weights, view.attempts_left, value);
    let chosen: Vec<&Choice> = found
        .sequence
        .iter()
        .filter_map(|number| choices.get(*number))
        .collect();
    Plan {
        success: found.success,
        cost: found.cost,
        loss: found.cost + value * (1.0 - found.success),
        ask_human: chosen.is_empty(),
        best: best(&choices, value).map(|choice| choice.place),
        rationale: rationale(ladder, view, &chosen, &choices, value),
        sequence: chosen.iter().map(|choice| choice.place).collect(),
    }
}

/// The rung that is best alone.
fn best(choices: &[Choice], value: f64) -> Option<&Choice> {
    choices
        .iter()
        .max_by(|a, b| b.alone(value).total_cmp(&a.alone(value)))
}

/// An amount that is never shown as nothing.
fn dollars(amount: f64) -> String {
    if amount > 0.0 && amount < 0.005 {
        "$0.01".to_owned()
    } else {
        format!("${amount:.2}")
    }
}

/// The rungs worth comparing, in the order of the ladder.
fn choices(
    beliefs: &Beliefs,
    ladder: &[String],
    view: &TaskView,
    weights: &grid::Weights,
    value: f64,
) -> Vec<Choice> {
    let prior = task::prior(beliefs, view);
    let attempts = view.attempts_left.min(MOST_ATTEMPTS);
    let mut all: Vec<Choice> = Vec::new();
    for (place, name) in ladder.iter().enumerate() {
        let stranger = beliefs.stranger(place);
        let belief = beliefs.models.get(name).unwrap_or(&stranger);
        if view.repeats(name) {
            continue;
        }
        let (failed, same_again) = view.failed(name);
        let tries =
            Tries::new(beliefs, belief, &prior, same_again).among(&prior, &view.similar, name);
        let chance = grid::dot(weights, &tries.after(failed));
        let chances = (0..attempts)
            .map(|n| tries.after(failed.saturating_add(n)))
            .collect();
        let cost = costs::expected(beliefs, ladder, place, view);
        all.push(Choice {
            place,
            rung: Rung { cost, chances },
            chance,
            tells_no_costs: costs::tells_no_costs(belief),
        });
    }
    // Of long ladders those that would be best alone.
    all.sort_by(|a, b| a.alone(value).total_cmp(&b.alone(value)));
    all.truncate(MOST_RUNGS);
    all.sort_by_key(|choice| choice.place);
    all
}

fn rationale(
    ladder: &[String],
    view: &TaskView,
    chosen: &[&Choice],
    all: &[Choice],
    value: f64,
) -> String {
    let name = |choice: &Choice| ladder.get(choice.place).map_or("", String::as_str);
    let odds = |choice: &Choice| {
        let chance = format!("{:.0}% likely", choice.chance * 100.0);
        match choice.tells_no_costs {
            true => chance,
            false => format!("{chance}, ~{}", dollars(choice.rung.cost.mean)),
        }
    };
    if let Some((first, rest)) = chosen.split_first() {
        let mut text = format!("adaptive: {} ({})", name(first), odds(first));
        for choice in rest.iter().take(SHOWN_STEPS) {
            text.push_str(", then ");
            text.push_str(name(choice));
        }
        return text;
    }
    if view.attempts_left == 0 {
        return "adaptive: ask a human, no attempts left".to_owned();
    }
    match best(all, value) {
        Some(best) => format!(
            "adaptive: ask a human, even {} ({}) is not worth it for a task worth {} (value_usd)",
            name(best),
            odds(best),
            dollars(value)
        ),
        None if ladder.is_empty() => "adaptive: ask a human, no model is configured".to_owned(),
        None => "adaptive: ask a human, every model failed twice in the same way".to_owned(),
    }
}
