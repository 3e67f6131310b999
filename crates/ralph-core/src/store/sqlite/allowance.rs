//! How many more counted attempts a task may get before a person must give a go-ahead. Fix tasks draw on the task that
//! their chain is for, so that no chain is longer than its root may be attempted.

use rusqlite::{Connection, params};

use super::{breaker, fixes};
use crate::model::TaskId;

/// Counted attempts since the last go-ahead on the chain a task belongs to. Attempts that other runs have under way on
/// the same chain are counted too: each of them may still count.
pub(super) fn used(conn: &Connection, task: &TaskId) -> rusqlite::Result<u32> {
    let root = fixes::root_of(conn, task)?;
    conn.prepare_cached(
        "SELECT coalesce((SELECT attempts_used FROM strategy_metrics WHERE task_id = ?1), 0)
             + (SELECT count(*) FROM claims c LEFT JOIN fixes f ON f.task_id = c.task_id
                WHERE coalesce(f.root_id, c.task_id) = ?1 AND c.task_id <> ?2)",
    )?
    .query_row([root.as_str(), task.as_str()], |row| row.get(0))
}

/// Takes note of a counted attempt.
pub(super) fn spend(tx: &Connection, task: &TaskId) -> rusqlite::Result<()> {
    let root = fixes::root_of(tx, task)?;
    tx.prepare_cached(
        "INSERT INTO strategy_metrics (task_id, attempts_used) VALUES (?1, 1)
         ON CONFLICT (task_id) DO UPDATE SET attempts_used = attempts_used + 1",
    )?
    .execute([root.as_str()])?;
    Ok(())
}

/// A person's go-ahead: the count starts anew, the task leaves the breaker's streak and may be forgiven once more.
pub(super) fn renew(tx: &Connection, task: &TaskId) -> rusqlite::Result<()> {
    let root = fixes::root_of(tx, task)?;
    tx.prepare_cached(
        "UPDATE strategy_metrics SET breaker_forgave = 0,
             attempts_used = CASE WHEN task_id = ?1 THEN 0 ELSE attempts_used END
         WHERE task_id IN (?1, ?2)",
    )?
    .execute(params![root.as_str(), task.as_str()])?;
    breaker::leave(tx, task)
}
