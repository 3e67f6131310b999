//! `ralph task add` and `ralph task edit`: what a person can say of a task.

use std::process::ExitCode;

use ralph_core::gate::Patterns;
use ralph_core::model::{Key, NewTask, Phase, TITLE_CHARS, TaskEdit};
use ralph_core::store::Scope;
use ralph_core::text::plain_line;

use crate::actions;
use crate::command_error::{CommandError, CommandResult};
use crate::commands::told;
use crate::facts::TaskFacts;
use crate::ui::lines;
use crate::workspace::Workspace;
use crate::{input, output};

#[derive(Debug, clap::Args)]
pub struct Fields {
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
    /// The gate: a command that exits 0 only if the task is done.
    #[arg(long, value_name = "CMD")]
    verify: Option<String>,
    /// The files that the task is about.
    #[arg(long, value_name = "A,B")]
    files: Option<String>,
    /// Files that attempts on the task may not change, such as tests/**; added to [gate] protect.
    #[arg(long, value_name = "A,B")]
    protect: Option<String>,
    /// Protected files that the task may change.
    #[arg(long, value_name = "A,B")]
    may_change: Option<String>,
    /// The priority, 0 unless you set it; lower numbers run first.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    priority: Option<i64>,
    /// The model to use for this task.
    #[arg(long)]
    model: Option<String>,
    /// How to tell that the task is done, in words.
    #[arg(long, value_name = "TEXT")]
    done_when: Option<String>,
    /// The commit message, if Ralph commits.
    #[arg(long, value_name = "MESSAGE")]
    commit: Option<String>,
}

impl Fields {
    /// What they change. An empty text clears a field.
    fn edit(self, workspace: &Workspace) -> Result<TaskEdit, CommandError> {
        let key = |text| cleared(text).as_deref().map(Key::parse).transpose();
        let phase = |text| cleared(text).as_deref().map(Phase::parse).transpose();
        let parent = |name| {
            let parent = workspace.optional_task(cleared(name).as_deref())?;
            Ok::<_, CommandError>(parent.map(|task| task.id))
        };
        Ok(TaskEdit {
            description: self.description.map(|text| input::argument(text, "description")).transpose()?,
            key: self.key.map(key).transpose()?,
            phase: self.phase.map(phase).transpose()?,
            parent: self.parent.map(parent).transpose()?,
            verify: self.verify.map(cleared),
            files: self.files.as_deref().map(words),
            protect: self.protect.as_deref().map(patterns).transpose()?,
            may_change: self.may_change.as_deref().map(patterns).transpose()?,
            priority: self.priority,
            model: self.model.map(model),
            done_when: self.done_when.map(cleared),
            commit: self.commit.map(cleared),
            ..TaskEdit::default()
        })
    }
}

/// Patterns of files, separated by commas.
fn patterns(text: &str) -> Result<Vec<String>, CommandError> {
    let patterns = words(text);
    match patterns.iter().find_map(|pattern| Patterns::refusal(pattern)) {
        Some(refusal) => Err(CommandError::usage(refusal)),
        None => Ok(patterns),
    }
}

/// Add a task and print its id.
///
/// Wherever a command takes a task, you can use its id or its key.
#[derive(Debug, clap::Args)]
pub struct AddArgs {
    /// What to do, in one line.
    title: String,
    #[command(flatten)]
    fields: Fields,
    /// A task that must be done first; can be repeated.
    #[arg(long, value_name = "ID")]
    after: Vec<String>,
    /// Print the task as JSON.
    #[arg(long)]
    json: bool,
}

pub fn add(workspace: &mut Workspace, args: AddArgs) -> CommandResult {
    let after = args.after.iter().flat_map(|names| words(names));
    let after = after.map(|name| workspace.task(&name).map(|task| task.id));
    let after = after.collect::<Result<_, _>>()?;
    let fields = args.fields.edit(workspace)?;
    let new = NewTask {
        title: title(&args.title)?,
        description: fields.description.unwrap_or_default(),
        key: fields.key.flatten(),
        phase: fields.phase.flatten(),
        parent: fields.parent.flatten(),
        after,
        verify: fields.verify.flatten(),
        files: fields.files.unwrap_or_default(),
        protect: fields.protect.unwrap_or_default(),
        may_change: fields.may_change.unwrap_or_default(),
        priority: fields.priority.unwrap_or_default(),
        model: fields.model.flatten(),
        done_when: fields.done_when.flatten(),
        commit: fields.commit.flatten(),
        ..NewTask::default()
    };
    let (task, receipt) = actions::add(workspace, &new)?;
    receipt.hints.iter().for_each(output::note);
    let id = task.id.clone();
    match args.json {
        true => output::json(&TaskFacts::read(workspace, &workspace.settings()?, id.as_str())?),
        false => output::line(&id),
    }
    if new.verify.is_none() && !workspace.has_project_gate() {
        // The new one first: that is where a gate is still in mind.
        let mut ungated = workspace.store.ungated(&Scope::All, true)?;
        ungated.sort_by_key(|task| task.task_id != id);
        let names: Vec<String> = ungated.iter().map(|task| task.name().to_owned()).collect();
        if let Some(ungated) = lines::ungated(names.len() as u64, &names) {
            output::note(ungated);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Change a task.
///
/// An empty value clears a field: --verify "". Changes apply from the task's next attempt.
#[derive(Debug, clap::Args)]
pub struct EditArgs {
    /// The task's id or key.
    task: String,
    /// New title.
    #[arg(long)]
    title: Option<String>,
    /// The model to use for the task's next attempt only.
    #[arg(long, value_name = "MODEL")]
    next_model: Option<String>,
    #[command(flatten)]
    fields: Fields,
}

pub fn edit(workspace: &mut Workspace, args: EditArgs) -> CommandResult {
    let task = workspace.task(&args.task)?;
    let title = args.title.as_deref().map(title).transpose()?;
    let next_model = args.next_model.map(model);
    let edit = TaskEdit { title, next_model, ..args.fields.edit(workspace)? };
    if edit.is_empty() {
        return Err(CommandError::usage("nothing to change")
            .hint("pass an option such as --title or --verify; see `ralph task edit --help`"));
    }
    told(actions::edit(workspace, task.id.as_str(), &edit))
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(',').map(str::trim);
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// A title must be one line that says something and is not too long.
pub fn title(text: &str) -> Result<String, CommandError> {
    let title = plain_line(text, usize::MAX);
    match title.chars().count() {
        0 => Err(CommandError::usage("the title is empty")),
        length if length > TITLE_CHARS => Err(CommandError::usage(format_args!(
            "the title has {length} characters; at most {TITLE_CHARS} are allowed"
        ))
        .hint("shorten it and put the rest into --description")),
        _ => Ok(title),
    }
}

/// The model that a task asks for.
fn model(text: String) -> Option<String> {
    Some(cleared(text)?.trim().to_owned())
}

/// An empty text clears a field.
fn cleared(text: String) -> Option<String> {
    Some(text).filter(|text| !text.trim().is_empty())
}
