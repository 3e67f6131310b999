//! What an attempt learnt goes in. What nearly repeats an active learning is joined with it: one stays active and has
//! the counters of both.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension};

use super::change::{Origin, insert, supersede};
use super::{find, index};
use crate::model::{Learning, NewLearning, Source, TaskId, Timestamp};
use crate::recall::dedupe::{WordSet, probe_tokens};
use crate::recall::upkeep::Merge;
use crate::store::Random;

/// Stores what was learnt.
pub(in super::super) fn learn(
    tx: &Connection,
    learnings: &[NewLearning],
    task: &TaskId,
    now: Timestamp,
    random: Random<'_>,
) -> rusqlite::Result<()> {
    for new in learnings {
        let origin = Origin {
            task: Some(task),
            source: Source::Agent,
            created_at: now,
        };
        let like = near_duplicates(tx, new)?;
        // The index is needed for the next one's near-duplicates, too.
        store(tx, new, &origin, &like, random)?;
        index::sync(tx)?;
    }
    Ok(())
}

fn store(
    tx: &Connection,
    new: &NewLearning,
    origin: &Origin<'_>,
    like: &[Learning],
    random: Random<'_>,
) -> rusqlite::Result<()> {
    // A person's own words are not replaced by an agent's.
    let kept = like
        .iter()
        .find(|old| old.pinned || old.source == Source::Human);
    if let Some(kept) = kept {
        let id = insert(tx, new, origin, random)?;
        tx.prepare_cached("UPDATE learnings SET superseded_by = ?2 WHERE id = ?1")?
            .execute([id.as_str(), kept.id.as_str()])?;
        return Ok(());
    }
    let mut joined = new.clone();
    joined.tags =
        Merge::tags_of(std::iter::once(&new.tags).chain(like.iter().map(|old| &old.tags)));
    let id = insert(tx, &joined, origin, random)?;
    if !like.is_empty() {
        supersede(tx, &id, &like.iter().collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Active learnings that `new` nearly repeats, those indexed last first.
fn near_duplicates(tx: &Connection, new: &NewLearning) -> rusqlite::Result<Vec<Learning>> {
    let words = WordSet::new(&new.content);
    let mut like = Vec::new();
    for id in suspects(tx, new)? {
        if let Some(old) = find(tx, &id)?
            && old.category == new.category
            && words.nearly_equals(&WordSet::new(&old.content))
        {
            like.push(old);
        }
    }
    Ok(like)
}

fn suspects(tx: &Connection, new: &NewLearning) -> rusqlite::Result<Vec<String>> {
    let failed = std::cell::Cell::new(None);
    let probes = probe_tokens(&new.content, |token| {
        index::term_count(tx, token).unwrap_or_else(|error| {
            failed.set(Some(error));
            0
        })
    });
    if let Some(error) = failed.into_inner() {
        return Err(error);
    }
    let Some(probes) = probes else {
        return of_category(tx, &new.category);
    };
    let mut docs = BTreeSet::new();
    for token in probes {
        docs.extend(index::postings(tx, &token, u64::from(u32::MAX))?);
    }
    let mut ids = Vec::new();
    for doc in docs.into_iter().rev() {
        ids.extend(
            tx.prepare_cached("SELECT learning_id FROM learning_docs WHERE doc = ?1")?
                .query_row([doc], |row| row.get::<_, String>(0))
                .optional()?,
        );
    }
    Ok(ids)
}

/// For texts that are all stop words or signs, which the index does not know.
fn of_category(tx: &Connection, category: &str) -> rusqlite::Result<Vec<String>> {
    tx.prepare_cached(
        "SELECT id FROM learnings
         WHERE category = ?1 AND pruned_at IS NULL AND superseded_by IS NULL AND length(content) < 200
         ORDER BY created_at DESC, id",
    )?
    .query_map([category], |row| row.get(0))?
    .collect()
}
