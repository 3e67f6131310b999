//! When everything is broken: the breaker, the analysis, and the person who may be asked.

use super::run::{EngineError, Run, StopRun};
use super::{OnOpen, PauseOn};
use crate::analysis::{Analysis, Surroundings, analyse};
use crate::event::{EventKind, TaskRef, WaitingFor};
use crate::exit::RunExit;
use crate::model::{Task, TaskMetrics};
use crate::store::{BreakerState, Mark, Store, StoreError};

/// Failures that an analysis looks at, and at least that many where there are.
const MOST_FACTS: u64 = 20;
const LEAST_FACTS: u64 = 5;

/// Why a person is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseReason {
    /// The circuit breaker opened.
    Breaker {
        /// Failures in a row, over all tasks.
        failures: u64,
    },
    /// A task is stuck.
    Stuck {
        /// Which.
        task: String,
        /// Its failures in a row.
        failures: u32,
    },
    /// An attempt failed.
    Failure {
        /// Of which task.
        task: String,
    },
}

/// A question to a person.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// Why it is asked.
    pub reason: PauseReason,
    /// What the failures have in common.
    pub analysis: &'a Analysis,
    /// How long to wait for an answer.
    pub timeout: std::time::Duration,
}

/// What a person answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Go on.
    Resume,
    /// Leave the current task out and go on.
    Skip,
    /// End the run.
    Abort,
    /// Nobody is there, or nobody answered.
    Nobody,
}

/// Somebody who can be asked; without a terminal there is nobody.
pub trait Attendant {
    /// Whether anybody is there at all.
    fn is_there(&self) -> bool;
    /// Asks, and waits for the answer.
    fn ask(&mut self, question: &Question<'_>) -> Answer;
}

/// Nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAttendant;

impl Attendant for NoAttendant {
    fn is_there(&self) -> bool {
        false
    }

    fn ask(&mut self, _question: &Question<'_>) -> Answer {
        Answer::Nobody
    }
}

/// What the newest counted failures have in common.
pub fn analysis(store: &dyn Store, around: Surroundings) -> Result<Analysis, StoreError> {
    let failures = store.breaker()?.failures;
    let most = failures.clamp(LEAST_FACTS, MOST_FACTS);
    let facts = store.newest_failures(most)?;
    let around = Surroundings {
        recent_uncounted: store.recent_faults()?,
        ..around
    };
    Ok(analyse(&facts, &around))
}

impl Run<'_, '_> {
    /// A run that starts with the breaker open probes: one attempt, to see.
    pub(super) fn probe(&mut self) -> Result<(), EngineError> {
        if self.engine.store.half_open_breaker()? {
            self.tell(EventKind::BreakerProbes)?;
        }
        Ok(())
    }

    fn analyse(&self) -> Result<Analysis, EngineError> {
        let minutes = self.engine.settings.attempt_timeout.as_secs() / 60;
        let around = Surroundings {
            ladder: self.agent().ladder().to_vec(),
            attempt_timeout_minutes: minutes,
            recovery: self.engine.settings.recovery.enabled,
            ..Surroundings::default()
        };
        Ok(analysis(self.engine.store, around)?)
    }

    /// Stops, asks or waits where the breaker is open. `current` is the task whose failure was the last.
    pub(super) fn mind_breaker(
        &mut self,
        current: Option<&Task>,
    ) -> Result<Option<StopRun>, EngineError> {
        let breaker = self.engine.store.breaker()?;
        if breaker.state != BreakerState::Open {
            return Ok(None);
        }
        let analysis = self.analyse()?;
        let opened = self.event(EventKind::BreakerOpened {
            failures: breaker.failures,
            tasks: breaker.tasks,
            analysis: analysis.clone(),
        });
        self.engine
            .store
            .append_events(std::slice::from_ref(&opened))?;
        self.write_state(Some(&analysis))?;
        let answer = match self.engine.settings.pause_on {
            PauseOn::Never => Answer::Nobody,
            PauseOn::Breaker | PauseOn::Stuck | PauseOn::Failure => {
                let failures = breaker.failures;
                self.ask(PauseReason::Breaker { failures }, &analysis)
            }
        };
        if let Some(stop) = self.stop_after_question()? {
            return Ok(Some(stop));
        }
        match answer {
            Answer::Abort => return Ok(Some(aborted())),
            Answer::Resume => {
                let now = self.engine.clock.now();
                self.engine.store.close_breaker(now)?;
                return Ok(None);
            }
            Answer::Skip => {
                self.engine.store.reset_breaker()?;
                self.skip(current)?;
                return Ok(None);
            }
            // Whoever was asked has seen it; the others see it now.
            Answer::Nobody => self.engine.observer.event(&opened),
        }
        if let Some(stop) = self.must_stop()? {
            // The limit ends the run, but an open breaker is the better reason.
            return Ok(Some(match stop.exit {
                RunExit::Limit => triggered(breaker.failures, breaker.tasks),
                _ => stop,
            }));
        }
        match self.engine.settings.breaker.on_open {
            OnOpen::Exit => Ok(Some(triggered(breaker.failures, breaker.tasks))),
            OnOpen::Wait => {
                let cooldown = self.engine.settings.breaker.cooldown;
                let until = self.engine.clock.now().plus(cooldown);
                let reason = "the circuit breaker's cooldown".to_owned();
                let stop = self.wait_until(until, WaitingFor::Cooldown, reason)?;
                if stop.is_none() {
                    self.probe()?;
                }
                Ok(stop)
            }
        }
    }

    /// Asks after a failure where the settings say so.
    pub(super) fn mind_failure(
        &mut self,
        task: &Task,
        metrics: &TaskMetrics,
    ) -> Result<Option<StopRun>, EngineError> {
        let name = task.name().to_owned();
        let again = self.resumed.get(&task.id).map_or(0, |failures| {
            failures.saturating_add(self.engine.settings.policy.stuck_after)
        });
        let stuck = metrics.stuck && metrics.consecutive_failures >= again;
        let reason = match self.engine.settings.pause_on {
            PauseOn::Stuck | PauseOn::Failure if stuck => PauseReason::Stuck {
                task: name,
                failures: metrics.consecutive_failures,
            },
            PauseOn::Failure => PauseReason::Failure { task: name },
            PauseOn::Never | PauseOn::Breaker | PauseOn::Stuck => return Ok(None),
        };
        if !self.engine.attendant.is_there() {
            return Ok(None);
        }
        let analysis = self.analyse()?;
        self.write_state(Some(&analysis))?;
        let answer = self.ask(reason, &analysis);
        if let Some(stop) = self.stop_after_question()? {
            return Ok(Some(stop));
        }
        match answer {
            Answer::Abort => return Ok(Some(aborted())),
            Answer::Skip => {
                self.engine.store.reset_breaker()?;
                self.skip(Some(task))?;
            }
            Answer::Resume => {
                self.engine.store.reset_breaker()?;
                let failures = metrics.consecutive_failures;
                self.resumed.insert(task.id.clone(), failures);
            }
            Answer::Nobody => {}
        }
        Ok(None)
    }

    fn ask(&mut self, reason: PauseReason, analysis: &Analysis) -> Answer {
        if !self.engine.attendant.is_there() {
            return Answer::Nobody;
        }
        self.show(EventKind::Paused);
        let question = Question {
            reason,
            analysis,
            timeout: self.engine.settings.pause_timeout,
        };
        let answer = self.engine.attendant.ask(&question);
        self.show(EventKind::Resumed);
        // Somebody may have edited files meanwhile.
        self.tree = None;
        answer
    }

    /// Ctrl-C at a question ends the run as it does elsewhere; a closed terminal is an answer.
    fn stop_after_question(&self) -> Result<Option<StopRun>, EngineError> {
        if self.engine.interrupt.hung_up() {
            return Ok(Some(aborted()));
        }
        let signal = self.engine.interrupt.first();
        signal.map(|signal| self.interrupted(signal)).transpose()
    }

    fn skip(&mut self, current: Option<&Task>) -> Result<(), EngineError> {
        let Some(task) = current else { return Ok(()) };
        let now = self.engine.clock.now();
        let reason = Some("skipped at the pause prompt".to_owned());
        match self
            .engine
            .store
            .mark(&task.id, &Mark::Skipped { reason }, now)
        {
            Ok(()) => {}
            // Another run took it meanwhile, or somebody deleted it: it is no longer ours to leave out.
            Err(error @ (StoreError::InProgress { .. } | StoreError::UnknownTask(_))) => {
                let message = format!("cannot skip {}: {error}", task.name());
                return self.tell(EventKind::Warning { message });
            }
            Err(error) => return Err(error.into()),
        }
        self.tell(EventKind::Skipped {
            task: TaskRef::from(task),
        })?;
        self.write_state(None)
    }
}

fn aborted() -> StopRun {
    StopRun::new(RunExit::Aborted, "aborted at the pause prompt")
}

fn triggered(failures: u64, tasks: u64) -> StopRun {
    let reason = format!(
        "Circuit breaker triggered: {failures} consecutive failures on {tasks} tasks, with no success in between"
    );
    let mut stop = StopRun::new(RunExit::BreakerOpen, reason);
    stop.hint = Some(
        "fix the cause, then `ralph run` (starts with one trial attempt) or `ralph breaker reset`"
            .into(),
    );
    stop
}
