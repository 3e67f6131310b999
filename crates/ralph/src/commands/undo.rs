//! `ralph undo`: takes back what a person did to the plan.

use std::path::Path;

use serde_json::json;

use super::print;
use crate::actions::{describe_action, undo};
use crate::command_error::CommandResult;
use crate::output;
use crate::ui::table::Table;
use crate::workspace::Workspace;

/// Undo the last thing you did to the plan.
///
/// You can undo adding, changing and deleting tasks, marking them done, failed, skipped or reset, and changes to dependencies and
/// notes. Run it again to go further back. Ralph refuses if somebody changed or attempted the task since.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// An earlier action, by its number in `ralph undo --list`.
    #[arg(value_name = "N")]
    action: Option<i64>,
    /// List what can be undone, newest first.
    #[arg(long, conflicts_with = "action")]
    list: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const NOTHING: &str = "nothing to undo";

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    if args.list {
        return list(&Workspace::open_to_read(dir)?, args.json);
    }
    let undone = undo(&mut Workspace::open(dir)?, args.action)?;
    let Some((action, receipt)) = undone else {
        return output::print(args.json, &json!({ "undone": null }), || output::note(NOTHING));
    };
    let value = json!({ "undone": action, "lines": receipt.lines, "hints": receipt.hints });
    output::print(args.json, &value, || print(&receipt))
}

fn list(workspace: &Workspace, json: bool) -> CommandResult {
    let actions = workspace.store.plan_actions(usize::MAX)?;
    output::list(json, &actions, NOTHING, || {
        let mut table = Table::new(["N", "WHEN", "WHAT YOU DID"]);
        for action in &actions {
            table.row([action.id.to_string(), action.at.local(), describe_action(action)]);
        }
        table.render()
    })
}
