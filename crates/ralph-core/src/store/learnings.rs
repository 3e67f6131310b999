//! Learnings as the store keeps them: looking them up, changing what becomes of them. Nothing is ever rewritten.

use serde::{Deserialize, Serialize};

use super::{Random, Result};
use crate::model::{Learning, LearningId, LearningState, NewLearning, Source, TaskId, Timestamp};
use crate::recall::upkeep::{Merge, UpkeepPolicy};
use crate::recall::{Candidate, Corpus, Lookup, Term};

/// Which learnings are wanted; all conditions must hold.
#[derive(Clone, Debug, Default)]
pub struct LearningFilter {
    /// In this state only.
    pub state: Option<LearningState>,
    /// Of this category.
    pub category: Option<String>,
    /// With this tag, regardless of case.
    pub tag: Option<String>,
    /// Learnt from this task.
    pub task: Option<TaskId>,
    /// From there.
    pub source: Option<Source>,
    /// Those whose place this one has taken.
    pub superseded_by: Option<LearningId>,
    /// Pinned ones only.
    pub pinned: bool,
    /// Learnt at this time or later.
    pub since: Option<Timestamp>,
    /// Learnt before this time.
    pub before: Option<Timestamp>,
}

impl LearningFilter {
    /// All that can be shown.
    #[must_use]
    pub fn active() -> Self {
        Self {
            state: Some(LearningState::Active),
            ..Self::default()
        }
    }
}

/// A learning from a file.
#[derive(Clone, Debug)]
pub struct ImportedLearning {
    /// Its id, where the file has one.
    pub id: Option<LearningId>,
    /// When it was learnt, where the file says so.
    pub created_at: Option<Timestamp>,
    /// What it says.
    pub learning: NewLearning,
}

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// New ones.
    pub added: Vec<LearningId>,
    /// Ids that were there already, with the same text.
    pub known: Vec<LearningId>,
}

/// A change to a learning; what is `None` stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LearningEdit {
    /// Another category.
    pub category: Option<String>,
    /// Another title; `Some(None)` takes it away.
    pub title: Option<Option<String>>,
    /// Another text.
    pub content: Option<String>,
    /// Other tags.
    pub tags: Option<Vec<String>>,
}

/// Learnings that were joined into a new one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merged {
    /// The new one.
    pub into: LearningId,
    /// Those it stands for.
    pub from: Vec<LearningId>,
}

/// What bringing back did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// These can be shown again.
    pub restored: Vec<LearningId>,
    /// These had taken their place and were put away.
    pub retired: Vec<LearningId>,
}

/// How much there is to tidy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LearningCounts {
    /// Active learnings.
    pub active: u64,
    /// Of those, how many came after near-duplicates were last looked for.
    pub unmerged: u64,
    /// The one that came last.
    pub newest: u64,
}

/// Insights: finding them, adding them, putting them away, bringing them back.
pub trait LearningStore {
    /// The learning with this id.
    fn learning(&self, id: &str) -> Result<Learning>;
    /// Those that match, newest first.
    fn learnings(&self, filter: &LearningFilter) -> Result<Vec<Learning>>;
    /// How many are active, and how many of them are new.
    fn learning_counts(&self) -> Result<LearningCounts>;
    /// How often each term occurs among active learnings.
    fn corpus(&self, terms: &[Term]) -> Result<Corpus>;
    /// The active learnings that have the most of these terms, learnt before a time if one is given; and in the
    /// corpus, how many carry each of their tags.
    fn candidates(
        &self,
        lookup: &[Lookup],
        before: Option<Timestamp>,
        most: usize,
        corpus: &mut Corpus,
    ) -> Result<Vec<Candidate>>;
    /// Adds one that comes from no attempt.
    fn add_learning(
        &mut self,
        new: &NewLearning,
        source: Source,
        now: Timestamp,
        random: Random<'_>,
    ) -> Result<LearningId>;
    /// Adds those of a file, all or none. Ids are kept and nothing is merged.
    fn import_learnings(
        &mut self,
        learnings: &[ImportedLearning],
        now: Timestamp,
        random: Random<'_>,
    ) -> Result<Imported>;
    /// Adds a changed copy that takes the place of an active one.
    fn edit_learning(
        &mut self,
        id: &LearningId,
        edit: &LearningEdit,
        now: Timestamp,
        random: Random<'_>,
    ) -> Result<LearningId>;
    /// Keeps a learning from being withheld and pruned, or ends that.
    fn pin_learning(&mut self, id: &LearningId, pinned: bool) -> Result<()>;
    /// Puts active learnings away.
    fn prune_learnings(&mut self, ids: &[LearningId], now: Timestamp) -> Result<()>;
    /// Undoes a pruning, a merge or an edit: what was put away can be shown again, and what had taken its place is put
    /// away with all else it stood for brought back.
    fn restore_learnings(&mut self, ids: &[LearningId], now: Timestamp) -> Result<Restored>;
    /// Joins learnings: a new row per merge with the best one's text, all tags and the sum of the counters.
    fn merge_learnings(&mut self, merges: &[Merge], random: Random<'_>) -> Result<Vec<Merged>>;
    /// Puts away what is old and long unused; gives what it was.
    fn prune_stale(&mut self, policy: &UpkeepPolicy, now: Timestamp) -> Result<Vec<LearningId>>;
    /// Active learnings that came after near-duplicates were last looked for, and what they nearly repeat.
    fn unmerged_learnings(&self) -> Result<Vec<Learning>>;
    /// Notes what was merged and put away together, under a name by which all of it can be undone.
    fn note_batch(&mut self, learnings: &[LearningId], random: Random<'_>) -> Result<String>;
    /// What was merged and put away together: by the batch's name, or by that of a learning in it. A merged learning of no
    /// batch is one by itself.
    fn batch(&self, name: &str) -> Result<Vec<LearningId>>;
    /// Notes that near-duplicates were looked for up to that one.
    fn note_merged(&mut self, newest: u64) -> Result<()>;
}
