//! The story of runs as it was told, and which logs somebody still needs.

use super::Result;
use crate::event::RunEvent;
use crate::model::{RunId, Timestamp};

/// An event as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    /// Its number within the run.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// The name of its kind.
    pub kind: String,
    /// All of it.
    pub json: String,
}

impl StoredEvent {
    /// The event itself. `None` for one that another version of Ralph stored and this one cannot read.
    #[must_use]
    pub fn read(&self) -> Option<RunEvent> {
        serde_json::from_str(&self.json).ok()
    }
}

/// A time in which a run waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Since when.
    pub from: Timestamp,
    /// When the next thing happened; none if nothing did since.
    pub to: Option<Timestamp>,
}

/// What was told of runs, and what must be kept.
pub trait LogStore {
    /// A run's events after `after`, oldest first, at most so many.
    fn some_events(&self, run: &RunId, after: u64, most: u32) -> Result<Vec<StoredEvent>>;
    /// A run's events of one kind, oldest first.
    fn events_of_kind(&self, run: &RunId, kind: &str) -> Result<Vec<StoredEvent>>;
    /// A run's last event, of one kind if that is given.
    fn last_event(&self, run: &RunId, kind: Option<&str>) -> Result<Option<StoredEvent>>;
    /// When a run waited.
    fn waits(&self, run: &RunId) -> Result<Vec<Wait>>;
    /// Paths of logs that must not be deleted: of attempts under way, of the last attempt on every task that is not done,
    /// and of what runs that have not ended print.
    fn needed_logs(&self) -> Result<Vec<String>>;
    /// A number that changes when another process has changed anything.
    fn changes(&self) -> Result<u64>;
}
