//! Waiting: for a limited agent, for an unavailable service, for work that another run holds, for a person who paused the run.

use std::time::Duration;

use super::run::Run;
use super::run_context::RunContext;
use super::run_end::{EngineError, StopRun};
use super::team::Unavailable;
use crate::decide::{Outage, Turn, backoff};
use crate::event::{EventKind, WaitingFor};
use crate::exit::RunExit;
use crate::model::{TaskId, Timestamp};
use crate::store::{BreakerState, RunRequest, Scope};
use crate::text::in_a_row;

/// How long a wait goes on without looking for signals.
const NAP: Duration = Duration::from_millis(100);
/// How often a wait looks at what is stored.
const LOOK_AT_STORE: Duration = Duration::from_secs(1);
/// How often work of other runs is looked at.
const LOOK_AT_OTHERS: Duration = Duration::from_millis(300);
/// How often a paused run looks whether it may go on.
const LOOK_AT_PAUSE: Duration = Duration::from_millis(200);

/// What came of choosing an agent.
pub(super) enum AgentChoice {
    Works,
    /// There was a wait; much may have changed.
    Waited,
    /// Nobody can, and the run ends.
    Nobody(StopRun),
}

impl Run<'_> {
    /// Signals, requests, limits and budgets.
    pub(super) fn must_stop(&mut self) -> Result<Option<StopRun>, EngineError> {
        self.context.check_database()?;
        if let Some(stop) = self.context.signal_or_limit()? {
            return Ok(Some(stop));
        }
        if let Some(stop) = self.tree.fault() {
            return Ok(Some(stop));
        }
        if let Some(stop) = self.context.asked_to_stop()? {
            return Ok(Some(stop));
        }
        self.budgets.check(&mut self.context)
    }

    /// Waits while the run is asked to pause.
    pub(super) fn wait_while_paused(&mut self) -> Result<Option<StopRun>, EngineError> {
        if !self.context.is_paused()? {
            return Ok(None);
        }
        self.context.tell(EventKind::Waiting {
            waiting_for: WaitingFor::Resume,
            reason: "`ralph resume`".to_owned(),
            until: None,
        })?;
        self.state_md.write(&mut self.context, "paused; `ralph resume` continues")?;
        // Somebody may edit files meanwhile.
        self.context.files_may_have_changed();
        while self.context.is_paused()? {
            if let Some(stop) = self.must_stop()? {
                return Ok(Some(stop));
            }
            self.context.beat();
            self.context.clock.sleep(LOOK_AT_PAUSE);
        }
        self.context.tell(EventKind::WaitOver)?;
        // It may have been asked for something else.
        self.must_stop()
    }

    /// Whose turn it is; what nobody can work around is waited out before anything is claimed.
    pub(super) fn choose_agent(&mut self) -> Result<AgentChoice, EngineError> {
        match self.team.turn(&self.context)? {
            Turn::Works(member) => {
                self.team.switch_to(&mut self.context, member)?;
                Ok(AgentChoice::Works)
            }
            Turn::Nobody => Ok(AgentChoice::Nobody(self.team.nobody_left())),
            Turn::Waits { member, until } => {
                // Nobody waits hours for an agent that has nothing to do.
                let scope = &self.context.settings.scope;
                let stop = if self.context.store.ready(scope, 1)?.is_empty() {
                    self.wait_for_others()?
                } else {
                    self.wait_for_agent(member, until)?
                };
                Ok(stop.map_or(AgentChoice::Waited, AgentChoice::Nobody))
            }
        }
    }

    /// Waits until an agent can work again, where the settings allow to wait so long.
    fn wait_for_agent(&mut self, member: usize, until: Timestamp) -> Result<Option<StopRun>, EngineError> {
        let waiting = &self.team.members[member];
        let name = waiting.agent.name().to_owned();
        let limit = self.context.store.agent_limit(&name)?;
        let now = self.context.clock.now();
        let limited = limit.is_some_and(|limit| limit.ends(now) > now);
        if let Some(fault) = waiting.unavailable.as_ref().filter(|_| !limited) {
            // Every agent is unavailable. Waiting goes on for as long as for a limit, then the run ends.
            let since = waiting.unavailable_since.unwrap_or(now);
            if until.since(since) > self.context.settings.max_wait.unwrap_or_default() {
                return Ok(Some(self.team.nobody_left()));
            }
            let reason = format!("{name}'s API ({})", fault.why);
            return self.wait_until(until, WaitingFor::Service, reason);
        }
        if let Some(stop) = self.team.waits_too_long(&self.context, member, until) {
            return Ok(Some(stop));
        }
        let reason = format!("{name}'s usage limit");
        let began = self.context.clock.steady();
        let stop = self.wait_until(until, WaitingFor::Limit, reason)?;
        let waited = self.context.clock.steady().saturating_sub(began);
        let ended = self.context.clock.now();
        // Somebody else may work again: then this one's limit is not over.
        let is_over = ended >= until || waited >= until.since(now);
        if let (None, Some(limit), true) = (&stop, limit, is_over) {
            self.context.store.end_agent_limit(&name, &limit, ended)?;
        }
        Ok(stop)
    }

    /// Nothing can be claimed: wait for other runs whose work matters, else say why nothing can be run.
    pub(super) fn wait_for_others(&mut self) -> Result<Option<StopRun>, EngineError> {
        let mut told = false;
        loop {
            self.context.beat();
            if let Some(stop) = self.must_stop()? {
                return Ok(Some(stop));
            }
            if let Some(stop) = self.context.record_lost_attempts()? {
                return Ok(Some(stop));
            }
            let outlook = self.context.outlook()?;
            if outlook.is_finished() {
                return Ok(Some(self.context.all_done()?));
            }
            let breaker = self.context.store.breaker()?;
            if breaker.state == BreakerState::Open {
                return Ok(None);
            }
            let probing = breaker.state == BreakerState::HalfOpen && breaker.probing;
            let scope = &self.context.settings.scope;
            if !probing && !self.context.store.ready(scope, 1)?.is_empty() {
                return Ok(None);
            }
            if outlook.under_way.is_empty() && !probing {
                // Another run may have finished a last child and left.
                if self.settle_parents()? > 0 || self.context.interrupt.first().is_some() {
                    continue;
                }
                if let Some((budget, reason)) = self.budgets.task_budget_reached.take() {
                    return Ok(Some(StopRun::budget(budget, reason)));
                }
                let reason = "the remaining tasks are blocked or depend on a failed task";
                return Ok(Some(StopRun::new(RunExit::NothingToRun, reason)));
            }
            if !told {
                let store = &self.context.store;
                let name = |id: &TaskId| match store.task(id.as_str()) {
                    Ok(task) => task.name().to_owned(),
                    Err(_) => id.to_string(),
                };
                let names: Vec<String> = outlook.under_way.iter().map(name).collect();
                let reason = format!("another run, which is working on {}", names.join(", "));
                self.context.tell(EventKind::Waiting {
                    waiting_for: WaitingFor::OtherRun,
                    reason,
                    until: None,
                })?;
                told = true;
            }
            self.context.files_may_have_changed();
            self.context.clock.sleep(LOOK_AT_OTHERS);
            self.settle_parents()?;
        }
    }

    /// After a fault of the service: back off, but not for ever.
    pub(super) fn wait_for_service(&mut self, message: &str) -> Result<Option<StopRun>, EngineError> {
        let now = self.context.clock.now();
        let member = self.team.current();
        member.service_faults += 1;
        member.unavailable_since.get_or_insert(now);
        let faults = member.service_faults;
        if faults > self.context.settings.service_retries {
            let rest = self.context.settings.backoff_cap;
            let fault = Unavailable {
                outage: Outage::Until(now.plus(rest)),
                why: format!("the agent's API failed {}; last error: {message}", in_a_row(faults)),
                hint: Some("`ralph run` again when the API is available".into()),
            };
            return self.team.note_unavailable(&mut self.context, fault);
        }
        // Nobody waits for what a budget forbids.
        if let Some(stop) = self.must_stop()? {
            return Ok(Some(stop));
        }
        let wait = self.context.next_backoff(faults);
        let until = self.context.clock.now().plus(wait);
        let reason = format!("the agent's API ({message})");
        self.wait_until(until, WaitingFor::Service, reason)
    }

    /// Waits until the clock shows a time. A machine that slept does not wait longer, and neither does one whose clock was
    /// set back.
    pub(super) fn wait_until(
        &mut self,
        until: Timestamp,
        waiting_for: WaitingFor,
        reason: String,
    ) -> Result<Option<StopRun>, EngineError> {
        self.context.tell(EventKind::Waiting { waiting_for, reason, until: Some(until) })?;
        // Somebody may edit files meanwhile.
        self.context.files_may_have_changed();
        let clock = self.context.clock;
        let began = clock.steady();
        let planned = until.since(clock.now());
        let mut looked = Duration::ZERO;
        loop {
            let waited = clock.steady().saturating_sub(began);
            let left = until.since(clock.now());
            let left = left.min(planned.saturating_sub(waited));
            if left.is_zero() {
                self.context.show(EventKind::WaitOver);
                return Ok(None);
            }
            // Signals at once, what is stored now and then: a wait may take hours.
            if self.context.interrupt.first().is_some() || waited >= looked {
                looked = waited + LOOK_AT_STORE;
                self.context.beat();
                if let Some(stop) = self.must_stop()? {
                    return Ok(Some(stop));
                }
                let whole = self.context.settings.scope == Scope::All;
                let limited = waiting_for == WaitingFor::Limit;
                if limited && whole && self.context.is_finished()? {
                    return Ok(Some(self.context.all_done()?));
                }
                // A person may have made an end of the limit.
                if limited && matches!(self.team.turn(&self.context)?, Turn::Works(_)) {
                    self.context.show(EventKind::WaitOver);
                    return Ok(None);
                }
            }
            clock.sleep(NAP.min(left));
        }
    }
}

impl RunContext<'_> {
    fn is_paused(&self) -> Result<bool, EngineError> {
        Ok(self.store.asked_of(&self.id)? == Some(RunRequest::Pause))
    }

    /// How long to wait after so many failures in a row.
    pub(super) fn next_backoff(&mut self, failures: u32) -> Duration {
        let jitter = ((self.random)() >> 11) as f64 / (1_u64 << 53) as f64;
        let settings = self.settings;
        backoff(settings.backoff, failures, settings.backoff_cap, jitter)
    }
}
