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

/// Join learnings into a new one: the named ones, or all that nearly repeat each other.
///
/// The best one's text is kept, with the tags and the records of all. `ralph learnings restore --merge ID` undoes
/// all of it; the command prints the id.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Two or more ids; without any, all near-duplicates are found and joined.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Say what would be joined, and change nothing.
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
        output::note("no two active learnings say nearly the same");
    } else {
        for one in &joined {
            output::line(table::cut(&line(&workspace, one), ui::width()));
        }
        if let Some(undo) = undo {
            output::note(format_args!("undo: ralph learnings restore --merge {undo}"));
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
        return Err(CommandError::usage("it takes two learnings to join them")
            .hint("give two ids or more, or none to join all near-duplicates"));
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
    Ok(waiting("looking for near-duplicates", || merges(active)))
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
            CommandError::usage("another process changed these learnings just now")
                .hint("`ralph learnings list` shows what is active; then try again"),
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
