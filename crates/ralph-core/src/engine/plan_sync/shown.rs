//! What the files of a spec are to show: boxes and blocks of `tasks.md`, lines of `.progress.md`, values of `.ralph-state.json`.

use crate::model::{Status, Task, TaskId};
use crate::plan::DraftTask;
use crate::plan::progress_md::{Completed, News};
use crate::plan::state_json::{FixEntry, StateNews};
use crate::plan::tasks_md::{self, Spec};
use crate::recovery::{Failure, FailureFacts, FixHistory, FixTask, Original};
use crate::store::{FiledTask, FixRecord, Tick, UnfiledTask};
use crate::text::{mask_secrets, one_line};

/// How much of a line is kept.
pub(super) const LINE_CHARS: usize = 300;

/// What an attempt adds to the log of a spec.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct LogNews {
    /// Whose news they are; only its own spec's log gets them.
    pub task: Option<TaskId>,
    pub current: Option<String>,
    pub learnings: Vec<String>,
}

pub(super) fn log_of(tasks: &[FiledTask], records: &[&FixRecord], news: &LogNews) -> News {
    let done = tasks.iter().filter(|task| task.status == Status::Done);
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
                Some(FixHistory { key: record.name.clone(), fixes: record.fixes.clone(), end: record.end? })
            })
            .collect(),
        learnings: news.learnings.iter().map(|line| one_line(&mask_secrets(line), LINE_CHARS)).collect(),
    }
}

/// Where the spec stands. The index stays at a task while its fixes are at work.
pub(super) fn state_of(tasks: &[FiledTask], records: &[&FixRecord]) -> StateNews {
    let open = |task: &FiledTask| !task.is_fix && !task.status.satisfies();
    StateNews {
        task_index: Some(tasks.iter().position(open).unwrap_or(tasks.len())),
        total_tasks: Some(tasks.len()),
        fix_task_map: records
            .iter()
            .map(|record| {
                let entry = FixEntry::new(record.fixes.clone(), record.last_error.clone());
                (record.name.clone(), entry)
            })
            .collect(),
    }
}

/// What a file shows after it was drawn.
#[derive(Default)]
pub(super) struct Shown {
    pub(super) ticked: Vec<(TaskId, bool)>,
    pub(super) filed: Vec<(TaskId, String)>,
}

/// How a task's box is to be, where it is not so.
pub(super) fn mark_of(task: &FiledTask) -> Option<bool> {
    match (task.status, task.tick) {
        (Status::Done, Tick::Open | Tick::Unproven) => Some(true),
        (Status::Done | Status::Skipped, _) | (_, Tick::Open | Tick::Unproven) => None,
        (_, Tick::Ticked) => Some(false),
    }
}

/// The block of a task that the file does not have.
pub(super) fn block_of(unfiled: &UnfiledTask, spec: &Spec<'_>, folder: Option<&str>) -> String {
    let task = &unfiled.task;
    let Some(fix) = &unfiled.fix else {
        return tasks_md::render(&draft_of(task));
    };
    let (error, attempted_fix) = (Some(fix.error.clone()), fix.attempted.clone());
    let facts = FailureFacts { error, attempted_fix, status: None };
    let failure = Failure::of_block(&fix.original, facts, String::new());
    let as_code = |command: &String| {
        if command.contains(['`', '\n']) { command.clone() } else { format!("`{command}`") }
    };
    let raw = spec.verify_field(&fix.original);
    let verify = raw.or_else(|| task.verify.as_ref().map(as_code));
    FixTask::new(
        task.name().to_owned(),
        &failure,
        &Original {
            files: &task.files,
            verify: verify.as_deref(),
            spec_folder: folder,
            error_category: fix.category.as_deref(),
        },
    )
    .block()
}

fn draft_of(task: &Task) -> DraftTask {
    DraftTask {
        name: task.name().to_owned(),
        named_by_author: true,
        title: task.title.clone(),
        description: task.description.clone(),
        verify: task.verify.clone(),
        files: task.files.clone(),
        done_when: task.done_when.clone(),
        commit: task.commit.clone(),
        markers: task.markers.clone(),
        ..DraftTask::default()
    }
}
