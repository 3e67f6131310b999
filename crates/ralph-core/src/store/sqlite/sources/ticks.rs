//! What a ticked box in a file says, and whether it is believed.

use rusqlite::Connection;

use super::import::Before;
use crate::model::{DoneBy, Status, TaskId, Timestamp};
use crate::plan_files::DraftTask;
use crate::store::sqlite::{Refusal, capture, change, claims, fixes, status};
use crate::store::{Hand, Tick};

/// How the box of a task stands, and whether it is believed.
pub(super) fn tick_of(
    tx: &Connection,
    task: &DraftTask,
    known: Option<&Before>,
    id: &TaskId,
    hand: &Hand,
) -> rusqlite::Result<Tick> {
    let (true, before) = (task.done, known.map_or(Tick::Open, |known| known.tick)) else {
        return Ok(Tick::Open);
    };
    let (Hand::Agent(at), Tick::Open, Some(_)) = (hand, before, known) else {
        return Ok(match before {
            Tick::Unproven => Tick::Unproven,
            Tick::Open | Tick::Ticked => Tick::Ticked,
        });
    };
    let done: bool = tx
        .prepare_cached("SELECT status = 'done' FROM tasks WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))?;
    // Of the task it was at the verdict is known.
    let known = done || at.as_ref() == Some(id);
    Ok(if known { Tick::Ticked } else { Tick::Unproven })
}

pub(super) fn is_unproven(tx: &Connection, id: &TaskId) -> rusqlite::Result<bool> {
    tx.prepare_cached("SELECT ticked = 2 FROM task_sources WHERE task_id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
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

/// The file's word on whether a task is done. It finishes tasks and opens none.
pub(super) fn take_word(
    tx: &Connection,
    id: &TaskId,
    task: &DraftTask,
    known: Option<&Before>,
    hand: &Hand,
    now: Timestamp,
) -> rusqlite::Result<Word> {
    let by = match hand {
        Hand::Person => DoneBy::Person,
        Hand::Agent(_) => DoneBy::Agent,
    };
    let Some(word) = word_of(task) else {
        return Ok(Word::Nothing);
    };
    // A box that was ticked before tells nothing new: somebody may have opened the task again since.
    let is_news = known.is_none_or(|known| known.tick == Tick::Open);
    let (is, claimed): (String, bool) = tx
        .prepare_cached(
            "SELECT status, EXISTS (SELECT 1 FROM claims WHERE task_id = ?1) FROM tasks WHERE id = ?1",
        )?
        .query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let open = !matches!(is.as_str(), "done" | "skipped");
    if !is_news || !open || claimed {
        return Ok(Word::Nothing);
    }
    if capture::has_open_children(tx, id)? {
        return Ok(Word::OpenChildren);
    }
    match word {
        Status::Done => status::set_done(tx, id, by, now)?,
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

/// A person's word on a task with open children: it is believed as `ralph task done` is, and the children are left out.
/// Not while one of them is under way.
pub(super) fn take_parents_word(
    tx: &Connection,
    id: &TaskId,
    task: &DraftTask,
    now: Timestamp,
) -> std::result::Result<bool, Refusal> {
    let under_way = status::below(tx, id)?.into_iter().try_fold(
        false,
        |any, (child, _)| -> rusqlite::Result<bool> {
            Ok(any || claims::of_task(tx, &child)?.is_some())
        },
    )?;
    match word_of(task).filter(|_| !under_way) {
        Some(Status::Done) => {
            change::finish(tx, &change::known(tx, id)?, DoneBy::Person, now)?;
        }
        Some(_) => change::skip(tx, id, Some("its parent was marked skipped"), now)?,
        None => return Ok(false),
    }
    Ok(true)
}
