//! What the choice of models came to, as plots show it: what verified tasks cost, how each model did at each attempt, what
//! was spent on whom, and which learnings helped.

use super::history::{COST_UNKNOWN, VERIFIED};
use super::sql::{ReadResult, Row, Statements, record};
use super::{Result, Store};
use crate::model::{Difficulty, RunId, TaskId, Timestamp};

/// Attempts from this number on are counted together.
pub const LAST_ATTEMPT: u32 = 4;

/// In place of a model: what was spent on tasks that were deleted since.
pub const DELETED_TASKS: &str = "deleted tasks";

/// When a session `o` ended, in milliseconds.
const ENDED: &str = "coalesce(CAST(round(unixepoch(o.started_at, 'subsec') * 1000) AS BIGINT), 0) + coalesce(o.duration_ms, 0)";

/// Whether a review `o` has ended and nobody knows what it cost.
const REVIEW_COST_UNKNOWN: &str = "CASE WHEN o.outcome IS NOT NULL AND o.cost_usd IS NULL AND o.error_type IS DISTINCT FROM 'spawn' THEN 1 ELSE 0 END";

/// A task that became verified, and what had been spent until then.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifiedPoint {
    pub at: Timestamp,
    /// None for the end of the last session, where that verified nothing.
    pub name: Option<String>,
    /// How many tasks had become verified, this one included.
    pub verified: u64,
    /// None where no cost is known.
    pub spent_usd: Option<f64>,
    /// Sessions until then of which no cost is known.
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

record!(VerifiedPoint { at via from_millis, name, verified, spent_usd, without_cost });
record!(ModelAttempt { model, attempt, attempts, done });
record!(ModelSpend { model, cost_usd, cost_estimated, attempts, verified, without_cost });
record!(OutcomeRow { task_id, model, done, cost_usd, difficulty = "difficulty_estimate" });
record!(LearningUse { id, category, title, content, pinned, shown, helpful, harmful });
record!(LearningSums { learnings, ever_shown, shown, helpful, harmful });

/// The sessions `o` of the run `?1`, or of all. Said so that the index on runs is used.
fn wanted(run: Option<&RunId>) -> &'static str {
    if run.is_some() { "o.run_id = ?1" } else { "CAST(?1 AS TEXT) IS NULL" }
}

fn from_millis(row: &Row<'_>, name: &str) -> ReadResult<Timestamp> {
    Ok(Timestamp::from_millis(row.get(name)?))
}

impl Store {
    /// The tasks that became verified, oldest first, each by its last attempt that did, with what the run (or all runs) had
    /// spent until then, reviews included; and what was spent in the end.
    pub fn verified_points(&self, run: Option<&RunId>) -> Result<Vec<VerifiedPoint>> {
        let wanted = wanted(run);
        let sql = format!(
            "WITH sessions (at, task_id, is_verified, cost_usd, is_unknown, number) AS (
                 SELECT {ENDED}, o.task_id, {VERIFIED}, o.cost_usd, {COST_UNKNOWN}, o.rowid
                 FROM iteration_outcomes o WHERE {wanted}
                 UNION ALL SELECT {ENDED}, NULL, 0, o.cost_usd, {REVIEW_COST_UNKNOWN}, o.id
                 FROM side_sessions o WHERE o.kind = 'review' AND {wanted}),
             lasts AS (SELECT *, CASE WHEN is_verified = 1 AND row_number() OVER (
                 PARTITION BY task_id, is_verified ORDER BY at DESC, number DESC) = 1 THEN 1 ELSE 0 END AS is_last
                 FROM sessions),
             sums AS (
                 SELECT at, task_id, is_last, sum(is_last) OVER past AS verified, sum(cost_usd) OVER past AS spent_usd,
                     sum(is_unknown) OVER past AS without_cost, row_number() OVER past AS place,
                     count(*) OVER () AS places
                 FROM lasts WINDOW past AS (ORDER BY at, is_last, number ROWS UNBOUNDED PRECEDING))
             SELECT s.at, t.name, s.verified, s.spent_usd, s.without_cost
             FROM sums s LEFT JOIN tasks t ON t.id = s.task_id AND s.is_last = 1
             WHERE s.is_last = 1 OR s.place = s.places AND s.verified > 0 ORDER BY s.place"
        );
        self.all(&sql, [run])
    }

    /// Counted attempts by model and number, most used models first.
    pub fn model_attempts(&self, run: Option<&RunId>) -> Result<Vec<ModelAttempt>> {
        let sql = format!(
            "SELECT model, min(ordinal, {LAST_ATTEMPT}) AS attempt, count(*) AS attempts, sum(outcome = 'done') AS done
             FROM iteration_outcomes o WHERE counted = 1 AND model <> 'none' AND {}
             GROUP BY 1, 2 ORDER BY sum(count(*)) OVER (PARTITION BY model) DESC, model, attempt",
            wanted(run)
        );
        self.all(&sql, [run])
    }

    /// What was spent on each model, most expensive first. What a run spent on tasks that were deleted since stands under
    /// [`DELETED_TASKS`].
    pub fn model_spend(&self, run: Option<&RunId>) -> Result<Vec<ModelSpend>> {
        let wanted = wanted(run);
        let sql = format!(
            "SELECT model, sum(cost_usd) AS cost_usd, max(cost_estimated) AS cost_estimated, sum(counted) AS attempts,
                 sum(verified) AS verified, sum(unknown) AS without_cost
             FROM (SELECT o.model, o.cost_usd, o.cost_estimated, o.counted, {VERIFIED} AS verified,
                       {COST_UNKNOWN} AS unknown
                   FROM iteration_outcomes o WHERE o.model <> 'none' AND {wanted}
                   UNION ALL SELECT o.model, o.cost_usd, o.cost_estimated, 0, 0, {REVIEW_COST_UNKNOWN}
                   FROM side_sessions o WHERE o.kind = 'review' AND {wanted}) AS sessions GROUP BY model
             ORDER BY coalesce(sum(cost_usd), 0) DESC, sum(counted) DESC, model"
        );
        let whole = "SELECT coalesce(cost_usd, 0), cost_estimated > 0, cost_unknown FROM runs WHERE id = ?1";
        self.read_once(|conn| {
            let mut models: Vec<ModelSpend> = conn.all(&sql, [run])?;
            let Some(run) = run else { return Ok(models) };
            let whole: Option<(f64, bool, u64)> = conn.first(whole, [run])?;
            let (usd, is_estimate, unknown) = whole.unwrap_or_default();
            let cost_usd = usd - models.iter().filter_map(|of| of.cost_usd).sum::<f64>();
            let without_cost = unknown.saturating_sub(models.iter().map(|of| of.without_cost).sum());
            // Sums of dollars are not exact.
            if cost_usd > 1e-6 || without_cost > 0 {
                models.push(ModelSpend {
                    model: DELETED_TASKS.to_owned(),
                    cost_usd: Some(cost_usd).filter(|usd| *usd > 1e-6),
                    cost_estimated: is_estimate,
                    attempts: 0,
                    verified: 0,
                    without_cost,
                });
            }
            Ok(models)
        })
    }

    /// The newest counted attempts that an agent made, oldest first.
    pub fn outcomes_of(&self, agent: &str, most: usize) -> Result<Vec<OutcomeRow>> {
        let sql = "SELECT o.task_id, o.model, o.outcome = 'done' AS done, o.cost_usd, m.difficulty_estimate
             FROM iteration_outcomes o LEFT JOIN strategy_metrics m ON m.task_id = o.task_id
             WHERE o.counted = 1 AND o.agent = ?1 AND o.model <> 'none'
             ORDER BY o.started_at DESC, o.rowid DESC LIMIT ?2";
        let most = super::plan::row_limit(most);
        let mut newest: Vec<OutcomeRow> = self.all(sql, &[&agent as &dyn rusqlite::ToSql, &most][..])?;
        newest.reverse();
        Ok(newest)
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
