//! Runs, each in a line: what it did and what it cost.

use std::collections::HashMap;

use ralph_core::model::{Cost, RunId, Timestamp};
use ralph_core::store::{AgentTally, RunRow, Store, StoreError};
use serde::Serialize;

use crate::ui::format;
use crate::workspace::{is_active, now};

/// A row of `ralph runs`.
#[derive(Debug, Serialize)]
pub struct RunLine {
    pub run_id: RunId,
    pub started_at: Timestamp,
    /// None if it is under way, or if nobody recorded its end.
    pub ended_at: Option<Timestamp>,
    pub duration_ms: u64,
    pub active: bool,
    /// How it ended, in a word; `running`, or `died` if Ralph crashed.
    pub outcome: String,
    pub exit_code: Option<i32>,
    /// Counted attempts.
    pub attempts: u64,
    pub uncounted_attempts: u64,
    /// Attempts that ended done.
    pub done: u64,
    pub done_verified: u64,
    pub done_unverified: u64,
    /// Counted attempts that did not end done.
    pub failed: u64,
    #[serde(flatten)]
    pub cost: Cost,
    pub agents: Vec<AgentTally>,
}

impl RunLine {
    /// The newest runs, oldest first.
    pub fn newest(store: &Store, most: usize) -> Result<Vec<Self>, StoreError> {
        let mut tallies: HashMap<RunId, Vec<AgentTally>> = HashMap::new();
        for tally in store.agent_tallies()? {
            tallies.entry(tally.run_id.clone()).or_default().push(tally);
        }
        let runs = store.runs()?;
        let first = runs.len().saturating_sub(most);
        let newest = runs.into_iter().skip(first);
        newest.map(|run| Self::read(store, tallies.remove(&run.id).unwrap_or_default(), run)).collect()
    }

    fn read(store: &Store, agents: Vec<AgentTally>, run: RunRow) -> Result<Self, StoreError> {
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
    pub fn done_in_words(&self) -> String {
        match (self.done, self.done_verified) {
            (0, _) => "0".to_owned(),
            (done, verified) if done == verified => format!("{done} (all verified)"),
            (done, 0) => format!("{done} (unverified)"),
            (done, verified) => format!("{done} ({verified} verified, {} unverified)", self.done_unverified),
        }
    }

    /// `claude $3.10, codex $0.42`; the cost only where several agents worked.
    pub fn agents_in_words(&self) -> String {
        let named = self.agents.iter().filter_map(|one| Some((one.agent.as_deref()?, &one.cost)));
        let named: Vec<_> = named.collect();
        let words = named.iter().map(|(name, cost)| match named.len() {
            1 => (*name).to_owned(),
            _ => format!("{name} {}", format::short_total(cost)).trim_end().to_owned(),
        });
        words.collect::<Vec<_>>().join(", ")
    }
}
