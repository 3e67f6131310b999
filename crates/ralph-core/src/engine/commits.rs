//! What Ralph does in git for an attempt: a commit for done work, a rollback for failed work.

use super::run_context::RunContext;
use super::run_end::Result;
use super::settings::CommitWhen;
use super::work_tree::{TreeBefore, WorkTree, some_of};
use crate::diagnose::diagnose;
use crate::event::{EventKind, TaskRef};
use crate::evidence::CommitFailure;
use crate::git::{
    CommitOrder, CommitOutcome, CommitWatch, GitError, Kept, Left, LeftBecause, Snapshot, commit_message,
};
use crate::model::{CommitIntent, GateOutcome, GateRecord, Task};
use crate::sandbox::Subject;
use crate::store::{Claimed, StoreError};

impl WorkTree {
    /// Commits the work of a task that is done but for this. The commit, where there was anything to commit.
    pub(super) fn commit(
        &mut self,
        run: &mut RunContext<'_>,
        claimed: &Claimed,
        before_attempt: &TreeBefore,
    ) -> Result<Result<Option<String>, CommitFailure>> {
        let Some(git) = self.git.clone().filter(|_| self.settings.commit == CommitWhen::OnSuccess) else {
            return Ok(Ok(None));
        };
        let task = &claimed.task;
        let owner = run.store.work_owner(&task.id)?;
        // What another run has under way in the same tree is not this task's.
        let other = run.other_run()?;
        let latest = self.latest.take();
        let now = latest.filter(|(version, _)| other.is_none() && *version == run.files_version());
        let before = match other {
            Some(_) => {
                let known = self.changed_by.get(&owner).into_iter().flatten();
                let own: Vec<Vec<u8>> = known.cloned().collect();
                before_attempt.snapshot.as_ref().map(|before| before.without(&own))
            }
            None => self.before_task.get(&owner).cloned(),
        };
        let (Some(run_start), Some(before)) = (self.run_start.clone(), before) else {
            return Ok(Err(CommitFailure::GitFault {
                why: "git could not read the working tree before the attempt".into(),
                remedy: "run `git status` and fix what it reports".into(),
            }));
        };
        let key = task.key.as_ref().map(|key| key.as_str());
        let confinement = if git.runs_hooks() { run.confinement(Subject::Gate)? } else { None };
        let order = CommitOrder {
            run_start: &run_start,
            before: &before,
            now: now.as_ref().map(|(_, tree)| tree),
            message: &commit_message(task.commit.as_deref(), key, &task.title),
            env: run.child_variables(claimed),
            timeout: self.settings.commit_timeout,
            grace: run.settings.grace,
            confinement: confinement.as_ref(),
        };
        let interrupt = run.interrupt.clone();
        let isolated = self.isolated.is_some();
        let mut watch = IntentRecorder { run, claimed, isolated, error: None };
        let committed = git.commit(&order, &interrupt, &mut watch);
        if let Some(error) = watch.error {
            return Err(error.into());
        }
        run.tell_undone(confinement.as_ref())?;
        match committed {
            Ok(mut outcome) => {
                let tree = outcome.tree_after.take().filter(|_| other.is_none());
                self.latest = tree.map(|tree| (run.files_version(), tree));
                self.before_task.remove(&owner);
                self.changed_by.remove(&owner);
                tell_of_commit(run, task, outcome).map(Ok)
            }
            // After any error the next attempt's commit has this work in it too.
            Err(GitError::Interrupted) => Ok(Err(CommitFailure::Interrupted)),
            Err(error) => {
                let (programs, fix) = git.new_programs(&error);
                if let Some(remedy) = error.remedy().filter(|_| fix.is_none()) {
                    let why = error.to_string();
                    return Ok(Err(CommitFailure::GitFault { why, remedy }));
                }
                if fix.is_some() {
                    run.warn(format!(
                        "{} blocked the commit of {}: later commits of this run skip it",
                        some_of(&programs),
                        task.name()
                    ))?;
                }
                let mut output = format!("{}\n{error}", error.output().unwrap_or_default());
                if !programs.is_empty() {
                    output.push_str("; added during this run: ");
                    output.push_str(&some_of(&programs));
                }
                Ok(Err(refused(output.trim().to_owned(), fix)))
            }
        }
    }

    /// Keeps the tree as it is before an attempt, where a failed one is to be rolled back.
    pub(super) fn keep(
        &self,
        run: &mut RunContext<'_>,
        name: &str,
        tree: Option<&Snapshot>,
    ) -> Result<Option<Kept>> {
        let (Some(_), Some(git)) = (self.settings.rollback, &self.git) else { return Ok(None) };
        match git.keep(name, tree) {
            Ok(kept) => Ok(Some(kept)),
            Err(error) => {
                run.warn(format!("cannot roll back this attempt: {error}"))?;
                Ok(None)
            }
        }
    }

    /// After an attempt that did not fail: gives up what was kept.
    pub(super) fn let_go(&self, run: &mut RunContext<'_>, kept: Option<Kept>) -> Result<Option<String>> {
        if let Some(Err(error)) = kept.zip(self.git.as_ref()).map(|(kept, git)| git.let_go(&kept)) {
            run.warn(error.to_string())?;
        }
        Ok(None)
    }

    pub(super) fn roll_back(
        &mut self,
        run: &mut RunContext<'_>,
        claimed: &Claimed,
        kept: Option<Kept>,
        name: &str,
    ) -> Result<Option<String>> {
        let (Some(kept), Some(git), Some(mode)) = (kept, &self.git, self.settings.rollback) else {
            return Ok(None);
        };
        let task = &claimed.task;
        if let Some(other) = run.other_run()? {
            run.warn(format!(
                "cannot roll back {}: run {other} uses the same working tree; the state before the \
                 attempt is saved at {}",
                task.name(),
                kept.reference().unwrap_or("HEAD")
            ))?;
            return Ok(None);
        }
        let message = format!("Failed attempt {name}: {} {}", task.name(), task.title);
        let rolled_back = git.roll_back(&kept, mode, name, &message);
        self.latest = None;
        match rolled_back {
            Ok(done) => {
                if !done.left.is_empty() {
                    run.warn(format!("not rolled back: {}", left(&done.left)))?;
                }
                if let Some(reference) = done.reference.clone() {
                    run.tell(EventKind::RolledBack {
                        task: TaskRef::from(task),
                        reference,
                        files: done.files.len(),
                        commits: done.commits_undone,
                    })?;
                }
                Ok(done.reference)
            }
            Err(error) => {
                // These two name where everything is.
                let says_all =
                    matches!(error, GitError::RollbackRefused { .. } | GitError::RollbackIncomplete { .. });
                let saved = kept.reference().filter(|_| !says_all);
                let saved = saved.map(|at| format!("; the state before the attempt is saved at {at}"));
                let saved = saved.unwrap_or_default();
                run.warn(format!("cannot roll back {}: {error}{saved}", task.name()))?;
                Ok(None)
            }
        }
    }
}

fn tell_of_commit(run: &mut RunContext<'_>, task: &Task, outcome: CommitOutcome) -> Result<Option<String>> {
    let name = task.name();
    if let Some(warning) = outcome.warning {
        run.warn(format!("after the commit: {warning}"))?;
    }
    if !outcome.left_out.is_empty() {
        run.warn(format!("{name}: {}", not_committed(&outcome.left_out)))?;
    }
    if !outcome.by_hooks.is_empty() {
        run.warn(format!("{name}: a hook added files to its commit: {}", some_of(&outcome.by_hooks)))?;
    }
    if let Some(commit) = outcome.hash.clone() {
        run.tell(EventKind::Committed { task: TaskRef::from(task), commit, files: outcome.files.len() })?;
    }
    Ok(outcome.hash)
}

/// Records what is about to be committed, so that a commit whose maker dies is found.
struct IntentRecorder<'c, 'a> {
    run: &'c mut RunContext<'a>,
    claimed: &'c Claimed,
    /// The attempt works in a tree of Ralph's own: a commit alone does not make its task done.
    isolated: bool,
    error: Option<StoreError>,
}

impl CommitWatch for IntentRecorder<'_, '_> {
    fn tick(&mut self) {
        self.run.beat();
    }

    fn intends(&mut self, intent: &CommitIntent) -> Result<(), GitError> {
        let Claimed { task, token, .. } = self.claimed;
        let intent = CommitIntent { isolated: self.isolated, ..intent.clone() };
        self.run.store.set_commit_intent(&task.id, token, &intent).map_err(|error| {
            self.error = Some(error);
            GitError::Interrupted
        })
    }
}

/// A commit that git or a hook refused; for people and agents it reads like a gate that failed.
pub(super) fn refused(output: String, fix: Option<String>) -> CommitFailure {
    let command = "git commit";
    let check = GateRecord {
        diagnosis: Box::new(diagnose(&output).of_gate(command)),
        output_tail: output,
        ..GateRecord::new(command, GateOutcome::Failed, "failed")
    };
    CommitFailure::Refused { check, fix }
}

fn not_committed(left_out: &[Left]) -> String {
    if left_out.iter().any(|left| left.why != LeftBecause::UncommittedBefore) {
        return format!("not committed: {}", left(left_out));
    }
    let files: Vec<String> = left_out.iter().map(|left| left.what.clone()).collect();
    let (were, they) = if files.len() == 1 { ("was", "it") } else { ("were", "they") };
    format!("{} {were} not committed: {they} had uncommitted changes before the run", some_of(&files))
}

fn left(left: &[Left]) -> String {
    let all: Vec<String> = left.iter().map(ToString::to_string).collect();
    some_of(&all)
}
