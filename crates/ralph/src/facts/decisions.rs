//! What the choice of models came to: the numbers behind the plots of the dashboard and the report.

use std::collections::HashMap;

use ralph_core::agent::Agent;
use ralph_core::model::{RunId, Sums, TaskId, Timestamp};
use ralph_core::replay::{Options, Report, Row, replay};
use ralph_core::store::{LAST_ATTEMPT, ModelAttempt, ModelSpend, Store, StoreError, VerifiedPoint};
use serde::Serialize;

use crate::settings::Settings;

/// Points of a line; of more, as many are left out evenly.
const POINTS: usize = 120;
/// The attempts of a replay and what a retry with the same model is worth: what `ralph replay` takes by default.
const REPLAY_ATTEMPTS: u32 = 4;
const REPLAY_RETRY_SUCCESS: f64 = 0.17;
/// Attempts that a replay for a view takes at most, the newest: it must not keep a page waiting.
const REPLAYED: usize = 5_000;
/// Below this many attempts a comparison of strategies says nothing.
const FEWEST_REPLAYED: usize = 10;

/// What happened so often out of so many, with the 95% interval of what to expect (Wilson's).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Share {
    pub done: u64,
    pub of: u64,
    pub rate: f64,
    pub low: f64,
    pub high: f64,
}

impl Share {
    pub fn new(done: u64, of: u64) -> Self {
        if of == 0 {
            return Self { high: 1.0, ..Self::default() };
        }
        const Z: f64 = 1.96;
        let (n, rate) = (of as f64, done as f64 / of as f64);
        let scale = 1.0 + Z * Z / n;
        let center = (rate + Z * Z / (2.0 * n)) / scale;
        let half = Z / scale * (rate * (1.0 - rate) / n + Z * Z / (4.0 * n * n)).sqrt();
        Self {
            done,
            of,
            rate,
            low: (center - half).max(0.0).min(rate),
            high: (center + half).min(1.0).max(rate),
        }
    }

    /// Whether the intervals of two shares have nothing in common.
    pub fn is_apart(&self, other: &Self) -> bool {
        self.low > other.high || other.low > self.high
    }
}

/// The numbers behind the plots on decisions, of one run or of all.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DecisionFacts {
    pub run_id: Option<RunId>,
    /// Tasks that became verified, oldest first, with what each of them cost on average until then.
    pub cost_over_time: Vec<CostPoint>,
    /// Success by model and attempt number, most used models first.
    pub success: Vec<ModelSuccess>,
    /// First attempts, retries and changes of model.
    pub retries: Vec<RetryResult>,
    /// Most expensive first.
    pub spend: Vec<ModelSpending>,
    /// None where there are too few attempts.
    pub strategies: Option<StrategyFacts>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostPoint {
    pub at: Timestamp,
    /// The task that became verified; none for the end of the last session, where that verified nothing.
    pub task: Option<String>,
    pub verified: u64,
    /// What had been spent until then, failures included.
    pub spent_usd: f64,
    pub cost_per_verified_usd: f64,
    /// Whether attempts without a known cost make it more than that.
    pub is_at_least: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelSuccess {
    pub model: String,
    pub attempts: Vec<NumberedAttempts>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NumberedAttempts {
    pub attempt: u32,
    /// Later attempts are counted here, too.
    pub and_later: bool,
    #[serde(flatten)]
    pub share: Share,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryKind {
    FirstAttempt,
    SameModel,
    OtherModel,
    /// Also counted as one of the others.
    AfterNote,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RetryResult {
    pub kind: RetryKind,
    #[serde(flatten)]
    pub share: Share,
    pub cost_usd: Option<f64>,
    pub cost_estimated: bool,
    pub attempts_without_cost: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelSpending {
    pub model: String,
    pub cost_usd: Option<f64>,
    pub cost_estimated: bool,
    pub attempts: u64,
    pub verified: u64,
    pub attempts_without_cost: u64,
}

/// What `ralph replay --history` says, over the agent's newest attempts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StrategyFacts {
    /// The strategy of the settings.
    pub current: String,
    pub ladder: Vec<String>,
    pub value_usd: f64,
    #[serde(flatten)]
    pub report: Report,
}

/// The project's agent, as a replay of its history needs it.
#[derive(Clone, Copy, Debug)]
pub struct History<'a> {
    pub agent: &'a str,
    /// Its models, cheapest first.
    pub ladder: &'a [String],
    pub strategy: &'a str,
    /// What a done task is worth: `[run] value_usd`.
    pub value_usd: f64,
}

impl<'a> History<'a> {
    pub fn of(settings: &'a Settings, agent: &'a Agent) -> Self {
        Self {
            agent: agent.name(),
            ladder: agent.ladder(),
            strategy: settings.run.strategy.as_str(),
            value_usd: *settings.run.value_usd,
        }
    }
}

impl DecisionFacts {
    /// Strategies are compared over all runs, and only where the agent is given.
    pub fn read(
        store: &Store,
        run: Option<&RunId>,
        history: Option<History<'_>>,
    ) -> Result<Self, StoreError> {
        let retries = store.retry_sums(run)?;
        let strategies = history.map(|history| StrategyFacts::read(store, history)).transpose()?;
        Ok(Self {
            run_id: run.cloned(),
            cost_over_time: thinned(store.verified_points(run)?),
            success: by_model(store.model_attempts(run)?),
            retries: [
                (RetryKind::FirstAttempt, retries.first),
                (RetryKind::SameModel, retries.same_model),
                (RetryKind::OtherModel, retries.other_model),
                (RetryKind::AfterNote, retries.after_note),
            ]
            .into_iter()
            .filter(|(_, sums)| sums.attempts > 0)
            .map(|(kind, sums)| RetryResult::new(kind, &sums))
            .collect(),
            spend: store.model_spend(run)?.into_iter().map(ModelSpending::from).collect(),
            strategies: strategies.flatten(),
        })
    }
}

/// The points in order, the last of them always there.
fn thinned(points: Vec<VerifiedPoint>) -> Vec<CostPoint> {
    let all = points.len();
    let keeps = |at: usize| {
        let place = |at: usize| at * POINTS.min(all) / all.max(1);
        at + 1 == all || at == 0 || place(at) != place(at - 1)
    };
    let kept = points.into_iter().enumerate().filter(|(at, _)| keeps(*at));
    kept.filter_map(|(_, point)| {
        let spent_usd = point.spent_usd?;
        Some(CostPoint {
            at: point.at,
            task: point.name,
            verified: point.verified,
            spent_usd,
            cost_per_verified_usd: spent_usd / point.verified.max(1) as f64,
            is_at_least: point.without_cost > 0,
        })
    })
    .collect()
}

fn by_model(rows: Vec<ModelAttempt>) -> Vec<ModelSuccess> {
    let mut models: Vec<ModelSuccess> = Vec::new();
    for ModelAttempt { model, attempt, attempts, done } in rows {
        let and_later = attempt >= LAST_ATTEMPT;
        let one = NumberedAttempts { attempt, and_later, share: Share::new(done, attempts) };
        match models.last_mut().filter(|last| last.model == model) {
            Some(last) => last.attempts.push(one),
            None => models.push(ModelSuccess { model, attempts: vec![one] }),
        }
    }
    models
}

impl RetryResult {
    fn new(kind: RetryKind, sums: &Sums) -> Self {
        Self {
            kind,
            share: Share::new(sums.done, sums.attempts),
            cost_usd: sums.cost_usd,
            cost_estimated: sums.cost_estimated,
            attempts_without_cost: sums.without_cost,
        }
    }
}

impl From<ModelSpend> for ModelSpending {
    fn from(of: ModelSpend) -> Self {
        Self {
            model: of.model,
            cost_usd: of.cost_usd,
            cost_estimated: of.cost_estimated,
            attempts: of.attempts,
            verified: of.verified,
            attempts_without_cost: of.without_cost,
        }
    }
}

impl StrategyFacts {
    fn read(store: &Store, history: History<'_>) -> Result<Option<Self>, StoreError> {
        // With one model there is nothing to choose.
        if history.ladder.len() < 2 {
            return Ok(None);
        }
        let rows = replay_rows(store, history.agent, REPLAYED)?;
        let has_outcome = |model: &&String| rows.iter().any(|row| row.model == **model);
        let ladder: Vec<String> = history.ladder.iter().filter(has_outcome).cloned().collect();
        if rows.len() < FEWEST_REPLAYED || ladder.len() < 2 {
            return Ok(None);
        }
        let options = Options {
            ladder: ladder.clone(),
            value_usd: history.value_usd,
            attempts: REPLAY_ATTEMPTS,
            retry_success: REPLAY_RETRY_SUCCESS,
            seed: 0,
            model: None,
            impute: true,
        };
        let report = replay(&rows, &options);
        let current = history.strategy.to_owned();
        let facts = Self { current, ladder, value_usd: options.value_usd, report };
        Ok(Some(facts).filter(|facts| facts.report.tasks > 0))
    }
}

/// The newest counted attempts that an agent made, oldest first, as a replay takes them.
pub fn replay_rows(store: &Store, agent: &str, most: usize) -> Result<Vec<Row>, StoreError> {
    let mut earlier: HashMap<(TaskId, String), u32> = HashMap::new();
    let rows = store.outcomes_of(agent, most)?.into_iter().map(|row| {
        let number = earlier.entry((row.task_id.clone(), row.model.clone())).or_default();
        *number += 1;
        Row {
            task: row.task_id.to_string(),
            model: row.model,
            success: row.done,
            cost_usd: row.cost_usd,
            difficulty: row.difficulty,
            attempt: *number,
        }
    });
    Ok(rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_attempts_leave_a_wide_interval() {
        let rounded = |share: Share| [share.low, share.rate, share.high].map(|n| (n * 100.0).round());
        assert_eq!(rounded(Share::new(0, 0)), [0.0, 0.0, 100.0]);
        assert_eq!(rounded(Share::new(1, 1)), [21.0, 100.0, 100.0]);
        assert_eq!(rounded(Share::new(0, 3)), [0.0, 0.0, 56.0]);
        assert_eq!(rounded(Share::new(500, 1000)), [47.0, 50.0, 53.0]);
        assert!(Share::new(90, 100).is_apart(&Share::new(10, 100)));
        assert!(!Share::new(2, 3).is_apart(&Share::new(1, 3)));
    }

    #[test]
    fn a_long_line_keeps_its_ends() {
        let point = |n: u64| VerifiedPoint {
            at: Timestamp::from_secs(1),
            name: Some(n.to_string()),
            verified: n,
            spent_usd: Some(n as f64),
            without_cost: 0,
        };
        for all in [0, 1, 2, POINTS as u64, 1000, 99_999] {
            let points = thinned((1..=all).map(point).collect());
            assert!(points.len() <= POINTS + 1, "{all}: {}", points.len());
            assert_eq!(points.first().map(|point| point.verified), (all > 0).then_some(1));
            assert_eq!(points.last().map(|point| point.verified), (all > 0).then_some(all));
        }
    }
}
