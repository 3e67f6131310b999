//! `ralph limits`: usage limits of agents that are remembered, and an end to them.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::model::Timestamp;
use ralph_core::store::{ControlStore, RememberedLimit};
use serde_json::json;

use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::ui::format;
use crate::workspace::{Workspace, now};

/// Show or clear the usage limits that agents have hit.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Show which agents have hit a usage limit, and when it resets.
    Show(ShowArgs),
    /// Clear usage limits, for example after you bought more. A waiting run retries immediately.
    Clear(ClearArgs),
}

#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub struct ClearArgs {
    /// The agent; all agents if omitted.
    agent: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, command: &Command) -> CommandResult {
    match command {
        Command::Show(args) => show(&Workspace::look(dir)?, args),
        Command::Clear(args) => clear(&mut Workspace::open(dir)?, args),
    }
}

fn show(workspace: &Workspace, args: &ShowArgs) -> CommandResult {
    let now = now();
    let limits = standing(workspace, now)?;
    if args.json {
        output::json(&json!({ "limits": limits }));
    } else if limits.is_empty() {
        output::line("no usage limits");
    } else {
        for limit in &limits {
            output::line(words(limit, now));
        }
        output::line("to clear them: ralph limits clear");
    }
    Ok(ExitCode::SUCCESS)
}

fn clear(workspace: &mut Workspace, args: &ClearArgs) -> CommandResult {
    let standing = standing(workspace, now())?;
    if let Some(name) = &args.agent
        && !standing.iter().any(|limit| limit.agent == *name)
        && !workspace.settings()?.agents.contains_key(name)
    {
        let error = CommandError::usage(format_args!("unknown agent `{name}`"));
        return Err(error.hint("run `ralph limits show` to see the agents with a usage limit"));
    }
    workspace.store.forget_limits(args.agent.as_deref())?;
    let wanted = |name: &str| args.agent.as_deref().is_none_or(|agent| agent == name);
    let names = standing.iter().map(|limit| limit.agent.as_str());
    let cleared: Vec<&str> = names.filter(|name| wanted(name)).collect();
    if args.json {
        output::json(&json!({ "cleared": cleared }));
    } else if cleared.is_empty() {
        output::line("nothing to clear: no usage limits");
    } else {
        output::line(format_args!("cleared: {}", cleared.join(", ")));
    }
    Ok(ExitCode::SUCCESS)
}

/// Limits that are not over.
pub fn standing(
    workspace: &Workspace,
    now: Timestamp,
) -> Result<Vec<RememberedLimit>, CommandError> {
    Ok(workspace.store.agent_limits(now)?)
}

/// `claude hit its usage limit: resets 16:44 (in 3 h)`.
pub fn words(limit: &RememberedLimit, now: Timestamp) -> String {
    format!(
        "{} hit its usage limit: resets {} (in {})",
        limit.agent,
        format::moment(limit.until, now),
        format::age(limit.until.since(now))
    )
}
