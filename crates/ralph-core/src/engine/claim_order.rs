//! Fewer conflicts by planning: which ready tasks are better claimed later, because they are likely to change the same files as
//! work in progress.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use super::run_context::RunContext;
use crate::model::{Task, TaskId};
use crate::similar_tasks::{MOST_CANDIDATES, Profile, files_of_alike, lookup};
use crate::store::{Purpose, Store, StoreError};

/// Ready tasks that are looked at.
const LOOKED_AT: usize = 24;

/// For how long it is remembered which files a task may change: other workers learn more all the time.
const REMEMBERED: Duration = Duration::from_secs(60);

/// The files that tasks are expected to change, before their own attempts, and since when that is known.
#[derive(Debug, Default)]
pub(super) struct ExpectedFiles(HashMap<TaskId, (Duration, BTreeSet<String>)>);

impl ExpectedFiles {
    fn of(&mut self, store: &Store, id: &TaskId, now: Duration) -> Result<BTreeSet<String>, StoreError> {
        let known = self.0.get(id).filter(|(since, _)| now.saturating_sub(*since) < REMEMBERED);
        if let Some((_, files)) = known {
            return Ok(files.clone());
        }
        let files = expected(store, &store.task(id.as_str())?)?;
        self.0.insert(id.clone(), (now, files.clone()));
        Ok(files)
    }
}

/// The files that a task declares, and those that tasks like it changed.
fn expected(store: &Store, task: &Task) -> Result<BTreeSet<String>, StoreError> {
    let mut files: BTreeSet<String> = task.files.iter().cloned().collect();
    let profile = Profile::of(task);
    let frequencies = store.frequencies(profile.terms())?;
    let tried = store.tried(&lookup(&profile, &frequencies), &task.id, MOST_CANDIDATES)?;
    files.extend(files_of_alike(&profile, &tried, &frequencies));
    Ok(files)
}

/// Whether two tasks are likely to change the same file. A directory stands for all that is in it.
fn overlap(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    let is_in = |file: &String, dir: &String| {
        file == dir || file.strip_prefix(dir.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
    };
    one.iter().any(|one| other.iter().any(|other| is_in(one, other) || is_in(other, one)))
}

impl RunContext<'_> {
    /// Ready tasks whose files overlap with work in progress: they are claimed last.
    pub(super) fn overlapping(&mut self) -> Result<Vec<TaskId>, StoreError> {
        if !self.is_worker {
            return Ok(Vec::new());
        }
        let claims = self.store.claims()?.into_iter();
        let working = claims.filter(|claim| claim.purpose == Purpose::Attempt);
        let mut tasks: Vec<TaskId> = working.map(|claim| claim.task_id).collect();
        let under_way = tasks.len();
        if under_way == 0 {
            return Ok(Vec::new());
        }
        tasks.extend(self.store.ready(&self.settings.scope, LOOKED_AT)?);
        // What was changed already is asked anew each time: a task that conflicts is ready again at once.
        let mut files: HashMap<TaskId, BTreeSet<String>> = HashMap::new();
        for (task, file) in self.store.changed_files(&tasks)? {
            files.entry(task).or_default().insert(file);
        }
        let now = self.clock.steady();
        for id in &tasks {
            let expected = self.expected_files.of(self.store, id, now)?;
            files.entry(id.clone()).or_default().extend(expected);
        }
        let ready = tasks.split_off(under_way);
        let busy: BTreeSet<String> = tasks.iter().filter_map(|id| files.remove(id)).flatten().collect();
        let overlaps = |id: &TaskId| files.get(id).is_some_and(|files| overlap(&busy, files));
        Ok(ready.into_iter().filter(overlaps).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_overlap_by_name_and_by_directory() {
        let set = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect::<BTreeSet<_>>();
        for (one, other, expected) in [
            (&["src/a.rs"][..], &["src/a.rs", "b"][..], true),
            (&["src"], &["src/deep/a.rs"], true),
            (&["src/deep/a.rs"], &["src/"], true),
            (&["src/a.rs"], &["src/a.rs.bak"], false),
            (&[], &["src"], false),
        ] {
            assert_eq!(overlap(&set(one), &set(other)), expected, "{one:?} {other:?}");
        }
    }
}
