//! What `.progress.md` and `.ralph-state.json` are to say.

use super::LINE_CHARS;
use crate::model::{Status, TaskId};
use crate::recovery::FixHistory;
use crate::spec::progress_md::{Completed, News};
use crate::spec::state_json::{FixEntry, StateNews};
use crate::store::{FiledTask, FixRecord};
use crate::text::{mask_secrets, one_line};

/// What an attempt adds to the log of a spec.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct LogNews {
    /// Whose news they are; only its own spec's log gets them.
    pub task: Option<TaskId>,
    /// The task under way.
    pub current: Option<String>,
    /// What was learnt.
    pub learnings: Vec<String>,
}

/// The log's news; of the tasks that were looked at, those that are done.
pub(super) fn log_of(
    looked_at: &[FiledTask],
    tasks: &[FiledTask],
    records: &[&FixRecord],
    news: &LogNews,
) -> News {
    let done = looked_at.iter().filter(|task| task.status == Status::Done);
    let short = |hash: &String| hash.chars().take(7).collect::<String>();
    News {
        completed: done
            .map(|task| Completed {
                key: task.name.clone(),
                title: task.title.clone(),
                commit: task.commit.as_ref().map(short),
            })
            .collect(),
        current: news.current.clone().or_else(|| {
            let finished = tasks.iter().all(|task| task.status.satisfies());
            finished.then(|| "None: every task is done".to_owned())
        }),
        fix_history: records
            .iter()
            .filter_map(|record| {
                Some(FixHistory {
                    key: record.name.clone(),
                    fixes: record.fixes.clone(),
                    end: record.end?,
                })
            })
            .collect(),
        learnings: news
            .learnings
            .iter()
            .map(|line| one_line(&mask_secrets(line), LINE_CHARS))
            .collect(),
    }
}

/// Where the spec stands. The index stays at a task while its fixes are at work.
pub(super) fn state_of(tasks: &[FiledTask], records: &[&FixRecord]) -> StateNews {
    let open = |task: &FiledTask| !task.is_fix && !task.status.satisfies();
    StateNews {
        phase: None,
        task_index: Some(tasks.iter().position(open).unwrap_or(tasks.len())),
        total_tasks: Some(tasks.len()),
        task_iteration: None,
        fix_task_map: records
            .iter()
            .map(|record| {
                let entry = FixEntry::new(record.fixes.clone(), record.last_error.clone());
                (record.name.clone(), entry)
            })
            .collect(),
    }
}
