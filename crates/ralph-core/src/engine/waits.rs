//! Waiting: for a limited agent, for an unavailable service, for work that another run holds, for a person who paused the run.

use std::time::Duration;

use super::run::Run;
use super::run_context::RunContext;
use super::run_end::{Result, StopRun};
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
/// How often a worker without work looks whether others of its run made something ready.
const LOOK_AT_WORKERS: Duration = Duration::from_millis(60);
/// How often a paused run looks whether it may go on.
const LOOK_AT_PAUSE: Duration = Duration::from_millis(200);

impl Run<'_> {
    /// Signals, requests, limits and budgets.
    pub(super) fn must_stop(&mut self) -> Result {
        self.context.check_database()?;
        self.context.check_requests()?;
        self.tree.check_fault()?;
        self.budgets.check(&mut self.context)
    }

    pub(super) fn wait_while_paused(&mut self) -> Result {
        if !self.context.is_paused()? {
            return Ok(());
        }
        let reason = "`ralph resume`".to_owned();
        let waiting = EventKind::Waiting { waiting_for: WaitingFor::Resume, reason, until: None };
        // The first worker that stands still speaks for all.
        let is_first = self.context.worker == crate::event::WORKER;
        if is_first {
            self.context.tell(waiting)?
        } else {
            self.context.show(waiting)
        }
        self.state_md.write(&mut self.context, "paused; `ralph resume` continues")?;
        // Somebody may edit files meanwhile.
        self.context.files_may_have_changed();
        while self.context.is_paused()? {
            self.must_stop()?;
            self.context.beat();
            self.context.clock.sleep(LOOK_AT_PAUSE);
        }
        if is_first {
            self.context.tell(EventKind::WaitOver)?
        } else {
            self.context.show(EventKind::WaitOver)
        }
        // It may have been asked for something else.
        self.must_stop()
    }

    /// Whose turn it is; what nobody can work around is waited out before anything is claimed. Whether an agent can work:
    /// after a wait, much may have changed.
    pub(super) fn choose_agent(&mut self) -> Result<bool> {
        match self.team.turn(&self.context)? {
            Turn::Works(member) => {
                self.team.switch_to(&mut self.context, member)?;
                return Ok(true);
            }
            Turn::Nobody => return Err(self.team.nobody_left().into()),
            // Nobody waits hours for an agent that has nothing to do.
            Turn::Waits { .. } if self.context.nothing_ready()? => self.wait_for_others()?,
            Turn::Waits { member, until } => self.wait_for_agent(member, until)?,
        }
        Ok(false)
    }

    /// Waits until an agent can work again, where the settings allow to wait so long.
    fn wait_for_agent(&mut self, member: usize, until: Timestamp) -> Result {
        let waiting = &self.team.members[member];
        let name = waiting.agent.name().to_owned();
        let account = waiting.agent.account().to_owned();
        let limit = self.context.store.agent_limit(&account)?;
        let now = self.context.clock.now();
        let limited = limit.is_some_and(|limit| limit.ends(now) > now);
        if let Some(fault) = waiting.unavailable.as_ref().filter(|_| !limited) {
            // Every agent is unavailable. Waiting goes on for as long as for a limit, then the run ends.
            let since = waiting.unavailable_since.unwrap_or(now);
            if until.since(since) > self.context.settings.max_wait.unwrap_or_default() {
                return Err(self.team.nobody_left().into());
            }
            let reason = format!("{name}'s API ({})", fault.why);
            return self.wait_until(until, WaitingFor::Service, reason);
        }
        self.team.check_wait(&self.context, member, until)?;
        let began = self.context.clock.steady();
        self.wait_until(until, WaitingFor::Limit, format!("{name}'s usage limit"))?;
        let waited = self.context.clock.steady().saturating_sub(began);
        let ended = self.context.clock.now();
        // Somebody else may work again: then this one's limit is not over.
        let is_over = ended >= until || waited >= until.since(now);
        if let Some(limit) = limit.filter(|_| is_over) {
            self.context.store.end_agent_limit(&account, &limit, ended)?;
        }
        Ok(())
    }

    /// Nothing can be claimed: wait for other runs whose work matters, else say why nothing can be run.
    pub(super) fn wait_for_others(&mut self) -> Result {
        let mut told = false;
        loop {
            self.context.beat();
            self.must_stop()?;
            self.context.record_lost_attempts()?;
            let seen = self.context.store.changes().ok();
            let outlook = self.context.outlook()?;
            if outlook.is_finished() {
                return Err(self.context.all_done()?.into());
            }
            let breaker = self.context.store.breaker()?;
            let probing = breaker.state == BreakerState::HalfOpen && breaker.probing;
            if breaker.state == BreakerState::Open && self.context.is_worker {
                return self.check_breaker(None);
            }
            if self.context.is_limit_taken()? {
                // What is under way may use up the limit, or give some of it back.
                self.wait_a_little();
                continue;
            }
            if breaker.state == BreakerState::Open || (!probing && !self.context.nothing_ready()?) {
                return Ok(());
            }
            if outlook.under_way.is_empty() && !probing {
                // Another run may have finished a last child and left.
                if self.settle_parents()? > 0 || self.context.interrupt.first().is_some() {
                    continue;
                }
                // A task that another run took or gave back between two looks was neither ready nor under way.
                if seen.is_none() || self.context.store.changes().ok() != seen {
                    self.wait_a_little();
                    continue;
                }
                if let Some((budget, reason)) = self.budgets.task_budget_reached.take() {
                    return Err(StopRun::budget(budget, reason).into());
                }
                let reason = "the remaining tasks are blocked or depend on a failed task";
                return Err(StopRun::new(RunExit::NothingToRun, reason).into());
            }
            if !told && self.context.is_worker {
                let waiting_for = WaitingFor::Workers;
                let reason = "other workers".to_owned();
                self.context.show(EventKind::Waiting { waiting_for, reason, until: None });
                told = true;
            }
            if !told {
                let reason = self.context.at_work_elsewhere(&outlook.under_way);
                let waiting_for = WaitingFor::OtherRun;
                self.context.tell(EventKind::Waiting { waiting_for, reason, until: None })?;
                told = true;
            }
            self.context.files_may_have_changed();
            self.wait_a_little();
            self.settle_parents()?;
        }
    }

    /// Before work of others is looked at again.
    fn wait_a_little(&mut self) {
        let run = &mut self.context;
        let began = run.clock.steady();
        // A server says when something changed; it is looked at now and then all the same.
        while let Some(is_hint) = run.store.wait_for_hint(NAP) {
            let waited = run.clock.steady().saturating_sub(began);
            if is_hint || waited >= LOOK_AT_STORE || run.is_told_to_end() {
                return;
            }
        }
        if !run.is_worker {
            return run.clock.sleep(LOOK_AT_OTHERS);
        }
        // Looking at the whole plan takes its time: only where something changed, and now and then.
        let (began, before) = (run.clock.steady(), run.store.changes().ok());
        loop {
            run.clock.sleep(LOOK_AT_WORKERS);
            let is_other = before.is_none() || run.store.changes().ok() != before;
            let waited = run.clock.steady().saturating_sub(began);
            if is_other || waited >= LOOK_AT_STORE || run.is_told_to_end() {
                return;
            }
        }
    }

    /// The budgets have no share left: others may give back what they do not use up.
    pub(super) fn wait_for_reserved(&mut self) -> Result {
        self.context.beat();
        self.must_stop()?;
        self.context.clock.sleep(LOOK_AT_OTHERS);
        self.context.record_lost_attempts()
    }

    /// After a fault of the service: back off, but not for ever.
    pub(super) fn wait_for_service(&mut self, message: &str) -> Result {
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
        self.must_stop()?;
        let wait = self.context.next_backoff(faults);
        let until = self.context.clock.now().plus(wait);
        self.wait_until(until, WaitingFor::Service, format!("the agent's API ({message})"))
    }

    /// Waits until the clock shows a time. A machine that slept does not wait longer, and neither does one whose clock was
    /// set back.
    pub(super) fn wait_until(&mut self, until: Timestamp, waiting_for: WaitingFor, reason: String) -> Result {
        self.context.tell(EventKind::Waiting { waiting_for, reason, until: Some(until) })?;
        // Somebody may edit files meanwhile.
        self.context.files_may_have_changed();
        let clock = self.context.clock;
        let began = clock.steady();
        let planned = until.since(clock.now());
        let limited = waiting_for == WaitingFor::Limit;
        let mut looked = Duration::ZERO;
        loop {
            let waited = clock.steady().saturating_sub(began);
            let left = until.since(clock.now()).min(planned.saturating_sub(waited));
            if left.is_zero() {
                break;
            }
            // Signals at once, what is stored now and then: a wait may take hours.
            if self.context.interrupt.first().is_some() || waited >= looked {
                looked = waited + LOOK_AT_STORE;
                self.context.beat();
                self.must_stop()?;
                let whole = self.context.settings.scope == Scope::All;
                if limited && whole && self.context.is_finished()? {
                    return Err(self.context.all_done()?.into());
                }
                // A person may have made an end of the limit.
                if limited && matches!(self.team.turn(&self.context)?, Turn::Works(_)) {
                    break;
                }
            }
            clock.sleep(NAP.min(left));
        }
        self.context.show(EventKind::WaitOver);
        Ok(())
    }
}

impl RunContext<'_> {
    fn is_paused(&self) -> Result<bool> {
        Ok(self.store.asked_of(&self.id)? == Some(RunRequest::Pause))
    }

    pub(super) fn nothing_ready(&self) -> Result<bool> {
        Ok(self.store.ready(&self.settings.scope, 1)?.is_empty())
    }

    fn at_work_elsewhere(&self, tasks: &[TaskId]) -> String {
        let name = |id: &TaskId| match self.store.task(id.as_str()) {
            Ok(task) => task.name().to_owned(),
            Err(_) => id.to_string(),
        };
        let names: Vec<String> = tasks.iter().map(name).collect();
        format!("another run, which is working on {}", names.join(", "))
    }

    /// How long to wait after so many failures in a row.
    pub(super) fn next_backoff(&mut self, failures: u32) -> Duration {
        let jitter = ((self.random)() >> 11) as f64 / (1_u64 << 53) as f64;
        backoff(self.settings.backoff, failures, self.settings.backoff_cap, jitter)
    }
}
