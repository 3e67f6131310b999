//! A run from its start to its end, one line per stage: plan, claim, context, agent, signals, gate, capture, decide.

use super::Templates;
use super::agents_md_sync::{AgentsMd, WrittenBy};
use super::breaker_prompt::BreakerPrompt;
use super::budgets::BudgetWatch;
use super::gate_runs::Gates;
use super::plan_sync::PlanFiles;
use super::protection::FileProtection;
use super::review::Reviewer;
use super::run_context::RunContext;
use super::run_end::{EngineError, Halt, Result, Summary};
use super::run_start::{Engine, Role};
use super::seat::WorkerEnd;
use super::state_md_sync::StateMd;
use super::team::Team;
use super::work_tree::WorkTree;
use crate::event::{GateAuthor, RunEvent};
use crate::exit::RunExit;
use crate::git::Git;
use crate::hooks::HookPoint;
use crate::store::{Claimed, Purpose};

/// A run under way: each part owns its state and is given the context.
pub(super) struct Run<'a> {
    pub context: RunContext<'a>,
    pub tree: WorkTree,
    pub plan_files: PlanFiles,
    pub agents_md: AgentsMd,
    pub state_md: StateMd,
    pub team: Team<'a>,
    pub budgets: BudgetWatch,
    pub gates: Gates,
    pub protection: FileProtection,
    pub reviewer: Reviewer<'a>,
    pub breaker_prompt: BreakerPrompt,
    pub templates: Templates,
}

impl Engine<'_> {
    /// Runs until nothing is left, a limit is reached, or something says stop.
    pub fn run(&mut self) -> Result<Summary, EngineError> {
        let tasks = self.store.counts()?;
        if tasks.total == 0 {
            return Ok(Summary {
                run_id: None,
                exit: RunExit::NoPlan,
                reason: "there is no plan".to_owned(),
                hint: Some("add a task with `ralph task add TITLE`".to_owned()),
            });
        }
        let (settings_json, output, role) =
            (self.settings_json.clone(), self.output.clone(), self.role.clone());
        let mut run = Run::new(self)?;
        let jobs = match &role {
            Role::Alone => None,
            Role::Supervisor(jobs) => Some(jobs),
            Role::Worker(..) => {
                let halt = run.work_as_one_of_many();
                let WorkerEnd { exit_code, reason, hint } = run.end_worker(halt)?;
                let exit = RunExit::ALL.into_iter().find(|exit| exit.code() == exit_code);
                let exit = exit.unwrap_or(RunExit::Error);
                return Ok(Summary { run_id: None, exit, reason, hint });
            }
        };
        let started = run.record_start(tasks, settings_json, output, jobs)?;
        let halt = match jobs {
            Some(jobs) => run.supervise(&started, jobs),
            None => run.work(&started),
        };
        run.end(halt)
    }
}

impl Run<'_> {
    /// Everything between the start and the end of the run. Gives why it ends.
    fn work(&mut self, started: &RunEvent) -> Halt {
        let mut step = self.open(started);
        loop {
            match step {
                Ok(()) => step = self.next(),
                Err(halt) => return halt,
            }
        }
    }

    /// Before the first attempt: what dead runs left is dealt with, and the files are brought up to date.
    fn open(&mut self, started: &RunEvent) -> Result {
        let run = &mut self.context;
        run.start_guard()?;
        run.tell_notices()?;
        run.hook_before(HookPoint::BeforeRun, started)?;
        run.record_lost_attempts()?;
        self.tree.open(run)?;
        self.tree.warn_of_unmerged(run)?;
        self.tree.tidy(run)?;
        self.plan_files.open(run)?;
        run.warn_of_unready_gates()?;
        self.protection.open(run)?;
        run.probe()?;
        self.state_md.write(run, "running")?;
        self.agents_md.sync(run, self.tree.branch(), WrittenBy::Person)
    }

    /// One round of the loop: plan, choose an agent, claim a task, make an attempt.
    pub(super) fn next(&mut self) -> Result {
        self.read_ahead();
        self.plan()?;
        if !self.choose_agent()? {
            return Ok(());
        }
        match self.context.claim(Purpose::Attempt)? {
            Some(claimed) => {
                let attempted = self.attempt(&claimed);
                self.context.unless_moved(attempted)
            }
            None => self.wait_for_others(),
        }
    }

    /// What is looked at between attempts, asked of a server at once.
    fn read_ahead(&self) {
        let run = &self.context;
        run.store.read_ahead(|store| {
            run.read_requests_ahead(store);
            let _ = store.breaker();
            for member in &self.team.members {
                let _ = store.agent_limit(member.agent.account());
            }
        });
    }

    /// Between attempts: parents whose children are done, and whatever speaks against going on.
    fn plan(&mut self) -> Result {
        self.context.git_places = self.tree.git.as_ref().map(Git::places);
        self.context.beat();
        self.context.tell_gate_changes(GateAuthor::Elsewhere)?;
        self.settle_parents()?;
        self.must_stop()?;
        self.wait_while_paused()?;
        self.check_breaker(None)
    }

    /// One attempt on a claimed task, stage by stage.
    fn attempt(&mut self, claimed: &Claimed) -> Result {
        let Some(ready) = self.prepare(claimed)? else { return Ok(()) };
        let (begun, log) = self.begin(claimed, &ready)?;
        self.context.attempt_under_way = true;
        let worked = self.call_agent(claimed, &ready.prompt, log).and_then(|session| {
            let mut evidence = self.gather_evidence(claimed, &ready, &begun, session)?;
            let verdict = self.verdict_and_commit(claimed, &ready, &begun, &mut evidence)?;
            Ok((evidence, verdict))
        });
        self.context.attempt_under_way = false;
        let (evidence, verdict) = worked?;
        self.conclude(claimed, ready, begun, evidence, verdict)
    }
}
