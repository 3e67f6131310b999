//! Learnings at the end of a run: near-duplicates are merged, the old and unused are put away. Both can be undone.

use super::run::{EngineError, Run};
use crate::event::EventKind;
use crate::model::{LearningId, LearningState, Timestamp};
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
    /// Merges where there are too many, then puts away what is stale.
    pub fn run<S: LearningStore + ?Sized>(
        store: &mut S,
        policy: &UpkeepPolicy,
        now: Timestamp,
        random: Random<'_>,
    ) -> Result<Self, StoreError> {
        let counts = store.learning_counts()?;
        let mut merged = Vec::new();
        if counts.active > policy.merge_above && counts.unmerged {
            merged = merge_all(store, random)?;
        }
        let pruned = prune_stale(store, policy, now)?;
        Ok(Self { merged, pruned })
    }
}

/// Merges all near-duplicates among the active learnings.
pub fn merge_all<S: LearningStore + ?Sized>(
    store: &mut S,
    random: Random<'_>,
) -> Result<Vec<Merged>, StoreError> {
    let active = store.learnings(&active())?;
    let merged = store.merge_learnings(&merges(active), random)?;
    store.note_merged()?;
    Ok(merged)
}

/// What could be pruned now.
pub fn stale<S: LearningStore + ?Sized>(
    store: &S,
    policy: &UpkeepPolicy,
    now: Timestamp,
) -> Result<Vec<LearningId>, StoreError> {
    let age = i64::try_from(policy.prune_age.as_millis()).unwrap_or(i64::MAX);
    let old = LearningFilter {
        before: Some(Timestamp::from_millis(now.as_millis().saturating_sub(age))),
        ..active()
    };
    let mut stale = store.learnings(&old)?;
    stale.retain(|learning| is_stale(learning, now, policy));
    Ok(stale.into_iter().map(|learning| learning.id).collect())
}

/// Puts away what is old and unused.
pub fn prune_stale<S: LearningStore + ?Sized>(
    store: &mut S,
    policy: &UpkeepPolicy,
    now: Timestamp,
) -> Result<Vec<LearningId>, StoreError> {
    let stale = stale(store, policy, now)?;
    if !stale.is_empty() {
        store.prune_learnings(&stale, now)?;
    }
    Ok(stale)
}

fn active() -> LearningFilter {
    LearningFilter {
        state: Some(LearningState::Active),
        ..LearningFilter::default()
    }
}

impl Run<'_, '_> {
    /// Tidies the learnings and tells of it. What goes wrong is no reason for the run to have failed.
    pub(super) fn tidy_learnings(&mut self) -> Result<(), EngineError> {
        let now = self.engine.clock.now();
        let policy = UpkeepPolicy::default();
        match Upkeep::run(self.engine.store, &policy, now, self.engine.random) {
            Ok(done) if done == Upkeep::default() => Ok(()),
            Ok(Upkeep { merged, pruned }) => {
                self.tell(EventKind::LearningsTidied { merged, pruned })
            }
            Err(error) => self.tell(EventKind::Warning {
                message: format!("learnings were not tidied: {error}"),
            }),
        }
    }
}
