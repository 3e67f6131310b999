//! `ralph task add`.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::model::{Key, NewTask, Phase};
use ralph_core::store::{PlanStore, Scope};

use crate::command_error::CommandResult;
use crate::output;
use crate::ui::lines;
use crate::workspace::{Workspace, now, random};

/// Add a task; prints its id and nothing else, with --json the task.
///
/// Wherever a task is named, its id or its key will do.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What is to be done, in a line.
    title: String,
    /// What is to be done, in full; `-` reads it from standard input.
    #[arg(short, long, value_name = "TEXT")]
    description: Option<String>,
    /// Your own name for it, unique in the project: 1.3, 12-01, V4.
    #[arg(long)]
    key: Option<String>,
    /// The part of the plan it belongs to: 2, 2.1.
    #[arg(long, value_name = "N")]
    phase: Option<String>,
    /// The task it is a part of.
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// A task that must be done before; may be given several times.
    #[arg(long, value_name = "ID")]
    after: Vec<String>,
    /// The gate: a command that exits 0 only when the task is really done.
    #[arg(long, value_name = "CMD")]
    verify: Option<String>,
    /// Files it is about.
    #[arg(long, value_name = "A,B")]
    files: Option<String>,
    /// Lower numbers come first.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    priority: i64,
    /// The model it needs.
    #[arg(long)]
    model: Option<String>,
    /// What tells in words that it is done.
    #[arg(long, value_name = "TEXT")]
    done_when: Option<String>,
    /// The message of the commit that Ralph makes of its work, where it commits.
    #[arg(long, value_name = "MESSAGE")]
    commit: Option<String>,
    /// Print JSON.
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
