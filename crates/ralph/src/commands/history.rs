//! `ralph history`.

use std::path::Path;

use ralph_core::model::{Attempt, Task, Timestamp};
use serde::Serialize;
use serde_json::Value;

use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::ui::format;
use crate::workspace::{Workspace, interrupted_tasks, now};

/// Show all attempts and your notes to them, oldest first.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task's id or key; all tasks if omitted.
    task: Option<String>,
    /// Only attempts of this run; `ralph runs` lists them.
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Why there is nothing to show.
pub fn none_yet(workspace: &Workspace, task: Option<&Task>) -> Result<&'static str, CommandError> {
    let interrupted = interrupted_tasks(&workspace.store)?;
    let claims = workspace.store.claims()?;
    let begun = claims.iter().map(|claim| &claim.task_id);
    let mut begun = begun.filter(|id| task.is_none_or(|task| task.id == **id));
    Ok(match begun.next() {
        Some(id) if interrupted.contains_key(id) => {
            "no attempts recorded yet; one was interrupted by a crash, and the next `ralph run` records it"
        }
        Some(_) => "no attempts recorded yet; one is in progress: `ralph logs -f` follows it",
        None => "no attempts yet; start a run with `ralph run`",
    })
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::open_to_read(dir)?;
    let task = workspace.optional_task(args.task.as_deref())?;
    let run = args.run.as_deref().map(|id| workspace.run(id)).transpose()?;
    let mut attempts = workspace.store.history(task.as_ref().map(|task| &task.id))?;
    let mut sessions = workspace.store.side_sessions(task.as_ref().map(|task| &task.id))?;
    let mut notes = workspace.notes(task.as_ref().map(|task| &task.id))?;
    let mut none = none_yet(&workspace, task.as_ref())?;
    if let Some(run) = run {
        attempts.retain(|attempt| attempt.run_id.as_ref() == Some(&run.id));
        sessions.retain(|session| session.run_id == run.id);
        notes.retain(|note| {
            let shown_in = |one: &Attempt| Some(one.attempt_number) == note.attempt_number;
            attempts.iter().any(|attempt| attempt.task_id == note.task_id && shown_in(attempt))
        });
        none = "this run made no such attempts";
    }
    let mut rows: Vec<(Timestamp, Value)> = Vec::new();
    for attempt in &attempts {
        rows.push((attempt.started_at, row("task", attempt)?));
    }
    for session in &sessions {
        rows.push((session.started_at, row(session.kind.as_str(), session)?));
    }
    for note in &notes {
        rows.push((note.created_at, row("note", note)?));
    }
    rows.sort_by_key(|(at, _)| *at);
    let rows: Vec<Value> = rows.into_iter().map(|(_, row)| row).collect();
    let tasks = workspace.store.tasks(None)?;
    let names = tasks.iter().map(|task| (task.id.clone(), task.name().to_owned())).collect();
    output::list(args.json, &rows, none, || {
        let now = now();
        let mut text = format::side_sessions(&sessions, &names, now);
        if !attempts.is_empty() || text.is_empty() && notes.is_empty() {
            text += &format::history(&attempts, now);
        }
        text + &format::notes(&notes, &names, now)
    })
}

fn row(kind: &str, record: &impl Serialize) -> Result<Value, CommandError> {
    let mut row = serde_json::to_value(record).map_err(CommandError::environment)?;
    if let Some(row) = row.as_object_mut() {
        row.insert("kind".to_owned(), kind.into());
    }
    Ok(row)
}
