//! `ralph learnings pin`.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::store::LearningStore;
use serde_json::json;

use super::{cell, ids, named};
use crate::command_error::CommandResult;
use crate::output;
use crate::workspace::Workspace;

/// Pin learnings: Ralph never withholds or prunes them.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Ids of the learnings.
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Unpin them.
    #[arg(long)]
    off: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let mut workspace = Workspace::open(dir)?;
    let learnings = named(&workspace, &args.ids)?;
    for learning in &learnings {
        workspace.store.pin_learning(&learning.id, !args.off)?;
    }
    let done = if args.off { "unpinned" } else { "pinned" };
    if args.json {
        output::json(&json!({ done: ids(&learnings) }));
    } else {
        for learning in &learnings {
            output::line(format_args!("{done} {}", cell(learning.id.as_str())));
        }
    }
    Ok(ExitCode::SUCCESS)
}
