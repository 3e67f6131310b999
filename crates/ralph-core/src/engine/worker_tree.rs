//! The working tree of a worker: leased, prepared when it is new, brought to the tip of the run's branch before each attempt,
//! and cleared of what an attempt left that did not land. Nothing is cleared before it is saved under a reference.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::run_context::RunContext;
use super::run_end::{EngineError, Result, StopRun};
use super::settings::{CommitWhen, GitSettings, OnDirty};
use super::work_tree::WorkTree;
use crate::agent::{
    BoundedText, Exit, HOLDER, Launch, ProcessLimits, Stop, Stream, Watch, end_of_holders, holder_mark,
    run_below,
};
use crate::event::{EventKind, TaskRef};
use crate::files::{Links, create_anew, digest, open};
use crate::git::{Git, GitError, GitLimits, Snapshot};
use crate::host::{Host, Liveness};
use crate::model::{Task, Timestamp};
use crate::sandbox::{Subject, run_confined};
use crate::store::{Store, StoreError, WorkerRow};
use crate::text::{mask_secrets, one_line};

/// A run never needs so many.
const MOST_TREES: u32 = 1000;
/// How long processes of a dead worker have between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);
/// How much of what the set-up command prints is kept.
const OUTPUT: usize = 4096;
/// Beside the working trees: what was moved out of the way.
const LEFT: &str = "left";
/// A file in git's directory of a working tree that says that it was prepared.
const PREPARED: &str = "ralph-prepared";

/// Where working trees of workers are, and how new ones are prepared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeSettings {
    /// The directory of this project's working trees.
    pub dir: PathBuf,
    /// Files that git does not have, copied from the project's root into new ones.
    pub copy: Vec<String>,
    /// A command that runs in each new one.
    pub setup: Option<String>,
}

/// The directory of a project's working trees, below that of all projects.
pub fn project_dir(all: &Path, root: &Path) -> PathBuf {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name: String = name.chars().filter(|c| is_plain(*c)).take(40).collect();
    all.join(format!("{name}-{}", digest(&root.display().to_string())))
}

/// A working tree that this worker has for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeLease {
    pub top: PathBuf,
    /// The project's directory in it.
    pub dir: PathBuf,
}

/// What is asked of [`lease_tree`].
pub struct NewTree<'a> {
    pub store: &'a mut Store,
    pub host: &'a dyn Host,
    /// The project's repository.
    pub git: &'a Git,
    pub settings: &'a TreeSettings,
    /// The worker, but for its tree.
    pub worker: WorkerRow,
    pub now: Timestamp,
}

/// Leases the first working tree that no other worker has, and makes it where there is none.
pub fn lease_tree(new: NewTree<'_>) -> Result<TreeLease, EngineError> {
    let NewTree { store, host, git, settings, worker, now } = new;
    for n in 1..=MOST_TREES {
        let top = settings.dir.join(format!("w{n}"));
        let row = WorkerRow { work_tree: top.display().to_string(), ..worker.clone() };
        forget_dead_holder(store, host, &row.work_tree, now)?;
        if store.add_worker(&row)? {
            return Ok(TreeLease { dir: top.join(git.below_top()), top });
        }
    }
    let why = format!("no working tree is free in {}", settings.dir.display());
    Err(GitError::Refused { command: "worktree add".into(), message: why }.into())
}

/// A worker that was killed has no tree any more, once what it started is ended.
fn forget_dead_holder(
    store: &mut Store,
    host: &dyn Host,
    tree: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    for held in store.workers()?.into_iter().filter(|held| held.work_tree == tree) {
        let is_gone = match host.liveness(&held.owner) {
            Liveness::Alive => false,
            Liveness::Dead => true,
            Liveness::Elsewhere => held.expires_at < now,
        };
        if is_gone {
            end_of_holders(&[holder_mark(&held.owner)], GRACE);
            store.remove_worker(&held.owner)?;
        }
    }
    Ok(())
}

/// The part of a worker's [`WorkTree`] that the project's own tree does not have.
#[derive(Debug)]
pub(super) struct Isolated {
    /// The commit that the attempt under way began from.
    pub base: String,
    /// Whether the attempt's work is on the branch.
    pub landed: bool,
    /// The attempt deleted it.
    pub is_gone: bool,
}

impl GitSettings {
    /// In a tree of its own a worker always commits, and nothing of a person's is there.
    pub(super) fn for_worker(&self) -> Self {
        Self {
            commit: CommitWhen::OnSuccess,
            rollback: None,
            branch: None,
            on_dirty: OnDirty::Continue,
            ..self.clone()
        }
    }
}

/// The worker's part.
impl WorkTree {
    fn limits(run: &RunContext<'_>, settings: &GitSettings) -> GitLimits {
        GitLimits {
            query: settings.query_timeout,
            change: super::work_tree::change_limit(settings),
            interrupt: run.interrupt.clone(),
        }
    }

    /// Brings the tree to the tip of the run's branch: only committed and ignored files are there then. One that somebody
    /// deleted is made anew.
    pub(super) fn bring_to_tip(&mut self, run: &mut RunContext<'_>) -> Result {
        if !run.is_worker {
            return Ok(());
        }
        let branch = run.store.run_branch(&run.id)?.unwrap_or_default();
        let tip = self.make_tree(run, &branch)?;
        let Some(git) = self.git.clone() else { return Ok(()) };
        git.remove_locks();
        git.mend_index()?;
        git.detach()?;
        let head = git.head_commit()?;
        let is_known = match &head {
            Some(head) => git.is_in(head, &tip)?,
            None => false,
        };
        // Nothing ran here since the tree was last seen.
        let is_current = |seen: &&(u64, Snapshot)| seen.0 == run.files_version() && seen.1.is_clean();
        let clean = self.latest.as_ref().filter(is_current).map(|(_, tree)| tree);
        let clean = clean.filter(|tree| tree.head() == head.as_deref()).cloned();
        let is_settled = is_known && git.unfinished()?.is_none();
        let is_there = is_settled && !std::mem::take(&mut self.holds_own_edit) && git.go_to(&tip)?;
        let mut snapshot = match (is_there, clean) {
            (true, Some(clean)) => Some(git.brought_to(&clean, &tip)?),
            (true, None) => Some(git.snapshot()?),
            (false, _) => None,
        };
        if snapshot.as_ref().is_none_or(|tree| !tree.is_clean()) {
            let name = format!("{}-{}", run.id, run.worker);
            let saved = git.clear(&tip, &name, "Left in the working tree of a worker")?;
            if let Some(reference) = saved {
                run.warn(format!(
                    "the working tree held work that did not land; it is saved at {reference}"
                ))?;
            }
            for moved in git.remove_leftovers(&run.settings.worktrees.dir.join(LEFT))? {
                run.warn(format!("an attempt left what git cannot save; it is now {}", moved.display()))?;
            }
            snapshot = Some(git.snapshot()?);
        }
        self.own_stamps = self.stamps(run);
        run.files_may_have_changed();
        self.before_task.clear();
        self.changed_by.clear();
        self.run_start.clone_from(&snapshot);
        self.latest = snapshot.map(|tree| (run.files_version(), tree));
        self.isolated = Some(Isolated { base: tip, landed: false, is_gone: false });
        Ok(())
    }

    /// The tree, made and prepared where it is not there. Gives the tip of the branch.
    fn make_tree(&mut self, run: &mut RunContext<'_>, branch: &str) -> Result<String> {
        let top = PathBuf::from(own_top(run)?);
        let is_usable = self.git.as_ref().is_some_and(|git| git.fault().is_none() && git.is_own_tree())
            && top.join(".git").exists();
        if is_usable && let Some(git) = self.git.clone() {
            return self.tip_to_begin_from(run, &git, branch);
        }
        let limits = Self::limits(run, &self.settings);
        let project = Git::open(run.project.root(), limits.clone())?;
        let Some(project) = project else {
            return Err(StopRun::error("the project's git repository is gone").into());
        };
        let tip = self.tip_to_begin_from(run, &project, branch)?;
        let is_ours = |git: &Git| git.is_own_tree();
        run.check_signal()?;
        // What git cannot use any more is made anew.
        let known =
            if top.join(".git").exists() { Git::open(&top, limits.clone()).ok().flatten() } else { None };
        if !known.as_ref().is_some_and(is_ours) {
            if top.symlink_metadata().is_ok() {
                // Somebody's files, or half a tree: it is moved aside, whatever it is.
                let left = run.settings.worktrees.dir.join(LEFT);
                set_aside(&top, &left).map_err(|error| cannot_make(&top, &error.to_string()))?;
            }
            if let Some(above) = top.parent() {
                std::fs::create_dir_all(above).map_err(|error| cannot_make(&top, &error.to_string()))?;
            }
            let saved = project
                .add_tree(&top, &tip, run.project.root())
                .map_err(|error| cannot_make(&top, &error.to_string()))?;
            if let Some(reference) = saved {
                run.warn(format!(
                    "the working tree was deleted with commits that did not land; they are saved at {reference}"
                ))?;
            }
        }
        let git = Git::open(run.work_tree, limits)?.map(|git| git.without(self.own_files.clone()));
        let Some(git) = git else {
            return Err(cannot_make(&top, "git does not know it").into());
        };
        if run.settings.worktrees.needs_preparing() && !git.has_note(PREPARED) {
            git.remove_locks();
            // The files that the set-up reads are those of the branch.
            if !git.go_to(&tip)? {
                git.clear(&tip, &format!("{}-{}", run.id, run.worker), "Left before the set-up")?;
            }
            prepare(run)?;
            git.note(PREPARED)?;
        }
        git.watch_programs()?;
        git.remove_scratch();
        self.git = Some(git);
        Ok(tip)
    }

    /// After the agent: whether the tree is still there, and HEAD on no branch that others move.
    pub(super) fn look_after_agent(&mut self, run: &RunContext<'_>) {
        let Some(isolated) = &mut self.isolated else { return };
        let is_there = run.work_tree.is_dir()
            && self.git.as_ref().is_some_and(|git| {
                git.remove_locks();
                git.is_own_tree()
                    && git.check_repository().is_ok()
                    && git.mend_index().is_ok()
                    && git.detach().is_ok()
            });
        if !is_there {
            isolated.is_gone = true;
            self.git = None;
            self.latest = None;
        }
    }

    /// Whether the attempt deleted its working tree.
    pub(super) fn is_gone(&self) -> bool {
        self.isolated.as_ref().is_some_and(|isolated| isolated.is_gone)
    }

    /// After an attempt that did not land: what it did is saved under a reference, and the tree is as before.
    pub(super) fn put_aside(
        &mut self,
        run: &mut RunContext<'_>,
        task: &Task,
        name: &str,
    ) -> Result<Option<String>> {
        let (Some(git), Some(isolated)) = (&self.git, &self.isolated) else { return Ok(None) };
        if isolated.landed {
            return Ok(None);
        }
        self.latest = None;
        let before = isolated.base.clone();
        let changed = git.snapshot().map(|tree| tree.dirty().len()).unwrap_or_default();
        let message = format!("Failed attempt {name}: {} {}", task.name(), task.title);
        match git.clear(&before, name, &message) {
            Ok(Some(reference)) => {
                let commit = git.commit_of(&reference)?;
                let files = git.committed_files(&before, &commit).map_or(changed, |files| files.len());
                let task = TaskRef::from(task);
                run.tell(EventKind::RolledBack { task, reference: reference.clone(), files, commits: 0 })?;
                Ok(Some(reference))
            }
            Ok(None) => Ok(None),
            // The next attempt in this tree tries again.
            Err(error) => {
                run.warn(format!("cannot save what {} left: {error}", task.name()))?;
                Ok(None)
            }
        }
    }
}

impl TreeSettings {
    fn needs_preparing(&self) -> bool {
        !self.copy.is_empty() || self.setup.is_some()
    }
}

fn own_top(run: &RunContext<'_>) -> Result<String> {
    let workers = run.store.workers()?.into_iter();
    let own = workers.filter(|worker| worker.run_id == run.id && worker.worker == run.worker);
    let top = own.map(|worker| worker.work_tree).next();
    Ok(top.unwrap_or_else(|| run.work_tree.display().to_string()))
}

pub(super) fn tip_of(git: &Git, branch: &str) -> Result<String> {
    git.tip(branch)?.ok_or_else(|| {
        StopRun::error(format!("the branch {branch} is gone"))
            .with_hint(format!("git branch {branch} COMMIT restores it, then `ralph run` again"))
            .into()
    })
}

fn cannot_make(top: &Path, why: &str) -> StopRun {
    let stop = StopRun::error(format!("cannot make the working tree {}: {why}", top.display()));
    stop.with_hint("check the space and the permissions there, or set [worktree] dir")
}

/// Moves something out of the way, to where a person finds it.
fn set_aside(path: &Path, left: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(left)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    std::fs::rename(path, left.join(format!("{name}-{}", crate::files::unguessable())))
}

/// Copies what git does not have, and runs the set-up command.
fn prepare(run: &mut RunContext<'_>) -> Result {
    let settings = run.settings.worktrees.clone();
    for name in &settings.copy {
        let (from, to) = (run.project.root().join(name), run.work_tree.join(name));
        match copy(&from, &to) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                run.warn(format!("[worktree] copy: {name} does not exist"))?;
            }
            Err(error) => {
                let why = format!("[worktree] copy: cannot copy {name}: {error}");
                return Err(StopRun::error(why).with_hint("fix copy under [worktree] in .ralph.toml").into());
            }
            Ok(()) => {}
        }
    }
    let Some(setup) = settings.setup else { return Ok(()) };
    let launch = Launch {
        program: "sh".into(),
        args: vec!["-c".into(), setup.clone()],
        env: vec![
            ("RALPH_RUN_ID".into(), run.id.as_str().into()),
            ("RALPH_PROJECT".into(), run.project.root().into()),
            (HOLDER.into(), holder_mark(&run.owner).into()),
        ],
        cwd: run.work_tree.to_owned(),
        stdin: String::new(),
        confined: None,
    };
    let limits = ProcessLimits { wall: run.settings.gate.timeout, idle: None, grace: run.settings.grace };
    let interrupt = run.interrupt.clone();
    let confinement = run.confinement(Subject::Gate)?;
    let mut guard = run.take_guard()?;
    let mut output = Output { text: BoundedText::new(0, OUTPUT), run };
    let ended = run_confined(confinement.as_ref(), launch, |launch| {
        run_below(guard.as_mut(), launch, &limits, &interrupt, &mut output)
    });
    let Output { text, run } = output;
    let said = text.into_text();
    run.return_guard(guard)?;
    run.tell_undone(confinement.as_ref())?;
    let why = match ended {
        Ok(ended) if ended.stop == Stop::Exited && ended.exit == Exit::Code(0) => return Ok(()),
        Ok(ended) if ended.stop == Stop::Interrupted => return run.check_signal(),
        Ok(_) => {
            let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no output");
            one_line(&mask_secrets(last), 300)
        }
        Err(error) => error.to_string(),
    };
    let stop = StopRun::error(format!("[worktree] setup `{}` failed: {why}", one_line(&setup, 100)));
    Err(stop.with_hint("fix setup under [worktree] in .ralph.toml, then `ralph run` again").into())
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut file = open(from, Links::Follow)?;
    if let Some(dir) = to.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let mode = file.metadata()?.permissions();
    let mut copied = create_anew(to)?;
    std::io::copy(&mut file, &mut copied)?;
    copied.set_permissions(mode)
}

struct Output<'c, 'a> {
    text: BoundedText,
    run: &'c mut RunContext<'a>,
}

impl Watch for Output<'_, '_> {
    fn output(&mut self, _stream: Stream, chunk: &[u8]) {
        self.text.push(chunk);
    }

    fn tick(&mut self) {
        self.run.beat();
    }
}
