//! `ralph analyze`.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::analysis::{Analysis, Surroundings};
use ralph_core::engine::{RunSettings, analysis};

use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::settings::build_agent;
use crate::ui::table;
use crate::workspace::Workspace;

/// Show what the latest failures have in common and what to do about it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let found = found(&Workspace::look(dir)?)?;
    if args.json {
        output::json(&found);
    } else {
        output::text(table::wrap_all(&format!("{}\n", found.lines().join("\n"))));
    }
    Ok(ExitCode::SUCCESS)
}

/// What the newest failures of a project have in common.
pub fn found(workspace: &Workspace) -> Result<Analysis, CommandError> {
    let settings = workspace.settings()?;
    let name = settings.agent();
    let ladder = build_agent(name, &settings.agents)
        .map(|agent| agent.ladder().to_vec())
        .unwrap_or_default();
    let timeout = settings
        .duration("run", "attempt_timeout")
        .unwrap_or(RunSettings::default().attempt_timeout);
    let around = Surroundings {
        ladder,
        attempt_timeout_minutes: timeout.as_secs() / 60,
        recovery: settings.flag("recovery", "enabled"),
        ..Surroundings::default()
    };
    Ok(analysis(&workspace.store, around)?)
}
