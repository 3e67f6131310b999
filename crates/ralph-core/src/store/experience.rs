//! What attempts taught about models and tasks: rows that every counted attempt changes a little.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::sql::{Changes, Connection, Json, ReadResult, Row, Statements, bind, record};
use super::{Result, Store};
use crate::adaptive::{BUCKETS, Beliefs, BucketBelief, ModelBelief, Seen, TaskView, observe};
use crate::agent::{Prices, output_prices};
use crate::model::{Attempt, Difficulty, Neighbour, Recent, TaskId};
use crate::similar_tasks::{Frequencies, Profile, Tried};

/// Tasks that one term brings in at most, those attempted last first.
const POSTINGS: u32 = 50;

#[derive(Clone, Debug, Serialize, Deserialize)]
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
record!(Neighbour {
    name, likeness, difficulty = "difficulty_estimate", failed = "trials" via failed, done = "trials" via done,
});
record!(Tried { title, words, files, neighbour });
/// What is believed, as it is stored: one row, because nearly every attempt changes some of it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredBeliefs {
    /// By agent and model.
    agents: BTreeMap<String, BTreeMap<String, ModelBelief>>,
    /// By difficulty; `unknown` stands for all tasks together.
    difficulties: BTreeMap<String, BucketBelief>,
    /// Successes and retries.
    retries: Option<(f64, f64)>,
}

/// A model, and how often it failed on a task and did it.
type Trial = (String, u32, u32);

impl Store {
    /// What is believed of an agent's models, and of tasks.
    pub fn beliefs(&self, agent: &str) -> Result<Beliefs> {
        self.read(stored).map(|stored| stored.beliefs(agent))
    }

    pub fn recent(&self, most: u32) -> Result<Recent> {
        let sql = "SELECT sum(outcome = 'done') AS done, count(*) AS counted FROM (
                 SELECT outcome FROM iteration_outcomes WHERE counted = 1 AND model <> 'none'
                 ORDER BY started_at DESC, rowid DESC LIMIT ?1) AS newest";
        self.one(sql, [most])
    }

    pub fn frequencies(&self, terms: &[String]) -> Result<Frequencies> {
        self.read_once(|conn| {
            let tasks_with = |term: &String| -> Result<Option<u64>> {
                conn.first("SELECT tasks FROM task_postings WHERE term = ?1 AND doc = 0", [term])
            };
            conn.read_ahead(|| terms.iter().for_each(|term| drop(tasks_with(term))))?;
            let mut with = HashMap::new();
            for term in terms {
                with.extend(tasks_with(term)?.map(|tasks| (term.clone(), tasks)));
            }
            Ok(Frequencies { tasks: conn.one("SELECT tried_tasks FROM totals", [])?, with })
        })
    }

    /// Tasks with some of these terms, those whose terms are worth most first; without the task itself.
    pub fn tried(&self, lookup: &[(String, f64)], except: &TaskId, most: usize) -> Result<Vec<Tried>> {
        self.read_once(|conn| {
            let mut all = Vec::new();
            let docs = candidates(conn, lookup, most)?;
            conn.read_ahead(|| docs.iter().for_each(|doc| drop(tried(conn, *doc, except))))?;
            for doc in docs {
                all.extend(tried(conn, doc, except)?);
            }
            Ok(all)
        })
    }
}

fn candidates(conn: &Connection, lookup: &[(String, f64)], most: usize) -> Result<Vec<i64>> {
    let mut worth: BTreeMap<i64, f64> = BTreeMap::new();
    let with = |term: &String| -> Result<Vec<i64>> {
        let sql = "SELECT doc FROM task_postings WHERE term = :term AND doc > 0
             ORDER BY doc DESC LIMIT :most";
        conn.all(sql, bind! { term, most: POSTINGS })
    };
    conn.read_ahead(|| lookup.iter().for_each(|(term, _)| drop(with(term))))?;
    for (term, value) in lookup {
        for doc in with(term)? {
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
    let sql = "SELECT t.name, 0.0 AS likeness, d.title, d.words, d.files,
             t.status = 'done' AS is_done, m.difficulty_estimate, m.suggested_model, m.trials
         FROM task_docs d JOIN tasks t ON t.id = d.task_id
         LEFT JOIN strategy_metrics m ON m.task_id = d.task_id
         WHERE d.doc = :doc AND d.task_id <> :except";
    conn.first(sql, bind! { doc, except })
}

fn failed(row: &Row<'_>, name: &str) -> ReadResult<Vec<String>> {
    let trials: Vec<Trial> = row.get(name)?;
    Ok(trials.into_iter().filter(|(_, failed, _)| *failed > 0).map(|(model, ..)| model).collect())
}

/// The model that did a task; of several the one that did it last.
fn done(row: &Row<'_>, name: &str) -> ReadResult<Option<String>> {
    if !row.get("is_done")? {
        return Ok(None);
    }
    let trials: Vec<Trial> = row.get(name)?;
    let last: Option<String> = row.get("suggested_model")?;
    let done: Vec<String> =
        trials.into_iter().filter(|(.., done)| *done > 0).map(|(model, ..)| model).collect();
    Ok(done.iter().find(|model| last.as_ref() == Some(model)).or(done.first()).cloned())
}

/// What is known before an attempt teaches more.
pub(super) struct Known {
    trials: Vec<Trial>,
    profile: Option<StoredProfile>,
    beliefs: StoredBeliefs,
}

/// For [`Connection::read_ahead`].
pub(super) fn read_ahead(tx: &Connection, task: &TaskId) {
    let _ = trials(tx, task);
    let _ = profile(tx, task);
    let _ = stored(tx);
}

pub(super) fn before(tx: &Connection, task: &TaskId) -> Result<Known> {
    Ok(Known { trials: trials(tx, task)?, profile: profile(tx, task)?, beliefs: stored(tx)? })
}

fn trials(tx: &Connection, task: &TaskId) -> Result<Vec<Trial>> {
    let sql = "SELECT trials FROM strategy_metrics WHERE task_id = ?1";
    Ok(tx.first(sql, [task])?.unwrap_or_default())
}

fn profile(tx: &Connection, task: &TaskId) -> Result<Option<StoredProfile>> {
    let sql = "SELECT d.* FROM strategy_metrics m JOIN task_docs d ON d.doc = m.doc WHERE m.task_id = ?1";
    tx.first(sql, [task])
}

pub(super) fn learn(tx: &Connection, attempt: &Attempt, lesson: &Lesson, known: Known) -> Result<()> {
    let task = &attempt.task_id;
    let Known { mut trials, profile, beliefs: mut stored } = known;
    let place = trials.iter().position(|(model, ..)| *model == lesson.model);
    let place = place.unwrap_or_else(|| {
        trials.push((lesson.model.clone(), 0, 0));
        trials.len() - 1
    });
    if let Some((_, failed, done)) = trials.get_mut(place) {
        *failed += u32::from(!lesson.done);
        *done += u32::from(lesson.done);
    }
    let doc = remember(tx, task, &lesson.profile, profile)?;
    let values = bind! { task_id: task, trials: Json(&trials), doc };
    tx.upsert("strategy_metrics", &["task_id"], values)?;
    let agent = attempt.agent.as_deref().unwrap_or_default();
    let after = lesson.learned(&stored.beliefs(agent));
    stored.set(agent, &lesson.model, after);
    tx.change("UPDATE totals SET beliefs = ?1", [Json(&stored)])
}

/// Stores what a task is about; returns its document.
fn remember(tx: &Connection, task: &TaskId, seen: &Profile, known: Option<StoredProfile>) -> Result<i64> {
    let mut whole = seen.clone();
    if let Some(StoredProfile { doc, title, words, files }) = known {
        let known = Profile::from_stored(&title, &words, files);
        whole = seen.with(&known);
        if known.says_the_same_as(&whole) {
            return Ok(doc);
        }
        tx.change("DELETE FROM task_docs WHERE doc = ?1", [doc])?;
    }
    let joined = |words: &BTreeSet<String>| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        words.join(" ")
    };
    tx.insert_numbered(
        "task_docs",
        "doc",
        bind! {
            task_id: task, title: joined(&whole.title), words: joined(&whole.words),
            files: Json(&whole.files), terms: Json(whole.index_terms()),
        },
    )
}

struct StoredProfile {
    doc: i64,
    title: String,
    words: String,
    files: Vec<String>,
}

record!(StoredProfile { doc, title, words, files });

fn stored(conn: &Connection) -> Result<StoredBeliefs> {
    let json: String = conn.one("SELECT beliefs FROM totals", [])?;
    // What somebody damaged says nothing; what is assumed at first stands.
    Ok(serde_json::from_str(&json).unwrap_or_default())
}

impl StoredBeliefs {
    fn beliefs(&self, agent: &str) -> Beliefs {
        let mut beliefs = Beliefs::default();
        beliefs.models.extend(self.agents.get(agent).cloned().unwrap_or_default());
        for difficulty in BUCKETS {
            let stored = self.difficulties.get(bucket_name(difficulty));
            if let Some(stored) = stored.filter(|stored| !stored.tasks.is_empty())
                && let Some(bucket) = beliefs.bucket_mut(difficulty)
            {
                *bucket = stored.clone();
            }
        }
        if let Some((successes, tries)) = self.retries.filter(|(_, tries)| *tries > 0.0) {
            (beliefs.retry_successes, beliefs.retry_tries) = (successes, tries);
        }
        beliefs
    }

    /// Takes over what an attempt of one model changed.
    fn set(&mut self, agent: &str, model: &str, after: Beliefs) {
        let before = self.beliefs(agent);
        for difficulty in BUCKETS {
            let changed = after.bucket(difficulty).filter(|bucket| before.bucket(difficulty) != Some(bucket));
            if let Some(bucket) = changed {
                self.difficulties.insert(bucket_name(difficulty).to_owned(), bucket.clone());
            }
        }
        let retries = (after.retry_successes, after.retry_tries);
        if retries != (before.retry_successes, before.retry_tries) {
            self.retries = Some(retries);
        }
        let mut models = after.models;
        if let Some(belief) = models.remove(model) {
            self.agents.entry(agent.to_owned()).or_default().insert(model.to_owned(), belief);
        }
    }
}

fn bucket_name(difficulty: Option<Difficulty>) -> &'static str {
    difficulty.map_or("unknown", Difficulty::as_str)
}
