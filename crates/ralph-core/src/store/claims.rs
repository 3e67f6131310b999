//! Claims: who works on what, until when that is believed, and how often a task may still be attempted.

use rusqlite::{Connection, named_params};
use serde::Serialize;

use super::sql::{Json, Row, Statements, only};
use super::{
    AttemptStart, Durability, RecoveryEnd, Result, Scope, Store, StoreError, Tries, UnfinishedAttempt,
    breaker, events, fixes, plan, status,
};
use crate::event::RunEvent;
use crate::model::{CommitIntent, DoneBy, RunId, Status, Task, TaskId, TaskMetrics, Timestamp, Token, names};

/// A process that can hold a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Owner {
    pub host: String,
    pub pid: u32,
    /// When it started, so that a reused pid is not mistaken for it.
    pub pid_started: String,
}

/// Processes that decide whether a command was called from inside an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtWork {
    pub claim_holders: Vec<Owner>,
    /// Hooks and notify commands that run.
    pub hooks: Vec<Owner>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    Attempt,
    /// Running a parent's own gate after its children are done.
    ParentGate,
}

names!(Purpose {
    Attempt => "attempt",
    ParentGate => "gate",
});

#[derive(Clone, Debug)]
pub struct ClaimRequest {
    pub purpose: Purpose,
    pub scope: Scope,
    pub run_id: RunId,
    pub worker: String,
    pub owner: Owner,
    /// The secret of the new claim.
    pub token: Token,
    pub now: Timestamp,
    /// When the lease is over unless it is extended.
    pub expires_at: Timestamp,
}

/// A task that was claimed, with what the next stages need.
#[derive(Clone, Debug)]
pub struct Claimed {
    pub task: Task,
    pub metrics: TaskMetrics,
    /// Attempts so far.
    pub tries: Tries,
    /// The proof that the claim is the caller's.
    pub token: Token,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    pub task_id: TaskId,
    pub run_id: RunId,
    pub worker: String,
    #[serde(flatten)]
    pub owner: Owner,
    #[serde(skip)]
    pub token: Token,
    /// When the lease is over.
    pub expires_at: Timestamp,
    pub claimed_at: Timestamp,
    /// When its holder last gave a sign of life.
    #[serde(skip)]
    pub heartbeat_at: Timestamp,
    pub purpose: Purpose,
    /// What was known of the attempt under way.
    #[serde(skip)]
    pub attempt: UnfinishedAttempt,
}

impl Store {
    /// Takes the next ready task, or a parent whose gate is due, in one atomic statement.
    pub fn claim(&mut self, request: &ClaimRequest) -> Result<Option<Claimed>> {
        self.write(Durability::Process, |tx| {
            let Some(id) = take(tx, request)? else {
                return Ok(None);
            };
            Ok(Some(Claimed {
                task: plan::known(tx, &id)?,
                metrics: plan::metrics(tx, &id)?,
                tries: tries(tx, &id)?,
                token: request.token.clone(),
            }))
        })
    }

    /// Records what the claim's attempt is about to do.
    pub fn begin_attempt(&mut self, start: &AttemptStart, event: &RunEvent) -> Result<()> {
        self.write(Durability::Process, |tx| {
            let held = tx.change(
                "UPDATE claims SET attempt_number = :number, iteration = :iteration, agent = :agent,
                     model = :model, rationale = :rationale, started_at = :started_at,
                     commit_before = :commit_before, log_path = :log_path, work_dir = :work_dir,
                     learnings = :learnings
                 WHERE task_id = :task AND token = :token",
                named_params! {
                    ":task": start.task_id, ":token": start.token, ":number": start.attempt_number,
                    ":iteration": start.iteration, ":agent": start.agent, ":model": start.model,
                    ":rationale": start.rationale, ":started_at": start.started_at,
                    ":commit_before": start.commit_before, ":log_path": start.log_path,
                    ":work_dir": start.work_dir, ":learnings": Json(&start.learnings),
                },
            )?;
            if held == 0 {
                return Err(StoreError::ClaimMoved(start.task_id.clone()));
            }
            events::append(tx, event)
        })
    }

    /// Extends the lease of a run and of its claims.
    pub fn heartbeat(&mut self, run: &RunId, now: Timestamp, expires: Timestamp) -> Result<()> {
        self.write_soon(|tx| {
            let sql = "UPDATE runs SET expires_at = :expires WHERE id = :run";
            tx.change(sql, named_params! { ":run": run, ":expires": expires })?;
            tx.change(
                "UPDATE claims SET heartbeat_at = :now, expires_at = :expires WHERE run_id = :run",
                named_params! { ":run": run, ":now": now, ":expires": expires },
            )?;
            Ok(())
        })
    }

    pub fn claims(&self) -> Result<Vec<Claim>> {
        let sql = "SELECT * FROM claims ORDER BY claimed_at, task_id";
        self.all(sql, [], claim)
    }

    /// Gives a claim back without recording an attempt.
    pub fn release(&mut self, task: &TaskId, token: &Token) -> Result<()> {
        self.write(Durability::Process, |tx| give_up(tx, task, token))
    }

    /// Gives back what a run claimed and did not begin to work on.
    pub fn release_unbegun(&mut self, run: &RunId) -> Result<()> {
        let sql = "DELETE FROM claims WHERE run_id = ?1 AND attempt_number = 0";
        self.change(Durability::Process, sql, [run])?;
        Ok(())
    }

    /// A parent's children are done and nothing speaks against it: it is done, by its own gate or without one.
    pub fn complete_parent(
        &mut self,
        task: &TaskId,
        token: &Token,
        by: DoneBy,
        event: &RunEvent,
        now: Timestamp,
    ) -> Result<()> {
        self.write(Durability::Power, |tx| {
            refuse_moved(tx, task, token)?;
            // A child that was added or reset meanwhile keeps it open.
            if status::has_open_children(tx, task)? {
                status::set(tx, task, Status::Pending, None, now)?;
            } else {
                status::set_done(tx, task, by, now)?;
                fixes::skip_needless(tx, task, now)?;
            }
            give_up(tx, task, token)?;
            status::settle(tx, now)?;
            events::append(tx, event)
        })
    }

    /// Blocks a claimed task without an attempt, and with it the recovery chain that ends here.
    pub fn block_claimed(
        &mut self,
        task: &TaskId,
        token: &Token,
        reason: &str,
        end: Option<&RecoveryEnd>,
        event: &RunEvent,
        now: Timestamp,
    ) -> Result<()> {
        self.write(Durability::Power, |tx| {
            refuse_moved(tx, task, token)?;
            status::set(tx, task, Status::Blocked, Some(reason), now)?;
            if let Some(end) = end {
                fixes::end_recovery(tx, end, now)?;
            }
            give_up(tx, task, token)?;
            events::append(tx, event)
        })
    }

    /// Counted attempts since a person last gave a go-ahead, on this task and on all that belong to the same recovery
    /// chain; those that other runs have under way included, because each of them may still count.
    pub fn attempts_used(&self, task: &TaskId) -> Result<u32> {
        self.read(|conn| attempts_used(conn, task))
    }

    /// Recorded and counted attempts of a task.
    pub fn tries(&self, task: &TaskId) -> Result<Tries> {
        self.read(|conn| tries(conn, task))
    }

    /// Remembers with a claim what its attempt is about to commit; it is forgotten with the claim.
    pub fn set_commit_intent(&mut self, task: &TaskId, token: &Token, intent: &CommitIntent) -> Result<()> {
        self.write(Durability::Process, |tx| {
            refuse_moved(tx, task, token)?;
            let sql = "UPDATE claims SET commit_intent = :intent WHERE task_id = :task";
            tx.change(sql, named_params! { ":task": task, ":intent": Json(intent) })?;
            Ok(())
        })
    }

    /// What the attempt of the claim on a task was about to commit.
    pub fn commit_intent(&self, task: &TaskId) -> Result<Option<CommitIntent>> {
        let sql = "SELECT commit_intent FROM claims WHERE task_id = ?1";
        let intent = self.first(sql, [task], |row| row.json("commit_intent"))?;
        Ok(intent.flatten())
    }

    /// Who is at work on this project.
    pub fn at_work(&self) -> Result<AtWork> {
        let owners = |table: &str| {
            // An older file may not have the table.
            if !self.read(|conn| conn.table_exists(None, table))? {
                return Ok(Vec::new());
            }
            let sql = format!("SELECT host, pid, pid_started FROM {table}");
            self.all(&sql, [], owner)
        };
        Ok(AtWork { claim_holders: owners("claims")?, hooks: owners("hook_processes")? })
    }

    /// Notes a hook or a notify command before it can do anything.
    pub fn note_hook(&mut self, process: &Owner) -> Result<()> {
        self.write(Durability::Process, |tx| {
            let Owner { host, pid, pid_started } = process;
            let values = named_params! { "host": host, "pid": pid, "pid_started": pid_started };
            tx.insert_new("hook_processes", values)
        })
    }

    pub fn forget_hook(&mut self, process: &Owner) -> Result<()> {
        let Owner { host, pid, pid_started } = process;
        self.change(
            Durability::Process,
            "DELETE FROM hook_processes
             WHERE host = :host AND pid = :pid AND pid_started = :started",
            named_params! { ":host": host, ":pid": pid, ":started": pid_started },
        )?;
        Ok(())
    }
}

/// The claim: one statement finds the first candidate and takes it. A trigger sets the task's status.
fn take(tx: &Connection, request: &ClaimRequest) -> Result<Option<TaskId>> {
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
    let scope = request.scope.sql();
    let sql = format!(
        "{} INSERT INTO claims (task_id, run_id, worker, host, pid, pid_started, token, claimed_at,
                                heartbeat_at, expires_at, purpose, probe)
         SELECT id, :run, :worker, :host, :pid, :pid_started, :token, :now, :now, :expires, :purpose,
                :purpose = 'attempt' AND (SELECT state = 'half_open' FROM breaker) FROM tasks
         WHERE {wanted}{} ORDER BY priority, position LIMIT 1
         RETURNING task_id",
        scope.with, scope.and
    );
    let values = named_params! {
        ":run": request.run_id, ":worker": request.worker, ":host": request.owner.host,
        ":pid": request.owner.pid, ":pid_started": request.owner.pid_started,
        ":token": request.token, ":now": request.now, ":expires": request.expires_at,
        ":purpose": request.purpose,
    };
    tx.first(&sql, scope.values(values).as_slice(), only)
}

pub(super) fn attempts_used(conn: &Connection, task: &TaskId) -> Result<u32> {
    let root = fixes::root_of(conn, task)?;
    conn.one(
        "SELECT coalesce((SELECT attempts_used FROM strategy_metrics WHERE task_id = :root), 0)
             + (SELECT count(*) FROM claims c LEFT JOIN fixes f ON f.task_id = c.task_id
                WHERE coalesce(f.root_id, c.task_id) = :root AND c.task_id <> :task)",
        named_params! { ":root": root, ":task": task },
        only,
    )
}

pub(super) fn tries(conn: &Connection, id: &TaskId) -> Result<Tries> {
    let sql = "SELECT attempt_number, ordinal - 1 + counted AS counted FROM iteration_outcomes
         WHERE task_id = ?1 ORDER BY attempt_number DESC LIMIT 1";
    let last = conn.first(sql, [id], |row| {
        Ok(Tries { recorded: row.get("attempt_number")?, counted: row.get("counted")? })
    })?;
    Ok(last.unwrap_or_default())
}

pub(super) fn of_task(conn: &Connection, id: &TaskId) -> Result<Option<Claim>> {
    conn.first("SELECT * FROM claims WHERE task_id = ?1", [id], claim)
}

/// Refuses what only the holder of a claim may do.
pub(super) fn refuse_moved(tx: &Connection, task: &TaskId, token: &Token) -> Result<()> {
    let sql = "SELECT 1 FROM claims WHERE task_id = :task AND token = :token";
    match tx.has(sql, named_params! { ":task": task, ":token": token })? {
        true => Ok(()),
        false => Err(StoreError::ClaimMoved(task.clone())),
    }
}

/// A task under way is not a person's to change until its run lets go of it.
pub(super) fn refuse_claimed(tx: &Connection, id: &TaskId) -> Result<()> {
    let Some(claim) = of_task(tx, id)? else {
        return Ok(());
    };
    Err(StoreError::InProgress {
        task: plan::name(tx, id)?,
        run_id: claim.run_id,
        pid: claim.owner.pid,
        host: claim.owner.host,
    })
}

/// Ends a claim if the token is still its own; else somebody else has dealt with the attempt.
pub(super) fn give_up(tx: &Connection, task: &TaskId, token: &Token) -> Result<()> {
    let sql = "DELETE FROM claims WHERE task_id = :task AND token = :token";
    match tx.change(sql, named_params! { ":task": task, ":token": token })? {
        0 => Err(StoreError::ClaimMoved(task.clone())),
        _ => Ok(()),
    }
}

/// Takes note of a counted attempt. Fix tasks draw on the task that their chain is for, so that no chain is longer than
/// its root may be attempted.
pub(super) fn spend_attempt(tx: &Connection, task: &TaskId) -> Result<()> {
    tx.change(
        "INSERT INTO strategy_metrics (task_id, attempts_used) VALUES (?1, 1)
         ON CONFLICT (task_id) DO UPDATE SET attempts_used = attempts_used + 1",
        [fixes::root_of(tx, task)?],
    )?;
    Ok(())
}

/// A person's go-ahead: the count starts anew, the task leaves the breaker's streak and may be forgiven once more.
pub(super) fn renew_attempts(tx: &Connection, task: &TaskId) -> Result<()> {
    tx.change(
        "UPDATE strategy_metrics SET breaker_forgave = 0,
             attempts_used = CASE WHEN task_id = :root THEN 0 ELSE attempts_used END
         WHERE task_id IN (:root, :task)",
        named_params! { ":root": fixes::root_of(tx, task)?, ":task": task },
    )?;
    breaker::leave(tx, task)
}

pub(super) fn owner(row: &Row<'_>) -> rusqlite::Result<Owner> {
    Ok(Owner { host: row.get("host")?, pid: row.get("pid")?, pid_started: row.get("pid_started")? })
}

fn claim(row: &Row<'_>) -> rusqlite::Result<Claim> {
    Ok(Claim {
        task_id: row.get("task_id")?,
        run_id: row.get("run_id")?,
        worker: row.get("worker")?,
        owner: owner(row)?,
        token: row.get("token")?,
        expires_at: row.get("expires_at")?,
        claimed_at: row.get("claimed_at")?,
        heartbeat_at: row.get("heartbeat_at")?,
        purpose: row.word("purpose", Purpose::parse)?.unwrap_or(Purpose::Attempt),
        attempt: UnfinishedAttempt {
            attempt_number: Some(row.get("attempt_number")?).filter(|number| *number > 0),
            iteration: row.get("iteration")?,
            agent: row.get("agent")?,
            model: row.get("model")?,
            rationale: row.get("rationale")?,
            started_at: row.get("started_at")?,
            commit_before: row.get("commit_before")?,
            log_path: row.get("log_path")?,
            work_dir: row.get("work_dir")?,
            learnings: row.json("learnings")?,
        },
    })
}
