//! Waiting: for a limited agent, for a troubled service, for work that another run holds.

use std::time::Duration;

use super::next::Step;
use super::run::{EngineError, Run, StopRun};
use super::team::OutOfOrder;
use crate::decide::{Out, backoff};
use crate::event::{EventKind, WaitingFor};
use crate::exit::RunExit;
use crate::model::{ErrorType, TaskId, Timestamp};
use crate::store::{AgentLimit, BreakerState, Scope};
use crate::text::in_a_row;

/// How long a wait goes on without looking for signals.
const NAP: Duration = Duration::from_millis(100);
/// No service limits for longer than a week and a day; a time beyond that is a mistake.
const LONGEST_LIMIT: Duration = Duration::from_secs(8 * 24 * 3600);
/// How often a wait looks at what is stored.
const LOOK_AT_STORE: Duration = Duration::from_secs(1);
/// How often work of other runs is looked at.
const LOOK_AT_OTHERS: Duration = Duration::from_millis(300);

impl Run<'_, '_> {
    /// Nothing can be claimed: wait for other runs whose work matters, else say why nothing can be run.
    pub(super) fn wait_for_others(&mut self) -> Result<Option<StopRun>, EngineError> {
        let mut told = false;
        loop {
            self.beat();
            if let Some(stop) = self.must_stop()? {
                return Ok(Some(stop));
            }
            if let Some(stop) = self.recover_lost()? {
                return Ok(Some(stop));
            }
            let outlook = self.outlook()?;
            if outlook.is_finished() {
                return Ok(Some(self.all_done()?));
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
                if let Some((budget, reason)) = self.task_budget_met.take() {
                    let mut stop = StopRun::new(RunExit::Limit, reason);
                    stop.budget = Some(budget);
                    return Ok(Some(stop));
                }
                let reason = "the remaining tasks are blocked or depend on a failed task";
                return Ok(Some(StopRun::new(RunExit::NothingToRun, reason)));
            }
            if !told {
                let store = &self.engine.store;
                let name = |id: &TaskId| match store.task(id.as_str()) {
                    Ok(task) => task.name().to_owned(),
                    Err(_) => id.to_string(),
                };
                let names: Vec<String> = outlook.under_way.iter().map(name).collect();
                let reason = format!("another run, which is working on {}", names.join(", "));
                self.tell(EventKind::Waiting {
                    waiting_for: WaitingFor::OtherRun,
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
        let now = self.engine.clock.now();
        let member = self.team.current_mut();
        member.limits_met += 1;
        member.service_faults = 0;
        member.unavailable_since.get_or_insert(now);
        let met = member.limits_met;
        let wait = self.next_backoff(met);
        let until = match resets_at.map(Timestamp::from_secs) {
            Some(reset) if reset > now && reset.since(now) <= LONGEST_LIMIT => reset,
            // No time given, one that has passed and did not help, or one that cannot be meant.
            _ => now.plus(wait),
        };
        let limit = AgentLimit {
            until,
            met_at: Some(now),
        };
        let agent = self.agent().name();
        self.engine
            .store
            .set_agent_limit(agent, &limit, ErrorType::RateLimit.as_str())?;
        Ok(self.stop_at_limit(until).map_or(Step::Continue, Step::Stop))
    }

    /// After a fault of the service: back off, but not for ever.
    pub(super) fn after_service_fault(&mut self, message: &str) -> Result<Step, EngineError> {
        let now = self.engine.clock.now();
        let member = self.team.current_mut();
        member.service_faults += 1;
        member.unavailable_since.get_or_insert(now);
        let faults = member.service_faults;
        if faults > self.engine.settings.service_retries {
            let rest = self.engine.settings.backoff_cap;
            return self.out_of_order(OutOfOrder {
                how: Out::Until(self.engine.clock.now().plus(rest)),
                why: format!(
                    "the agent's API failed {}; last error: {message}",
                    in_a_row(faults)
                ),
                hint: Some("`ralph run` again when the API is available".into()),
            });
        }
        // Nobody waits for what a budget forbids.
        if let Some(stop) = self.must_stop()? {
            return Ok(Step::Stop(stop));
        }
        let wait = self.next_backoff(faults);
        let until = self.engine.clock.now().plus(wait);
        let reason = format!("the agent's API ({message})");
        let stopped = self.wait_until(until, WaitingFor::Service, reason)?;
        Ok(stopped.map_or(Step::Continue, Step::Stop))
    }

    fn next_backoff(&mut self, failures: u32) -> Duration {
        let jitter = ((self.engine.random)() >> 11) as f64 / (1_u64 << 53) as f64;
        let settings = self.engine.settings;
        backoff(settings.backoff, failures, settings.backoff_cap, jitter)
    }

    /// Waits until the clock shows a time. A machine that slept does not wait longer, and neither does one whose clock was
    /// set back.
    pub(super) fn wait_until(
        &mut self,
        until: Timestamp,
        waiting_for: WaitingFor,
        reason: String,
    ) -> Result<Option<StopRun>, EngineError> {
        self.tell(EventKind::Waiting {
            waiting_for,
            reason,
            until: Some(until),
        })?;
        // Somebody may edit files meanwhile.
        self.tree = None;
        let began = self.engine.clock.steady();
        let planned = until.since(self.engine.clock.now());
        let mut looked = Duration::ZERO;
        loop {
            let waited = self.engine.clock.steady().saturating_sub(began);
            let left = until.since(self.engine.clock.now());
            let left = left.min(planned.saturating_sub(waited));
            if left.is_zero() {
                self.show(EventKind::WaitOver);
                return Ok(None);
            }
            // Signals at once, what is stored now and then: a wait may take hours.
            if self.engine.interrupt.first().is_some() || waited >= looked {
                looked = waited + LOOK_AT_STORE;
                self.beat();
                if let Some(stop) = self.must_stop()? {
                    return Ok(Some(stop));
                }
                let whole = self.engine.settings.scope == Scope::All;
                let limited = waiting_for == WaitingFor::Limit;
                if limited && whole && self.is_finished()? {
                    return Ok(Some(self.all_done()?));
                }
                // A person may have made an end of the limit.
                if limited && self.somebody_can_work()? {
                    self.show(EventKind::WaitOver);
                    return Ok(None);
                }
            }
            self.engine.clock.sleep(NAP.min(left));
        }
    }
}
