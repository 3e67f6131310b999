//! `ralph learnings search`: what a task's prompt would be given, and why.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ralph_core::engine::recall;
use ralph_core::model::Timestamp;
use ralph_core::recall::{Candidate, Ranked, RecallPolicy, RecallQuery, ScoreParts};
use serde::Serialize;
use serde_json::json;

use super::{batch, cell};
use crate::command_error::CommandResult;
use crate::ui::{self, scores, style, table};
use crate::workspace::{Workspace, now};
use crate::{input, output};

/// Search learnings, ranked as for a task's prompt.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The text to search for, such as a task's description; `-` reads it from stdin.
    #[arg(required_unless_present = "batch")]
    text: Option<String>,
    /// A task title to search for.
    #[arg(long, value_name = "T")]
    title: Option<String>,
    /// Show at most N learnings.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    limit: u32,
    /// Search only what was known at this time: 2026-01-31T12:00:00Z or 2026-01-31.
    #[arg(long, value_name = "TIME", value_parser = input::time)]
    before: Option<Timestamp>,
    /// Show how each score is calculated.
    #[arg(long)]
    explain: bool,
    /// Run many searches and print one line of JSON each. FILE (`-` for stdin) has lines
    /// {"id", "title", "description", "before"}.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["text", "title", "before"])]
    batch: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A learning that was found.
#[derive(Serialize)]
struct Found<'r> {
    id: &'r str,
    score: f64,
    category: &'r str,
    title: Option<&'r str>,
    content: &'r str,
    tags: &'r [String],
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<ScoreParts>,
}

pub fn run(dir: Option<&Path>, args: Args) -> CommandResult {
    let workspace = Workspace::look(dir)?;
    let policy = RecallPolicy::search(usize::try_from(args.limit).unwrap_or(usize::MAX));
    if let Some(file) = &args.batch {
        return batch::run(dir, &workspace, file, &policy, args.explain);
    }
    let query = RecallQuery {
        title: args.title.unwrap_or_default(),
        text: input::argument(args.text.unwrap_or_default(), "text")?,
        ..RecallQuery::default()
    };
    let as_of = args.before.unwrap_or_else(now);
    let recalled = recall(&workspace.store, &query, as_of, args.before, &policy)?;
    let found: Vec<Found<'_>> = recalled
        .chosen()
        .map(|(ranked, candidate)| found(ranked, candidate, args.explain))
        .collect();
    if args.json {
        output::json(&json!({ "results": found }));
    } else if found.is_empty() {
        output::note("no learnings match; `ralph learnings list` shows all learnings");
    } else {
        output::text(human(&found));
    }
    Ok(ExitCode::SUCCESS)
}

fn found<'r>(ranked: &'r Ranked, candidate: &'r Candidate, explain: bool) -> Found<'r> {
    Found {
        id: &candidate.id,
        score: ranked.scored.score,
        category: &candidate.category,
        title: Some(candidate.title.as_str()).filter(|title| !title.is_empty()),
        content: &candidate.content,
        tags: &candidate.tags,
        created_at: Timestamp::from_millis(candidate.created_at_ms),
        parts: explain.then_some(ranked.scored.parts),
    }
}

/// A table; where parts are to be shown, each row is followed by its own.
fn human(found: &[Found<'_>]) -> String {
    let mut table = table::Table::new(["SCORE", "ID", "CATEGORY", "CONTENT"]);
    for one in found {
        table.row([
            format!("{:.3}", one.score),
            cell(one.id),
            cell(one.category),
            cell(one.content),
        ]);
    }
    let rendered = table.render();
    let mut lines = rendered.lines();
    let mut text = format!("{}\n", lines.next().unwrap_or_default());
    for (line, one) in lines.zip(found) {
        text.push_str(&format!("{line}\n"));
        if let Some(parts) = &one.parts {
            let why = style::paint(style::DIM, scores::parts(parts));
            text.push_str(&table::wrap(&format!("       {why}"), ui::width()));
            text.push('\n');
        }
    }
    text
}
