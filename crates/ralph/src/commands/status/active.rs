//! What runs under way are doing, from their claims and the last thing they told.

use ralph_core::event::{EventKind, WaitingFor};
use ralph_core::host::{ThisHost, is_stopped};
use ralph_core::model::{Cost, Key, RunId, TaskId, Timestamp};
use ralph_core::store::{Claim, Owner, Purpose, RunRequest, RunRow, StoreError};
use serde::Serialize;

use crate::workspace::{Workspace, is_active, now};

#[derive(Debug, Serialize)]
pub struct ActiveRun {
    pub run_id: RunId,
    pub started_at: Timestamp,
    #[serde(flatten)]
    pub owner: Owner,
    /// Whether its process was stopped, as by Ctrl-Z: it does nothing until it is continued.
    pub stopped: bool,
    /// What a person asked it to do.
    pub request: Option<RunRequest>,
    pub attempts: Vec<Work>,
    /// What it waits for, if it does.
    pub waiting: Option<Waiting>,
    /// Its counted attempts so far.
    pub counted: u64,
    /// Those of them that were done.
    pub done: u64,
    #[serde(flatten)]
    pub cost: Cost,
}

#[derive(Debug, Serialize)]
pub struct Work {
    pub task_id: TaskId,
    pub key: Option<Key>,
    pub title: String,
    /// What is done: an attempt, or a parent's own gate is run.
    pub purpose: Purpose,
    /// The number of the attempt, as people see it.
    pub attempt: u32,
    pub agent: Option<String>,
    pub model: Option<String>,
    pub since: Timestamp,
    pub log_path: Option<String>,
}

impl Work {
    pub fn name(&self) -> &str {
        self.key.as_ref().map_or(self.task_id.as_str(), Key::as_str)
    }
}

#[derive(Debug, Serialize)]
pub struct Waiting {
    pub waiting_for: WaitingFor,
    pub reason: String,
    pub since: Timestamp,
    /// Until when, where that is known.
    pub until: Option<Timestamp>,
}

pub fn active_runs(workspace: &Workspace) -> Result<Vec<ActiveRun>, StoreError> {
    let runs = workspace.store.open_runs()?;
    let claims = workspace.store.claims()?;
    let active = runs.into_iter().filter(is_active);
    active.map(|run| one(workspace, run, &claims)).collect()
}

fn one(workspace: &Workspace, run: RunRow, claims: &[Claim]) -> Result<ActiveRun, StoreError> {
    let mut attempts = Vec::new();
    for claim in claims.iter().filter(|claim| claim.run_id == run.id) {
        match work(workspace, claim) {
            Ok(work) => attempts.push(work),
            Err(StoreError::UnknownTask(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let waiting = match attempts.is_empty() {
        true => waiting(workspace, &run.id)?,
        false => None,
    };
    Ok(ActiveRun {
        run_id: run.id,
        started_at: run.started_at,
        stopped: is_stopped(&ThisHost::new(), &run.owner),
        owner: run.owner,
        request: run.request,
        attempts,
        waiting,
        counted: run.attempts,
        done: run.done,
        cost: run.cost,
    })
}

fn work(workspace: &Workspace, claim: &Claim) -> Result<Work, StoreError> {
    let task = workspace.store.task(claim.task_id.as_str())?;
    let tries = workspace.store.tries(&task.id)?;
    Ok(Work {
        task_id: task.id,
        key: task.key,
        title: task.title,
        purpose: claim.purpose,
        attempt: tries.counted + 1,
        agent: claim.attempt.agent.clone(),
        model: claim.attempt.model.clone(),
        since: claim.attempt.started_at.unwrap_or(claim.claimed_at),
        log_path: claim.attempt.log_path.clone(),
    })
}

/// The wait that a run told of last, unless its time is over: its end is told by what comes next.
fn waiting(workspace: &Workspace, run: &RunId) -> Result<Option<Waiting>, StoreError> {
    let Some(event) = workspace.store.last_event(run, None)? else {
        return Ok(None);
    };
    let Some(EventKind::Waiting { waiting_for, reason, until }) = event.read().map(|event| event.kind) else {
        return Ok(None);
    };
    let over = until.is_some_and(|until| until <= now());
    Ok((!over).then_some(Waiting { waiting_for, reason, since: event.at, until }))
}
