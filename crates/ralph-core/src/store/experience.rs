//! What attempts taught about models and tasks: rows that every counted attempt changes a little.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::{Connection, named_params};

use super::sql::{Json, Row, Statements, only};
use super::{Result, Store};
use crate::adaptive::{BUCKETS, Beliefs, BucketBelief, ModelBelief, Seen, TaskView, observe};
use crate::agent::{Prices, output_prices};
use crate::model::{Attempt, Difficulty, Recent, TaskId, Timestamp};
use crate::similar_tasks::{Frequencies, Profile, Tried};

/// Tasks that one term brings in at most, those attempted last first.
const POSTINGS: u32 = 50;

/// What is to be learned from a counted attempt.
#[derive(Clone, Debug)]
pub struct Lesson {
    pub model: String,
    /// Whether the task was done.
    pub done: bool,
    /// What it cost, as far as is known.
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
    /// What is believed after it.
    #[must_use]
    pub fn learned(&self, before: &Beliefs) -> Beliefs {
        let mut after = before.clone();
        after.set_prices(&self.ladder, output_prices(&self.prices));
        let seen =
            Seen { model: &self.model, success: self.done, cost: self.cost_usd, estimate: self.estimate };
        observe(&mut after, &self.ladder, &self.view, &seen);
        after
    }
}

impl Store {
    /// What is believed of an agent's models, and of tasks.
    pub fn beliefs(&self, agent: &str) -> Result<Beliefs> {
        self.read_once(|conn| beliefs(conn, agent))
    }

    /// How the last counted attempts on any task went.
    pub fn recent(&self, most: u32) -> Result<Recent> {
        let sql = "SELECT coalesce(sum(outcome = 'done'), 0) AS done, count(*) AS counted FROM (
                 SELECT outcome FROM iteration_outcomes WHERE counted = 1 AND model <> 'none'
                 ORDER BY started_at DESC, rowid DESC LIMIT ?1)";
        self.one(sql, [most], |row| Ok(Recent { done: row.get("done")?, counted: row.get("counted")? }))
    }

    /// How often terms occur among the tasks attempted.
    pub fn frequencies(&self, terms: &[String]) -> Result<Frequencies> {
        self.read_once(|conn| {
            let mut with = HashMap::new();
            for term in terms {
                let sql = "SELECT tasks FROM task_terms WHERE term = ?1";
                let tasks = conn.first(sql, [term], |row| row.count("tasks"))?;
                with.extend(tasks.map(|tasks| (term.clone(), tasks)));
            }
            let sql = "SELECT tasks FROM task_corpus";
            let tasks = conn.one(sql, [], |row| row.count("tasks"))?;
            Ok(Frequencies { tasks, with })
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

/// The documents whose terms are worth most together.
fn candidates(conn: &Connection, lookup: &[(String, f64)], most: usize) -> Result<Vec<i64>> {
    let mut worth: BTreeMap<i64, f64> = BTreeMap::new();
    for (term, value) in lookup {
        let sql = "SELECT doc FROM task_postings WHERE term = :term ORDER BY doc DESC LIMIT :most";
        let values = named_params! { ":term": term, ":most": POSTINGS };
        let docs: Vec<i64> = conn.all(sql, values, only)?;
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
    let sql = "SELECT coalesce(t.key, t.id) AS name, d.title, d.words, d.files, m.difficulty_estimate,
             iif(t.status = 'done', (SELECT model FROM task_trials r
                 WHERE r.task_id = d.task_id AND r.done > 0 ORDER BY model = m.suggested_model DESC
                 LIMIT 1), NULL) AS done,
             (SELECT json_group_array(model) FROM task_trials r
              WHERE r.task_id = d.task_id AND r.failed > 0) AS failed
         FROM task_docs d JOIN tasks t ON t.id = d.task_id
         LEFT JOIN strategy_metrics m ON m.task_id = d.task_id
         WHERE d.doc = :doc AND d.task_id <> :except";
    conn.first(sql, named_params! { ":doc": doc, ":except": except }, |row| {
        Ok(Tried {
            name: row.get("name")?,
            title: row.text("title")?,
            words: row.text("words")?,
            files: row.json("files")?,
            difficulty: row.word("difficulty_estimate", Difficulty::parse)?,
            done: row.optional_text("done")?,
            failed: row.json("failed")?,
        })
    })
}

/// Learns from a counted attempt, inside its transaction.
pub(super) fn learn(tx: &Connection, attempt: &Attempt, lesson: &Lesson) -> Result<()> {
    let Lesson { model, done, .. } = lesson;
    tx.change(
        "INSERT INTO task_trials (task_id, model, failed, done)
         VALUES (:task, :model, NOT :done, :done)
         ON CONFLICT (task_id, model) DO UPDATE SET
             failed = failed + excluded.failed, done = done + excluded.done",
        named_params! { ":task": attempt.task_id, ":model": model, ":done": done },
    )?;
    remember(tx, &attempt.task_id, &lesson.profile)?;
    let agent = attempt.agent.as_deref().unwrap_or_default();
    let before = beliefs(tx, agent)?;
    let after = lesson.learned(&before);
    store_beliefs(tx, agent, model, &before, &after, attempt.ended_at())
}

/// Adds to what a task is known to be about.
fn remember(tx: &Connection, task: &TaskId, seen: &Profile) -> Result<()> {
    let sql = "SELECT title, words, files FROM task_docs WHERE task_id = ?1";
    let known = tx.first(sql, [task], |row| {
        let (title, words) = (row.text("title")?, row.text("words")?);
        Ok(Profile::from_stored(&title, &words, row.json("files")?))
    })?;
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
        named_params! {
            "task_id": task, "title": joined(&whole.title), "words": joined(&whole.words),
            "files": Json(&whole.files), "terms": Json(whole.index_terms()),
        },
    )
}

fn beliefs(conn: &Connection, agent: &str) -> Result<Beliefs> {
    let mut beliefs = Beliefs::default();
    let sql = "SELECT * FROM model_beliefs WHERE agent = ?1";
    let models: Vec<(String, ModelBelief)> = conn.all(sql, [agent], |row| {
        let belief = ModelBelief {
            ability: row.number("ability")?,
            variance: row.number("variance")?,
            tries: small(row, "tries")?,
            cost_zeros: small(row, "cost_zeros")?,
            cost_count: small(row, "cost_count")?,
            cost_mean: row.number("cost_mean")?,
            cost_squares: row.number("cost_squares")?,
            price: None,
        };
        Ok((row.text("model")?, belief))
    })?;
    beliefs.models.extend(models);
    let sql = "SELECT * FROM difficulty_beliefs";
    let buckets: HashMap<String, BucketBelief> = conn.all(sql, [], |row| {
        let belief = BucketBelief {
            tasks: row.json("tasks")?,
            cost_count: small(row, "cost_count")?,
            cost_sum: row.number("cost_sum")?,
        };
        Ok((row.text("difficulty")?, belief))
    })?;
    for difficulty in BUCKETS {
        let stored = buckets.get(bucket_name(difficulty));
        // A row that someone emptied says nothing; what was assumed at first stands.
        if let Some(stored) = stored.filter(|stored| !stored.tasks.is_empty())
            && let Some(bucket) = beliefs.bucket_mut(difficulty)
        {
            *bucket = stored.clone();
        }
    }
    let retry = conn.first("SELECT successes, tries FROM retry_beliefs", [], |row| {
        Ok((row.number("successes")?, row.number("tries")?))
    })?;
    if let Some((successes, tries)) = retry.filter(|(_, tries)| *tries > 0.0) {
        (beliefs.retry_successes, beliefs.retry_tries) = (successes, tries);
    }
    Ok(beliefs)
}

fn small(row: &Row<'_>, name: &str) -> rusqlite::Result<u32> {
    Ok(u32::try_from(row.count(name)?).unwrap_or(u32::MAX))
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
        let values = named_params! {
            "agent": agent, "model": model, "ability": belief.ability,
            "variance": belief.variance, "tries": belief.tries, "cost_zeros": belief.cost_zeros,
            "cost_count": belief.cost_count, "cost_mean": belief.cost_mean,
            "cost_squares": belief.cost_squares, "updated_at": now,
        };
        tx.upsert("model_beliefs", &["agent", "model"], values)?;
    }
    for difficulty in BUCKETS {
        let changed = after.bucket(difficulty).filter(|bucket| before.bucket(difficulty) != Some(bucket));
        if let Some(bucket) = changed {
            let values = named_params! {
                "difficulty": bucket_name(difficulty), "tasks": Json(&bucket.tasks),
                "cost_count": bucket.cost_count, "cost_sum": bucket.cost_sum,
            };
            tx.upsert("difficulty_beliefs", &["difficulty"], values)?;
        }
    }
    let (successes, tries) = (after.retry_successes, after.retry_tries);
    if (successes, tries) != (before.retry_successes, before.retry_tries) {
        let values = named_params! { "id": 1, "successes": successes, "tries": tries };
        tx.upsert("retry_beliefs", &["id"], values)?;
    }
    Ok(())
}
