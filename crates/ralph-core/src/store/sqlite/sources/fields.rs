//! A task of a file as the plan knows tasks.

use crate::files::digest;
use crate::model::{Key, NewTask, Phase, Status, TaskEdit, TaskId};
use crate::plan_files::DraftTask;
use crate::store::ImportedTask;

/// What the file says of a task, in short: only where that changed is the task changed.
pub(super) fn look_of(task: &DraftTask) -> String {
    digest(&format!(
        "{:?}",
        (
            (&task.title, &task.description, &task.phase, &task.verify),
            (&task.files, &task.done_when, &task.commit, &task.markers),
            (&task.priority, &task.model),
        )
    ))
}

fn key_of(task: &DraftTask) -> Option<Key> {
    let key = Some(&task.name).filter(|_| task.named_by_author);
    key.and_then(|key| Key::parse(key).ok())
}

fn phase_of(task: &DraftTask) -> Option<Phase> {
    task.phase
        .as_deref()
        .and_then(|phase| Phase::parse(phase).ok())
}

pub(super) fn new_of(task: &DraftTask) -> NewTask {
    NewTask {
        title: task.title.clone(),
        description: task.description.clone(),
        key: key_of(task),
        phase: phase_of(task),
        parent: None,
        after: Vec::new(),
        verify: task.verify.clone(),
        files: task.files.clone(),
        priority: task.priority,
        model: task.model.clone(),
        done_when: task.done_when.clone(),
        commit: task.commit.clone(),
        markers: task.markers.clone(),
    }
}

pub(super) fn edit_of(task: &DraftTask) -> TaskEdit {
    let new = new_of(task);
    TaskEdit {
        title: Some(new.title),
        description: Some(new.description),
        key: None,
        phase: Some(new.phase),
        parent: None,
        verify: Some(new.verify),
        files: Some(new.files),
        priority: Some(new.priority),
        model: Some(new.model),
        done_when: Some(new.done_when),
        commit: Some(new.commit),
        markers: Some(new.markers),
    }
}

pub(super) fn named(id: &TaskId, task: &DraftTask) -> ImportedTask {
    let name = if task.named_by_author {
        task.name.clone()
    } else {
        id.to_string()
    };
    ImportedTask {
        id: id.clone(),
        name,
        title: task.title.clone(),
        status: Status::Pending,
        verified: false,
        done_by: None,
    }
}
