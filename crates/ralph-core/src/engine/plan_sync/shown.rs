//! What the files of a spec are to show: boxes and blocks of `tasks.md`, lines of `.progress.md`, values of `.ralph-state.json`.

use std::collections::{BTreeMap, HashMap};

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

impl LogNews {
    pub(super) fn is_empty(&self) -> bool {
        self.task.is_none() && self.current.is_none() && self.learnings.is_empty()
    }
}

/// How far a spec is, kept between looks: asking the store for ten thousand tasks takes longer than an attempt.
#[derive(Clone, Debug, Default)]
pub(super) struct Standing {
    places: HashMap<TaskId, usize>,
    /// Tasks that are neither done nor skipped, in the order of the plan, and whether they are fixes.
    open: BTreeMap<usize, bool>,
}

impl Standing {
    pub(super) fn of(tasks: &[FiledTask]) -> Self {
        let places = tasks.iter().enumerate().map(|(place, task)| (task.id.clone(), place));
        let mut standing = Self { places: places.collect(), open: BTreeMap::new() };
        tasks.iter().for_each(|task| standing.update(task));
        standing
    }

    pub(super) fn update(&mut self, task: &FiledTask) {
        let Some(place) = self.places.get(&task.id) else { return };
        if task.status.satisfies() {
            self.open.remove(place)
        } else {
            self.open.insert(*place, task.is_fix)
        };
    }

    pub(super) fn has(&self, task: &TaskId) -> bool {
        self.places.contains_key(task)
    }
}

/// What goes into the log. `tasks` are those of which it may not tell yet.
pub(super) fn log_of(
    tasks: &[FiledTask],
    standing: &Standing,
    records: &[&FixRecord],
    news: &LogNews,
) -> News {
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
        current: news
            .current
            .clone()
            .or_else(|| standing.open.is_empty().then(|| "None: every task is done".to_owned())),
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
pub(super) fn state_of(standing: &Standing, records: &[&FixRecord]) -> StateNews {
    let total = standing.places.len();
    let mut open = standing.open.iter().filter(|(_, is_fix)| !**is_fix);
    StateNews {
        task_index: Some(open.next().map_or(total, |(place, _)| *place)),
        total_tasks: Some(total),
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
    /// Tasks whose boxes were looked at.
    pub(super) settled: Vec<FiledTask>,
}

/// How a task's box is to be, where it is not so.
pub(in crate::engine) fn mark_of(task: &FiledTask) -> Option<bool> {
    match (task.status, task.tick) {
        (_, Tick::Open | Tick::Unproven) if task.is_over => Some(true),
        // Who ticked it during an attempt may have been the agent.
        (_, Tick::Unproven) => Some(false),
        (Status::Done | Status::Skipped, _) | (_, Tick::Open) => None,
        (_, Tick::Ticked) => Some(false),
    }
}

pub(super) fn block_of(unfiled: &UnfiledTask, spec: &Spec<'_>, folder: Option<&str>) -> String {
    let task = &unfiled.task;
    let Some(fix) = &unfiled.fix else { return tasks_md::render(&draft_of(task)) };
    let (error, attempted_fix) = (Some(fix.error.clone()), fix.attempted.clone());
    let facts = FailureFacts { error, attempted_fix, status: None };
    let failure = Failure::of_block(&fix.original, facts, String::new());
    let as_code = |command: &String| {
        if command.contains(['`', '\n']) { command.clone() } else { format!("`{command}`") }
    };
    let raw = spec.verify_field(&fix.original);
    let verify = raw.or_else(|| task.verify.as_ref().map(as_code));
    FixTask::new(
        task.key_or_id().to_owned(),
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
        name: task.key_or_id().to_owned(),
        named_by_author: true,
        title: task.title.clone(),
        description: task.description.clone(),
        verify: task.verify.clone(),
        files: task.files.clone(),
        protect: task.protect.clone(),
        may_change: task.may_change.clone(),
        done_when: task.done_when.clone(),
        commit: task.commit.clone(),
        markers: task.markers.clone(),
        ..DraftTask::default()
    }
}
