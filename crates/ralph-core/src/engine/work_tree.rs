//! The working tree of a run: what git shows of it before and after attempts, and whose the uncommitted changes are.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use super::commits::refused;
use super::run_context::RunContext;
use super::run_end::{EngineError, Result, StopRun};
use super::settings::{CommitWhen, GitSettings, OnDirty};
use super::stray_branch::Returned;
use super::worker_tree::Isolated;
use crate::event::EventKind;
use crate::evidence::CommitFailure;
use crate::files::Stamp;
use crate::git::{BranchOutcome, Git, GitError, GitLimits, Kept, Snapshot, Wants, Weight};
use crate::model::{GitRecord, LeftoverFile, Status, TaskId};
use crate::store::{Claimed, CleanCommit, Store, StoreError};
use crate::text::{few, one_line};

/// What git may take to write an index or files, filters and all.
const LEAST_CHANGE: Duration = Duration::from_secs(60);
const MOST_CHANGE: Duration = Duration::from_secs(3600);
const NAMED: usize = 5;

pub(super) struct WorkTree {
    pub(super) git: Option<Git>,
    pub(super) settings: GitSettings,
    /// The tree as it was last seen, with the version of the files then, so that one snapshot per attempt is enough.
    pub(super) latest: Option<(u64, Snapshot)>,
    /// The tree when the run began, where that matters: what was uncommitted then is a person's.
    pub(super) run_start: Option<Snapshot>,
    /// The tree before the first attempt on each task that is not done.
    pub(super) before_task: HashMap<TaskId, Snapshot>,
    /// What attempts on each task that is not done changed, each by itself.
    pub(super) changed_by: HashMap<TaskId, BTreeSet<Vec<u8>>>,
    /// What is different in the tree of a worker, which is Ralph's own; none in the project's own tree.
    pub(super) isolated: Option<Isolated>,
    /// The project's own tree, where this is another.
    pub(super) checkout: Option<Git>,
    /// Why the run does not land on the branch of the settings.
    pub(super) not_followed: Option<String>,
    /// The files that a killed run left in the checkout as somebody had changed them, once that went back.
    pub(super) went_back: Option<Vec<String>>,
    /// Files of the project that are never an attempt's work.
    pub(super) own_files: Vec<String>,
    /// What they are like in the tree of a worker before the attempt.
    pub(super) own_stamps: Vec<Stamp>,
    /// An edit of them could not be brought into the project: it is in that tree alone.
    pub(super) holds_own_edit: bool,
    /// What earlier runs left of tasks' work, uncommitted and untouched since.
    taken_over: HashMap<TaskId, Vec<Vec<u8>>>,
    /// The tree when the agent of the attempt under way had ended.
    pub(super) after_agent: Option<Snapshot>,
    /// How often in a row a hook of the remote refused work.
    pub(super) refusals: u32,
    /// The branch of the remote that holds the work which is about to land.
    pub(super) offered: Option<String>,
}

impl GitSettings {
    pub fn wants(&self) -> Wants<'_> {
        Wants {
            commits: self.commit == CommitWhen::OnSuccess,
            rolls_back: self.rollback.is_some(),
            branch: self.branch.as_deref(),
            elsewhere: false,
        }
    }

    pub(super) fn changes_anything(&self) -> bool {
        self.commit == CommitWhen::OnSuccess || self.rollback.is_some()
    }

    /// Whether Ralph moves branches or changes anything on them.
    pub(super) fn uses_branches(&self) -> bool {
        self.changes_anything() || self.branch.is_some()
    }
}

pub(super) struct TreeBefore {
    pub snapshot: Option<Snapshot>,
    /// The branch the attempt is to stay on, where that matters.
    pub branch: Option<String>,
    /// The same tree, to the byte, where a failed attempt is rolled back.
    pub kept: Option<Kept>,
    /// What references of the attempt are named after.
    pub name: String,
}

impl TreeBefore {
    pub(super) fn head(&self) -> Option<String> {
        self.snapshot.as_ref().and_then(Snapshot::head).map(str::to_owned)
    }
}

impl WorkTree {
    /// `own_files` are never an attempt's work.
    pub(super) fn new(run: &RunContext<'_>, own_files: Vec<String>) -> Result<Self, EngineError> {
        let settings = if run.is_worker { run.settings.git.for_worker() } else { run.settings.git.clone() };
        let limits = GitLimits {
            query: settings.query_timeout,
            change: change_limit(&settings),
            interrupt: run.interrupt.clone(),
        };
        // The tree of a worker is opened when it is known to be there.
        let git = match run.is_worker {
            true => None,
            false => Git::open(run.work_tree, limits)?.map(|git| git.without(own_files.clone())),
        };
        if let Some(git) = &git {
            git.watch_programs()?;
        }
        Ok(Self {
            git,
            settings,
            latest: None,
            run_start: None,
            before_task: HashMap::new(),
            changed_by: HashMap::new(),
            isolated: None,
            checkout: None,
            not_followed: None,
            went_back: None,
            own_files,
            own_stamps: Vec::new(),
            holds_own_edit: false,
            taken_over: HashMap::new(),
            after_agent: None,
            refusals: 0,
            offered: None,
        })
    }

    /// Brings the tree into the state that the settings want; stops the run where it cannot start.
    pub(super) fn open(&mut self, run: &mut RunContext<'_>) -> Result {
        if !self.settings.uses_branches() {
            return Ok(());
        }
        let Some(git) = &self.git else {
            return run.warn("not a git repository: [git] commit, rollback and branch have no effect");
        };
        // Trouble that attempts would only find out one by one.
        for obstacle in git.obstacles(self.settings.wants()).map_err(cannot_start)? {
            let fix = obstacle.fix();
            match obstacle.weight() {
                Weight::Stops => {
                    let hint = format!("{fix}; then `ralph run` again");
                    return Err(StopRun::error(obstacle.to_string()).with_hint(hint).into());
                }
                Weight::Hinders => run.warn(format!("{obstacle}; {fix}"))?,
            }
        }
        if let Some(branch) = self.settings.branch.clone() {
            let there = git.branch().as_deref() == Some(branch.as_str());
            if let Some(other) = run.other_run()?.filter(|_| !there) {
                let reason =
                    format!("run {other} is using this working tree, which is not on branch {branch}");
                let stop = StopRun::error(reason);
                return Err(stop.with_hint("wait for it to end, or `ralph stop`").into());
            }
            match git.work_on(&branch).map_err(cannot_start)? {
                BranchOutcome::Already => {}
                BranchOutcome::Switched | BranchOutcome::Made => {
                    run.tell(EventKind::BranchChanged { branch })?;
                }
            }
        }
        if !self.settings.changes_anything() {
            return Ok(());
        }
        if let Err(error) = git.check_repository() {
            self.check_fault()?;
            return Err(cannot_start(error).into());
        }
        self.finish_commit(run)?;
        self.return_after_a_kill(run)?;
        let start = match self.current(run)? {
            Some(tree) => Some(self.take_over(run, &tree)?),
            None => None,
        };
        let dirty = start.as_ref().map(Snapshot::dirty).unwrap_or_default();
        self.run_start = start;
        self.check_dirty(run, &dirty, "Ralph leaves them out of commits and rollbacks")
    }

    /// What the settings say of uncommitted changes at the start; `consequence` is what they mean for a run that goes on.
    pub(super) fn check_dirty(
        &self,
        run: &mut RunContext<'_>,
        dirty: &[String],
        consequence: &str,
    ) -> Result {
        match self.settings.on_dirty {
            _ if dirty.is_empty() => Ok(()),
            OnDirty::Continue => {
                run.warn(format!("uncommitted changes at start: {}; {consequence}", some_of(dirty)))
            }
            OnDirty::Refuse => {
                let reason = format!("the working tree has uncommitted changes: {}", some_of(dirty));
                let hint =
                    "commit or stash the changes, or allow them: ralph config set git.on_dirty continue";
                Err(StopRun::error(reason).with_hint(hint).into())
            }
        }
    }

    /// Stops the run where git did not answer, or would never have.
    pub(super) fn check_fault(&self) -> Result {
        let Some(error) = self.git.as_ref().and_then(Git::fault) else { return Ok(()) };
        let stop = StopRun::error(error.to_string());
        Err(match error.remedy() {
            Some(remedy) => stop.with_hint(format!("{remedy}; then `ralph run` again")),
            None => stop,
        }
        .into())
    }

    pub(super) fn branch(&self) -> Option<String> {
        self.git.as_ref().and_then(Git::branch)
    }

    /// What an attempt begins with; failed ones go back to it.
    pub(super) fn before_attempt(
        &mut self,
        run: &mut RunContext<'_>,
        task: &TaskId,
        number: u32,
    ) -> Result<TreeBefore> {
        let snapshot = self.current(run)?;
        self.remember_before(run, task, snapshot.as_ref())?;
        let name = format!("{task}-{number:03}");
        let kept = self.keep(run, &name, snapshot.as_ref())?;
        Ok(TreeBefore { snapshot, branch: self.present_branch(), kept, name })
    }

    /// After the agent: back on the branch, what it changed, and why its work is not where it belongs, if it is not.
    pub(super) fn after_agent(
        &mut self,
        run: &mut RunContext<'_>,
        before: &TreeBefore,
    ) -> Result<(GitRecord, Option<CommitFailure>)> {
        self.look_after_agent(run);
        if self.is_gone() {
            let why = "the attempt deleted its working tree".to_owned();
            return Ok((GitRecord::default(), Some(refused(why, None))));
        }
        self.take_own_files_over(run)?;
        if let Some(git) = self.git.as_ref().filter(|_| self.settings.changes_anything()) {
            // A repository that git can no longer use ends the run before the next attempt: the fault stays with git.
            let _ = git.check_repository();
        }
        let branch = before.branch.as_deref();
        let unfinished = self.unfinished(run)?;
        let returned = match unfinished {
            Some(_) => Returned::Stayed,
            None => self.return_to(run, branch)?,
        };
        let record = self.changes_since(run, before.snapshot.as_ref())?;
        self.after_agent = self.latest.as_ref().map(|(_, tree)| tree.clone());
        Ok((record, self.misplaced(unfinished, &returned, branch)))
    }

    /// After the gates: what they changed, and no attempt on the task, is nobody's work and in no commit.
    pub(super) fn disown_gate_changes(&mut self, run: &mut RunContext<'_>, task: &TaskId) -> Result {
        let owner = run.store.work_owner(task)?;
        let Some(after_agent) = self.after_agent.take() else { return Ok(()) };
        let Some(before) = self.before_task.get(&owner).cloned() else { return Ok(()) };
        let (Some(now), Some(git)) = (self.current(run)?, self.git.as_ref()) else { return Ok(()) };
        // Where git cannot tell, the commit will fail for the same reason.
        if let Ok(before) = git.with_changes_of_others(&before, &after_agent, &now) {
            self.before_task.insert(owner, before);
        }
        Ok(())
    }

    /// What an attempt changed in these files, where git can tell.
    pub(super) fn patch(
        &self,
        run: &mut RunContext<'_>,
        before: &TreeBefore,
        files: &[String],
    ) -> Option<String> {
        let (git, snapshot) =
            self.git.as_ref().zip(before.snapshot.as_ref()).filter(|_| !files.is_empty())?;
        let now = self.latest.as_ref().filter(|(version, _)| *version == run.files_version());
        git.patch_since(snapshot, now.map(|(_, tree)| tree), before.kept.as_ref(), files)
            .map_err(|error| run.warn(error.to_string()))
            .ok()
    }

    /// After the verdict: what was begun is ended, failed work is undone, and the branch is the run's again. The reference
    /// of what was undone, and whether the branch was left.
    pub(super) fn after_attempt(
        &mut self,
        run: &mut RunContext<'_>,
        claimed: &Claimed,
        before: TreeBefore,
        undo: bool,
    ) -> Result<(Option<String>, Returned)> {
        self.end_unfinished(run, &before.name)?;
        let undone = if self.isolated.is_some() {
            self.put_aside(run, &claimed.task, &before.name)?
        } else if undo {
            self.roll_back(run, claimed, before.kept, &before.name)?
        } else {
            self.let_go(run, before.kept)?
        };
        let returned = self.return_to(run, before.branch.as_deref())?;
        self.note_leftover_changes(run, &claimed.task.id, before.snapshot.as_ref())?;
        Ok((undone, returned))
    }

    /// The commit that is checked out, where nothing differs from it.
    pub(super) fn clean_commit(&mut self, run: &mut RunContext<'_>) -> Result<Option<CleanCommit>> {
        if self.git.is_none() || self.check_fault().is_err() {
            return Ok(None);
        }
        // What a commit is like in one working tree of Ralph's own it is in all.
        let place = if run.is_worker { run.project.root() } else { run.work_tree };
        let place = place.display().to_string();
        Ok(self.current(run)?.and_then(|tree| clean(&tree, place)))
    }

    /// The same before the run opens the tree: nothing is remembered, and no error matters.
    pub(super) fn clean_commit_at_start(&self, run: &RunContext<'_>) -> Option<CleanCommit> {
        clean(&self.git.as_ref()?.snapshot().ok()?, run.work_tree.display().to_string())
    }

    /// The tree before an attempt: as the last one left it, or a fresh snapshot.
    fn current(&mut self, run: &mut RunContext<'_>) -> Result<Option<Snapshot>> {
        if let Some((version, tree)) = &self.latest
            && *version == run.files_version()
        {
            return Ok(Some(tree.clone()));
        }
        let tree = self.snapshot(run)?;
        self.latest = tree.clone().map(|tree| (run.files_version(), tree));
        Ok(tree)
    }

    /// The same just before an attempt: where a failed one is rolled back, what changed since the last one must be known.
    pub(super) fn refresh(&mut self, run: &mut RunContext<'_>) -> Result {
        if self.settings.rollback.is_some() {
            self.latest = None;
        }
        self.current(run).map(drop)
    }

    fn changes_since(&mut self, run: &mut RunContext<'_>, before: Option<&Snapshot>) -> Result<GitRecord> {
        let after = self.snapshot(run)?;
        let (Some(git), Some(before), Some(after)) = (&self.git, before, after) else {
            self.latest = None;
            return Ok(GitRecord::default());
        };
        let record = git.changes(before, &after);
        self.latest = Some((run.files_version(), after));
        record.or_else(|error| {
            run.warn(error.to_string())?;
            Ok(GitRecord::default())
        })
    }

    /// A repository that cannot be read is worth a warning and not the run.
    fn snapshot(&self, run: &mut RunContext<'_>) -> Result<Option<Snapshot>> {
        let snapshot = match self.settings.rollback {
            Some(_) => Git::snapshot_with_ignored,
            None => Git::snapshot,
        };
        match self.git.as_ref().map(snapshot).transpose() {
            Ok(snapshot) => return Ok(snapshot),
            // The end of the run tells of it.
            Err(_) if self.check_fault().is_err() => {}
            Err(error) => run.warn(error.to_string())?,
        }
        Ok(None)
    }

    /// After an attempt: says what it changed of git's configuration, hooks and attributes, which decide what git runs.
    pub(super) fn warn_of_program_changes(&self, run: &mut RunContext<'_>, files: &[String]) -> Result {
        let Some(git) = &self.git else { return Ok(()) };
        // A fault ends the run, which tells of it.
        let mut changed = git.program_changes().unwrap_or_default();
        let is_attributes = |file: &&String| file.rsplit('/').next() == Some(".gitattributes");
        changed.extend(files.iter().filter(is_attributes).map(|file| one_line(file, 200)));
        if changed.is_empty() {
            return Ok(());
        }
        run.warn(format!(
            "the attempt changed git's configuration: {}; until the next run, new hooks and filters run \
             only in Ralph's commits",
            changed.join("; ")
        ))
    }
}

/// Uncommitted changes that attempts leave over: whose they are, in this run and in later ones.
impl WorkTree {
    /// What earlier runs left of tasks' work is still theirs where nobody changed it since. The tree without it.
    fn take_over(&mut self, run: &mut RunContext<'_>, tree: &Snapshot) -> Result<Snapshot> {
        if self.settings.commit == CommitWhen::Never {
            return Ok(tree.clone());
        }
        for (task, left) in cut_off_changes(run.store, tree)? {
            run.store.set_leftovers(&task, &left)?;
        }
        let mut clean = tree.clone();
        for (task, file) in run.store.leftovers()? {
            if tree.is_as_left(&file) {
                clean = clean.without(std::slice::from_ref(&file.path));
                let owner = run.store.work_owner(&task)?;
                self.taken_over.entry(owner).or_default().push(file.path);
            }
        }
        Ok(clean)
    }

    /// Remembers the tree before a task's first attempt of the run: its commit has the work of all of them. A task and its
    /// fixes share one: whichever is done first commits what all of them left.
    fn remember_before(
        &mut self,
        run: &mut RunContext<'_>,
        task: &TaskId,
        tree: Option<&Snapshot>,
    ) -> Result {
        let Some(tree) = tree.filter(|_| self.settings.commit != CommitWhen::Never) else { return Ok(()) };
        let is_shared = self.isolated.is_none();
        let task = &run.store.work_owner(task)?;
        // The snapshot at the start may have failed.
        self.run_start.get_or_insert_with(|| tree.clone());
        if !self.before_task.contains_key(task) {
            let own = self.taken_over.remove(task).unwrap_or_default();
            self.changed_by.entry(task.clone()).or_default().extend(own.iter().cloned());
            self.before_task.insert(task.clone(), tree.without(&own));
        }
        // Should this run be killed, the next one tells the attempt's work by it. A tree of Ralph's own is cleared.
        if is_shared && let Some(words) = self.before_task.get(task).and_then(Snapshot::to_words) {
            let branch = self.present_branch();
            run.store.set_tree_snapshot(task, &words, branch.as_deref())?;
        }
        Ok(())
    }

    /// Remembers what attempts on a task have left uncommitted, so that a later run does not take it for a person's.
    fn note_leftover_changes(
        &mut self,
        run: &mut RunContext<'_>,
        task: &TaskId,
        before_attempt: Option<&Snapshot>,
    ) -> Result {
        if self.settings.commit == CommitWhen::Never || self.run_start.is_none() || self.isolated.is_some() {
            return Ok(());
        }
        let task = &run.store.work_owner(task)?;
        let left = match self.before_task.get(task).cloned() {
            // It is committed, or was never looked at.
            None => Vec::new(),
            Some(first) => {
                let now = self.current(run)?;
                let Some((now, start)) = now.zip(self.run_start.as_ref()) else {
                    // The next run tells the work by the first snapshot, as after a kill.
                    return Ok(());
                };
                if let Some(before) = before_attempt {
                    let changed = now.work_since(before, start).into_iter().map(|file| file.path);
                    self.changed_by.entry(task.clone()).or_default().extend(changed);
                }
                now.work_since(&first, start)
            }
        };
        Ok(run.store.set_leftovers(task, &left)?)
    }

    /// After a task is given up: what comes before it is tried again is the work of others. A fix task that is given up
    /// leaves its chain open, unless that is given up with it.
    pub(super) fn forget_given_up(&mut self, run: &RunContext<'_>, task: &TaskId) -> Result {
        let owner = run.store.work_owner(task)?;
        if run.store.task(owner.as_str())?.status == Status::Blocked {
            self.before_task.remove(&owner);
        }
        Ok(())
    }
}

fn clean(tree: &Snapshot, place: String) -> Option<CleanCommit> {
    let is_clean = tree.dirty().is_empty();
    Some(CleanCommit { commit: tree.head().filter(|_| is_clean)?.to_owned(), place })
}

/// What attempts left in a tree whose run was killed while they worked.
fn cut_off_changes(store: &Store, tree: &Snapshot) -> Result<Vec<(TaskId, Vec<LeftoverFile>)>, StoreError> {
    let work = store.tree_snapshots()?.into_iter().map(|cut_off| {
        let before = Snapshot::from_words(&cut_off.snapshot).zip(cut_off.ended_at);
        let left = before.map(|(before, ended_at)| before.work_cut_off(tree, ended_at));
        (cut_off.task, left.unwrap_or_default())
    });
    Ok(work.collect())
}

/// What is uncommitted and no task's, as a run would see it at its start. Nothing is written.
pub fn changes_of_others(
    store: &Store,
    settings: &GitSettings,
    tree: &Snapshot,
) -> Result<Vec<String>, StoreError> {
    if settings.commit == CommitWhen::Never {
        return Ok(tree.dirty());
    }
    let mut left: HashMap<TaskId, Vec<LeftoverFile>> = HashMap::new();
    for (task, file) in store.leftovers()? {
        left.entry(task).or_default().push(file);
    }
    // Of a run that was killed the next one finds out what was its work.
    left.extend(cut_off_changes(store, tree)?);
    let files = left.into_values().flatten().filter(|file| tree.is_as_left(file));
    let paths: Vec<Vec<u8>> = files.map(|file| file.path).collect();
    Ok(tree.without(&paths).dirty())
}

/// How long git may take to write an index or files, even where a commit may take for ever.
pub(super) fn change_limit(settings: &GitSettings) -> Duration {
    settings.commit_timeout.clamp(LEAST_CHANGE, MOST_CHANGE)
}

fn cannot_start(error: GitError) -> StopRun {
    StopRun::error(error.to_string()).with_hint(match &error {
        GitError::Unfinished(_) => "finish or abort it, then `ralph run` again".into(),
        GitError::BranchInTheWay { .. } => "commit or stash them, then `ralph run` again".into(),
        _ if let Some(remedy) = error.remedy() => format!("{remedy}; then `ralph run` again"),
        _ => "fix [git] branch in .ralph.toml, or what git reports".into(),
    })
}

pub(super) fn some_of(files: &[String]) -> String {
    few(files, NAMED)
}
