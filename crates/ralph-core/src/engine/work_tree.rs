//! Git around attempts: the branch of a run, a commit for done work, a roll-back for failed work.

use std::time::Duration;

use super::judge::Judged;
use super::run::{EngineError, Run, StopRun};
use crate::diagnose::diagnose;
use crate::event::{EventKind, TaskRef};
use crate::exit::RunExit;
use crate::git::{
    BranchOutcome, CommitOrder, CommitOutcome, CommitWatch, Git, GitError, Kept, Left,
    RollbackMode, Snapshot, commit_message,
};
use crate::host::is_over;
use crate::model::{CommitIntent, GateOutcome, GateRecord, RunId, TaskId, Token};
use crate::store::{Claimed, StoreError};

/// What Ralph does with git.
#[derive(Clone, Debug)]
pub struct GitSettings {
    /// Whether done work is committed.
    pub commit: CommitWhen,
    /// What happens to the work of a failed attempt; none to leave it.
    pub rollback: Option<RollbackMode>,
    /// The branch to work on.
    pub branch: Option<String>,
    /// What uncommitted changes at the start mean.
    pub on_dirty: OnDirty,
    /// How long a commit may take, hooks and all.
    pub commit_timeout: Duration,
    /// How long git may take to answer; large repositories get more.
    pub query_timeout: Duration,
}

impl Default for GitSettings {
    fn default() -> Self {
        Self {
            commit: CommitWhen::Never,
            rollback: None,
            branch: None,
            on_dirty: OnDirty::Continue,
            commit_timeout: Duration::from_secs(600),
            query_timeout: Duration::from_secs(10),
        }
    }
}

/// Whether done work is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitWhen {
    /// It is left to people and agents.
    Never,
    /// When a task is done.
    OnSuccess,
}

/// What uncommitted changes at the start of a run mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDirty {
    /// They stay as they are, out of commits and roll-backs.
    Continue,
    /// The run does not start.
    Refuse,
}

/// How many files a message names.
const NAMED: usize = 5;

impl GitSettings {
    pub(super) fn changes_anything(&self) -> bool {
        self.commit == CommitWhen::OnSuccess || self.rollback.is_some()
    }
}

impl Run<'_, '_> {
    /// Brings the work tree into the state that the settings want; why the run cannot start, if it cannot.
    pub(super) fn open_work_tree(&mut self) -> Result<Option<StopRun>, EngineError> {
        let settings = &self.engine.settings.git;
        if !settings.changes_anything() && settings.branch.is_none() {
            return Ok(None);
        }
        if let Some(stop) = self.mind_obstacles()? {
            return Ok(Some(stop));
        }
        let Some(git) = &self.git else {
            let message = "not a git repository: [git] commit, rollback and branch have no effect";
            let message = message.to_owned();
            self.tell(EventKind::Warning { message })?;
            return Ok(None);
        };
        if let Some(branch) = settings.branch.clone() {
            let there = git.branch().as_deref() == Some(branch.as_str());
            if let Some(other) = self.other_run()?.filter(|_| !there) {
                let reason = format!(
                    "run {other} is using this working tree, which is not on branch {branch}"
                );
                let mut stop = StopRun::new(RunExit::Error, reason);
                stop.hint = Some("wait for it to end, or `ralph stop`".into());
                return Ok(Some(stop));
            }
            match git.work_on(&branch) {
                Ok(BranchOutcome::Already) => {}
                Ok(BranchOutcome::Switched | BranchOutcome::Made) => {
                    self.tell(EventKind::BranchChanged { branch })?;
                }
                Err(error) => return Ok(Some(cannot(&error))),
            }
        }
        if !self.engine.settings.git.changes_anything() {
            return Ok(None);
        }
        let usable = self.git.as_ref().map(Git::check_repository);
        if let Some(Err(error)) = usable {
            return Ok(Some(self.git_fault().unwrap_or_else(|| cannot(&error))));
        }
        self.finish_commit()?;
        self.return_after_a_kill()?;
        let start = match self.look_at_tree()? {
            Some(tree) => Some(self.take_over(&tree)?),
            None => None,
        };
        let dirty = start.as_ref().map(|tree| tree.dirty()).unwrap_or_default();
        self.run_start = start;
        match self.engine.settings.git.on_dirty {
            _ if dirty.is_empty() => Ok(None),
            OnDirty::Continue => {
                let message = format!(
                    "uncommitted changes at start: {}; Ralph leaves them out of commits and rollbacks",
                    named(&dirty)
                );
                self.tell(EventKind::Warning { message })?;
                Ok(None)
            }
            OnDirty::Refuse => {
                let reason = format!(
                    "the working tree has uncommitted changes: {}",
                    named(&dirty)
                );
                let mut stop = StopRun::new(RunExit::Error, reason);
                stop.hint = Some(
                    "commit or stash the changes, or allow them: ralph config set git.on_dirty continue"
                        .into(),
                );
                Ok(Some(stop))
            }
        }
    }

    /// After an agent worked, where Ralph is to commit or roll back: a repository that git can no longer use ends the run
    /// and is not held against the attempt.
    pub(super) fn check_repository(&self) {
        let git = self.git.as_ref();
        if let Some(git) = git.filter(|_| self.engine.settings.git.changes_anything()) {
            // The fault stays with git, which is asked for it before the next attempt.
            let _ = git.check_repository();
        }
    }

    /// Why the run ends: git did not answer, or would never have.
    pub(super) fn git_fault(&self) -> Option<StopRun> {
        let error = self.git.as_ref()?.fault()?;
        let mut stop = StopRun::new(RunExit::Error, error.to_string());
        let remedy = error.remedy();
        stop.hint = remedy.map(|remedy| format!("{remedy}; then `ralph run` again"));
        Some(stop)
    }

    /// After an attempt: says what it changed of git's configuration, hooks and attributes, which decide what git runs.
    pub(super) fn warn_of_program_changes(&mut self, files: &[String]) -> Result<(), EngineError> {
        let Some(git) = &self.git else {
            return Ok(());
        };
        // A fault ends the run, which tells of it.
        let mut changed = git.program_changes().unwrap_or_default();
        let is_attributes = |file: &&String| file.rsplit('/').next() == Some(".gitattributes");
        let attributes = files.iter().filter(is_attributes);
        changed.extend(attributes.map(|file| crate::text::one_line(file, 200)));
        if changed.is_empty() {
            return Ok(());
        }
        let message = format!(
            "the attempt changed git's configuration: {}; until the next run, new hooks and filters run \
             only in Ralph's commits",
            changed.join("; ")
        );
        self.tell(EventKind::Warning { message })
    }

    /// Commits the work of a task that is done but for this. A commit that fails is a failed gate.
    pub(super) fn commit_work(
        &mut self,
        claimed: &Claimed,
        token: &Token,
        before_attempt: Option<&Snapshot>,
    ) -> Result<Committed, EngineError> {
        let settings = &self.engine.settings.git;
        if settings.commit == CommitWhen::Never {
            return Ok(Committed::Nothing);
        }
        let task = &claimed.task;
        let Some(git) = self.git.clone() else {
            return Ok(Committed::Nothing);
        };
        let owner = self.engine.store.work_owner(&task.id)?;
        let first = self.first_looks.get(&owner).cloned();
        // What another run has under way in the same tree is not this task's.
        let before = match self.other_run()? {
            Some(_) => {
                let known = self.changed_by.get(&owner).into_iter().flatten();
                let own: Vec<Vec<u8>> = known.cloned().collect();
                before_attempt.map(|before| before.without(&own))
            }
            None => first,
        };
        let (Some(run_start), Some(before)) = (self.run_start.clone(), before) else {
            return Ok(Committed::Failed(Judged::NotCommitted {
                why: "git could not read the working tree before the attempt".into(),
                remedy: "run `git status` and fix what it reports".into(),
            }));
        };
        let key = task.key.as_ref().map(|key| key.as_str());
        let order = CommitOrder {
            run_start: &run_start,
            before: &before,
            message: &commit_message(task.commit.as_deref(), key, &task.title),
            env: self.child_variables(claimed),
            timeout: settings.commit_timeout,
            grace: self.engine.settings.grace,
        };
        let interrupt = self.engine.interrupt.clone();
        let mut watch = Committing {
            run: self,
            task: &task.id,
            token,
            error: None,
        };
        let committed = git.commit(&order, &interrupt, &mut watch);
        if let Some(error) = watch.error {
            return Err(error.into());
        }
        self.tree = None;
        match committed {
            Ok(outcome) => {
                self.first_looks.remove(&owner);
                self.changed_by.remove(&owner);
                self.tell_of_commit(claimed, outcome)
            }
            // After any error the next attempt's commit has this work in it too.
            Err(GitError::Interrupted) => Ok(Committed::Failed(Judged::Interrupted)),
            Err(error) => {
                if let Some(remedy) = error.remedy() {
                    let why = error.to_string();
                    return Ok(Committed::Failed(Judged::NotCommitted { why, remedy }));
                }
                let (programs, fix) = git.new_programs(&error);
                if fix.is_some() {
                    let message = format!(
                        "{} blocked the commit of {}: later commits of this run skip it",
                        named(&programs),
                        task.name()
                    );
                    self.tell(EventKind::Warning { message })?;
                }
                let mut output = format!("{}\n{error}", error.output().unwrap_or_default());
                if !programs.is_empty() {
                    output.push_str("; new in this run: ");
                    output.push_str(&named(&programs));
                }
                let record = refused(output.trim().to_owned());
                Ok(Committed::Failed(match fix {
                    Some(fix) => Judged::HeldUp { record, fix },
                    None => Judged::Ran(record),
                }))
            }
        }
    }

    fn tell_of_commit(
        &mut self,
        claimed: &Claimed,
        outcome: CommitOutcome,
    ) -> Result<Committed, EngineError> {
        if let Some(warning) = outcome.warning {
            let message = format!("after the commit: {warning}");
            self.tell(EventKind::Warning { message })?;
        }
        if !outcome.left_out.is_empty() {
            let message = format!(
                "{}: not in its commit: {}",
                claimed.task.name(),
                left(&outcome.left_out)
            );
            self.tell(EventKind::Warning { message })?;
        }
        if !outcome.by_hooks.is_empty() {
            let message = format!(
                "{}: a hook added files to its commit: {}",
                claimed.task.name(),
                named(&outcome.by_hooks)
            );
            self.tell(EventKind::Warning { message })?;
        }
        let Some(commit) = outcome.hash else {
            return Ok(Committed::Nothing);
        };
        self.tell(EventKind::Committed {
            task: TaskRef::from(&claimed.task),
            commit: commit.clone(),
            files: outcome.files.len(),
        })?;
        Ok(Committed::As(commit))
    }

    /// Keeps the tree as it is before an attempt, where a failed one is to be rolled back.
    pub(super) fn keep_tree(&mut self, name: &str) -> Result<Option<Kept>, EngineError> {
        let (Some(_), Some(git)) = (self.engine.settings.git.rollback, &self.git) else {
            return Ok(None);
        };
        match git.keep(name) {
            Ok(kept) => Ok(Some(kept)),
            Err(error) => {
                let message = format!("this attempt cannot be rolled back: {error}");
                self.tell(EventKind::Warning { message })?;
                Ok(None)
            }
        }
    }

    /// After an attempt: undoes a failed one, and gives up what was kept for another. The reference of what was undone.
    pub(super) fn settle_tree(
        &mut self,
        claimed: &Claimed,
        kept: Option<Kept>,
        failed: bool,
        name: &str,
    ) -> Result<Option<String>, EngineError> {
        let (Some(kept), Some(git), Some(mode)) =
            (kept, self.git.clone(), self.engine.settings.git.rollback)
        else {
            return Ok(None);
        };
        if !failed {
            if let Err(error) = git.let_go(&kept) {
                let message = error.to_string();
                self.tell(EventKind::Warning { message })?;
            }
            return Ok(None);
        }
        if let Some(other) = self.other_run()? {
            let message = format!(
                "{} was not rolled back: run {other} uses the same working tree; the state before the \
                 attempt is saved at {}",
                claimed.task.name(),
                kept.reference().unwrap_or("HEAD")
            );
            self.tell(EventKind::Warning { message })?;
            return Ok(None);
        }
        let title = format!("{} {}", claimed.task.name(), claimed.task.title);
        let message = format!("Failed attempt {name}: {title}");
        let rolled_back = git.roll_back(&kept, mode, name, &message);
        self.tree = None;
        match rolled_back {
            Ok(done) => {
                if !done.left.is_empty() {
                    let message = format!("not rolled back: {}", left(&done.left));
                    self.tell(EventKind::Warning { message })?;
                }
                if let Some(reference) = done.reference.clone() {
                    self.tell(EventKind::RolledBack {
                        task: TaskRef::from(&claimed.task),
                        reference,
                        files: done.files.len(),
                        commits: done.commits_undone,
                    })?;
                }
                Ok(done.reference)
            }
            Err(error) => {
                // These two name where everything is.
                let says_all = matches!(
                    error,
                    GitError::RollbackRefused { .. } | GitError::RollbackIncomplete { .. }
                );
                let message = match kept.reference().filter(|_| !says_all) {
                    Some(reference) => format!(
                        "{} was not rolled back: {error}; the state before the attempt is saved at {reference}",
                        claimed.task.name()
                    ),
                    None => format!("{} was not rolled back: {error}", claimed.task.name()),
                };
                self.tell(EventKind::Warning { message })?;
                Ok(None)
            }
        }
    }

    /// Another run of the project that is at work: they share the tree.
    pub(super) fn other_run(&self) -> Result<Option<RunId>, EngineError> {
        let runs = self.engine.store.open_runs()?;
        let mut others = runs.into_iter().filter(|run| run.id != self.id);
        let now = self.engine.clock.now();
        let host = self.engine.host;
        let other = others.find(|run| !is_over(run, host.liveness(&run.owner), now));
        Ok(other.map(|run| run.id))
    }
}

/// Looks on while a commit is made.
struct Committing<'c, 'e, 'a> {
    run: &'c mut Run<'e, 'a>,
    task: &'c TaskId,
    token: &'c Token,
    error: Option<StoreError>,
}

impl CommitWatch for Committing<'_, '_, '_> {
    fn tick(&mut self) {
        self.run.beat();
    }

    fn intends(&mut self, intent: &CommitIntent) -> Result<(), GitError> {
        let store = &mut self.run.engine.store;
        store
            .set_commit_intent(self.task, self.token, intent)
            .map_err(|error| {
                self.error = Some(error);
                GitError::Interrupted
            })
    }
}

/// What came of the commit of a task's work.
pub(super) enum Committed {
    /// There was nothing to commit, or nothing is committed.
    Nothing,
    /// This commit.
    As(String),
    /// It failed: the gate has not passed after all.
    Failed(Judged),
}

/// A commit that was not made, as a gate that failed.
pub(super) fn refused(output: String) -> GateRecord {
    let command = "git commit";
    GateRecord {
        command: command.into(),
        outcome: GateOutcome::Failed,
        ended: "failed".into(),
        flaky: false,
        diagnosis: Box::new(diagnose(&output).of_gate(command)),
        output_tail: output,
        touched: Vec::new(),
        fix: None,
    }
}

pub(super) fn cannot(error: &GitError) -> StopRun {
    let mut stop = StopRun::new(RunExit::Error, error.to_string());
    stop.hint = Some(match error {
        GitError::Unfinished(_) => "finish or abort it, then `ralph run` again".into(),
        GitError::BranchInTheWay { .. } => "commit or stash them, then `ralph run` again".into(),
        _ if let Some(remedy) = error.remedy() => format!("{remedy}; then `ralph run` again"),
        _ => "fix [git] branch in .ralph.toml, or what git reports".into(),
    });
    stop
}

/// The first few of them.
pub(super) fn named(files: &[String]) -> String {
    crate::text::few(files, NAMED)
}

fn left(left: &[Left]) -> String {
    let all: Vec<String> = left.iter().map(ToString::to_string).collect();
    named(&all)
}
