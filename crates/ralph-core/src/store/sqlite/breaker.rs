//! The circuit breaker's state, changed with the attempts that change it.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::{fixes, rows, status};
use crate::breaker::{Link, MOST_LINKS, is_systemic, shared_causes};
use crate::model::{Outcome, Status, TaskId, Timestamp};
use crate::store::{Breaker, BreakerState, Capture};

/// Splits of splits that are followed to their root.
const MOST_SPLITS: usize = 50;

/// What is stored.
pub(super) fn read(conn: &Connection) -> rusqlite::Result<Breaker> {
    conn.prepare_cached(
        "SELECT state, failures, opened_at, (SELECT count(DISTINCT root_id) FROM breaker_streak),
                EXISTS (SELECT 1 FROM claims WHERE probe = 1)
         FROM breaker",
    )?
    .query_row([], |row| {
        Ok(Breaker {
            state: BreakerState::from_stored(&row.get::<_, String>(0)?),
            failures: rows::count(row, 1)?,
            opened_at: rows::optional_time(row, 2)?,
            tasks: rows::count(row, 3)?,
            probing: row.get(4)?,
        })
    })
}

/// What an attempt means for it; attempts that do not count mean nothing.
pub(super) fn after(tx: &Connection, capture: &Capture) -> rusqlite::Result<()> {
    if !capture.counted {
        return Ok(());
    }
    let before = read(tx)?;
    if capture.outcome == Outcome::Done {
        return match before.state {
            BreakerState::Closed => forget(tx),
            // An attempt that was under way when it opened: not everything is broken, but nothing was mended either.
            BreakerState::Open => reset(tx),
            BreakerState::HalfOpen => close(tx, Closing::ByProbe, capture.ended_at),
        };
    }
    tx.prepare_cached("UPDATE breaker SET failures = failures + 1")?
        .execute([])?;
    tx.prepare_cached(
        "INSERT INTO breaker_streak (task_id, root_id, coarse, gave_up) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute(params![
        capture.task_id.as_str(),
        root_of(tx, &capture.task_id)?.as_str(),
        capture.mark.as_ref().map(|mark| mark.coarse.as_str()),
        capture.gave_up,
    ])?;
    tx.prepare_cached(
        "DELETE FROM breaker_streak WHERE NOT gave_up
             AND place <= (SELECT max(place) FROM breaker_streak) - ?1",
    )?
    .execute([MOST_LINKS])?;
    let opens = match before.state {
        BreakerState::Open => false,
        // Only the probe decides; others were under way before.
        BreakerState::HalfOpen => is_probe(tx, capture)?,
        BreakerState::Closed => {
            is_systemic(&links(tx)?, before.failures + 1, capture.breaker_threshold)
        }
    };
    if opens {
        tx.prepare_cached("UPDATE breaker SET state = 'open', opened_at = ?1")?
            .execute([capture.ended_at.to_string()])?;
    }
    Ok(())
}

/// The task that a failure counts for: a fix task counts as the task it fixes, a part of a split as the task that was
/// split.
fn root_of(conn: &Connection, task: &TaskId) -> rusqlite::Result<TaskId> {
    let mut root = fixes::root_of(conn, task)?;
    // Splits are a few levels deep at most; the bound is for a database that somebody edited.
    for _ in 0..MOST_SPLITS {
        let whole: Option<String> = conn
            .prepare_cached(
                "SELECT c.task_id FROM changed_in i JOIN plan_changes c ON c.id = i.change_id
                 WHERE i.task_id = ?1 AND c.kind = 'SPLIT_TASK'",
            )?
            .query_row([root.as_str()], |row| row.get(0))
            .optional()?;
        let Some(whole) = whole else { break };
        root = fixes::root_of(conn, &TaskId::from_stored(whole))?;
    }
    Ok(root)
}

/// A person has seen to a task: its failures leave the streak. Where the rest would not have opened the breaker, it
/// closes.
pub(super) fn leave(tx: &Connection, task: &TaskId) -> rusqlite::Result<()> {
    let left = tx
        .prepare_cached("DELETE FROM breaker_streak WHERE task_id = ?1 OR root_id = ?1")?
        .execute([task.as_str()])?;
    if left == 0 {
        return Ok(());
    }
    tx.prepare_cached("UPDATE breaker SET failures = max(failures - ?1, 0)")?
        .execute([left])?;
    let breaker = read(tx)?;
    let systemic = is_systemic(&links(tx)?, breaker.failures, 1);
    if breaker.state != BreakerState::Closed && !systemic {
        shut(tx)?;
    }
    Ok(())
}

fn is_probe(tx: &Connection, capture: &Capture) -> rusqlite::Result<bool> {
    tx.prepare_cached("SELECT 1 FROM claims WHERE task_id = ?1 AND token = ?2 AND probe = 1")?
        .exists([capture.task_id.as_str(), capture.token.as_str()])
}

fn links(conn: &Connection) -> rusqlite::Result<Vec<Link>> {
    Ok(streak(conn)?.into_iter().map(|row| row.link).collect())
}

/// A failure in the streak.
struct StreakRow {
    task: TaskId,
    link: Link,
}

fn streak(conn: &Connection) -> rusqlite::Result<Vec<StreakRow>> {
    conn.prepare_cached("SELECT task_id, root_id, coarse FROM breaker_streak ORDER BY place")?
        .query_map([], |row| {
            Ok(StreakRow {
                task: TaskId::from_stored(rows::text(row, 0)?),
                link: Link {
                    root: rows::text(row, 1)?,
                    coarse: rows::optional_text(row, 2)?,
                },
            })
        })?
        .collect()
}

/// Lets one attempt through, to see.
pub(super) fn half_open(tx: &Connection) -> rusqlite::Result<bool> {
    let changed = tx
        .prepare_cached("UPDATE breaker SET state = 'half_open' WHERE state = 'open'")?
        .execute([])?;
    Ok(changed > 0)
}

/// What closes the breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    /// A probe succeeded: the cause may be gone.
    ByProbe,
    /// A person says so.
    ByPerson,
}

/// Closes it and forgives failures of the streak: they no longer count, and tasks that they blocked are pending again.
/// After a probe only failures that share the streak's cause are forgiven, and each task once until a person intervenes:
/// else tasks that never succeed would be forgiven and attempted without end.
pub(super) fn close(tx: &Connection, closing: Closing, now: Timestamp) -> rusqlite::Result<()> {
    let links = links(tx)?;
    let causes = shared_causes(&links);
    let mut forgiven: BTreeMap<TaskId, u32> = BTreeMap::new();
    for StreakRow { task, link } in streak(tx)? {
        let shared = link
            .coarse
            .is_some_and(|coarse| causes.contains(coarse.as_str()));
        if shared || closing == Closing::ByPerson {
            *forgiven.entry(task).or_default() += 1;
        }
    }
    let once = match closing {
        Closing::ByProbe => "AND breaker_forgave = 0",
        Closing::ByPerson => "",
    };
    let mut pending = Vec::new();
    for (task, failures) in forgiven {
        let changed = tx
            .prepare_cached(&format!(
                "UPDATE strategy_metrics SET
                     consecutive_failures = max(consecutive_failures - ?2, 0),
                     stuck_flag = stuck_flag AND consecutive_failures > ?2,
                     forgiven = forgiven + 1, breaker_forgave = breaker_forgave OR ?3
                 WHERE task_id = ?1 {once}"
            ))?
            .execute(params![
                task.as_str(),
                failures,
                closing == Closing::ByProbe
            ])?;
        if changed > 0 {
            pending.push(task);
        }
    }
    let blocked: Vec<String> = tx
        .prepare_cached(
            "SELECT DISTINCT t.id FROM breaker_streak s JOIN tasks t ON t.id = s.task_id
             WHERE s.gave_up AND t.status = 'blocked' AND t.id IN (SELECT value FROM json_each(?1))
             ORDER BY t.position",
        )?
        .query_map([rows::to_json(&pending)], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for id in blocked {
        status::set(tx, &TaskId::from_stored(id), Status::Pending, None, now)?;
    }
    reset(tx)
}

/// Closes it without forgiving anybody.
pub(super) fn reset(tx: &Connection) -> rusqlite::Result<()> {
    shut(tx)?;
    forget(tx)
}

fn shut(tx: &Connection) -> rusqlite::Result<()> {
    tx.prepare_cached("UPDATE breaker SET state = 'closed', opened_at = NULL")?
        .execute([])?;
    Ok(())
}

fn forget(tx: &Connection) -> rusqlite::Result<()> {
    tx.prepare_cached("UPDATE breaker SET failures = 0 WHERE failures > 0")?
        .execute([])?;
    tx.prepare_cached("DELETE FROM breaker_streak")?
        .execute([])?;
    Ok(())
}
