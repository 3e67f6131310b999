//! What attempts taught about models and tasks: rows that every counted attempt changes a little.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::Connection;

use super::sql::{Changes, Json, Statements, bind, record};
use super::{Result, Store};
use crate::adaptive::{BUCKETS, Beliefs, BucketBelief, ModelBelief, Seen, TaskView, observe};
use crate::agent::{Prices, output_prices};
use crate::model::{Attempt, Difficulty, Neighbour, Recent, TaskId, Timestamp};
use crate::similar_tasks::{Frequencies, Profile, Tried};

/// Tasks that one term brings in at most, those attempted last first.
const POSTINGS: u32 = 50;

#[derive(Clone, Debug)]
pub struct Lesson {
    pub model: String,
    pub done: bool,
    pub cost_usd: Option<f64>,
    /// How hard the agent says the task is, by its last word.
    pub estimate: Option<Difficulty>,
    /// The agent's models, cheapest first.
    pub ladder: Vec<String>,
    /// What models are said to cost.
    pub prices: Prices,
    /// The task as the policy saw it before the attempt.
    pub view: TaskView,
    /// What the task is about, the files the attempt changed included.
    pub profile: Profile,
}

impl Lesson {
    pub fn learned(&self, before: &Beliefs) -> Beliefs {
        let mut after = before.clone();
        after.set_prices(&self.ladder, output_prices(&self.prices));
        let seen =
            Seen { model: &self.model, success: self.done, cost: self.cost_usd, estimate: self.estimate };
        observe(&mut after, &self.ladder, &self.view, &seen);
        after
    }
}

record!(Recent { done, counted });
record!(Neighbour { name, likeness, difficulty = "difficulty_estimate", failed, done });
record!(Tried { title, words, files, neighbour });
record!(BucketBelief { tasks, cost_count, cost_sum } reads {});

record!(ModelBelief {
    ability, variance, tries, cost_zeros, cost_count, cost_mean, cost_squares,
} reads { price });

impl Store {
    /// What is believed of an agent's models, and of tasks.
    pub fn beliefs(&self, agent: &str) -> Result<Beliefs> {
        self.read_once(|conn| beliefs(conn, agent))
    }

    pub fn recent(&self, most: u32) -> Result<Recent> {
        let sql = "SELECT sum(outcome = 'done') AS done, count(*) AS counted FROM (
                 SELECT outcome FROM iteration_outcomes WHERE counted = 1 AND model <> 'none'
                 ORDER BY started_at DESC, rowid DESC LIMIT ?1)";
        self.one(sql, [most])
    }

    pub fn frequencies(&self, terms: &[String]) -> Result<Frequencies> {
        self.read_once(|conn| {
            let mut with = HashMap::new();
            for term in terms {
                let tasks = conn.first("SELECT tasks FROM task_terms WHERE term = ?1", [term])?;
                with.extend(tasks.map(|tasks| (term.clone(), tasks)));
            }
            Ok(Frequencies { tasks: conn.one("SELECT tasks FROM task_corpus", [])?, with })
        })
    }

    /// Tasks with some of these terms, those whose terms are worth most first; without the task itself.
    pub fn tried(&self, lookup: &[(String, f64)], except: &TaskId, most: usize) -> Result<Vec<Tried>> {
        self.read_once(|conn| {
            let mut all = Vec::new();
            for doc in candidates(conn, lookup, most)? {
                all.extend(tried(conn, doc, except)?);
            }
            Ok(all)
        })
    }
}

fn candidates(conn: &Connection, lookup: &[(String, f64)], most: usize) -> Result<Vec<i64>> {
    let mut worth: BTreeMap<i64, f64> = BTreeMap::new();
    for (term, value) in lookup {
        let sql = "SELECT doc FROM task_postings WHERE term = :term ORDER BY doc DESC LIMIT :most";
        let values = bind! { term, most: POSTINGS };
        let docs: Vec<i64> = conn.all(sql, values)?;
        for doc in docs {
            *worth.entry(doc).or_default() += value;
        }
    }
    let mut docs: Vec<(i64, f64)> = worth.into_iter().collect();
    docs.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    // One more, for the task itself may be among them.
    docs.truncate(most + 1);
    Ok(docs.into_iter().map(|(doc, _)| doc).collect())
}

fn tried(conn: &Connection, doc: i64, except: &TaskId) -> Result<Option<Tried>> {
    let sql = "SELECT t.name, 0.0 AS likeness, d.title, d.words, d.files, m.difficulty_estimate,
             iif(t.status = 'done', (SELECT model FROM task_trials r
                 WHERE r.task_id = d.task_id AND r.done > 0 ORDER BY model = m.suggested_model DESC
                 LIMIT 1), NULL) AS done,
             (SELECT json_group_array(model) FROM task_trials r
              WHERE r.task_id = d.task_id AND r.failed > 0) AS failed
         FROM task_docs d JOIN tasks t ON t.id = d.task_id
         LEFT JOIN strategy_metrics m ON m.task_id = d.task_id
         WHERE d.doc = :doc AND d.task_id <> :except";
    conn.first(sql, bind! { doc, except })
}

pub(super) fn learn(tx: &Connection, attempt: &Attempt, lesson: &Lesson) -> Result<()> {
    let Lesson { model, done, .. } = lesson;
    tx.change(
        "INSERT INTO task_trials (task_id, model, failed, done)
         VALUES (:task, :model, NOT :done, :done)
         ON CONFLICT (task_id, model) DO UPDATE SET
             failed = failed + excluded.failed, done = done + excluded.done",
        bind! { task: attempt.task_id, model, done },
    )?;
    remember(tx, &attempt.task_id, &lesson.profile)?;
    let agent = attempt.agent.as_deref().unwrap_or_default();
    let before = beliefs(tx, agent)?;
    let after = lesson.learned(&before);
    store_beliefs(tx, agent, model, &before, &after, attempt.ended_at())
}

fn remember(tx: &Connection, task: &TaskId, seen: &Profile) -> Result<()> {
    let sql = "SELECT title, words, files FROM task_docs WHERE task_id = ?1";
    let known: Option<(String, String, Vec<String>)> = tx.first(sql, [task])?;
    let known = known.map(|(title, words, files)| Profile::from_stored(&title, &words, files));
    let whole = match &known {
        Some(known) => seen.with(known),
        None => seen.clone(),
    };
    if known.is_some_and(|known| known.says_the_same_as(&whole)) {
        return Ok(());
    }
    tx.change("DELETE FROM task_docs WHERE task_id = ?1", [task])?;
    let joined = |words: &BTreeSet<String>| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        words.join(" ")
    };
    tx.insert(
        "task_docs",
        bind! {
            task_id: task, title: joined(&whole.title), words: joined(&whole.words),
            files: Json(&whole.files), terms: Json(whole.index_terms()),
        },
    )
}

fn beliefs(conn: &Connection, agent: &str) -> Result<Beliefs> {
    let mut beliefs = Beliefs::default();
    let sql = "SELECT model, *, NULL AS price FROM model_beliefs WHERE agent = ?1";
    beliefs.models.extend(conn.all::<(String, ModelBelief), Vec<_>>(sql, [agent])?);
    let sql = "SELECT difficulty, * FROM difficulty_beliefs";
    let buckets: HashMap<String, BucketBelief> = conn.all(sql, [])?;
    for difficulty in BUCKETS {
        let stored = buckets.get(bucket_name(difficulty));
        // A row that someone emptied says nothing; what was assumed at first stands.
        if let Some(stored) = stored.filter(|stored| !stored.tasks.is_empty())
            && let Some(bucket) = beliefs.bucket_mut(difficulty)
        {
            *bucket = stored.clone();
        }
    }
    let retry: Option<(f64, f64)> = conn.first("SELECT successes, tries FROM retry_beliefs", [])?;
    if let Some((successes, tries)) = retry.filter(|(_, tries)| *tries > 0.0) {
        (beliefs.retry_successes, beliefs.retry_tries) = (successes, tries);
    }
    Ok(beliefs)
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
) -> Result<()> {
    if let Some(belief) = after.models.get(model) {
        let more = bind! { agent, model, updated_at: now };
        tx.upsert_record("model_beliefs", &["agent", "model"], belief, more)?;
    }
    for difficulty in BUCKETS {
        let changed = after.bucket(difficulty).filter(|bucket| before.bucket(difficulty) != Some(bucket));
        if let Some(bucket) = changed {
            let more = bind! { difficulty: bucket_name(difficulty) };
            tx.upsert_record("difficulty_beliefs", &["difficulty"], bucket, more)?;
        }
    }
    let (successes, tries) = (after.retry_successes, after.retry_tries);
    if (successes, tries) != (before.retry_successes, before.retry_tries) {
        let values = bind! { id: 1, successes, tries };
        tx.upsert("retry_beliefs", &["id"], values)?;
    }
    Ok(())
}
