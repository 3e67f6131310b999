//! What crashed runs left behind: claims, their own record, processes.

use ralph_core::agent::processes_of_runs;
use ralph_core::host::{Host, Liveness, is_over, is_stale};
use ralph_core::model::{RunId, Timestamp};
use ralph_core::store::{Claim, PlanStore, RunRow, RunStore, SqliteStore, StoreError};
use ralph_core::text::few;

use super::finding::{Check, Finding};

const NEXT_RUN: &str = "nothing to do: the next `ralph run` cleans them up";
/// Names that are listed.
const LISTED: usize = 5;

/// Claims, runs and processes.
pub fn findings(
    store: &SqliteStore,
    host: &dyn Host,
    now: Timestamp,
) -> Result<Vec<Finding>, StoreError> {
    let mut findings = Vec::new();
    let is_dead = |claim: &Claim| is_stale(claim, host.liveness(&claim.owner), now);
    let (dead, alive): (Vec<Claim>, Vec<Claim>) = store.claims()?.into_iter().partition(is_dead);
    if !alive.is_empty() {
        let message = format!(
            "in use: {}",
            list(alive.iter().map(|claim| held(store, claim)))
        );
        findings.push(Finding::ok(Check::Claims, message));
    }
    if !dead.is_empty() {
        let tasks = list(dead.iter().map(|claim| name(store, claim)));
        let message = format!("left by crashed runs: {tasks}");
        findings.push(Finding::warning(Check::Claims, message, NEXT_RUN));
    }
    let gone = |run: &RunRow| is_over(run, host.liveness(&run.owner), now);
    let (over, open): (Vec<RunRow>, Vec<RunRow>) = store.open_runs()?.into_iter().partition(gone);
    let dead: Vec<RunId> = over.into_iter().map(|run| run.id).collect();
    if !dead.is_empty() {
        let message = format!("crashed: {}", list(dead.iter().map(RunId::to_string)));
        findings.push(Finding::warning(Check::Runs, message, NEXT_RUN));
    }
    let processes = processes_of_runs(&dead);
    if !processes.is_empty() {
        let pids = list(processes.iter().map(u32::to_string));
        let message = format!("still running after their run crashed: {pids}");
        let fix = "the next `ralph run` kills them; or kill them yourself";
        findings.push(Finding::warning(Check::Processes, message, fix));
    }
    for (liveness, words) in [
        (Liveness::Alive, "running"),
        (Liveness::Elsewhere, "running on another host"),
    ] {
        let there = |run: &&RunRow| host.liveness(&run.owner) == liveness;
        let runs: Vec<String> = open
            .iter()
            .filter(there)
            .map(|run| run.id.to_string())
            .collect();
        if !runs.is_empty() {
            let message = format!("{words}: {}", list(runs.into_iter()));
            findings.push(Finding::ok(Check::Runs, message));
        }
    }
    if findings.is_empty() {
        let message = "none running, nothing left behind";
        findings.push(Finding::ok(Check::Runs, message));
    }
    Ok(findings)
}

/// A key alone may read as a number.
fn name(store: &SqliteStore, claim: &Claim) -> String {
    let task = store.task(claim.task_id.as_str());
    let name = task.map_or_else(|_| claim.task_id.to_string(), |task| task.name().to_owned());
    format!("task {name}")
}

fn held(store: &SqliteStore, claim: &Claim) -> String {
    let (run, owner) = (&claim.run_id, &claim.owner);
    format!(
        "{} by {run} (process {} on {})",
        name(store, claim),
        owner.pid,
        owner.host
    )
}

/// The first few, and how many more there are.
fn list(names: impl Iterator<Item = String>) -> String {
    few(&names.collect::<Vec<_>>(), LISTED)
}
