//! `ralph learnings pin|prune|restore|merge`: which learnings agents are shown.

use std::time::Duration;

use ralph_core::engine::merge_all;
use ralph_core::memory::recall::upkeep::{Merge, UpkeepPolicy, best_first, merges};
use ralph_core::model::{LearningId, LearningState};
use ralph_core::store::{LearningFilter, Merged, Store};
use serde::Serialize;
use serde_json::json;

use super::{cell, ids, named, named_active, print_done};
use crate::command_error::{CommandError, CommandResult};
use crate::ui::format::counted;
use crate::ui::progress::waiting;
use crate::ui::{self, table};
use crate::workspace::{Workspace, now, random};
use crate::{input, output};

pub fn pin(workspace: &mut Workspace, names: &[String], off: bool, json: bool) -> CommandResult {
    let ids = ids(&named(&workspace.store, names)?);
    for id in &ids {
        workspace.store.pin_learning(id, !off)?;
    }
    let done = if off { "unpinned" } else { "pinned" };
    output::print(json, &json!({ done: ids }), || {
        for id in &ids {
            output::line(format_args!("{done} {}", cell(id.as_str())));
        }
    })
}

/// Archive learnings: the given ones, or all that are old and unused.
///
/// Without ids it does the same as the end of a run. Nothing is deleted: `ralph learnings restore ID` restores a learning.
#[derive(Debug, clap::Args)]
pub struct PruneArgs {
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

pub fn prune(workspace: &mut Workspace, args: &PruneArgs) -> CommandResult {
    let usual = UpkeepPolicy::default();
    let policy = UpkeepPolicy {
        prune_age: args.older_than.unwrap_or(usual.prune_age),
        prune_unused: args.unused_for.unwrap_or(usual.prune_unused),
        ..usual
    };
    let named = ids(&named_active(&workspace.store, &args.ids)?);
    let store = &mut workspace.store;
    let pruned = match (args.ids.is_empty(), args.dry_run) {
        (true, true) => ids(&store.stale_learnings(&policy, now())?),
        (true, false) => store.prune_stale(&policy, now())?,
        (false, true) => named,
        (false, false) => {
            store.prune_learnings(&named, now())?;
            named
        }
    };
    let (doing, how) = match args.dry_run {
        true => ("would archive", ""),
        false => ("archived", "; `ralph learnings restore ID` restores one"),
    };
    output::print(args.json, &json!({ "pruned": pruned }), || {
        if pruned.is_empty() {
            return output::note("no learnings are old and unused");
        }
        for id in &pruned {
            print_done(doing, workspace, id);
        }
        let counted = counted(pruned.len() as u64, "learning");
        output::line(table::wrap(&format!("{doing} {counted}{how}"), ui::width()));
    })
}

/// Restore learnings that were archived, merged or edited.
///
/// The learning that replaced them is archived, and everything else it replaced is restored too. The id of a merged
/// learning undoes that merge; `--merge` undoes everything that one `ralph learnings merge` or the end of one run merged.
#[derive(Debug, clap::Args)]
pub struct RestoreArgs {
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

pub fn restore(workspace: &mut Workspace, args: &RestoreArgs) -> CommandResult {
    let mut wanted = ids(&named(&workspace.store, &args.ids)?);
    if let Some(merge) = &args.merge {
        let batch = workspace.store.batch(merge)?;
        if batch.is_empty() {
            let message = format!("unknown merge `{}`", cell(merge));
            return Err(CommandError::usage(message)
                .hint("run `ralph learnings list --source merge` to see merged learnings"));
        }
        wanted.extend(batch);
    }
    let done = workspace.store.restore_learnings(&wanted, now())?;
    output::print(args.json, &done, || {
        for id in &done.restored {
            print_done("restored", workspace, id);
        }
        for id in &done.retired {
            let id = cell(id.as_str());
            output::line(format_args!("archived {id}, which had replaced it"));
        }
        for id in &wanted {
            if !done.restored.contains(id) && !done.retired.contains(id) {
                output::note(format_args!("{} is already active", cell(id.as_str())));
            }
        }
    })
}

/// Merge learnings: the given ones, or all near-duplicates.
///
/// The merged learning has the text of the best one, and the tags and statistics of all. The command prints an id;
/// `ralph learnings restore --merge ID` undoes the merge.
#[derive(Debug, clap::Args)]
pub struct MergeArgs {
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

#[derive(Serialize)]
struct MergeReport {
    into: Option<LearningId>,
    from: Vec<LearningId>,
}

pub fn merge(workspace: &mut Workspace, args: &MergeArgs) -> CommandResult {
    let made = |merged: Merged| MergeReport { into: Some(merged.into), from: merged.from };
    let proposed = |merge: Merge| MergeReport { into: None, from: ids(&merge.members) };
    let store = &mut workspace.store;
    let reports: Vec<MergeReport> = match (named_merge(store, &args.ids)?, args.dry_run) {
        (Some(merge), true) => vec![proposed(merge)],
        (Some(merge), false) => {
            let merged = store.merge_learnings(&[merge], &mut random)?;
            if merged.is_empty() {
                let message = "another process has just changed these learnings";
                return Err(CommandError::usage(message)
                    .hint("run `ralph learnings list` to see the active learnings, then retry"));
            }
            merged.into_iter().map(made).collect()
        }
        (None, true) => {
            let state = Some(LearningState::Active);
            let active = store.learnings(&LearningFilter { state, ..LearningFilter::default() })?;
            let found = waiting("searching for near-duplicates", || merges(active));
            found.into_iter().map(proposed).collect()
        }
        (None, false) => {
            let merged = waiting("merging near-duplicates", || merge_all(store, &mut random))?;
            merged.into_iter().map(made).collect()
        }
    };
    let made: Vec<LearningId> = reports.iter().filter_map(|one| one.into.clone()).collect();
    let undo = if made.is_empty() { None } else { Some(workspace.store.note_batch(&made, &mut random)?) };
    let document = json!({ "merged": reports, "undo": undo });
    output::print(args.json, &document, || {
        if reports.is_empty() {
            return output::note("no near-duplicates among the active learnings");
        }
        for report in &reports {
            output::line(table::cut(&merge_line(workspace, report), ui::width()));
        }
        if let Some(undo) = &undo {
            output::note(format_args!("to undo: ralph learnings restore --merge {undo}"));
        }
    })
}

/// The one merge of the named learnings; none where no names were given.
fn named_merge(store: &Store, ids: &[String]) -> Result<Option<Merge>, CommandError> {
    let members = named_active(store, ids)?;
    match members.len() {
        0 => Ok(None),
        1 => Err(CommandError::usage("a merge needs at least two learnings")
            .hint("pass two or more ids, or none to merge all near-duplicates")),
        _ => Ok(Some(Merge::of(best_first(members)))),
    }
}

fn merge_line(workspace: &Workspace, report: &MergeReport) -> String {
    let names: Vec<String> = report.from.iter().map(|id| cell(id.as_str())).collect();
    let names = names.join(", ");
    let (doing, id) = match &report.into {
        Some(into) => (format!("merged {names} into {into}"), Some(into)),
        None => (format!("would merge {names}"), report.from.first()),
    };
    let content = id.and_then(|id| workspace.store.learning(id.as_str()).ok());
    let content = content.map(|l| cell(&l.content)).unwrap_or_default();
    format!("{doing}: {content}")
}
