//! What is known of the files between two looks, so that an attempt costs the same with ten tasks and ten thousand.

use std::collections::HashMap;

use crate::files::Stamp;
use crate::model::TaskId;
use crate::store::{FiledTask, PlanCounts, SourceFile};

/// What is known of the files between two looks.
#[derive(Debug, Default)]
pub(in crate::engine) struct PlanFiles {
    /// The files, read once; new imports are seen by the next run.
    pub(super) sources: Vec<KnownFile>,
    /// Faults that were told already.
    pub(super) told: Vec<String>,
    /// Whether a gate ran since the last look.
    pub(in crate::engine) gate_ran: bool,
}

/// A file with its tasks as they were at the last look.
#[derive(Clone, Debug)]
pub(super) struct KnownFile {
    pub(super) source: SourceFile,
    pub(super) tasks: Vec<FiledTask>,
    /// Where each task stands in that list.
    pub(super) places: HashMap<TaskId, usize>,
    /// How the file looked on the disk after it was last read or written.
    pub(super) stamp: Stamp,
    /// Whether texts that were swapped out of the file, or of those beside it, may have to be brought in.
    pub(super) unsettled: bool,
    /// The whole plan's counts then: where they moved by more than one's own task, somebody else was at work.
    pub(super) counts: PlanCounts,
}

impl KnownFile {
    pub(super) fn new(source: SourceFile) -> Self {
        Self {
            source,
            tasks: Vec::new(),
            places: HashMap::new(),
            stamp: None,
            // A run that was killed may have left some.
            unsettled: true,
            counts: PlanCounts::default(),
        }
    }

    /// One of the tasks, or all of them.
    pub(super) fn only(&self, task: Option<&TaskId>) -> &[FiledTask] {
        match task {
            None => &self.tasks,
            Some(id) => match self.places.get(id) {
                Some(at) => self.tasks.get(*at..=*at).unwrap_or_default(),
                None => &[],
            },
        }
    }

    pub(super) fn take(&mut self, tasks: Vec<FiledTask>, counts: PlanCounts) {
        self.places = tasks
            .iter()
            .enumerate()
            .map(|(at, task)| (task.id.clone(), at))
            .collect();
        self.tasks = tasks;
        self.counts = counts;
    }
}
