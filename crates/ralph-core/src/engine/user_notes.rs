//! Notes that people leave while a run is under way: the run shows each, and one may end the attempt.

use std::time::{Duration, Instant};

use super::run_context::RunContext;
use crate::event::RunEvent;
use crate::model::Token;
use crate::store::Claimed;

/// How soon a note is seen.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);
/// Events read at once.
const EVENTS: u32 = 1000;
/// The type of the event that tells of a note.
const NOTE_ADDED: &str = "note_added";

#[derive(Default)]
pub(super) struct UserNotes {
    /// When the database was last asked whether another process changed it, and what it said.
    checked: Option<(Instant, u64)>,
    /// The number of the last stored event that was looked at.
    last_event: u64,
    /// The attempt for which the database was asked in which state whether a note ends it, and the answer.
    ends: Option<(Token, u64, bool)>,
}

impl RunContext<'_> {
    /// Shows notes that other processes stored. Only a database that changed is read; where that fails, the next check
    /// tries again.
    pub(super) fn show_new_notes(&mut self) {
        let before = self.notes.checked;
        if before.is_some_and(|(at, _)| at.elapsed() < CHECK_INTERVAL) {
            return;
        }
        let Ok(changes) = self.store.changes() else { return };
        self.notes.checked = Some((Instant::now(), changes));
        if before.is_some_and(|(_, seen)| seen == changes) {
            return;
        }
        let Ok(events) = self.store.some_events(&self.id, self.notes.last_event, EVENTS) else { return };
        for event in events {
            self.notes.last_event = event.seq;
            if event.kind == NOTE_ADDED
                && let Some(note) = event.read()
            {
                // The stream's numbers grow, and what is only shown has used up some.
                let seq = note.seq.max(self.events.next());
                self.show_stored(&RunEvent { seq, ..note });
            }
        }
    }

    /// Whether somebody wants this attempt to begin anew with a note, as of the last check.
    pub(super) fn is_ended_for_note(&mut self, claimed: &Claimed) -> bool {
        let Claimed { task, token, .. } = claimed;
        let changes = self.notes.checked.map_or(0, |(_, changes)| changes);
        match &self.notes.ends {
            Some((known, at, ends)) if known == token && (*ends || *at == changes) => *ends,
            _ => {
                let ends = self.store.without_waiting(|store| store.is_ended_for_note(&task.id, token));
                let ends = ends.unwrap_or(false);
                self.notes.ends = Some((token.clone(), changes, ends));
                ends
            }
        }
    }
}
