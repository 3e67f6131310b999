//! What was spent.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Below this a sum is nothing: what is left of fractions that were added and taken away.
const NOTHING: f64 = 1e-9;

/// What was spent on a task, over all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpentOnTask {
    /// Dollars, as far as known.
    pub usd: f64,
    /// Time of agents.
    pub time: Duration,
    /// Whether an estimate is part of the dollars.
    pub estimated: bool,
}

/// An amount without what adding fractions up leaves behind it (`0.8999999999999999`).
#[must_use]
pub fn dollars(sum_usd: f64) -> f64 {
    (sum_usd * 1e9).round() / 1e9
}

/// What one attempt cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttemptCost {
    /// Dollars.
    pub usd: f64,
    /// Whether Ralph made the sum from tokens and prices, where the agent gave none.
    pub estimated: bool,
}

impl AttemptCost {
    /// An amount, without what adding fractions up leaves behind it.
    #[must_use]
    pub fn new(usd: f64, estimated: bool) -> Self {
        Self {
            usd: dollars(usd),
            estimated,
        }
    }
}

/// What several attempts cost together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Dollars, as far as known; none where tries were made and not one of them told.
    pub cost_usd: Option<f64>,
    /// Tries that did not tell: the whole is more than the sum.
    #[serde(default)]
    pub cost_unknown: u64,
    /// Whether an estimate is part of the sum.
    #[serde(default)]
    pub cost_estimated: bool,
}

impl Cost {
    /// From a sum of what was told, and how many tries told nothing.
    #[must_use]
    pub fn new(sum_usd: f64, unknown: u64) -> Self {
        let told = unknown == 0 || sum_usd > NOTHING;
        Self {
            cost_usd: told.then_some(dollars(sum_usd)),
            cost_unknown: unknown,
            cost_estimated: false,
        }
    }

    /// The same, of which a part is estimated or is not.
    #[must_use]
    pub fn estimated(self, cost_estimated: bool) -> Self {
        Self {
            cost_estimated,
            ..self
        }
    }

    /// What is known to have been spent.
    #[must_use]
    pub fn known_usd(&self) -> f64 {
        self.cost_usd.unwrap_or_default()
    }
}

impl Default for Cost {
    fn default() -> Self {
        Self::new(0.0, 0)
    }
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
