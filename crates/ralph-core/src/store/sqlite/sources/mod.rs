//! Plans in files: taking one in, and what is remembered of it.

mod fields;
mod import;
mod link;
mod ticks;
mod unfiled;

use rusqlite::{OptionalExtension, Row, params};

use super::{Durability, SqliteStore, rows};
use crate::model::{TaskId, Timestamp};
use crate::store::{
    FiledTask, GateEdit, ImportReport, ImportRequest, Random, Result, SourceFile, SourceStore,
    Tick, UnfiledTask, WaitingGate,
};

/// Memory for pages, negative as SQLite wants it for KiB: while a plan is taken in, and else.
const IMPORT_CACHE_KIB: i64 = -65_536;
const USUAL_CACHE_KIB: i64 = -2000;

impl SourceStore for SqliteStore {
    fn sources(&self) -> Result<Vec<SourceFile>> {
        self.read(|conn| {
            conn.prepare_cached("SELECT id, path, format, digest FROM sources ORDER BY id")?
                .query_map([], |row| {
                    Ok(SourceFile {
                        id: row.get(0)?,
                        path: row.get(1)?,
                        format: row.get(2)?,
                        digest: row.get(3)?,
                    })
                })?
                .collect()
        })
    }

    fn source_path(&self, task: &TaskId) -> Result<Option<String>> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT path FROM sources JOIN task_sources ON source_id = id WHERE task_id = ?1",
            )?
            .query_row([task.as_str()], |row| row.get(0))
            .optional()
        })
    }

    fn import_plan(
        &mut self,
        request: &ImportRequest<'_>,
        now: Timestamp,
        random: Random<'_>,
    ) -> Result<ImportReport> {
        // A large plan fits into memory; written piece by piece it would be written several times over.
        self.conn_pragma("cache_size", IMPORT_CACHE_KIB)?;
        let report = self.write(Durability::Power, |tx| {
            if request.dry_run {
                tx.execute_batch("SAVEPOINT dry")?;
            }
            let report = import::import(tx, request, now, random)?;
            if request.dry_run {
                tx.execute_batch("ROLLBACK TO dry; RELEASE dry")?;
            }
            Ok(report)
        });
        self.conn_pragma("cache_size", USUAL_CACHE_KIB)?;
        report
    }

    fn waiting_gates(&self) -> Result<Vec<WaitingGate>> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT t.id, coalesce(t.key, t.id), t.verify, s.waiting_gate, f.path
                 FROM task_sources s JOIN tasks t ON t.id = s.task_id JOIN sources f ON f.id = s.source_id
                 WHERE s.gate_waits ORDER BY t.position",
            )?
            .query_map([], |row| {
                Ok(WaitingGate {
                    gate: GateEdit {
                        id: TaskId::from_stored(row.get::<_, String>(0)?),
                        name: row.get(1)?,
                        before: row.get(2)?,
                        after: row.get(3)?,
                    },
                    path: row.get(4)?,
                })
            })?
            .collect()
        })
    }

    fn filed_tasks(&self, source: i64) -> Result<Vec<FiledTask>> {
        self.read(|conn| {
            conn.prepare_cached(&format!(
                "{FILED} WHERE s.source_id = ?1 ORDER BY t.position"
            ))?
            .query_map([source], filed)?
            .collect()
        })
    }

    fn filed_task(&self, task: &TaskId) -> Result<Option<FiledTask>> {
        self.read(|conn| {
            conn.prepare_cached(&format!("{FILED} WHERE s.task_id = ?1"))?
                .query_row([task.as_str()], filed)
                .optional()
        })
    }

    fn unfiled_tasks(&self, source: i64) -> Result<Vec<UnfiledTask>> {
        self.read_once(|conn| unfiled::unfiled(conn, source))
    }

    fn note_filed(
        &mut self,
        source: i64,
        digest: &str,
        ticked: &[(TaskId, bool)],
        filed: &[(TaskId, String)],
    ) -> Result<()> {
        self.write(Durability::Process, |tx| {
            tx.prepare_cached("UPDATE sources SET digest = ?2 WHERE id = ?1")?
                .execute(params![source, digest])?;
            for (id, name) in filed {
                tx.prepare_cached(
                    "INSERT OR IGNORE INTO task_sources (task_id, source_id, name) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![id.as_str(), source, name])?;
            }
            for (id, ticked) in ticked {
                tx.prepare_cached("UPDATE task_sources SET ticked = ?2 WHERE task_id = ?1")?
                    .execute(params![id.as_str(), ticked])?;
            }
            Ok(())
        })
    }
}

const FILED: &str = "SELECT t.id, s.name, t.title, t.status, s.ticked,
        (SELECT o.commit_after FROM iteration_outcomes o
         WHERE o.task_id = t.id AND o.commit_after IS NOT o.commit_before
         ORDER BY o.attempt_number DESC LIMIT 1),
        EXISTS (SELECT 1 FROM fixes f WHERE f.task_id = t.id)
    FROM task_sources s JOIN tasks t ON t.id = s.task_id";

fn filed(row: &Row<'_>) -> rusqlite::Result<FiledTask> {
    Ok(FiledTask {
        id: TaskId::from_stored(row.get::<_, String>(0)?),
        name: row.get(1)?,
        title: row.get(2)?,
        status: rows::status(row, 3)?,
        tick: Tick::from_code(row.get(4)?),
        commit: row.get(5)?,
        is_fix: row.get(6)?,
    })
}
