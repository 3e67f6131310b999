//! Bringing a file to the present schema, one transaction per step.

use std::io::Read;
use std::path::Path;

use rusqlite::TransactionBehavior;

use super::Store;
use super::rescue::{copy, with_ending};
use crate::files::{Links, open};
use crate::model::Timestamp;
use crate::store::sql::{Connection, Statements};
use crate::store::{Result, StoreError, sources, status};

/// Each step brings a file of the version before it to its own. Steps are only ever appended.
pub(in crate::store) const STEPS: [&str; 30] = [
    include_str!("../../../migrations/sqlite/0001_v1.sql"),
    include_str!("../../../migrations/sqlite/0002_plan.sql"),
    include_str!("../../../migrations/sqlite/0003_attempts.sql"),
    include_str!("../../../migrations/sqlite/0004_learnings.sql"),
    include_str!("../../../migrations/sqlite/0005_strategy.sql"),
    include_str!("../../../migrations/sqlite/0006_experience.sql"),
    include_str!("../../../migrations/sqlite/0007_breaker.sql"),
    include_str!("../../../migrations/sqlite/0008_agents_md.sql"),
    include_str!("../../../migrations/sqlite/0009_deleted_bullets.sql"),
    include_str!("../../../migrations/sqlite/0010_recovery.sql"),
    include_str!("../../../migrations/sqlite/0011_nights.sql"),
    include_str!("../../../migrations/sqlite/0012_mornings.sql"),
    include_str!("../../../migrations/sqlite/0013_commits.sql"),
    include_str!("../../../migrations/sqlite/0014_inside.sql"),
    include_str!("../../../migrations/sqlite/0015_bounds.sql"),
    include_str!("../../../migrations/sqlite/0016_estimates.sql"),
    include_str!("../../../migrations/sqlite/0017_learning_batches.sql"),
    include_str!("../../../migrations/sqlite/0018_verified.sql"),
    include_str!("../../../migrations/sqlite/0019_waiting_gates.sql"),
    include_str!("../../../migrations/sqlite/0020_stopped.sql"),
    include_str!("../../../migrations/sqlite/0021_fewer_pages.sql"),
    include_str!("../../../migrations/sqlite/0022_keys_per_file.sql"),
    include_str!("../../../migrations/sqlite/0023_plan_sessions.sql"),
    include_str!("../../../migrations/sqlite/0024_verification.sql"),
    include_str!("../../../migrations/sqlite/0025_protected.sql"),
    include_str!("../../../migrations/sqlite/0026_notes.sql"),
    include_str!("../../../migrations/sqlite/0027_kept_contents.sql"),
    include_str!("../../../migrations/sqlite/0028_workers.sql"),
    include_str!("../../../migrations/sqlite/0029_sandbox.sql"),
    include_str!("../../../migrations/sqlite/0030_outputs.sql"),
];

pub(super) const KNOWN: u32 = STEPS.len() as u32;

/// Looks at the file's header before SQLite does, so that a newer file is not touched in any way.
pub(super) fn refuse_newer(path: &Path) -> Result<()> {
    let mut header = [0_u8; 64];
    let read = open(path, Links::Follow).and_then(|mut file| file.read_exact(&mut header));
    if read.is_err() || !header.starts_with(b"SQLite format 3\0") {
        return Ok(());
    }
    let found = u32::from_be_bytes([header[60], header[61], header[62], header[63]]);
    refuse_if_newer(path, found)
}

fn refuse_if_newer(path: &Path, found: u32) -> Result<()> {
    if found > KNOWN {
        return Err(StoreError::NewerSchema { path: path.to_owned(), found, known: KNOWN });
    }
    Ok(())
}

pub(super) fn run(store: &mut Store) -> Result<()> {
    let version = store.version()?;
    refuse_if_newer(&store.path, version)?;
    if version == KNOWN {
        return store.sqlite(use_wal);
    }
    if version > 0 {
        keep_copy(store.conn(), &store.path, version)?;
    }
    store.sqlite(apply)?;
    store.read(settle_parents)?;
    store.read(sources::name_specs)
}

/// A copy that `VACUUM INTO` made has no write-ahead log until it is told to.
fn use_wal(conn: &rusqlite::Connection) -> rusqlite::Result<()> {
    conn.pragma_update(None, "journal_mode", "WAL")
}

/// Version 1 left parents pending whose children were done.
fn settle_parents(conn: &Connection) -> Result<()> {
    let now: Timestamp = conn.one("SELECT strftime('%Y-%m-%dT%H:%M:%fZ')", [])?;
    status::settle(conn, now)
}

fn apply(conn: &rusqlite::Connection) -> rusqlite::Result<()> {
    use_wal(conn)?;
    // Tables are rebuilt, and rows of an old file may point nowhere; both need the checks to rest.
    conn.pragma_update(None, "foreign_keys", "OFF")?;
    // Else a view of the user's would follow the old table out.
    conn.pragma_update(None, "legacy_alter_table", "ON")?;
    loop {
        let tx = rusqlite::Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
        // Asked again inside the lock: another process may have done the step meanwhile.
        let version: u32 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let Some(step) = STEPS.get(version as usize) else { break };
        tx.execute_batch(step)?;
        tx.pragma_update(None, "user_version", version + 1)?;
        tx.commit()?;
    }
    conn.pragma_update(None, "legacy_alter_table", "OFF")?;
    conn.pragma_update(None, "foreign_keys", "ON")
}

pub(super) fn version(conn: &Connection) -> Result<u32> {
    conn.one(conn.either("PRAGMA user_version", "SELECT version FROM schema_version"), [])
}

/// Keeps the file as it was, beside it. A copy that is there already is of the same version and stays.
fn keep_copy(conn: &Connection, path: &Path, version: u32) -> Result<()> {
    let kept = with_ending(path, &format!(".v{version}.bak"));
    if kept.exists() {
        return Ok(());
    }
    let dir = path.parent().unwrap_or(Path::new("."));
    let name = kept.file_name().unwrap_or_default().to_owned();
    // No name is free where another process made the same copy meanwhile.
    copy(conn, dir, std::iter::once(name)).map(drop)
}
