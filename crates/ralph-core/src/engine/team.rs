//! The agents of a run: the first works, the others are its fallback while it is limited or unavailable.

use std::time::Duration;

use super::run_context::RunContext;
use super::run_end::{Result, StopRun};
use crate::agent::Agent;
use crate::decide::{Availability, Outage, Turn, next_agent};
use crate::event::EventKind;
use crate::exit::RunExit;
use crate::model::{ErrorType, Timestamp};
use crate::store::{AgentLimit, StoreError};

/// No service limits for longer than a week and a day; a time beyond that is a mistake.
const LONGEST_LIMIT: Duration = Duration::from_secs(8 * 24 * 3600);

/// An agent and how it fares in this run.
pub(super) struct Member<'a> {
    pub agent: &'a Agent,
    /// Faults of its service in a row.
    pub service_faults: u32,
    /// Usage limits in a row.
    limits_met: u32,
    /// Since when it has met nothing but limits and failures of its service.
    pub unavailable_since: Option<Timestamp>,
    pub unavailable: Option<Unavailable>,
}

pub(super) struct Unavailable {
    pub outage: Outage,
    pub why: String,
    pub hint: Option<String>,
}

/// The agents of a run, and whose turn it is.
pub(super) struct Team<'a> {
    pub members: Vec<Member<'a>>,
    at: usize,
}

impl<'a> Team<'a> {
    pub(super) fn new(first: &'a Agent, others: &[&'a Agent]) -> Self {
        let all = std::iter::once(&first).chain(others);
        let members = all.map(|agent| Member {
            agent,
            service_faults: 0,
            limits_met: 0,
            unavailable_since: None,
            unavailable: None,
        });
        Self { members: members.collect(), at: 0 }
    }

    pub(super) fn current(&mut self) -> &mut Member<'a> {
        &mut self.members[self.at]
    }

    pub(super) fn agent(&self) -> &'a Agent {
        self.members[self.at].agent
    }

    /// Whether another than the first is at work.
    pub(super) fn is_fallback(&self) -> bool {
        self.at > 0
    }

    /// Whether anybody else may still work, now or later.
    fn has_others(&self) -> bool {
        let usable = |member: &Member<'_>| {
            let unavailable = member.unavailable.as_ref();
            unavailable.is_none_or(|fault| fault.outage != Outage::Permanent)
        };
        let mut others = self.members.iter().enumerate();
        others.any(|(place, member)| place != self.at && usable(member))
    }

    pub(super) fn turn(&self, run: &RunContext<'_>) -> Result<Turn, StoreError> {
        let now = run.clock.now();
        let mut team = Vec::new();
        for member in &self.members {
            let limit = run.store.agent_limit(member.agent.account())?;
            let unavailable = member.unavailable.as_ref();
            team.push(Availability {
                limited_until: limit.map(|limit| limit.ends(now)),
                outage: unavailable.map(|fault| fault.outage),
            });
        }
        Ok(next_agent(&team, now))
    }

    pub(super) fn switch_to(&mut self, run: &mut RunContext<'_>, member: usize) -> Result {
        // Its time has passed.
        self.members[member].unavailable = None;
        if member == self.at {
            return Ok(());
        }
        let instead_of = self.agent().name().to_owned();
        let now = run.clock.now();
        let limit = run.store.agent_limit(self.agent().account())?;
        let limited_until = limit.map(|limit| limit.ends(now)).filter(|end| *end > now);
        let reason = match &self.current().unavailable {
            _ if limited_until.is_some() => Some("its usage limit".to_owned()),
            Some(unavailable) => Some(unavailable.why.clone()),
            None => None,
        };
        self.at = member;
        run.tell(EventKind::AgentChanged {
            agent: self.agent().name().to_owned(),
            instead_of,
            reason,
            limited_until,
        })
    }

    /// After an attempt that met neither a limit nor a fault of the service or the set-up.
    pub(super) fn note_working(&mut self) {
        let member = self.current();
        member.service_faults = 0;
        member.limits_met = 0;
        member.unavailable_since = None;
    }

    /// After a usage limit: remembers it, so that no run asks too early. Stops the run where it is not waited for and nobody
    /// else can go on.
    pub(super) fn note_limit(&mut self, run: &mut RunContext<'_>, resets_at: Option<i64>) -> Result {
        let now = run.clock.now();
        let member = self.current();
        member.limits_met += 1;
        member.service_faults = 0;
        member.unavailable_since.get_or_insert(now);
        let wait = run.next_backoff(member.limits_met);
        let until = match resets_at.map(Timestamp::from_secs) {
            Some(reset) if reset > now && reset.since(now) <= LONGEST_LIMIT => reset,
            // No time given, one that has passed and did not help, or one that cannot be meant.
            _ => now.plus(wait),
        };
        let limit = AgentLimit { until, met_at: Some(now) };
        run.store.set_agent_limit(self.agent().account(), &limit, ErrorType::RateLimit.as_str())?;
        if self.has_others() { Ok(()) } else { self.check_wait(run, self.at, until) }
    }

    /// Stops the run where a limit is not waited for.
    pub(super) fn check_wait(&self, run: &RunContext<'_>, member: usize, until: Timestamp) -> Result {
        let waiting = &self.members[member];
        let since = waiting.unavailable_since.unwrap_or_else(|| run.clock.now());
        let why = match run.settings.max_wait {
            None => "--no-wait".to_owned(),
            Some(most) if until.since(since) > most => {
                let most = match most.as_secs() {
                    seconds @ 0..60 => format!("{seconds} s"),
                    seconds => format!("{} min", seconds.div_ceil(60)),
                };
                format!("[run] max_wait allows {most}")
            }
            Some(_) => return Ok(()),
        };
        let name = waiting.agent.name();
        let until = until.local_near(run.clock.now());
        let reason = format!("{name} hit its usage limit, which resets at {until} ({why})");
        let hint = format!("`ralph run` again after {until}");
        Err(StopRun::new(RunExit::Limit, reason).with_hint(hint).into())
    }

    /// The end of the run where no agent works any more.
    pub(super) fn nobody_left(&self) -> StopRun {
        let faults = || self.members.iter().filter_map(|member| Some((member, member.unavailable.as_ref()?)));
        let why: Vec<String> =
            faults().map(|(member, fault)| format!("{}: {}", member.agent.name(), fault.why)).collect();
        let hint = faults().find_map(|(_, fault)| fault.hint.clone());
        StopRun { hint, ..StopRun::error(why.join("; ")) }
    }

    /// The agent whose turn it is does not work: another goes on, or the run ends.
    pub(super) fn note_unavailable(&mut self, run: &mut RunContext<'_>, fault: Unavailable) -> Result {
        if !self.has_others() {
            let alone = StopRun { hint: fault.hint.clone(), ..StopRun::error(fault.why.clone()) };
            self.current().unavailable = Some(fault);
            return Err(match self.members.len() {
                1 => alone.into(),
                _ => self.nobody_left().into(),
            });
        }
        // Why it is unavailable is shown where another agent goes on, or where the run waits.
        if let (Outage::Permanent, Some(hint)) = (&fault.outage, &fault.hint) {
            run.warn(format!("to use {} again: {hint}", self.agent().name()))?;
        }
        self.current().unavailable = Some(fault);
        Ok(())
    }

    pub(super) fn remedy(&self, error: &ErrorType, message: &str) -> String {
        remedy(self.agent(), error, message)
    }
}

/// What fixes a fault of the set-up. The class comes from the program itself; its message chooses among the remedies of
/// one class.
pub fn remedy(agent: &Agent, error: &ErrorType, message: &str) -> String {
    let (facts, skips) = (agent.facts(), agent.setup().skip_permissions);
    let agent = agent.name();
    let message = message.to_lowercase();
    let speaks_of = |words: &[&str]| words.iter().any(|word| message.contains(word));
    match error {
        ErrorType::Auth if speaks_of(&["credit", "billing", "balance", "payment"]) => {
            format!("check {agent}'s billing or use another agent (--agent), then `ralph run` again")
        }
        ErrorType::Auth => match facts {
            Some(facts) => {
                format!("log in to {agent}: {}; then `ralph run` again", facts.login)
            }
            None => format!("log in to {agent} or set its API key, then `ralph run` again"),
        },
        // The message names the limit and how to raise it.
        ErrorType::Spawn if speaks_of(&["limit is reached", "out of memory"]) => {
            "fix that, then `ralph run` again".into()
        }
        ErrorType::Spawn => {
            let install = match facts {
                Some(facts) => format!("`{}`", facts.install),
                None => format!("install the program for agent `{agent}`"),
            };
            format!("{install}, or set another program under [agents.{agent}] in .ralph.toml")
        }
        ErrorType::Permission if facts.is_some() && !skips => format!(
            "allow those tools in {agent}'s own settings, or set skip_permissions = true under \
             [agents.{agent}] in .ralph.toml"
        ),
        ErrorType::Permission => {
            format!("allow those tools in {agent}'s own settings; Ralph itself blocks no tools")
        }
        ErrorType::Config if speaks_of(&["model"]) => format!(
            "check the model's name: --model, the task's model, [run] model, or models under \
             [agents.{agent}] in .ralph.toml"
        ),
        ErrorType::Config => format!(
            "fix what {agent} reports: check its own settings, or args and env under [agents.{agent}] \
             in .ralph.toml; `ralph logs` shows its full output"
        ),
        _ => "run `ralph history` to see what happened".into(),
    }
}
