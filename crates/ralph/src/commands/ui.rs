//! `ralph ui`: the project on the screen of a terminal.

use std::path::Path;

use crate::command_error::CommandResult;
use crate::tui;
use crate::workspace::Workspace;

/// Show the plan, its attempts and the run in the terminal, and steer them.
///
/// Shows the plan as a tree, the attempts of the selected task, live output, prompt, report and diff of an attempt, the learnings in
/// its prompt, and who works. Press ? for all keys. Quitting leaves runs as they are. To start a run and open it: ralph run --ui.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run to look at instead of the current or last one; `ralph runs` lists them.
    #[arg(long, value_name = "ID")]
    run: Option<String>,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    tui::check_terminal()?;
    let workspace = Workspace::open_to_read(dir)?;
    if let Some(error) = workspace.replaced_plan() {
        return Err(error);
    }
    let settings = workspace.settings()?;
    let run = args.run.as_deref().map(|id| workspace.run(id)).transpose()?;
    tui::open(workspace, settings, run.map(|run| run.id))
}
