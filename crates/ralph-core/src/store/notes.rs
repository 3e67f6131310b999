//! Notes: what people tell a task's next attempt.

use serde::Serialize;

use super::sql::{Changes, Connection, Json, Statements, bind, record};
use super::undo::{self, ActionKind};
use super::{Durability, Result, Store, StoreError, events, plan};
use crate::event::{EventKind, RunEvent};
use crate::model::{RunId, TaskId, Timestamp, Token, names};

/// The longest text of a note.
pub const NOTE_CHARS: usize = 2000;

names! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum NoteState {
        /// The next attempt will be told.
        Queued => "queued",
        /// An attempt that counts had it in its prompt, or the one under way has.
        Shown => "shown",
    }
}

/// Serializes to a row of `ralph note TASK --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    pub id: i64,
    pub task_id: TaskId,
    pub text: String,
    pub created_at: Timestamp,
    pub state: NoteState,
    /// The attempt whose prompt had it last, as people count them; also one that was interrupted since.
    pub attempt: Option<u32>,
    /// The number of that attempt in the database.
    pub attempt_number: Option<u32>,
}

/// When a note is to reach its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteTime {
    NextAttempt,
    /// The attempt under way is ended for it.
    Now,
}

/// An attempt that is ended for a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndedForNote {
    pub run_id: RunId,
    /// The attempt, as people count them.
    pub attempt: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedNote {
    pub note: Note,
    pub ends: Option<EndedForNote>,
    /// The attempt that could not be ended any more: it is being judged.
    pub too_late: Option<EndedForNote>,
}

record!(Note { id, task_id, text, created_at, state, attempt, attempt_number = "shown_in" });

/// An attempt that did not count showed it in vain, and one that is on no record did not happen.
macro_rules! is_shown {
    () => {
        "(n.shown_in IS NOT NULL AND coalesce(o.counted = 1, c.attempt_number IS NOT DISTINCT FROM n.shown_in))"
    };
}

const NOTE: &str = concat!(
    "SELECT n.*, CASE WHEN ",
    is_shown!(),
    " THEN 'shown' ELSE 'queued' END AS state,
         CASE WHEN n.shown_in IS NOT NULL THEN coalesce(o.ordinal, (SELECT count(*) + 1 FROM iteration_outcomes p
             WHERE p.task_id = n.task_id AND p.counted = 1 AND p.attempt_number < n.shown_in)) END AS attempt
     FROM notes n
     LEFT JOIN iteration_outcomes o ON o.task_id = n.task_id AND o.attempt_number = n.shown_in
     LEFT JOIN claims c ON c.task_id = n.task_id"
);

impl Store {
    /// The notes of a task, oldest first.
    pub fn notes(&self, task: &TaskId) -> Result<Vec<Note>> {
        // Only read, a database may be of a version without them.
        match self.conn().has_table("notes")? {
            true => self.all(&format!("{NOTE} WHERE n.task_id = ?1 ORDER BY n.id"), [task]),
            false => Ok(Vec::new()),
        }
    }

    /// The notes of all tasks, oldest first.
    pub fn all_notes(&self) -> Result<Vec<Note>> {
        match self.conn().has_table("notes")? {
            true => self.all(&format!("{NOTE} ORDER BY n.id"), []),
            false => Ok(Vec::new()),
        }
    }

    /// Those that nobody was told yet.
    pub fn queued_notes(&self, task: &TaskId) -> Result<Vec<Note>> {
        let mut notes = self.notes(task)?;
        notes.retain(|note| note.state == NoteState::Queued);
        Ok(notes)
    }

    /// Those that its next attempt is told: its own, after those of the tasks it is part of, which a split left there. Where the
    /// process of the attempt under way has died, those that it was told are told again.
    pub fn notes_for_prompt(&self, task: &TaskId, has_died: bool) -> Result<Vec<Note>> {
        if !self.conn().has_table("notes")? {
            return Ok(Vec::new());
        }
        let untold = match has_died {
            true => {
                "q.state = 'queued' OR NOT EXISTS (SELECT 1 FROM iteration_outcomes r
                     WHERE r.task_id = q.task_id AND r.attempt_number = q.shown_in)"
            }
            false => "q.state = 'queued'",
        };
        let sql = format!(
            "WITH RECURSIVE family (id, above) AS (
                 SELECT id, 0 FROM tasks WHERE id = ?1
                 UNION SELECT t.parent_id, f.above + 1 FROM family f JOIN tasks t ON t.id = f.id
                 WHERE t.parent_id IS NOT NULL AND f.above < {MOST_ABOVE})
             SELECT q.* FROM ({NOTE}) q JOIN family f ON f.id = q.task_id WHERE ({untold})
             ORDER BY f.above DESC, q.id"
        );
        self.all(&sql, [task])
    }

    /// Queues a note. `events` tell of it in the active runs, in the same transaction.
    pub fn add_note(
        &mut self,
        task: &TaskId,
        text: &str,
        time: NoteTime,
        events: &mut [RunEvent],
        now: Timestamp,
    ) -> Result<AddedNote> {
        self.write(Durability::Power, |tx| {
            plan::known(tx, task)?;
            let id = undo::record(tx, ActionKind::Note, std::slice::from_ref(task), now, || {
                tx.insert_numbered("notes", "id", bind! { task_id: task, text, created_at: now })
            })?;
            let ends = match time {
                NoteTime::Now => end_attempt(tx, task, id)?,
                NoteTime::NextAttempt => None,
            };
            let too_late = match (time, &ends) {
                (NoteTime::Now, None) => under_way(tx, task)?,
                _ => None,
            };
            for event in &mut *events {
                if let EventKind::NoteAdded { now, .. } = &mut event.kind {
                    *now = ends.as_ref().is_some_and(|ended| ended.run_id == event.run_id);
                }
                events::append(tx, event)?;
            }
            let note = tx.one(&format!("{NOTE} WHERE n.id = ?1"), [id])?;
            Ok(AddedNote { note, ends, too_late })
        })
    }

    /// Whether a person ends this attempt for a note that it was not told.
    pub fn is_ended_for_note(&self, task: &TaskId, token: &Token) -> Result<bool> {
        self.has(ENDS_FOR_NOTE, bind! { task, token })
    }

    /// From now on no note ends this attempt. Whether one has done so before.
    pub fn close_to_notes(&mut self, task: &TaskId, token: &Token) -> Result<bool> {
        self.write(Durability::Process, |tx| {
            if tx.has(ENDS_FOR_NOTE, bind! { task, token })? {
                return Ok(true);
            }
            let sql = "UPDATE claims SET note_now = :closed WHERE task_id = :task AND token = :token";
            tx.change(sql, bind! { task, token, closed: CLOSED })?;
            Ok(false)
        })
    }
}

/// In place of a note's id: no note ends the attempt any more.
const CLOSED: i64 = 0;

/// How many ancestors of a task may have notes for it.
const MOST_ABOVE: u32 = 100;

const ENDS_FOR_NOTE: &str = "SELECT 1 FROM claims c JOIN notes n ON n.id = c.note_now
     WHERE c.task_id = :task AND c.token = :token AND n.shown_in IS DISTINCT FROM c.attempt_number";

/// The run and number of an attempt under way, in a row of `claims`.
const UNDER_WAY: &str = "run_id, (SELECT count(*) + 1 FROM iteration_outcomes o
     WHERE o.task_id = claims.task_id AND o.counted = 1)";

fn under_way(tx: &Connection, task: &TaskId) -> Result<Option<EndedForNote>> {
    let sql = format!("SELECT {UNDER_WAY} FROM claims WHERE task_id = ?1 AND purpose = 'attempt'");
    let found = tx.first(&sql, [task])?;
    Ok(found.map(|(run_id, attempt)| EndedForNote { run_id, attempt }))
}

/// Asks for the end of the attempt under way, in whatever process. One that has not begun is told the note anyway, or is
/// ended as soon as it begins. None where there is none, or where it is being judged.
fn end_attempt(tx: &Connection, task: &TaskId, note: i64) -> Result<Option<EndedForNote>> {
    let sql = format!(
        "UPDATE claims SET note_now = :note
         WHERE task_id = :task AND purpose = 'attempt' AND note_now IS DISTINCT FROM :closed RETURNING {UNDER_WAY}"
    );
    let asked = tx.first(&sql, bind! { task, note, closed: CLOSED })?;
    Ok(asked.map(|(run_id, attempt)| EndedForNote { run_id, attempt }))
}

/// The prompt of an attempt that begins has these notes. Those of the tasks it is part of stay queued for the other parts.
pub(super) fn show(tx: &Connection, task: &TaskId, attempt_number: u32, notes: &[i64]) -> Result<()> {
    tx.change(
        "UPDATE notes SET shown_in = :number
         WHERE task_id = :task AND CAST(id AS TEXT) IN (SELECT CAST(value AS TEXT) FROM json_each(:notes))",
        bind! { task, number: attempt_number, notes: Json(notes) },
    )
}

/// An attempt that was shown notes changed the plan instead of doing the work.
pub(super) fn queue_again(tx: &Connection, task: &TaskId, attempt_number: u32) -> Result<()> {
    let sql = "UPDATE notes SET shown_in = NULL WHERE task_id = :task AND shown_in = :number";
    tx.change(sql, bind! { task, number: attempt_number })
}

/// Refuses to take back a note that an attempt was told.
pub(super) fn refuse_shown(tx: &Connection, id: i64) -> Result<()> {
    let note: Option<Note> = tx.first(&format!("{NOTE} WHERE n.id = ?1"), [id])?;
    match note {
        Some(Note { state: NoteState::Shown, attempt, .. }) => Err(StoreError::CannotUndo {
            why: format!("attempt {} has the note in its prompt", attempt.unwrap_or_default()),
        }),
        _ => Ok(()),
    }
}
