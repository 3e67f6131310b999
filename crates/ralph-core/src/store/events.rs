//! The story of runs as events, and which logs somebody still needs.

use rusqlite::Connection;

use super::sql::{Changes, Json, Statements, bind, record};
use super::{Durability, Result, Store};
use crate::event::RunEvent;
use crate::model::{RunId, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    pub seq: u64,
    pub at: Timestamp,
    pub kind: String,
    pub json: String,
}

impl StoredEvent {
    /// The event itself. `None` for one that another version of Ralph stored and this one cannot read.
    pub fn read(&self) -> Option<RunEvent> {
        serde_json::from_str(&self.json).ok()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    pub from: Timestamp,
    /// When the next thing happened; none if nothing did since.
    pub to: Option<Timestamp>,
}

record!(StoredEvent { seq, at, kind = "type", json });
record!(Wait { from = "at", to = "next" });

impl Store {
    /// Writes an event that belongs to no other transaction.
    pub fn append_event(&mut self, event: &mut RunEvent) -> Result<()> {
        self.write(Durability::Process, |tx| append(tx, event))
    }

    /// A run's events after `after`, oldest first, at most so many.
    pub fn some_events(&self, run: &RunId, after: u64, most: u32) -> Result<Vec<StoredEvent>> {
        let sql = "SELECT * FROM run_events WHERE run_id = :run AND seq > :after
             ORDER BY seq LIMIT :most";
        self.all(sql, bind! { run, after, most })
    }

    pub fn events_of_kind(&self, run: &RunId, kind: &str) -> Result<Vec<StoredEvent>> {
        let sql = "SELECT * FROM run_events WHERE run_id = :run AND type = :kind ORDER BY seq";
        self.all(sql, bind! { run, kind })
    }

    pub fn last_event(&self, run: &RunId, kind: Option<&str>) -> Result<Option<StoredEvent>> {
        let sql = "SELECT * FROM run_events
             WHERE run_id = :run AND (:kind IS NULL OR type = :kind) ORDER BY seq DESC LIMIT 1";
        self.first(sql, bind! { run, kind })
    }

    pub fn waits(&self, run: &RunId) -> Result<Vec<Wait>> {
        let sql = "SELECT w.at, (SELECT n.at FROM run_events n
                 WHERE n.run_id = w.run_id AND n.seq > w.seq ORDER BY n.seq LIMIT 1) AS next
             FROM run_events w WHERE w.run_id = ?1 AND w.type = 'waiting' ORDER BY w.seq";
        self.all(sql, [run])
    }

    /// Paths of logs that must not be deleted: of attempts under way, of the last attempt on every task that is not done,
    /// and of what runs that have not ended print.
    pub fn needed_logs(&self) -> Result<Vec<String>> {
        let sql = "SELECT log_path FROM claims WHERE log_path IS NOT NULL
             UNION SELECT output FROM runs WHERE ended_at IS NULL AND output IS NOT NULL
             UNION SELECT (SELECT o.log_path FROM iteration_outcomes o
                           WHERE o.task_id = t.id AND o.log_path IS NOT NULL
                           ORDER BY o.attempt_number DESC LIMIT 1) AS last
             FROM tasks t WHERE t.status <> 'done' AND last IS NOT NULL";
        self.all(sql, [])
    }
}

/// Stores an event under its number, or under the next one where another worker of the run was quicker: the event is given
/// the number that is stored.
pub(super) fn append(tx: &Connection, event: &mut RunEvent) -> Result<()> {
    let sql = "SELECT coalesce(max(seq), 0) + 1 FROM run_events WHERE run_id = ?1";
    let next: u64 = tx.one(sql, [&event.run_id])?;
    event.seq = event.seq.max(next);
    tx.insert(
        "run_events",
        bind! {
            run_id: event.run_id, seq: event.seq, at: event.at, type: event.kind.name(), json: Json(&*event),
        },
    )
}
