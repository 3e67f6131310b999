//! What came of showing learnings: noted with the attempt, and judged by its end.

use rusqlite::{Connection, OptionalExtension, params};

use super::super::rows;
use crate::model::{ErrorType, Outcome, TaskId};
use crate::recall::record::{Tally, base_rate, kind_of_attempt};
use crate::store::Capture;

/// Notes which learnings an attempt was shown; one that counts also judges them, once per task: its latest word stands.
pub(in super::super) fn credit(
    tx: &Connection,
    capture: &Capture,
    attempt_number: u32,
    counted_before: u32,
) -> rusqlite::Result<()> {
    let expected = expected(tx, counted_before)?;
    let done = capture.outcome == Outcome::Done;
    // That Ralph died says nothing about what the agent was told, and a parent's own gate asked no agent.
    let lost = capture.error_type == Some(ErrorType::Lost);
    let judges = capture.counted && !capture.own_work && !lost;
    let now = capture.ended_at.to_string();
    for (place, id) in capture.start.learnings.iter().enumerate() {
        let noted = tx
            .prepare_cached(
                "INSERT INTO learning_uses (task_id, attempt_number, place, learning_id)
                 SELECT ?1, ?2, ?3, id FROM learnings WHERE id = ?4",
            )?
            .execute(params![
                capture.task_id.as_str(),
                attempt_number,
                place,
                id.as_str()
            ])?;
        // Somebody may have deleted it meanwhile, or put another in its place.
        let Some(heir) = heir(tx, id.as_str())?.filter(|_| noted > 0) else {
            continue;
        };
        tx.prepare_cached(
            "UPDATE learnings SET shown = shown + 1, last_used_at = max(coalesce(last_used_at, ''), ?2)
             WHERE id = ?1",
        )?
        .execute([&heir, &now])?;
        if judges {
            judge(tx, &heir, &capture.task_id, done, expected)?;
        }
    }
    if judges {
        note_rate(tx, counted_before, done)?;
    }
    Ok(())
}

/// Who answers for a learning now: itself, or what has taken its place.
fn heir(tx: &Connection, id: &str) -> rusqlite::Result<Option<String>> {
    tx.prepare_cached(
        "WITH RECURSIVE line (id, next, steps) AS (
             SELECT id, superseded_by, 0 FROM learnings WHERE id = ?1
             UNION ALL
             SELECT l.id, l.superseded_by, steps + 1 FROM line JOIN learnings l ON l.id = line.next
             WHERE steps < 100)
         SELECT id FROM line ORDER BY steps DESC LIMIT 1",
    )?
    .query_row([id], |row| row.get(0))
    .optional()
}

fn judge(
    tx: &Connection,
    learning: &str,
    task: &TaskId,
    done: bool,
    expected: f64,
) -> rusqlite::Result<()> {
    let before: Option<(bool, f64)> = tx
        .prepare_cached(
            "SELECT helpful, expected FROM learning_verdicts WHERE learning_id = ?1 AND task_id = ?2",
        )?
        .query_row([learning, task.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    tx.prepare_cached(
        "INSERT INTO learning_verdicts (learning_id, task_id, helpful, expected) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (learning_id, task_id) DO UPDATE
         SET helpful = excluded.helpful, expected = excluded.expected",
    )?
    .execute(params![learning, task.as_str(), done, expected])?;
    let (helped, hurt, of_before) = match before {
        Some((true, of_before)) => (-1, 0, of_before),
        Some((false, of_before)) => (0, -1, of_before),
        None => (0, 0, 0.0),
    };
    tx.prepare_cached(
        "UPDATE learnings SET helpful = max(0, helpful + ?2), harmful = max(0, harmful + ?3),
                judged = judged + ?4, expected = max(0, expected + ?5)
         WHERE id = ?1",
    )?
    .execute(params![
        learning,
        i64::from(done) + helped,
        i64::from(!done) + hurt,
        i64::from(before.is_none()),
        expected - of_before,
    ])?;
    Ok(())
}

/// How often attempts like this one end done.
fn expected(tx: &Connection, counted_before: u32) -> rusqlite::Result<f64> {
    let known = tx
        .prepare_cached("SELECT attempts, done FROM base_rates WHERE tries_before = ?1")?
        .query_row([kind_of_attempt(counted_before)], |row| {
            Ok(Tally {
                attempts: rows::count(row, 0)?,
                done: rows::count(row, 1)?,
            })
        })
        .optional()?;
    Ok(base_rate(counted_before, known.unwrap_or_default()))
}

fn note_rate(tx: &Connection, counted_before: u32, done: bool) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO base_rates (tries_before, attempts, done) VALUES (?1, 1, ?2)
         ON CONFLICT (tries_before) DO UPDATE SET attempts = attempts + 1, done = done + excluded.done",
    )?
    .execute(params![kind_of_attempt(counted_before), done])?;
    Ok(())
}
