//! The end of a run: near-duplicate learnings are merged and the old and unused archived, which can both be undone; logs
//! that are too old or too many go.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

use super::protection::ASIDE;
use super::run_context::RunContext;
use super::run_end::Result;
use crate::event::EventKind;
use crate::logs::{Limits, Protected, Pruned, plan, prune};
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

/// Deletes what was moved aside of protected files, a directory for each attempt, by the limits of logs.
fn prune_dirs(
    aside: &Path,
    limits: &Limits,
    now: Timestamp,
    patience: Duration,
) -> (Pruned, Option<io::Error>) {
    let started = Instant::now();
    let mut pruned = Pruned::default();
    // Not through a link that an agent put there.
    if !fs::symlink_metadata(aside).is_ok_and(|meta| meta.is_dir()) {
        return (pruned, None);
    }
    let entries = match fs::read_dir(aside) {
        Ok(entries) => entries.flatten(),
        Err(error) => return (pruned, Some(error)),
    };
    let mut dirs: Vec<(Timestamp, PathBuf, u64)> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| {
            let modified = Timestamp::from(entry.metadata().ok()?.modified().ok()?);
            Some((modified, entry.path(), bytes_below(&entry.path())))
        })
        .collect();
    dirs.sort();
    let mut total: u64 = dirs.iter().map(|(.., bytes)| bytes).sum();
    for (modified, path, bytes) in dirs {
        let too_old = limits.max_age.is_some_and(|most| now.since(modified) > most);
        let too_much = limits.max_bytes.is_some_and(|most| total > most);
        if !too_old && !too_much || started.elapsed() > patience {
            break;
        }
        if let Err(error) = fs::remove_dir_all(&path) {
            return (pruned, Some(error));
        }
        total = total.saturating_sub(bytes);
        pruned = Pruned { files: pruned.files + 1, bytes: pruned.bytes + bytes };
    }
    (pruned, None)
}

/// How much is in a directory, as far as it can be read.
fn bytes_below(dir: &Path) -> u64 {
    let mut open = vec![dir.to_owned()];
    let mut bytes = 0;
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => open.push(entry.path()),
                Ok(meta) => bytes += meta.len(),
                Err(_) => {}
            }
        }
    }
    bytes
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
        let aside = dir.with_file_name(ASIDE);
        let left = patience.saturating_sub(started.elapsed()).max(AT_LEAST);
        let (more, aside_error) = prune_dirs(&aside, limits, self.clock.now(), left);
        let pruned = Pruned { files: pruned.files + more.files, bytes: pruned.bytes + more.bytes };
        let error = error.or(aside_error.map(|error| format!("{}: {error}", aside.display())));
        if pruned.files > 0 {
            self.tell(EventKind::LogsPruned { files: pruned.files, bytes: pruned.bytes })?;
        }
        match error {
            Some(error) => self.warn(format!("cannot delete some old logs: {error}")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_moved_aside_goes_by_age_and_size_and_links_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let aside = dir.path().join("tampered");
        let now = Timestamp::from(std::time::SystemTime::now());
        let day = Duration::from_secs(86_400);
        for (name, age) in [("old", 3), ("older", 4), ("new", 0)] {
            fs::create_dir_all(aside.join(name).join("tests")).unwrap();
            fs::write(aside.join(name).join("tests/a"), [0; 1000]).unwrap();
            let modified = std::time::SystemTime::now() - day * age;
            fs::File::open(aside.join(name)).unwrap().set_modified(modified).unwrap();
        }
        std::os::unix::fs::symlink(dir.path(), aside.join("link")).unwrap();
        let left = || {
            let mut names: Vec<String> = fs::read_dir(&aside)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        for (limits, expected) in [
            (Limits { max_age: None, max_bytes: None }, &["link", "new", "old", "older"][..]),
            (Limits { max_age: Some(day * 7), max_bytes: Some(2500) }, &["link", "new", "old"]),
            (Limits { max_age: Some(day * 2), max_bytes: None }, &["link", "new"]),
        ] {
            let (_, error) = prune_dirs(&aside, &limits, now, Duration::from_secs(60));
            assert!(error.is_none(), "{error:?}");
            assert_eq!(left(), expected);
        }
        let (pruned, _) = prune_dirs(
            &aside.join("link"),
            &Limits { max_age: Some(Duration::ZERO), max_bytes: Some(0) },
            now,
            day,
        );
        assert_eq!(pruned.files, 0);
    }
}
