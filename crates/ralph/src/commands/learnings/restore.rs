//! `ralph learnings restore`.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::store::LearningStore;

use super::{cell, ids, named, told};
use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::workspace::{Workspace, now};

/// Restore learnings that were pruned, merged or edited.
///
/// The learning that replaced them is archived, and everything else it replaced is restored too. The id of a merged
/// learning undoes that merge; `--merge` undoes everything that one `ralph learnings merge` or the end of one run merged.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Ids of the learnings.
    #[arg(required_unless_present = "merge", value_name = "ID")]
    ids: Vec<String>,
    /// Undo a whole merge, given the id that it printed (m-...) or a learning that it created.
    #[arg(long, value_name = "ID")]
    merge: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let mut workspace = Workspace::open(dir)?;
    let mut wanted = ids(&named(&workspace, &args.ids)?);
    if let Some(merge) = &args.merge {
        let batch = workspace.store.batch(merge)?;
        if batch.is_empty() {
            return Err(
                CommandError::usage(format_args!("unknown merge `{}`", cell(merge)))
                    .hint("run `ralph learnings list --source merge` to see merged learnings"),
            );
        }
        wanted.extend(batch);
    }
    let done = workspace.store.restore_learnings(&wanted, now())?;
    if args.json {
        output::json(&done);
        return Ok(ExitCode::SUCCESS);
    }
    for id in &done.restored {
        output::line(told("restored", &workspace, id));
    }
    for id in &done.retired {
        let id = cell(id.as_str());
        output::line(format_args!("archived {id}, which had replaced it"));
    }
    for id in &wanted {
        if !done.restored.contains(id) && !done.retired.contains(id) {
            let id = cell(id.as_str());
            output::note(format_args!("{id} is already active"));
        }
    }
    Ok(ExitCode::SUCCESS)
}
