//! Learnings: finding them, adding them, archiving them, bringing them back. Nothing is ever rewritten.

mod change;
mod credit;

use std::collections::{BTreeMap, HashSet};

pub use change::*;
pub(super) use change::{add_all, note_deleted, prune};
pub(super) use credit::{credit, learn, rates};

use super::sql::{Connection, ReadResult, Row, Statements, conditions, record, value};
use super::sqlite::learning_index as index;
use super::{Durability, Result, Store, StoreError};
use crate::memory::recall::weights::LOOKUP_BUDGET;
use crate::memory::recall::{Candidate, Corpus, Lookup, Term, shortlist};
use crate::model::{Learning, LearningId, LearningState, Record, Source, TaskId, Timestamp};

/// Which learnings are wanted; all conditions must hold.
#[derive(Clone, Debug, Default)]
pub struct LearningFilter {
    pub state: Option<LearningState>,
    pub category: Option<String>,
    /// With this tag, regardless of case.
    pub tag: Option<String>,
    pub task: Option<TaskId>,
    pub source: Option<Source>,
    /// Those that this one replaced.
    pub superseded_by: Option<LearningId>,
    pub pinned: bool,
    pub since: Option<Timestamp>,
    pub before: Option<Timestamp>,
}

impl LearningFilter {
    pub fn active() -> Self {
        Self { state: Some(LearningState::Active), ..Self::default() }
    }
}

/// How much there is to tidy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LearningCounts {
    pub active: u64,
    /// Of those, how many came after the last search for near-duplicates.
    pub unmerged: u64,
    /// The number of the one that came last.
    pub newest: u64,
}

record!(Record { helpful, harmful, judged, expected });
record!(Learning {
    id, category, title, content, tags = "relevance_tags", created_at, state, task_id, task_key, source, pinned,
    shown, last_used_at, record, pruned_at, superseded_by, restored_at, repeats,
});
record!(Candidate {
    id, category, title, content, tags = "relevance_tags", created_at_ms = "created_at" via millis, record, pinned,
});
record!(LearningCounts { active, unmerged, newest });

fn millis(row: &Row<'_>, name: &str) -> ReadResult<i64> {
    Ok(row.get::<Timestamp>(name)?.as_millis())
}

impl Store {
    pub fn learning(&self, id: &str) -> Result<Learning> {
        let found = self.read(|conn| find(conn, id))?;
        found.ok_or_else(|| StoreError::UnknownLearning(id.to_owned()))
    }

    pub fn learnings(&self, filter: &LearningFilter) -> Result<Vec<Learning>> {
        let (mut wanted, values) = conditions(&[
            ("l.category =", value(&filter.category)),
            ("l.task_id =", value(&filter.task)),
            ("l.source =", value(&filter.source)),
            ("l.superseded_by =", value(&filter.superseded_by)),
            ("l.created_at >=", value(&filter.since)),
            ("l.created_at <", value(&filter.before)),
        ]);
        if filter.pinned {
            wanted.push_str(" AND l.pinned = 1");
        }
        let state = filter.state.map_or("true", state_condition);
        let sql = format!("{LEARNING} WHERE {state}{wanted} ORDER BY l.created_at DESC, l.id");
        let mut found: Vec<Learning> = self.all(&sql, values.as_slice())?;
        if let Some(tag) = &filter.tag {
            // Not in SQL, whose lower() knows ASCII only.
            let tag = tag.trim().to_lowercase();
            found.retain(|learning| learning.tags.iter().any(|own| own.to_lowercase() == tag));
        }
        Ok(found)
    }

    pub fn learning_counts(&self) -> Result<LearningCounts> {
        let sql = "SELECT documents AS active,
                 (SELECT count(*) FROM learning_docs WHERE doc > merged_up_to) AS unmerged,
                 (SELECT max(doc) FROM learning_docs) AS newest
             FROM learning_corpus";
        self.one(sql, [])
    }

    /// Active learnings that came after the last search for near-duplicates, and what they nearly repeat.
    pub fn unmerged_learnings(&self) -> Result<Vec<Learning>> {
        self.read_once(|conn| {
            let sql = format!(
                "{LEARNING} JOIN learning_docs d ON d.learning_id = l.id
                 WHERE d.doc > (SELECT merged_up_to FROM learning_corpus) ORDER BY d.doc"
            );
            let new: Vec<Learning> = conn.all(&sql, [])?;
            let mut all: BTreeMap<LearningId, Learning> = BTreeMap::new();
            for one in new {
                for like in credit::near_duplicates(conn, &one.category, &one.content)? {
                    all.insert(like.id.clone(), like);
                }
                all.insert(one.id.clone(), one);
            }
            Ok(all.into_values().collect())
        })
    }

    pub fn corpus(&self, terms: &[Term]) -> Result<Corpus> {
        self.read_once(|conn| {
            let mut corpus = Corpus { documents: index::documents(conn)?, ..Corpus::default() };
            if corpus.documents == 0 {
                return Ok(corpus);
            }
            conn.read_ahead(|| terms.iter().for_each(|term| drop(index::term_count(conn, &term.text))))?;
            for term in terms {
                let df = index::term_count(conn, &term.text)?;
                if df > 0 {
                    corpus.df.insert(term.text.clone(), df);
                }
            }
            Ok(corpus)
        })
    }

    /// The active learnings that have the most of these terms, learned before a time if one is given; and in the corpus,
    /// how many carry each of their tags.
    pub fn candidates(
        &self,
        lookup: &[Lookup],
        before: Option<Timestamp>,
        most: usize,
        corpus: &mut Corpus,
    ) -> Result<Vec<Candidate>> {
        self.read_once(|conn| {
            // With a time limit most of what is found may be too new, so nothing is cut off.
            let deepest = match before {
                Some(_) => u64::from(u32::MAX),
                None => LOOKUP_BUDGET,
            };
            let with = |term: &Lookup| index::postings(conn, &term.text, deepest);
            conn.read_ahead(|| lookup.iter().for_each(|term| drop(with(term))))?;
            let mut found = Vec::new();
            for term in lookup {
                found.push((term.worth, with(term)?));
            }
            let mut candidates = Vec::new();
            let shortlist = shortlist(&found);
            conn.read_ahead(|| {
                shortlist.iter().take(most).for_each(|doc| drop(candidate(conn, *doc, before)));
            })?;
            for doc in shortlist {
                if candidates.len() >= most {
                    break;
                }
                candidates.extend(candidate(conn, doc, before)?);
            }
            let tags = candidates.iter().flat_map(|candidate| &candidate.tags);
            let tags: HashSet<String> = tags.map(|tag| tag.trim().to_lowercase()).collect();
            conn.read_ahead(|| tags.iter().for_each(|tag| drop(index::tag_count(conn, tag))))?;
            for tag in tags {
                let count = index::tag_count(conn, &tag)?;
                corpus.tag_df.insert(tag, count);
            }
            Ok(candidates)
        })
    }

    /// Notes that near-duplicates were searched for up to that one.
    pub fn note_merged(&mut self, newest: u64) -> Result<()> {
        let sql = "UPDATE learning_corpus SET merged_up_to = ?1";
        self.change(Durability::Process, sql, [newest])
    }
}

fn state_condition(state: LearningState) -> &'static str {
    match state {
        LearningState::Active => "l.pruned_at IS NULL AND l.superseded_by IS NULL",
        LearningState::Pruned => "l.pruned_at IS NOT NULL AND l.superseded_by IS NULL",
        LearningState::Superseded => "l.superseded_by IS NOT NULL",
    }
}

const LEARNING: &str =
    "SELECT l.*, t.key AS task_key, CASE WHEN l.superseded_by IS NOT NULL THEN 'superseded'
        WHEN l.pruned_at IS NOT NULL THEN 'pruned' ELSE 'active' END AS state
    FROM learnings l LEFT JOIN tasks t ON t.id = l.task_id";

fn find(conn: &Connection, id: &str) -> Result<Option<Learning>> {
    conn.first(&format!("{LEARNING} WHERE l.id = ?1"), [id])
}

fn known(tx: &Connection, id: &LearningId) -> Result<Learning> {
    find(tx, id.as_str())?.ok_or_else(|| StoreError::UnknownLearning(id.to_string()))
}

fn active(tx: &Connection, id: &LearningId) -> Result<Learning> {
    let learning = known(tx, id)?;
    match learning.state {
        LearningState::Active => Ok(learning),
        state => {
            Err(StoreError::LearningNotActive { id: learning.id, state, successor: learning.superseded_by })
        }
    }
}

/// An indexed learning, unless it is too new, or no longer active though the index does not know it yet.
fn candidate(conn: &Connection, doc: i64, before: Option<Timestamp>) -> Result<Option<Candidate>> {
    let sql = "SELECT l.* FROM learning_docs d JOIN learnings l ON l.id = d.learning_id
         WHERE d.doc = ?1 AND l.pruned_at IS NULL AND l.superseded_by IS NULL";
    let found: Option<Candidate> = conn.first(sql, [doc])?;
    Ok(found.filter(|found| before.is_none_or(|before| found.created_at_ms < before.as_millis())))
}
