//! A session of an agent that is no attempt on a task: planning, a review. Its answer is text, and what it changes in the
//! working tree is undone.

use std::time::Duration;

use super::RunSettings;
use crate::agent::{
    self, Activity, Agent, AgentReport, AttemptLog, EndSignal, Ending, Exit, Fault, Guard, Interrupt,
    LaunchRequest, ProcessLimits, ReadSession, SessionReader, Stop, Stream, Watch,
};
use crate::decide::error_type_of;
use crate::git::{Git, GitError, Kept, RollbackMode};
use crate::model::{AttemptCost, ErrorType, Outcome};
use crate::sandbox::{Confinement, run_confined};
use crate::store::SideSession;
use crate::text::mask_secrets;

/// Who is asked, and with what.
pub(super) struct Question<'q> {
    pub agent: &'q Agent,
    pub request: LaunchRequest<'q>,
    pub settings: &'q RunSettings,
    /// How long it may take.
    pub wall: Duration,
    pub interrupt: &'q Interrupt,
    pub log: AttemptLog,
    pub confinement: Option<&'q Confinement>,
}

pub(super) struct Answer {
    pub report: AgentReport,
    pub ending: SessionEnding,
    pub cost: Option<AttemptCost>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum SessionEnding {
    Answered,
    Interrupted,
    OverBudget,
    TimedOut,
    /// The agent or its service failed, for this reason.
    Faulted(ErrorType, String),
}

impl Question<'_> {
    /// Asks once. `look_on` is called many times a second, and with what the agent does.
    pub(super) fn ask(self, guard: Option<&mut Guard>, look_on: &mut dyn FnMut(Option<&Activity>)) -> Answer {
        let Self { agent, request, settings, wall, interrupt, log, confinement } = self;
        let launch = agent.launch(&request);
        let limits = ProcessLimits { wall, idle: settings.idle_timeout, grace: settings.grace };
        let reader = SessionReader::new(agent, request.model, log, request.budget_usd);
        let mut live = Live { agent, reader, look_on };
        let ended = run_confined(confinement, launch, |launch| {
            agent::run_below(guard, launch, &limits, interrupt, &mut live)
        });
        let ReadSession { exit, stop, report, .. } = live.reader.finish(ended);
        let ending = match (stop, &report.ending) {
            (Stop::Interrupted, _) => SessionEnding::Interrupted,
            (Stop::Budget, _) | (_, Ending::Faulted { fault: Fault::Budget, .. }) => {
                SessionEnding::OverBudget
            }
            (Stop::WallTimeout(_) | Stop::IdleTimeout(_), _) => SessionEnding::TimedOut,
            (_, Ending::Faulted { fault, message, .. }) => {
                SessionEnding::Faulted(error_type_of(*fault), message.clone())
            }
            (Stop::Exited | Stop::UserNote | Stop::OverLimit(_) | Stop::GuardLost, Ending::Completed) => {
                match exit {
                    Exit::Code(0) => SessionEnding::Answered,
                    _ => SessionEnding::Faulted(ErrorType::Crash, format!("{} {exit}", agent.name())),
                }
            }
        };
        let cost = report.cost_by(agent.price(Some(request.model), None).as_ref());
        Answer { report, ending, cost }
    }
}

impl Answer {
    /// Completes the record of the session.
    pub(super) fn add_to(&self, record: &mut SideSession, duration: Duration) {
        record.duration_ms = super::run_end::millis(duration);
        record.cost_usd = self.cost.map(|cost| cost.usd);
        record.cost_estimated = self.cost.is_some_and(|cost| cost.estimated);
        record.tokens_input = self.report.usage.input;
        record.tokens_output = self.report.usage.output;
        record.session_id = self.report.session_id.clone();
        (record.outcome, record.error_type, record.message) = match &self.ending {
            // Until its answer is read.
            SessionEnding::Answered => (Some(Outcome::NoSigil), None, None),
            SessionEnding::Interrupted => (Some(Outcome::Error), Some(ErrorType::Interrupted), None),
            SessionEnding::OverBudget => {
                (Some(Outcome::Error), Some(ErrorType::Crash), Some("reached its budget".into()))
            }
            SessionEnding::TimedOut => (Some(Outcome::Error), Some(ErrorType::Timeout), None),
            SessionEnding::Faulted(error, why) => {
                (Some(Outcome::Error), Some(error.clone()), Some(mask_secrets(why).into_owned()))
            }
        };
    }
}

/// The working tree before such a session.
pub(super) struct ReadOnlyTree<'g> {
    git: &'g Git,
    kept: Kept,
    name: String,
    /// What the agent is there for: `planning`.
    doing: &'static str,
}

impl<'g> ReadOnlyTree<'g> {
    pub(super) fn keep(git: &'g Git, name: String, doing: &'static str) -> Result<Self, GitError> {
        Ok(Self { git, kept: git.keep(&name, None)?, name, doing })
    }

    /// Undoes what the session changed, and tells what became of it.
    pub(super) fn restore(self) -> Option<String> {
        let Self { git, kept, name, doing } = self;
        let message = format!("Changes of an agent while {doing}");
        match git.roll_back(&kept, RollbackMode::Reset, &name, &message) {
            Ok(done) => {
                let reference = done.reference?;
                Some(format!("the {doing} agent changed files; Ralph undid that and saved it at {reference}"))
            }
            Err(error) => Some(format!("cannot undo what the {doing} agent changed: {error}")),
        }
    }
}

struct Live<'s> {
    agent: &'s Agent,
    reader: SessionReader,
    look_on: &'s mut dyn FnMut(Option<&Activity>),
}

impl Watch for Live<'_> {
    fn output(&mut self, stream: Stream, chunk: &[u8]) {
        self.reader.read(stream, chunk, |activity| (self.look_on)(Some(&activity)));
    }

    fn tick(&mut self) {
        (self.look_on)(None);
    }

    fn first_signal(&self) -> EndSignal {
        self.agent.first_signal()
    }

    fn ends(&self) -> Option<Stop> {
        self.reader.is_over_budget().then_some(Stop::Budget)
    }
}
