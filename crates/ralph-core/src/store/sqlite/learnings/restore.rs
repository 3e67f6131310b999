//! Bringing learnings back: a pruning, a merge or an edit is undone.

use rusqlite::Connection;

use super::super::{Refusal, rows};
use super::change::{known, put_away};
use super::deleted;
use crate::model::{Learning, LearningId, LearningState, Timestamp};
use crate::store::Restored;

pub(super) fn restore(
    tx: &Connection,
    ids: &[LearningId],
    now: Timestamp,
) -> Result<Restored, Refusal> {
    let mut done = Restored::default();
    for id in ids {
        let learning = known(tx, id)?;
        if done.restored.contains(id) {
            continue;
        }
        if learning.superseded_by.is_some() {
            undo_line(tx, learning, now, &mut done)?;
        } else if learning.state == LearningState::Pruned {
            bring_back(tx, id, now, &mut done)?;
        } else if merged_from(tx, id)?.len() > 1 {
            // A merge that is named itself is undone too.
            retire(tx, &learning, None, now, &mut done)?;
        }
    }
    Ok(done)
}

/// Brings back a learning that another one has taken the place of. What stands at the end of the line is put away, and
/// whatever else it stood for comes back as well: nothing that was known is lost with it.
fn undo_line(
    tx: &Connection,
    learning: Learning,
    now: Timestamp,
    done: &mut Restored,
) -> Result<(), Refusal> {
    bring_back(tx, &learning.id, now, done)?;
    let heir = learning.id.clone();
    let mut below = learning;
    // Each step leads to a later row, so this ends; the bound is for files that say otherwise.
    for _ in 0..LONGEST_LINE {
        let Some(next) = &below.superseded_by else {
            return Ok(());
        };
        if below.repeats {
            // What it repeated was there before it, and stays.
            return Ok(());
        }
        let successor = known(tx, next)?;
        retire(tx, &successor, Some((&below.id, &heir)), now, done)?;
        below = successor;
    }
    Ok(())
}

/// Puts away what took the place of others, and brings those back, but for the one it is reached by. What only
/// repeated it now repeats the one that was asked for.
fn retire(
    tx: &Connection,
    successor: &Learning,
    reached_by: Option<(&LearningId, &LearningId)>,
    now: Timestamp,
    done: &mut Restored,
) -> rusqlite::Result<()> {
    let members = merged_from(tx, &successor.id)?;
    for member in &members {
        if reached_by.is_none_or(|(below, _)| below != member) {
            bring_back(tx, member, now, done)?;
        }
    }
    if let Some(heir) = reached_by.map(|(_, heir)| heir).or(members.first()) {
        tx.prepare_cached(
            "UPDATE learnings SET superseded_by = ?2 WHERE superseded_by = ?1 AND repeats = 1",
        )?
        .execute([successor.id.as_str(), heir.as_str()])?;
    }
    if successor.state == LearningState::Active {
        put_away(tx, &successor.id, now)?;
        done.retired.push(successor.id.clone());
    }
    Ok(())
}

/// No line of edits and merges is longer.
const LONGEST_LINE: u32 = 10_000;

fn merged_from(tx: &Connection, id: &LearningId) -> rusqlite::Result<Vec<LearningId>> {
    tx.prepare_cached(
        "SELECT id FROM learnings WHERE superseded_by = ?1 AND repeats = 0 ORDER BY id",
    )?
    .query_map([id.as_str()], |row| {
        Ok(LearningId::from_stored(rows::text(row, 0)?))
    })?
    .collect()
}

/// Whether a learning stands for several others.
pub(super) fn is_merged(conn: &Connection, id: &str) -> rusqlite::Result<bool> {
    Ok(merged_from(conn, &LearningId::from_stored(id))?.len() > 1)
}

fn bring_back(
    tx: &Connection,
    id: &LearningId,
    now: Timestamp,
    done: &mut Restored,
) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE learnings SET pruned_at = NULL, superseded_by = NULL, repeats = 0, restored_at = ?2
         WHERE id = ?1",
    )?
    .execute([id.as_str(), &now.to_string()])?;
    deleted::forget(tx, id)?;
    if !done.restored.contains(id) {
        done.restored.push(id.clone());
    }
    Ok(())
}
