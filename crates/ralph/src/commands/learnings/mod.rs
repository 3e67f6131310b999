//! `ralph learnings …`: what agents and people learned.

mod add;
mod batch;
mod edit;
mod export;
mod import;
mod list;
mod merge;
mod pin;
mod prune;
mod restore;
mod search;
mod show;
mod wording;

use std::path::Path;

use ralph_core::model::{Learning, LearningId, LearningState};
use ralph_core::store::{LearningFilter, LearningStore, StoreError};
use ralph_core::text::one_line;

use crate::command_error::{CommandError, CommandResult};
use crate::ui::{self, table};
use crate::workspace::Workspace;

/// The learnings commands.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    List(list::Args),
    Show(show::Args),
    Search(search::Args),
    Add(add::Args),
    Edit(edit::Args),
    Pin(pin::Args),
    Prune(prune::Args),
    Restore(restore::Args),
    Merge(merge::Args),
    Import(import::Args),
    Export(export::Args),
}

pub fn run(dir: Option<&Path>, command: Command) -> CommandResult {
    match command {
        Command::List(args) => list::run(dir, &args),
        Command::Show(args) => show::run(dir, &args),
        Command::Search(args) => search::run(dir, args),
        Command::Add(args) => add::run(dir, args),
        Command::Edit(args) => edit::run(dir, args),
        Command::Pin(args) => pin::run(dir, &args),
        Command::Prune(args) => prune::run(dir, &args),
        Command::Restore(args) => restore::run(dir, &args),
        Command::Merge(args) => merge::run(dir, &args),
        Command::Import(args) => import::run(dir, &args),
        Command::Export(args) => export::run(dir, &args),
    }
}

/// Which learnings, where several commands ask it alike.
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Only learnings in this state.
    #[arg(long, value_enum, default_value_t = State::Active)]
    state: State,
    /// Only learnings of this category.
    #[arg(long, value_name = "C")]
    category: Option<String>,
    /// Only learnings with this tag (case-insensitive).
    #[arg(long, value_name = "T")]
    tag: Option<String>,
    /// Only learnings from this task (id or key).
    #[arg(long)]
    task: Option<String>,
}

/// The states as people ask for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum State {
    /// Can be shown to agents.
    Active,
    /// Archived: not shown to agents.
    Pruned,
    /// Replaced by another learning.
    Superseded,
    /// All learnings.
    All,
}

impl Wanted {
    fn filter(&self, workspace: &Workspace) -> Result<LearningFilter, CommandError> {
        let task = self
            .task
            .as_deref()
            .map(|name| workspace.task(name))
            .transpose()?;
        Ok(LearningFilter {
            state: match self.state {
                State::Active => Some(LearningState::Active),
                State::Pruned => Some(LearningState::Pruned),
                State::Superseded => Some(LearningState::Superseded),
                State::All => None,
            },
            category: self.category.clone(),
            tag: self.tag.clone(),
            task: task.map(|task| task.id),
            ..LearningFilter::default()
        })
    }
}

/// The learnings with these ids, each once. All of them exist, or nothing is done.
fn named(workspace: &Workspace, ids: &[String]) -> Result<Vec<Learning>, CommandError> {
    let mut found: Vec<Learning> = Vec::new();
    for id in ids {
        let id = id.trim();
        if !found.iter().any(|learning| learning.id.as_str() == id) {
            found.push(workspace.store.learning(id)?);
        }
    }
    Ok(found)
}

/// The same, if all of them are active.
fn named_active(workspace: &Workspace, ids: &[String]) -> Result<Vec<Learning>, CommandError> {
    let found = named(workspace, ids)?;
    match found.iter().find(|l| l.state != LearningState::Active) {
        None => Ok(found),
        Some(other) => Err(StoreError::LearningNotActive {
            id: other.id.clone(),
            state: other.state,
            successor: other.superseded_by.clone(),
        }
        .into()),
    }
}

/// The ids of learnings.
fn ids(learnings: &[Learning]) -> Vec<LearningId> {
    learnings.iter().map(|l| l.id.clone()).collect()
}

/// A text of the database as a cell of a table, which cuts it.
fn cell(text: &str) -> String {
    one_line(text, 500)
}

/// What was done to a learning, in one line that fits.
fn told(doing: &str, workspace: &Workspace, id: &LearningId) -> String {
    let content = workspace.store.learning(id.as_str()).map(|l| l.content);
    let content = cell(&content.unwrap_or_default());
    let line = format!("{doing} {}: {content}", cell(id.as_str()));
    table::cut(&line, ui::width().min(160))
}
