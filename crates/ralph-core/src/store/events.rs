//! The story of runs as events, and which logs somebody still needs.
//!
//! An event's id is its run's number times 2^32 plus its own number in the run: events are appended to their table, which
//! needs no index to find those of a run.

use super::sql::{Changes, Connection, Json, Statements, bind, record};
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
        let after = self.read(|conn| id_of(conn, run, after))?;
        self.all(&format!("{EVENTS} ORDER BY id LIMIT :most"), bind! { run, after, most })
    }

    pub fn events_of_kind(&self, run: &RunId, kind: &str) -> Result<Vec<StoredEvent>> {
        let after = self.read(|conn| id_of(conn, run, 0))?;
        self.all(&format!("{EVENTS} AND type = :kind ORDER BY id"), bind! { run, after, kind })
    }

    pub fn last_event(&self, run: &RunId, kind: Option<&str>) -> Result<Option<StoredEvent>> {
        let after = self.read(|conn| id_of(conn, run, 0))?;
        let sql =
            format!("{EVENTS} AND (CAST(:kind AS TEXT) IS NULL OR type = :kind) ORDER BY id DESC LIMIT 1");
        self.first(&sql, bind! { run, after, kind })
    }

    pub fn waits(&self, run: &RunId) -> Result<Vec<Wait>> {
        let after = self.read(|conn| id_of(conn, run, 0))?;
        let sql = format!(
            "SELECT at, next FROM (SELECT *, lead(at) OVER (ORDER BY id) AS next FROM ({EVENTS}) AS e) AS w
             WHERE type = 'waiting' ORDER BY id"
        );
        self.all(&sql, bind! { run, after })
    }

    /// Paths of logs that must not be deleted: of attempts under way, of the last attempt on every task that is not done,
    /// and of what runs that have not ended print.
    pub fn needed_logs(&self) -> Result<Vec<String>> {
        let sql = "SELECT log_path FROM claims WHERE log_path IS NOT NULL
             UNION SELECT output FROM runs WHERE ended_at IS NULL AND output IS NOT NULL
             UNION SELECT last FROM (
                 SELECT (SELECT o.log_path FROM iteration_outcomes o
                         WHERE o.task_id = t.id AND o.log_path IS NOT NULL
                         ORDER BY o.attempt_number DESC LIMIT 1) AS last
                 FROM tasks t WHERE t.status <> 'done') AS lasts WHERE last IS NOT NULL";
        self.all(sql, [])
    }
}

/// The events of the run `:run` after the id `:after`.
const EVENTS: &str = "SELECT * FROM run_events
    WHERE id > :after AND id < (:after / 4294967296 + 1) * 4294967296 AND run_id = :run";

/// The id of a run's event. Runs that the database does not know have number 0.
fn id_of(conn: &Connection, run: &RunId, seq: u64) -> Result<i64> {
    let number: Option<i64> = conn.first("SELECT number FROM runs WHERE id = ?1", [run])?;
    let seq = i64::from(u32::try_from(seq).unwrap_or(u32::MAX));
    Ok(number.unwrap_or(0).saturating_mul(1 << 32).saturating_add(seq))
}

/// Stores an event under its number, or under the next one where another worker of the run was quicker: the event is given
/// the number that is stored.
pub(super) fn append(tx: &Connection, event: &mut RunEvent) -> Result<()> {
    if insert_last(tx, event)? {
        return Ok(());
    }
    let first = id_of(tx, &event.run_id, 0)?;
    let sql = "SELECT coalesce(max(id) - :first, 0) + 1 FROM run_events
         WHERE id > :first AND id < :first + 4294967296";
    let next: u64 = tx.one(sql, bind! { first })?;
    event.seq = event.seq.max(next);
    insert_last(tx, event).map(drop)
}

/// Inserts an event unless the run has one of that number or a later one.
fn insert_last(tx: &Connection, event: &RunEvent) -> Result<bool> {
    let sql = "INSERT INTO run_events (id, run_id, seq, at, type, json)
         SELECT f.first + :place, :run, :seq, :at, :kind, :json
         FROM (SELECT coalesce((SELECT number FROM runs WHERE id = :run), 0) * 4294967296 AS first) AS f
         WHERE NOT EXISTS (SELECT 1 FROM run_events WHERE id >= f.first + :place AND id < f.first + 4294967296)";
    let place = u32::try_from(event.seq).unwrap_or(u32::MAX);
    let values = bind! { run: event.run_id, place, seq: event.seq, at: event.at, kind: event.kind.name(), json: Json(event) };
    Ok(tx.changed(sql, values)? > 0)
}
