//! What an attempt learnt goes in. What nearly repeats an active learning is joined with it: one stays active and has
//! the counters of both.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};

use super::super::rows;
use super::change::{Origin, insert, put_away, supersede};
use super::{deleted, find, index};
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
        if deleted::contains(tx, &new.content)? {
            let id = insert(tx, new, &origin, random)?;
            put_away(tx, &id, now)?;
            continue;
        }
        let like = near_duplicates(tx, &new.category, &new.content)?;
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
    // What a person chose is not replaced by an agent's words, and what is newer not by an answer found late.
    let stays = |old: &&Learning| old.is_chosen_by_a_person() || old.created_at > origin.created_at;
    if let Some(kept) = like.iter().find(stays) {
        let id = insert(tx, new, origin, random)?;
        tx.prepare_cached("UPDATE learnings SET superseded_by = ?2, repeats = 1 WHERE id = ?1")?
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

/// Active learnings of a category that nearly repeat a text, those indexed last first.
pub(super) fn near_duplicates(
    tx: &Connection,
    category: &str,
    content: &str,
) -> rusqlite::Result<Vec<Learning>> {
    let words = WordSet::new(content);
    let mut like = Vec::new();
    for id in suspects(tx, category, content)? {
        if let Some(old) = find(tx, &id)?
            && words.nearly_equals(&WordSet::new(&old.content))
        {
            like.push(old);
        }
    }
    Ok(like)
}

/// Active learnings of a category that have one of the words a near-duplicate must have.
fn suspects(tx: &Connection, category: &str, content: &str) -> rusqlite::Result<Vec<String>> {
    let failed = std::cell::Cell::new(None);
    let probes = probe_tokens(content, |token| {
        index::term_count(tx, token).unwrap_or_else(|error| {
            failed.set(Some(error));
            0
        })
    });
    if let Some(error) = failed.into_inner() {
        return Err(error);
    }
    let Some(probes) = probes else {
        return of_category(tx, category);
    };
    let mut docs = BTreeSet::new();
    for token in probes {
        docs.extend(index::postings(tx, &token, u64::from(u32::MAX))?);
    }
    let mut ids = Vec::new();
    for doc in docs.into_iter().rev() {
        ids.extend(
            tx.prepare_cached(
                "SELECT l.id FROM learning_docs d JOIN learnings l ON l.id = d.learning_id
                 WHERE d.doc = ?1 AND l.category = ?2",
            )?
            .query_row(params![doc, category], |row| rows::text(row, 0))
            .optional()?,
        );
    }
    Ok(ids)
}

/// For texts that are all stop words or signs, which the index does not know.
fn of_category(tx: &Connection, category: &str) -> rusqlite::Result<Vec<String>> {
    tx.prepare_cached(
        "SELECT id FROM learnings
         WHERE category = ?1 AND pruned_at IS NULL AND superseded_by IS NULL
         ORDER BY created_at DESC, id",
    )?
    .query_map([category], |row| rows::text(row, 0))?
    .collect()
}
