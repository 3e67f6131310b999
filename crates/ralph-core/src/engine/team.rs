//! The agents of a run: the first works, the others stand in where it is limited or out of order.

use super::next::Step;
use super::run::{EngineError, Run, StopRun};
use crate::agent::Agent;
use crate::decide::{Out, Standing, Turn, whose_turn};
use crate::event::{EventKind, WaitingFor};
use crate::exit::RunExit;
use crate::model::Timestamp;

/// An agent and how it fares in this run.
pub(super) struct Member<'a> {
    pub agent: &'a dyn Agent,
    /// Faults of its service in a row.
    pub service_faults: u32,
    /// Usage limits in a row.
    pub limits_met: u32,
    /// Since when it has met nothing but limits and failures of its service.
    pub unavailable_since: Option<Timestamp>,
    /// It does not work, and why.
    pub out: Option<OutOfOrder>,
}

impl Member<'_> {
    fn is_out_for_good(&self) -> bool {
        let out = self.out.as_ref();
        out.is_some_and(|out| out.how == Out::ForGood)
    }
}

/// What came of the question whose turn it is.
pub(super) enum Chosen {
    /// Somebody can work now.
    Works,
    /// There was a wait; much may have changed.
    Waited,
    /// Nobody can, and the run ends.
    Nobody(StopRun),
}

/// Why an agent does not work.
pub(super) struct OutOfOrder {
    pub how: Out,
    pub why: String,
    pub hint: Option<String>,
}

/// The agents of a run, and whose turn it is.
pub(super) struct Team<'a> {
    members: Vec<Member<'a>>,
    at: usize,
}

impl<'a> Team<'a> {
    pub(super) fn new(first: &'a dyn Agent, others: &[&'a dyn Agent]) -> Self {
        let all = std::iter::once(&first).chain(others);
        let members = all.map(|agent| Member {
            agent: *agent,
            service_faults: 0,
            limits_met: 0,
            unavailable_since: None,
            out: None,
        });
        Self {
            members: members.collect(),
            at: 0,
        }
    }

    /// Whose turn it is.
    pub(super) fn current(&self) -> &Member<'a> {
        &self.members[self.at]
    }

    pub(super) fn current_mut(&mut self) -> &mut Member<'a> {
        &mut self.members[self.at]
    }

    /// Whether another than the first is at work.
    pub(super) fn stands_in(&self) -> bool {
        self.at > 0
    }

    /// Whether anybody else may still work, now or later.
    fn has_others(&self) -> bool {
        let others = self.members.iter().enumerate();
        others
            .filter(|(place, _)| *place != self.at)
            .any(|(_, member)| !member.is_out_for_good())
    }
}

impl<'a> Run<'_, 'a> {
    /// The agent whose turn it is.
    pub(super) fn agent(&self) -> &'a dyn Agent {
        self.team.current().agent
    }

    /// Whose turn it is; what nobody can work around is waited out before anything is claimed.
    pub(super) fn choose_agent(&mut self) -> Result<Chosen, EngineError> {
        let now = self.engine.clock.now();
        match whose_turn(&self.standings(now)?, now) {
            Turn::Works(member) => {
                // Its time has passed.
                self.team.members[member].out = None;
                self.change_to(member)?;
                Ok(Chosen::Works)
            }
            Turn::Nobody => Ok(Chosen::Nobody(self.nobody_left())),
            Turn::Waits { member, until } => {
                // Nobody waits hours for an agent that has nothing to do.
                let scope = &self.engine.settings.scope;
                let stop = if self.engine.store.ready(scope, 1)?.is_empty() {
                    self.wait_for_others()?
                } else {
                    self.wait_for(member, until)?
                };
                Ok(stop.map_or(Chosen::Waited, Chosen::Nobody))
            }
        }
    }

    /// Whether anybody can work now.
    pub(super) fn somebody_can_work(&self) -> Result<bool, EngineError> {
        let now = self.engine.clock.now();
        let turn = whose_turn(&self.standings(now)?, now);
        Ok(matches!(turn, Turn::Works(_)))
    }

    fn standings(&self, now: Timestamp) -> Result<Vec<Standing>, EngineError> {
        let mut standings = Vec::new();
        for member in &self.team.members {
            let limit = self.engine.store.agent_limit(member.agent.name())?;
            standings.push(Standing {
                limited_until: limit.map(|limit| limit.ends(now)),
                out: member.out.as_ref().map(|out| out.how),
            });
        }
        Ok(standings)
    }

    fn change_to(&mut self, member: usize) -> Result<(), EngineError> {
        if member == self.team.at {
            return Ok(());
        }
        let instead_of = self.agent().name().to_owned();
        let now = self.engine.clock.now();
        let limit = self.engine.store.agent_limit(&instead_of)?;
        let limited_until = limit.map(|limit| limit.ends(now)).filter(|end| *end > now);
        let reason = match &self.team.current().out {
            _ if limited_until.is_some() => Some("its usage limit".to_owned()),
            Some(out) => Some(out.why.clone()),
            None => None,
        };
        self.team.at = member;
        let agent = self.agent().name().to_owned();
        self.tell(EventKind::AgentChanged {
            agent,
            instead_of,
            reason,
            limited_until,
        })
    }

    /// Waits until an agent can work again, where the settings allow to wait so long.
    fn wait_for(
        &mut self,
        member: usize,
        until: Timestamp,
    ) -> Result<Option<StopRun>, EngineError> {
        let name = self.team.members[member].agent.name().to_owned();
        let limit = self.engine.store.agent_limit(&name)?;
        let now = self.engine.clock.now();
        let limited = limit.is_some_and(|limit| limit.ends(now) > now);
        let out = self.team.members[member].out.as_ref();
        if let Some(out) = out.filter(|_| !limited) {
            // Every agent is unavailable. Waiting goes on for as long as for a limit, then the run ends.
            let since = self.team.members[member].unavailable_since.unwrap_or(now);
            if until.since(since) > self.engine.settings.max_wait.unwrap_or_default() {
                return Ok(Some(self.nobody_left()));
            }
            let reason = format!("{name}'s API ({})", out.why);
            return self.wait_until(until, WaitingFor::Service, reason);
        }
        if let Some(stop) = self.too_long(member, until) {
            return Ok(Some(stop));
        }
        let reason = format!("{name}'s usage limit");
        let began = self.engine.clock.steady();
        let stop = self.wait_until(until, WaitingFor::Limit, reason)?;
        let waited = self.engine.clock.steady().saturating_sub(began);
        let ended = self.engine.clock.now();
        // Somebody else may work again: then this one's limit is not over.
        let is_over = ended >= until || waited >= until.since(now);
        if let (None, Some(limit), true) = (&stop, limit, is_over) {
            self.engine.store.end_agent_limit(&name, &limit, ended)?;
        }
        Ok(stop)
    }

    /// Why a limit is not waited for, if it is not.
    pub(super) fn too_long(&self, member: usize, until: Timestamp) -> Option<StopRun> {
        let now = self.engine.clock.now();
        let waiting = &self.team.members[member];
        let since = waiting.unavailable_since.unwrap_or(now);
        let why = match self.engine.settings.max_wait {
            None => "--no-wait".to_owned(),
            Some(most) if until.since(since) > most => {
                let most = match most.as_secs() {
                    seconds @ 0..60 => format!("{seconds} s"),
                    seconds => format!("{} min", seconds.div_ceil(60)),
                };
                format!("[run] max_wait allows {most}")
            }
            Some(_) => return None,
        };
        let name = waiting.agent.name();
        let reason = format!("{name} hit its usage limit, which resets at {until} ({why})");
        let mut stop = StopRun::new(RunExit::Limit, reason);
        stop.hint = Some(format!("`ralph run` again after {until}"));
        Some(stop)
    }

    /// The end of the run where the limit that was just met is not waited for and nobody else can go on.
    pub(super) fn stop_at_limit(&self, until: Timestamp) -> Option<StopRun> {
        if self.team.has_others() {
            return None;
        }
        self.too_long(self.team.at, until)
    }

    fn nobody_left(&self) -> StopRun {
        let out = |member: &Member<'_>| {
            let out = member.out.as_ref()?;
            Some(format!("{}: {}", member.agent.name(), out.why))
        };
        let why: Vec<String> = self.team.members.iter().filter_map(out).collect();
        let mut stop = StopRun::new(RunExit::Error, why.join("; "));
        let hint = |member: &Member<'_>| member.out.as_ref()?.hint.clone();
        stop.hint = self.team.members.iter().find_map(hint);
        stop
    }

    /// The agent whose turn it is does not work: another goes on, or the run ends.
    pub(super) fn out_of_order(&mut self, out: OutOfOrder) -> Result<Step, EngineError> {
        if !self.team.has_others() {
            let (why, hint) = (out.why.clone(), out.hint.clone());
            self.team.current_mut().out = Some(out);
            let stop = match self.team.members.len() {
                1 => StopRun {
                    hint,
                    ..StopRun::new(RunExit::Error, why)
                },
                _ => self.nobody_left(),
            };
            return Ok(Step::Stop(stop));
        }
        let hint = out.hint.as_ref().map(|hint| format!("; {hint}"));
        let name = self.agent().name();
        let message = format!(
            "{name} is unavailable: {}{}",
            out.why,
            hint.unwrap_or_default()
        );
        self.team.current_mut().out = Some(out);
        self.tell(EventKind::Warning { message })?;
        Ok(Step::Continue)
    }
}
