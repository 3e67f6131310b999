//! One planning session: an agent reads the repository and answers with a plan. It is recorded like an attempt, of the kind
//! `plan`, and what it changes in the working tree is undone.

use std::ffi::OsString;

use super::agent_session::log_path;
use super::prompter::{PromptError, plan_rules};
use super::side_session::{Answer, Question, ReadOnlyTree, SessionEnding};
use super::{EngineError, RunSettings, own_files};
use crate::agent::{
    Activity, Agent, AttemptLog, Guard, Interrupt, LaunchRequest, adopt_orphans, holder_mark,
};
use crate::clock::Clock;
use crate::git::{Git, GitLimits};
use crate::host::Host;
use crate::logs::{LogDir, attempt_name};
use crate::model::{AttemptCost, RunId, TaskId};
use crate::project::{LOGS, Project};
use crate::sandbox::{Confinement, Sandbox, Subject, Undone};
use crate::store::{SideSession, Store};

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
    pub sandbox: &'a Sandbox,
    pub guard_command: Vec<OsString>,
    /// One id for all rounds.
    pub run_id: RunId,
    pub goal: &'a str,
}

#[derive(Debug)]
pub struct PlanAnswer {
    pub text: String,
    pub ending: SessionEnding,
    pub cost: Option<AttemptCost>,
    pub log_path: String,
    /// What became of changes the agent made in the working tree, each as a sentence.
    pub undone: Vec<String>,
    /// Its number in the database.
    pub session: i64,
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
        let request = LaunchRequest {
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
            is_confined: self.sandbox.backend().is_some(),
            budget_usd,
        };
        let started_at = self.clock.now();
        let mut record = SideSession {
            goal: self.goal.to_owned(),
            attempt: round,
            run_id: self.run_id.clone(),
            agent: self.agent.name().to_owned(),
            model: self.model.to_owned(),
            started_at,
            log_path: Some(path.clone()),
            ..SideSession::default()
        };
        // Before the agent starts: a session that dies with Ralph is on record too.
        let session = self.store.begin_side_session(&record, &self.host.owner())?;
        let git = Git::open(root, GitLimits { interrupt: self.interrupt.clone(), ..GitLimits::default() })?;
        let git = match git {
            Some(git) => Some(git.without(own_files(self.settings.agents_md.as_deref(), self.store)?)),
            None => None,
        };
        let name = format!("{KEY}-{}-{round}", self.run_id);
        let tree = git.as_ref().map(|git| ReadOnlyTree::keep(git, name, "planning")).transpose()?;
        adopt_orphans();
        let mut guard = match self.guard_command.is_empty() {
            true => None,
            false => Guard::start(&self.guard_command, &holder_mark(&self.host.owner())).ok(),
        };
        let places = git.as_ref().map(Git::places);
        let confinement = self.sandbox.confinement(Subject::Agent(self.agent), root, root, places.as_ref());
        let confinement = confinement.map_err(EngineError::Sandbox)?;
        let question = Question {
            agent: self.agent,
            request,
            settings: self.settings,
            wall: self.settings.attempt_timeout,
            interrupt: &self.interrupt,
            log,
            confinement: confinement.as_ref(),
        };
        let answer =
            question.ask(guard.as_mut(), &mut |activity| activity.into_iter().for_each(&mut *on_activity));
        drop(guard);
        let restored = tree.and_then(ReadOnlyTree::restore);
        let Undone { forbidden, failed } =
            confinement.as_ref().map(Confinement::take_undone).unwrap_or_default();
        let forbidden = forbidden.iter().map(|forbidden| forbidden.told(root));
        let failed = failed.map(|error| format!("cannot undo what the planning agent may not do: {error}"));
        let undone = restored.into_iter().chain(forbidden).chain(failed).collect();
        answer.add_to(&mut record, self.clock.now().since(started_at));
        self.store.end_side_session(session, &record, self.clock.now())?;
        let Answer { report, ending, cost } = answer;
        Ok(PlanAnswer { text: report.result_text, ending, cost, log_path: path, undone, session })
    }

    fn open_log(&self, name: &str) -> std::io::Result<AttemptLog> {
        self.project.make_dir()?;
        let logs = LogDir::make(&self.project.ralph_dir().join(LOGS))?;
        AttemptLog::create(logs, name, self.settings.max_attempt_bytes)
    }
}
