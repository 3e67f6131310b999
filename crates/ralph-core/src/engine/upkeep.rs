//! Learnings at the end of a run: near-duplicates are merged, the old and unused are put away. Both can be undone.

use super::run::{EngineError, Run};
use crate::event::EventKind;
use crate::model::{LearningId, Timestamp};
use crate::recall::upkeep::{UpkeepPolicy, is_stale, merges};
use crate::store::{LearningFilter, LearningStore, Merged, Random, StoreError};

/// What upkeep did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upkeep {
    /// Learnings joined into new ones.
    pub merged: Vec<Merged>,
    /// Learnings put away.
    pub pruned: Vec<LearningId>,
}

impl Upkeep {
    /// Merges where there are too many, then puts away what is stale. What went wrong comes back beside what was done.
    pub fn run<S: LearningStore + ?Sized>(
        store: &mut S,
        policy: &UpkeepPolicy,
        now: Timestamp,
        random: Random<'_>,
    ) -> (Self, Option<StoreError>) {
        let mut done = Self::default();
        let result = done.all(store, policy, now, random);
        (done, result.err())
    }

    fn all<S: LearningStore + ?Sized>(
        &mut self,
        store: &mut S,
        policy: &UpkeepPolicy,
        now: Timestamp,
        random: Random<'_>,
    ) -> Result<(), StoreError> {
        let counts = store.learning_counts()?;
        if counts.active > policy.merge_above && counts.unmerged > 0 {
            // Few new ones are looked up one by one; many, and all are compared at once.
            let few = counts.unmerged.saturating_mul(10) < counts.active;
            self.merged = if few {
                let new = store.unmerged_learnings()?;
                let merged = store.merge_learnings(&merges(new), random)?;
                store.note_merged(counts.newest)?;
                merged
            } else {
                merge_all(store, random)?
            };
        }
        self.pruned = store.prune_stale(policy, now)?;
        Ok(())
    }
}

/// Merges all near-duplicates among the active learnings.
pub fn merge_all<S: LearningStore + ?Sized>(
    store: &mut S,
    random: Random<'_>,
) -> Result<Vec<Merged>, StoreError> {
    let newest = store.learning_counts()?.newest;
    let active = store.learnings(&LearningFilter::active())?;
    let merged = store.merge_learnings(&merges(active), random)?;
    store.note_merged(newest)?;
    Ok(merged)
}

/// What could be pruned now.
pub fn stale<S: LearningStore + ?Sized>(
    store: &S,
    policy: &UpkeepPolicy,
    now: Timestamp,
) -> Result<Vec<LearningId>, StoreError> {
    let old = LearningFilter {
        before: Some(policy.old_before(now)),
        ..LearningFilter::active()
    };
    let mut stale = store.learnings(&old)?;
    stale.retain(|learning| is_stale(learning, now, policy));
    Ok(stale.into_iter().map(|learning| learning.id).collect())
}

impl Run<'_, '_> {
    /// Tidies the learnings and tells of it. What goes wrong is no reason for the run to have failed.
    pub(super) fn tidy_learnings(&mut self) -> Result<(), EngineError> {
        let now = self.engine.clock.now();
        let policy = UpkeepPolicy::default();
        let (done, error) = Upkeep::run(self.engine.store, &policy, now, self.engine.random);
        if done != Upkeep::default() {
            let Upkeep { merged, pruned } = done;
            let made = merged.iter().map(|merge| &merge.into);
            let touched: Vec<LearningId> = made.chain(&pruned).cloned().collect();
            let undo = self.engine.store.note_batch(&touched, self.engine.random)?;
            self.tell(EventKind::LearningsTidied {
                merged,
                pruned,
                undo: Some(undo),
            })?;
        }
        if let Some(error) = error {
            let message = format!("cannot merge and prune learnings: {error}");
            self.tell(EventKind::Warning { message })?;
        }
        Ok(())
    }
}
