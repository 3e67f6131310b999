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
        let known: Vec<(u64, bool)> =
            known.iter().map(|attempt| (attempt.duration_ms, attempt.outcome == Outcome::Done)).collect();
        let under_way = active.iter().flat_map(|run| &run.attempts);
        let begun: Vec<u64> = under_way.map(|one| now().since(one.since).as_millis() as u64).collect();
        Self::estimate(&known, &begun, plan.attainable())
    }

    /// `known` are attempts, how long each took and whether it was done; `begun` is how long those under way take already.
    fn estimate(known: &[(u64, bool)], begun: &[u64], tasks: u64) -> Option<Self> {
        let done = known.iter().filter(|(_, is_done)| *is_done).count() as u64;
        if known.len() < FEWEST || done == 0 {
            return None;
        }
        // Failures on the way to it are part of what a finished task takes.
        let each = known.iter().map(|(took, _)| took).sum::<u64>() / done;
        let spent: u64 = begun.iter().map(|spent| (*spent).min(each)).sum();
        let left = each.saturating_mul(tasks).saturating_sub(spent) / (begun.len() as u64).max(1);
        Some(Self { left_ms: left, attempts: known.len() as u64, tasks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_finished_tasks_took_with_their_failures() {
        let minutes = |n: u64| n * 60_000;
        let attempts = [(minutes(4), true), (minutes(3), false), (minutes(5), true)];
        for (known, begun, tasks, left) in [
            (&attempts[..], &[][..], 5, Some(30)),
            (&attempts, &[minutes(2)], 5, Some(28)),
            // One that takes longer than the others says nothing about the rest.
            (&attempts, &[minutes(90)], 5, Some(24)),
            (&attempts, &[0, 0], 5, Some(15)),
            (&attempts, &[], 0, Some(0)),
            (&attempts[..2], &[], 5, None),
            (&[(minutes(1), false); 4], &[], 5, None),
        ] {
            let eta = Eta::estimate(known, begun, tasks);
            assert_eq!(eta.map(|eta| eta.left_ms / 60_000), left, "{known:?} {begun:?} {tasks}");
            assert!(eta.is_none_or(|eta| eta.attempts == known.len() as u64 && eta.tasks == tasks));
        }
    }
}
