//! `ralph task …`: the plan.

mod add;
mod delete;
pub mod deps;
mod edit;
mod list;
mod mark;
mod show;
mod tree;

use std::path::Path;

use ralph_core::model::TITLE_CHARS;

use crate::command_error::{CommandError, CommandResult};
use crate::commands::run::{Crew, note_stranger};
use crate::input;
use crate::workspace::Workspace;

/// The task commands.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Add(add::Args),
    List(list::Args),
    Show(show::Args),
    Edit(edit::Args),
    /// Mark tasks as done; with --verify only if their gates pass.
    Done(mark::DoneArgs),
    /// Mark tasks as failed; tasks that depend on them do not run.
    Fail(mark::ReasonArgs),
    /// Make tasks pending again, and with them their finished parents.
    Reset(mark::Args),
    /// Skip tasks and their children; tasks that depend on them can run.
    Skip(mark::ReasonArgs),
    Delete(delete::Args),
    /// Show and change dependencies.
    #[command(subcommand)]
    Deps(deps::Command),
    Tree(tree::Args),
}

pub fn run(dir: Option<&Path>, command: Command) -> CommandResult {
    match command {
        Command::Add(args) => add::run(dir, args),
        Command::List(args) => list::run(dir, &args),
        Command::Show(args) => show::run(dir, &args),
        Command::Edit(args) => edit::run(dir, args),
        Command::Done(args) => mark::done(dir, &args),
        Command::Fail(args) => mark::fail(dir, &args),
        Command::Reset(args) => mark::reset(dir, &args),
        Command::Skip(args) => mark::skip(dir, &args),
        Command::Delete(args) => delete::run(dir, &args),
        Command::Deps(command) => deps::run(dir, &command),
        Command::Tree(args) => tree::run(dir, &args),
    }
}

/// A description given on the command line; `-` reads it from standard input.
fn description(text: String) -> Result<String, CommandError> {
    input::argument(text, "description")
}

/// Files given as a list with commas.
fn files(text: &str) -> Vec<String> {
    text.split(',')
        .map(str::trim)
        .filter(|file| !file.is_empty())
        .map(str::to_owned)
        .collect()
}

/// A title must be one line that says something and is not too long.
fn title(text: &str) -> Result<String, CommandError> {
    let title = ralph_core::text::plain_line(text, usize::MAX);
    let length = title.chars().count();
    if length == 0 {
        return Err(CommandError::usage("the title is empty"));
    }
    if length > TITLE_CHARS {
        return Err(CommandError::usage(format_args!(
            "the title has {length} characters; at most {TITLE_CHARS} are allowed"
        ))
        .hint("shorten it and put the rest into --description"));
    }
    Ok(title)
}

/// The model that a task asks for. One that the agent does not have is told of now, not in the middle of a run.
fn model(workspace: &Workspace, text: String) -> Option<String> {
    let model = cleared(text)?.trim().to_owned();
    // Settings that cannot be read are told of where they matter.
    if let Ok(crew) = workspace
        .settings()
        .and_then(|settings| Crew::of(&settings))
    {
        note_stranger(crew.agent(), &model);
    }
    Some(model)
}

/// An empty text clears a field.
fn cleared(text: String) -> Option<String> {
    Some(text).filter(|text| !text.trim().is_empty())
}
