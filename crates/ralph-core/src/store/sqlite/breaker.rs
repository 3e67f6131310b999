//! The circuit breaker's state, changed with the attempts that change it.

use rusqlite::{Connection, params};

use super::{rows, status};
use crate::breaker::{Link, MOST_LINKS, is_systemic};
use crate::model::{Outcome, Status, TaskId, Timestamp};
use crate::store::{Breaker, BreakerState, Capture};

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
            BreakerState::HalfOpen => close(tx, capture.ended_at),
        };
    }
    tx.prepare_cached("UPDATE breaker SET failures = failures + 1")?
        .execute([])?;
    tx.prepare_cached(
        "INSERT INTO breaker_streak (task_id, root_id, coarse, gave_up) VALUES (?1, coalesce((SELECT root_id FROM fixes WHERE task_id = ?1), ?1), ?2, ?3)",
    )?
    .execute(params![
        capture.task_id.as_str(),
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

fn is_probe(tx: &Connection, capture: &Capture) -> rusqlite::Result<bool> {
    tx.prepare_cached("SELECT 1 FROM claims WHERE task_id = ?1 AND token = ?2 AND probe = 1")?
        .exists([capture.task_id.as_str(), capture.token.as_str()])
}

fn links(conn: &Connection) -> rusqlite::Result<Vec<Link>> {
    conn.prepare_cached("SELECT root_id, coarse FROM breaker_streak ORDER BY place")?
        .query_map([], |row| {
            Ok(Link {
                root: rows::text(row, 0)?,
                coarse: rows::optional_text(row, 1)?,
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

/// Closes it and forgives the streak: the counts of its tasks go to 0, tasks that it sent to a human are pending again.
pub(super) fn close(tx: &Connection, now: Timestamp) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE strategy_metrics SET consecutive_failures = 0, stuck_flag = 0, forgiven = forgiven + 1
         WHERE task_id IN (SELECT task_id FROM breaker_streak)",
    )?
    .execute([])?;
    let blocked: Vec<String> = tx
        .prepare_cached(
            "SELECT DISTINCT t.id FROM breaker_streak s JOIN tasks t ON t.id = s.task_id
             WHERE s.gave_up AND t.status = 'blocked' ORDER BY t.position",
        )?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for id in blocked {
        status::set(tx, &TaskId::from_stored(id), Status::Pending, None, now)?;
    }
    reset(tx)
}

/// Closes it without forgiving anybody.
pub(super) fn reset(tx: &Connection) -> rusqlite::Result<()> {
    tx.prepare_cached("UPDATE breaker SET state = 'closed', opened_at = NULL")?
        .execute([])?;
    forget(tx)
}

fn forget(tx: &Connection) -> rusqlite::Result<()> {
    tx.prepare_cached("UPDATE breaker SET failures = 0 WHERE failures > 0")?
        .execute([])?;
    tx.prepare_cached("DELETE FROM breaker_streak")?
        .execute([])?;
    Ok(())
}
