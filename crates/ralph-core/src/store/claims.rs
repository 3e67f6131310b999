//! Claims: who works on what, until when that is believed, and how often a task may still be attempted.

use serde::Serialize;

use super::connection::Writes;
use super::sql::{Changes, Connection, Json, Statements, bind, record};
use super::{
    Durability, RecoveryEnd, Result, Scope, Stage, Store, StoreError, breaker, events, fixes, notes, plan,
    status,
};
use crate::event::RunEvent;
use crate::model::{
    ChosenBy, CommitIntent, DoneBy, LearningId, RunId, Status, Task, TaskId, TaskMetrics, Timestamp, Token,
    Verification, names,
};

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
    pub hooks: Vec<Owner>,
}

names! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Purpose {
        Attempt => "attempt",
        /// Running a parent's own gate after its children are done.
        ParentGate => "gate",
    }
}

#[derive(Clone, Debug)]
pub struct ClaimRequest {
    pub purpose: Purpose,
    /// Ready tasks that are claimed only where there is no other.
    pub later: Vec<TaskId>,
    pub scope: Scope,
    pub run_id: RunId,
    pub worker: String,
    pub owner: Owner,
    pub token: Token,
    pub now: Timestamp,
    /// When the lease is over unless it is extended.
    pub expires_at: Timestamp,
    /// How many counted attempts the run may make; those that others of its workers have under way may all count.
    pub limit: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptCounts {
    pub recorded: u32,
    pub counted: u32,
}

/// What a claim knows of its attempt; empty until the attempt began.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnfinishedAttempt {
    /// Its number in the database; 0 until it began.
    pub attempt_number: u32,
    pub iteration: Option<u32>,
    pub agent: Option<String>,
    pub model: Option<String>,
    pub rationale: Option<String>,
    pub started_at: Option<Timestamp>,
    pub commit_before: Option<String>,
    pub log_path: Option<String>,
    pub work_dir: Option<String>,
    /// The learnings its prompt shows, best first.
    pub learnings: Vec<LearningId>,
}

#[derive(Clone, Debug)]
pub struct Claimed {
    pub task: Task,
    pub metrics: TaskMetrics,
    pub attempts: AttemptCounts,
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
    pub expires_at: Timestamp,
    pub claimed_at: Timestamp,
    #[serde(skip)]
    pub heartbeat_at: Timestamp,
    pub purpose: Purpose,
    /// What the attempt is at; none before it began, and for gates of parents.
    pub stage: Option<Stage>,
    #[serde(skip)]
    pub attempt: UnfinishedAttempt,
}

record!(Owner { host, pid, pid_started });
record!(AttemptCounts { recorded, counted });
record!(UnfinishedAttempt {
    attempt_number, iteration, agent, model, rationale, started_at, commit_before, log_path, work_dir, learnings,
} reads {});
record!(Claim {
    task_id,
    run_id,
    worker,
    owner,
    token,
    expires_at,
    claimed_at,
    heartbeat_at,
    purpose,
    stage,
    attempt,
});

impl Store {
    /// Takes the next ready task, or a parent whose gate is due, in one atomic statement.
    pub fn claim(&mut self, request: &ClaimRequest) -> Result<Option<Claimed>> {
        // What others of the run have under way is counted, so no two claims may do that at the same time.
        let rows = if request.limit.is_some() { Writes::Plan } else { Writes::Claims };
        self.write_rows(rows, Durability::Process, |tx| {
            let Some(id) = take(tx, request)? else { return Ok(None) };
            tx.read_ahead(|| {
                let _ = plan::known(tx, &id);
                let _ = plan::metrics(tx, &id);
                let _ = attempt_counts(tx, &id);
            })?;
            Ok(Some(Claimed {
                task: plan::known(tx, &id)?,
                metrics: plan::metrics(tx, &id)?,
                attempts: attempt_counts(tx, &id)?,
                token: request.token.clone(),
            }))
        })
    }

    pub fn begin_attempt(
        &mut self,
        task: &TaskId,
        token: &Token,
        start: &UnfinishedAttempt,
        // Those that its prompt shows.
        shown_notes: &[i64],
        event: &mut RunEvent,
    ) -> Result<()> {
        self.write(Durability::Process, |tx| {
            let claim = bind! { task_id: task, token };
            if tx.update_record("claims", start, claim)? == 0 {
                return Err(StoreError::ClaimMoved(task.clone()));
            }
            let by = start.rationale.as_deref().map(ChosenBy::from_rationale);
            if by == Some(ChosenBy::User) {
                // A choice holds for one attempt; another may be made while this one is under way.
                let sql = "UPDATE strategy_metrics SET users_model = NULL
                     WHERE task_id = :task AND users_model IS NOT DISTINCT FROM :model";
                tx.change(sql, bind! { task, model: start.model })?;
            }
            if !shown_notes.is_empty() {
                notes::show(tx, task, start.attempt_number, shown_notes)?;
            }
            events::append(tx, event)
        })
    }

    /// Extends the lease of a run and of its claims.
    pub fn heartbeat(&mut self, run: &RunId, now: Timestamp, expires: Timestamp) -> Result<()> {
        self.write_soon(|tx| {
            tx.change("UPDATE runs SET expires_at = :expires WHERE id = :run", bind! { run, expires })?;
            tx.change(
                "UPDATE claims SET heartbeat_at = :now, expires_at = :expires WHERE run_id = :run",
                bind! { run, now, expires },
            )
        })
    }

    pub fn claims(&self) -> Result<Vec<Claim>> {
        self.all("SELECT * FROM claims ORDER BY claimed_at, task_id", [])
    }

    /// Gives a claim back without recording an attempt.
    pub fn release(&mut self, task: &TaskId, token: &Token) -> Result<()> {
        self.write_rows(Writes::Claims, Durability::Process, |tx| give_up(tx, task, token))
    }

    /// Gives back what a worker of a run claimed and did not begin to work on.
    pub fn release_unbegun(&mut self, run: &RunId, worker: &str) -> Result<()> {
        let sql = "DELETE FROM claims WHERE run_id = :run AND worker = :worker AND attempt_number = 0";
        self.change(Durability::Process, sql, bind! { run, worker })
    }

    /// A parent's children are done and nothing speaks against it: it is done, by its own gate or without one.
    pub fn complete_parent(
        &mut self,
        task: &TaskId,
        token: &Token,
        by: DoneBy,
        verification: &Verification,
        event: &mut RunEvent,
        now: Timestamp,
    ) -> Result<()> {
        self.write(Durability::Power, |tx| {
            refuse_moved(tx, task, token)?;
            // A child that was added or reset meanwhile keeps it open.
            if status::has_open_children(tx, task)? {
                status::set(tx, task, Status::Pending, None, now)?;
            } else {
                status::set_done(tx, task, by, verification, now)?;
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
        event: &mut RunEvent,
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

    pub fn attempt_counts(&self, task: &TaskId) -> Result<AttemptCounts> {
        self.read(|conn| attempt_counts(conn, task))
    }

    /// Remembers with a claim what its attempt is about to commit; it is forgotten with the claim.
    pub fn set_commit_intent(&mut self, task: &TaskId, token: &Token, intent: &CommitIntent) -> Result<()> {
        self.write(Durability::Process, |tx| {
            refuse_moved(tx, task, token)?;
            let sql = "UPDATE claims SET commit_intent = :intent WHERE task_id = :task";
            tx.change(sql, bind! { task, intent: Json(intent) })
        })
    }

    pub fn commit_intent(&self, task: &TaskId) -> Result<Option<CommitIntent>> {
        let intent: Option<String> =
            self.first("SELECT commit_intent FROM claims WHERE task_id = ?1", [task])?;
        Ok(intent.and_then(|json| serde_json::from_str(&json).ok()))
    }

    pub fn at_work(&self) -> Result<AtWork> {
        let owners = |table: &str, condition: &str| {
            // An older file may not have the table.
            match self.conn().has_table(table)? {
                true => {
                    self.all(&format!("SELECT host, pid, pid_started FROM {table} WHERE {condition}"), [])
                }
                false => Ok(Vec::new()),
            }
        };
        let mut claim_holders: Vec<Owner> = owners("claims", "true")?;
        // An agent that plans or reviews is inside, too.
        claim_holders.extend(owners("side_sessions", "outcome IS NULL")?);
        Ok(AtWork { claim_holders, hooks: owners("hook_processes", "true")? })
    }

    /// Notes a hook or a notify command before it can do anything.
    pub fn note_hook(&mut self, process: &Owner) -> Result<()> {
        self.write(Durability::Process, |tx| {
            let Owner { host, pid, pid_started } = process;
            let values = bind! { host, pid, pid_started };
            tx.insert_new("hook_processes", values)
        })
    }

    pub fn forget_hook(&mut self, process: &Owner) -> Result<()> {
        let Owner { host, pid, pid_started } = process;
        self.change(
            Durability::Process,
            "DELETE FROM hook_processes
             WHERE host = :host AND pid = :pid AND pid_started = :started",
            bind! { host, pid, started: pid_started },
        )
    }
}

/// The claim. Those that come later are taken only when nothing else is ready: sorted behind the others, they would make
/// every claim read all that is ready.
fn take(tx: &Connection, request: &ClaimRequest) -> Result<Option<TaskId>> {
    match take_first(tx, request, "id NOT IN (SELECT value FROM json_each(:later))")? {
        None if !request.later.is_empty() => {
            take_first(tx, request, "id IN (SELECT value FROM json_each(:later))")
        }
        taken => Ok(taken),
    }
}

/// One statement finds the first candidate and takes it. A trigger sets the task's status.
fn take_first(tx: &Connection, request: &ClaimRequest, among: &str) -> Result<Option<TaskId>> {
    let wanted = match request.purpose {
        // An open breaker lets nothing through, a half-open one a single attempt.
        Purpose::Attempt => {
            "ready = 1 AND (SELECT state = 'closed' OR state = 'half_open'
                 AND NOT EXISTS (SELECT 1 FROM claims WHERE probe = 1) FROM breaker)
             AND (CAST(:limit AS BIGINT) IS NULL OR :limit > coalesce((SELECT iterations FROM runs WHERE id = :run), 0)
                 + (SELECT count(*) FROM claims WHERE run_id = :run AND purpose = 'attempt'))"
        }
        // A gate is no attempt, so it needs no leave from a breaker that is half open: it may be all that is left to do.
        Purpose::ParentGate => {
            "gate_due = 1 AND verify IS NOT NULL AND (SELECT state <> 'open' FROM breaker)
             AND (CAST(:limit AS BIGINT) IS NULL OR :limit >= 0)"
        }
    };
    // A server lets others claim at the same time: what one of them is taking is passed over. Of two that would take the
    // single attempt of a breaker one gets nothing.
    let unlocked = tx.either("", "FOR UPDATE OF tasks SKIP LOCKED ON CONFLICT DO NOTHING");
    let sql = format!(
        "INSERT INTO claims (task_id, run_id, worker, host, pid, pid_started, token, claimed_at,
                             heartbeat_at, expires_at, purpose, probe)
         SELECT id, :run, :worker, :host, :pid, :pid_started, :token, :now, :now, :expires, :purpose,
                CASE WHEN :purpose = 'attempt' AND (SELECT state FROM breaker) = 'half_open' THEN 1 ELSE 0 END FROM tasks
         WHERE {wanted} AND {among} AND {{scope}}
         ORDER BY priority, position LIMIT 1 {unlocked} RETURNING task_id"
    );
    let later = Json(&request.later);
    let ClaimRequest { purpose, run_id, worker, owner, token, now, expires_at, scope, limit, .. } = request;
    let values = bind! {
        run: run_id, worker, host: owner.host, pid: owner.pid, pid_started: owner.pid_started, token, now,
        expires: expires_at, purpose, limit, later,
    };
    Ok(scope.rows(tx, &sql, values)?.pop())
}

pub(super) fn attempts_used(conn: &Connection, task: &TaskId) -> Result<u32> {
    conn.one(
        "SELECT coalesce((SELECT attempts_used FROM strategy_metrics WHERE task_id = r.root), 0)
             + (SELECT count(*) FROM claims c LEFT JOIN fixes f ON f.task_id = c.task_id
                WHERE coalesce(f.root_id, c.task_id) = r.root AND c.task_id <> ?1)
         FROM (SELECT coalesce((SELECT root_id FROM fixes WHERE task_id = ?1), ?1) AS root) AS r",
        [task],
    )
}

pub(super) fn attempt_counts(conn: &Connection, id: &TaskId) -> Result<AttemptCounts> {
    let sql = "SELECT attempt_number AS recorded, ordinal - 1 + counted AS counted FROM iteration_outcomes
         WHERE task_id = ?1 ORDER BY attempt_number DESC LIMIT 1";
    Ok(conn.first(sql, [id])?.unwrap_or_default())
}

pub(super) fn of_task(conn: &Connection, id: &TaskId) -> Result<Option<Claim>> {
    conn.first("SELECT * FROM claims WHERE task_id = ?1", [id])
}

/// Refuses what only the holder of a claim may do.
pub(super) fn refuse_moved(tx: &Connection, task: &TaskId, token: &Token) -> Result<()> {
    match tx.has("SELECT 1 FROM claims WHERE task_id = :task AND token = :token", bind! { task, token })? {
        true => Ok(()),
        false => Err(StoreError::ClaimMoved(task.clone())),
    }
}

/// A task under way is not a person's to change until its run lets go of it.
pub(super) fn refuse_claimed(tx: &Connection, id: &TaskId) -> Result<()> {
    let Some(claim) = of_task(tx, id)? else { return Ok(()) };
    Err(StoreError::InProgress {
        task: plan::name(tx, id)?,
        run_id: claim.run_id,
        pid: claim.owner.pid,
        host: claim.owner.host,
    })
}

/// Ends a claim that is known to be held, in a transaction that keeps others from taking it.
pub(super) fn end_held(tx: &Connection, task: &TaskId) -> Result<()> {
    tx.change("DELETE FROM claims WHERE task_id = ?1", [task])
}

/// Ends a claim if the token is still its own; else somebody else has dealt with the attempt.
pub(super) fn give_up(tx: &Connection, task: &TaskId, token: &Token) -> Result<()> {
    match tx.changed("DELETE FROM claims WHERE task_id = :task AND token = :token", bind! { task, token })? {
        0 => Err(StoreError::ClaimMoved(task.clone())),
        _ => Ok(()),
    }
}

/// Takes note of a counted attempt. Fix tasks draw on the task that their chain is for, so that no chain is longer than
/// its root may be attempted.
pub(super) fn spend_attempt(tx: &Connection, task: &TaskId) -> Result<()> {
    tx.change(
        "INSERT INTO strategy_metrics (task_id, attempts_used)
         VALUES (coalesce((SELECT root_id FROM fixes WHERE task_id = ?1), ?1), 1)
         ON CONFLICT (task_id) DO UPDATE SET attempts_used = strategy_metrics.attempts_used + 1",
        [task],
    )
}

/// A person's go-ahead: the count starts anew, the task leaves the breaker's streak and may be forgiven once more.
pub(super) fn renew_attempts(tx: &Connection, task: &TaskId) -> Result<()> {
    tx.change(
        "UPDATE strategy_metrics SET breaker_forgave = 0,
             attempts_used = CASE WHEN task_id = :root THEN 0 ELSE attempts_used END
         WHERE task_id IN (:root, :task)",
        bind! { root: fixes::root_of(tx, task)?, task },
    )?;
    breaker::leave(tx, task)
}
