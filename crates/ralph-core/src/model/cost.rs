//! What attempts cost, and what they came to.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Key, Status, TaskId};

/// Below this a sum is nothing: what is left of fractions that were added and taken away.
const NOTHING: f64 = 1e-9;

/// What was spent on a task, over all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpentOnTask {
    pub usd: f64,
    pub time: Duration,
    /// Whether an estimate is part of the dollars.
    pub estimated: bool,
}

/// An amount without what adding fractions up leaves behind it (`0.8999999999999999`).
pub fn dollars(sum_usd: f64) -> f64 {
    (sum_usd * 1e9).round() / 1e9
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttemptCost {
    pub usd: f64,
    /// Whether Ralph made the sum from tokens and prices, where the agent gave none.
    pub estimated: bool,
}

impl AttemptCost {
    pub fn new(usd: f64, estimated: bool) -> Self {
        Self { usd: dollars(usd), estimated }
    }
}

/// What several attempts cost together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Dollars, as far as known; none where attempts were made and not one of them told.
    pub cost_usd: Option<f64>,
    /// Attempts that did not tell: the whole is more than the sum.
    #[serde(default)]
    pub cost_unknown: u64,
    /// Whether an estimate is part of the sum.
    #[serde(default)]
    pub cost_estimated: bool,
}

impl Cost {
    /// From a sum of what was told, and how many attempts told nothing.
    pub fn new(sum_usd: f64, unknown: u64) -> Self {
        let told = unknown == 0 || sum_usd > NOTHING;
        Self { cost_usd: told.then_some(dollars(sum_usd)), cost_unknown: unknown, cost_estimated: false }
    }

    /// The same, of which a part is estimated or is not.
    pub fn estimated(self, cost_estimated: bool) -> Self {
        Self { cost_estimated, ..self }
    }

    pub fn known_usd(&self) -> f64 {
        self.cost_usd.unwrap_or_default()
    }
}

impl Default for Cost {
    fn default() -> Self {
        Self::new(0.0, 0)
    }
}

/// What attempts of one kind came to. Only counted ones are in it, but for the cost, which all of them have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sums {
    pub attempts: u64,
    pub done: u64,
    /// What they cost, where any cost is known: unknown is not zero.
    pub cost_usd: Option<f64>,
    pub duration_ms: u64,
    /// Counted attempts of which no cost is known.
    pub without_cost: u64,
    pub cost_estimated: bool,
}

impl Sums {
    pub fn success_rate(&self) -> f64 {
        if self.attempts == 0 {
            return 0.0;
        }
        self.done as f64 / self.attempts as f64
    }

    /// What a done task cost, failures included; unknown where nothing is done or some cost is not known.
    pub fn cost_per_done(&self) -> Option<f64> {
        self.cost_usd.filter(|_| self.done > 0 && self.without_cost == 0).map(|cost| cost / self.done as f64)
    }

    pub fn mean_duration_ms(&self) -> Option<u64> {
        self.duration_ms.checked_div(self.attempts)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ModelSums {
    pub model: String,
    pub sums: Sums,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TaskSums {
    pub task_id: TaskId,
    pub key: Option<Key>,
    pub spec: Option<String>,
    /// What people call the task.
    pub name: String,
    pub title: String,
    pub status: Status,
    /// The models it was attempted with, in order, each once.
    pub models: Vec<String>,
    pub sums: Sums,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CategorySums {
    pub category: String,
    pub failures: u64,
    pub tasks: u64,
}

/// Retry results, by the model of the retry.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RetrySums {
    pub first: Sums,
    pub same_model: Sums,
    pub other_model: Sums,
    /// Those of all of them that had a note from the user in their prompt.
    pub after_note: Sums,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    pub total: Sums,
    /// By model, most attempts first.
    pub models: Vec<ModelSums>,
    pub tasks: Vec<TaskSums>,
    /// By error category, most frequent first.
    pub categories: Vec<CategorySums>,
    /// First attempts, retries and changes of model.
    pub retries: RetrySums,
    /// Gates that failed and then passed on the same tree, most often first.
    pub flaky_gates: Vec<FlakySums>,
    pub flaky_tests: Vec<FlakySums>,
    /// By reviewer, most reviews first. What they cost is not part of the sums above.
    pub reviews: Vec<ReviewSums>,
}

/// What reviews by one agent and model came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReviewSums {
    pub agent: String,
    pub model: String,
    pub reviews: u64,
    pub accepted: u64,
    pub rejected: u64,
    pub cost_usd: Option<f64>,
    pub cost_estimated: bool,
    /// Reviews of which no cost is known.
    pub without_cost: u64,
    pub duration_ms: u64,
}

/// How often a gate, or a test in it, failed at first and passed when run again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlakySums {
    /// The command, or the test.
    pub name: String,
    /// The gate's command.
    pub gate: String,
    pub flaky: u64,
    /// How often the gate judged an attempt.
    pub runs: u64,
}

impl FlakySums {
    pub fn rate(&self) -> f64 {
        self.flaky as f64 / self.runs.max(1) as f64
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recent {
    pub done: u32,
    pub counted: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_is_not_zero_and_nothing_tried_is() {
        assert_eq!(Cost::new(0.0, 0).cost_usd, Some(0.0));
        assert_eq!(Cost::new(0.0, 3).cost_usd, None);
        assert_eq!(Cost::new(0.5, 3).cost_usd, Some(0.5));
        assert_eq!(Cost::new(0.3 + 0.6, 0).cost_usd, Some(0.9));
    }

    #[test]
    fn what_older_files_hold_is_read() {
        let cost: Cost = serde_json::from_str(r#"{"cost_usd":1.5}"#).unwrap();
        assert_eq!(cost, Cost::new(1.5, 0));
    }
}
