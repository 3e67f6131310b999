//! `ralph limits`: usage limits of agents that are remembered, and an end to them.

use std::path::Path;

use ralph_core::model::Timestamp;
use ralph_core::store::RememberedLimit;
use serde_json::json;

use crate::command_error::{CommandError, CommandResult};
use crate::output::{self, Json};
use crate::ui::format;
use crate::workspace::{Workspace, now};

/// Show or clear the usage limits that agents have hit.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Show which agents have hit a usage limit, and when it resets.
    Show(Json),
    /// Clear usage limits, for example after you bought more usage. A waiting run retries immediately.
    Clear {
        /// The agent; all agents if omitted.
        agent: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

pub fn run(dir: Option<&Path>, command: &Command) -> CommandResult {
    match command {
        Command::Show(args) => show(&Workspace::open_to_read(dir)?, args.json),
        Command::Clear { agent, json } => clear(&mut Workspace::open(dir)?, agent.as_deref(), *json),
    }
}

fn show(workspace: &Workspace, json: bool) -> CommandResult {
    let now = now();
    let limits = workspace.store.agent_limits(now)?;
    output::print(json, &json!({ "limits": limits }), || {
        if limits.is_empty() {
            return output::line("no usage limits");
        }
        for limit in &limits {
            output::line(words(limit, now));
        }
        output::line("to clear them: ralph limits clear");
    })
}

fn clear(workspace: &mut Workspace, agent: Option<&str>, json: bool) -> CommandResult {
    let limits = workspace.store.agent_limits(now())?;
    let agents = workspace.settings()?.agents;
    // Limits are those of accounts, which are called like their agents where the settings name none.
    let account = agent.and_then(|name| agents.get(name)?.setup.account.as_deref());
    let agent = account.or(agent);
    if let Some(name) = agent
        && !limits.iter().any(|limit| limit.agent == name)
        && !agents.contains_key(name)
        && account.is_none()
    {
        let error = CommandError::usage(format_args!("unknown agent `{name}`"));
        return Err(error.hint("run `ralph limits show` to see the agents with a usage limit"));
    }
    workspace.store.forget_limits(agent)?;
    let names = limits.iter().map(|limit| limit.agent.as_str());
    let cleared: Vec<&str> = names.filter(|name| agent.is_none_or(|agent| agent == *name)).collect();
    output::print(json, &json!({ "cleared": cleared }), || match cleared.is_empty() {
        true => output::line("nothing to clear: no usage limits"),
        false => output::line(format_args!("cleared: {}", cleared.join(", "))),
    })
}

/// `claude hit its usage limit: resets 16:44 (in 3 h)`.
pub fn words(limit: &RememberedLimit, now: Timestamp) -> String {
    format!(
        "{} hit its usage limit: resets {} (in {})",
        limit.agent,
        limit.until.local_near(now),
        format::age(limit.until.since(now))
    )
}
