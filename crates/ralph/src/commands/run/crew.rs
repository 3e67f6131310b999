//! The agents of the settings, ready for work: who works, who stands in, whose logs can be read.

use ralph_core::agent::Agent;

use crate::command_error::CommandError;
use crate::settings::{Settings, build_agent};

/// The agents of a run.
pub struct Crew {
    /// Who works, then who stands in, in order.
    team: Vec<Agent>,
    /// The others, whose logs of dead runs can be read.
    others: Vec<Agent>,
}

impl Crew {
    /// The agents as the settings want them.
    pub fn of(settings: &Settings) -> Result<Self, CommandError> {
        let names = settings.team();
        let build = |name: &str| build_agent(name, &settings.agents);
        let team: Result<Vec<_>, _> = names.iter().map(|name| build(name)).collect();
        let rest = settings.agents.keys().map(String::as_str);
        let others = rest.filter(|name| !names.contains(name)).map(build);
        Ok(Self { team: team?, others: others.collect::<Result<_, _>>()? })
    }

    pub fn agent(&self) -> &Agent {
        // There is always a first: `of` puts it there.
        &self.team[0]
    }

    /// Who stands in, in order.
    pub fn fallback(&self) -> Vec<&Agent> {
        self.team.iter().skip(1).collect()
    }

    /// Who works, then who stands in.
    pub fn team(&self) -> impl Iterator<Item = &Agent> {
        self.team.iter()
    }

    pub fn known(&self) -> Vec<&Agent> {
        self.team.iter().chain(&self.others).collect()
    }
}
