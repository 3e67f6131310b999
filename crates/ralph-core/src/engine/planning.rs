//! One planning session: an agent reads the repository and answers with a plan. It is recorded like an attempt, of the kind
//! `plan`, and what it changes in the working tree is undone.

use std::ffi::OsString;

use super::agent_session::log_path;
use super::prompter::{PromptError, plan_rules};
use super::{EngineError, RunSettings, own_files};
use crate::agent::{
    self, Activity, Agent, AttemptLog, EndSignal, Ending, Exit, Fault, Guard, Interrupt, LaunchRequest,
    ProcessLimits, ReadSession, SessionReader, Stop, Stream, Watch, adopt_orphans,
};
use crate::clock::Clock;
use crate::decide::error_type_of;
use crate::git::{Git, GitLimits, Kept, RollbackMode};
use crate::host::Host;
use crate::logs::{LogDir, attempt_name};
use crate::model::{AttemptCost, ErrorType, Outcome, RunId, TaskId};
use crate::project::{LOGS, Project};
use crate::store::{PlanSession, Store};
use crate::text::mask_secrets;

/// The key that a planning session is called by in its environment and its log.
const KEY: &str = "plan";

/// Who plans, and with what.
pub struct Planner<'a> {
    pub project: &'a Project,
    pub store: &'a mut Store,
    pub agent: &'a Agent,
    pub model: &'a str,
    pub settings: &'a RunSettings,
    pub clock: &'a dyn Clock,
    pub random: &'a mut dyn FnMut() -> u64,
    pub host: &'a dyn Host,
    pub interrupt: Interrupt,
    pub guard_command: Vec<OsString>,
    /// One id for all rounds.
    pub run_id: RunId,
    pub goal: &'a str,
}

#[derive(Debug)]
pub struct PlanAnswer {
    pub text: String,
    pub ending: PlanEnding,
    pub cost: Option<AttemptCost>,
    pub log_path: String,
    /// What became of changes the agent made in the working tree.
    pub undone: Option<String>,
    /// Its number in the database.
    pub session: i64,
}

#[derive(Debug, PartialEq, Eq)]
pub enum PlanEnding {
    Answered,
    Interrupted,
    OverBudget,
    TimedOut,
    /// The agent or its service failed, for this reason.
    Faulted(ErrorType, String),
}

impl Planner<'_> {
    /// The instructions that every planning session begins with: the project's own `plan.md`, else the built-in one.
    pub fn rules(&self) -> Result<String, PromptError> {
        plan_rules(self.project)
    }

    /// Asks once. `on_activity` is told what the agent does.
    pub fn ask(
        &mut self,
        rules: &str,
        prompt: &str,
        round: u32,
        budget_usd: Option<f64>,
        on_activity: &mut dyn FnMut(&Activity),
    ) -> Result<PlanAnswer, EngineError> {
        let root = self.project.root();
        let log_name = attempt_name(KEY, round, self.run_id.as_str());
        let path = log_path(&log_name);
        let log =
            self.open_log(&log_name).map_err(|source| EngineError::Log { path: path.clone(), source })?;
        let task_id = TaskId::from_random((self.random)() as u32);
        let launch = self.agent.launch(&LaunchRequest {
            task_id: &task_id,
            task_key: Some(KEY),
            attempt: round,
            model: self.model,
            run_id: &self.run_id,
            project_root: root,
            work_tree: root,
            rules,
            task_prompt: prompt,
            is_root: rustix::process::getuid().is_root(),
            budget_usd,
        });
        let started_at = self.clock.now();
        let mut record = PlanSession {
            goal: self.goal.to_owned(),
            attempt: round,
            run_id: self.run_id.clone(),
            agent: self.agent.name().to_owned(),
            model: self.model.to_owned(),
            started_at,
            log_path: Some(path.clone()),
            ..PlanSession::default()
        };
        // Before the agent starts: a session that dies with Ralph is on record too.
        let session = self.store.begin_plan_session(&record, &self.host.owner())?;
        let git = Git::open(root, GitLimits { interrupt: self.interrupt.clone(), ..GitLimits::default() })?;
        let git = match git {
            Some(git) => Some(git.without(own_files(self.settings.agents_md.as_deref(), self.store)?)),
            None => None,
        };
        let name = format!("{KEY}-{}-{round}", self.run_id);
        let kept = git.as_ref().map(|git| git.keep(&name, None)).transpose()?;
        adopt_orphans();
        let mut guard = match self.guard_command.is_empty() {
            true => None,
            false => Guard::start(&self.guard_command, &self.run_id).ok(),
        };
        let limits = ProcessLimits {
            wall: self.settings.attempt_timeout,
            idle: self.settings.idle_timeout,
            grace: self.settings.grace,
        };
        let reader = SessionReader::new(self.agent, self.model, log, budget_usd);
        let mut live = Live { agent: self.agent, reader, on_activity };
        let ended = agent::run_below(guard.as_mut(), &launch, &limits, &self.interrupt, &mut live);
        drop(guard);
        let ReadSession { exit, stop, report, .. } = live.reader.finish(ended);
        let undone = undo(git.as_ref(), kept.as_ref(), &name);
        let ending = match (stop, &report.ending) {
            (Stop::Interrupted, _) => PlanEnding::Interrupted,
            (Stop::Budget, _) | (_, Ending::Faulted { fault: Fault::Budget, .. }) => PlanEnding::OverBudget,
            (Stop::WallTimeout(_) | Stop::IdleTimeout(_), _) => PlanEnding::TimedOut,
            (_, Ending::Faulted { fault, message, .. }) => {
                PlanEnding::Faulted(error_type_of(*fault), message.clone())
            }
            (Stop::Exited | Stop::GuardLost, Ending::Completed) => match exit {
                Exit::Code(0) => PlanEnding::Answered,
                _ => PlanEnding::Faulted(ErrorType::Crash, format!("{} {exit}", self.agent.name())),
            },
        };
        let cost = report.cost_by(self.agent.price(Some(self.model), None).as_ref());
        record.duration_ms = self.clock.now().since(started_at).as_millis() as u64;
        record.cost_usd = cost.map(|cost| cost.usd);
        record.cost_estimated = cost.is_some_and(|cost| cost.estimated);
        record.tokens_input = report.usage.input;
        record.tokens_output = report.usage.output;
        record.session_id = report.session_id.clone();
        (record.outcome, record.error_type, record.message) = match &ending {
            // Until its plan was checked.
            PlanEnding::Answered => (Some(Outcome::NoSigil), None, None),
            PlanEnding::Interrupted => (Some(Outcome::Error), Some(ErrorType::Interrupted), None),
            PlanEnding::OverBudget => {
                (Some(Outcome::Error), Some(ErrorType::Crash), Some("reached its budget".into()))
            }
            PlanEnding::TimedOut => (Some(Outcome::Error), Some(ErrorType::Timeout), None),
            PlanEnding::Faulted(error, why) => {
                (Some(Outcome::Error), Some(error.clone()), Some(mask_secrets(why).into_owned()))
            }
        };
        self.store.end_plan_session(session, &record, self.clock.now())?;
        Ok(PlanAnswer { text: report.result_text, ending, cost, log_path: path, undone, session })
    }

    fn open_log(&self, name: &str) -> std::io::Result<AttemptLog> {
        self.project.make_dir()?;
        let logs = LogDir::make(&self.project.ralph_dir().join(LOGS))?;
        AttemptLog::create(logs, name, self.settings.max_attempt_bytes)
    }
}

/// Undoes what the session changed, and tells what became of it.
fn undo(git: Option<&Git>, kept: Option<&Kept>, name: &str) -> Option<String> {
    let (git, kept) = git.zip(kept)?;
    match git.roll_back(kept, RollbackMode::Reset, name, "Changes of a planning session") {
        Ok(done) => {
            let reference = done.reference?;
            Some(format!(
                "the agent changed files while planning; Ralph undid that and saved it at {reference}"
            ))
        }
        Err(error) => Some(format!("cannot undo what the agent changed while planning: {error}")),
    }
}

struct Live<'s> {
    agent: &'s Agent,
    reader: SessionReader,
    on_activity: &'s mut dyn FnMut(&Activity),
}

impl Watch for Live<'_> {
    fn output(&mut self, stream: Stream, chunk: &[u8]) {
        self.reader.read(stream, chunk, |activity| (self.on_activity)(&activity));
    }

    fn first_signal(&self) -> EndSignal {
        self.agent.first_signal()
    }

    fn is_over_budget(&self) -> bool {
        self.reader.is_over_budget()
    }
}
