//! Learnings in SQLite.

mod change;
mod credit;
pub(super) mod deleted;
pub(super) mod index;
mod join;
mod restore;

pub(super) use credit::credit;
pub(super) use join::learn;

use std::collections::{BTreeMap, HashSet};

use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};

use super::{Durability, SqliteStore, rows};
use crate::model::{
    Key, Learning, LearningId, LearningState, NewLearning, Record, Source, TaskId, Timestamp,
};
use crate::recall::upkeep::{Merge, UpkeepPolicy, is_stale};
use crate::recall::weights::LOOKUP_BUDGET;
use crate::recall::{Candidate, Corpus, Lookup, Term, shortlist};
use crate::store::{
    Imported, ImportedLearning, LearningCounts, LearningEdit, LearningFilter, LearningStore,
    Merged, Random, Restored, Result, StoreError,
};

const LEARNING: &str =
    "SELECT l.id, l.category, l.title, l.content, l.relevance_tags, l.created_at,
    l.task_id, t.key, l.source, l.pinned, l.shown, l.last_used_at, l.helpful, l.harmful, l.judged,
    l.expected, l.pruned_at, l.superseded_by, l.restored_at, l.repeats
    FROM learnings l LEFT JOIN tasks t ON t.id = l.task_id";

/// Puts active learnings away.
pub(super) fn prune(
    tx: &Connection,
    ids: &[LearningId],
    now: Timestamp,
) -> std::result::Result<(), super::Refusal> {
    for id in ids {
        change::active(tx, id)?;
        change::put_away(tx, id, now)?;
    }
    Ok(index::sync(tx)?)
}

/// Adds learnings that come from no attempt, and indexes them.
pub(super) fn add_all(
    tx: &Connection,
    learnings: &[NewLearning],
    source: Source,
    now: Timestamp,
    random: Random<'_>,
) -> std::result::Result<Vec<LearningId>, super::Refusal> {
    let origin = change::Origin {
        task: None,
        source,
        created_at: now,
    };
    let mut ids = Vec::new();
    for learning in learnings {
        ids.push(change::insert(tx, learning, &origin, random)?);
    }
    index::sync(tx)?;
    Ok(ids)
}

impl LearningStore for SqliteStore {
    fn learning(&self, id: &str) -> Result<Learning> {
        self.read(|conn| find(conn, id))?
            .ok_or_else(|| StoreError::UnknownLearning(id.to_owned()))
    }

    fn learnings(&self, filter: &LearningFilter) -> Result<Vec<Learning>> {
        let mut conditions: Vec<String> = Vec::new();
        let mut values: Vec<Box<dyn ToSql>> = Vec::new();
        let mut with = |condition: &str, value: Box<dyn ToSql>| {
            values.push(value);
            conditions.push(condition.replace('?', &format!("?{}", values.len())));
        };
        if let Some(category) = &filter.category {
            with("l.category = ?", Box::new(category.clone()));
        }
        if let Some(task) = &filter.task {
            with("l.task_id = ?", Box::new(task.to_string()));
        }
        if let Some(source) = filter.source {
            with("l.source = ?", Box::new(source.as_str()));
        }
        if let Some(successor) = &filter.superseded_by {
            with("l.superseded_by = ?", Box::new(successor.to_string()));
        }
        if let Some(since) = filter.since {
            with("l.created_at >= ?", Box::new(since.to_string()));
        }
        if let Some(before) = filter.before {
            with("l.created_at < ?", Box::new(before.to_string()));
        }
        if filter.pinned {
            conditions.push("l.pinned = 1".to_owned());
        }
        conditions.extend(filter.state.map(|state| state_condition(state).to_owned()));
        let wanted = if conditions.is_empty() {
            "1".to_owned()
        } else {
            conditions.join(" AND ")
        };
        let sql = format!("{LEARNING} WHERE {wanted} ORDER BY l.created_at DESC, l.id");
        let mut found: Vec<Learning> = self.read(|conn| {
            conn.prepare(&sql)?
                .query_map(rusqlite::params_from_iter(values), learning)?
                .collect()
        })?;
        if let Some(tag) = &filter.tag {
            // Not in SQL, whose lower() knows ASCII only.
            let tag = tag.trim().to_lowercase();
            found.retain(|learning| learning.tags.iter().any(|own| own.to_lowercase() == tag));
        }
        Ok(found)
    }

    fn learning_counts(&self) -> Result<LearningCounts> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT documents, (SELECT count(*) FROM learning_docs WHERE doc > merged_up_to),
                        (SELECT coalesce(max(doc), 0) FROM learning_docs)
                 FROM learning_corpus",
            )?
            .query_row([], |row| {
                Ok(LearningCounts {
                    active: rows::count(row, 0)?,
                    unmerged: rows::count(row, 1)?,
                    newest: rows::count(row, 2)?,
                })
            })
        })
    }

    fn unmerged_learnings(&self) -> Result<Vec<Learning>> {
        self.read_once(|conn| {
            let new: Vec<Learning> = conn
                .prepare_cached(&format!(
                    "{LEARNING} JOIN learning_docs d ON d.learning_id = l.id
                     WHERE d.doc > (SELECT merged_up_to FROM learning_corpus) ORDER BY d.doc"
                ))?
                .query_map([], learning)?
                .collect::<rusqlite::Result<_>>()?;
            let mut all: BTreeMap<LearningId, Learning> = BTreeMap::new();
            for one in new {
                for like in join::near_duplicates(conn, &one.category, &one.content)? {
                    all.insert(like.id.clone(), like);
                }
                all.insert(one.id.clone(), one);
            }
            Ok(all.into_values().collect())
        })
    }

    fn corpus(&self, terms: &[Term]) -> Result<Corpus> {
        self.read_once(|conn| {
            let mut corpus = Corpus {
                documents: index::documents(conn)?,
                ..Corpus::default()
            };
            if corpus.documents == 0 {
                return Ok(corpus);
            }
            for term in terms {
                let df = index::term_count(conn, &term.text)?;
                if df > 0 {
                    corpus.df.insert(term.text.clone(), df);
                }
            }
            Ok(corpus)
        })
    }

    fn candidates(
        &self,
        lookup: &[Lookup],
        before: Option<Timestamp>,
        most: usize,
        corpus: &mut Corpus,
    ) -> Result<Vec<Candidate>> {
        self.read_once(|conn| {
            // With a time limit most of what is found may be too new, so nothing is cut off.
            let deepest = if before.is_some() {
                u64::from(u32::MAX)
            } else {
                LOOKUP_BUDGET
            };
            let mut found = Vec::new();
            for term in lookup {
                found.push((term.worth, index::postings(conn, &term.text, deepest)?));
            }
            let mut candidates = Vec::new();
            for doc in shortlist(&found) {
                if candidates.len() >= most {
                    break;
                }
                candidates.extend(candidate(conn, doc, before)?);
            }
            let tags: HashSet<String> = candidates
                .iter()
                .flat_map(|candidate| &candidate.tags)
                .map(|tag| tag.trim().to_lowercase())
                .collect();
            for tag in tags {
                let count = index::tag_count(conn, &tag)?;
                corpus.tag_df.insert(tag, count);
            }
            Ok(candidates)
        })
    }

    fn add_learning(
        &mut self,
        new: &NewLearning,
        source: Source,
        now: Timestamp,
        random: Random<'_>,
    ) -> Result<LearningId> {
        let ids = self.write(Durability::Power, |tx| {
            add_all(tx, std::slice::from_ref(new), source, now, random)
        })?;
        // One in, one out.
        ids.into_iter()
            .next()
            .ok_or_else(|| StoreError::UnknownLearning(String::new()))
    }

    fn import_learnings(
        &mut self,
        learnings: &[ImportedLearning],
        now: Timestamp,
        random: Random<'_>,
    ) -> Result<Imported> {
        self.write(Durability::Power, |tx| {
            let imported = change::import(tx, learnings, now, random)?;
            index::sync(tx)?;
            Ok(imported)
        })
    }

    fn edit_learning(
        &mut self,
        id: &LearningId,
        edit: &LearningEdit,
        now: Timestamp,
        random: Random<'_>,
    ) -> Result<LearningId> {
        self.write(Durability::Power, |tx| {
            let id = change::edit(tx, id, edit, now, random)?;
            index::sync(tx)?;
            Ok(id)
        })
    }

    fn pin_learning(&mut self, id: &LearningId, pinned: bool) -> Result<()> {
        self.write(Durability::Power, |tx| {
            if pinned {
                change::active(tx, id)?;
            }
            let changed = tx.execute(
                "UPDATE learnings SET pinned = ?2 WHERE id = ?1",
                params![id.as_str(), pinned],
            )?;
            if changed == 0 {
                return Err(StoreError::UnknownLearning(id.to_string()).into());
            }
            Ok(())
        })
    }

    fn prune_learnings(&mut self, ids: &[LearningId], now: Timestamp) -> Result<()> {
        self.write(Durability::Power, |tx| prune(tx, ids, now))
    }

    fn prune_stale(&mut self, policy: &UpkeepPolicy, now: Timestamp) -> Result<Vec<LearningId>> {
        let old = LearningFilter {
            before: Some(policy.old_before(now)),
            ..LearningFilter::active()
        };
        let suspects = self.learnings(&old)?;
        if !suspects
            .iter()
            .any(|learning| is_stale(learning, now, policy))
        {
            return Ok(Vec::new());
        }
        self.write(Durability::Power, |tx| {
            let mut pruned = Vec::new();
            for suspect in &suspects {
                // Looked at again inside the lock: it may have been used or pinned meanwhile.
                if let Some(learning) = find(tx, suspect.id.as_str())?
                    && is_stale(&learning, now, policy)
                {
                    change::put_away(tx, &learning.id, now)?;
                    pruned.push(learning.id);
                }
            }
            index::sync(tx)?;
            Ok(pruned)
        })
    }

    fn restore_learnings(&mut self, ids: &[LearningId], now: Timestamp) -> Result<Restored> {
        self.write(Durability::Power, |tx| {
            let restored = restore::restore(tx, ids, now)?;
            index::sync(tx)?;
            Ok(restored)
        })
    }

    fn merge_learnings(&mut self, merges: &[Merge], random: Random<'_>) -> Result<Vec<Merged>> {
        self.write(Durability::Power, |tx| {
            let mut merged = Vec::new();
            for merge in merges {
                merged.extend(change::merge(tx, merge, random)?);
            }
            index::sync(tx)?;
            Ok(merged)
        })
    }

    fn note_batch(&mut self, learnings: &[LearningId], random: Random<'_>) -> Result<String> {
        self.write(Durability::Process, |tx| {
            let batch = format!("m-{:08x}", random() as u32);
            for id in learnings {
                tx.prepare_cached(
                    "INSERT OR IGNORE INTO learning_batches (batch, learning_id) VALUES (?1, ?2)",
                )?
                .execute([&batch, id.as_str()])?;
            }
            Ok(batch)
        })
    }

    fn batch(&self, name: &str) -> Result<Vec<LearningId>> {
        self.read_once(|conn| {
            let of_batch = conn
                .prepare_cached(
                    "SELECT learning_id FROM learning_batches WHERE batch = ?1
                         OR batch = (SELECT max(batch) FROM learning_batches WHERE learning_id = ?1)
                     ORDER BY learning_id",
                )?
                .query_map([name], |row| {
                    Ok(LearningId::from_stored(rows::text(row, 0)?))
                })?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            if of_batch.is_empty() && restore::is_merged(conn, name)? {
                return Ok(vec![LearningId::from_stored(name)]);
            }
            Ok(of_batch)
        })
    }

    fn note_merged(&mut self, newest: u64) -> Result<()> {
        self.write(Durability::Process, |tx| {
            tx.execute("UPDATE learning_corpus SET merged_up_to = ?1", [newest])?;
            Ok(())
        })
    }
}

fn state_condition(state: LearningState) -> &'static str {
    match state {
        LearningState::Active => "l.pruned_at IS NULL AND l.superseded_by IS NULL",
        LearningState::Pruned => "l.pruned_at IS NOT NULL AND l.superseded_by IS NULL",
        LearningState::Superseded => "l.superseded_by IS NOT NULL",
    }
}

fn find(conn: &Connection, id: &str) -> rusqlite::Result<Option<Learning>> {
    conn.prepare_cached(&format!("{LEARNING} WHERE l.id = ?1"))?
        .query_row([id], learning)
        .optional()
}

fn learning(row: &Row<'_>) -> rusqlite::Result<Learning> {
    let pruned_at = rows::optional_time(row, 16)?;
    let superseded_by = rows::optional_text(row, 17)?.map(LearningId::from_stored);
    let state = match (&superseded_by, pruned_at) {
        (Some(_), _) => LearningState::Superseded,
        (None, Some(_)) => LearningState::Pruned,
        (None, None) => LearningState::Active,
    };
    Ok(Learning {
        id: LearningId::from_stored(rows::text(row, 0)?),
        category: rows::text(row, 1)?,
        title: rows::optional_text(row, 2)?,
        content: rows::text(row, 3)?,
        tags: rows::json_list(&rows::text(row, 4)?),
        created_at: rows::lenient_time(row, 5)?,
        state,
        task_id: rows::optional_text(row, 6)?.map(TaskId::from_stored),
        task_key: rows::optional_text(row, 7)?.map(Key::from_stored),
        source: Source::from_stored(&rows::text(row, 8)?),
        pinned: rows::count(row, 9)? > 0,
        shown: rows::count(row, 10)?,
        last_used_at: rows::optional_time(row, 11)?,
        record: record(row, 12)?,
        pruned_at,
        superseded_by,
        restored_at: rows::optional_time(row, 18)?,
        repeats: rows::count(row, 19)? > 0,
    })
}

/// `helpful, harmful, judged, expected` from a column on.
fn record(row: &Row<'_>, column: usize) -> rusqlite::Result<Record> {
    Ok(Record {
        helpful: rows::count(row, column)?,
        harmful: rows::count(row, column + 1)?,
        judged: rows::count(row, column + 2)?,
        expected: rows::number(row, column + 3)?,
    })
}

/// An indexed learning, unless it is too new, or no longer active though the index does not know it yet.
fn candidate(
    conn: &Connection,
    doc: i64,
    before: Option<Timestamp>,
) -> rusqlite::Result<Option<Candidate>> {
    let found = conn
        .prepare_cached(
            "SELECT l.id, l.category, l.title, l.content, l.relevance_tags, l.created_at, l.pinned,
                    l.helpful, l.harmful, l.judged, l.expected
             FROM learning_docs d JOIN learnings l ON l.id = d.learning_id
             WHERE d.doc = ?1 AND l.pruned_at IS NULL AND l.superseded_by IS NULL",
        )?
        .query_row([doc], |row| {
            Ok(Candidate {
                id: rows::text(row, 0)?,
                category: rows::text(row, 1)?,
                title: rows::text(row, 2)?,
                content: rows::text(row, 3)?,
                tags: rows::json_list(&rows::text(row, 4)?),
                created_at_ms: rows::lenient_time(row, 5)?.as_millis(),
                pinned: rows::count(row, 6)? > 0,
                record: record(row, 7)?,
            })
        })
        .optional()?;
    let early = |c: &Candidate| before.is_none_or(|before| c.created_at_ms < before.as_millis());
    Ok(found.filter(early))
}
