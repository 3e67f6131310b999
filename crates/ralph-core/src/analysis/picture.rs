//! All that the lines and the suggestion are read from.

use super::input::{Fact, Surroundings};
use super::seen::{Sameness, Seen};
use super::trouble::Trouble;
use super::words::{commonest, distinct};

/// The failures as they were seen, and what stands around them.
#[derive(Clone, Debug)]
pub(super) struct Picture<'f> {
    pub(super) seen: Vec<Seen<'f>>,
    pub(super) around: &'f Surroundings,
    /// Service and set-up troubles, where there are more of them than failures.
    pub(super) trouble: Option<Trouble>,
    /// The sameness that most failures share.
    top: Option<Sameness>,
}

impl<'f> Picture<'f> {
    pub(super) fn new(facts: &'f [Fact], around: &'f Surroundings) -> Self {
        let seen: Vec<Seen<'f>> = facts.iter().map(Seen::new).collect();
        let top = commonest(seen.iter().map(|one| &one.sameness)).map(|(top, _)| top.clone());
        Self {
            seen,
            around,
            trouble: Trouble::dominating(&around.recent_uncounted, facts.len()),
            top,
        }
    }

    pub(super) fn failures(&self) -> usize {
        self.seen.len()
    }

    /// The failures that are the commonest one, newest first.
    pub(super) fn alike(&self) -> Vec<&Seen<'f>> {
        let is_top = |one: &&Seen<'f>| self.top.as_ref() == Some(&one.sameness);
        self.seen.iter().filter(is_top).collect()
    }
}

/// The names of the tasks that failed, newest first.
pub(super) fn task_names(seen: &[&Seen<'_>]) -> Vec<String> {
    let tasks = distinct(seen.iter().map(|one| one.fact.task.as_str()));
    let first_of = |task: &str| seen.iter().find(|one| one.fact.task == task);
    tasks
        .into_iter()
        .filter_map(first_of)
        .map(|one| one.name())
        .collect()
}
