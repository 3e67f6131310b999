//! What a person deleted from AGENTS.md and no agent brings back.

use rusqlite::{Connection, params};

use crate::agents_md::collapsed;
use crate::model::LearningId;

/// Notes that a person deleted these.
pub(in super::super) fn note(tx: &Connection, ids: &[LearningId]) -> rusqlite::Result<()> {
    let mut content = tx.prepare_cached("SELECT content FROM learnings WHERE id = ?1")?;
    let mut note = tx.prepare_cached("INSERT OR IGNORE INTO agents_md_deleted VALUES (?1)")?;
    for id in ids {
        let text: String = content.query_row([id.as_str()], |row| row.get(0))?;
        note.execute(params![collapsed(&text)])?;
    }
    Ok(())
}

/// Whether a person deleted what says this.
pub(super) fn contains(tx: &Connection, content: &str) -> rusqlite::Result<bool> {
    tx.prepare_cached("SELECT 1 FROM agents_md_deleted WHERE content = ?1")?
        .exists([collapsed(content)])
}

/// Forgets that it was deleted: it was brought back.
pub(super) fn forget(tx: &Connection, id: &LearningId) -> rusqlite::Result<()> {
    let text: String = tx
        .prepare_cached("SELECT content FROM learnings WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))?;
    tx.prepare_cached("DELETE FROM agents_md_deleted WHERE content = ?1")?
        .execute([collapsed(&text)])?;
    Ok(())
}
