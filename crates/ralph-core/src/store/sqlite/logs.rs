//! The story of runs, and the logs that are needed.

use rusqlite::{OptionalExtension, Row, params};

use super::{SqliteStore, rows};
use crate::model::RunId;
use crate::store::{LogStore, Result, StoredEvent, Wait};

impl LogStore for SqliteStore {
    fn some_events(&self, run: &RunId, after: u64, most: u32) -> Result<Vec<StoredEvent>> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT seq, at, type, json FROM run_events WHERE run_id = ?1 AND seq > ?2
                 ORDER BY seq LIMIT ?3",
            )?
            .query_map(params![run.as_str(), after, most], event)?
            .collect()
        })
    }

    fn events_of_kind(&self, run: &RunId, kind: &str) -> Result<Vec<StoredEvent>> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT seq, at, type, json FROM run_events WHERE run_id = ?1 AND type = ?2
                 ORDER BY seq",
            )?
            .query_map([run.as_str(), kind], event)?
            .collect()
        })
    }

    fn last_event(&self, run: &RunId, kind: Option<&str>) -> Result<Option<StoredEvent>> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT seq, at, type, json FROM run_events
                 WHERE run_id = ?1 AND (?2 IS NULL OR type = ?2) ORDER BY seq DESC LIMIT 1",
            )?
            .query_row(params![run.as_str(), kind], event)
            .optional()
        })
    }

    fn waits(&self, run: &RunId) -> Result<Vec<Wait>> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT w.at, (SELECT n.at FROM run_events n
                               WHERE n.run_id = w.run_id AND n.seq > w.seq ORDER BY n.seq LIMIT 1)
                 FROM run_events w WHERE w.run_id = ?1 AND w.type = 'waiting' ORDER BY w.seq",
            )?
            .query_map([run.as_str()], |row| {
                Ok(Wait {
                    from: rows::time(row, 0)?,
                    to: rows::optional_time(row, 1)?,
                })
            })?
            .collect()
        })
    }

    fn needed_logs(&self) -> Result<Vec<String>> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT log_path FROM claims WHERE log_path IS NOT NULL
                 UNION SELECT output FROM runs WHERE ended_at IS NULL AND output IS NOT NULL
                 UNION SELECT (SELECT o.log_path FROM iteration_outcomes o
                               WHERE o.task_id = t.id AND o.log_path IS NOT NULL
                               ORDER BY o.attempt_number DESC LIMIT 1) AS last
                 FROM tasks t WHERE t.status <> 'done' AND last IS NOT NULL",
            )?
            .query_map([], |row| row.get(0))?
            .collect()
        })
    }

    fn changes(&self) -> Result<u64> {
        self.read(|conn| conn.query_row("PRAGMA data_version", [], |row| row.get(0)))
    }
}

fn event(row: &Row<'_>) -> rusqlite::Result<StoredEvent> {
    Ok(StoredEvent {
        seq: row.get(0)?,
        at: rows::time(row, 1)?,
        kind: row.get(2)?,
        json: row.get(3)?,
    })
}
