//! What the plan's file says: what crashed runs left behind, limits of agents, what there is to do, and whether the gates can
//! run.

use std::path::Path;

use ralph_core::agent::processes_of_runs;
use ralph_core::engine::{open_gates, told_unready, unready_gates};
use ralph_core::gate::{PIPE_SHELL, has_pipe};
use ralph_core::host::{Host, Liveness, ThisHost, is_over, is_stale};
use ralph_core::model::RunId;
use ralph_core::store::{BreakerState, Claim, RunRow, Scope, Store, StoreError};
use ralph_core::text::few;
use ralph_core::which::{find, search_path};

use super::Finding;
use crate::commands::limits;
use crate::settings::Settings;
use crate::workspace::{now, plan_counts};

const NEXT_RUN: &str = "nothing to do: the next `ralph run` cleans them up";
const NAMED: usize = 5;

pub fn findings(
    store: &Store,
    team: &[&str],
    settings: Option<&Settings>,
    root: &Path,
) -> Result<Vec<Finding>, StoreError> {
    let now = now();
    let mut findings = leftovers(store)?;
    for limit in store.agent_limits(now)? {
        if team.contains(&limit.agent.as_str()) {
            let fix = format!("wait, or clear the limit: ralph limits clear {}", limit.agent);
            findings.push(Finding::warning("agents", limits::words(&limit, now), fix));
        }
    }
    let (counts, ready) = plan_counts(store)?;
    if counts.total == 0 {
        findings.push(empty());
    } else {
        let message = format!("{}; {ready} ready", counts.summary());
        findings.push(Finding::ok("plan", message));
        if store.breaker()?.state != BreakerState::Closed {
            let message = "circuit breaker open: the next run makes one trial attempt";
            findings.push(Finding::warning("plan", message, "ralph breaker reset"));
        }
    }
    if let Some(settings) = settings {
        findings.extend(gates(store, settings, root)?);
    }
    Ok(findings)
}

pub fn empty() -> Finding {
    Finding::warning("plan", "no tasks yet", "ralph task add TITLE --verify COMMAND")
}

/// What crashed runs left behind: claims, their own record, processes.
fn leftovers(store: &Store) -> Result<Vec<Finding>, StoreError> {
    let (host, now) = (ThisHost::new(), now());
    let mut findings = Vec::new();
    let is_dead = |claim: &Claim| is_stale(claim, host.liveness(&claim.owner), now);
    let (dead, alive): (Vec<Claim>, Vec<Claim>) = store.claims()?.into_iter().partition(is_dead);
    if !alive.is_empty() {
        let held = list(alive.iter().map(|claim| {
            let owner = &claim.owner;
            let task = name(store, claim);
            format!("{task} by {} (process {} on {})", claim.run_id, owner.pid, owner.host)
        }));
        findings.push(Finding::ok("claims", format!("in use: {held}")));
    }
    if !dead.is_empty() {
        let tasks = list(dead.iter().map(|claim| name(store, claim)));
        findings.push(Finding::warning("claims", format!("left by crashed runs: {tasks}"), NEXT_RUN));
    }
    let gone = |run: &RunRow| is_over(run, host.liveness(&run.owner), now);
    let (over, open): (Vec<RunRow>, Vec<RunRow>) = store.open_runs()?.into_iter().partition(gone);
    let dead: Vec<RunId> = over.into_iter().map(|run| run.id).collect();
    if !dead.is_empty() {
        let message = format!("crashed: {}", list(dead.iter().map(RunId::to_string)));
        findings.push(Finding::warning("runs", message, NEXT_RUN));
    }
    let processes = processes_of_runs(&dead);
    if !processes.is_empty() {
        let pids = list(processes.iter().map(u32::to_string));
        let message = format!("still running after their run crashed: {pids}");
        let fix = "the next `ralph run` kills them; or kill them yourself";
        findings.push(Finding::warning("processes", message, fix));
    }
    for (liveness, words) in [(Liveness::Alive, "running"), (Liveness::Elsewhere, "running on another host")]
    {
        let runs = open.iter().filter(|run| host.liveness(&run.owner) == liveness);
        let runs = list(runs.map(|run| run.id.to_string()));
        if !runs.is_empty() {
            findings.push(Finding::ok("runs", format!("{words}: {runs}")));
        }
    }
    if findings.is_empty() {
        findings.push(Finding::ok("runs", "no active run, no leftover processes"));
    }
    Ok(findings)
}

/// A key alone may read as a number.
fn name(store: &Store, claim: &Claim) -> String {
    let task = store.task(claim.task_id.as_str());
    let name = task.map_or_else(|_| claim.task_id.to_string(), |task| task.name().to_owned());
    format!("task {name}")
}

fn list(names: impl Iterator<Item = String>) -> String {
    few(&names.collect::<Vec<_>>(), NAMED)
}

fn gates(store: &Store, settings: &Settings, root: &Path) -> Result<Vec<Finding>, StoreError> {
    let gates = open_gates(store, settings.gate.default.as_deref())?;
    let mut findings: Vec<Finding> = unready_gates(&gates, root)
        .iter()
        .map(|unready| {
            let fix =
                format!("{}, or change the gate: ralph task edit TASK --verify CMD", unready.problem.fix);
            Finding::warning("gates", told_unready(unready), fix)
        })
        .collect();
    let piped = list(gates.iter().filter(|gate| has_pipe(&gate.command)).map(|gate| gate.name.clone()));
    if !piped.is_empty() && find(PIPE_SHELL, root, search_path().as_ref()).is_none() {
        let message = format!(
            "bash is not installed: gates with a pipeline ({piped}) fail only if its last command fails"
        );
        findings.push(Finding::warning("gates", message, "install bash"));
    }
    findings.extend(missing_gates(store, settings)?);
    if findings.is_empty() && !gates.is_empty() {
        findings.push(Finding::ok("gates", "the programs of all gates are installed"));
    }
    Ok(findings)
}

/// Tasks without the gate that the settings require: a run refuses to start.
fn missing_gates(store: &Store, settings: &Settings) -> Result<Option<Finding>, StoreError> {
    if !*settings.gate.require || settings.gate.default.is_some() || settings.gate.always.is_some() {
        return Ok(None);
    }
    let ungated = store.ungated(&Scope::All, true)?;
    Ok(ungated.first().map(|first| {
        let names = list(ungated.iter().map(|task| task.name().to_owned()));
        let first = first.name();
        let fix =
            format!("ralph task edit {first} --verify CMD, or for all: ralph config set gate.default CMD");
        Finding::error("gates", format!("gates are required, but these tasks have none: {names}"), fix)
    }))
}
