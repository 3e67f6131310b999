//! What the choice of models came to, as plots show it: what verified tasks cost, how each model did at each attempt, what
//! was spent on whom, and which learnings helped.

use super::history::VERIFIED;
use super::sql::{Statements, bind, record};
use super::{Result, Store};
use crate::model::{Difficulty, RunId, TaskId, Timestamp};

/// Attempts from this number on are counted together.
pub const LAST_ATTEMPT: u32 = 4;

/// A task that became verified, and what had been spent until then.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifiedPoint {
    pub started_at: Timestamp,
    pub duration_ms: u64,
    pub name: String,
    /// How many attempts had ended verified, this one included.
    pub verified: u64,
    pub spent_usd: f64,
    /// Attempts by agents until then of which no cost is known.
    pub without_cost: u64,
}

/// How a model did on attempts of one number.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelAttempt {
    pub model: String,
    /// At most [`LAST_ATTEMPT`].
    pub attempt: u32,
    pub attempts: u64,
    pub done: u64,
}

/// What was spent on a model, reviews included, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSpend {
    pub model: String,
    pub cost_usd: Option<f64>,
    pub cost_estimated: bool,
    /// Counted attempts.
    pub attempts: u64,
    pub verified: u64,
    /// Sessions of which no cost is known.
    pub without_cost: u64,
}

/// An attempt as a replay sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct OutcomeRow {
    pub task_id: TaskId,
    pub model: String,
    pub done: bool,
    pub cost_usd: Option<f64>,
    pub difficulty: Option<Difficulty>,
}

/// How often a learning was in a prompt, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct LearningUse {
    pub id: String,
    pub category: String,
    pub title: Option<String>,
    pub content: String,
    pub pinned: bool,
    pub shown: u64,
    pub helpful: u64,
    pub harmful: u64,
}

/// All active learnings together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LearningSums {
    pub learnings: u64,
    /// Those that were shown at all.
    pub ever_shown: u64,
    pub shown: u64,
    pub helpful: u64,
    pub harmful: u64,
}

record!(VerifiedPoint { started_at, duration_ms, name, verified, spent_usd, without_cost });
record!(ModelAttempt { model, attempt, attempts, done });
record!(ModelSpend { model, cost_usd, cost_estimated, attempts, verified, without_cost });
record!(OutcomeRow { task_id, model, done, cost_usd, difficulty = "difficulty_estimate" });
record!(LearningUse { id, category, title, content, pinned, shown, helpful, harmful });
record!(LearningSums { learnings, ever_shown, shown, helpful, harmful });

impl Store {
    /// Every attempt that ended verified, oldest first, with what its run (or all runs) had spent until it ended.
    pub fn verified_points(&self, run: Option<&RunId>) -> Result<Vec<VerifiedPoint>> {
        let sql = format!(
            "SELECT p.started_at, p.duration_ms, t.name, p.verified, p.spent_usd, p.without_cost FROM (
                 SELECT o.started_at, o.duration_ms, o.task_id, {VERIFIED} AS is_verified,
                     sum({VERIFIED}) OVER w AS verified, coalesce(sum(o.cost_usd) OVER w, 0) AS spent_usd,
                     sum(o.cost_usd IS NULL AND o.counted AND o.agent IS NOT NULL) OVER w AS without_cost
                 FROM iteration_outcomes o WHERE (?1 IS NULL OR o.run_id = ?1)
                 WINDOW w AS (ORDER BY o.started_at, o.rowid)) p
             JOIN tasks t ON t.id = p.task_id WHERE is_verified ORDER BY p.verified"
        );
        self.all(&sql, [run])
    }

    /// Counted attempts by model and number, most used models first.
    pub fn model_attempts(&self, run: Option<&RunId>) -> Result<Vec<ModelAttempt>> {
        let sql = "SELECT model, min(ordinal, :last) AS attempt, count(*) AS attempts, sum(outcome = 'done') AS done
             FROM iteration_outcomes
             WHERE counted AND model <> 'none' AND (:run IS NULL OR run_id = :run)
             GROUP BY 1, 2 ORDER BY sum(count(*)) OVER (PARTITION BY model) DESC, model, attempt";
        self.all(sql, bind! { run, last: LAST_ATTEMPT })
    }

    /// What was spent on each model, most expensive first.
    pub fn model_spend(&self, run: Option<&RunId>) -> Result<Vec<ModelSpend>> {
        let sql = format!(
            "SELECT model, sum(cost_usd) AS cost_usd, max(cost_estimated) AS cost_estimated, sum(counted) AS attempts,
                 sum(verified) AS verified, sum(unknown) AS without_cost
             FROM (SELECT o.model, o.cost_usd, o.cost_estimated, o.counted, {VERIFIED} AS verified, o.run_id,
                       o.counted AND o.cost_usd IS NULL AS unknown
                   FROM iteration_outcomes o WHERE o.model <> 'none'
                   UNION ALL SELECT model, cost_usd, cost_estimated, 0, 0, run_id, cost_usd IS NULL
                   FROM side_sessions WHERE kind = 'review')
             WHERE (?1 IS NULL OR run_id = ?1) GROUP BY model
             ORDER BY coalesce(sum(cost_usd), 0) DESC, sum(counted) DESC, model"
        );
        self.all(&sql, [run])
    }

    /// The counted attempts that an agent made, oldest first.
    pub fn outcomes_of(&self, agent: &str) -> Result<Vec<OutcomeRow>> {
        let sql = "SELECT o.task_id, o.model, o.outcome = 'done' AS done, o.cost_usd, m.difficulty_estimate
             FROM iteration_outcomes o LEFT JOIN strategy_metrics m ON m.task_id = o.task_id
             WHERE o.counted AND o.agent = ?1 AND o.model <> 'none' ORDER BY o.started_at, o.rowid";
        self.all(sql, [agent])
    }

    /// Active learnings, those first that were shown most often.
    pub fn most_shown_learnings(&self, most: usize) -> Result<Vec<LearningUse>> {
        let sql = "SELECT * FROM learnings WHERE pruned_at IS NULL AND superseded_by IS NULL
             ORDER BY shown DESC, helpful + harmful DESC, created_at, id LIMIT ?1";
        self.all(sql, [super::plan::row_limit(most)])
    }

    pub fn learning_sums(&self) -> Result<LearningSums> {
        let sql = "SELECT count(*) AS learnings, coalesce(sum(shown > 0), 0) AS ever_shown,
                 coalesce(sum(shown), 0) AS shown, coalesce(sum(helpful), 0) AS helpful,
                 coalesce(sum(harmful), 0) AS harmful
             FROM learnings WHERE pruned_at IS NULL AND superseded_by IS NULL";
        self.one(sql, [])
    }
}
