//! Fewer conflicts by planning: which ready tasks are better claimed later, because they are likely to change the same files as
//! work in progress.

use std::collections::{BTreeSet, HashMap};

use super::run_context::RunContext;
use crate::model::{Task, TaskId};
use crate::similar_tasks::{MOST_CANDIDATES, Profile, files_of_alike, lookup};
use crate::store::{Purpose, Store, StoreError};

/// Ready tasks that are looked at.
const LOOKED_AT: usize = 24;

/// The files that tasks are expected to change, remembered for the run.
#[derive(Debug, Default)]
pub(super) struct ExpectedFiles(HashMap<TaskId, BTreeSet<String>>);

impl ExpectedFiles {
    fn of(&mut self, store: &Store, id: &TaskId) -> Result<&BTreeSet<String>, StoreError> {
        if !self.0.contains_key(id) {
            let files = expected(store, &store.task(id.as_str())?)?;
            self.0.insert(id.clone(), files);
        }
        Ok(self.0.entry(id.clone()).or_default())
    }

    /// What an attempt taught about its task.
    pub(super) fn forget(&mut self, id: &TaskId) {
        self.0.remove(id);
    }
}

/// The files that a task declares, those that its own attempts changed, and those that tasks like it changed.
fn expected(store: &Store, task: &Task) -> Result<BTreeSet<String>, StoreError> {
    let mut files: BTreeSet<String> = task.files.iter().cloned().collect();
    let profile = Profile::of(task);
    let frequencies = store.frequencies(profile.terms())?;
    let tried = store.tried(&lookup(&profile, &frequencies), &task.id, MOST_CANDIDATES)?;
    files.extend(files_of_alike(&profile, &tried, &frequencies));
    files.extend(store.changed_files(&task.id)?);
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
        let mut busy = BTreeSet::new();
        for claim in working {
            busy.extend(self.expected_files.of(self.store, &claim.task_id)?.iter().cloned());
        }
        let mut later = Vec::new();
        if busy.is_empty() {
            return Ok(later);
        }
        for id in self.store.ready(&self.settings.scope, LOOKED_AT)? {
            if overlap(&busy, self.expected_files.of(self.store, &id)?) {
                later.push(id);
            }
        }
        Ok(later)
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
