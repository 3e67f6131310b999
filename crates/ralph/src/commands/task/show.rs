//! `ralph task show`.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::model::Task;
use ralph_core::store::{HistoryStore, PlanStore};
use ralph_core::text::{clean, code_line, mask_secrets, one_line};

use crate::command_error::CommandResult;
use crate::output;
use crate::ui::format;
use crate::ui::style::Standing;
use crate::workspace::Workspace;

/// Show one task with all its details and attempts.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task's id or key.
    task: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::look(dir)?;
    let task = workspace.task(&args.task)?;
    if args.json {
        output::json(&task);
        return Ok(ExitCode::SUCCESS);
    }
    let store = &workspace.store;
    let relative = |task: &Task| {
        let standing = Standing::from(task).plain();
        format!("{} ({}, {standing})", task.name(), task.title)
    };
    let name = |id: &str| match store.task(id) {
        Ok(task) => relative(&task),
        Err(_) => format!("{id} (deleted)"),
    };
    let field = |label: &str, value: String| output::line(format_args!("{label:<10} {value}"));
    field("id", task.id.to_string());
    if let Some(key) = &task.key {
        field("key", key.to_string());
    }
    field("title", task.title.clone());
    let reason = task
        .reason
        .as_deref()
        .map(|reason| format!(" ({reason})"))
        .unwrap_or_default();
    let standing = Standing::from(&task);
    field("status", format!("{}{reason}", standing.word()));
    if let Some(phase) = task.phase {
        field("phase", phase.to_string());
    }
    if let Some(parent) = &task.parent_id {
        field("parent", name(parent.as_str()));
    }
    for child in store.children(&task.id)? {
        field("child", relative(&child));
    }
    for dependency in &task.depends_on {
        field("after", name(dependency.as_str()));
    }
    field("priority", task.priority.to_string());
    let verify = task.verify.as_deref();
    field(
        "verify",
        verify.map_or("none".to_owned(), |verify| code_line(verify, 500)),
    );
    if !task.files.is_empty() {
        field("files", code_line(&task.files.join(", "), 500));
    }
    if let Some(model) = &task.model {
        field("model", one_line(model, 100));
    }
    if let Some(done_when) = &task.done_when {
        field("done when", one_line(done_when, 500));
    }
    if let Some(commit) = &task.commit {
        field("commit", one_line(commit, 200));
    }
    field(
        "attempts",
        format!(
            "{} ({} failed in a row)",
            task.attempts, task.consecutive_failures
        ),
    );
    if !task.description.is_empty() {
        output::line(format_args!(
            "\n{}",
            mask_secrets(&clean(&task.description))
        ));
    }
    let attempts = store.history(Some(&task.id))?;
    if !attempts.is_empty() {
        output::line("");
        output::text(format::history(&attempts));
    }
    Ok(ExitCode::SUCCESS)
}
