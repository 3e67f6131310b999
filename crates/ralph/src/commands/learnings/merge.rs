//! `ralph learnings merge`.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::engine::merge_all;
use ralph_core::model::{LearningId, LearningState};
use ralph_core::recall::upkeep::{Merge, best_first, merges};
use ralph_core::store::{LearningFilter, LearningStore, Merged};
use serde::Serialize;
use serde_json::json;

use super::{cell, ids, named_active};
use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::ui::progress::waiting;
use crate::ui::{self, table};
use crate::workspace::{Workspace, random};

/// Merge learnings: the given ones, or all near-duplicates.
///
/// The merged learning has the text of the best one, and the tags and records of all. The command prints an id;
/// `ralph learnings restore --merge ID` undoes the merge.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Ids of two or more learnings; without ids, Ralph merges all near-duplicates.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Show what would be merged, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A merge that was made, or would be.
#[derive(Serialize)]
struct Joined {
    into: Option<LearningId>,
    from: Vec<LearningId>,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let mut workspace = Workspace::open(dir)?;
    let joined = if args.dry_run {
        proposed(&workspace, args)?
            .into_iter()
            .map(|merge| Joined {
                into: None,
                from: ids(&merge.members),
            })
            .collect()
    } else {
        made(&mut workspace, args)?
            .into_iter()
            .map(|Merged { into, from }| Joined {
                into: Some(into),
                from,
            })
            .collect::<Vec<_>>()
    };
    let made: Vec<LearningId> = joined.iter().filter_map(|one| one.into.clone()).collect();
    let undo = match made.is_empty() {
        true => None,
        false => Some(workspace.store.note_batch(&made, &mut random)?),
    };
    if args.json {
        output::json(&json!({ "merged": joined, "undo": undo }));
    } else if joined.is_empty() {
        output::note("no near-duplicates among the active learnings");
    } else {
        for one in &joined {
            output::line(table::cut(&line(&workspace, one), ui::width()));
        }
        if let Some(undo) = undo {
            output::note(format_args!(
                "to undo: ralph learnings restore --merge {undo}"
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The one merge of the named learnings; none where no names were given.
fn of_named(workspace: &Workspace, args: &Args) -> Result<Option<Merge>, CommandError> {
    if args.ids.is_empty() {
        return Ok(None);
    }
    let members = named_active(workspace, &args.ids)?;
    if members.len() < 2 {
        return Err(CommandError::usage("a merge needs at least two learnings")
            .hint("pass two or more ids, or none to merge all near-duplicates"));
    }
    Ok(Some(Merge::of(best_first(members))))
}

fn proposed(workspace: &Workspace, args: &Args) -> Result<Vec<Merge>, CommandError> {
    if let Some(merge) = of_named(workspace, args)? {
        return Ok(vec![merge]);
    }
    let active = workspace.store.learnings(&LearningFilter {
        state: Some(LearningState::Active),
        ..LearningFilter::default()
    })?;
    Ok(waiting("searching for near-duplicates", || merges(active)))
}

fn made(workspace: &mut Workspace, args: &Args) -> Result<Vec<Merged>, CommandError> {
    let Some(merge) = of_named(workspace, args)? else {
        let store = &mut workspace.store;
        return Ok(waiting("merging near-duplicates", || {
            merge_all(store, &mut random)
        })?);
    };
    let merged = workspace.store.merge_learnings(&[merge], &mut random)?;
    if merged.is_empty() {
        return Err(
            CommandError::usage("another process has just changed these learnings")
                .hint("run `ralph learnings list` to see the active learnings, then retry"),
        );
    }
    Ok(merged)
}

fn line(workspace: &Workspace, joined: &Joined) -> String {
    let names: Vec<String> = joined.from.iter().map(|id| cell(id.as_str())).collect();
    let names = names.join(", ");
    let (doing, id) = match &joined.into {
        Some(into) => (format!("merged {names} into {into}"), Some(into)),
        None => (format!("would merge {names}"), joined.from.first()),
    };
    let content = id.and_then(|id| workspace.store.learning(id.as_str()).ok());
    let content = content.map(|l| cell(&l.content)).unwrap_or_default();
    format!("{doing}: {content}")
}
