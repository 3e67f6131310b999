//! When everything is broken: the breaker, the analysis, and the person who may be asked.

use std::collections::HashMap;

use super::run::Run;
use super::run_context::RunContext;
use super::run_end::{Halt, Result, StopRun};
use super::{OnOpen, PauseOn};
use crate::analysis::{Analysis, Surroundings, analyze};
use crate::event::{EventKind, TaskRef, WaitingFor};
use crate::exit::RunExit;
use crate::model::{Task, TaskId, TaskMetrics};
use crate::store::{BreakerState, Mark, Store, StoreError};

/// Failures that an analysis looks at, and at least that many where there are.
const MOST_FACTS: u64 = 20;
const LEAST_FACTS: u64 = 5;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseReason {
    Breaker {
        /// Failures in a row, over all tasks.
        failures: u64,
    },
    Stuck {
        task: String,
        failures: u32,
    },
    Failure {
        task: String,
    },
}

#[derive(Clone, Debug)]
pub struct Question<'a> {
    pub reason: PauseReason,
    pub analysis: &'a Analysis,
    pub timeout: std::time::Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Resume,
    /// Leave the current task out and go on.
    Skip,
    Abort,
    Nobody,
}

/// Somebody who can be asked; without a terminal there is nobody.
pub trait Attendant {
    fn is_there(&self) -> bool {
        false
    }

    fn ask(&mut self, _question: &Question<'_>) -> Answer {
        Answer::Nobody
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct NoAttendant;

impl Attendant for NoAttendant {}

/// What the newest counted failures have in common.
pub fn analysis(store: &Store, around: Surroundings) -> Result<Analysis, StoreError> {
    let failures = store.breaker()?.failures;
    let most = failures.clamp(LEAST_FACTS, MOST_FACTS);
    let facts = store.newest_failures(most)?;
    let around = Surroundings { recent_uncounted: store.recent_faults()?, ..around };
    Ok(analyze(&facts, &around))
}

/// What the person at the terminal answered so far.
#[derive(Default)]
pub(super) struct BreakerPrompt {
    /// Tasks that a person resumed when they were stuck, and their failures then.
    resumed: HashMap<TaskId, u32>,
}

impl BreakerPrompt {
    /// Why a person is asked after a failure, where the settings say so.
    fn reason_to_ask(&self, run: &RunContext<'_>, task: &Task, metrics: &TaskMetrics) -> Option<PauseReason> {
        if !run.attendant.is_there() {
            return None;
        }
        let name = task.name().to_owned();
        let failures = metrics.consecutive_failures;
        let again = self
            .resumed
            .get(&task.id)
            .map_or(0, |failures| failures.saturating_add(run.settings.policy.stuck_after));
        let stuck = metrics.stuck && failures >= again;
        match run.settings.pause_on {
            PauseOn::Stuck | PauseOn::Failure if stuck => Some(PauseReason::Stuck { task: name, failures }),
            PauseOn::Failure => Some(PauseReason::Failure { task: name }),
            PauseOn::Never | PauseOn::Breaker | PauseOn::Stuck => None,
        }
    }
}

impl RunContext<'_> {
    /// A run that starts with the breaker open probes: one attempt, to see.
    pub(super) fn probe(&mut self) -> Result {
        if self.store.half_open_breaker()? { self.tell(EventKind::BreakerProbes) } else { Ok(()) }
    }

    fn ask(&mut self, reason: PauseReason, analysis: &Analysis) -> Result<Answer> {
        if !self.attendant.is_there() {
            return Ok(Answer::Nobody);
        }
        let timeout = self.settings.pause_timeout;
        self.tell(EventKind::Waiting {
            waiting_for: WaitingFor::Answer,
            reason: "your answer in its terminal".to_owned(),
            until: Some(self.clock.now().plus(timeout)),
        })?;
        self.show(EventKind::Paused);
        let answer = self.attendant.ask(&Question { reason, analysis, timeout });
        self.show(EventKind::Resumed);
        self.tell(EventKind::WaitOver)?;
        // Somebody may have edited files meanwhile.
        self.files_may_have_changed();
        Ok(answer)
    }

    /// Ctrl-C at a question ends the run as it does elsewhere; a closed terminal is an answer.
    fn check_after_question(&self) -> Result {
        if self.interrupt.hung_up() { Err(aborted()) } else { self.check_signal() }
    }
}

impl Run<'_> {
    fn analyze(&self) -> Result<Analysis> {
        let settings = self.context.settings;
        let around = Surroundings {
            ladder: self.team.agent().ladder().to_vec(),
            attempt_timeout_minutes: settings.attempt_timeout.as_secs() / 60,
            recovery: settings.recovery.enabled,
            ..Surroundings::default()
        };
        Ok(analysis(self.context.store, around)?)
    }

    /// A counted failure: the breaker may have opened, and a person may want to be asked.
    pub(super) fn after_failure(&mut self, task: &Task, metrics: &TaskMetrics) -> Result {
        match self.context.store.breaker()?.state {
            BreakerState::Open => self.check_breaker(Some(task)),
            BreakerState::Closed | BreakerState::HalfOpen => self.ask_after_failure(task, metrics),
        }
    }

    /// Stops, asks or waits where the breaker is open. `current` is the task whose failure was the last.
    pub(super) fn check_breaker(&mut self, current: Option<&Task>) -> Result {
        let breaker = self.context.store.breaker()?;
        if breaker.state != BreakerState::Open {
            return Ok(());
        }
        if self.context.is_worker {
            // The supervisor tells of it, asks and waits, once for all workers.
            return Err(StopRun::new(RunExit::BreakerOpen, "the circuit breaker is open").into());
        }
        let analysis = self.analyze()?;
        let run = &mut self.context;
        let (failures, tasks) = (breaker.failures, breaker.tasks);
        let opened = EventKind::BreakerOpened { failures, tasks, analysis: analysis.clone() };
        let mut opened = run.event(opened);
        run.store.append_event(&mut opened)?;
        self.state_md.write_analysis(run, &analysis)?;
        let answer = match run.settings.pause_on {
            PauseOn::Never => Answer::Nobody,
            PauseOn::Breaker | PauseOn::Stuck | PauseOn::Failure => {
                run.ask(PauseReason::Breaker { failures }, &analysis)?
            }
        };
        run.check_after_question()?;
        match answer {
            Answer::Abort => return Err(aborted()),
            Answer::Resume => return Ok(run.store.close_breaker(run.clock.now())?),
            Answer::Skip => {
                run.store.reset_breaker()?;
                return self.skip(current);
            }
            // The person who was asked has seen it; everybody else sees it now.
            Answer::Nobody => run.show_stored(&opened),
        }
        let triggered = || {
            StopRun::new(
            RunExit::BreakerOpen,
            format!(
                "Circuit breaker triggered: {failures} consecutive failures on {tasks} tasks, with no success in between"
            ),
        )
        .with_hint("fix the cause, then `ralph run` (starts with one trial attempt) or `ralph breaker reset`")
        };
        match self.must_stop() {
            // The limit ends the run, but an open breaker is the better reason.
            Err(Halt::Stop(stop)) if stop.exit == RunExit::Limit => return Err(triggered().into()),
            other => other?,
        }
        let settings = &self.context.settings.breaker;
        if settings.on_open == OnOpen::Exit {
            return Err(triggered().into());
        }
        let until = self.context.clock.now().plus(settings.cooldown);
        self.wait_until(until, WaitingFor::Cooldown, "the circuit breaker's cooldown".to_owned())?;
        self.context.probe()
    }

    fn ask_after_failure(&mut self, task: &Task, metrics: &TaskMetrics) -> Result {
        let Some(reason) = self.breaker_prompt.reason_to_ask(&self.context, task, metrics) else {
            return Ok(());
        };
        let analysis = self.analyze()?;
        let run = &mut self.context;
        self.state_md.write_analysis(run, &analysis)?;
        let answer = run.ask(reason, &analysis)?;
        run.check_after_question()?;
        match answer {
            Answer::Abort => Err(aborted()),
            Answer::Skip => {
                run.store.reset_breaker()?;
                self.skip(Some(task))
            }
            Answer::Resume => {
                run.store.reset_breaker()?;
                self.breaker_prompt.resumed.insert(task.id.clone(), metrics.consecutive_failures);
                Ok(())
            }
            Answer::Nobody => Ok(()),
        }
    }

    fn skip(&mut self, current: Option<&Task>) -> Result {
        let Some(task) = current else { return Ok(()) };
        let run = &mut self.context;
        let skipped = Mark::Skipped { reason: Some("you skipped it at the pause prompt".to_owned()) };
        match run.store.mark(&task.id, &skipped, run.clock.now()) {
            Ok(()) => {}
            // Another run took it meanwhile, or somebody deleted it: it is no longer ours to leave out.
            Err(error @ (StoreError::InProgress { .. } | StoreError::UnknownTask(_))) => {
                return run.warn(format!("cannot skip {}: {error}", task.name()));
            }
            Err(error) => return Err(error.into()),
        }
        run.tell(EventKind::Skipped { task: TaskRef::from(task) })?;
        self.state_md.write(run, "running")
    }
}

fn aborted() -> Halt {
    StopRun::new(RunExit::Aborted, "you aborted the run").into()
}
