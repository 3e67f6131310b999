//! How long the rest of the plan will take, from attempts like those to come, and how many those were.

use ralph_core::model::{Attempt, Outcome, RunId};
use serde::Serialize;

use super::{ActiveRun, PlanFacts};
use crate::workspace::now;

/// Attempts that are looked at, the newest.
pub const LOOKED_AT: u32 = 60;
/// Fewer of one run say too little about it.
const FEWEST: usize = 3;

/// An estimate and what it rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Eta {
    pub left_ms: u64,
    /// The attempts it rests on.
    pub attempts: u64,
    /// The tasks that can still be done without a person.
    pub tasks: u64,
}

impl Eta {
    /// None where no run is active, or where too little is known. `newest` are attempts of any run.
    pub fn of(active: &[ActiveRun], plan: &PlanFacts, newest: &[Attempt]) -> Option<Self> {
        let runs: Vec<&RunId> = active.iter().map(|run| &run.run_id).collect();
        if runs.is_empty() {
            return None;
        }
        let counted = || newest.iter().filter(|attempt| attempt.counted);
        let is_own = |attempt: &&Attempt| attempt.run_id.as_ref().is_some_and(|run| runs.contains(&run));
        let own: Vec<&Attempt> = counted().filter(is_own).collect();
        // At the start of a run those of the runs before it are all there is.
        let known = if own.len() < FEWEST { counted().collect() } else { own };
        let done = known.iter().filter(|attempt| attempt.outcome == Outcome::Done).count() as u64;
        if known.len() < FEWEST || done == 0 {
            return None;
        }
        let each = known.iter().map(|attempt| attempt.duration_ms).sum::<u64>() / done;
        let under_way = active.iter().flat_map(|run| &run.attempts);
        let begun: Vec<u64> = under_way.map(|one| now().since(one.since).as_millis() as u64).collect();
        let tasks = plan.attainable();
        let spent: u64 = begun.iter().map(|spent| (*spent).min(each)).sum();
        let left = (each * tasks).saturating_sub(spent) / (begun.len() as u64).max(1);
        Some(Self { left_ms: left, attempts: known.len() as u64, tasks })
    }
}
