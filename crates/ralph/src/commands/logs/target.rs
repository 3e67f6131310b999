//! Which attempt's log is meant, and where it is.

use std::path::PathBuf;

use ralph_core::host::{Host, ThisHost, is_stale};
use ralph_core::model::{Attempt, RunId, Task, Timestamp};
use ralph_core::store::Claim;

use crate::command_error::CommandError;
use crate::workspace::{Workspace, is_active, now};

/// Which attempts are meant; the last of several.
#[derive(Debug, Default)]
pub struct Wanted {
    pub number: Option<u32>,
    pub try_number: Option<u32>,
    pub run: Option<RunId>,
}

impl Wanted {
    fn is(&self, target: &Target) -> bool {
        self.number.is_none_or(|n| target.number == n)
            && self.try_number.is_none_or(|n| target.try_number == n)
            && self.run.as_ref().is_none_or(|run| target.run.as_ref() == Some(run))
    }

    /// Whether there can be only one.
    pub fn is_one(&self) -> bool {
        self.number.is_some() || self.try_number.is_some()
    }

    /// Whether a run is under way that may make such an attempt.
    pub fn may_come(&self, workspace: &Workspace) -> Result<bool, CommandError> {
        match &self.run {
            Some(run) => Ok(workspace.store.run(run)?.as_ref().is_some_and(is_active)),
            None => workspace.has_active_run(),
        }
    }
}

/// An attempt that has a log.
#[derive(Debug)]
pub struct Target {
    pub number: u32,
    /// The try's number in the database, by which one follows another.
    pub try_number: u32,
    pub run: Option<RunId>,
    pub agent: Option<String>,
    pub model: Option<String>,
    pub started_at: Option<Timestamp>,
    /// Where its log was recorded to be, below the project's root.
    pub log: String,
    pub standing: Standing,
}

#[derive(Debug)]
pub enum Standing {
    UnderWay,
    /// Its process died; the next run records it.
    Lost,
    /// It is over, and recorded.
    Ended(Box<Attempt>),
}

impl Target {
    pub fn path(&self, workspace: &Workspace) -> PathBuf {
        workspace.project.root().join(&self.log)
    }

    fn recorded(attempt: Attempt) -> Option<Self> {
        Some(Self {
            number: attempt.attempt,
            try_number: attempt.attempt_number,
            run: attempt.run_id.clone(),
            agent: attempt.agent.clone(),
            model: Some(attempt.model.clone()),
            started_at: Some(attempt.started_at),
            log: attempt.log_path.clone()?,
            standing: Standing::Ended(Box::new(attempt)),
        })
    }

    fn claimed(claim: Claim, counted: u32) -> Option<Self> {
        let lost = is_stale(&claim, ThisHost::new().liveness(&claim.owner), now());
        let attempt = claim.attempt;
        Some(Self {
            number: counted + 1,
            try_number: Some(attempt.attempt_number).filter(|number| *number > 0)?,
            run: Some(claim.run_id),
            agent: attempt.agent,
            model: attempt.model,
            started_at: attempt.started_at,
            log: attempt.log_path?,
            standing: match lost {
                true => Standing::Lost,
                false => Standing::UnderWay,
            },
        })
    }
}

/// A task's attempts that have a log, oldest first; one under way is the last.
fn all(workspace: &Workspace, task: &Task) -> Result<Vec<Target>, CommandError> {
    let store = &workspace.store;
    // Claims first: an attempt that ends between the two is then in both, and in neither otherwise.
    let claims = store.claims()?;
    let history = store.history(Some(&task.id))?;
    let mut all: Vec<Target> = history.into_iter().filter_map(Target::recorded).collect();
    if let Some(claim) = claims.into_iter().find(|claim| claim.task_id == task.id) {
        let counted = store.tries(&task.id)?.counted;
        let under_way = Target::claimed(claim, counted);
        let last = all.last().map_or(0, |target| target.try_number);
        all.extend(under_way.filter(|target| target.try_number > last));
    }
    Ok(all)
}

/// The newest of the attempts that are meant.
pub fn find(workspace: &Workspace, task: &Task, wanted: &Wanted) -> Result<Option<Target>, CommandError> {
    let mut all = all(workspace, task)?.into_iter();
    Ok(all.rfind(|target| wanted.is(target)))
}

/// The first of them after a try.
pub fn after(
    workspace: &Workspace,
    task: &Task,
    wanted: &Wanted,
    try_number: u32,
) -> Result<Option<Target>, CommandError> {
    let mut all = all(workspace, task)?.into_iter();
    Ok(all.find(|target| target.try_number > try_number && wanted.is(target)))
}

/// The same attempt as it stands now.
pub fn again(workspace: &Workspace, task: &Task, try_number: u32) -> Result<Option<Target>, CommandError> {
    let mut all = all(workspace, task)?.into_iter();
    Ok(all.find(|target| target.try_number == try_number))
}
