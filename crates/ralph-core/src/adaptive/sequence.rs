//! From beliefs to what to do next: the best sequence of attempts, found exactly.

use std::collections::HashMap;

use serde::Serialize;

use super::costs::{self, Cost};
use super::task::{self, AttemptChances, POINTS, TaskView, Weights};
use super::{Beliefs, ModelBelief};

/// What a done task is worth unless somebody says otherwise, in dollars: a quarter of an hour of a person's time, which is
/// what an unsolved one takes in the morning. docs/strategies.md has the measurements.
pub const DEFAULT_VALUE_USD: f64 = 15.0;
/// More than this nothing is worth; keeps sums finite.
const MOST_VALUE: f64 = 1e9;

/// Further attempts of a plan that people are told of: by the time they are made, more is known.
const SHOWN_STEPS: usize = 2;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Rungs of the ladder, in the order to try them until one succeeds; empty: ask a human.
    pub sequence: Vec<usize>,
    pub success: f64,
    pub cost: f64,
    /// Expected cost plus the value that is lost if all fail.
    pub loss: f64,
    /// Whether a person is worth more than another attempt.
    pub ask_human: bool,
    /// The rung that is best alone; none without a ladder.
    pub best: Option<usize>,
    pub rationale: String,
}

/// A rung of the ladder and what to expect of its next attempt.
struct Choice {
    place: usize,
    rung: Rung,
    chance: f64,
    /// Nothing is known of what it costs.
    cost_is_guess: bool,
}

impl Choice {
    /// What is lost, on average, by this attempt alone; less is better.
    fn alone(&self, value: f64) -> f64 {
        self.rung.cost.hoped - value * self.chance
    }
}

/// The sequence with the least expected loss. Only its first attempt is to be made: after it, more is known.
pub fn plan(beliefs: &Beliefs, ladder: &[String], view: &TaskView, value_usd: f64) -> Plan {
    let value = if value_usd.is_nan() { DEFAULT_VALUE_USD } else { value_usd.clamp(0.0, MOST_VALUE) };
    let weights = task::posterior(beliefs, view);
    let choices = choices(beliefs, ladder, view, &weights, value);
    let rungs: Vec<Rung> = choices.iter().map(|choice| choice.rung.clone()).collect();
    let found = search(&rungs, &weights, view.attempts_left, value);
    let chosen: Vec<&Choice> = found.sequence.iter().filter_map(|number| choices.get(*number)).collect();
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
    choices.iter().max_by(|a, b| b.alone(value).total_cmp(&a.alone(value)))
}

/// An amount that is never shown as nothing.
fn dollars(amount: f64) -> String {
    if amount > 0.0 && amount < 0.005 { "<$0.01".to_owned() } else { format!("${amount:.2}") }
}

/// The rungs worth comparing, in the order of the ladder.
fn choices(
    beliefs: &Beliefs,
    ladder: &[String],
    view: &TaskView,
    weights: &Weights,
    value: f64,
) -> Vec<Choice> {
    let prior = task::prior(beliefs, view);
    let attempts = view.attempts_left.min(MOST_ATTEMPTS);
    let mut all: Vec<Choice> = Vec::new();
    for (place, name) in ladder.iter().enumerate() {
        let unseen = ModelBelief::unseen(place);
        let belief = beliefs.models.get(name).unwrap_or(&unseen);
        if view.repeats(name) {
            continue;
        }
        let (failed, same_again) = view.failed(name);
        let model =
            AttemptChances::new(beliefs, belief, &prior, same_again).among(&prior, &view.similar, name);
        let chance = task::dot(weights, &model.after(failed));
        let chances = (0..attempts).map(|n| model.after(failed.saturating_add(n))).collect();
        let cost = costs::expected(beliefs, ladder, place, view);
        all.push(Choice {
            place,
            rung: Rung { cost, chances },
            chance,
            cost_is_guess: costs::is_guess(beliefs, ladder, belief),
        });
    }
    // Of long ladders those that would be best alone.
    all.sort_by(|a, b| a.alone(value).total_cmp(&b.alone(value)));
    all.truncate(MOST_RUNGS);
    all.sort_by_key(|choice| choice.place);
    all
}

fn rationale(ladder: &[String], view: &TaskView, chosen: &[&Choice], all: &[Choice], value: f64) -> String {
    let name = |choice: &Choice| ladder.get(choice.place).map_or("", String::as_str);
    let odds = |choice: &Choice| {
        let chance = format!("{:.0}% chance", choice.chance * 100.0);
        if choice.cost_is_guess { chance } else { format!("{chance}, ~{}", dollars(choice.rung.cost.mean)) }
    };
    if let Some((first, rest)) = chosen.split_first() {
        let mut text = format!("adaptive: {} ({})", name(first), odds(first));
        // Where costs are unknown, no weaker model is asked after a stronger one.
        let unknown = all.iter().all(|choice| choice.cost_is_guess);
        let mut strongest = first.place;
        let climbs = |choice: &&&Choice| {
            let goes_down = unknown && choice.place < strongest;
            strongest = strongest.max(choice.place);
            !goes_down
        };
        for choice in rest.iter().filter(climbs).take(SHOWN_STEPS) {
            text.push_str(", then ");
            text.push_str(name(choice));
        }
        return text;
    }
    if view.attempts_left == 0 {
        return "adaptive: no attempts left".to_owned();
    }
    match best(all, value) {
        Some(best) => format!(
            "no attempt is worth its cost: even {} ({}) for a task worth {} (value_usd)",
            name(best),
            odds(best),
            dollars(value)
        ),
        None if ladder.is_empty() => "adaptive: no model is configured".to_owned(),
        None => "adaptive: every model failed twice in the same way".to_owned(),
    }
}

/// One model as the search sees it.
#[derive(Clone, Debug)]
pub(super) struct Rung {
    pub(super) cost: Cost,
    /// Chances of its next attempt, the one after it and so on, at each difficulty.
    pub(super) chances: Vec<Weights>,
}

/// A sequence of attempts and what to expect of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BestSequence {
    pub(super) sequence: Vec<usize>,
    pub(super) success: f64,
    pub(super) cost: f64,
}

/// More rungs are not compared at a time, so that a state fits in a number.
const MOST_RUNGS: usize = 8;
/// So far the search looks ahead at most.
const MOST_ATTEMPTS: u32 = 8;
/// So many states keep a decision well below a millisecond: 8 rungs and 5 attempts have 1287.
const MOST_STATES: usize = 2_000;
/// Bits of a state's key that count the attempts of one rung.
const BITS: usize = 4;

// Only failures lead on, and the chance that all of some attempts fail does not depend on their order. So the states are
// multisets of attempts, and the best way on from each follows from those with one attempt more.
struct State {
    /// How often each rung was tried, packed.
    key: u64,
    weights: Weights,
    /// Chance to come here: all attempts failed.
    alive: f64,
    /// The highest rung so far; states are built in this order, so that each is built once.
    last: usize,
    /// Least expected loss from here on, and the attempt that leads to it.
    loss: f64,
    next: Option<(usize, usize)>,
}

/// The sequence with the least expected cost + value × chance of failure.
pub(super) fn search(rungs: &[Rung], task: &Weights, attempts: u32, value: f64) -> BestSequence {
    let rungs = rungs.get(..MOST_RUNGS).unwrap_or(rungs);
    let (mut states, places) = build(rungs, task, depth(rungs.len(), attempts));
    for place in (0..states.len()).rev() {
        let Some(state) = states.get(place) else { continue };
        let mut loss = value * state.alive;
        let mut next = None;
        for (number, rung) in rungs.iter().enumerate() {
            let Some(&child) = places.get(&(state.key + (1 << (BITS * number)))) else { continue };
            let Some(then) = states.get(child) else { continue };
            let total = state.alive * rung.cost.hoped + then.loss;
            // What costs nothing is worth trying even for nothing.
            let free = next.is_none() && total <= loss && then.alive < state.alive;
            if total < loss || free {
                loss = total;
                next = Some((number, child));
            }
        }
        if let Some(state) = states.get_mut(place) {
            state.loss = loss;
            state.next = next;
        }
    }
    follow(&states, rungs)
}

/// All states, those with fewer attempts first, and where to find them.
fn build(rungs: &[Rung], task: &Weights, depth: usize) -> (Vec<State>, HashMap<u64, usize>) {
    let alive = task.iter().sum();
    let mut states = vec![State { key: 0, weights: *task, alive, last: 0, loss: 0.0, next: None }];
    let mut places = HashMap::new();
    let mut layer = 0..1;
    for _ in 0..depth {
        let end = states.len();
        for place in layer {
            for (number, rung) in rungs.iter().enumerate() {
                let Some(state) = states.get(place).filter(|state| number >= state.last) else { continue };
                let Some(next) = fail(state, number, rung) else { continue };
                places.insert(next.key, states.len());
                states.push(next);
            }
        }
        layer = end..states.len();
    }
    (states, places)
}

fn fail(state: &State, number: usize, rung: &Rung) -> Option<State> {
    let tried = (state.key >> (BITS * number)) & ((1 << BITS) - 1);
    let chances = rung.chances.get(usize::try_from(tried).ok()?)?;
    let mut weights = [0.0; POINTS];
    for ((weight, before), chance) in weights.iter_mut().zip(&state.weights).zip(chances) {
        *weight = before * (1.0 - chance);
    }
    Some(State {
        key: state.key + (1 << (BITS * number)),
        weights,
        alive: weights.iter().sum(),
        last: number,
        loss: 0.0,
        next: None,
    })
}

fn follow(states: &[State], rungs: &[Rung]) -> BestSequence {
    let mut found = BestSequence::default();
    let mut place = 0;
    while let Some(state) = states.get(place) {
        found.success = (1.0 - state.alive).clamp(0.0, 1.0);
        let Some((number, child)) = state.next else { break };
        found.cost += state.alive * rungs.get(number).map_or(0.0, |rung| rung.cost.mean);
        found.sequence.push(number);
        place = child;
    }
    found
}

/// How far to look ahead: all attempts, or as many as the states allow.
fn depth(rungs: usize, attempts: u32) -> usize {
    let attempts = attempts.min(MOST_ATTEMPTS) as usize;
    let mut states = 1;
    for depth in 1..=attempts {
        // Multisets up to this size: C(rungs + depth, depth).
        states = states * (rungs + depth) / depth;
        if states > MOST_STATES {
            return depth - 1;
        }
    }
    attempts
}

/// What is expected of a model's first attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expectation {
    pub model: String,
    /// First attempts that this rests on.
    pub tries: u32,
    pub chance: f64,
    pub cost_usd: f64,
    /// Costs that this rests on; without any it is a guess.
    pub costs_seen: u32,
    /// Whether no price is known either.
    pub cost_is_guess: bool,
}

/// For every model of a ladder, in its order.
pub fn expectations(beliefs: &Beliefs, ladder: &[String]) -> Vec<Expectation> {
    let view = TaskView::default();
    let prior = task::prior(beliefs, &view);
    let of = |(rung, model): (usize, &String)| {
        let unseen = ModelBelief::unseen(rung);
        let belief = beliefs.models.get(model).unwrap_or(&unseen);
        let chances = AttemptChances::new(beliefs, belief, &prior, false);
        Expectation {
            model: model.clone(),
            tries: belief.tries,
            chance: task::dot(&prior, &chances.after(0)),
            costs_seen: belief.cost_count.saturating_add(belief.cost_zeros),
            cost_usd: costs::expected(beliefs, ladder, rung, &view).mean,
            cost_is_guess: costs::is_guess(beliefs, ladder, belief),
        }
    };
    ladder.iter().enumerate().map(of).collect()
}
