//! What was spent.

use std::time::Duration;

/// What was spent on a task, over all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpentOnTask {
    /// Dollars, as far as known.
    pub usd: f64,
    /// Time of agents.
    pub time: Duration,
}
