//! Who is at work, which processes are hooks, which gates changed.

use rusqlite::{Connection, Row, params};

use super::{Durability, SqliteStore};
use crate::event::TaskRef;
use crate::model::{Key, TaskId};
use crate::store::{AtWork, GateChange, Owner, Result, SafetyStore};

impl SafetyStore for SqliteStore {
    fn at_work(&self) -> Result<AtWork> {
        self.read(|conn| {
            Ok(AtWork {
                claim_holders: owners(conn, "claims")?,
                hooks: owners(conn, "hook_processes")?,
            })
        })
    }

    fn note_hook(&mut self, process: &Owner) -> Result<()> {
        self.write(Durability::Process, |tx| {
            tx.execute(
                "INSERT OR IGNORE INTO hook_processes (host, pid, pid_started) VALUES (?1, ?2, ?3)",
                params![process.host, process.pid, process.pid_started],
            )?;
            Ok(())
        })
    }

    fn forget_hook(&mut self, process: &Owner) -> Result<()> {
        self.write(Durability::Process, |tx| {
            tx.execute(
                "DELETE FROM hook_processes WHERE host = ?1 AND pid = ?2 AND pid_started = ?3",
                params![process.host, process.pid, process.pid_started],
            )?;
            Ok(())
        })
    }

    fn last_gate_change(&self) -> Result<i64> {
        self.read(|conn| {
            conn.query_row("SELECT coalesce(max(id), 0) FROM gate_changes", [], |row| {
                row.get(0)
            })
        })
    }

    fn gate_changes(&self, after: i64) -> Result<Vec<GateChange>> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT c.id, t.id, t.key, t.title, c.gate_before, c.gate_after
                 FROM gate_changes c JOIN tasks t ON t.id = c.task_id WHERE c.id > ?1 ORDER BY c.id",
            )?
            .query_map([after], gate_change)?
            .collect()
        })
    }
}

/// The processes of a table; none where an older file does not have it.
fn owners(conn: &Connection, table: &str) -> rusqlite::Result<Vec<Owner>> {
    if !conn.table_exists(None, table)? {
        return Ok(Vec::new());
    }
    conn.prepare(&format!("SELECT host, pid, pid_started FROM {table}"))?
        .query_map([], |row| {
            Ok(Owner {
                host: row.get(0)?,
                pid: row.get(1)?,
                pid_started: row.get(2)?,
            })
        })?
        .collect()
}

fn gate_change(row: &Row<'_>) -> rusqlite::Result<GateChange> {
    Ok(GateChange {
        id: row.get(0)?,
        task: TaskRef {
            task_id: TaskId::from_stored(row.get::<_, String>(1)?),
            key: row.get::<_, Option<String>>(2)?.map(Key::from_stored),
            title: row.get(3)?,
        },
        before: row.get(4)?,
        after: row.get(5)?,
    })
}
