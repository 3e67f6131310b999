//! Waiting: for a limited agent, for a troubled service, for work that another run holds.

use std::time::Duration;

use super::next::Step;
use super::run::{EngineError, Run, StopRun};
use crate::decide::backoff;
use crate::event::EventKind;
use crate::exit::RunExit;
use crate::model::{ErrorType, Timestamp};
use crate::store::BreakerState;

/// How long a wait goes on without looking for signals.
const NAP: Duration = Duration::from_millis(100);
/// No service limits for longer than a week and a day; a time beyond that is a mistake.
const LONGEST_LIMIT: Duration = Duration::from_secs(8 * 24 * 3600);
/// How often work of other runs is looked at.
const LOOK_AT_OTHERS: Duration = Duration::from_millis(300);

impl Run<'_, '_> {
    /// A limit of the agent's that an earlier attempt or run met is waited out before anything is claimed.
    pub(super) fn wait_for_agent(&mut self) -> Result<Option<StopRun>, EngineError> {
        let agent = self.engine.agent.name();
        let Some(until) = self.engine.store.agent_limit(agent)? else {
            return Ok(None);
        };
        if until <= self.engine.clock.now() {
            return Ok(None);
        }
        let reason = format!("the usage limit of {agent}");
        self.wait_until(until, reason)
    }

    /// Nothing can be claimed: wait for other runs whose work matters, else say why nothing can be run.
    pub(super) fn wait_for_others(&mut self) -> Result<Option<StopRun>, EngineError> {
        let mut told = false;
        loop {
            if let Some(stop) = self.must_stop()? {
                return Ok(Some(stop));
            }
            self.recover_lost()?;
            let outlook = self.outlook()?;
            if outlook.is_finished() {
                return Ok(Some(StopRun::new(RunExit::Finished, "every task is done")));
            }
            let breaker = self.engine.store.breaker()?;
            if breaker.state == BreakerState::Open {
                return Ok(None);
            }
            let probing = breaker.state == BreakerState::HalfOpen && breaker.probing;
            let scope = &self.engine.settings.scope;
            if !probing && !self.engine.store.ready(scope, 1)?.is_empty() {
                return Ok(None);
            }
            if outlook.under_way.is_empty() && !probing {
                // Another run may have finished a last child and left.
                if self.settle_parents()? > 0 || self.engine.interrupt.first().is_some() {
                    continue;
                }
                let reason =
                    "nothing can be run: what is left waits for a human or for a failed task";
                return Ok(Some(StopRun::new(RunExit::NothingToRun, reason)));
            }
            if !told {
                let names: Vec<&str> = outlook.under_way.iter().map(|id| id.as_str()).collect();
                let reason = format!("another run, which works on {}", names.join(", "));
                self.tell(EventKind::Waiting {
                    reason,
                    until: None,
                })?;
                told = true;
            }
            self.tree = None;
            self.engine.clock.sleep(LOOK_AT_OTHERS);
            self.settle_parents()?;
        }
    }

    /// After a usage limit: remember it, so that no run asks too early.
    pub(super) fn after_limit(&mut self, resets_at: Option<i64>) -> Result<Step, EngineError> {
        self.limits_met += 1;
        self.service_faults = 0;
        let now = self.engine.clock.now();
        let wait = self.next_backoff(self.limits_met);
        let until = match resets_at.map(Timestamp::from_secs) {
            Some(reset) if reset > now && reset.since(now) <= LONGEST_LIMIT => reset,
            // No time given, one that has passed and did not help, or one that cannot be meant.
            _ => now.plus(wait),
        };
        let agent = self.engine.agent.name();
        self.engine
            .store
            .set_agent_limit(agent, until, ErrorType::RateLimit.as_str())?;
        Ok(Step::Continue)
    }

    /// After a fault of the service: back off, but not for ever.
    pub(super) fn after_service_fault(&mut self, message: &str) -> Result<Step, EngineError> {
        self.service_faults += 1;
        let most = self.engine.settings.service_retries;
        if self.service_faults > most {
            let tries = self.service_faults;
            let reason =
                format!("the agent's service failed {tries} times in a row; last: {message}");
            let mut stop = StopRun::new(RunExit::Error, reason);
            stop.hint = Some("try `ralph run` again when the service is well".into());
            return Ok(Step::Stop(stop));
        }
        let wait = self.next_backoff(self.service_faults);
        let until = self.engine.clock.now().plus(wait);
        let stopped = self.wait_until(until, format!("the agent's service ({message})"))?;
        Ok(stopped.map_or(Step::Continue, Step::Stop))
    }

    fn next_backoff(&mut self, failures: u32) -> Duration {
        let jitter = ((self.engine.random)() >> 11) as f64 / (1_u64 << 53) as f64;
        let settings = self.engine.settings;
        backoff(settings.backoff, failures, settings.backoff_cap, jitter)
    }

    /// Waits by the wall clock, so that a machine that slept does not wait longer.
    pub(super) fn wait_until(
        &mut self,
        until: Timestamp,
        reason: String,
    ) -> Result<Option<StopRun>, EngineError> {
        self.tell(EventKind::Waiting {
            reason,
            until: Some(until),
        })?;
        // Somebody may edit files meanwhile.
        self.tree = None;
        loop {
            let now = self.engine.clock.now();
            if now >= until {
                return Ok(None);
            }
            if let Some(stop) = self.must_stop()? {
                return Ok(Some(stop));
            }
            self.engine.clock.sleep(NAP.min(until.since(now)));
        }
    }
}
