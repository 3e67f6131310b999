//! Replay: which way to choose a model would have been best on recorded outcomes.
//!
//! ```text
//! table ─► rows ─► world (what any attempt comes to) ─► play, one strategy at a time ─► report
//! ```

mod play;
mod rows;
#[cfg(test)]
mod tests;
mod world;

use serde::Serialize;

use crate::model::Strategy;
use play::Tally;
pub use play::{Score, play, play_sequence};
pub use rows::{Row, RowError, read};
pub use world::{Options, Outcome, Task, World};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub tasks: usize,
    /// Tasks left out because a model of the ladder has no record.
    pub skipped: usize,
    /// Outcomes nobody recorded, drawn by the rate of the model instead.
    pub imputed: usize,
    /// Models of the ladder of which no cost is recorded; they are taken to cost nothing.
    pub without_cost: Vec<String>,
    /// In the order in which Ralph lists them.
    pub strategies: Vec<Score>,
    pub best_fixed: BestFixed,
    pub oracle: Score,
}

/// Plays all strategies on the same outcomes with the same luck, in the order of the rows.
pub fn replay(rows: &[Row], options: &Options) -> Report {
    let world = World::new(rows, options);
    let mut strategies: Vec<Score> =
        Strategy::ALL.into_iter().map(|strategy| play(&world, options, strategy)).collect();
    let top = options.ladder.len().saturating_sub(1);
    strategies.push(play_sequence(&world, options, "always-strongest", &[top]));
    Report {
        tasks: world.tasks.len(),
        skipped: world.skipped,
        imputed: world.imputed,
        without_cost: world.without_cost.clone(),
        strategies,
        best_fixed: best_fixed(&world, options),
        oracle: oracle(&world, options),
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BestFixed {
    /// The models, in order; empty: no attempt was best.
    pub sequence: Vec<String>,
    /// Whether all sequences were tried; else only those that went on from the best shorter ones.
    pub exact: bool,
    #[serde(flatten)]
    pub score: Score,
}

/// Sequences of one length that are followed further. Fewer exist for 8 models and 4 attempts, so the search is exact
/// up to 8 models and 5 attempts.
const MOST_SEQUENCES: usize = 4_096;
/// Numbers of unsolved tasks that are kept at a time: a few hundred megabytes at most.
const MOST_UNSOLVED: usize = 40_000_000;

#[derive(Clone)]
struct Prefix {
    rungs: Vec<usize>,
    unsolved: Vec<u32>,
    cost: f64,
    loss: f64,
}

/// Plays all sequences up to the number of attempts, the empty one included.
pub fn best_fixed(world: &World, options: &Options) -> BestFixed {
    let start = Prefix {
        rungs: Vec::new(),
        unsolved: (0..u32::try_from(world.tasks.len()).unwrap_or(u32::MAX)).collect(),
        cost: 0.0,
        loss: 0.0,
    };
    let mut best = start.rungs.clone();
    let mut least = options.value_usd * start.unsolved.iter().map(|_| 1.0).sum::<f64>();
    let mut exact = true;
    let mut layer = vec![start];
    for _ in 0..options.attempts {
        let mut next = Vec::new();
        for prefix in &layer {
            for rung in 0..options.ladder.len() {
                let longer = extend(prefix, rung, world, options.value_usd);
                if longer.loss < least {
                    least = longer.loss;
                    best.clone_from(&longer.rungs);
                }
                next.push(longer);
            }
        }
        let most =
            (MOST_UNSOLVED / world.tasks.len().max(1) / options.ladder.len().max(1)).clamp(1, MOST_SEQUENCES);
        if next.len() > most {
            exact = false;
            next.sort_by(|a, b| a.loss.total_cmp(&b.loss));
            next.truncate(most);
        }
        layer = next;
    }
    let names = best.iter().filter_map(|rung| options.ladder.get(*rung).cloned());
    BestFixed { sequence: names.collect(), exact, score: play_sequence(world, options, "best fixed", &best) }
}

fn extend(prefix: &Prefix, rung: usize, world: &World, value: f64) -> Prefix {
    let earlier = prefix.rungs.iter().filter(|earlier| **earlier == rung).count();
    let mut cost = prefix.cost;
    let mut unsolved = Vec::new();
    for number in &prefix.unsolved {
        let Some(task) = world.tasks.get(*number as usize) else { continue };
        let outcome = task.outcome(rung, earlier);
        cost += outcome.cost;
        if !outcome.success {
            unsolved.push(*number);
        }
    }
    let mut rungs = prefix.rungs.clone();
    rungs.push(rung);
    let loss = cost + value * unsolved.iter().map(|_| 1.0).sum::<f64>();
    Prefix { rungs, unsolved, cost, loss }
}

/// Knows every outcome beforehand: the cheapest success, or nothing where that costs more than it is worth.
pub fn oracle(world: &World, options: &Options) -> Score {
    let mut tally = Tally::default();
    for task in &world.tasks {
        match task.cheapest().filter(|cost| *cost <= options.value_usd) {
            Some(cost) => tally.add(true, cost),
            None => tally.add(false, 0.0),
        }
    }
    tally.score("oracle", options.value_usd)
}
