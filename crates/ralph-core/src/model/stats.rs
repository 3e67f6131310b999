//! Sums over recorded attempts.

use serde::Serialize;

use super::{Key, Status, TaskId};

/// What attempts of one kind came to. Only counted ones are in it, but for the cost, which all of them have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sums {
    /// Counted attempts.
    pub attempts: u64,
    /// Of those, done.
    pub done: u64,
    /// What they cost, where any cost is known: unknown is not zero.
    pub cost_usd: Option<f64>,
    /// How long they took together.
    pub duration_ms: u64,
    /// Counted attempts of which no cost is known.
    pub without_cost: u64,
    /// Whether an estimate is part of the cost.
    pub cost_estimated: bool,
}

impl Sums {
    /// The share of attempts that ended done; 0 where there were none.
    #[must_use]
    pub fn success_rate(&self) -> f64 {
        if self.attempts == 0 {
            return 0.0;
        }
        self.done as f64 / self.attempts as f64
    }

    /// What a done task cost, failures included; unknown where nothing is done or some cost is not known.
    #[must_use]
    pub fn cost_per_done(&self) -> Option<f64> {
        self.cost_usd
            .filter(|_| self.done > 0 && self.without_cost == 0)
            .map(|cost| cost / self.done as f64)
    }

    /// How long an attempt took on average.
    #[must_use]
    pub fn mean_duration_ms(&self) -> Option<u64> {
        self.duration_ms.checked_div(self.attempts)
    }
}

/// One model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSums {
    /// Its name.
    pub model: String,
    /// What it did.
    pub sums: Sums,
}

/// One task that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskSums {
    /// The task.
    pub task_id: TaskId,
    /// Its key.
    pub key: Option<Key>,
    /// Its title.
    pub title: String,
    /// Where it stands.
    pub status: Status,
    /// The models it was tried with, in order, each once.
    pub models: Vec<String>,
    /// What was done on it.
    pub sums: Sums,
}

/// Failures of one category.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CategorySums {
    /// The category.
    pub category: String,
    /// Counted failures.
    pub failures: u64,
    /// On how many tasks.
    pub tasks: u64,
}

/// What trying again brought, by what was tried.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RetrySums {
    /// First attempts on tasks.
    pub first: Sums,
    /// The same model again.
    pub same_model: Sums,
    /// Another model than before.
    pub other_model: Sums,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Everything together.
    pub total: Sums,
    /// By model, most attempts first.
    pub models: Vec<ModelSums>,
    /// By task, dearest first.
    pub tasks: Vec<TaskSums>,
    /// By error category, most frequent first.
    pub categories: Vec<CategorySums>,
    /// First tries, retries and changes of model.
    pub retries: RetrySums,
}

/// How the last attempts on any task went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recent {
    /// Done ones.
    pub done: u32,
    /// All that counted.
    pub counted: u32,
}
