//! The best sequence of attempts, exactly.
//!
//! Only failures lead on, and the chance that all of some attempts fail does not depend on their order. So the states are
//! multisets of attempts, and the best way on from each follows from those with one attempt more.

use std::collections::HashMap;

use super::costs::Cost;
use super::grid::{POINTS, Weights};

/// One model as the search sees it.
#[derive(Clone, Debug)]
pub(super) struct Rung {
    /// What an attempt costs.
    pub(super) cost: Cost,
    /// Chances of its next try, the one after it and so on, at each difficulty.
    pub(super) chances: Vec<Weights>,
}

/// A sequence of attempts and what to expect of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Found {
    /// Places among the rungs.
    pub(super) sequence: Vec<usize>,
    /// Chance that one of them succeeds.
    pub(super) success: f64,
    /// Expected cost.
    pub(super) cost: f64,
}

/// More rungs are not compared at a time, so that a state fits in a number.
pub(super) const MOST_RUNGS: usize = 8;
/// So far the search looks ahead at most.
pub(super) const MOST_ATTEMPTS: u32 = 8;
/// So many states keep a decision well below a millisecond: 8 rungs and 5 attempts have 1287.
const MOST_STATES: usize = 2_000;
/// Bits of a state's key that count the attempts of one rung.
const BITS: usize = 4;

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
pub(super) fn search(rungs: &[Rung], task: &Weights, attempts: u32, value: f64) -> Found {
    let rungs = rungs.get(..MOST_RUNGS).unwrap_or(rungs);
    let (mut states, places) = build(rungs, task, depth(rungs.len(), attempts));
    for place in (0..states.len()).rev() {
        let Some(state) = states.get(place) else {
            continue;
        };
        let mut loss = value * state.alive;
        let mut next = None;
        for (number, rung) in rungs.iter().enumerate() {
            let Some(&child) = places.get(&(state.key + (1 << (BITS * number)))) else {
                continue;
            };
            let Some(then) = states.get(child) else {
                continue;
            };
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
    let mut states = vec![State {
        key: 0,
        weights: *task,
        alive,
        last: 0,
        loss: 0.0,
        next: None,
    }];
    let mut places = HashMap::new();
    let mut layer = 0..1;
    for _ in 0..depth {
        let end = states.len();
        for place in layer {
            for (number, rung) in rungs.iter().enumerate() {
                let Some(state) = states.get(place).filter(|state| number >= state.last) else {
                    continue;
                };
                let Some(next) = fail(state, number, rung) else {
                    continue;
                };
                places.insert(next.key, states.len());
                states.push(next);
            }
        }
        layer = end..states.len();
    }
    (states, places)
}

/// The state after one more failure.
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

fn follow(states: &[State], rungs: &[Rung]) -> Found {
    let mut found = Found::default();
    let mut place = 0;
    while let Some(state) = states.get(place) {
        found.success = (1.0 - state.alive).clamp(0.0, 1.0);
        let Some((number, child)) = state.next else {
            break;
        };
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
