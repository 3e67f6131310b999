//! Runs, their events, and the claims they hold.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Durability, SqliteStore, breaker, claims, rows, status};
use crate::event::RunEvent;
use crate::model::{Cost, DoneBy, RunId, Status, TaskId, Timestamp, Token};
use crate::store::{
    AttemptStart, Capture, Claim, ClaimRequest, Claimed, NewRun, Owner, Random, RecoveryEnd,
    Result, RunEnd, RunRates, RunRequest, RunRow, RunStore, StoreError,
};

impl RunStore for SqliteStore {
    fn start_run(&mut self, run: &NewRun, event: &RunEvent) -> Result<()> {
        self.write(Durability::Process, |tx| {
            tx.execute(
                "INSERT INTO runs (id, started_at, settings, host, pid, pid_started, output, expires_at,
                                   defaults_revision)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    run.id.as_str(),
                    run.started_at.to_string(),
                    run.settings,
                    run.owner.host,
                    run.owner.pid,
                    run.owner.pid_started,
                    run.output,
                    run.expires_at.to_string(),
                    run.defaults_revision,
                ],
            )?;
            // An old file may hold parents whose children are done.
            status::settle(tx, run.started_at)?;
            Ok(append(tx, event)?)
        })
    }

    fn defaults_revision(&self) -> Result<Option<u32>> {
        self.read(|conn| {
            conn.query_row("SELECT max(defaults_revision) FROM runs", [], |row| {
                row.get(0)
            })
        })
    }

    fn end_run(&mut self, end: &RunEnd, event: &RunEvent) -> Result<()> {
        self.write(Durability::Power, |tx| {
            tx.execute(
                "UPDATE runs SET ended_at = ?2, outcome = ?3, exit_code = ?4 WHERE id = ?1",
                params![
                    end.id.as_str(),
                    end.ended_at.to_string(),
                    end.outcome,
                    end.exit_code
                ],
            )?;
            Ok(append(tx, event)?)
        })
    }

    fn open_runs(&self) -> Result<Vec<RunRow>> {
        self.read(|conn| {
            conn.prepare_cached(&format!("{RUN} WHERE ended_at IS NULL ORDER BY started_at"))?
                .query_map([], run)?
                .collect()
        })
    }

    fn close_dead_run(&mut self, id: &RunId, now: Timestamp) -> Result<()> {
        self.write(Durability::Process, |tx| {
            tx.execute(
                "UPDATE runs SET ended_at = ?2, outcome = 'lost' WHERE id = ?1 AND ended_at IS NULL",
                [id.as_str(), &now.to_string()],
            )?;
            Ok(())
        })
    }

    fn last_run(&self) -> Result<Option<RunRow>> {
        self.read(|conn| {
            conn.prepare_cached(&format!(
                "{RUN} ORDER BY started_at DESC, rowid DESC LIMIT 1"
            ))?
            .query_row([], run)
            .optional()
        })
    }

    fn run(&self, id: &RunId) -> Result<Option<RunRow>> {
        self.read(|conn| {
            conn.prepare_cached(&format!("{RUN} WHERE id = ?1"))?
                .query_row([id.as_str()], run)
                .optional()
        })
    }

    fn run_rates(&self, id: &RunId) -> Result<RunRates> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT done, attempts, cost_usd, cost_unknown, cost_estimated > 0 FROM runs WHERE id = ?1",
            )?
            .query_row([id.as_str()], |row| {
                Ok(RunRates {
                    done: row.get(0)?,
                    counted: row.get(1)?,
                    cost: Cost::new(row.get(2)?, row.get(3)?).estimated(row.get(4)?),
                })
            })
            .optional()
            .map(Option::unwrap_or_default)
        })
    }

    fn claim(&mut self, request: &ClaimRequest) -> Result<Option<Claimed>> {
        self.take_claim(request)
    }

    fn begin_attempt(&mut self, start: &AttemptStart, event: &RunEvent) -> Result<()> {
        self.write(Durability::Process, |tx| {
            let held = tx
                .prepare_cached(
                    "UPDATE claims SET attempt_number = ?3, iteration = ?4, agent = ?5, model = ?6,
                            rationale = ?7, started_at = ?8, commit_before = ?9, log_path = ?10,
                            work_dir = ?11, learnings = ?12
                     WHERE task_id = ?1 AND token = ?2",
                )?
                .execute(params![
                    start.task_id.as_str(),
                    start.token.as_str(),
                    start.attempt_number,
                    start.iteration,
                    start.agent,
                    start.model,
                    start.rationale,
                    start.started_at.to_string(),
                    start.commit_before,
                    start.log_path,
                    start.work_dir,
                    rows::to_json(&start.learnings),
                ])?;
            if held == 0 {
                return Err(StoreError::ClaimMoved(start.task_id.clone()).into());
            }
            Ok(append(tx, event)?)
        })
    }

    fn heartbeat(&mut self, run: &RunId, now: Timestamp, expires: Timestamp) -> Result<()> {
        // Beats are made while an agent works, and its output must not wait for a lock.
        self.brief.set(true);
        let beat = self.write(Durability::Process, |tx| {
            tx.prepare_cached("UPDATE runs SET expires_at = ?2 WHERE id = ?1")?
                .execute([run.as_str(), &expires.to_string()])?;
            Ok(claims::extend(tx, run, now, expires)?)
        });
        self.brief.set(false);
        beat
    }

    fn claims(&self) -> Result<Vec<Claim>> {
        self.read(claims::all)
    }

    fn release(&mut self, task: &TaskId, token: &Token) -> Result<()> {
        self.write(Durability::Process, |tx| claims::give_up(tx, task, token))
    }

    fn release_unbegun(&mut self, run: &RunId) -> Result<()> {
        self.write(Durability::Process, |tx| {
            tx.execute(
                "DELETE FROM claims WHERE run_id = ?1 AND attempt_number = 0",
                [run.as_str()],
            )?;
            Ok(())
        })
    }

    fn capture(&mut self, capture: &Capture, random: Random<'_>) -> Result<()> {
        self.write(Durability::Power, |tx| {
            super::capture::store(tx, capture, random)
        })
    }

    fn complete_parent(
        &mut self,
        task: &TaskId,
        token: &Token,
        by: DoneBy,
        event: &RunEvent,
        now: Timestamp,
    ) -> Result<()> {
        self.write(Durability::Power, |tx| {
            claims::refuse_moved(tx, task, token)?;
            // A child that was added or reset meanwhile keeps it open.
            let open = super::capture::has_open_children(tx, task)?;
            if open {
                status::set(tx, task, Status::Pending, None, now)?;
            } else {
                status::set_done(tx, task, by, now)?;
                super::fixes::skip_needless(tx, task, now)?;
            }
            claims::give_up(tx, task, token)?;
            status::settle(tx, now)?;
            Ok(append(tx, event)?)
        })
    }

    fn attempts_used(&self, task: &TaskId) -> Result<u32> {
        self.read(|conn| super::allowance::used(conn, task))
    }

    fn hand_over(
        &mut self,
        task: &TaskId,
        token: &Token,
        reason: &str,
        end: Option<&RecoveryEnd>,
        event: &RunEvent,
        now: Timestamp,
    ) -> Result<()> {
        self.write(Durability::Power, |tx| {
            claims::refuse_moved(tx, task, token)?;
            status::set(tx, task, Status::Blocked, Some(reason), now)?;
            if let Some(end) = end {
                super::fixes::finish(tx, end, now)?;
            }
            claims::give_up(tx, task, token)?;
            Ok(append(tx, event)?)
        })
    }

    fn half_open_breaker(&mut self) -> Result<bool> {
        self.write(Durability::Process, |tx| Ok(breaker::half_open(tx)?))
    }

    fn reset_breaker(&mut self) -> Result<()> {
        self.write(Durability::Power, |tx| Ok(breaker::reset(tx)?))
    }

    fn close_breaker(&mut self, now: Timestamp) -> Result<()> {
        self.write(Durability::Power, |tx| {
            Ok(breaker::close(tx, breaker::Closing::ByPerson, now)?)
        })
    }

    fn append_events(&mut self, events: &[RunEvent]) -> Result<()> {
        self.write(Durability::Process, |tx| {
            events.iter().try_for_each(|event| append(tx, event))?;
            Ok(())
        })
    }
}

/// Writes one event of a run.
pub(super) fn append(conn: &Connection, event: &RunEvent) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT INTO run_events (run_id, seq, at, type, json) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![
        event.run_id.as_str(),
        event.seq,
        event.at.to_string(),
        event.kind.name(),
        rows::to_json(event),
    ])?;
    Ok(())
}

const RUN: &str =
    "SELECT id, started_at, ended_at, outcome, exit_code, host, pid, pid_started, attempts,
    done, cost_usd, request, output, cost_unknown, expires_at, cost_estimated > 0 FROM runs";

fn run(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    Ok(RunRow {
        id: RunId::from_stored(row.get::<_, String>(0)?),
        started_at: rows::time(row, 1)?,
        ended_at: rows::optional_time(row, 2)?,
        outcome: row.get(3)?,
        exit_code: row.get(4)?,
        owner: Owner {
            host: row.get(5)?,
            pid: row.get(6)?,
            pid_started: row.get(7)?,
        },
        attempts: row.get(8)?,
        done: row.get(9)?,
        cost: Cost::new(row.get(10)?, row.get(13)?).estimated(row.get(15)?),
        expires_at: rows::optional_time(row, 14)?,
        request: row
            .get::<_, Option<String>>(11)?
            .and_then(|word| RunRequest::parse(&word)),
        output: row.get(12)?,
    })
}
