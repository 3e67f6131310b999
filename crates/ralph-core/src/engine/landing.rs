//! Landing: the work of a done attempt is put on the branch of the run, on top of what others landed meanwhile. What is put there
//! is exactly what the gates have seen.

use std::time::Duration;

use super::gate_runs::{Baselines, Before};
use super::protection::FileProtection;
use super::run::Run;
use super::run_context::RunContext;
use super::run_end::Result;
use crate::decide::verdict;
use crate::event::{EventKind, TaskRef};
use crate::evidence::{CommitFailure, Evidence, LandingFailure};
use crate::files::Lock;
use crate::git::{Combined, Followed, Git, GitError, Work};
use crate::model::{CommitIntent, LandingIntent, Outcome, RemoteIntent};
use crate::store::{Claimed, ConflictKind, ConflictRecord, Stage};
use crate::text::few;

/// A worker whose gates are quicker than this keeps the others from landing from the start.
const QUICK: Duration = Duration::from_secs(1);
/// After so many lost races a worker keeps the others from landing until it has landed.
const RACES: u32 = 2;
/// After so many, somebody commits to the branch faster than gates run: the run leaves it to them.
const MOST_RACES: u32 = 5;
/// The same on a remote, which the run cannot leave: every machine lands there.
const MOST_REMOTE_RACES: u32 = 50;
const NAMED: usize = 5;

/// What came of an attempt to land.
#[expect(clippy::large_enum_variant, reason = "there is one per attempt")]
pub(super) enum Landed {
    /// The branch is at this commit; none where there was nothing to land.
    At(Option<String>),
    NotCommitted(CommitFailure),
    Failed(LandingFailure),
}

/// A step of landing whose error is why it goes no further.
pub(super) type Step<T> = std::result::Result<T, Landed>;

impl Run<'_> {
    /// Lands the work of an attempt that is done but for this. `made` is the commit that Ralph made of it. Where it cannot land, that is evidence.
    pub(super) fn land(
        &mut self,
        claimed: &Claimed,
        baselines: &Baselines,
        made: Option<&str>,
        evidence: &mut Evidence,
    ) -> Result {
        let landed = self.try_to_land(claimed, baselines, made, evidence)?;
        self.tell_of_kept(claimed, &landed)?;
        match landed {
            Landed::At(commit) => {
                self.tree.refusals = 0;
                evidence.git.commit_after = commit.or(evidence.git.commit_after.take());
                if let Some(isolated) = &mut self.tree.isolated {
                    isolated.landed = true;
                }
            }
            Landed::NotCommitted(failure) => evidence.commit_failure = Some(failure),
            Landed::Failed(failure) => evidence.landing_failure = Some(failure),
        }
        Ok(())
    }

    fn try_to_land(
        &mut self,
        claimed: &Claimed,
        baselines: &Baselines,
        made: Option<&str>,
        evidence: &mut Evidence,
    ) -> Result<Landed> {
        let (Some(git), Some(isolated)) = (self.tree.git.clone(), &self.tree.isolated) else {
            return Ok(Landed::At(None));
        };
        let base = isolated.base.clone();
        let task = &claimed.task;
        let work = match git.head_commit() {
            Ok(Some(commit)) if commit != base => commit,
            Ok(_) => return Ok(Landed::At(None)),
            Err(error) => return Ok(fault(error)),
        };
        let message = format!("Merge the work on {} {}", task.name(), task.title);
        let is_ralphs = made == Some(work.as_str());
        let work = Work { base: &base, commit: &work, is_ralphs, message: &message };
        let mut races = 0;
        // Where others cannot have to wait long, one worker at a time combines and tests: nothing is done in vain.
        let mut lease: Option<Lock> = None;
        if self.gates.took < QUICK {
            match self.context.landing_turn(&git) {
                Ok(lock) => lease = Some(lock),
                Err(not) => return Ok(*not),
            }
        }
        self.context.stage(claimed, Stage::Landing)?;
        self.context.show(EventKind::LandingStarted { task: TaskRef::from(task) });
        let permit = match self.tree.settings.remote.clone() {
            None => None,
            Some(remote) => match self.offer(claimed, &git, remote, work)? {
                Ok(permit) => Some(permit),
                Err(not) => return Ok(not),
            },
        };
        // The tip that the gates have seen the work on.
        let mut tested_on: Option<String> = None;
        loop {
            if self.context.interrupt.first().is_some() {
                return Ok(Landed::NotCommitted(CommitFailure::Interrupted));
            }
            let branch = self.context.store.run_branch(&self.context.id)?.unwrap_or_default();
            let combined = match &permit {
                None => combine(&git, &branch, work),
                Some(permit) => match self.context.fetch_tip(&git, &permit.remote, &branch)? {
                    Ok(tip) => git.combine(work, &tip).map(|combined| (tip, combined)),
                    Err(error) => Err(error),
                },
            };
            let (tip, commit, is_as_tested) = match combined {
                Ok((tip, Combined::Commit { commit, is_as_tested })) => (tip, commit, is_as_tested),
                Ok((tip, Combined::Conflict(files))) => {
                    let failure =
                        self.note_conflict(claimed, &git, work, &tip, ConflictKind::Conflict, files)?;
                    return Ok(Landed::Failed(failure));
                }
                Err(error) => return Ok(fault(error)),
            };
            if !is_as_tested && tested_on.as_ref() != Some(&tip) {
                if let Err(not) = self.test_combined(claimed, baselines, evidence, &git, &commit)? {
                    let Landed::Failed(failure) = not else { return Ok(not) };
                    let files = git.changed_by_both(&base, work.commit, &tip).unwrap_or_default();
                    let kind = ConflictKind::IntegrationFailure;
                    let noted = self.note_conflict(claimed, &git, work, &tip, kind, files)?;
                    return Ok(Landed::Failed(LandingFailure { why: failure.why, ..noted }));
                }
                tested_on = Some(tip.clone());
            }
            let lock = match lease.take() {
                Some(lock) => lock,
                None => match self.context.landing_turn(&git) {
                    Ok(lock) => lock,
                    Err(not) => return Ok(*not),
                },
            };
            let put = match &permit {
                None => self.put_on_branch(claimed, &git, &branch, &tip, &commit, work)?,
                Some(permit) => self.push_to_branch(claimed, &git, permit, &branch, [&tip, &commit], work)?,
            };
            match put {
                Ok(true) => {
                    drop(lock);
                    if commit != work.commit {
                        self.tree.latest = None;
                        // Only where it is not there already: its files are as they were tested.
                        let _ = git.go_to(&commit);
                    }
                    return Ok(Landed::At(Some(commit)));
                }
                Ok(false) => {
                    races += 1;
                    if let Some(permit) = &permit {
                        if races == MOST_REMOTE_RACES {
                            return Ok(overtaken(&permit.remote, &branch, races));
                        }
                        self.context.let_others_land(races);
                    } else if races == MOST_RACES {
                        self.context.leave_branch(
                            &git,
                            &branch,
                            &tip,
                            &format!("{branch} moves all the time"),
                        )?;
                    }
                    lease = Some(lock).filter(|_| races >= RACES || self.gates.took < QUICK);
                }
                Err(not) => return Ok(not),
            }
        }
    }

    /// Runs the gates on the work together with what others landed.
    fn test_combined(
        &mut self,
        claimed: &Claimed,
        baselines: &Baselines,
        evidence: &mut Evidence,
        git: &Git,
        commit: &str,
    ) -> Result<Step<()>> {
        let name = format!("{}-{:03}", claimed.task.id, claimed.attempts.recorded + 1);
        let there = match git.go_to(commit) {
            // What the commit left out is in the way.
            Ok(false) => git.clear(commit, &name, "Left out of the commit").map(drop),
            there => there.map(drop),
        };
        if let Err(error) = there {
            return Ok(Err(fault(error)));
        }
        let run = &mut self.context;
        run.files_may_have_changed();
        run.stage(claimed, Stage::Verifying)?;
        let (page, session) = (&mut self.state_md, evidence.session.clone());
        // Protected files are as they were committed, those that others were allowed to change included.
        let protection = FileProtection::default();
        let before = Before { baselines, protection: &protection };
        let (gate, project_gate) = self.gates.run_after_agent(run, page, claimed, &session, &before)?;
        run.stage(claimed, Stage::Landing)?;
        let combined = Evidence { gate, project_gate, ..evidence.clone() };
        let judged = verdict(&combined);
        if judged.outcome == Outcome::Done {
            (evidence.gate, evidence.project_gate) = (combined.gate, combined.project_gate);
            return Ok(Ok(()));
        }
        if run.interrupt.first().is_some() {
            return Ok(Err(Landed::NotCommitted(CommitFailure::Interrupted)));
        }
        let said = combined.gate_record().and_then(|gate| gate.headline());
        let why = said.or(judged.message).unwrap_or_else(|| "the gate failed".to_owned());
        (evidence.gate, evidence.project_gate) = (combined.gate, combined.project_gate);
        let kind = ConflictKind::IntegrationFailure;
        Ok(Err(Landed::Failed(LandingFailure { kind, why, files: Vec::new(), others: Vec::new() })))
    }

    /// Moves the branch, unless somebody else moved it or the run left it: `false`. A person's clean checkout of it moves with
    /// it; where that cannot be, the branch stays, and the run lands on one of its own from now on.
    fn put_on_branch(
        &mut self,
        claimed: &Claimed,
        git: &Git,
        branch: &str,
        tip: &str,
        commit: &str,
        work: Work<'_>,
    ) -> Result<Step<bool>> {
        let run = &mut self.context;
        // Another worker may have left the branch meanwhile.
        if run.store.run_branch(&run.id)?.as_deref() != Some(branch) {
            return Ok(Ok(false));
        }
        run.intend_landing(claimed, work, branch, commit, None)?;
        match self.tree.move_branch(run, git, branch, tip, commit)? {
            Ok(Followed::Moved) => {
                let (task, commit) = (TaskRef::from(&claimed.task), commit.to_owned());
                run.tell(EventKind::Landed { task, commit, branch: branch.to_owned() })?;
                Ok(Ok(true))
            }
            Ok(Followed::Overtaken) => Ok(Ok(false)),
            Ok(Followed::Hindered(why)) => {
                run.leave_branch(git, branch, tip, &why)?;
                Ok(Ok(false))
            }
            Err(error) => Ok(Err(fault(error))),
        }
    }

    /// Remembers what the work does not go together with: the next attempt sees it, and `ralph stats` counts it.
    fn note_conflict(
        &mut self,
        claimed: &Claimed,
        git: &Git,
        work: Work<'_>,
        tip: &str,
        kind: ConflictKind,
        files: Vec<String>,
    ) -> Result<LandingFailure> {
        let run = &mut self.context;
        let commits = git.commits_touching(work.base, tip, &files).unwrap_or_default();
        let mut others = run.store.tasks_of_commits(&commits)?;
        others.retain(|other| *other != claimed.task.id);
        let difference = |to: &str| git.difference_between(work.base, to, &files).unwrap_or_default();
        run.store.add_conflict(&ConflictRecord {
            task_id: claimed.task.id.clone(),
            attempt_number: claimed.attempts.recorded + 1,
            run_id: Some(run.id.clone()),
            at: run.clock.now(),
            kind,
            others: others.clone(),
            files: files.clone(),
            own_diff: difference(work.commit),
            landed_diff: difference(tip),
        })?;
        let mut names = Vec::new();
        for other in &others {
            names.push(
                run.store
                    .task(other.as_str())
                    .map_or_else(|_| other.to_string(), |task| task.name().to_owned()),
            );
        }
        run.tell(EventKind::Conflict {
            task: TaskRef::from(&claimed.task),
            kind,
            files: files.clone(),
            others: names.clone(),
        })?;
        Ok(LandingFailure { kind, why: told_conflict(&files, &names), files, others: names })
    }
}

fn told_conflict(files: &[String], others: &[String]) -> String {
    let with = match others {
        [] => "what landed meanwhile".to_owned(),
        others => format!("the work of {}", few(others, NAMED)),
    };
    format!("the work conflicts with {with} in {}", few(files, NAMED))
}

pub(super) fn fault(error: GitError) -> Landed {
    Landed::NotCommitted(match error {
        GitError::Interrupted => CommitFailure::Interrupted,
        error => CommitFailure::GitFault {
            remedy: error.remedy().unwrap_or_else(|| "run `git status` and fix what it reports".to_owned()),
            why: error.to_string(),
        },
    })
}

fn overtaken(remote: &str, branch: &str, races: u32) -> Landed {
    Landed::NotCommitted(CommitFailure::GitFault {
        why: format!("others landed on {branch} of {remote} first, {races} times in a row"),
        remedy: "use fewer workers, or quicker gates".to_owned(),
    })
}

fn combine(git: &Git, branch: &str, work: Work<'_>) -> Result<(String, Combined), GitError> {
    let Some(tip) = git.tip(branch)? else {
        let message = format!("the branch {branch} is gone");
        return Err(GitError::Refused { command: "rev-parse".to_owned(), message });
    };
    let combined = git.combine(work, &tip)?;
    Ok((tip, combined))
}

impl RunContext<'_> {
    /// Remembers and shows what an attempt is at, where several are under way.
    pub(super) fn stage(&mut self, claimed: &Claimed, stage: Stage) -> Result {
        if !self.is_worker {
            return Ok(());
        }
        Ok(self.store.set_stage(&claimed.task.id, &claimed.token, stage)?)
    }

    /// Remembers what is about to land: should this process die, the next run finds out whether it did. Only the holder of
    /// the claim gets this far.
    pub(super) fn intend_landing(
        &mut self,
        claimed: &Claimed,
        work: Work<'_>,
        branch: &str,
        commit: &str,
        remote: Option<RemoteIntent>,
    ) -> Result {
        let intent = CommitIntent {
            head: Some(work.base.to_owned()),
            branch: None,
            tree: String::new(),
            subject: String::new(),
            isolated: true,
            landing: Some(LandingIntent { branch: branch.to_owned(), commit: commit.to_owned(), remote }),
        };
        Ok(self.store.set_commit_intent(&claimed.task.id, &claimed.token, &intent)?)
    }

    /// Waits until nobody else lands.
    fn landing_turn(&mut self, git: &Git) -> std::result::Result<Lock, Box<Landed>> {
        match self.landing_lock(git) {
            Ok(Some(lock)) => Ok(lock),
            Ok(None) => Err(Box::new(Landed::NotCommitted(CommitFailure::Interrupted))),
            Err(error) => Err(Box::new(fault(error))),
        }
    }
}
