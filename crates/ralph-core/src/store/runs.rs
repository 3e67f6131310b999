//! Runs: how they start and end, what people ask of them, which usage limits agents met, and what was spent.

use serde::Serialize;

use super::history::{COST_UNKNOWN, VERIFIED};
use super::sql::{Changes, Connection, FromRow, Json, ReadResult, Row, Statements, bind, record};
use super::{Durability, Owner, Result, Store, events, status};
use crate::event::RunEvent;
use crate::model::{AttemptCost, Cost, RunId, SpentOnTask, TaskId, Timestamp, names};
use crate::sandbox::Enforced;

#[derive(Clone, Debug)]
pub struct NewRun {
    pub id: RunId,
    pub started_at: Timestamp,
    pub owner: Owner,
    pub settings: String,
    /// The file it prints to when it is detached.
    pub output: Option<String>,
    /// Until when it may be taken to live without a further sign.
    pub expires_at: Timestamp,
    /// Which built-in defaults it is made with.
    pub defaults_revision: u32,
    /// How many workers it has.
    pub jobs: u32,
    /// The branch that its work lands on; none in the project's own tree.
    pub branch: Option<String>,
    pub sandbox: Enforced,
}

#[derive(Clone, Debug)]
pub struct RunEnd {
    pub id: RunId,
    pub ended_at: Timestamp,
    pub outcome: String,
    pub exit_code: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunRow {
    pub id: RunId,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub outcome: Option<String>,
    pub exit_code: Option<i32>,
    #[serde(flatten)]
    pub owner: Owner,
    pub attempts: u64,
    pub done: u64,
    #[serde(flatten)]
    pub cost: Cost,
    /// Until when it may be taken to live, where its process cannot be seen.
    #[serde(skip)]
    pub expires_at: Option<Timestamp>,
    pub request: Option<RunRequest>,
    /// How many workers it has.
    pub jobs: u32,
    /// The branch that its work lands on; none for a run in the project's own tree.
    pub branch: Option<String>,
    /// The file it prints to when it is detached.
    pub output: Option<String>,
    /// What confined its agents and gates; none in runs of earlier versions.
    pub sandbox: Option<Enforced>,
}

/// What one agent did in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentTally {
    #[serde(skip)]
    pub run_id: RunId,
    /// None for gates of parents, which need no agent.
    pub agent: Option<String>,
    /// Counted attempts.
    pub attempts: u64,
    pub uncounted_attempts: u64,
    /// Attempts that ended done.
    pub done: u64,
    /// Those of them that a gate verified.
    pub verified: u64,
    /// Counted attempts that did not end done.
    pub failed: u64,
    #[serde(flatten)]
    pub cost: Cost,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunRates {
    pub done: u32,
    pub counted: u32,
    pub cost: Cost,
}

names! {
    /// What a person at another terminal asks a run to do.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RunRequest {
        Pause => "pause",
        /// To end after the attempt under way.
        Stop => "stop",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentLimit {
    pub until: Timestamp,
    pub met_at: Option<Timestamp>,
}

impl AgentLimit {
    /// When it ends, for somebody whose clock shows `now`. A clock that was set back since it was met does not make it
    /// longer than it was.
    pub fn ends(&self, now: Timestamp) -> Timestamp {
        match self.met_at {
            Some(met) if now < met => now.plus(self.until.since(met)),
            _ => self.until,
        }
    }
}

/// A limit that is not over, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RememberedLimit {
    pub agent: String,
    pub until: Timestamp,
    pub met_at: Option<Timestamp>,
}

record!(RunRow {
    id,
    started_at,
    ended_at,
    outcome,
    exit_code,
    owner,
    attempts,
    done,
    cost,
    expires_at,
    request,
    jobs,
    branch,
    output,
    sandbox,
});
record!(AgentTally { run_id, agent, attempts, uncounted_attempts, done, verified, failed, cost });
record!(RunRates { done, counted = "attempts", cost });
record!(AgentLimit { until, met_at });
record!(RememberedLimit { agent, until, met_at });
record!(SpentOnTask { usd, time, estimated });

/// From the columns `cost_usd`, `cost_unknown` and `cost_estimated`, a number of attempts.
impl FromRow for Cost {
    fn from_row(row: &Row<'_>) -> ReadResult<Self> {
        let cost = Self::new(row.get("cost_usd")?, row.get("cost_unknown")?);
        Ok(cost.estimated(row.get("cost_estimated")?))
    }
}

impl Store {
    pub fn start_run(&mut self, run: &NewRun, event: &mut RunEvent) -> Result<()> {
        // A server may crash while the run goes on, whose costs are added up in its row.
        self.write(Durability::Power, |tx| {
            let number: i64 = tx.one("SELECT coalesce(max(number), 0) + 1 FROM runs", [])?;
            tx.insert(
                "runs",
                bind! {
                    id: run.id, number, started_at: run.started_at, settings: run.settings, host: run.owner.host,
                    pid: run.owner.pid, pid_started: run.owner.pid_started, output: run.output,
                    expires_at: run.expires_at, defaults_revision: run.defaults_revision,
                    jobs: run.jobs, branch: run.branch, sandbox: Json(&run.sandbox),
                },
            )?;
            // An old file may hold parents whose children are done.
            status::settle(tx, run.started_at)?;
            events::append(tx, event)
        })
    }

    /// The newest built-in defaults that any run was made with: 0 by a Ralph that did not record it; none without a run.
    pub fn defaults_revision(&self) -> Result<Option<u32>> {
        self.one("SELECT max(defaults_revision) FROM runs", [])
    }

    pub fn end_run(&mut self, end: &RunEnd, event: &mut RunEvent) -> Result<()> {
        self.write(Durability::Power, |tx| {
            tx.change(
                "UPDATE runs SET ended_at = :at, outcome = :outcome, exit_code = :code
                 WHERE id = :id",
                bind! { id: end.id, at: end.ended_at, outcome: end.outcome, code: end.exit_code },
            )?;
            events::append(tx, event)
        })
    }

    pub fn open_runs(&self) -> Result<Vec<RunRow>> {
        self.all("SELECT * FROM runs WHERE ended_at IS NULL ORDER BY started_at", [])
    }

    /// Marks a run whose process died as ended.
    pub fn close_dead_run(&mut self, id: &RunId, now: Timestamp) -> Result<()> {
        let sql = "UPDATE runs SET ended_at = :now, outcome = 'lost'
             WHERE id = :id AND ended_at IS NULL";
        self.change(Durability::Process, sql, bind! { id, now })
    }

    pub fn last_run(&self) -> Result<Option<RunRow>> {
        self.first("SELECT * FROM runs ORDER BY started_at DESC, rowid DESC LIMIT 1", [])
    }

    /// The last run that made an attempt, or whose first is under way or was interrupted by a crash.
    pub fn last_run_with_attempts(&self) -> Result<Option<RunRow>> {
        let sql = "SELECT * FROM runs r WHERE EXISTS (SELECT 1 FROM iteration_outcomes WHERE run_id = r.id)
                 OR EXISTS (SELECT 1 FROM claims WHERE run_id = r.id AND attempt_number > 0)
             ORDER BY started_at DESC, rowid DESC LIMIT 1";
        self.first(sql, [])
    }

    /// All runs, oldest first.
    pub fn runs(&self) -> Result<Vec<RunRow>> {
        self.all("SELECT * FROM runs ORDER BY started_at, rowid", [])
    }

    /// What each agent did in each run.
    pub fn agent_tallies(&self) -> Result<Vec<AgentTally>> {
        let sql = format!(
            "SELECT o.run_id, o.agent, sum(o.counted) AS attempts, sum(o.counted = 0) AS uncounted_attempts,
                 sum(o.outcome = 'done') AS done, sum({VERIFIED}) AS verified,
                 sum(o.counted = 1 AND o.outcome <> 'done') AS failed,
                 coalesce(sum(o.cost_usd), 0) AS cost_usd,
                 sum({COST_UNKNOWN}) AS cost_unknown,
                 coalesce(max(o.cost_estimated), 0) AS cost_estimated
             FROM iteration_outcomes o WHERE o.run_id IS NOT NULL
             GROUP BY o.run_id, o.agent ORDER BY min(o.started_at)"
        );
        self.all(&sql, [])
    }

    pub fn run(&self, id: &RunId) -> Result<Option<RunRow>> {
        self.first("SELECT * FROM runs WHERE id = ?1", [id])
    }

    pub fn run_rates(&self, id: &RunId) -> Result<RunRates> {
        Ok(self.first("SELECT * FROM runs WHERE id = ?1", [id])?.unwrap_or_default())
    }

    /// Asks a run to do something. `false` if it has ended, or was asked to stop and is now asked for less.
    pub fn ask_run(&mut self, run: &RunId, request: RunRequest) -> Result<bool> {
        let sql = "UPDATE runs SET request = :request WHERE id = :run AND ended_at IS NULL
             AND (request IS DISTINCT FROM 'stop' OR :request = 'stop')";
        let values = bind! { run, request };
        Ok(self.changed(Durability::Process, sql, values)? > 0)
    }

    /// Takes back that a run was asked to pause. `false` if it was not.
    pub fn resume_run(&mut self, run: &RunId) -> Result<bool> {
        let sql = "UPDATE runs SET request = NULL
             WHERE id = ?1 AND ended_at IS NULL AND request = 'pause'";
        Ok(self.changed(Durability::Process, sql, [run])? > 0)
    }

    pub fn asked_of(&self, run: &RunId) -> Result<Option<RunRequest>> {
        Ok(self.first("SELECT request FROM runs WHERE id = ?1", [run])?.flatten())
    }

    /// Notes that `ralph stop` is about to send a run the signal that ends it.
    pub fn note_stop(&mut self, run: &RunId) -> Result<()> {
        let sql = "UPDATE runs SET stop_sent = 1 WHERE id = ?1";
        self.change(Durability::Process, sql, [run])
    }

    /// Whether the signal that ends a run comes from `ralph stop`.
    pub fn stop_was_sent(&self, run: &RunId) -> Result<bool> {
        self.has("SELECT 1 FROM runs WHERE id = ?1 AND stop_sent = 1", [run])
    }

    /// The limit an agent met last, which may be over.
    pub fn agent_limit(&self, agent: &str) -> Result<Option<AgentLimit>> {
        self.first("SELECT * FROM agent_limits WHERE agent = ?1", [agent])
    }

    pub fn set_agent_limit(&mut self, agent: &str, limit: &AgentLimit, reason: &str) -> Result<()> {
        self.write(Durability::Process, |tx| {
            let values = bind! { agent, until: limit.until, reason, met_at: limit.met_at };
            tx.upsert("agent_limits", &["agent"], values)
        })
    }

    /// A limit that was waited for is over, unless another was met meanwhile.
    pub fn end_agent_limit(&mut self, agent: &str, waited: &AgentLimit, now: Timestamp) -> Result<()> {
        let sql = "UPDATE agent_limits SET until = :now, met_at = :now
             WHERE agent = :agent AND until = :until";
        let values = bind! { agent, until: waited.until, now };
        self.change(Durability::Process, sql, values)
    }

    /// Every limit that is not over, by the agents' names.
    pub fn agent_limits(&self, now: Timestamp) -> Result<Vec<RememberedLimit>> {
        let mut all: Vec<RememberedLimit> = self.all("SELECT * FROM agent_limits ORDER BY agent", [])?;
        all.retain_mut(|limit| {
            limit.until = AgentLimit { until: limit.until, met_at: limit.met_at }.ends(now);
            limit.until > now
        });
        Ok(all)
    }

    pub fn forget_limits(&mut self, agent: Option<&str>) -> Result<()> {
        let sql = "DELETE FROM agent_limits WHERE CAST(?1 AS TEXT) IS NULL OR agent = ?1";
        self.change(Durability::Process, sql, [agent])
    }

    /// What was spent on the day (UTC) of this moment, by all runs.
    pub fn spent_on_day(&self, of: Timestamp) -> Result<Cost> {
        let sql = "SELECT cost_usd, 0 AS cost_unknown, cost_estimated FROM spending WHERE day = ?1";
        Ok(self.first(sql, [day(of)])?.unwrap_or_default())
    }

    pub fn spent_on_task(&self, task: &TaskId) -> Result<SpentOnTask> {
        // The time of a review is part of its attempt's.
        let sql = "SELECT sum(cost_usd) AS usd, sum(duration_ms) AS time, max(cost_estimated) AS estimated
             FROM (SELECT task_id, cost_usd, duration_ms, cost_estimated FROM iteration_outcomes
                 UNION ALL SELECT task_id, cost_usd, 0, cost_estimated FROM side_sessions) AS spent
             WHERE task_id = ?1";
        self.one(sql, [task])
    }
}

/// Adds what an attempt cost to the day it ended on.
pub(super) fn spend(tx: &Connection, at: Timestamp, cost: AttemptCost) -> Result<()> {
    tx.change(
        "INSERT INTO spending (day, cost_usd, cost_estimated) VALUES (:day, :usd, :estimated)
         ON CONFLICT (day) DO UPDATE SET cost_usd = spending.cost_usd + excluded.cost_usd,
             cost_estimated = spending.cost_estimated + excluded.cost_estimated",
        bind! { day: day(at), usd: cost.usd, estimated: cost.estimated },
    )
}

fn day(of: Timestamp) -> String {
    of.to_string().chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_back_makes_no_limit_longer() {
        let at = Timestamp::from_secs;
        let limit = AgentLimit { until: at(1000), met_at: Some(at(400)) };
        assert_eq!(limit.ends(at(500)), at(1000));
        assert_eq!(limit.ends(at(100)), at(700));
    }
}
