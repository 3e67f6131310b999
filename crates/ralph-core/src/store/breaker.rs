//! The circuit breaker's state, changed with the attempts that change it.

use std::collections::BTreeMap;

use super::sql::{Changes, Connection, Json, Statements, bind, record};
use super::{Capture, Durability, Result, Store, fixes, status};
pub use crate::breaker::BreakerState;
use crate::breaker::{BreakerChange, BreakerStanding, Link, MOST_LINKS, is_systemic, shared_causes};
use crate::model::{Status, TaskId, Timestamp, Token};

/// Splits of splits that are followed to their root; the bound is for a database that somebody edited.
const MOST_SPLITS: usize = 50;

#[derive(Clone, Debug, PartialEq)]
pub struct Breaker {
    pub state: BreakerState,
    pub failures: u64,
    pub opened_at: Option<Timestamp>,
    pub tasks: u64,
    pub probing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    /// A probe succeeded: the cause may be gone.
    ByProbe,
    ByPerson,
}

record!(Breaker { state, failures, opened_at, tasks, probing });
record!(Link { root = "root_id", coarse });

impl Store {
    pub fn breaker(&self) -> Result<Breaker> {
        self.read(read)
    }

    /// An open breaker lets one attempt through from now on. `false` if it was not open.
    pub fn half_open_breaker(&mut self) -> Result<bool> {
        let sql = "UPDATE breaker SET state = 'half_open' WHERE state = 'open'";
        Ok(self.changed(Durability::Process, sql, [])? > 0)
    }

    /// Closes the breaker and sets its count back; no task is forgiven.
    pub fn reset_breaker(&mut self) -> Result<()> {
        self.write(Durability::Power, reset)
    }

    /// A person closes the breaker, and the failures that opened it are forgiven.
    pub fn close_breaker(&mut self, now: Timestamp) -> Result<()> {
        self.write(Durability::Power, |tx| close(tx, Closing::ByPerson, now))
    }
}

fn read(conn: &Connection) -> Result<Breaker> {
    let sql = "SELECT state, failures, opened_at,
             (SELECT count(DISTINCT root_id) FROM breaker_streak) AS tasks,
             EXISTS (SELECT 1 FROM claims WHERE probe = 1) AS probing
         FROM breaker";
    conn.one(sql, [])
}

/// For [`Connection::read_ahead`]: what [`standing`] of a task that fixes nothing reads.
pub(super) fn read_ahead(tx: &Connection, task: &TaskId) {
    let _ = read(tx);
    let _ = fixes::root_of(tx, task);
    let _ = split_from(tx, task);
}

pub(super) fn standing(tx: &Connection, task: &TaskId, token: &Token) -> Result<BreakerStanding> {
    let now = read(tx)?;
    let is_closed = now.state == BreakerState::Closed;
    Ok(BreakerStanding {
        state: now.state,
        failures: now.failures,
        links: if is_closed && now.failures > 0 { links(tx)? } else { Vec::new() },
        root: root_of(tx, task)?.to_string(),
        is_probe: now.probing
            && tx.has(
                "SELECT 1 FROM claims WHERE task_id = :task AND token = :token AND probe = 1",
                bind! { task, token },
            )?,
    })
}

pub(super) fn after(tx: &Connection, root: &str, capture: &Capture) -> Result<()> {
    let attempt = &capture.attempt;
    let opens = match capture.breaker {
        BreakerChange::None => return Ok(()),
        BreakerChange::Forget => return forget(tx),
        BreakerChange::Reset => return reset(tx),
        BreakerChange::Close => return close(tx, Closing::ByProbe, attempt.ended_at()),
        BreakerChange::Count { opens } => opens,
    };
    tx.change("UPDATE breaker SET failures = failures + 1", [])?;
    tx.insert(
        "breaker_streak",
        bind! {
            task_id: attempt.task_id, root_id: root, coarse: attempt.fingerprint_coarse,
            gave_up: capture.gave_up,
        },
    )?;
    tx.change(
        "DELETE FROM breaker_streak WHERE gave_up = 0
             AND place <= (SELECT max(place) FROM breaker_streak) - ?1",
        [MOST_LINKS],
    )?;
    if opens {
        tx.change("UPDATE breaker SET state = 'open', opened_at = ?1", [attempt.ended_at()])?;
    }
    Ok(())
}

/// The task that a failure counts for: a fix task counts as the task it fixes, a part of a split as the task that was
/// split.
fn root_of(conn: &Connection, task: &TaskId) -> Result<TaskId> {
    let mut root = fixes::root_of(conn, task)?;
    for _ in 0..MOST_SPLITS {
        let Some(whole) = split_from(conn, &root)? else { break };
        root = fixes::root_of(conn, &whole)?;
    }
    Ok(root)
}

/// The task that was split into this one and others.
fn split_from(conn: &Connection, task: &TaskId) -> Result<Option<TaskId>> {
    let sql = "SELECT c.task_id FROM changed_in i JOIN plan_changes c ON c.id = i.change_id
         WHERE i.task_id = ?1 AND c.kind = 'SPLIT_TASK'";
    conn.first(sql, [task])
}

/// A person has seen to a task: its failures leave the streak. Where the rest would not have opened the breaker, it
/// closes.
pub(super) fn leave(tx: &Connection, task: &TaskId) -> Result<()> {
    let left = tx.changed("DELETE FROM breaker_streak WHERE task_id = ?1 OR root_id = ?1", [task])?;
    if left == 0 {
        return Ok(());
    }
    tx.change("UPDATE breaker SET failures = max(failures - ?1, 0)", [left])?;
    let breaker = read(tx)?;
    let systemic = is_systemic(&links(tx)?, breaker.failures, 1);
    if breaker.state != BreakerState::Closed && !systemic {
        shut(tx)?;
    }
    Ok(())
}

fn links(conn: &Connection) -> Result<Vec<Link>> {
    Ok(streak(conn)?.into_iter().map(|(_, link)| link).collect())
}

fn streak(conn: &Connection) -> Result<Vec<(TaskId, Link)>> {
    conn.all("SELECT task_id, root_id, coarse FROM breaker_streak ORDER BY place", [])
}

/// Closes it and forgives failures of the streak: they no longer count, and tasks that they blocked are pending again.
/// After a probe only failures that share the streak's cause are forgiven, and each task once until a person intervenes:
/// else tasks that never succeed would be forgiven and attempted without end.
fn close(tx: &Connection, closing: Closing, now: Timestamp) -> Result<()> {
    let links = links(tx)?;
    let causes = shared_causes(&links);
    let by_probe = closing == Closing::ByProbe;
    let mut forgiven: BTreeMap<TaskId, u32> = BTreeMap::new();
    for (task, link) in streak(tx)? {
        let shared = link.coarse.is_some_and(|coarse| causes.contains(coarse.as_str()));
        if shared || !by_probe {
            *forgiven.entry(task).or_default() += 1;
        }
    }
    let mut pending = Vec::new();
    for (task, failures) in forgiven {
        let changed = tx.changed(
            "UPDATE strategy_metrics SET
                 consecutive_failures = max(consecutive_failures - :failures, 0),
                 stuck_flag = CASE WHEN stuck_flag = 1 AND consecutive_failures > :failures THEN 1 ELSE 0 END,
                 forgiven = forgiven + 1, breaker_forgave = max(breaker_forgave, :by_probe)
             WHERE task_id = :task AND (:by_probe = 0 OR breaker_forgave = 0)",
            bind! { task, failures, by_probe },
        )?;
        if changed > 0 {
            pending.push(task);
        }
    }
    let blocked: Vec<TaskId> = tx.all(
        "SELECT t.id FROM breaker_streak s JOIN tasks t ON t.id = s.task_id
         WHERE s.gave_up = 1 AND t.status = 'blocked' AND t.id IN (SELECT value FROM json_each(?1))
         GROUP BY t.id ORDER BY t.position",
        [Json(pending)],
    )?;
    for id in blocked {
        status::set(tx, &id, Status::Pending, None, now)?;
    }
    reset(tx)
}

fn reset(tx: &Connection) -> Result<()> {
    shut(tx)?;
    forget(tx)
}

fn shut(tx: &Connection) -> Result<()> {
    tx.change("UPDATE breaker SET state = 'closed', opened_at = NULL", [])
}

fn forget(tx: &Connection) -> Result<()> {
    tx.change("UPDATE breaker SET failures = 0 WHERE failures > 0", [])?;
    tx.change("DELETE FROM breaker_streak", [])
}
