//! What `tasks.md` is to show: boxes, and blocks of tasks it does not have.

use crate::model::{Status, Task, TaskId};
use crate::plan_files::{DraftTask, tasks_md};
use crate::recovery::{Evidence, Failure, FailureBlock, FixKey, FixTask, Original};
use crate::store::{FiledTask, Tick, UnfiledTask};

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
pub(super) fn block_of(unfiled: &UnfiledTask, text: &str, folder: Option<&str>) -> String {
    let task = &unfiled.task;
    let Some(fix) = &unfiled.fix else {
        return tasks_md::render(&draft_of(task), tasks_md::VerifyAs::Code);
    };
    let failure = Failure::of(Evidence {
        key: fix.original.clone(),
        failed_block: Some(FailureBlock {
            error: Some(fix.error.clone()),
            attempted_fix: fix.attempted.clone(),
            status: None,
        }),
        ..Evidence::default()
    });
    let as_code = |command: &String| match command.contains(['`', '\n']) {
        true => command.clone(),
        false => format!("`{command}`"),
    };
    let raw = tasks_md::verify_field(text, &fix.original);
    let verify = raw.or_else(|| task.verify.as_ref().map(as_code));
    let own: Vec<String> = task.files.clone();
    FixTask::new(
        FixKey(task.name().to_owned()),
        &failure,
        &Original {
            files: &own,
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
