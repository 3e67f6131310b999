//! What is asked of runs from outside, and what may still be spent.

use serde::Serialize;

use super::Result;
use crate::model::{Cost, RunId, SpentOnTask, TaskId, Timestamp};

/// What a person at another terminal asks a run to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunRequest {
    /// To start nothing until it is resumed.
    Pause,
    /// To end after the attempt under way.
    Stop,
}

impl RunRequest {
    /// The stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Stop => "stop",
        }
    }

    /// Reads the stored name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Pause, Self::Stop]
            .into_iter()
            .find(|request| request.as_str() == text)
    }
}

/// A usage limit that was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentLimit {
    /// When it ends.
    pub until: Timestamp,
    /// When it was met.
    pub met_at: Option<Timestamp>,
}

impl AgentLimit {
    /// When it ends, for somebody whose clock shows `now`. A clock that was set back since it was met does not make it
    /// longer than it was.
    #[must_use]
    pub fn ends(&self, now: Timestamp) -> Timestamp {
        match self.met_at {
            Some(met) if now < met => now.plus(self.until.since(met)),
            _ => self.until,
        }
    }
}

/// A limit that is not over, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RememberedLimit {
    /// The agent.
    pub agent: String,
    /// When it ends.
    pub until: Timestamp,
    /// When it was met.
    pub met_at: Option<Timestamp>,
}

/// Requests, limits and spending.
pub trait ControlStore {
    /// Asks a run to do something. `false` if it has ended, or was asked to stop and is now asked for less.
    fn ask_run(&mut self, run: &RunId, request: RunRequest) -> Result<bool>;
    /// Takes back that a run was asked to pause. `false` if it was not.
    fn resume_run(&mut self, run: &RunId) -> Result<bool>;
    /// What a run is asked to do.
    fn asked_of(&self, run: &RunId) -> Result<Option<RunRequest>>;
    /// Notes that `ralph stop` is about to send a run the signal that ends it.
    fn note_stop(&mut self, run: &RunId) -> Result<()>;
    /// Whether the signal that ends a run comes from `ralph stop`.
    fn stop_was_sent(&self, run: &RunId) -> Result<bool>;
    /// The limit an agent met last, which may be over.
    fn agent_limit(&self, agent: &str) -> Result<Option<AgentLimit>>;
    /// Remembers until when an agent is limited.
    fn set_agent_limit(&mut self, agent: &str, limit: &AgentLimit, reason: &str) -> Result<()>;
    /// A limit that was waited for is over, unless another was met meanwhile.
    fn end_agent_limit(&mut self, agent: &str, waited: &AgentLimit, now: Timestamp) -> Result<()>;
    /// Every limit that is not over, by the agents' names.
    fn agent_limits(&self, now: Timestamp) -> Result<Vec<RememberedLimit>>;
    /// Forgets the limits of one agent, or of all.
    fn forget_limits(&mut self, agent: Option<&str>) -> Result<()>;
    /// What was spent on the day (UTC) of this moment, by all runs.
    fn spent_on_day(&self, of: Timestamp) -> Result<Cost>;
    /// What was spent on a task, by all runs.
    fn spent_on_task(&self, task: &TaskId) -> Result<SpentOnTask>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_back_makes_no_limit_longer() {
        let at = Timestamp::from_secs;
        let limit = AgentLimit {
            until: at(1000),
            met_at: Some(at(400)),
        };
        assert_eq!(limit.ends(at(500)), at(1000));
        assert_eq!(limit.ends(at(100)), at(700));
    }
}
