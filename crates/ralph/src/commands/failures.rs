//! `ralph failures list|show`: the reports of counted failures.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use ralph_core::model::{RunId, Task};
use ralph_core::store::{FailureFilter, FailureRow, HistoryStore, RunStore};
use ralph_core::text::{clean, one_line};

use crate::command_error::{CommandError, CommandResult};
use crate::ui::{format, style, table::Table};
use crate::workspace::{Workspace, ago};
use crate::{input, output};

/// The failures commands.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    List(ListArgs),
    Show(ShowArgs),
}

/// List failures, oldest first.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Only failures of this task (id or key).
    #[arg(long)]
    task: Option<String>,
    /// Only failures of this error category, for example test_failure or timeout.
    #[arg(long, value_name = "C")]
    category: Option<String>,
    /// Only failures newer than this: 7d, 12h.
    #[arg(long, value_name = "DURATION", value_parser = input::span)]
    newer_than: Option<Duration>,
    /// Only failures of this run.
    #[arg(long)]
    run: Option<String>,
    /// Show at most N failures, the newest.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Show the full failure reports of a task.
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// The task's id or key.
    task: String,
    /// The attempt's number in `ralph history`; all attempts if omitted.
    attempt: Option<u32>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, command: &Command) -> CommandResult {
    let workspace = Workspace::look(dir)?;
    match command {
        Command::List(args) => list(&workspace, args),
        Command::Show(args) => show(&workspace, args),
    }
}

fn list(workspace: &Workspace, args: &ListArgs) -> CommandResult {
    let task = args
        .task
        .as_deref()
        .map(|name| workspace.task(name))
        .transpose()?;
    let run = args.run.as_deref().map(|id| known_run(workspace, id));
    let filter = FailureFilter {
        task: task.map(|task| task.id),
        category: args.category.clone(),
        since: args.newer_than.map(ago),
        run: run.transpose()?,
    };
    let mut rows = workspace.store.failure_reports(&filter)?;
    let too_many = rows.len().saturating_sub(args.limit.unwrap_or(usize::MAX));
    rows.drain(..too_many);
    if args.json {
        output::json(&rows);
    } else if rows.is_empty() {
        output::note("no failures match; `ralph history` shows every attempt");
    } else {
        output::text(table(&rows).render());
    }
    Ok(ExitCode::SUCCESS)
}

/// The run with this id.
pub(super) fn known_run(workspace: &Workspace, id: &str) -> Result<RunId, CommandError> {
    let run = RunId::from_stored(id.trim());
    match workspace.store.run(&run)? {
        Some(_) => Ok(run),
        None => Err(CommandError::usage(format_args!("unknown run `{id}`"))
            .hint("run `ralph history --json` to see the run of each attempt")),
    }
}

fn table(rows: &[FailureRow]) -> Table {
    let mut table = Table::new(["TASK", "ATTEMPT", "MODEL", "WHEN", "CATEGORY", "REASON"]);
    for row in rows {
        table.row([
            cell(name(row)),
            row.attempt.to_string(),
            cell(&row.model),
            format::time(row.created_at),
            cell(row.report.error_category.as_deref().unwrap_or("-")),
            cell(&row.report.why_it_failed),
        ]);
    }
    table
}

fn show(workspace: &Workspace, args: &ShowArgs) -> CommandResult {
    let task = workspace.task(&args.task)?;
    let mut rows = workspace.store.failure_reports(&FailureFilter {
        task: Some(task.id.clone()),
        ..FailureFilter::default()
    })?;
    if let Some(attempt) = args.attempt {
        let known: Vec<String> = rows.iter().map(|row| row.attempt.to_string()).collect();
        rows.retain(|row| row.attempt == attempt);
        if rows.is_empty() {
            return Err(no_such_attempt(&task, attempt, &known));
        }
    }
    if args.json {
        output::json(&rows);
    } else if rows.is_empty() {
        output::note(format_args!("{} has no failures", task.name()));
    } else {
        let reports: Vec<String> = rows.iter().map(in_full).collect();
        output::text(reports.join("\n"));
    }
    Ok(ExitCode::SUCCESS)
}

fn no_such_attempt(task: &Task, attempt: u32, known: &[String]) -> CommandError {
    let name = task.name();
    let error = CommandError::usage(format_args!(
        "attempt {attempt} of {name} has no failure report"
    ));
    if known.is_empty() {
        error.hint(format_args!(
            "run `ralph history {name}` to see its attempts"
        ))
    } else {
        error.hint(format_args!("attempts with a report: {}", known.join(", ")))
    }
}

/// A report, readable: one-line facts first, then each text under its heading.
fn in_full(row: &FailureRow) -> String {
    let report = &row.report;
    let heading = format!("{} attempt {}", cell(name(row)), row.attempt);
    let title = cell(&row.title);
    let mut text = format!("{}: {title}\n", style::paint(style::BOLD, heading));
    let mut fact = |label: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("{label:<10} {value}\n"));
        }
    };
    fact("when", &format::time(row.created_at));
    fact(
        "run",
        &row.run_id
            .as_ref()
            .map_or(String::new(), |id| cell(id.as_str())),
    );
    fact("model", &cell(&row.model));
    fact("outcome", &outcome(row));
    fact(
        "category",
        &cell(report.error_category.as_deref().unwrap_or_default()),
    );
    fact(
        "files",
        &one_line(&report.relevant_files.join(", "), usize::MAX),
    );
    if report.auto {
        fact("report", "written by Ralph (the agent gave none)");
    } else {
        fact("report", "written by the agent");
    }
    let parts = [
        ("what was tried", Some(report.what_was_tried.as_str())),
        ("why it failed", Some(report.why_it_failed.as_str())),
        ("stack trace", report.stack_trace_snippet.as_deref()),
        ("suggestion", report.retry_suggestion.as_deref()),
        ("excerpt", report.excerpt.as_deref()),
    ];
    for (label, part) in parts {
        let part = clean(part.unwrap_or_default());
        if !part.trim().is_empty() {
            text.push_str(&format!("\n{}\n", style::paint(style::DIM, label)));
            for line in part.trim_end().lines() {
                text.push_str(format!("  {line}").trim_end());
                text.push('\n');
            }
        }
    }
    text
}

fn outcome(row: &FailureRow) -> String {
    let outcome = row.outcome.as_str().replace('_', " ");
    match &row.error_type {
        Some(error) => format!("{outcome} ({})", cell(&error.to_string())),
        None => outcome,
    }
}

fn name(row: &FailureRow) -> &str {
    row.key
        .as_ref()
        .map_or(row.task_id.as_str(), |key| key.as_str())
}

/// A text of the database in one line.
fn cell(text: &str) -> String {
    one_line(text, 500)
}
