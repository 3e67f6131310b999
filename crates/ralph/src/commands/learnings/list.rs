//! `ralph learnings list`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use ralph_core::model::{Learning, Source};
use ralph_core::store::{LearningFilter, LearningStore};

use super::{State, Wanted, cell};
use crate::command_error::CommandResult;
use crate::ui::{format, table::Table};
use crate::workspace::{Workspace, ago, now};
use crate::{input, output};

/// List learnings, newest first; `*` marks pinned ones.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    wanted: Wanted,
    /// Only learnings from this source: agent, human, import, merge, agents_md.
    #[arg(long, value_name = "S")]
    source: Option<Source>,
    /// Only pinned learnings.
    #[arg(long)]
    pinned: bool,
    /// Only learnings newer than this: 7d, 12h.
    #[arg(long, value_name = "DURATION", value_parser = input::span)]
    newer_than: Option<Duration>,
    /// Only learnings older than this: 90d.
    #[arg(long, value_name = "DURATION", value_parser = input::span)]
    older_than: Option<Duration>,
    /// Show at most N learnings, the newest.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::look(dir)?;
    let mut learnings = workspace.store.learnings(&LearningFilter {
        source: args.source,
        pinned: args.pinned,
        since: args.newer_than.map(ago),
        before: args.older_than.map(ago),
        ..args.wanted.filter(&workspace)?
    })?;
    learnings.truncate(args.limit.unwrap_or(usize::MAX));
    if args.json {
        output::json(&learnings);
    } else if learnings.is_empty() {
        output::note("no learnings match; add one with `ralph learnings add TEXT`");
    } else {
        output::text(table(&learnings, args.wanted.state).render());
    }
    Ok(ExitCode::SUCCESS)
}

fn table(learnings: &[Learning], state: State) -> Table {
    let now = now();
    let mut table = Table::new([
        "", "ID", "CATEGORY", "STATE", "AGE", "SHOWN", "HELPED", "HURT", "CONTENT",
    ]);
    for learning in learnings {
        table.row([
            if learning.pinned { "*" } else { "" }.into(),
            cell(learning.id.as_str()),
            cell(&learning.category),
            match state {
                State::Active => String::new(),
                _ => learning.state.to_string(),
            },
            format::age(now.since(learning.created_at)),
            learning.shown.to_string(),
            learning.record.helpful.to_string(),
            learning.record.harmful.to_string(),
            cell(&learning.content),
        ]);
    }
    table
}
