//! `ralph runs`: every run, with what it did and what it cost.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use ralph_core::model::{Cost, RunId, Timestamp};
use ralph_core::store::{AgentTally, RunRow, Store, StoreError};
use serde::Serialize;

use crate::command_error::CommandResult;
use crate::output;
use crate::ui::format;
use crate::ui::table::Table;
use crate::workspace::{Workspace, is_active, now};

/// List all runs, oldest first.
///
/// `ralph status --run ID` and `ralph history --run ID` show one of them.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show at most N runs, the newest.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A row of `ralph runs`.
#[derive(Debug, Serialize)]
struct RunLine {
    run_id: RunId,
    started_at: Timestamp,
    /// None if it is under way, or if nobody recorded its end.
    ended_at: Option<Timestamp>,
    duration_ms: u64,
    active: bool,
    /// How it ended, in a word; `running`, or `died` if Ralph crashed.
    outcome: String,
    exit_code: Option<i32>,
    /// Counted attempts.
    attempts: u64,
    uncounted_attempts: u64,
    /// Attempts that ended done.
    done: u64,
    done_verified: u64,
    done_unverified: u64,
    /// Counted attempts that did not end done.
    failed: u64,
    #[serde(flatten)]
    cost: Cost,
    agents: Vec<AgentTally>,
}

impl RunLine {
    fn read(store: &Store, run: RunRow, agents: Vec<AgentTally>) -> Result<Self, StoreError> {
        let active = is_active(&run);
        let end = match run.ended_at {
            Some(end) => Some(end),
            None if active => Some(now()),
            None => store.last_event(&run.id, None)?.map(|event| event.at),
        };
        let sum = |of: fn(&AgentTally) -> u64| agents.iter().map(of).sum::<u64>();
        let (done, verified) = (sum(|one| one.done), sum(|one| one.verified));
        let outcome = run.outcome.unwrap_or_else(|| if active { "running" } else { "died" }.to_owned());
        Ok(Self {
            started_at: run.started_at,
            ended_at: run.ended_at,
            duration_ms: end.map_or(0, |end| end.since(run.started_at).as_millis() as u64),
            active,
            outcome,
            exit_code: run.exit_code,
            attempts: sum(|one| one.attempts),
            uncounted_attempts: sum(|one| one.uncounted_attempts),
            done,
            done_verified: verified,
            done_unverified: done.saturating_sub(verified),
            failed: sum(|one| one.failed),
            cost: run.cost,
            run_id: run.id,
            agents,
        })
    }

    /// `5 (4 verified, 1 unverified)`.
    fn done_in_words(&self) -> String {
        match (self.done, self.done_verified) {
            (0, _) => "0".to_owned(),
            (done, verified) if done == verified => format!("{done} (all verified)"),
            (done, 0) => format!("{done} (unverified)"),
            (done, verified) => format!("{done} ({verified} verified, {} unverified)", self.done_unverified),
        }
    }

    /// `claude $3.10, codex $0.42`; the cost only where several agents worked.
    fn agents_in_words(&self) -> String {
        let named = self.agents.iter().filter_map(|one| Some((one.agent.as_deref()?, &one.cost)));
        let named: Vec<_> = named.collect();
        let words = named.iter().map(|(name, cost)| match named.len() {
            1 => (*name).to_owned(),
            _ => format!("{name} {}", format::short_total(cost)).trim_end().to_owned(),
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::open_to_read(dir)?;
    let store = &workspace.store;
    let mut tallies: HashMap<RunId, Vec<AgentTally>> = HashMap::new();
    for tally in store.agent_tallies()? {
        tallies.entry(tally.run_id.clone()).or_default().push(tally);
    }
    let mut runs = store.runs()?;
    let first = args.limit.map_or(0, |most| runs.len().saturating_sub(most));
    let mut lines = Vec::with_capacity(runs.len() - first);
    for run in runs.drain(first..) {
        let agents = tallies.remove(&run.id).unwrap_or_default();
        lines.push(RunLine::read(store, run, agents)?);
    }
    output::list(args.json, &lines, "no runs yet; start one with `ralph run`", || table(&lines))
}

fn outcome_in_words(outcome: &str) -> String {
    match outcome {
        "limit" => "limit reached".to_owned(),
        "died" => "crashed".to_owned(),
        other => other.replace('_', " "),
    }
}

fn table(lines: &[RunLine]) -> String {
    let mut table = Table::new(["RUN", "STARTED", "TIME", "DONE", "FAILED", "COST", "AGENTS", "OUTCOME"]);
    for line in lines {
        table.row([
            line.run_id.to_string(),
            line.started_at.local_near(now()),
            format::duration(Duration::from_millis(line.duration_ms)),
            line.done_in_words(),
            line.failed.to_string(),
            format::short_total(&line.cost),
            line.agents_in_words(),
            outcome_in_words(&line.outcome),
        ]);
    }
    table.render()
}
