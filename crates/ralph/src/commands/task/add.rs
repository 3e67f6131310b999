//! `ralph task add`.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::model::{Key, NewTask, Phase};
use ralph_core::store::{PlanStore, Scope};

use crate::command_error::CommandResult;
use crate::output;
use crate::ui::lines;
use crate::workspace::{Workspace, now, random};

/// Add a task and print its id.
///
/// Wherever a command takes a task, you can use its id or its key.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do, in one line.
    title: String,
    /// What to do, in full; `-` reads it from stdin.
    #[arg(short, long, value_name = "TEXT")]
    description: Option<String>,
    /// Your own short name for the task, unique in the project: 1.3, 12-01, V4.
    #[arg(long)]
    key: Option<String>,
    /// The phase of the plan: 2, 2.1.
    #[arg(long, value_name = "N")]
    phase: Option<String>,
    /// The parent task.
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// A task that must be done first; can be repeated.
    #[arg(long, value_name = "ID")]
    after: Vec<String>,
    /// The gate: a command that exits 0 only if the task is done.
    #[arg(long, value_name = "CMD")]
    verify: Option<String>,
    /// The files that the task is about.
    #[arg(long, value_name = "A,B")]
    files: Option<String>,
    /// The priority; lower numbers run first.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    priority: i64,
    /// The model to use for this task.
    #[arg(long)]
    model: Option<String>,
    /// How to tell that the task is done, in words.
    #[arg(long, value_name = "TEXT")]
    done_when: Option<String>,
    /// The commit message, if Ralph commits.
    #[arg(long, value_name = "MESSAGE")]
    commit: Option<String>,
    /// Print the task as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: Args) -> CommandResult {
    let mut workspace = Workspace::open_or_create(dir)?;
    let parent = args.parent.map(|name| workspace.task(&name)).transpose()?;
    let after = args
        .after
        .iter()
        .flat_map(|names| names.split(','))
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(|name| workspace.task(name).map(|task| task.id))
        .collect::<Result<Vec<_>, _>>()?;
    let new = NewTask {
        title: super::title(&args.title)?,
        description: args
            .description
            .map(super::description)
            .transpose()?
            .unwrap_or_default(),
        key: args.key.as_deref().map(Key::parse).transpose()?,
        phase: args.phase.as_deref().map(Phase::parse).transpose()?,
        parent: parent.map(|task| task.id),
        after,
        verify: args.verify.and_then(super::cleared),
        files: args.files.as_deref().map(super::files).unwrap_or_default(),
        priority: args.priority,
        model: args.model.and_then(|model| super::model(&workspace, model)),
        done_when: args.done_when.and_then(super::cleared),
        commit: args.commit.and_then(super::cleared),
        ..NewTask::default()
    };
    let id = workspace.store.add_task(&new, now(), &mut random)?;
    if args.json {
        output::json(&workspace.task(id.as_str())?);
    } else {
        output::line(&id);
    }
    if new.verify.is_none() && !workspace.has_project_gate() {
        let ungated = workspace.store.ungated(&Scope::All, true)?.len() as u64;
        let name = new.key.as_ref().map_or(id.as_str(), Key::as_str);
        if let Some(ungated) = lines::ungated(ungated, name) {
            output::note(ungated);
        }
    }
    Ok(ExitCode::SUCCESS)
}
