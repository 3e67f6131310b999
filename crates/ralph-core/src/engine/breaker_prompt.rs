//! When everything is broken: the breaker, the analysis, and the person who may be asked.

use std::collections::HashMap;

use super::run::Run;
use super::run_context::RunContext;
use super::run_end::{EngineError, StopRun};
use super::{OnOpen, PauseOn};
use crate::analysis::{Analysis, Surroundings, analyse};
use crate::event::{EventKind, TaskRef, WaitingFor};
use crate::exit::RunExit;
use crate::model::{Task, TaskId, TaskMetrics};
use crate::store::{BreakerState, Mark, Store, StoreError};

/// Failures that an analysis looks at, and at least that many where there are.
const MOST_FACTS: u64 = 20;
const LEAST_FACTS: u64 = 5;

/// Why a person is asked.
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
    /// What the failures have in common.
    pub analysis: &'a Analysis,
    /// How long to wait for an answer.
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
    /// Whether anybody is there at all.
    fn is_there(&self) -> bool;
    fn ask(&mut self, question: &Question<'_>) -> Answer;
}

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
pub fn analysis(store: &Store, around: Surroundings) -> Result<Analysis, StoreError> {
    let failures = store.breaker()?.failures;
    let most = failures.clamp(LEAST_FACTS, MOST_FACTS);
    let facts = store.newest_failures(most)?;
    let around = Surroundings { recent_uncounted: store.recent_faults()?, ..around };
    Ok(analyse(&facts, &around))
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
    pub(super) fn probe(&mut self) -> Result<(), EngineError> {
        match self.store.half_open_breaker()? {
            true => self.tell(EventKind::BreakerProbes),
            false => Ok(()),
        }
    }

    fn ask(&mut self, reason: PauseReason, analysis: &Analysis) -> Answer {
        if !self.attendant.is_there() {
            return Answer::Nobody;
        }
        self.show(EventKind::Paused);
        let answer = self.attendant.ask(&Question { reason, analysis, timeout: self.settings.pause_timeout });
        self.show(EventKind::Resumed);
        // Somebody may have edited files meanwhile.
        self.files_may_have_changed();
        answer
    }

    /// Ctrl-C at a question ends the run as it does elsewhere; a closed terminal is an answer.
    fn stop_after_question(&self) -> Result<Option<StopRun>, EngineError> {
        if self.interrupt.hung_up() {
            return Ok(Some(aborted()));
        }
        let signal = self.interrupt.first();
        signal.map(|signal| self.interrupted(signal)).transpose()
    }
}

impl Run<'_> {
    fn analyse(&self) -> Result<Analysis, EngineError> {
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
    pub(super) fn after_failure(
        &mut self,
        task: &Task,
        metrics: &TaskMetrics,
    ) -> Result<Option<StopRun>, EngineError> {
        match self.context.store.breaker()?.state {
            BreakerState::Open => self.check_breaker(Some(task)),
            BreakerState::Closed | BreakerState::HalfOpen => self.ask_after_failure(task, metrics),
        }
    }

    /// Stops, asks or waits where the breaker is open. `current` is the task whose failure was the last.
    pub(super) fn check_breaker(&mut self, current: Option<&Task>) -> Result<Option<StopRun>, EngineError> {
        let breaker = self.context.store.breaker()?;
        if breaker.state != BreakerState::Open {
            return Ok(None);
        }
        let analysis = self.analyse()?;
        let run = &mut self.context;
        let opened = run.event(EventKind::BreakerOpened {
            failures: breaker.failures,
            tasks: breaker.tasks,
            analysis: analysis.clone(),
        });
        run.store.append_events(std::slice::from_ref(&opened))?;
        self.state_md.write_analysis(run, &analysis)?;
        let answer = match run.settings.pause_on {
            PauseOn::Never => Answer::Nobody,
            PauseOn::Breaker | PauseOn::Stuck | PauseOn::Failure => {
                let failures = breaker.failures;
                run.ask(PauseReason::Breaker { failures }, &analysis)
            }
        };
        if let Some(stop) = run.stop_after_question()? {
            return Ok(Some(stop));
        }
        match answer {
            Answer::Abort => return Ok(Some(aborted())),
            Answer::Resume => {
                let now = run.clock.now();
                run.store.close_breaker(now)?;
                return Ok(None);
            }
            Answer::Skip => {
                run.store.reset_breaker()?;
                self.skip(current)?;
                return Ok(None);
            }
            // The person who was asked has seen it; everybody else sees it now.
            Answer::Nobody => run.observer.event(&opened),
        }
        if let Some(stop) = self.must_stop()? {
            // The limit ends the run, but an open breaker is the better reason.
            return Ok(Some(match stop.exit {
                RunExit::Limit => triggered(breaker.failures, breaker.tasks),
                _ => stop,
            }));
        }
        match self.context.settings.breaker.on_open {
            OnOpen::Exit => Ok(Some(triggered(breaker.failures, breaker.tasks))),
            OnOpen::Wait => {
                let cooldown = self.context.settings.breaker.cooldown;
                let until = self.context.clock.now().plus(cooldown);
                let reason = "the circuit breaker's cooldown".to_owned();
                let stop = self.wait_until(until, WaitingFor::Cooldown, reason)?;
                if stop.is_none() {
                    self.context.probe()?;
                }
                Ok(stop)
            }
        }
    }

    /// Asks after a failure where the settings say so.
    fn ask_after_failure(
        &mut self,
        task: &Task,
        metrics: &TaskMetrics,
    ) -> Result<Option<StopRun>, EngineError> {
        let prompt = &self.breaker_prompt;
        let Some(reason) = prompt.reason_to_ask(&self.context, task, metrics) else {
            return Ok(None);
        };
        let analysis = self.analyse()?;
        let run = &mut self.context;
        self.state_md.write_analysis(run, &analysis)?;
        let answer = run.ask(reason, &analysis);
        if let Some(stop) = run.stop_after_question()? {
            return Ok(Some(stop));
        }
        match answer {
            Answer::Abort => return Ok(Some(aborted())),
            Answer::Skip => {
                run.store.reset_breaker()?;
                self.skip(Some(task))?;
            }
            Answer::Resume => {
                run.store.reset_breaker()?;
                let failures = metrics.consecutive_failures;
                let resumed = &mut self.breaker_prompt.resumed;
                resumed.insert(task.id.clone(), failures);
            }
            Answer::Nobody => {}
        }
        Ok(None)
    }

    fn skip(&mut self, current: Option<&Task>) -> Result<(), EngineError> {
        let Some(task) = current else { return Ok(()) };
        let run = &mut self.context;
        let reason = Some("at the pause prompt".to_owned());
        let skipped = Mark::Skipped { reason };
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

fn aborted() -> StopRun {
    StopRun::new(RunExit::Aborted, "you aborted the run")
}

fn triggered(failures: u64, tasks: u64) -> StopRun {
    let reason = format!(
        "Circuit breaker triggered: {failures} consecutive failures on {tasks} tasks, with no success in between"
    );
    StopRun::new(RunExit::BreakerOpen, reason)
        .with_hint("fix the cause, then `ralph run` (starts with one trial attempt) or `ralph breaker reset`")
}
