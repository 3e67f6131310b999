//! What a ticked box in a file says, and whether it is believed.

use super::import::Before;
use super::{Author, Tick};
use crate::model::{DoneBy, Status, TaskId, Timestamp, Verification};
use crate::plan::DraftTask;
use crate::store::sql::{Connection, Statements};
use crate::store::{Result, claims, fixes, plan, status, task_changes};

/// How the box of a task stands, and whether it is believed.
pub(super) fn tick_of(
    tx: &Connection,
    task: &DraftTask,
    known: Option<&Before>,
    id: &TaskId,
    author: &Author,
) -> Result<Tick> {
    let before = known.map_or(Tick::Open, |known| known.tick);
    Ok(match (task.done, before, author) {
        (false, ..) => Tick::Open,
        (true, Tick::Unproven, _) => Tick::Unproven,
        (true, Tick::Open, Author::Agent(at)) => {
            // Of the task it was at the verdict is known.
            let is_known = at.as_ref() == Some(id)
                || tx.has("SELECT 1 FROM tasks WHERE id = ?1 AND status = 'done'", [id])?;
            if is_known { Tick::Ticked } else { Tick::Unproven }
        }
        (true, ..) => Tick::Ticked,
    })
}

/// What came of the file's word on a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// The task is finished by it.
    Taken,
    /// It says nothing new, or cannot be taken now.
    Nothing,
    /// The task has open children: whether the word finishes them too is decided once theirs are taken.
    OpenChildren,
}

/// A person's word in the file on whether a task is done. It finishes tasks and opens none.
pub(super) fn take_word(
    tx: &Connection,
    id: &TaskId,
    task: &DraftTask,
    known: Option<&Before>,
    now: Timestamp,
) -> Result<Word> {
    let Some(word) = word_of(task) else { return Ok(Word::Nothing) };
    // A box that was ticked before tells nothing new: somebody may have opened the task again since.
    let is_news = known.is_none_or(|known| known.tick == Tick::Open);
    let sql = "SELECT status NOT IN ('done', 'skipped')
             AND NOT EXISTS (SELECT 1 FROM claims WHERE task_id = ?1)
         FROM tasks WHERE id = ?1";
    let is_open: bool = tx.one(sql, [id])?;
    if !is_news || !is_open {
        return Ok(Word::Nothing);
    }
    if status::has_open_children(tx, id)? {
        return Ok(Word::OpenChildren);
    }
    match word {
        Status::Done => status::set_done(tx, id, DoneBy::Person, &Verification::default(), now)?,
        _ => status::set(tx, id, word, None, now)?,
    }
    fixes::skip_needless(tx, id, now)?;
    Ok(Word::Taken)
}

fn word_of(task: &DraftTask) -> Option<Status> {
    match (task.done, task.skipped) {
        (true, _) => Some(Status::Done),
        (false, true) => Some(Status::Skipped),
        (false, false) => None,
    }
}

/// A person's word on a task with open children: it is believed as `ralph task done` is, and the children are skipped.
/// Not while one of them is under way.
pub(super) fn take_parents_word(
    tx: &Connection,
    id: &TaskId,
    task: &DraftTask,
    now: Timestamp,
) -> Result<bool> {
    for (child, _) in status::below(tx, id)? {
        if claims::of_task(tx, &child)?.is_some() {
            return Ok(false);
        }
    }
    match word_of(task) {
        Some(Status::Done) => {
            task_changes::finish(tx, &plan::known(tx, id)?, DoneBy::Person, &Verification::default(), now)?;
        }
        Some(_) => task_changes::skip(tx, id, Some("its parent was marked skipped"), now)?,
        None => return Ok(false),
    }
    Ok(true)
}
