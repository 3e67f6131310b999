//! `ralph breaker` and `ralph analyze`: what stops runs when everything fails, and what the failures have in common.

use std::path::Path;

use ralph_core::analysis::{Analysis, Surroundings};
use ralph_core::engine::analysis;
use ralph_core::model::Timestamp;
use ralph_core::sandbox::Denial;
use ralph_core::store::BreakerState;
use serde::Serialize;

use crate::command_error::{CommandError, CommandResult};
use crate::facts::BreakerFacts;
use crate::output::{self, Json};
use crate::settings::build_agent;
use crate::ui::{format, table};
use crate::workspace::{Workspace, now};

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Show whether the circuit breaker is open, and the number of consecutive failures.
    Show(Json),
    /// Close the circuit breaker, clear the failure counts and make the tasks it blocked pending again.
    Reset(Json),
}

pub fn run(dir: Option<&Path>, command: &Command) -> CommandResult {
    let (workspace, json) = match command {
        Command::Show(args) => (Workspace::open_to_read(dir)?, args.json),
        Command::Reset(args) => {
            let mut workspace = Workspace::open(dir)?;
            workspace.store.close_breaker(now())?;
            (workspace, args.json)
        }
    };
    let breaker = BreakerFacts::read(&workspace.store, &workspace.settings()?)?;
    let has_active_run = workspace.has_active_run()?;
    output::print(json, &breaker, || output::line(describe(&breaker, has_active_run)))
}

fn describe(breaker: &BreakerFacts, has_active_run: bool) -> String {
    let failures = format::counted(breaker.failures, "failure");
    let row = format!("{failures} in a row on {}", format::counted(breaker.tasks, "task"));
    match breaker.state {
        BreakerState::Closed => {
            let threshold = breaker.threshold;
            format!(
                "closed: {row}. Opens at {threshold} failures on 3 tasks, or on 2 tasks with the same cause"
            )
        }
        BreakerState::HalfOpen if has_active_run => format!("half open, running one trial attempt: {row}"),
        // Half open without a run: the trial attempt was interrupted.
        state @ (BreakerState::Open | BreakerState::HalfOpen) => {
            let state = if state == BreakerState::Open { "open" } else { "half open" };
            let since = breaker.opened_at.map(Timestamp::local).unwrap_or_default();
            format!(
                "{state} since {since}: {row}\n\
                 the next `ralph run` makes one trial attempt\n\
                 next: `ralph analyze` to see what the failures have in common, then `ralph run` or `ralph breaker reset`"
            )
        }
    }
}

pub fn analyze(dir: Option<&Path>, args: Json) -> CommandResult {
    let workspace = Workspace::open_to_read(dir)?;
    let analysis = latest_failures(&workspace)?;
    let found = Found { analysis, sandbox_denials: workspace.store.recent_denials(DENIED_ATTEMPTS)? };
    output::print(args.json, &found, || {
        let mut lines = if found.analysis.is_empty() { Vec::new() } else { found.analysis.lines() };
        lines.extend(
            found.sandbox_denials.iter().map(|denial| format!("The sandbox may have refused {denial}")),
        );
        match lines.is_empty() {
            true => output::note("no failures to analyze"),
            false => output::text(table::wrap_all(&format!("{}\n", lines.join("\n")))),
        }
    })
}

/// Attempts whose denials are named.
const DENIED_ATTEMPTS: u32 = 20;

/// What `ralph analyze --json` prints.
#[derive(Serialize)]
struct Found {
    #[serde(flatten)]
    analysis: Analysis,
    /// What the sandbox refused in the newest attempts, with what would allow it.
    sandbox_denials: Vec<Denial>,
}

/// What the newest failures of a project have in common.
pub fn latest_failures(workspace: &Workspace) -> Result<Analysis, CommandError> {
    let settings = workspace.settings()?;
    let agent = build_agent(settings.agent(), &settings.agents);
    let around = Surroundings {
        ladder: agent.map(|agent| agent.ladder().to_vec()).unwrap_or_default(),
        attempt_timeout_minutes: settings.run.attempt_timeout.as_secs() / 60,
        recovery: *settings.recovery.enabled,
        ..Surroundings::default()
    };
    Ok(analysis(&workspace.store, around)?)
}
