//! What attempts do to learnings: the ones that were shown are judged by how the attempt ended, and new ones go in. What
//! nearly repeats an active learning is joined with it: one stays active and has the counters of both.

use std::cell::Cell;
use std::collections::BTreeSet;

use super::change::{Origin, archive, insert, is_deleted, supersede};
use super::{find, index};
use crate::memory::recall::duplicates::{WordSet, probe_tokens};
use crate::memory::recall::upkeep::Merge;
use crate::memory::recall::upkeep::{Tally, base_rate, kind_of_attempt};
use crate::model::{FailureClass, Learning, LearningId, NewLearning, Outcome, Source, TaskId, Timestamp};
use crate::store::sql::{Changes, Connection, Json, Statements, bind};
use crate::store::{Capture, Random, Result};

/// Notes which learnings an attempt was shown; one that counts also judges them, once per task: its latest word stands.
/// `rates` are those of [`rates`] before the attempt.
pub(in super::super) fn credit(tx: &Connection, capture: &Capture, mut rates: Vec<(u64, u64)>) -> Result<()> {
    let attempt = &capture.attempt;
    let counted_before = attempt.attempt.saturating_sub(1);
    let kind = kind_of_attempt(counted_before);
    rates.resize(rates.len().max(kind + 1), (0, 0));
    let (attempts, successes) = rates.get(kind).copied().unwrap_or_default();
    let expected = base_rate(counted_before, Tally { attempts, done: successes });
    let done = attempt.outcome == Outcome::Done;
    // That Ralph died says nothing about what the agent was told, and a parent's own gate asked no agent.
    // Neither does what others landed meanwhile.
    let lost = attempt
        .error_type
        .as_ref()
        .is_some_and(|error| matches!(error.class(), FailureClass::Lost | FailureClass::Landing));
    let judges = attempt.counted && !capture.own_work && !lost;
    for (place, id) in attempt.learnings_shown.iter().enumerate() {
        let noted = tx.changed(
            "INSERT INTO learning_uses (task_id, attempt_number, place, learning_id)
             SELECT :task, :number, :place, id FROM learnings WHERE id = :id",
            bind! { task: attempt.task_id, number: attempt.attempt_number, place, id },
        )?;
        // Somebody may have deleted it meanwhile, or replaced it.
        let Some(heir) = heir(tx, id)?.filter(|_| noted > 0) else { continue };
        tx.change(
            "UPDATE learnings SET shown = shown + 1,
                 last_used_at = max(coalesce(last_used_at, ''), :now) WHERE id = :id",
            bind! { id: heir, now: attempt.ended_at() },
        )?;
        if judges {
            credit_one(tx, &heir, &attempt.task_id, done, expected)?;
        }
    }
    if let Some(rate) = rates.get_mut(kind).filter(|_| judges) {
        *rate = (attempts + 1, successes + u64::from(done));
        tx.change("UPDATE totals SET base_rates = ?1", [Json(&rates)])?;
    }
    Ok(())
}

/// How many attempts of each kind there were, and how many of them succeeded.
pub(in super::super) fn rates(tx: &Connection) -> Result<Vec<(u64, u64)>> {
    tx.one("SELECT base_rates FROM totals", [])
}

/// Who answers for a learning now: itself, or what replaced it.
fn heir(tx: &Connection, id: &str) -> Result<Option<LearningId>> {
    let sql = "WITH RECURSIVE line (id, next, steps) AS (
             SELECT id, superseded_by, 0 FROM learnings WHERE id = ?1
             UNION ALL
             SELECT l.id, l.superseded_by, steps + 1 FROM line JOIN learnings l ON l.id = line.next
             WHERE steps < 100)
         SELECT id FROM line ORDER BY steps DESC LIMIT 1";
    tx.first(sql, [id])
}

fn credit_one(
    tx: &Connection,
    learning: &LearningId,
    task: &TaskId,
    done: bool,
    expected: f64,
) -> Result<()> {
    let sql = "SELECT helpful, expected FROM learning_verdicts
         WHERE learning_id = :learning AND task_id = :task";
    let values = bind! { learning, task };
    let before: Option<(bool, f64)> = tx.first(sql, values)?;
    let verdict = bind! { learning_id: learning, task_id: task, helpful: done, expected };
    tx.upsert("learning_verdicts", &["learning_id", "task_id"], verdict)?;
    let (helped, hurt, of_before) = match before {
        Some((true, of_before)) => (-1, 0, of_before),
        Some((false, of_before)) => (0, -1, of_before),
        None => (0, 0, 0.0),
    };
    tx.change(
        "UPDATE learnings SET helpful = max(0, helpful + :helped),
             harmful = max(0, harmful + :hurt), judged = judged + :judged,
             expected = max(0, expected + :expected)
         WHERE id = :id",
        bind! {
            id: learning, helped: i64::from(done) + helped, hurt: i64::from(!done) + hurt,
            judged: before.is_none(), expected: expected - of_before,
        },
    )
}

pub(in super::super) fn learn(
    tx: &Connection,
    learnings: &[NewLearning],
    task: &TaskId,
    now: Timestamp,
    random: Random<'_>,
) -> Result<()> {
    let origin = Origin { task: Some(task), source: Source::Agent, created_at: now };
    for new in learnings {
        if is_deleted(tx, &new.content)? {
            let id = insert(tx, new, &origin, random)?;
            archive(tx, &id, now)?;
            continue;
        }
        join(tx, new, &origin, random)?;
        // The next one's near-duplicates are looked up in the index, too.
        index::sync(tx)?;
    }
    Ok(())
}

fn join(tx: &Connection, new: &NewLearning, origin: &Origin<'_>, random: Random<'_>) -> Result<()> {
    let like = near_duplicates(tx, &new.category, &new.content)?;
    // What a person chose is not replaced by an agent's words, and what is newer not by an answer found late.
    let stays = |old: &&Learning| old.is_chosen_by_a_person() || old.created_at > origin.created_at;
    if let Some(kept) = like.iter().find(stays) {
        let id = insert(tx, new, origin, random)?;
        let sql = "UPDATE learnings SET superseded_by = :kept, repeats = 1 WHERE id = :id";
        tx.change(sql, bind! { id, kept: kept.id })?;
        return Ok(());
    }
    let tags = std::iter::once(&new.tags).chain(like.iter().map(|old| &old.tags));
    let joined = NewLearning { tags: Merge::tags_of(tags), ..new.clone() };
    let id = insert(tx, &joined, origin, random)?;
    if like.is_empty() { Ok(()) } else { supersede(tx, &id, &like) }
}

/// Active learnings of a category that nearly repeat a text, those indexed last first.
pub(super) fn near_duplicates(tx: &Connection, category: &str, content: &str) -> Result<Vec<Learning>> {
    let words = WordSet::new(content);
    let mut like = Vec::new();
    for id in suspects(tx, category, content)? {
        let old = find(tx, &id)?;
        like.extend(old.filter(|old| words.nearly_equals(&WordSet::new(&old.content))));
    }
    Ok(like)
}

/// Active learnings of a category that have one of the words a near-duplicate must have.
fn suspects(tx: &Connection, category: &str, content: &str) -> Result<Vec<String>> {
    let failed = Cell::new(None);
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
        // The text is all stop words or signs, which the index does not know.
        let sql = "SELECT id FROM learnings
             WHERE category = ?1 AND pruned_at IS NULL AND superseded_by IS NULL
             ORDER BY created_at DESC, id";
        return tx.all(sql, [category]);
    };
    let mut docs = BTreeSet::new();
    for token in probes {
        docs.extend(index::postings(tx, &token, u64::from(u32::MAX))?);
    }
    let mut ids = Vec::new();
    for doc in docs.into_iter().rev() {
        let sql = "SELECT l.id FROM learning_docs d JOIN learnings l ON l.id = d.learning_id
             WHERE d.doc = :doc AND l.category = :category";
        let values = bind! { doc, category };
        ids.extend(tx.first::<String>(sql, values)?);
    }
    Ok(ids)
}
