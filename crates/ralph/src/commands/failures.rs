//! `ralph failures list|show`: the reports of counted failures. `ralph fingerprint`: how a failure is recognized.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::diagnose::{Fingerprint, fingerprint as fingerprint_of};
use ralph_core::model::{ReportRow, Task};
use ralph_core::store::{FailureFilter, FailureRow};
use ralph_core::text::{clean, clean_bytes, one_line};
use serde_json::json;

use crate::command_error::{CommandError, CommandResult};
use crate::ui::style;
use crate::ui::table::{Table, wrap_all};
use crate::workspace::{Workspace, ago};
use crate::{input, output};

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
    /// Only failures of this run; `ralph runs` lists them.
    #[arg(long, value_name = "ID")]
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
    let workspace = Workspace::open_to_read(dir)?;
    match command {
        Command::List(args) => list(&workspace, args),
        Command::Show(args) => show(&workspace, args),
    }
}

fn list(workspace: &Workspace, args: &ListArgs) -> CommandResult {
    let task = workspace.optional_task(args.task.as_deref())?;
    let run = args.run.as_deref().map(|id| workspace.run(id)).transpose()?;
    let filter = FailureFilter {
        task: task.map(|task| task.id),
        category: args.category.clone(),
        since: args.newer_than.map(ago),
        run: run.map(|run| run.id),
    };
    let mut rows = workspace.store.failure_reports(&filter)?;
    let too_many = rows.len().saturating_sub(args.limit.unwrap_or(usize::MAX));
    rows.drain(..too_many);
    let none = "no failures match; `ralph history` shows every attempt";
    output::list(args.json, &rows, none, || table(&rows))
}

fn table(rows: &[FailureRow]) -> String {
    let mut table = Table::new(["TASK", "ATTEMPT", "MODEL", "WHEN", "CATEGORY", "REASON"]);
    for row in rows {
        table.row([
            cell(name(row)),
            row.attempt.to_string(),
            cell(&row.model),
            row.created_at.local(),
            cell(row.report.error_category.as_deref().unwrap_or("-")),
            cell(&row.report.why_it_failed),
        ]);
    }
    table.render()
}

fn show(workspace: &Workspace, args: &ShowArgs) -> CommandResult {
    let task = workspace.task(&args.task)?;
    let mut rows = workspace
        .store
        .failure_reports(&FailureFilter { task: Some(task.id.clone()), ..FailureFilter::default() })?;
    if let Some(attempt) = args.attempt {
        let known: Vec<String> = rows.iter().map(|row| row.attempt.to_string()).collect();
        rows.retain(|row| row.attempt == attempt);
        if rows.is_empty() {
            return Err(no_such_attempt(&task, attempt, &known));
        }
    }
    let none = format!("{} has no failures", task.name());
    output::list(args.json, &rows, &none, || rows.iter().map(in_full).collect::<Vec<_>>().join("\n"))
}

fn no_such_attempt(task: &Task, attempt: u32, known: &[String]) -> CommandError {
    let name = task.name();
    let error = CommandError::usage(format_args!("attempt {attempt} of {name} has no failure report"));
    if known.is_empty() {
        error.hint(format_args!("run `ralph history {name}` to see its attempts"))
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
    let run = row.run_id.as_ref().map(|id| cell(id.as_str()));
    let author = if report.auto { "written by Ralph (the agent gave none)" } else { "written by the agent" };
    for (label, value) in [
        ("when", row.created_at.local()),
        ("run", run.unwrap_or_default()),
        ("model", cell(&row.model)),
        ("outcome", outcome(row)),
        ("category", cell(report.error_category.as_deref().unwrap_or_default())),
        ("files", one_line(&report.relevant_files.join(", "), usize::MAX)),
        ("report", author.to_owned()),
    ] {
        if !value.is_empty() {
            text.push_str(&format!("{label:<10} {value}\n"));
        }
    }
    text + &parts(report)
}

/// The texts of a report, each under its heading.
pub fn parts(report: &ReportRow) -> String {
    let mut text = String::new();
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
    &row.name
}

/// A text of the database in one line.
fn cell(text: &str) -> String {
    one_line(text, 500)
}

/// Show the fingerprint by which Ralph recognizes a repeated failure.
///
/// The coarse fingerprint is computed from the names of failing tests, else from compiler errors, else from the last error
/// lines. The fine fingerprint adds exceptions and messages. Times, numbers and paths are ignored.
#[derive(Debug, clap::Args)]
pub struct FingerprintArgs {
    /// A file with a command's output; stdin if omitted or `-`.
    file: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn fingerprint(dir: Option<&Path>, args: &FingerprintArgs) -> CommandResult {
    let bytes = input::file(dir, args.file.as_deref().unwrap_or(Path::new("-")))?;
    let found = fingerprint_of(&clean_bytes(&bytes));
    let document = json!({
        "coarse": found.as_ref().map(|found| &found.coarse),
        "fine": found.as_ref().map(|found| &found.fine),
        "kind": found.as_ref().map_or("none", |found| found.kind.as_str()),
    });
    output::print(args.json, &document, || match &found {
        Some(found) => output::text(wrap_all(&explain(found))),
        None => output::note("the output is empty: no fingerprint"),
    })
}

fn explain(found: &Fingerprint) -> String {
    let tool = found.tool.map(|tool| tool.0);
    let tool = tool.map(|tool| format!(", {tool}")).unwrap_or_default();
    let mut text = format!(
        "coarse  {}\nfine    {}\nkind    {}{tool}\n\nComputed from these normalized lines:\n",
        found.coarse,
        found.fine,
        found.kind.as_str()
    );
    for line in &found.evidence {
        text.push_str(&format!("  {}\n", one_line(line, 300)));
    }
    text
}
