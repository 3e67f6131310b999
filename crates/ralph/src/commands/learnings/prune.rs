//! `ralph learnings prune`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use ralph_core::engine::stale;
use ralph_core::model::LearningId;
use ralph_core::recall::upkeep::UpkeepPolicy;
use ralph_core::store::LearningStore;
use serde_json::json;

use super::{ids, named_active, told};
use crate::command_error::{CommandError, CommandResult};
use crate::ui::{self, format, table};
use crate::workspace::{Workspace, now};
use crate::{input, output};

/// Archive learnings: the given ones, or all that are old and unused.
///
/// Without ids it does the same as the end of a run. Nothing is deleted: `ralph learnings restore ID` restores a learning.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Ids of the learnings; without ids, all that are old, unused and not pinned.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Age from which a learning is old (default: 90d).
    #[arg(long, value_name = "DURATION", value_parser = input::span, conflicts_with = "ids")]
    older_than: Option<Duration>,
    /// Time without use from which a learning is unused (default: 30d).
    #[arg(long, value_name = "DURATION", value_parser = input::span, conflicts_with = "ids")]
    unused_for: Option<Duration>,
    /// Show what would be archived, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let mut workspace = Workspace::open(dir)?;
    let pruned = prune(&mut workspace, args)?;
    if args.json {
        output::json(&json!({ "pruned": pruned }));
    } else if pruned.is_empty() {
        output::note("no learnings are old and unused");
    } else {
        tell(&workspace, args, &pruned);
    }
    Ok(ExitCode::SUCCESS)
}

fn prune(workspace: &mut Workspace, args: &Args) -> Result<Vec<LearningId>, CommandError> {
    if !args.ids.is_empty() {
        let named = ids(&named_active(workspace, &args.ids)?);
        if !args.dry_run {
            workspace.store.prune_learnings(&named, now())?;
        }
        return Ok(named);
    }
    let usual = UpkeepPolicy::default();
    let policy = UpkeepPolicy {
        prune_age: args.older_than.unwrap_or(usual.prune_age),
        prune_unused: args.unused_for.unwrap_or(usual.prune_unused),
        ..usual
    };
    Ok(if args.dry_run {
        stale(&workspace.store, &policy, now())?
    } else {
        workspace.store.prune_stale(&policy, now())?
    })
}

fn tell(workspace: &Workspace, args: &Args, pruned: &[LearningId]) {
    let doing = if args.dry_run {
        "would archive"
    } else {
        "archived"
    };
    for id in pruned {
        output::line(told(doing, workspace, id));
    }
    let counted = format::counted(pruned.len() as u64, "learning");
    if args.dry_run {
        output::line(format_args!("would archive {counted}"));
    } else {
        let line = format!("archived {counted}; `ralph learnings restore ID` restores one");
        output::line(table::wrap(&line, ui::width()));
    }
}
