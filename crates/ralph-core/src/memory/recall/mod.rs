//! Which learnings matter to a task: pure ranking, the same for every store.
//!
//! ```text
//! terms(query) ─► store: how often each occurs ─► lookup ─► store: who has them ─► shortlist ─► ranking
//! ```
//!
//! | part of a score | what it says | where |
//! |---|---|---|
//! | text | words in common, rare ones first (BM25 over title, content and tags) | [`query`], `score` |
//! | tags, paths | tags the task names as such: words, phrases, path suffixes | `mentions` |
//! | failure | words and category of the last failure | `score` |
//! | agreement | it shares tags with the other best matches | `score` |
//! | recency, record | it is new; it helped or hurt before | `score`, [`upkeep`] |
//!
//! Over time: [`duplicates`] finds what says the same twice, [`upkeep`] says what to merge and what to archive.
//!
//! A score is the sum of its parts. Time is passed in; equal input gives equal output.

pub mod duplicates;
mod mentions;
pub mod query;
mod score;
pub mod tokens;
pub mod upkeep;
pub mod weights;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

pub use query::{Lookup, RecallQuery, Term, TermKind, lookup, shortlist, terms};
pub use score::{rank, ranking};

use crate::model::Record;

/// A learning as the store returns it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Candidate {
    pub id: String,
    pub category: String,
    /// Its title, or empty: then the first line of its content is taken.
    pub title: String,
    pub content: String,
    pub tags: Vec<String>,
    /// When it was learned, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// What came of showing it.
    pub record: Record,
    /// Pinned by a person: never withheld.
    pub pinned: bool,
}

/// What the store knows of all active learnings together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Corpus {
    pub documents: u64,
    /// How many of them contain a term of the query; terms that none contains may be missing.
    pub df: HashMap<String, u64>,
    /// How many carry a tag, by the tag in lower case; where one is missing, the candidates are counted.
    pub tag_df: HashMap<String, u64>,
}

/// What is shown of a ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecallPolicy {
    /// The least relevance: text, tags, paths and failure together, so that neither age nor record lifts what has
    /// nothing to do with the task. None for a search, where a person judges.
    pub floor: Option<f64>,
    /// Whether learnings with a bad record are withheld.
    pub withhold: bool,
    /// Whether near-duplicates count once.
    pub once: bool,
    pub max: usize,
}

impl Default for RecallPolicy {
    fn default() -> Self {
        Self { floor: Some(weights::FLOOR), withhold: true, once: true, max: weights::MAX_LEARNINGS }
    }
}

impl RecallPolicy {
    /// A person's search: the same order, nothing kept back.
    pub fn search(max: usize) -> Self {
        Self { floor: None, withhold: false, once: false, max }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "fate")]
pub enum Fate {
    /// It is among the best.
    Chosen,
    /// Too little of it has to do with the task.
    BelowFloor,
    /// It hurt more than it helped.
    Withheld,
    /// A newer one says nearly the same.
    Repeats,
    BeyondLimit,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Ranked {
    #[serde(flatten)]
    pub scored: Scored,
    #[serde(flatten)]
    pub fate: Fate,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Scored {
    pub id: String,
    pub score: f64,
    pub parts: ScoreParts,
}

/// What a score is made of; the parts add up to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct ScoreParts {
    /// Words in common with the task.
    pub text: f64,
    pub tags: f64,
    /// Tags that are paths or dotted names and that the task names.
    pub paths: f64,
    /// Words and category in common with the last failure.
    pub failure: f64,
    /// Tags in common with the other best matches.
    pub agreement: f64,
    pub recency: f64,
    /// Having helped (above 0) or hurt (below).
    pub record: f64,
}

impl ScoreParts {
    /// What the floor is compared with: what the learning has to do with the task.
    pub fn relevance(&self) -> f64 {
        self.text + self.tags + self.paths + self.failure
    }

    pub fn total(&self) -> f64 {
        self.relevance() + self.agreement + self.recency + self.record
    }
}

/// The rarity of something that `df` of all learnings have.
fn idf(documents: u64, df: u64) -> f64 {
    let df = as_f64(df);
    let all = as_f64(documents).max(df) + weights::BACKGROUND;
    (1.0 + (all - df + 0.5) / (df + 0.5)).ln()
}

/// Counts beyond four thousand million are all the same to a logarithm.
fn as_f64(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
