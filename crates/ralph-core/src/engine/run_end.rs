//! How a run ends: why, and what is brought up to date and recorded then.

use std::time::Duration;

use super::PromptError;
use super::agents_md_sync::WrittenBy;
use super::plan_sync::LogNews;
use super::run::Run;
use crate::decide::Budget;
use crate::event::{EventKind, GateAuthor, RunEvent};
use crate::exit::RunExit;
use crate::git::GitError;
use crate::hooks::HookPoint;
use crate::model::RunId;
use crate::store::{Author, RunEnd, StoreError};

/// What stops the loop from outside the rules.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// Git could not be asked without waiting for ever.
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("cannot run the gate of {task}: {why}")]
    Gate { task: String, why: String },
    #[error("cannot write the log {path}: {source}")]
    Log { path: String, source: std::io::Error },
    #[error("cannot prepare the sandbox: {0}")]
    Sandbox(std::io::Error),
}

#[derive(Clone, Debug)]
pub struct Summary {
    /// The run; none if nothing was started.
    pub run_id: Option<RunId>,
    pub exit: RunExit,
    pub reason: String,
    pub hint: Option<String>,
}

pub(super) type Result<T = (), E = Halt> = std::result::Result<T, E>;

/// Why the loop goes no further. A step that ends the run gives it as its error, so that `?` carries it to the end.
#[derive(Debug)]
pub(super) enum Halt {
    /// By the rules: all is done, a limit is reached, somebody said stop.
    Stop(StopRun),
    Error(EngineError),
}

impl From<StopRun> for Halt {
    fn from(stop: StopRun) -> Self {
        Self::Stop(stop)
    }
}

impl<E> From<E> for Halt
where
    EngineError: From<E>,
{
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// Why a run ends by the rules.
#[derive(Clone, Debug)]
pub(super) struct StopRun {
    pub exit: RunExit,
    pub reason: String,
    pub hint: Option<String>,
    /// The budget that was used up, if that is why.
    pub budget: Option<Budget>,
}

impl StopRun {
    pub(super) fn new(exit: RunExit, reason: impl Into<String>) -> Self {
        Self { exit, reason: reason.into(), hint: None, budget: None }
    }

    pub(super) fn error(reason: impl Into<String>) -> Self {
        Self::new(RunExit::Error, reason)
    }

    pub(super) fn budget(budget: Budget, reason: String) -> Self {
        Self { budget: Some(budget), ..Self::new(RunExit::Limit, reason) }
    }

    pub(super) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl Run<'_> {
    /// Ends the run, whatever ended it: tidies up, closes its record, saves a database that is gone, and tells of the end.
    pub(super) fn end(mut self, halt: Halt) -> Result<Summary, EngineError> {
        // An attempt that began and could not be recorded stays claimed, and the next run finds it by that.
        let _ = self.context.store.release_unbegun(&self.context.id, self.context.worker);
        let (mut stop, error) = match halt {
            Halt::Stop(stop) => (stop, None),
            Halt::Error(error) => (StopRun::error(error.to_string()), Some(error)),
        };
        let mut closed = self.close(&mut stop);
        let lost = self.context.store.check_all().err();
        if let Some(lost) = &lost {
            stop = self.context.save_database(stop, lost);
            closed = self.finished(&stop).map(|kind| self.context.event(kind));
        } else if closed.is_ok() {
            let written = self.state_md.write(&mut self.context, &stop.reason);
            closed = written.and(closed);
        }
        if let Ok(event) = &closed {
            self.context.show_stored(event);
        }
        self.context.dismiss_guard();
        // Where the database is gone, all that matters is how to put it back.
        if let (None, Some(error)) = (&lost, error) {
            return Err(error);
        }
        match closed {
            Err(Halt::Error(error)) if lost.is_none() => Err(error),
            _ => Ok(Summary {
                run_id: Some(self.context.id),
                exit: stop.exit,
                reason: stop.reason,
                hint: stop.hint,
            }),
        }
    }

    /// Closes the run's record, also where tidying up fails. A run whose scope is finished has succeeded, whatever limit it
    /// reached on the way.
    fn close(&mut self, stop: &mut StopRun) -> Result<RunEvent> {
        let tidied = match self.context.store.check_in_place() {
            Ok(()) => self.tidy_up(stop),
            // The end saves it.
            Err(_) => Ok(()),
        };
        let kind = self.finished(stop)?;
        let run = &mut self.context;
        // While the run is still on record as one that is at work.
        let event = run.event(kind.clone());
        let told = run.hook_after(HookPoint::AfterRun, &event);
        let mut event = run.event(kind);
        let end = RunEnd {
            id: run.id.clone(),
            ended_at: run.clock.now(),
            outcome: stop.exit.word().to_owned(),
            exit_code: i32::from(stop.exit.code()),
        };
        run.store.end_run(&end, &mut event)?;
        tidied.and(told).map(|()| event)
    }

    /// Brings everything up to date that a run keeps beside its record.
    fn tidy_up(&mut self, stop: &mut StopRun) -> Result {
        let run = &mut self.context;
        if stop.exit == RunExit::Limit && run.is_finished()? {
            *stop = run.all_done()?;
        }
        // A person who interrupts a run wants it to end.
        let interrupted = matches!(stop.exit, RunExit::Interrupted(_));
        if !interrupted {
            run.tidy_learnings()?;
            self.plan_files.sync(run, Author::Person, &LogNews::default())?;
            self.agents_md.sync(run, self.tree.branch(), WrittenBy::Agent)?;
        }
        run.store.drop_kept_contents()?;
        run.prune_logs(interrupted)?;
        run.tell_gate_changes(GateAuthor::Elsewhere)
    }

    fn finished(&self, stop: &StopRun) -> Result<EventKind> {
        let run = &self.context;
        let rates = run.store.run_rates(&run.id)?;
        Ok(EventKind::RunFinished {
            exit_code: i32::from(stop.exit.code()),
            outcome: stop.exit.word().to_owned(),
            reason: stop.reason.clone(),
            hint: stop.hint.clone(),
            budget: stop.budget,
            attempts: rates.counted,
            done: rates.done,
            cost: rates.cost,
            duration_ms: millis(run.clock.now().since(run.started_at)),
            tasks: run.store.counts()?,
        })
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
