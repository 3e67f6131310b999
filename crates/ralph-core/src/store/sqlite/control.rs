//! Requests to runs, limits of agents, spending.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};

use super::{Durability, SqliteStore, rows};
use crate::model::{AttemptCost, Cost, RunId, SpentOnTask, TaskId, Timestamp};
use crate::store::{AgentLimit, ControlStore, RememberedLimit, Result, RunRequest};

impl ControlStore for SqliteStore {
    fn ask_run(&mut self, run: &RunId, request: RunRequest) -> Result<bool> {
        self.write(Durability::Process, |tx| {
            let asked = tx.execute(
                "UPDATE runs SET request = ?2 WHERE id = ?1 AND ended_at IS NULL
                    AND (request IS NOT 'stop' OR ?2 = 'stop')",
                params![run.as_str(), request.as_str()],
            )?;
            Ok(asked > 0)
        })
    }

    fn resume_run(&mut self, run: &RunId) -> Result<bool> {
        self.write(Durability::Process, |tx| {
            let asked = tx.execute(
                "UPDATE runs SET request = NULL WHERE id = ?1 AND ended_at IS NULL AND request = 'pause'",
                [run.as_str()],
            )?;
            Ok(asked > 0)
        })
    }

    fn asked_of(&self, run: &RunId) -> Result<Option<RunRequest>> {
        self.read(|conn| {
            let word: Option<Option<String>> = conn
                .prepare_cached("SELECT request FROM runs WHERE id = ?1")?
                .query_row([run.as_str()], |row| row.get(0))
                .optional()?;
            Ok(word.flatten().as_deref().and_then(RunRequest::parse))
        })
    }

    fn note_stop(&mut self, run: &RunId) -> Result<()> {
        self.write(Durability::Process, |tx| {
            tx.execute(
                "UPDATE runs SET stop_sent = 1 WHERE id = ?1",
                [run.as_str()],
            )?;
            Ok(())
        })
    }

    fn stop_was_sent(&self, run: &RunId) -> Result<bool> {
        self.read(|conn| {
            conn.prepare_cached("SELECT 1 FROM runs WHERE id = ?1 AND stop_sent")?
                .exists([run.as_str()])
        })
    }

    fn agent_limit(&self, agent: &str) -> Result<Option<AgentLimit>> {
        self.read(|conn| {
            conn.prepare_cached("SELECT until, met_at FROM agent_limits WHERE agent = ?1")?
                .query_row([agent], |row| {
                    Ok(AgentLimit {
                        until: rows::time(row, 0)?,
                        met_at: rows::optional_time(row, 1)?,
                    })
                })
                .optional()
        })
    }

    fn set_agent_limit(&mut self, agent: &str, limit: &AgentLimit, reason: &str) -> Result<()> {
        self.write(Durability::Process, |tx| {
            tx.execute(
                "INSERT INTO agent_limits (agent, until, reason, met_at) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (agent) DO UPDATE SET until = excluded.until, reason = excluded.reason,
                    met_at = excluded.met_at",
                params![
                    agent,
                    limit.until.to_string(),
                    reason,
                    limit.met_at.map(|at| at.to_string())
                ],
            )?;
            Ok(())
        })
    }

    fn end_agent_limit(&mut self, agent: &str, waited: &AgentLimit, now: Timestamp) -> Result<()> {
        self.write(Durability::Process, |tx| {
            tx.execute(
                "UPDATE agent_limits SET until = ?3, met_at = ?3 WHERE agent = ?1 AND until = ?2",
                [agent, &waited.until.to_string(), &now.to_string()],
            )?;
            Ok(())
        })
    }

    fn agent_limits(&self, now: Timestamp) -> Result<Vec<RememberedLimit>> {
        self.read(|conn| {
            let mut all = conn
                .prepare_cached("SELECT agent, until, met_at FROM agent_limits ORDER BY agent")?
                .query_map([], |row| {
                    let met_at = rows::optional_time(row, 2)?;
                    let until = rows::time(row, 1)?;
                    Ok(RememberedLimit {
                        agent: row.get(0)?,
                        until: AgentLimit { until, met_at }.ends(now),
                        met_at,
                    })
                })?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            all.retain(|limit| limit.until > now);
            Ok(all)
        })
    }

    fn forget_limits(&mut self, agent: Option<&str>) -> Result<()> {
        self.write(Durability::Process, |tx| {
            tx.execute(
                "DELETE FROM agent_limits WHERE ?1 IS NULL OR agent = ?1",
                [agent],
            )?;
            Ok(())
        })
    }

    fn spent_on_day(&self, of: Timestamp) -> Result<Cost> {
        self.read(|conn| {
            conn.prepare_cached("SELECT cost_usd, cost_estimated > 0 FROM spending WHERE day = ?1")?
                .query_row([day(of)], |row| {
                    Ok(Cost::new(row.get(0)?, 0).estimated(row.get(1)?))
                })
                .optional()
                .map(Option::unwrap_or_default)
        })
    }

    fn spent_on_task(&self, task: &TaskId) -> Result<SpentOnTask> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT coalesce(sum(cost_usd), 0), coalesce(sum(duration_ms), 0),
                        coalesce(max(cost_estimated), 0)
                 FROM iteration_outcomes WHERE task_id = ?1",
            )?
            .query_row([task.as_str()], |row| {
                Ok(SpentOnTask {
                    usd: row.get(0)?,
                    time: Duration::from_millis(row.get(1)?),
                    estimated: row.get(2)?,
                })
            })
        })
    }
}

/// Adds what an attempt cost to the day it ended on.
pub(super) fn spend(conn: &Connection, at: Timestamp, cost: AttemptCost) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT INTO spending (day, cost_usd, cost_estimated) VALUES (?1, ?2, ?3)
         ON CONFLICT (day) DO UPDATE SET cost_usd = cost_usd + excluded.cost_usd,
             cost_estimated = cost_estimated + excluded.cost_estimated",
    )?
    .execute(params![day(at), cost.usd, cost.estimated])?;
    Ok(())
}

/// The day of a moment, as times are stored.
fn day(of: Timestamp) -> String {
    of.to_string().chars().take(10).collect()
}
