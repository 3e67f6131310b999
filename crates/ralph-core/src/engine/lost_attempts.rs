//! Attempts whose process died: found, recorded once, and their tasks freed.

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use super::agent_session::signal_scope;
use super::attempt_record::{AttemptResult, add_session, begun, output, status_of};
use super::fix_tasks::FixPolicy;
use super::kept_result::{FinishedAttempt, RecordTo, forget_kept};
use super::remote::{ATTEMPT, LOST};
use super::run_context::RunContext;
use super::run_end::{Result, StopRun, millis};
use crate::agent::{Agent, AgentReport, Interrupt, end_of_holders, end_of_runs, holder_mark, read_log};
use crate::capture;
use crate::decide::{Circumstances, lost_verdict, of_gates, settle};
use crate::event::{AttemptFinished, EventKind, RunEvent, TaskRef};
use crate::git::{Git, GitError, GitFault, GitLimits, RemoteFault, Settled};
use crate::host::{Host, Liveness, is_over, is_stale};
use crate::logs::{LogDir, LogStream};
use crate::model::{
    CommitIntent, GateOf, GateOutcome, GateRecord, GitRecord, LandingIntent, RemoteIntent, RunId, Task,
    Timestamp,
};
use crate::signals;
use crate::store::{Claim, Owner, Purpose, Random, Store, StoreError};

/// How long processes of a dead run have between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);

/// Looks for what dead processes left behind.
pub struct LostAttempts<'a> {
    /// What a lost attempt that counts asks for, by the project's settings.
    pub fix_policy: FixPolicy<'a>,
    pub store: &'a mut Store,
    pub host: &'a dyn Host,
    pub agents: &'a [&'a Agent],
    /// Failures in a row, over all tasks, that may open the breaker.
    pub breaker_threshold: u32,
    pub now: Timestamp,
    pub random: Random<'a>,
    /// The run that asks, if one does.
    pub own_run: Option<&'a RunId>,
    pub interrupt: Interrupt,
    /// Whether a remote may be asked what became of a landing; else those attempts stay claimed for now.
    pub may_ask_remote: bool,
}

#[derive(Debug, Default)]
pub struct LostReport {
    pub events: Vec<RunEvent>,
    /// When the last of them last gave a sign of life.
    pub last_sign: Option<Timestamp>,
    /// Processes of dead runs that were still there and were ended.
    pub processes_ended: usize,
    /// A checkout that a dead run had begun to bring forward went back; the files that somebody had changed meanwhile and
    /// that were left so. Or why it could not.
    pub went_back: Option<Result<Vec<String>, GitError>>,
    /// Attempts that stay claimed because git does not say whether their work was committed, and why.
    pub undecided: Vec<(String, GitError)>,
    /// Work that did not land and that a remote holds: the names of its task and of the branch.
    pub kept: Vec<(String, String)>,
}

/// What became of the work of an attempt whose process died.
enum LostWork {
    Committed(GitRecord),
    /// The branch of the remote that holds it, if one does.
    NotCommitted {
        kept: Option<String>,
    },
}

impl LostWork {
    const NONE: Self = Self::NotCommitted { kept: None };
}

impl LostAttempts<'_> {
    /// Closes dead runs, ends what they left running, and records their unfinished attempts. `event` makes the event
    /// of each, where a run is there to tell of it.
    pub fn record(
        mut self,
        event: &mut dyn FnMut(EventKind) -> Option<RunEvent>,
    ) -> Result<LostReport, StoreError> {
        let own = self.host.owner();
        let stale: Vec<Claim> = self
            .store
            .claims()?
            .into_iter()
            .filter(|claim| claim.owner != own)
            .filter(|claim| is_stale(claim, self.host.liveness(&claim.owner), self.now))
            .collect();
        let ended = self.end_dead_workers(&stale)? + self.close_dead_runs()?;
        let went_back = self.end_following().transpose();
        let mut report = LostReport { processes_ended: ended, went_back, ..LostReport::default() };
        self.forget_dead_hooks()?;
        for claim in stale {
            let recorded = match claim.purpose {
                // Nothing was tried; the gate is simply due again.
                Purpose::ParentGate => self.store.release(&claim.task_id, &claim.token),
                Purpose::Attempt => self.capture_lost(&claim, event, &mut report),
            };
            match recorded {
                // Another process was quicker.
                Ok(()) | Err(StoreError::ClaimMoved(_) | StoreError::UnknownTask(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(report)
    }

    /// The project's checkout goes back where a dead run had begun to bring it forward. A landing worker holds the lock, and looks
    /// for that, too.
    fn end_following(&self) -> Result<Option<Vec<String>>, GitError> {
        let root = self.fix_policy.project.root();
        if !Git::is_half_way(root) {
            return Ok(None);
        }
        let limits = GitLimits { interrupt: self.interrupt.clone(), ..GitLimits::default() };
        let Some(git) = Git::open(root, limits)? else { return Ok(None) };
        match git.landing_lock()? {
            Some(_lock) => git.end_following(),
            None => Ok(None),
        }
    }

    /// Workers that were killed while their run goes on: what they started must end before their tasks, and their working
    /// trees, are given to others. What other workers of the run started is left alone.
    fn end_dead_workers(&mut self, stale: &[Claim]) -> Result<usize, StoreError> {
        let workers = self.store.workers()?.into_iter();
        let dead: Vec<Owner> = workers
            .filter(|worker| match self.host.liveness(&worker.owner) {
                Liveness::Alive => false,
                Liveness::Dead => true,
                Liveness::Elsewhere => worker.expires_at < self.now,
            })
            .map(|worker| worker.owner)
            .collect();
        let holders = stale.iter().map(|claim| &claim.owner).chain(&dead);
        let mut marks: Vec<String> = holders.map(holder_mark).collect();
        marks.dedup();
        let ended = if marks.is_empty() { 0 } else { end_of_holders(&marks, GRACE) };
        for owner in &dead {
            self.store.remove_worker(owner)?;
        }
        Ok(ended)
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
        found: &mut LostReport,
    ) -> Result<(), StoreError> {
        let task = self.store.task(claim.task_id.as_str())?;
        if self.record_kept(claim, &task, event, found)? {
            return Ok(());
        }
        let (said, written) = self.read_lost_log(claim);
        let committed = match self.committed(claim)? {
            Ok(committed) => committed,
            // Recorded as lost, its work might be committed a second time.
            Err(error) => {
                found.undecided.push((task.name().to_owned(), error));
                return Ok(());
            }
        };
        let done = matches!(committed, LostWork::Committed(_));
        let git = match committed {
            LostWork::Committed(git) => git,
            LostWork::NotCommitted { kept } => {
                let commit_before = claim.attempt.commit_before.clone();
                GitRecord { commit_before, undone_ref: kept, ..GitRecord::default() }
            }
        };
        let kept = git.undone_ref.clone().map(|kept| (task.name().to_owned(), kept));
        let last_sign = written.max(Some(claim.heartbeat_at));
        let started_at = claim.attempt.started_at.unwrap_or(claim.claimed_at);
        let ended_at = last_sign.unwrap_or(started_at).max(started_at);
        let mut attempt = begun(&task, claim.attempt.clone(), started_at);
        attempt.run_id = Some(claim.run_id.clone());
        attempt.worker = Some(claim.worker.clone());
        attempt.duration_ms = millis(ended_at.since(started_at));
        if let Some((agent, said)) = self.agent_of(claim).zip(said.as_ref()) {
            add_session(&mut attempt, agent, said);
            // What was denied or limited in a session that was cut off decides nothing.
            (attempt.denials, attempt.limit_notice) = (Vec::new(), None);
        }
        attempt.summary = attempt.summary.filter(|_| done);
        attempt.set_git(git);
        let gate = if done { self.passed_gate(claim, &task)? } else { None };
        if let Some(gate) = &gate {
            attempt.set_gate(gate);
            attempt.verification = of_gates(done, std::iter::once(gate));
        }
        let verdict = lost_verdict(done);
        let report = (!done).then(capture::lost_report);
        let scope = signal_scope(&task, &[]);
        let said_last = said.as_ref().map(|said| said.result_text.clone()).unwrap_or_default();
        let signals = said.map(|said| signals::parse(&said.result_text, &scope)).unwrap_or_default();
        let output = match self.store.is_file() {
            true => None,
            false => output(self.fix_policy.project.root(), &claim.owner.host, &attempt, &said_last),
        };
        let result = AttemptResult {
            output,
            learnings: capture::learnings(&signals.learnings),
            ..AttemptResult::new(attempt, verdict, gate.as_ref(), report)
        };
        let plan = self.fix_policy.plan(self.store, &task, &result, None, !done)?;
        let circumstances = Circumstances {
            difficulty: signals.difficulty.filter(|_| done),
            users_model: result.attempt.users_model(),
            ..plan.circumstances(self.breaker_threshold)
        };
        let policy = self.fix_policy.policy;
        let (id, token) = (&claim.task_id, &claim.token);
        let captured = self.store.capture(id, token, self.random, |before| {
            let settled = settle(&result.verdict, &circumstances, before, policy);
            let mut plan = plan.effects(&task, &result, &settled, policy);
            let lost = EventKind::LostFound {
                task: TaskRef::from(&task),
                lost_run_id: claim.run_id.clone(),
                counted: settled.counted,
                status: status_of(&settled.next).0,
                verified: result.attempt.verified,
            };
            let told = [lost].into_iter().chain(std::mem::take(&mut plan.events));
            result.capture(settled, plan, told.filter_map(&mut *event).collect())
        })?;
        found.last_sign = found.last_sign.max(Some(captured.attempt.ended_at()));
        found.events.extend(captured.events);
        found.kept.extend(kept);
        Ok(())
    }

    /// Records a result that its own run could not record. Whether there was one.
    fn record_kept(
        &mut self,
        claim: &Claim,
        task: &Task,
        event: &mut dyn FnMut(EventKind) -> Option<RunEvent>,
        found: &mut LostReport,
    ) -> Result<bool, StoreError> {
        let root = self.fix_policy.project.root();
        let Some(log) = claim.attempt.log_path.as_deref() else { return Ok(false) };
        let Some(kept) = FinishedAttempt::kept(root, log, &claim.token) else { return Ok(false) };
        let lost = |ended: AttemptFinished| EventKind::LostFound {
            task: TaskRef::from(task),
            lost_run_id: claim.run_id.clone(),
            counted: ended.counted,
            status: ended.status,
            verified: ended.verified,
        };
        let to = RecordTo {
            store: self.store,
            policy: &self.fix_policy,
            breaker_threshold: self.breaker_threshold,
            random: self.random,
        };
        let captured = kept.record(task, to, event, &lost)?;
        forget_kept(root, log);
        found.last_sign = found.last_sign.max(Some(captured.attempt.ended_at()));
        found.events.extend(captured.events);
        Ok(true)
    }

    /// The gate of a lost attempt, where the run had told that it passed.
    fn passed_gate(&self, claim: &Claim, task: &Task) -> Result<Option<GateRecord>, StoreError> {
        let told = self.store.last_event(&claim.run_id, Some("gate_finished"))?;
        let since = claim.attempt.started_at.unwrap_or(claim.claimed_at);
        let told = told.filter(|told| told.at >= since);
        Ok(match told.and_then(|told| told.read()).map(|told| told.kind) {
            Some(EventKind::GateFinished {
                task: told,
                outcome: GateOutcome::Passed,
                of,
                baseline: false,
                flaky,
                ..
            }) if told.task_id == task.id => {
                let command = task.verify.as_deref().unwrap_or_default();
                let passed = GateRecord::new(command, GateOutcome::Passed, "exited with code 0");
                let known = self.store.task_baseline(&task.id, command)?;
                // Only the last gate is looked at; the project's runs where the task's own passed.
                let of = if task.verify.is_some() { GateOf::Task } else { of };
                Some(GateRecord { of, flaky, baseline: known.unwrap_or_default(), ..passed })
            }
            _ => None,
        })
    }

    /// The commit that an attempt was about to make when its process died, if it was made.
    fn committed(&self, claim: &Claim) -> Result<Result<LostWork, GitError>, StoreError> {
        let Some(intent) = self.store.commit_intent(&claim.task_id)? else { return Ok(Ok(LostWork::NONE)) };
        if let Some(LandingIntent { branch, commit, remote: Some(remote) }) = &intent.landing {
            return Ok(self.landed_remotely(&intent, branch, commit, remote));
        }
        // The project may have been moved since.
        let dir = claim.attempt.work_dir.as_ref().map(Path::new).filter(|dir| dir.is_dir());
        let dir = dir.unwrap_or(self.fix_policy.project.root());
        let limits = GitLimits { interrupt: self.interrupt.clone(), ..GitLimits::default() };
        let git = match Git::open(dir, limits) {
            Ok(Some(git)) => git,
            Ok(None) => return Ok(Ok(LostWork::NONE)),
            Err(error) => return Ok(Err(error)),
        };
        if intent.isolated {
            return Ok(landed(&git, &intent));
        }
        // What cannot be looked up counts as free: the claim proves that the attempt got this far.
        let is_taken = |commit: &str| self.store.is_recorded_commit(commit).unwrap_or(false);
        Ok(match git.find_commit(&intent, &is_taken) {
            // The repository is gone, or cannot be read.
            Err(GitError::Fault(GitFault::Gone(_)) | GitError::Refused { .. } | GitError::File { .. }) => {
                Ok(LostWork::NONE)
            }
            found => found.map(|found| found.map_or(LostWork::NONE, LostWork::Committed)),
        })
    }

    /// The same of work that was to land on a remote: any clone can ask, and what has not landed by then never will.
    fn landed_remotely(
        &self,
        intent: &CommitIntent,
        branch: &str,
        commit: &str,
        remote: &RemoteIntent,
    ) -> Result<LostWork, GitError> {
        if !self.may_ask_remote {
            return Err(RemoteFault::Unreachable { why: "it is asked again later".to_owned() }.into());
        }
        let RemoteIntent { remote, permit } = remote;
        let limits = GitLimits { interrupt: self.interrupt.clone(), ..GitLimits::default() };
        let Some(git) = Git::open(self.fix_policy.project.root(), limits)? else { return Ok(LostWork::NONE) };
        let kept = permit.replacen(ATTEMPT, LOST, 1);
        Ok(match git.settle_landing(remote, branch, commit, permit, &kept)? {
            Settled::Landed => LostWork::Committed(landed_record(&git, intent, commit)?),
            Settled::Never { is_kept } => {
                LostWork::NotCommitted { kept: is_kept.then(|| format!("{remote}/{kept}")) }
            }
        })
    }

    fn agent_of(&self, claim: &Claim) -> Option<&Agent> {
        let name = claim.attempt.agent.as_deref()?;
        self.agents.iter().copied().find(|agent| agent.name() == name)
    }

    /// What the log of a lost attempt says, and when it was last written to.
    fn read_lost_log(&self, claim: &Claim) -> (Option<AgentReport>, Option<Timestamp>) {
        let Some(path) = &claim.attempt.log_path else { return (None, None) };
        let Ok((dir, name)) = LogDir::of_record(self.fix_policy.project.root(), path) else {
            return (None, None);
        };
        let file = dir.read(&name).and_then(|file| file.metadata()?.modified());
        let written = file.ok().map(Timestamp::from);
        let log = LogStream::open(Rc::new(dir), &name).ok();
        let agent = self.agent_of(claim);
        let said = agent.zip(log).and_then(|(agent, log)| read_log(log, agent.parser()).ok());
        (said, written)
    }
}

/// The work of a worker that was killed, if it is on the branch: a commit in its own working tree alone is not done.
fn landed(git: &Git, intent: &CommitIntent) -> Result<LostWork, GitError> {
    let Some(LandingIntent { branch, commit, .. }) = &intent.landing else { return Ok(LostWork::NONE) };
    let Some(tip) = git.tip(branch)? else { return Ok(LostWork::NONE) };
    match git.is_in(commit, &tip)? {
        true => landed_record(git, intent, commit).map(LostWork::Committed),
        false => Ok(LostWork::NONE),
    }
}

fn landed_record(git: &Git, intent: &CommitIntent, commit: &str) -> Result<GitRecord, GitError> {
    let base = intent.head.as_deref().unwrap_or(commit);
    Ok(GitRecord {
        commit_before: intent.head.clone(),
        commit_after: Some(commit.to_owned()),
        files_changed: Some(git.files_of_commit(base, commit)?),
        undone_ref: None,
    })
}

impl RunContext<'_> {
    /// Records what other runs lost, and tells of it. Where git does not say whether lost work was committed, the run ends:
    /// it would wait for that claim for as long as git does not answer.
    pub(super) fn record_lost_attempts(&mut self) -> Result {
        let recorded = LostAttempts {
            fix_policy: FixPolicy::new(self.project, self.settings, &self.real_paths),
            store: self.store,
            host: self.host,
            agents: self.known_agents,
            breaker_threshold: self.settings.breaker.threshold,
            now: self.clock.now(),
            random: self.random,
            own_run: Some(&self.id),
            interrupt: self.interrupt.clone(),
            may_ask_remote: self.remote_silence.may_ask(self.clock.steady()),
        }
        .record(&mut |kind| Some(self.events.event(kind)))?;
        self.lost_until = self.lost_until.max(recorded.last_sign);
        for event in &recorded.events {
            self.show_stored(event);
        }
        if recorded.processes_ended > 0 {
            let n = recorded.processes_ended;
            let plural = if n == 1 { "" } else { "es" };
            self.warn(format!("killed {n} leftover process{plural} of a crashed run"))?;
        }
        match recorded.went_back {
            None => {}
            Some(Ok(left)) => self.tell_went_back(&left)?,
            Some(Err(error)) => {
                self.warn(format!(
                    "Ralph was killed while it was updating your checkout, and cannot restore it: {error}"
                ))?;
            }
        }
        for (name, kept) in recorded.kept {
            self.warn(format!("the work of {name} did not land before the crash; it is kept as {kept}"))?;
        }
        let mut undecided = recorded.undecided;
        self.keep_asking_remote(&mut undecided)?;
        let undecided = undecided.into_iter();
        // The loop sees the signal itself.
        let mut faults = undecided.filter(|(_, error)| !matches!(error, GitError::Interrupted));
        let Some((name, error)) = faults.next() else { return Ok(()) };
        let reason = format!(
            "Ralph crashed while committing the work of {name}, and git cannot tell whether the commit \
             was made: {error}"
        );
        let remedy = error.remedy().unwrap_or_else(|| "fix what git reports".to_owned());
        Err(StopRun::error(reason).with_hint(format!("{remedy}; then `ralph run` again")).into())
    }
}
