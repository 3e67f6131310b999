//! Short ways to say news.

use crate::spec::state_json::{FixEntry, StateNews};

pub(super) fn entry(ids: &[&str], last_error: &str) -> FixEntry {
    let ids = ids.iter().map(|id| (*id).to_owned()).collect();
    FixEntry::new(ids, last_error.to_owned())
}

pub(super) fn fixes(total: usize, task: &str, ids: &[&str], last_error: &str) -> StateNews {
    StateNews {
        total_tasks: Some(total),
        fix_task_map: vec![(task.to_owned(), entry(ids, last_error))],
        ..StateNews::default()
    }
}

pub(super) fn index(task_index: usize) -> StateNews {
    StateNews {
        task_index: Some(task_index),
        ..StateNews::default()
    }
}
