//! `ralph task edit`.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::model::{Key, Phase, TaskEdit};
use ralph_core::store::PlanStore;

use crate::command_error::{CommandError, CommandResult};
use crate::workspace::{Workspace, now};

/// Change a task.
///
/// An empty value clears a field: --verify "". Changes apply from the task's next attempt.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task's id or key.
    task: String,
    /// New title.
    #[arg(long)]
    title: Option<String>,
    /// New description; `-` reads it from stdin.
    #[arg(short, long, value_name = "TEXT")]
    description: Option<String>,
    /// New key.
    #[arg(long)]
    key: Option<String>,
    /// New phase.
    #[arg(long, value_name = "N")]
    phase: Option<String>,
    /// New parent task.
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// New gate.
    #[arg(long, value_name = "CMD")]
    verify: Option<String>,
    /// New files.
    #[arg(long, value_name = "A,B")]
    files: Option<String>,
    /// New priority; lower numbers run first.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    priority: Option<i64>,
    /// New model.
    #[arg(long)]
    model: Option<String>,
    /// New description of when the task is done.
    #[arg(long, value_name = "TEXT")]
    done_when: Option<String>,
    /// New commit message.
    #[arg(long, value_name = "MESSAGE")]
    commit: Option<String>,
}

pub fn run(dir: Option<&Path>, args: Args) -> CommandResult {
    let mut workspace = Workspace::open(dir)?;
    let task = workspace.task(&args.task)?;
    let key = |text: String| super::cleared(text).as_deref().map(Key::parse).transpose();
    let phase = |text: String| {
        super::cleared(text)
            .as_deref()
            .map(Phase::parse)
            .transpose()
    };
    let parent = args.parent.map(|name| match super::cleared(name) {
        Some(name) => workspace.task(&name).map(|task| Some(task.id)),
        None => Ok(None),
    });
    let edit = TaskEdit {
        title: args.title.as_deref().map(super::title).transpose()?,
        description: args.description.map(super::description).transpose()?,
        key: args.key.map(key).transpose()?,
        phase: args.phase.map(phase).transpose()?,
        parent: parent.transpose()?,
        verify: args.verify.map(super::cleared),
        files: args.files.as_deref().map(super::files),
        priority: args.priority,
        model: args.model.map(|model| super::model(&workspace, model)),
        done_when: args.done_when.map(super::cleared),
        commit: args.commit.map(super::cleared),
        ..TaskEdit::default()
    };
    if edit.is_empty() {
        return Err(CommandError::usage("nothing to change")
            .hint("pass an option such as --title or --verify; see `ralph task edit --help`"));
    }
    workspace.store.edit_task(&task.id, &edit, now())?;
    Ok(ExitCode::SUCCESS)
}
