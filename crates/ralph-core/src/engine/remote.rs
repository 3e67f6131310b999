//! Landing on a branch of a remote that several machines share.
//!
//! Before work lands it is pushed as a branch of its own, `ralph/attempt-…`. The push that moves the shared branch removes that one
//! in the same step, and only from where it was. So it is the permit to land: the process that deals with an attempt whose process is
//! believed dead renames it, and whatever that process does later changes nothing.

use std::time::Duration;

use super::landing::{Landed, Step, fault};
use super::run::Run;
use super::run_context::RunContext;
use super::run_end::{Result, StopRun};
use super::settings::GitSettings;
use super::work_tree::WorkTree;
use super::worker_tree::tip_of;
use crate::event::{EventKind, TaskRef};
use crate::evidence::CommitFailure;
use crate::git::{Git, GitError, PushHooks, Pushed, RemoteFault, Update, Work};
use crate::model::RemoteIntent;
use crate::sandbox::Subject;
use crate::store::Claimed;
use crate::text::duration;

/// The branch that machines land on where the settings name none.
pub const SHARED_BRANCH: &str = "ralph/shared";
/// What the branches begin with that hold work which is to land, and work that a crash kept from landing.
pub(super) const ATTEMPT: &str = "ralph/attempt-";
pub(super) const LOST: &str = "ralph/lost-";
/// Hooks of the remote that refuse so often in a row refuse everything.
const MOST_REFUSALS: u32 = 2;
const NAP: Duration = Duration::from_millis(100);
/// How often others may be quicker to make the branch.
const MOST_OVERTAKEN: u32 = 20;
/// The longest pause of one who lost a race.
const MOST_PAUSE: Duration = Duration::from_secs(2);

impl GitSettings {
    /// The branch of the remote that work lands on: every machine comes to the same.
    pub fn shared_branch(&self) -> String {
        self.branch.clone().unwrap_or_else(|| SHARED_BRANCH.to_owned())
    }
}

/// The supervisor's part.
impl WorkTree {
    /// Makes sure that workers can begin: the remote answers and has the branch. Gives its tip.
    pub(super) fn open_remote(
        &mut self,
        run: &mut RunContext<'_>,
        git: &Git,
        remote: &str,
        branch: &str,
    ) -> Result<String> {
        if !git.has_remote(remote)? {
            return stopped(run, RemoteFault::Unknown(remote.to_owned()).into());
        }
        if branch == "ralph" {
            let stop = StopRun::error("[git] branch: with a remote it cannot be called ralph");
            return Err(stop.with_hint(format!("call it {SHARED_BRANCH}, for example")).into());
        }
        let mut overtaken = 0;
        let tip = loop {
            let opened =
                run.ask_remote(|| open_branch(git, remote, branch, self.settings.branch.is_none()))?;
            match opened.or_else(|error| stopped(run, error))? {
                Opened::There(tip) => break tip,
                Opened::Made(tip) => {
                    run.tell(EventKind::BranchChanged { branch: format!("{remote}/{branch}") })?;
                    break tip;
                }
                Opened::Overtaken if overtaken < MOST_OVERTAKEN => overtaken += 1,
                Opened::Overtaken => {
                    let why = format!("the remote {remote} does not let this run make the branch {branch}");
                    return Err(StopRun::error(why)
                        .with_hint(format!("git push {remote} HEAD:{branch} says why"))
                        .into());
                }
                Opened::Empty => {
                    let stop = StopRun::error(format!(
                        "the remote {remote} has no commit that workers could begin from"
                    ));
                    return Err(stop
                        .with_hint(format!("git push {remote} HEAD, then `ralph run` again"))
                        .into());
                }
            }
        };
        if let Some(head) = git.head_commit()?
            && !git.is_in(&head, &tip)?
        {
            let commits = git.commits_between(&tip, &head)?;
            let plural = if commits == 1 { "" } else { "s" };
            run.warn(format!(
                "{commits} commit{plural} that you have checked out are not on {remote}/{branch}; workers begin from that \
                 branch and do not see them"
            ))?;
        }
        Ok(tip)
    }

    /// The commit that an attempt begins from: what the branch is at now, also where other machines moved it.
    pub(super) fn tip_to_begin_from(
        &self,
        run: &mut RunContext<'_>,
        git: &Git,
        branch: &str,
    ) -> Result<String> {
        match &self.settings.remote {
            None => tip_of(git, branch),
            Some(remote) => run.fetch_tip(git, remote, branch)?.or_else(|error| stopped(run, error)),
        }
    }
}

enum Opened {
    There(String),
    Made(String),
    Overtaken,
    /// There is nothing that it could begin from.
    Empty,
}

/// The branch of the remote, made from what its people see where it is not there. One that nobody named, and whose work is all
/// merged, goes on from there.
fn open_branch(git: &Git, remote: &str, branch: &str, is_default: bool) -> Result<Opened, GitError> {
    let tip = git.fetch(remote, branch)?;
    if tip.is_some() && !is_default {
        return Ok(tip.map_or(Opened::Empty, Opened::There));
    }
    let Some((_, newest)) = git.default_branch(remote)? else {
        return Ok(tip.map_or(Opened::Empty, Opened::There));
    };
    if let Some(tip) = &tip
        && (*tip == newest || !git.is_in(tip, &newest)?)
    {
        return Ok(Opened::There(tip.clone()));
    }
    let update = Update { branch, from: tip.as_deref(), to: Some(&newest) };
    Ok(match git.push(remote, &[update], PushHooks::Skip)? {
        Pushed::Done => Opened::Made(newest),
        Pushed::Overtaken => Opened::Overtaken,
    })
}

/// Landing.
impl Run<'_> {
    /// Pushes the work as a branch of its own, from where it can land.
    pub(super) fn offer(
        &mut self,
        claimed: &Claimed,
        git: &Git,
        remote: String,
        work: Work<'_>,
    ) -> Result<Step<RemoteIntent>> {
        let run = &mut self.context;
        let branch = run.store.run_branch(&run.id)?.unwrap_or_default();
        let permit = permit_of(run, claimed);
        let intent = RemoteIntent { remote, permit };
        run.intend_landing(claimed, work, &branch, work.commit, Some(intent.clone()))?;
        let update = Update { branch: &intent.permit, from: None, to: Some(work.commit) };
        let hooks = run.push_hooks()?;
        let pushed = run.ask_remote(|| git.push(&intent.remote, &[update], hooks))?;
        Ok(match pushed {
            Ok(_) => {
                self.tree.offered = Some(intent.permit.clone());
                Ok(intent)
            }
            Err(error) => Err(self.refused(error)),
        })
    }

    /// Moves the branch of the remote from one commit to another, unless somebody else moved it: `false`.
    pub(super) fn push_to_branch(
        &mut self,
        claimed: &Claimed,
        git: &Git,
        permit: &RemoteIntent,
        branch: &str,
        [tip, commit]: [&str; 2],
        work: Work<'_>,
    ) -> Result<Step<bool>> {
        let run = &mut self.context;
        run.intend_landing(claimed, work, branch, commit, Some(permit.clone()))?;
        let remote = permit.remote.as_str();
        let updates = [
            Update { branch, from: Some(tip), to: Some(commit) },
            Update { branch: &permit.permit, from: Some(work.commit), to: None },
        ];
        let hooks = run.push_hooks()?;
        let pushed = run.ask_remote(|| {
            let pushed = git.push(remote, &updates, hooks);
            if let Ok(Pushed::Done) = pushed {
                return Ok(true);
            }
            // It may have come through, and only the answer did not.
            let is_there = match git.fetch(remote, branch)? {
                Some(now) => git.is_in(commit, &now)?,
                None => false,
            };
            pushed.map(|_| is_there).or_else(|error| if is_there { Ok(true) } else { Err(error) })
        })?;
        match pushed {
            Ok(true) => {
                let (task, commit) = (TaskRef::from(&claimed.task), commit.to_owned());
                run.tell(EventKind::Landed { task, commit, branch: format!("{remote}/{branch}") })?;
                Ok(Ok(true))
            }
            Ok(false) => Ok(Ok(false)),
            // Nobody knows whether it came through: the attempt stays as it is until the remote says so.
            Err(error @ (GitError::Interrupted | GitError::Remote(RemoteFault::Unreachable { .. }))) => {
                run.check_signal()?;
                let name = claimed.task.name();
                let stop = StopRun::error(format!("cannot tell whether the work of {name} landed: {error}"));
                Err(stop.with_hint("`ralph run` again when the remote answers; it finds out").into())
            }
            Err(error) => Ok(Err(self.refused(error))),
        }
    }

    fn refused(&mut self, error: GitError) -> Landed {
        match error {
            error @ GitError::Remote(RemoteFault::Refused { .. }) => {
                self.tree.refusals += 1;
                if self.tree.refusals >= MOST_REFUSALS {
                    return fault(error);
                }
                Landed::NotCommitted(CommitFailure::PushRefused {
                    fix: error.remedy().unwrap_or_default(),
                    why: error.to_string(),
                })
            }
            error => fault(error),
        }
    }

    /// Says where the work is that was pushed and did not land.
    pub(super) fn tell_of_kept(&mut self, claimed: &Claimed, landed: &Landed) -> Result {
        let Some(remote) = self.tree.settings.remote.clone() else { return Ok(()) };
        let Some(permit) = self.tree.offered.take().filter(|_| !matches!(landed, Landed::At(_))) else {
            return Ok(());
        };
        let name = claimed.task.name();
        self.context.warn(format!("the work of {name} did not land; it is kept as {remote}/{permit}"))
    }
}

/// The branch that holds an attempt's work until it has landed.
fn permit_of(run: &RunContext<'_>, claimed: &Claimed) -> String {
    format!("{ATTEMPT}{}-{:03}-{}", claimed.task.id, claimed.attempts.recorded + 1, run.id)
}

/// Ends the run where no attempt is under way.
fn stopped<T>(run: &RunContext<'_>, error: GitError) -> Result<T> {
    run.check_signal()?;
    let stop = StopRun::error(error.to_string());
    Err(match error.remedy() {
        Some(remedy) => stop.with_hint(format!("{remedy}; then `ralph run` again")),
        None => stop,
    }
    .into())
}

/// How long a remote has not answered that lost attempts are asked of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RemoteSilence {
    since: Option<Duration>,
    next: Duration,
    failures: u32,
}

impl RemoteSilence {
    pub fn may_ask(&self, now: Duration) -> bool {
        self.since.is_none() || now >= self.next
    }
}

impl RunContext<'_> {
    /// Asks a remote that does not answer again and again, with growing pauses, for as long as the settings say.
    pub(super) fn ask_remote<T>(
        &mut self,
        mut ask: impl FnMut() -> Result<T, GitError>,
    ) -> Result<Result<T, GitError>> {
        let began = self.clock.steady();
        let patience = self.settings.git.remote_timeout;
        let mut failures = 0;
        loop {
            let fault = match ask() {
                Err(GitError::Remote(fault @ RemoteFault::Unreachable { .. })) => fault,
                answer => return Ok(answer),
            };
            failures += 1;
            let left = patience.saturating_sub(self.clock.steady().saturating_sub(began));
            if self.interrupt.first().is_some() {
                return Ok(Err(GitError::Interrupted));
            }
            if left.is_zero() {
                return Ok(Err(fault.into()));
            }
            if failures == 1 {
                self.warn(format!("{fault}; Ralph tries again for {}", duration(patience)))?;
            }
            let until = self.clock.steady() + self.next_backoff(failures).min(left);
            while self.clock.steady() < until && self.interrupt.first().is_none() {
                self.beat();
                self.clock.sleep(NAP);
            }
        }
    }

    /// Hooks of this clone run what agents wrote, such as tests: with a push they would not be confined.
    fn push_hooks(&self) -> Result<PushHooks> {
        Ok(match self.confinement(Subject::Gate)? {
            None => PushHooks::Run,
            Some(_) => PushHooks::Skip,
        })
    }

    pub(super) fn fetch_tip(
        &mut self,
        git: &Git,
        remote: &str,
        branch: &str,
    ) -> Result<Result<String, GitError>> {
        let fetched = self.ask_remote(|| git.fetch(remote, branch))?;
        Ok(fetched.and_then(|tip| {
            tip.ok_or_else(|| {
                let message = format!("{remote} has no branch {branch} any more");
                GitError::Refused { command: "fetch".to_owned(), message }
            })
        }))
    }

    /// After a lost race on the remote: the others are many, and none of them knows of this one.
    pub(super) fn let_others_land(&mut self, races: u32) {
        let jitter = (self.random)() % 1000;
        let pause = Duration::from_millis(jitter * u64::from(races) / 8).min(MOST_PAUSE);
        let until = self.clock.steady() + pause;
        while self.clock.steady() < until && self.interrupt.first().is_none() {
            self.beat();
            self.clock.sleep(NAP.min(pause));
        }
    }

    /// Attempts of dead processes whose landing a silent remote knows of are looked at again later, for as long as the
    /// settings say.
    pub(super) fn keep_asking_remote(&mut self, undecided: &mut Vec<(String, GitError)>) -> Result {
        let is_silent = |(_, error): &(String, GitError)| {
            matches!(error, GitError::Remote(RemoteFault::Unreachable { .. }))
        };
        let now = self.clock.steady();
        let Some((name, error)) = undecided.iter().find(|one| is_silent(one)) else {
            self.remote_silence = RemoteSilence::default();
            return Ok(());
        };
        let RemoteSilence { since, failures, .. } = self.remote_silence;
        let was_asked = self.remote_silence.may_ask(now);
        if since.is_none() {
            self.warn(format!(
                "cannot tell yet whether the work of {name} landed: {error}; Ralph looks again"
            ))?;
        }
        let since = since.unwrap_or(now);
        if was_asked {
            let next = now + self.next_backoff(failures + 1);
            self.remote_silence = RemoteSilence { since: Some(since), next, failures: failures + 1 };
        }
        if !was_asked || now.saturating_sub(since) < self.settings.git.remote_timeout {
            undecided.retain(|one| !is_silent(one));
        }
        Ok(())
    }
}
