//! The end of a run: near-duplicate learnings are merged and the old and unused archived, which can both be undone; logs
//! that are too old or too many go.

use std::time::{Duration, Instant};

use super::run_context::RunContext;
use super::run_end::Result;
use crate::event::EventKind;
use crate::logs::{Protected, Pruned, plan, prune};
use crate::memory::recall::upkeep::{UpkeepPolicy, merges};
use crate::model::{LearningId, RunId, Timestamp};
use crate::project::LOGS;
use crate::store::{LearningFilter, Merged, Random, Store, StoreError};

/// How long looking and deleting may take at the end of a run; what is left over goes at the end of the next.
const PATIENCE: Duration = Duration::from_secs(1);
/// The same where somebody waits for the run to end.
const LITTLE_PATIENCE: Duration = Duration::from_millis(200);
/// Some are deleted however long it took to look, or there would never be fewer.
const AT_LEAST: Duration = Duration::from_millis(100);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upkeep {
    pub merged: Vec<Merged>,
    pub pruned: Vec<LearningId>,
}

impl Upkeep {
    /// Merges where there are too many, then archives what is stale. Where something goes wrong, it holds what was done.
    pub fn run(
        &mut self,
        store: &mut Store,
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

pub fn merge_all(store: &mut Store, random: Random<'_>) -> Result<Vec<Merged>, StoreError> {
    let newest = store.learning_counts()?.newest;
    let active = store.learnings(&LearningFilter::active())?;
    let merged = store.merge_learnings(&merges(active), random)?;
    store.note_merged(newest)?;
    Ok(merged)
}

/// The logs that must stay, as the database knows them. `own` is the run that asks: what it wrote is all told of.
pub fn protected_logs(store: &Store, own: Option<&RunId>) -> Result<Protected, StoreError> {
    let open = store.open_runs()?.into_iter().map(|run| run.id);
    let others: Vec<RunId> = open.filter(|run| Some(run) != own).collect();
    Ok(Protected::new(&store.needed_logs()?, others))
}

impl RunContext<'_> {
    /// Tidies the learnings and tells of it. What goes wrong is no reason for the run to have failed.
    pub(super) fn tidy_learnings(&mut self) -> Result {
        let now = self.clock.now();
        let mut done = Upkeep::default();
        let result = done.run(self.store, &UpkeepPolicy::default(), now, self.random);
        if done != Upkeep::default() {
            let Upkeep { merged, pruned } = done;
            let made = merged.iter().map(|merge| &merge.into);
            let touched: Vec<LearningId> = made.chain(&pruned).cloned().collect();
            let undo = self.store.note_batch(&touched, self.random)?;
            self.tell(EventKind::LearningsTidied { merged, pruned, undo: Some(undo) })?;
        }
        match result {
            Err(error) => self.warn(format!("cannot merge and archive learnings: {error}")),
            Ok(()) => Ok(()),
        }
    }

    /// Deletes logs as the settings want it and tells of it. What goes wrong is no reason for the run to have failed. A
    /// person who interrupted the run waits for its end.
    pub(super) fn prune_logs(&mut self, interrupted: bool) -> Result {
        let patience = if interrupted { LITTLE_PATIENCE } else { PATIENCE };
        let started = Instant::now();
        let limits = &self.settings.logs;
        if limits.is_endless() {
            return Ok(());
        }
        let dir = match self.ralph_dir() {
            Ok(dir) => dir.join(LOGS),
            Err(error) => return self.warn(format!("cannot delete old logs: .ralph: {error}")),
        };
        let broken = |error: std::io::Error| Some(format!("{}: {error}", dir.display()));
        let (pruned, error) = match protected_logs(self.store, Some(&self.id)) {
            Err(error) => (Pruned::default(), Some(error.to_string())),
            Ok(protected) => match plan(&dir, &protected, limits, self.clock.now()) {
                Err(error) => (Pruned::default(), broken(error)),
                Ok(files) => {
                    let left = patience.saturating_sub(started.elapsed()).max(AT_LEAST);
                    let (pruned, error) = prune(&dir, &files, left);
                    (pruned, error.and_then(broken))
                }
            },
        };
        if pruned.files > 0 {
            self.tell(EventKind::LogsPruned { files: pruned.files, bytes: pruned.bytes })?;
        }
        match error {
            Some(error) => self.warn(format!("cannot delete some old logs: {error}")),
            None => Ok(()),
        }
    }
}
