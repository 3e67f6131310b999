//! Attempts whose process died: found, recorded once, and their tasks freed.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use super::finding::{Finding, summary};
use super::recovery::{Mending, Repairs};
use super::run::{EngineError, Run, StopRun};
use crate::agent::{Agent, AgentReport, Interrupt, end_of_runs, read_log};
use crate::capture;
use crate::decide::{AfterAttempt, Said, after_attempt, after_lost};
use crate::event::{EventKind, RunEvent, TaskRef};
use crate::evidence::Verdict;
use crate::exit::RunExit;
use crate::git::{Git, GitError, GitLimits};
use crate::host::{Host, Liveness, is_over, is_stale};
use crate::logs::{LogDir, LogStream};
use crate::model::{
    AttemptCost, ErrorType, GateOutcome, GateRecord, GitRecord, Outcome, RunId, Status, Task,
    Timestamp,
};
use crate::signals;
use crate::store::{Capture, Claim, Purpose, Random, Store, StoreError, TaskNext};

/// How long processes of a dead run have between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);

/// Looks for what dead processes left behind.
pub struct Recovery<'a> {
    /// What a lost try that counts asks for, by the project's settings.
    pub repairs: Repairs<'a>,
    /// The database.
    pub store: &'a mut dyn Store,
    /// Who lives.
    pub host: &'a dyn Host,
    /// Whose logs can be read.
    pub agents: &'a [&'a dyn Agent],
    /// Failures in a row, over all tasks, that may open the breaker.
    pub breaker_threshold: u32,
    /// Now.
    pub now: Timestamp,
    /// Randomness.
    pub random: Random<'a>,
    /// The run that asks, if one does.
    pub own_run: Option<&'a RunId>,
    /// Whether Ralph is to stop.
    pub interrupt: Interrupt,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Attempts that were recorded as lost.
    pub events: Vec<RunEvent>,
    /// When the last of them last gave a sign of life.
    pub last_sign: Option<Timestamp>,
    /// Processes of dead runs that were still there and were ended.
    pub processes_ended: usize,
    /// Attempts that stay claimed because git does not say whether their work was committed, and why.
    pub undecided: Vec<(String, GitError)>,
}

/// What became of an attempt whose process died.
struct End {
    after: AfterAttempt,
    counted: bool,
    git: GitRecord,
}

/// An attempt that was found lost.
#[derive(Default)]
struct Lost {
    events: Vec<RunEvent>,
    last_sign: Option<Timestamp>,
    undecided: Option<(String, GitError)>,
}

impl Recovery<'_> {
    /// Closes dead runs, ends what they left running, and records their unfinished attempts. `event` makes the event
    /// of each, where a run is there to tell of it.
    pub fn run(
        mut self,
        event: &mut dyn FnMut(EventKind) -> Option<RunEvent>,
    ) -> Result<Recovered, StoreError> {
        let stale: Vec<Claim> = self
            .store
            .claims()?
            .into_iter()
            .filter(|claim| Some(&claim.run_id) != self.own_run)
            .filter(|claim| is_stale(claim, self.host.liveness(&claim.owner), self.now))
            .collect();
        let mut recovered = Recovered {
            processes_ended: self.close_dead_runs()?,
            ..Recovered::default()
        };
        self.forget_dead_hooks()?;
        for claim in stale {
            let recorded = match claim.purpose {
                // Nothing was tried; the gate is simply due again.
                Purpose::ParentGate => self
                    .store
                    .release(&claim.task_id, &claim.token)
                    .map(|()| Lost::default()),
                Purpose::Attempt => self.capture_lost(&claim, event),
            };
            match recorded {
                Ok(lost) => {
                    recovered.last_sign = recovered.last_sign.max(lost.last_sign);
                    recovered.events.extend(lost.events);
                    recovered.undecided.extend(lost.undecided);
                }
                // Another process was quicker.
                Err(StoreError::ClaimMoved(_) | StoreError::UnknownTask(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(recovered)
    }

    /// What a dead run's agents still do must end before their tasks are given to others.
    fn close_dead_runs(&mut self) -> Result<usize, StoreError> {
        let dead: Vec<RunId> = self
            .store
            .open_runs()?
            .into_iter()
            .filter(|run| Some(&run.id) != self.own_run)
            .filter(|run| is_over(run, self.host.liveness(&run.owner), self.now))
            .map(|run| run.id)
            .collect();
        let ended = end_of_runs(&dead, GRACE);
        for run in &dead {
            self.store.close_dead_run(run, self.now)?;
        }
        Ok(ended)
    }

    /// A run that was killed could not remove the record of a hook that was running.
    fn forget_dead_hooks(&mut self) -> Result<(), StoreError> {
        for hook in self.store.at_work()?.hooks {
            if self.host.liveness(&hook) == Liveness::Dead {
                self.store.forget_hook(&hook)?;
            }
        }
        Ok(())
    }

    fn capture_lost(
        &mut self,
        claim: &Claim,
        event: &mut dyn FnMut(EventKind) -> Option<RunEvent>,
    ) -> Result<Lost, StoreError> {
        let task = self.store.task(claim.task_id.as_str())?;
        let (said, written) = self.read_lost_log(claim);
        let End {
            mut after,
            counted,
            git,
        } = match self.end_of(claim, said.as_ref(), &task)? {
            Ok(end) => end,
            // Recorded as lost, its work might be committed a second time.
            Err(error) => {
                return Ok(Lost {
                    undecided: Some((task.name().to_owned(), error)),
                    ..Lost::default()
                });
            }
        };
        let done = matches!(after.next, TaskNext::Done);
        let last_sign = written.max(Some(claim.heartbeat_at));
        let started_at = claim.attempt.started_at.unwrap_or(claim.claimed_at);
        let mending = if counted && !done {
            let finding = Finding::of_lost(claim.attempt.clone(), started_at);
            self.repairs
                .mending(&*self.store, &task, &finding, None, &mut after)?
        } else {
            Mending::default()
        };
        let status = match &after.next {
            TaskNext::Done => Status::Done,
            TaskNext::Pending => Status::Pending,
            TaskNext::Blocked { .. } => Status::Blocked,
        };
        let gate = match done {
            true => self.passed_gate(claim, &task)?,
            false => None,
        };
        let found = EventKind::LostFound {
            task: TaskRef::from(&task),
            lost_run_id: claim.run_id.clone(),
            counted,
            status,
            verified: gate.is_some(),
        };
        let events: Vec<RunEvent> = [found]
            .into_iter()
            .chain(mending.events)
            .filter_map(event)
            .collect();
        let capture = Capture {
            task_id: claim.task_id.clone(),
            token: claim.token.clone(),
            run_id: claim.run_id.clone(),
            worker: claim.worker.clone(),
            outcome: if done { Outcome::Done } else { Outcome::Error },
            error_type: (!done).then_some(ErrorType::Lost),
            counted,
            message: (!done).then(|| capture::DIED.into()),
            started_at,
            ended_at: last_sign.unwrap_or(started_at).max(started_at),
            cost: said.as_ref().and_then(|said| self.cost(claim, said)),
            usage: said.as_ref().map(|said| said.usage).unwrap_or_default(),
            session_id: said.as_ref().and_then(|said| said.session_id.clone()),
            agent_model: said.as_ref().and_then(|said| said.model.clone()),
            denials: Vec::new(),
            service_retries: said.as_ref().map_or(0, |said| said.retries),
            limit: None,
            git,
            gate,
            gate_green_before: None,
            summary: match &said {
                Some(said) if done => summary(&said.result_text),
                _ => None,
            },
            mark: None,
            report: (counted && !done).then(capture::lost_report),
            learnings: said.map(|said| learned(&said, &task)).unwrap_or_default(),
            lesson: None,
            metrics: after.metrics,
            next: after.next,
            gave_up: after.gave_up,
            fix: mending.fix,
            recovery_end: mending.end,
            changes: Vec::new(),
            breaker_threshold: self.breaker_threshold,
            own_work: false,
            start: claim.attempt.clone(),
            events: events.clone(),
        };
        self.store.capture(&capture, self.random)?;
        Ok(Lost {
            events,
            last_sign: Some(capture.ended_at),
            undecided: None,
        })
    }

    /// What became of the attempt: it is done where its work was committed, for that comes last, after its signal and its
    /// gate; else it is lost. An error where git cannot tell at present.
    fn end_of(
        &self,
        claim: &Claim,
        said: Option<&AgentReport>,
        task: &Task,
    ) -> Result<Result<End, GitError>, StoreError> {
        let metrics = self.store.metrics(&claim.task_id)?;
        let committed = match self.committed(claim)? {
            Ok(committed) => committed,
            Err(error) => return Ok(Err(error)),
        };
        let Some(git) = committed else {
            let (after, counted) = after_lost(&metrics, self.repairs.policy);
            let git = GitRecord {
                commit_before: claim.attempt.commit_before.clone(),
                ..GitRecord::default()
            };
            return Ok(Ok(End {
                after,
                counted,
                git,
            }));
        };
        let signals = said.map(|said| signals::parse(&said.result_text, &scope(task)));
        let said = Said {
            difficulty: signals.and_then(|signals| signals.difficulty),
            ..Said::default()
        };
        let verdict = Verdict {
            outcome: Outcome::Done,
            error_type: None,
            counted: true,
            message: None,
            abort: false,
        };
        Ok(Ok(End {
            after: after_attempt(&metrics, &verdict, &said, self.repairs.policy),
            counted: true,
            git,
        }))
    }

    /// The gate of a lost attempt, where the run had told that it passed.
    fn passed_gate(&self, claim: &Claim, task: &Task) -> Result<Option<GateRecord>, StoreError> {
        let told = self
            .store
            .last_event(&claim.run_id, Some("gate_finished"))?;
        let since = claim.attempt.started_at.unwrap_or(claim.claimed_at);
        let told = told.filter(|told| told.at >= since);
        Ok(
            match told.and_then(|told| told.read()).map(|told| told.kind) {
                Some(EventKind::GateFinished {
                    task: of,
                    outcome: GateOutcome::Passed,
                    flaky,
                    ..
                }) if of.task_id == task.id => Some(GateRecord {
                    command: crate::text::one_line(task.verify.as_deref().unwrap_or_default(), 200),
                    outcome: GateOutcome::Passed,
                    ended: "exited with code 0".into(),
                    flaky,
                    diagnosis: Box::default(),
                    output_tail: String::new(),
                    touched: Vec::new(),
                    fix: None,
                }),
                _ => None,
            },
        )
    }

    /// The commit that an attempt was about to make when its process died, if it was made.
    fn committed(&self, claim: &Claim) -> Result<Result<Option<GitRecord>, GitError>, StoreError> {
        let Some(intent) = self.store.commit_intent(&claim.task_id)? else {
            return Ok(Ok(None));
        };
        let root = || self.repairs.project.root().to_owned();
        let dir = claim
            .attempt
            .work_dir
            .as_ref()
            .map(PathBuf::from)
            // The project may have been moved since.
            .filter(|dir| dir.is_dir())
            .unwrap_or_else(root);
        let git = match Git::open(&dir, self.limits()) {
            Ok(Some(git)) => git,
            Ok(None) => return Ok(Ok(None)),
            Err(error) => return Ok(Err(error)),
        };
        // What cannot be looked up counts as free: the claim proves that the attempt got this far.
        let is_taken = |commit: &str| self.store.is_recorded_commit(commit).unwrap_or(false);
        Ok(match git.find_commit(&intent, &is_taken) {
            // The repository is gone, or cannot be read.
            Err(GitError::Gone(_) | GitError::Refused { .. } | GitError::File { .. }) => Ok(None),
            found => found,
        })
    }

    fn limits(&self) -> GitLimits {
        GitLimits {
            interrupt: self.interrupt.clone(),
            ..GitLimits::default()
        }
    }

    /// What a lost attempt cost, as far as its log tells.
    fn cost(&self, claim: &Claim, said: &AgentReport) -> Option<AttemptCost> {
        let agent = self.agent_of(claim)?;
        let price = agent.price(claim.attempt.model.as_deref(), said.model.as_deref());
        said.cost_by(price.as_ref())
    }

    fn agent_of(&self, claim: &Claim) -> Option<&dyn Agent> {
        let name = claim.attempt.agent.as_deref()?;
        let own = |agent: &&&dyn Agent| agent.name() == name;
        self.agents.iter().find(own).copied()
    }

    /// What the log of a lost attempt says, and when it was last written to.
    fn read_lost_log(&self, claim: &Claim) -> (Option<AgentReport>, Option<Timestamp>) {
        let Some(path) = &claim.attempt.log_path else {
            return (None, None);
        };
        let Ok((dir, name)) = LogDir::of_record(self.repairs.project.root(), path) else {
            return (None, None);
        };
        let file = dir.read(&name).and_then(|file| file.metadata()?.modified());
        let written = file.ok().map(Timestamp::from);
        let log = LogStream::open(Rc::new(dir), &name).ok();
        let agent = self.agent_of(claim);
        let said = agent
            .zip(log)
            .and_then(|(agent, log)| read_log(log, agent.parser()).ok());
        (said, written)
    }
}

fn scope(task: &Task) -> signals::Scope<'_> {
    signals::Scope {
        task_id: task.id.as_str(),
        task_key: task.key.as_ref().map(|key| key.as_str()),
        ladder: &[],
    }
}

fn learned(said: &AgentReport, task: &Task) -> Vec<crate::model::NewLearning> {
    capture::learnings(&signals::parse(&said.result_text, &scope(task)).learnings)
}

impl Run<'_, '_> {
    /// Recovers what other runs lost, and tells of it. Where git does not say whether lost work was committed, the run ends:
    /// it would wait for that claim for as long as git does not answer.
    pub(super) fn recover_lost(&mut self) -> Result<Option<StopRun>, EngineError> {
        let id = self.id.clone();
        let now = self.engine.clock.now();
        let settings = self.engine.settings;
        let seq = std::cell::Cell::new(self.seq);
        let recovered = Recovery {
            repairs: Repairs {
                project: self.engine.project,
                policy: &settings.policy,
                recovery: settings.recovery,
                by_spec: &settings.recovery_by_spec,
                real_paths: &self.real_paths,
            },
            store: self.engine.store,
            host: self.engine.host,
            agents: self.engine.known,
            breaker_threshold: self.engine.settings.breaker.threshold,
            now,
            random: self.engine.random,
            own_run: Some(&id),
            interrupt: self.engine.interrupt.clone(),
        }
        .run(&mut |kind| {
            seq.set(seq.get() + 1);
            Some(RunEvent::new(seq.get(), now, &id, kind))
        });
        // Also when it failed half-way: what was stored has used its numbers up.
        self.seq = seq.get();
        let recovered = recovered?;
        self.lost_until = self.lost_until.max(recovered.last_sign);
        for event in &recovered.events {
            self.engine.observer.event(event);
        }
        if recovered.processes_ended > 0 {
            let n = recovered.processes_ended;
            let plural = if n == 1 { "" } else { "es" };
            let message = format!("killed {n} leftover process{plural} of a crashed run");
            self.tell(EventKind::Warning { message })?;
        }
        let undecided = recovered.undecided.into_iter();
        // The loop sees the signal itself.
        let mut faults = undecided.filter(|(_, error)| !matches!(error, GitError::Interrupted));
        Ok(faults.next().map(|(name, error)| {
            let reason = format!(
                "Ralph crashed while committing the work of {name}, and git cannot tell whether the commit \
                 was made: {error}"
            );
            let mut stop = StopRun::new(RunExit::Error, reason);
            let remedy = error.remedy();
            let remedy = remedy.unwrap_or_else(|| "fix what git reports".to_owned());
            stop.hint = Some(format!("{remedy}; then `ralph run` again"));
            stop
        }))
    }
}
