//! What AGENTS.md is made from.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use super::{Durability, SqliteStore, learnings, rows};
use crate::agents_md::{Entry, Known, LastWrite, PhaseEntries, Section};
use crate::context::PhaseFailure;
use crate::model::{LearningId, NewLearning, Outcome, Phase, Source, TaskId, Timestamp};
use crate::store::{AgentsMdStore, Capture, ConfirmedWrite, Random, Result};
use crate::text::neutral::inert_prose;
use crate::text::{cut_words, first_sentences};

/// How a file looked is remembered for so many writes: years of them.
const MOST_WRITES: u32 = 100_000;
/// Failures kept of one phase.
const MOST_OF_A_PHASE: u32 = 100;
/// The longest error of an entry.
const ERROR_CHARS: usize = 500;
/// The most sentences on what was attempted.
const ATTEMPTED_SENTENCES: usize = 3;
/// What an entry without a fingerprint is recognised by.
const CAUSE_CHARS: usize = 200;

/// Keeps the failures that the file shows, with the attempt that makes one.
pub(super) fn note(
    tx: &Connection,
    capture: &Capture,
    attempt_number: u32,
) -> rusqlite::Result<()> {
    if !capture.counted {
        return Ok(());
    }
    if capture.outcome == Outcome::Done {
        tx.prepare_cached("UPDATE totals SET last_good = ?1 WHERE ?1 IS NOT NULL")?
            .execute([&capture.git.commit_after])?;
        return Ok(());
    }
    let Some(report) = &capture.report else {
        return Ok(());
    };
    let mark = capture.mark.as_ref();
    let words = report.why_it_failed.chars().take(CAUSE_CHARS).collect();
    let cause: String = mark.map_or(words, |mark| mark.coarse.clone());
    tx.prepare_cached(
        "INSERT INTO failure_entries (task_id, cause, times, attempt_number, at, last_good)
         VALUES (?1, ?2, 1, ?3, ?4, (SELECT last_good FROM totals))
         ON CONFLICT (task_id, cause) DO UPDATE SET times = times + 1,
             attempt_number = excluded.attempt_number, at = excluded.at,
             last_good = excluded.last_good",
    )?
    .execute(params![
        capture.task_id.as_str(),
        cause,
        attempt_number,
        capture.ended_at.to_string(),
    ])?;
    // No more are ever shown.
    tx.prepare_cached(
        "DELETE FROM failure_entries WHERE (task_id, cause) IN (
             SELECT e.task_id, e.cause FROM failure_entries e JOIN tasks t ON t.id = e.task_id
             WHERE t.whole_phase IS (SELECT whole_phase FROM tasks WHERE id = ?1)
             ORDER BY e.at DESC, e.task_id LIMIT -1 OFFSET ?2)",
    )?
    .execute(params![capture.task_id.as_str(), MOST_OF_A_PHASE])?;
    Ok(())
}

impl AgentsMdStore for SqliteStore {
    fn failure_entries(&mut self, cap: u32) -> Result<Vec<PhaseEntries>> {
        if !self.read(has_entries)? {
            return Ok(Vec::new());
        }
        if self.read(has_finished)? {
            self.write(Durability::Process, |tx| Ok(forget_finished(tx)?))?;
        }
        self.read(|conn| entries(conn, cap))
    }

    fn has_finished_failures(&self) -> Result<bool> {
        Ok(self.read(has_entries)? && self.read(has_finished)?)
    }

    fn phase_failures(&self, task: &TaskId, most: u32) -> Result<Vec<PhaseFailure>> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT t.id, t.key, e.at, r.why_it_failed FROM failure_entries e
                 JOIN tasks t ON t.id = e.task_id
                 JOIN failure_reports r
                     ON r.task_id = e.task_id AND r.attempt_number = e.attempt_number
                 WHERE e.task_id <> ?1
                     AND t.whole_phase = (SELECT whole_phase FROM tasks WHERE id = ?1)
                 ORDER BY e.at DESC, e.task_id LIMIT ?2",
            )?
            .query_map(params![task.as_str(), most], |row| {
                Ok(PhaseFailure {
                    key: name(row, 0)?,
                    time: second(&rows::text(row, 2)?),
                    error: rows::text(row, 3)?,
                })
            })?
            .collect()
        })
    }

    fn written_names(&self, path: &str) -> Result<HashSet<String>> {
        self.read(|conn| {
            conn.prepare_cached("SELECT name FROM agents_md_names WHERE path = ?1")?
                .query_map([path], |row| rows::text(row, 0))?
                .collect()
        })
    }

    fn has_failed(&self, name: &str) -> Result<bool> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT 1 FROM tasks t JOIN failure_reports r ON r.task_id = t.id
                 WHERE t.key = ?1 OR t.id = ?1",
            )?
            .exists([name])
        })
    }

    fn known_learnings(&self) -> Result<Vec<Known>> {
        self.read(|conn| {
            known(
                conn,
                "pruned_at IS NULL AND superseded_by IS NULL",
                [],
                true,
            )
        })
    }

    fn learnings_after(&self, newest: u64) -> Result<Vec<Known>> {
        let new = "id IN (SELECT learning_id FROM learning_docs WHERE doc > ?1)";
        self.read(|conn| known(conn, new, [newest], true))
    }

    fn put_away_learnings(&self) -> Result<Vec<Known>> {
        self.read(|conn| {
            known(
                conn,
                "pruned_at IS NOT NULL OR superseded_by IS NOT NULL",
                [],
                false,
            )
        })
    }

    fn last_write(&self, path: &str, digest: &str) -> Result<(Option<LastWrite>, bool)> {
        self.read_once(|conn| {
            let last: Option<(i64, Option<String>, String)> = conn
                .prepare_cached(
                    "SELECT place, branch, digest FROM agents_md_writes WHERE path = ?1
                     ORDER BY place DESC LIMIT 1",
                )?
                .query_row([path], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
                .optional()?;
            let Some((place, branch, written)) = last else {
                return Ok((None, false));
            };
            let before = conn
                .prepare_cached(
                    "SELECT 1 FROM agents_md_writes WHERE path = ?1 AND digest = ?2 AND place < ?3",
                )?
                .exists(params![path, digest, place])?;
            let bullets = conn
                .prepare_cached(
                    "SELECT learning_id, section FROM agents_md_bullets WHERE path = ?1",
                )?
                .query_map([path], |row| {
                    let section = rows::text(row, 1)?;
                    let section = Section::ALL.into_iter().find(|one| one.title() == section);
                    Ok((LearningId::from_stored(rows::text(row, 0)?), section))
                })?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            let bullets = bullets
                .into_iter()
                .filter_map(|(id, section)| Some((id, section?)))
                .collect();
            let last = LastWrite {
                branch,
                digest: written,
                bullets,
            };
            Ok((Some(last), before))
        })
    }

    fn confirm_write(&mut self, path: &str, write: &ConfirmedWrite) -> Result<()> {
        self.write(Durability::Process, |tx| Ok(confirm(tx, path, write)?))
    }

    fn delete_bullets(&mut self, ids: &[LearningId], now: Timestamp) -> Result<()> {
        self.write(Durability::Power, |tx| {
            learnings::deleted::note(tx, ids)?;
            learnings::prune(tx, ids, now)
        })
    }

    fn add_bullets(
        &mut self,
        bullets: &[NewLearning],
        source: Source,
        now: Timestamp,
        random: Random<'_>,
    ) -> Result<Vec<LearningId>> {
        self.write(Durability::Power, |tx| {
            learnings::add_all(tx, bullets, source, now, random)
        })
    }
}

fn confirm(tx: &Connection, path: &str, write: &ConfirmedWrite) -> rusqlite::Result<()> {
    tx.prepare_cached("INSERT INTO agents_md_writes (path, branch, digest) VALUES (?1, ?2, ?3)")?
        .execute(params![path, write.branch, write.digest])?;
    tx.prepare_cached(
        "DELETE FROM agents_md_writes WHERE path = ?1 AND place <= (
             SELECT max(place) FROM agents_md_writes WHERE path = ?1) - ?2",
    )?
    .execute(params![path, MOST_WRITES])?;
    let mut put = tx.prepare_cached(
        "INSERT INTO agents_md_bullets (path, learning_id, section) VALUES (?1, ?2, ?3)
         ON CONFLICT (path, learning_id) DO UPDATE SET section = excluded.section",
    )?;
    for (id, section) in &write.added {
        put.execute(params![path, id.as_str(), section.title()])?;
    }
    let mut drop =
        tx.prepare_cached("DELETE FROM agents_md_bullets WHERE path = ?1 AND learning_id = ?2")?;
    for id in &write.gone {
        drop.execute(params![path, id.as_str()])?;
    }
    let mut own = tx.prepare_cached(
        "INSERT INTO agents_md_names (path, name) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
    )?;
    for name in &write.names {
        own.execute(params![path, name])?;
    }
    Ok(())
}

fn has_entries(conn: &Connection) -> rusqlite::Result<bool> {
    conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM failure_entries)")?
        .query_row([], |row| row.get(0))
}

/// Entries of tasks that were not skipped, in phases where nothing is left to do.
const FINISHED: &str = "FROM failure_entries WHERE task_id IN (
    SELECT t.id FROM failure_entries e JOIN tasks t ON t.id = e.task_id
    WHERE t.status <> 'skipped' AND NOT EXISTS (
        SELECT 1 FROM tasks o WHERE o.whole_phase IS t.whole_phase
            AND o.status NOT IN ('done', 'skipped')))";

fn has_finished(conn: &Connection) -> rusqlite::Result<bool> {
    conn.prepare_cached(&format!("SELECT EXISTS (SELECT 1 {FINISHED})"))?
        .query_row([], |row| row.get(0))
}

fn forget_finished(tx: &Connection) -> rusqlite::Result<()> {
    tx.prepare_cached(&format!("DELETE {FINISHED}"))?
        .execute([])?;
    Ok(())
}

fn entries(conn: &Connection, cap: u32) -> rusqlite::Result<Vec<PhaseEntries>> {
    let mut query = conn.prepare_cached(
        "SELECT id, key, whole_phase, times, at, why_it_failed, what_was_tried, relevant_files,
                stack_trace_snippet, excerpt, last_good FROM (
             SELECT t.id, t.key, t.whole_phase, e.times, e.at, r.why_it_failed, r.what_was_tried,
                    r.relevant_files, r.stack_trace_snippet, r.excerpt, e.last_good,
                    row_number() OVER (PARTITION BY t.whole_phase ORDER BY e.at DESC, e.task_id) AS newest
             FROM failure_entries e JOIN tasks t ON t.id = e.task_id
             JOIN failure_reports r
                 ON r.task_id = e.task_id AND r.attempt_number = e.attempt_number)
         WHERE newest <= ?1 ORDER BY whole_phase IS NULL, whole_phase, newest DESC",
    )?;
    let mut found = query.query([cap])?;
    let mut phases: Vec<PhaseEntries> = Vec::new();
    while let Some(row) = found.next()? {
        let number: Option<f64> = row.get(2)?;
        let phase = number.map(|number| Phase::from_stored(number).to_string());
        let entry = entry(row)?;
        match phases.last_mut().filter(|last| last.phase == phase) {
            Some(last) => last.entries.push(entry),
            None => phases.push(PhaseEntries {
                phase,
                entries: vec![entry],
            }),
        }
    }
    Ok(phases)
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let why = rows::text(row, 5)?;
    // What Ralph adds about the gate belongs to the context.
    let error = why
        .split_once(" (the gate `")
        .map_or(why.as_str(), |(error, _)| error);
    let error = cut_words(error.trim(), ERROR_CHARS).into_owned();
    Ok(Entry {
        name: name(row, 0)?,
        at: second(&rows::text(row, 4)?),
        times: row.get(3)?,
        // The fuller reason.
        context: why.trim().to_owned(),
        error,
        attempted: first_sentences(&rows::text(row, 6)?, ATTEMPTED_SENTENCES).to_owned(),
        files: rows::json_list(&rows::text(row, 7)?),
        last_good: rows::optional_text(row, 10)?,
    })
}

/// The key in the column after the id, else the id.
fn name(row: &Row<'_>, id: usize) -> rusqlite::Result<String> {
    match rows::optional_text(row, id + 1)? {
        Some(key) => Ok(key),
        None => rows::text(row, id),
    }
}

/// To the second, as people write it.
fn second(time: &str) -> String {
    time.get(..19).unwrap_or(time).replace('T', " ")
}

fn known(
    conn: &Connection,
    which: &str,
    params: impl Params,
    active: bool,
) -> rusqlite::Result<Vec<Known>> {
    conn.prepare_cached(&format!(
        "SELECT id, category, relevance_tags, content, pruned_at, source FROM learnings WHERE {which}
         ORDER BY created_at, rowid"
    ))?
    .query_map(params, |row| {
        let tags = rows::text(row, 2)?;
        // Only a phase among them says where a learning belongs; most have none.
        let tags = if tags.to_ascii_lowercase().contains("phase") {
            rows::json_list(&tags)
        } else {
            Vec::new()
        };
        let id = LearningId::from_stored(rows::text(row, 0)?);
        let (category, content) = (rows::text(row, 1)?, rows::text(row, 3)?);
        // What people wrote stands as they wrote it; agents' learnings may be older than their neutralizing.
        let content = match Source::from_stored(&rows::text(row, 5)?).is_person() {
            true => content,
            false => inert_prose(&content),
        };
        let put_away = rows::optional_text(row, 4)?;
        Ok(Known {
            put_away_at: put_away.and_then(|at| Timestamp::parse(&at)),
            ..Known::new(id, &category, &tags, &content, active)
        })
    })?
    .collect()
}
