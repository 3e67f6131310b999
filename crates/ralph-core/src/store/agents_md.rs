//! What AGENTS.md is made from, and what is remembered of each write of the file.

use std::collections::HashSet;

use rusqlite::{Connection, Params, named_params};

use super::learnings;
use super::sql::{Row, Statements, only};
use super::{Capture, Durability, Random, Result, Store};
use crate::memory::agents_md::{Entry, Known, LastWrite, PhaseEntries, Section};
use crate::memory::prompt::PhaseFailure;
use crate::model::{LearningId, NewLearning, Outcome, Phase, Source, TaskId, Timestamp};
use crate::text::neutral::inert_prose;
use crate::text::{cut_words, first_sentences};

/// Digests of the file are remembered for so many writes: years of them.
const MOST_WRITES: u32 = 100_000;
/// Failures kept of one phase; no more are ever shown.
const MOST_OF_A_PHASE: u32 = 100;
/// The longest error of an entry.
const ERROR_CHARS: usize = 500;
/// The most sentences on what was attempted.
const ATTEMPTED_SENTENCES: usize = 3;
/// What an entry without a fingerprint is recognized by.
const CAUSE_CHARS: usize = 200;

/// A write of the file that succeeded.
#[derive(Clone, Debug)]
pub struct ConfirmedWrite {
    pub branch: Option<String>,
    /// The digest of the whole file.
    pub digest: String,
    /// Learnings that are in it now, or in another section than before.
    pub added: Vec<(LearningId, Section)>,
    /// Learnings that are no longer in it.
    pub gone: Vec<LearningId>,
    /// Tasks whose failures are in it.
    pub names: Vec<String>,
}

impl Store {
    /// The failures of phases that are not over, by phase, oldest first and at most `cap` of each. Those of finished phases
    /// are forgotten, but for tasks that were skipped.
    pub fn failure_entries(&mut self, cap: u32) -> Result<Vec<PhaseEntries>> {
        if self.has_finished_failures()? {
            self.change(Durability::Process, &format!("DELETE {FINISHED}"), [])?;
        }
        self.read(|conn| entries(conn, cap))
    }

    /// Whether some of them are of phases that are over, and to be forgotten.
    pub fn has_finished_failures(&self) -> Result<bool> {
        // Most plans have no failures, and then the costly question is not asked.
        self.read(|conn| {
            Result::Ok(
                conn.has("SELECT 1 FROM failure_entries", [])?
                    && conn.has(&format!("SELECT 1 {FINISHED}"), [])?,
            )
        })
    }

    /// Failures of other tasks of a task's phase, newest first; none for a task without a phase.
    pub fn phase_failures(&self, task: &TaskId, most: u32) -> Result<Vec<PhaseFailure>> {
        let sql = "SELECT coalesce(t.key, t.id) AS name, e.at, r.why_it_failed
             FROM failure_entries e JOIN tasks t ON t.id = e.task_id
             JOIN failure_reports r ON r.task_id = e.task_id AND r.attempt_number = e.attempt_number
             WHERE e.task_id <> :task
                 AND t.whole_phase = (SELECT whole_phase FROM tasks WHERE id = :task)
             ORDER BY e.at DESC, e.task_id LIMIT :most";
        self.all(sql, named_params! { ":task": task, ":most": most }, |row| {
            Ok(PhaseFailure {
                key: row.text("name")?,
                time: to_the_second(row)?,
                error: row.text("why_it_failed")?,
            })
        })
    }

    /// Names under which Ralph ever wrote failures into the file: those entries are its own.
    pub fn written_names(&self, path: &str) -> Result<HashSet<String>> {
        let sql = "SELECT name FROM agents_md_names WHERE path = ?1";
        self.all(sql, [path], only)
    }

    /// Whether a task of this name has ever failed.
    pub fn has_failed(&self, name: &str) -> Result<bool> {
        let sql = "SELECT 1 FROM tasks t JOIN failure_reports r ON r.task_id = t.id
             WHERE t.key = ?1 OR t.id = ?1";
        self.read(|conn| conn.has(sql, [name]))
    }

    /// The learnings in use, oldest first.
    pub fn known_learnings(&self) -> Result<Vec<Known>> {
        self.known("pruned_at IS NULL AND superseded_by IS NULL", [], true)
    }

    /// Those that are not in use.
    pub fn archived_learnings(&self) -> Result<Vec<Known>> {
        self.known("pruned_at IS NOT NULL OR superseded_by IS NOT NULL", [], false)
    }

    fn known(&self, which: &str, params: impl Params, active: bool) -> Result<Vec<Known>> {
        let sql = format!("SELECT * FROM learnings WHERE {which} ORDER BY created_at, rowid");
        self.all(&sql, params, |row| known(row, active))
    }

    /// What the file held when it was last written, and whether it ever looked like this.
    pub fn last_write(&self, path: &str, digest: &str) -> Result<(Option<LastWrite>, bool)> {
        self.read_once(|conn| {
            let sql = "SELECT place, branch, digest FROM agents_md_writes WHERE path = ?1
                 ORDER BY place DESC LIMIT 1";
            let last: Option<(i64, LastWrite)> = conn.first(sql, [path], |row| {
                let write =
                    LastWrite { branch: row.get("branch")?, digest: row.get("digest")?, bullets: Vec::new() };
                Ok((row.get("place")?, write))
            })?;
            let Some((place, mut last)) = last else {
                return Ok((None, false));
            };
            let sql = "SELECT learning_id, section FROM agents_md_bullets WHERE path = ?1";
            let bullets: Vec<(LearningId, Option<Section>)> = conn.all(sql, [path], |row| {
                let section = |title: &str| Section::ALL.into_iter().find(|s| s.title() == title);
                Ok((row.get("learning_id")?, row.word("section", section)?))
            })?;
            let bullets = bullets.into_iter();
            last.bullets = bullets.filter_map(|(id, section)| Some((id, section?))).collect();
            let sql = "SELECT 1 FROM agents_md_writes
                 WHERE path = :path AND digest = :digest AND place < :place";
            let values = named_params! { ":path": path, ":digest": digest, ":place": place };
            Ok((Some(last), conn.has(sql, values)?))
        })
    }

    pub fn confirm_write(&mut self, path: &str, write: &ConfirmedWrite) -> Result<()> {
        self.write(Durability::Process, |tx| {
            let ConfirmedWrite { branch, digest, .. } = write;
            let values = named_params! { "path": path, "branch": branch, "digest": digest };
            tx.insert("agents_md_writes", values)?;
            tx.change(
                "DELETE FROM agents_md_writes WHERE path = :path AND place <= (
                     SELECT max(place) FROM agents_md_writes WHERE path = :path) - :most",
                named_params! { ":path": path, ":most": MOST_WRITES },
            )?;
            for (id, section) in &write.added {
                let values = named_params! { "path": path, "learning_id": id, "section": section.title() };
                tx.upsert("agents_md_bullets", &["path", "learning_id"], values)?;
            }
            for id in &write.gone {
                let sql = "DELETE FROM agents_md_bullets
                     WHERE path = :path AND learning_id = :id";
                tx.change(sql, named_params! { ":path": path, ":id": id })?;
            }
            for name in &write.names {
                tx.insert_new("agents_md_names", named_params! { "path": path, "name": name })?;
            }
            Ok(())
        })
    }

    /// Archives learnings that a person deleted from the file; no agent brings them back.
    pub fn delete_bullets(&mut self, ids: &[LearningId], now: Timestamp) -> Result<()> {
        self.write_indexed(|tx| {
            learnings::note_deleted(tx, ids)?;
            learnings::prune(tx, ids, now)
        })
    }

    /// Adds learnings that somebody wrote into the file.
    pub fn add_bullets(
        &mut self,
        bullets: &[NewLearning],
        source: Source,
        now: Timestamp,
        random: Random<'_>,
    ) -> Result<Vec<LearningId>> {
        self.write_indexed(|tx| learnings::add_all(tx, bullets, source, now, random))
    }
}

/// Keeps the failures that the file shows, with the attempt that makes one.
pub(super) fn note(tx: &Connection, capture: &Capture) -> Result<()> {
    if !capture.attempt.counted {
        return Ok(());
    }
    if capture.attempt.outcome == Outcome::Done {
        let sql = "UPDATE totals SET last_good = ?1 WHERE ?1 IS NOT NULL";
        tx.change(sql, [&capture.attempt.commit_after])?;
        return Ok(());
    }
    let Some(report) = &capture.report else {
        return Ok(());
    };
    let words = || report.why_it_failed.chars().take(CAUSE_CHARS).collect();
    let cause = capture.attempt.fingerprint_coarse.clone();
    let cause: String = cause.unwrap_or_else(words);
    tx.change(
        "INSERT INTO failure_entries (task_id, cause, times, attempt_number, at, last_good)
         VALUES (:task, :cause, 1, :number, :at, (SELECT last_good FROM totals))
         ON CONFLICT (task_id, cause) DO UPDATE SET times = times + 1,
             attempt_number = excluded.attempt_number, at = excluded.at,
             last_good = excluded.last_good",
        named_params! {
            ":task": capture.attempt.task_id, ":cause": cause, ":number": capture.attempt.attempt_number,
            ":at": capture.attempt.ended_at(),
        },
    )?;
    tx.change(
        "DELETE FROM failure_entries WHERE (task_id, cause) IN (
             SELECT e.task_id, e.cause FROM failure_entries e JOIN tasks t ON t.id = e.task_id
             WHERE t.whole_phase IS (SELECT whole_phase FROM tasks WHERE id = :task)
             ORDER BY e.at DESC, e.task_id LIMIT -1 OFFSET :most)",
        named_params! { ":task": capture.attempt.task_id, ":most": MOST_OF_A_PHASE },
    )?;
    Ok(())
}

/// Entries of tasks that were not skipped, in phases where nothing is left to do.
const FINISHED: &str = "FROM failure_entries WHERE task_id IN (
    SELECT t.id FROM failure_entries e JOIN tasks t ON t.id = e.task_id
    WHERE t.status <> 'skipped' AND NOT EXISTS (
        SELECT 1 FROM tasks o WHERE o.whole_phase IS t.whole_phase
            AND o.status NOT IN ('done', 'skipped')))";

fn entries(conn: &Connection, cap: u32) -> Result<Vec<PhaseEntries>> {
    let sql = "SELECT * FROM (
             SELECT coalesce(t.key, t.id) AS name, t.whole_phase, e.times, e.at, e.last_good,
                    r.why_it_failed, r.what_was_tried, r.relevant_files,
                    row_number() OVER (PARTITION BY t.whole_phase
                                       ORDER BY e.at DESC, e.task_id) AS newest
             FROM failure_entries e JOIN tasks t ON t.id = e.task_id
             JOIN failure_reports r
                 ON r.task_id = e.task_id AND r.attempt_number = e.attempt_number)
         WHERE newest <= ?1 ORDER BY whole_phase IS NULL, whole_phase, newest DESC";
    let found: Vec<(Option<Phase>, Entry)> =
        conn.all(sql, [cap], |row| Ok((row.get("whole_phase")?, entry(row)?)))?;
    let mut phases: Vec<PhaseEntries> = Vec::new();
    for (phase, entry) in found {
        let phase = phase.map(|phase| phase.to_string());
        match phases.last_mut().filter(|last| last.phase == phase) {
            Some(last) => last.entries.push(entry),
            None => phases.push(PhaseEntries { phase, entries: vec![entry] }),
        }
    }
    Ok(phases)
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let why = row.text("why_it_failed")?;
    // What Ralph adds about the gate belongs to the context.
    let error = why.split_once(" (the gate `").map_or(why.as_str(), |(error, _)| error);
    Ok(Entry {
        name: row.text("name")?,
        at: to_the_second(row)?,
        times: row.get("times")?,
        error: cut_words(error.trim(), ERROR_CHARS).into_owned(),
        context: why.trim().to_owned(),
        attempted: first_sentences(&row.text("what_was_tried")?, ATTEMPTED_SENTENCES).to_owned(),
        files: row.json("relevant_files")?,
        last_good: row.optional_text("last_good")?,
    })
}

/// `at` to the second, as people write it.
fn to_the_second(row: &Row<'_>) -> rusqlite::Result<String> {
    let time = row.text("at")?;
    Ok(time.get(..19).unwrap_or(&time).replace('T', " "))
}

fn known(row: &Row<'_>, active: bool) -> rusqlite::Result<Known> {
    let tags = row.text("relevance_tags")?;
    // Only a phase among them says where a learning belongs; most have none, and parsing takes time.
    let tags: Vec<String> = match tags.to_ascii_lowercase().contains("phase") {
        true => row.json("relevance_tags")?,
        false => Vec::new(),
    };
    let content = row.text("content")?;
    // What people wrote stands as they wrote it; agents' learnings may be older than their neutralizing.
    let content = match Source::from_stored(&row.text("source")?).is_person() {
        true => content,
        false => inert_prose(&content),
    };
    Ok(Known {
        put_away_at: row.get("pruned_at")?,
        ..Known::new(row.get("id")?, &row.text("category")?, &tags, &content, active)
    })
}
