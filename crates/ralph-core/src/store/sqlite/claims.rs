//! Claims: who works on what, and until when that is believed.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Durability, Refusal, SqliteStore, rows};
use crate::model::{LearningId, RunId, TaskId, Timestamp, Token};
use crate::store::{
    Claim, ClaimRequest, Claimed, Owner, Purpose, Result, Scope, StoreError, Tries,
    UnfinishedAttempt,
};

/// Opens a statement with the tasks below `?1`, a JSON array of ids, as `scope`: their children, what mends them, and what
/// agents added to the plan for them.
pub(super) const SCOPE: &str = "WITH RECURSIVE scope (id) AS (
    SELECT value FROM json_each(?1)
    UNION SELECT t.id FROM tasks t JOIN scope s ON t.parent_id = s.id
    UNION SELECT f.task_id FROM fixes f JOIN scope s ON f.original_id = s.id
    UNION SELECT i.task_id FROM changed_in i JOIN plan_changes c ON c.id = i.change_id
        JOIN scope s ON c.task_id = s.id) ";

const COLUMNS: &str = "task_id, run_id, worker, host, pid, pid_started, token, expires_at, claimed_at,
    purpose, attempt_number, iteration, agent, model, rationale, started_at, commit_before, log_path,
    work_dir, learnings, heartbeat_at";

impl SqliteStore {
    pub(super) fn take_claim(&mut self, request: &ClaimRequest) -> Result<Option<Claimed>> {
        self.write(Durability::Process, |tx| {
            let Some(id) = take(tx, request)? else {
                return Ok(None);
            };
            let task = super::plan::find(tx, id.as_str())?
                .ok_or_else(|| StoreError::UnknownTask(id.to_string()))?;
            let metrics = rows::metrics(tx, &id)?;
            let tries = tries(tx, &id)?;
            Ok(Some(Claimed {
                task,
                metrics,
                tries,
            }))
        })
    }
}

/// The claim: one statement finds the first candidate and takes it. A trigger sets the task's status.
fn take(tx: &Connection, request: &ClaimRequest) -> rusqlite::Result<Option<TaskId>> {
    let wanted = match request.purpose {
        // An open breaker lets nothing through, a half-open one a single attempt.
        Purpose::Attempt => {
            "ready = 1 AND (SELECT state = 'closed' OR state = 'half_open'
                 AND NOT EXISTS (SELECT 1 FROM claims WHERE probe = 1) FROM breaker)"
        }
        // A gate is no attempt, so it needs no leave from a breaker that is half open: it may be all that is left to do.
        Purpose::ParentGate => {
            "gate_due = 1 AND verify IS NOT NULL AND (SELECT state <> 'open' FROM breaker)"
        }
    };
    let (prefix, within) = match &request.scope {
        Scope::All => ("", ""),
        Scope::Below(_) => (SCOPE, " AND id IN scope"),
    };
    let roots = match &request.scope {
        Scope::All => None,
        Scope::Below(roots) => Some(rows::to_json(roots)),
    };
    let sql = format!(
        "{prefix} INSERT INTO claims (task_id, run_id, worker, host, pid, pid_started, token, claimed_at,
                                      heartbeat_at, expires_at, purpose, probe)
         SELECT id, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10,
                ?10 = 'attempt' AND (SELECT state = 'half_open' FROM breaker) FROM tasks
         WHERE {wanted}{within} AND ?1 IS ?1 ORDER BY priority, position LIMIT 1
         RETURNING task_id"
    );
    tx.prepare_cached(&sql)?
        .query_row(
            params![
                roots,
                request.run_id.as_str(),
                request.worker,
                request.owner.host,
                request.owner.pid,
                request.owner.pid_started,
                request.token.as_str(),
                request.now.to_string(),
                request.expires_at.to_string(),
                request.purpose.as_str(),
            ],
            |row| row.get::<_, String>(0).map(TaskId::from_stored),
        )
        .optional()
}

/// How many tries of a task are recorded.
pub(super) fn tries(conn: &Connection, id: &TaskId) -> rusqlite::Result<Tries> {
    conn.prepare_cached(
        "SELECT attempt_number, ordinal - 1 + counted FROM iteration_outcomes
         WHERE task_id = ?1 ORDER BY attempt_number DESC LIMIT 1",
    )?
    .query_row([id.as_str()], |row| {
        Ok(Tries {
            recorded: row.get(0)?,
            counted: row.get(1)?,
        })
    })
    .optional()
    .map(Option::unwrap_or_default)
}

pub(super) fn of_task(conn: &Connection, id: &TaskId) -> rusqlite::Result<Option<Claim>> {
    conn.prepare_cached(&format!("SELECT {COLUMNS} FROM claims WHERE task_id = ?1"))?
        .query_row([id.as_str()], claim)
        .optional()
}

pub(super) fn all(conn: &Connection) -> rusqlite::Result<Vec<Claim>> {
    conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM claims ORDER BY claimed_at, task_id"
    ))?
    .query_map([], claim)?
    .collect()
}

/// Refuses what only the holder of a claim may do.
pub(super) fn refuse_moved(
    tx: &Connection,
    task: &TaskId,
    token: &Token,
) -> std::result::Result<(), Refusal> {
    let held = tx
        .prepare_cached("SELECT 1 FROM claims WHERE task_id = ?1 AND token = ?2")?
        .exists([task.as_str(), token.as_str()])?;
    if held {
        Ok(())
    } else {
        Err(StoreError::ClaimMoved(task.clone()).into())
    }
}

/// Ends a claim if the token is still its own; else somebody else has dealt with the attempt.
pub(super) fn give_up(
    tx: &Connection,
    task: &TaskId,
    token: &Token,
) -> std::result::Result<(), Refusal> {
    let removed = tx
        .prepare_cached("DELETE FROM claims WHERE task_id = ?1 AND token = ?2")?
        .execute([task.as_str(), token.as_str()])?;
    if removed == 0 {
        return Err(StoreError::ClaimMoved(task.clone()).into());
    }
    Ok(())
}

fn claim(row: &Row<'_>) -> rusqlite::Result<Claim> {
    let purpose: String = row.get(9)?;
    Ok(Claim {
        task_id: TaskId::from_stored(row.get::<_, String>(0)?),
        run_id: RunId::from_stored(row.get::<_, String>(1)?),
        worker: row.get(2)?,
        owner: Owner {
            host: row.get(3)?,
            pid: row.get(4)?,
            pid_started: row.get(5)?,
        },
        token: Token::from_stored(row.get::<_, String>(6)?),
        expires_at: rows::time(row, 7)?,
        claimed_at: rows::time(row, 8)?,
        heartbeat_at: rows::time(row, 20)?,
        purpose: if purpose == Purpose::ParentGate.as_str() {
            Purpose::ParentGate
        } else {
            Purpose::Attempt
        },
        attempt: UnfinishedAttempt {
            attempt_number: Some(row.get(10)?).filter(|number| *number > 0),
            iteration: row.get(11)?,
            agent: row.get(12)?,
            model: row.get(13)?,
            rationale: row.get(14)?,
            started_at: rows::optional_time(row, 15)?,
            commit_before: row.get(16)?,
            log_path: row.get(17)?,
            work_dir: row.get(18)?,
            learnings: rows::json_list(&row.get::<_, String>(19)?)
                .into_iter()
                .map(LearningId::from_stored)
                .collect(),
        },
    })
}

/// Extends the lease of a run's claims.
pub(super) fn extend(
    tx: &Connection,
    run: &RunId,
    now: Timestamp,
    expires: Timestamp,
) -> rusqlite::Result<()> {
    tx.prepare_cached("UPDATE claims SET heartbeat_at = ?2, expires_at = ?3 WHERE run_id = ?1")?
        .execute([run.as_str(), &now.to_string(), &expires.to_string()])?;
    Ok(())
}
