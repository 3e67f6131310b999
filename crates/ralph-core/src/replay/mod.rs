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

use crate::decide::adaptive::Tuning;
pub use hindsight::{BestFixed, best_fixed, oracle};
pub use play::{Score, play_adaptive};
pub use rows::{Row, RowError, read};
pub use world::{Options, Outcome, Task, World};

/// How all strategies did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Tasks played.
    pub tasks: usize,
    /// Tasks left out because a model of the ladder has no record.
    pub skipped: usize,
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
    let top = options.ladder.len().saturating_sub(1);
    let middle = top / 2;
    let named = |name: &String| options.ladder.iter().position(|rung| rung == name);
    let start = options.model.as_ref().and_then(named).unwrap_or(middle);
    let rule = |name: &str, rule: &dyn Fn(usize) -> Option<usize>| {
        play::play_rule(&world, options, name, rule)
    };
    let strategies = vec![
        rule("fixed", &|_| Some(start)),
        rule("escalate", &|failures| Some(failures.min(top))),
        rule("cost-optimized", &|failures| {
            Some((start + failures.saturating_sub(1)).min(top))
        }),
        rule("plan-then-execute", &|attempt| {
            Some(if attempt == 0 { top } else { start })
        }),
        play_adaptive(&world, options, Tuning::DEFAULT),
        rule("always-strongest", &|attempt| (attempt == 0).then_some(top)),
    ];
    Report {
        tasks: world.tasks.len(),
        skipped: world.skipped,
        strategies,
        best_fixed: best_fixed(&world, options),
        oracle: oracle(&world, options),
    }
}

/// Plays a sequence given beforehand, then gives up.
#[must_use]
pub fn play_sequence(world: &World, options: &Options, name: &str, sequence: &[usize]) -> Score {
    play::play_rule(world, options, name, |attempt| {
        sequence.get(attempt).copied()
    })
}
