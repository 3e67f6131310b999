//! What AGENTS.md is made from, and what is remembered of each write of the file.

use std::collections::HashSet;

use super::history::phase_label;
use super::learnings;
use super::sql::{Changes, Connection, FromRow, ReadResult, Row, Statements, bind, record};
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
const ERROR_CHARS: usize = 500;
const ATTEMPTED_SENTENCES: usize = 3;
/// What an entry without a fingerprint is recognized by.
const CAUSE_CHARS: usize = 200;

#[derive(Clone, Debug)]
pub struct ConfirmedWrite {
    pub branch: Option<String>,
    pub digest: String,
    /// Learnings that are in it now, or in another section than before.
    pub added: Vec<(LearningId, Section)>,
    pub gone: Vec<LearningId>,
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
        Ok(self.has("SELECT 1 FROM failure_entries", [])? && self.has(&format!("SELECT 1 {FINISHED}"), [])?)
    }

    /// Failures of other tasks of a task's phase, newest first; none for a task without a phase.
    pub fn phase_failures(&self, task: &TaskId, most: u32) -> Result<Vec<PhaseFailure>> {
        let sql = "SELECT t.name, e.at, r.why_it_failed
             FROM failure_entries e JOIN tasks t ON t.id = e.task_id
             JOIN failure_reports r ON r.task_id = e.task_id AND r.attempt_number = e.attempt_number
             WHERE e.task_id <> :task
                 AND t.whole_phase = (SELECT whole_phase FROM tasks WHERE id = :task)
                 AND t.source_id IS NOT DISTINCT FROM (SELECT source_id FROM tasks WHERE id = :task)
             ORDER BY e.at DESC, e.task_id LIMIT :most";
        self.all(sql, bind! { task, most })
    }

    /// Names under which Ralph ever wrote failures into the file: those entries are its own.
    pub fn written_names(&self, path: &str) -> Result<HashSet<String>> {
        let path = self.conn().local(path);
        self.all("SELECT name FROM agents_md_names WHERE path = ?1", [&*path])
    }

    pub fn has_failed(&self, name: &str) -> Result<bool> {
        let sql = "SELECT 1 FROM tasks t JOIN failure_reports r ON r.task_id = t.id
             WHERE t.key = ?1 OR t.id = ?1 OR t.name = ?1";
        self.has(sql, [name])
    }

    /// The learnings in use, oldest first.
    pub fn known_learnings(&self) -> Result<Vec<Known>> {
        self.all(&format!("{KNOWN} WHERE {ACTIVE} ORDER BY created_at, rowid"), [])
    }

    /// Those that are not in use.
    pub fn archived_learnings(&self) -> Result<Vec<Known>> {
        self.all(&format!("{KNOWN} WHERE NOT ({ACTIVE}) ORDER BY created_at, rowid"), [])
    }

    /// What the file held when it was last written, and whether it ever looked like this.
    pub fn last_write(&self, path: &str, digest: &str) -> Result<(Option<LastWrite>, bool)> {
        let path = &*self.conn().local(path);
        self.read_once(|conn| {
            let sql = "SELECT place, branch, digest FROM agents_md_writes WHERE path = ?1
                 ORDER BY place DESC LIMIT 1";
            let Some((place, branch, last_digest)) = conn.first::<(i64, _, _)>(sql, [path])? else {
                return Ok((None, false));
            };
            let sql = "SELECT learning_id, section FROM agents_md_bullets WHERE path = ?1";
            let bullets: Vec<(LearningId, String)> = conn.all(sql, [path])?;
            let section = |title: String| Section::ALL.into_iter().find(|s| s.title() == title);
            let bullets = bullets.into_iter().filter_map(|(id, title)| Some((id, section(title)?)));
            let last = LastWrite { branch, digest: last_digest, bullets: bullets.collect() };
            let sql = "SELECT 1 FROM agents_md_writes
                 WHERE path = :path AND digest = :digest AND place < :place";
            let values = bind! { path, digest, place };
            Ok((Some(last), conn.has(sql, values)?))
        })
    }

    pub fn confirm_write(&mut self, path: &str, write: &ConfirmedWrite) -> Result<()> {
        self.write(Durability::Process, |tx| {
            let path = &*tx.local(path);
            let ConfirmedWrite { branch, digest, .. } = write;
            let values = bind! { path, branch, digest };
            tx.insert("agents_md_writes", values)?;
            tx.change(
                "DELETE FROM agents_md_writes WHERE path = :path AND place <= (
                     SELECT max(place) FROM agents_md_writes WHERE path = :path) - :most",
                bind! { path, most: MOST_WRITES },
            )?;
            for (id, section) in &write.added {
                let values = bind! { path, learning_id: id, section: section.title() };
                tx.upsert("agents_md_bullets", &["path", "learning_id"], values)?;
            }
            for id in &write.gone {
                let sql = "DELETE FROM agents_md_bullets
                     WHERE path = :path AND learning_id = :id";
                tx.change(sql, bind! { path, id })?;
            }
            for name in &write.names {
                tx.insert_new("agents_md_names", bind! { path, name })?;
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
        tx.change(
            "UPDATE totals SET last_good = ?1 WHERE CAST(?1 AS TEXT) IS NOT NULL",
            [&capture.attempt.commit_after],
        )?;
        return Ok(());
    }
    let Some(report) = &capture.report else { return Ok(()) };
    let words = || report.why_it_failed.chars().take(CAUSE_CHARS).collect();
    let cause = capture.attempt.fingerprint_coarse.clone();
    let cause: String = cause.unwrap_or_else(words);
    tx.change(
        "INSERT INTO failure_entries (task_id, cause, times, attempt_number, at, last_good)
         VALUES (:task, :cause, 1, :number, :at, (SELECT last_good FROM totals))
         ON CONFLICT (task_id, cause) DO UPDATE SET times = failure_entries.times + 1,
             attempt_number = excluded.attempt_number, at = excluded.at,
             last_good = excluded.last_good",
        bind! {
            task: capture.attempt.task_id, cause, number: capture.attempt.attempt_number,
            at: capture.attempt.ended_at(),
        },
    )?;
    tx.change(
        "DELETE FROM failure_entries WHERE (task_id, cause) IN (
             SELECT e.task_id, e.cause FROM failure_entries e JOIN tasks t ON t.id = e.task_id
             WHERE t.whole_phase IS NOT DISTINCT FROM (SELECT whole_phase FROM tasks WHERE id = :task)
                 AND t.source_id IS NOT DISTINCT FROM (SELECT source_id FROM tasks WHERE id = :task)
             ORDER BY e.at DESC, e.task_id LIMIT 9223372036854775807 OFFSET :most)",
        bind! { task: capture.attempt.task_id, most: MOST_OF_A_PHASE },
    )
}

/// Entries of tasks that were not skipped, in phases where nothing is left to do.
const FINISHED: &str = "FROM failure_entries WHERE task_id IN (
    SELECT t.id FROM failure_entries e JOIN tasks t ON t.id = e.task_id
    WHERE t.status <> 'skipped' AND NOT EXISTS (
        SELECT 1 FROM tasks o WHERE o.whole_phase IS NOT DISTINCT FROM t.whole_phase
            AND o.source_id IS NOT DISTINCT FROM t.source_id AND o.status NOT IN ('done', 'skipped')))";

fn entries(conn: &Connection, cap: u32) -> Result<Vec<PhaseEntries>> {
    let sql = "SELECT * FROM (
             SELECT t.whole_phase, t.source_id, t.spec, t.spec_shown, t.name, e.times, e.at, e.last_good,
                    r.why_it_failed, r.what_was_tried, r.relevant_files,
                    row_number() OVER (PARTITION BY t.whole_phase, t.source_id
                                       ORDER BY e.at DESC, e.task_id) AS newest
             FROM failure_entries e JOIN tasks t ON t.id = e.task_id
             JOIN failure_reports r
                 ON r.task_id = e.task_id AND r.attempt_number = e.attempt_number) AS entries
         WHERE newest <= ?1 ORDER BY whole_phase IS NULL, whole_phase, source_id NULLS FIRST, newest DESC";
    let found: Vec<(PhaseOf, Entry)> = conn.all(sql, [cap])?;
    let mut phases: Vec<PhaseEntries> = Vec::new();
    for (PhaseOf(phase), entry) in found {
        match phases.last_mut().filter(|last| last.phase == phase) {
            Some(last) => last.entries.push(entry),
            None => phases.push(PhaseEntries { phase, entries: vec![entry] }),
        }
    }
    Ok(phases)
}

/// The phase that an entry stands under.
struct PhaseOf(Option<String>);

impl FromRow for PhaseOf {
    fn from_row(row: &Row<'_>) -> ReadResult<Self> {
        let phase: Option<Phase> = row.get("whole_phase")?;
        phase.map(|phase| phase_label(phase, row)).transpose().map(Self)
    }
}

impl FromRow for Entry {
    fn from_row(row: &Row<'_>) -> ReadResult<Self> {
        let why: String = row.get("why_it_failed")?;
        // What Ralph adds about the gate belongs to the context.
        let error = why.split_once(" (the gate `").map_or(why.as_str(), |(error, _)| error);
        Ok(Self {
            name: row.get("name")?,
            at: to_the_second(row, "at")?,
            times: row.get("times")?,
            error: cut_words(error.trim(), ERROR_CHARS).into_owned(),
            context: why.trim().to_owned(),
            attempted: first_sentences(&row.get::<String>("what_was_tried")?, ATTEMPTED_SENTENCES).to_owned(),
            files: row.get("relevant_files")?,
            last_good: row.get("last_good")?,
        })
    }
}

record!(PhaseFailure { key = "name", time = "at" via to_the_second, error = "why_it_failed" });

fn to_the_second(row: &Row<'_>, name: &str) -> ReadResult<String> {
    let time: String = row.get(name)?;
    Ok(time.get(..19).unwrap_or(&time).replace('T', " "))
}

const ACTIVE: &str = "pruned_at IS NULL AND superseded_by IS NULL";
const KNOWN: &str = "SELECT *, pruned_at IS NULL AND superseded_by IS NULL AS active FROM learnings";

impl FromRow for Known {
    fn from_row(row: &Row<'_>) -> ReadResult<Self> {
        let (category, content): (String, String) = (row.get("category")?, row.get("content")?);
        // Only a phase among its tags says where a learning belongs; most have none, and parsing takes time.
        let tags: Vec<String> =
            match row.get::<String>("relevance_tags")?.to_ascii_lowercase().contains("phase") {
                true => row.get("relevance_tags")?,
                false => Vec::new(),
            };
        // What people wrote stands as they wrote it; agents' learnings may be older than their neutralizing.
        let content = if row.get::<Source>("source")?.is_person() { content } else { inert_prose(&content) };
        let known = Self::new(row.get("id")?, &category, &tags, &content, row.get("active")?);
        Ok(Self { archived_at: row.get("pruned_at")?, ..known })
    }
}
