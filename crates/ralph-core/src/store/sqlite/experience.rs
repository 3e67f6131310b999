//! What attempts taught: rows that every counted attempt changes a little.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{SqliteStore, rows};
use crate::adaptive::{BUCKETS, Beliefs, BucketBelief, ModelBelief};
use crate::alike::{Frequencies, Profile, Tried};
use crate::model::{Difficulty, Key, Recent, TaskId, Timestamp};
use crate::store::{Capture, ExperienceStore, Lesson, Result};

/// Tasks that one term brings in at most, those tried last first.
const POSTINGS: u32 = 50;

impl ExperienceStore for SqliteStore {
    fn beliefs(&self, agent: &str) -> Result<Beliefs> {
        self.read_once(|conn| beliefs(conn, agent))
    }

    fn recent(&self, most: u32) -> Result<Recent> {
        self.read(|conn| {
            conn.prepare_cached(
                "SELECT coalesce(sum(outcome = 'done'), 0), count(*) FROM (
                     SELECT outcome FROM iteration_outcomes WHERE counted = 1
                         AND model <> 'none'
                     ORDER BY started_at DESC, rowid DESC LIMIT ?1)",
            )?
            .query_row([most], |row| {
                Ok(Recent {
                    done: row.get(0)?,
                    counted: row.get(1)?,
                })
            })
        })
    }

    fn frequencies(&self, terms: &[String]) -> Result<Frequencies> {
        self.read_once(|conn| {
            let mut with = HashMap::new();
            let mut count = conn.prepare_cached("SELECT tasks FROM task_terms WHERE term = ?1")?;
            for term in terms {
                let tasks = count
                    .query_row([term], |row| rows::count(row, 0))
                    .optional()?;
                with.extend(tasks.map(|tasks| (term.clone(), tasks)));
            }
            let tasks = conn
                .prepare_cached("SELECT tasks FROM task_corpus")?
                .query_row([], |row| rows::count(row, 0))?;
            Ok(Frequencies { tasks, with })
        })
    }

    fn tried(&self, lookup: &[(String, f64)], except: &TaskId, most: usize) -> Result<Vec<Tried>> {
        self.read_once(|conn| {
            let best = candidates(conn, lookup, most)?;
            let mut all = Vec::new();
            for doc in best {
                all.extend(tried(conn, doc, except)?);
            }
            Ok(all)
        })
    }
}

/// The documents whose terms are worth most together.
fn candidates(
    conn: &Connection,
    lookup: &[(String, f64)],
    most: usize,
) -> rusqlite::Result<Vec<i64>> {
    let mut worth: BTreeMap<i64, f64> = BTreeMap::new();
    let mut postings = conn.prepare_cached(
        "SELECT doc FROM task_postings WHERE term = ?1 ORDER BY doc DESC LIMIT ?2",
    )?;
    for (term, value) in lookup {
        let docs = postings.query_map(params![term, POSTINGS], |row| row.get(0))?;
        for doc in docs {
            *worth.entry(doc?).or_default() += value;
        }
    }
    let mut docs: Vec<(i64, f64)> = worth.into_iter().collect();
    docs.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    // One more, for the task itself may be among them.
    docs.truncate(most + 1);
    Ok(docs.into_iter().map(|(doc, _)| doc).collect())
}

fn tried(conn: &Connection, doc: i64, except: &TaskId) -> rusqlite::Result<Option<Tried>> {
    conn.prepare_cached(
        "SELECT t.id, t.key, d.title, d.words, d.files, m.difficulty_estimate,
                iif(t.status = 'done', (SELECT model FROM task_trials r
                     WHERE r.task_id = d.task_id AND r.done > 0 ORDER BY model = m.suggested_model DESC
                     LIMIT 1), NULL),
                (SELECT json_group_array(model) FROM task_trials r
                 WHERE r.task_id = d.task_id AND r.failed > 0)
         FROM task_docs d JOIN tasks t ON t.id = d.task_id
         LEFT JOIN strategy_metrics m ON m.task_id = d.task_id
         WHERE d.doc = ?1 AND d.task_id <> ?2",
    )?
    .query_row(params![doc, except.as_str()], |row| {
        let key = row.get::<_, Option<String>>(1)?.map(Key::from_stored);
        let id: String = row.get(0)?;
        Ok(Tried {
            name: key.map_or(id, |key| key.to_string()),
            title: rows::text(row, 2)?,
            words: rows::text(row, 3)?,
            files: rows::json_list(&rows::text(row, 4)?),
            difficulty: rows::optional_text(row, 5)?
                .as_deref()
                .and_then(Difficulty::parse),
            done: rows::optional_text(row, 6)?,
            failed: rows::json_list(&rows::text(row, 7)?),
        })
    })
    .optional()
}

/// The profile in three columns.
fn profile(row: &Row<'_>, first: usize) -> rusqlite::Result<Profile> {
    Ok(Profile::from_stored(
        &rows::text(row, first)?,
        &rows::text(row, first + 1)?,
        rows::json_list(&rows::text(row, first + 2)?),
    ))
}

/// Learns from a counted attempt, inside its transaction.
pub(super) fn learn(tx: &Connection, capture: &Capture, lesson: &Lesson) -> rusqlite::Result<()> {
    let (model, done) = (lesson.model.as_str(), lesson.done);
    tx.prepare_cached(
        "INSERT INTO task_trials (task_id, model, failed, done) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (task_id, model) DO UPDATE SET
             failed = failed + excluded.failed, done = done + excluded.done",
    )?
    .execute(params![capture.task_id.as_str(), model, !done, done])?;
    remember(tx, &capture.task_id, &lesson.profile)?;
    let agent = capture.start.agent.as_deref().unwrap_or_default();
    let before = beliefs(tx, agent)?;
    let after = lesson.learnt(&before);
    store_beliefs(tx, agent, model, &before, &after, capture.ended_at)
}

/// Adds to what a task is known to be about.
fn remember(tx: &Connection, task: &TaskId, seen: &Profile) -> rusqlite::Result<()> {
    let known = tx
        .prepare_cached("SELECT title, words, files FROM task_docs WHERE task_id = ?1")?
        .query_row([task.as_str()], |row| profile(row, 0))
        .optional()?;
    let whole = match &known {
        Some(known) => seen.with(known),
        None => seen.clone(),
    };
    if known.is_some_and(|known| known.says_the_same_as(&whole)) {
        return Ok(());
    }
    tx.prepare_cached("DELETE FROM task_docs WHERE task_id = ?1")?
        .execute([task.as_str()])?;
    let joined = |words: &std::collections::BTreeSet<String>| {
        words
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(" ")
    };
    tx.prepare_cached(
        "INSERT INTO task_docs (task_id, title, words, files, terms) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![
        task.as_str(),
        joined(&whole.title),
        joined(&whole.words),
        rows::to_json(&whole.files),
        rows::to_json(&whole.index_terms()),
    ])?;
    Ok(())
}

fn beliefs(conn: &Connection, agent: &str) -> rusqlite::Result<Beliefs> {
    let mut beliefs = Beliefs::default();
    let mut models = conn.prepare_cached(
        "SELECT model, ability, variance, tries, cost_zeros, cost_count, cost_mean, cost_squares
         FROM model_beliefs WHERE agent = ?1",
    )?;
    let mut found = models.query([agent])?;
    while let Some(row) = found.next()? {
        beliefs
            .models
            .insert(rows::text(row, 0)?, model_belief(row)?);
    }
    let mut buckets = conn
        .prepare_cached("SELECT difficulty, tasks, cost_count, cost_sum FROM difficulty_beliefs")?;
    let mut found = buckets.query([])?;
    while let Some(row) = found.next()? {
        let name = rows::text(row, 0)?;
        let Some(difficulty) = BUCKETS
            .into_iter()
            .find(|bucket| bucket_name(*bucket) == name)
        else {
            continue;
        };
        let tasks: Vec<f64> = serde_json::from_str(&rows::text(row, 1)?).unwrap_or_default();
        // A row that someone emptied says nothing; what was assumed at first stands.
        if let Some(bucket) = beliefs.bucket_mut(difficulty)
            && !tasks.is_empty()
        {
            *bucket = BucketBelief {
                tasks,
                cost_count: small(row, 2)?,
                cost_sum: rows::number(row, 3)?,
            };
        }
    }
    let retry = conn
        .prepare_cached("SELECT successes, tries FROM retry_beliefs")?
        .query_row([], |row| Ok((rows::number(row, 0)?, rows::number(row, 1)?)))
        .optional()?;
    if let Some((successes, tries)) = retry.filter(|(_, tries)| *tries > 0.0) {
        (beliefs.retry_successes, beliefs.retry_tries) = (successes, tries);
    }
    Ok(beliefs)
}

fn model_belief(row: &Row<'_>) -> rusqlite::Result<ModelBelief> {
    Ok(ModelBelief {
        ability: rows::number(row, 1)?,
        variance: rows::number(row, 2)?,
        tries: small(row, 3)?,
        cost_zeros: small(row, 4)?,
        cost_count: small(row, 5)?,
        cost_mean: rows::number(row, 6)?,
        cost_squares: rows::number(row, 7)?,
        price: None,
    })
}

fn small(row: &Row<'_>, column: usize) -> rusqlite::Result<u32> {
    Ok(u32::try_from(rows::count(row, column)?).unwrap_or(u32::MAX))
}

fn bucket_name(difficulty: Option<Difficulty>) -> &'static str {
    difficulty.map_or("unknown", Difficulty::as_str)
}

/// Writes what changed: one model, the task's bucket and that of all tasks, the rate of retries.
fn store_beliefs(
    tx: &Connection,
    agent: &str,
    model: &str,
    before: &Beliefs,
    after: &Beliefs,
    now: Timestamp,
) -> rusqlite::Result<()> {
    if let Some(belief) = after.models.get(model) {
        tx.prepare_cached(
            "INSERT INTO model_beliefs (agent, model, ability, variance, tries, cost_zeros, cost_count,
                 cost_mean, cost_squares, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT (agent, model) DO UPDATE SET
                 ability = excluded.ability, variance = excluded.variance, tries = excluded.tries,
                 cost_zeros = excluded.cost_zeros, cost_count = excluded.cost_count,
                 cost_mean = excluded.cost_mean, cost_squares = excluded.cost_squares,
                 updated_at = excluded.updated_at",
        )?
        .execute(params![
            agent,
            model,
            belief.ability,
            belief.variance,
            belief.tries,
            belief.cost_zeros,
            belief.cost_count,
            belief.cost_mean,
            belief.cost_squares,
            now.to_string(),
        ])?;
    }
    for difficulty in BUCKETS {
        let Some(bucket) = after.bucket(difficulty) else {
            continue;
        };
        if before.bucket(difficulty) == Some(bucket) {
            continue;
        }
        tx.prepare_cached(
            "INSERT INTO difficulty_beliefs (difficulty, tasks, cost_count, cost_sum)
             VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (difficulty) DO UPDATE SET tasks = excluded.tasks,
                 cost_count = excluded.cost_count, cost_sum = excluded.cost_sum",
        )?
        .execute(params![
            bucket_name(difficulty),
            rows::to_json(&bucket.tasks),
            bucket.cost_count,
            bucket.cost_sum,
        ])?;
    }
    let retry = (after.retry_successes, after.retry_tries);
    if retry != (before.retry_successes, before.retry_tries) {
        tx.prepare_cached(
            "INSERT INTO retry_beliefs (id, successes, tries) VALUES (1, ?1, ?2)
             ON CONFLICT (id) DO UPDATE SET successes = excluded.successes, tries = excluded.tries",
        )?
        .execute(params![retry.0, retry.1])?;
    }
    Ok(())
}
