//! Replay: which way to choose a model would have been best on recorded outcomes.
//!
//! ```text
//! table ─► rows ─► world (what any attempt comes to) ─► play, one strategy at a time ─► report
//! ```

mod hindsight;
mod play;
mod rows;
mod table;
#[cfg(test)]
mod tests;
mod world;

use serde::Serialize;

use crate::adaptive::Tuning;
use crate::model::Strategy;
pub use hindsight::{BestFixed, best_fixed, oracle};
pub use play::{Score, play, play_sequence};
pub use rows::{Row, RowError, read};
pub use world::{Options, Outcome, Task, World};

/// How all strategies did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Tasks played.
    pub tasks: usize,
    /// Tasks left out because a model of the ladder has no record.
    pub skipped: usize,
    /// Outcomes nobody recorded, drawn by the rate of the model instead.
    pub imputed: usize,
    /// Models of the ladder of which no cost is recorded; they are taken to cost nothing.
    pub without_cost: Vec<String>,
    /// In the order in which Ralph lists them.
    pub strategies: Vec<Score>,
    /// The best fixed sequence in hindsight.
    pub best_fixed: BestFixed,
    /// The best that was possible.
    pub oracle: Score,
}

/// Plays all strategies on the same outcomes with the same luck, in the order of the rows.
#[must_use]
pub fn replay(rows: &[Row], options: &Options) -> Report {
    let world = World::new(rows, options);
    let mut strategies: Vec<Score> = Strategy::ALL
        .into_iter()
        .map(|strategy| play(&world, options, strategy, Tuning::DEFAULT))
        .collect();
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
