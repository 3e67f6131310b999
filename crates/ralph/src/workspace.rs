//! A project as commands need it: found, its settings read, its database open.

use std::collections::{HashMap, HashSet};
use std::env;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ralph_core::agent::Interrupt;
use ralph_core::clock::{Clock, SystemClock};
use ralph_core::engine::{FixPolicy, LostAttempts, refresh_failures, refresh_state};
use ralph_core::files::{RealPaths, private};
use ralph_core::host::{Host, ThisHost, is_over};
use ralph_core::model::{RunId, Status, Task, TaskId, Timestamp};
use ralph_core::plan::Format;
use ralph_core::plan::import::{self, STATE_JSON};
use ralph_core::plan::state_json::SpecState;
use ralph_core::project::Project;
use ralph_core::store::{
    Absent, BreakerState, Claim, Note, NoteState, Patience, PlanCounts, RunRow, Store, StoreError, WaitCause,
    newest_copy, rescued_since, restore_command,
};

use crate::command_error::{CommandError, shell_path};
use crate::commands::trust;
use crate::settings::{Count, Settings};
use crate::ui::format;
use crate::{interrupts, output, store_place};

/// How long a lock is waited for in any case, also by a run that was told to stop.
const WAIT_AFTER_INTERRUPT: Duration = Duration::from_secs(10);

pub struct Workspace {
    pub project: Project,
    pub store: Store,
}

static READ_ONLY: AtomicBool = AtomicBool::new(false);

/// From now on databases are opened without writing anything.
pub fn set_read_only() {
    READ_ONLY.store(true, Ordering::Relaxed);
}

/// Whether nothing may be written: inside an attempt.
pub fn is_read_only() -> bool {
    READ_ONLY.load(Ordering::Relaxed)
}

impl Workspace {
    /// Finds the project from here upwards and opens its database.
    pub fn open(dir: Option<&Path>) -> Result<Self, CommandError> {
        Self::of(find(dir)?, Absent::Refuse)
    }

    /// The same for a command that makes a plan: a project that has no database gets one.
    pub fn open_or_create(dir: Option<&Path>) -> Result<Self, CommandError> {
        Self::of(find(dir)?, Absent::Create)
    }

    /// Opens a project that was just made, and makes its database.
    pub fn create(project: Project) -> Result<Self, CommandError> {
        trust::check(&project)?;
        Self::of(project, Absent::Create)
    }

    /// The same for a command that only looks. What may not be written, or has no room to be, can still be read: nothing is
    /// brought to the present schema then, and what dead runs left stays.
    pub fn open_to_read(dir: Option<&Path>) -> Result<Self, CommandError> {
        let project = find(dir)?;
        let place = store_place::of(&project)?;
        if is_read_only() {
            return Ok(Self::new(project, place.open_read_only()?));
        }
        make_private(&project);
        let store = match place.open(Absent::Refuse, patience()) {
            Err(error @ (StoreError::NotWritable { .. } | StoreError::DiskFull { .. })) => {
                let store = place.open_read_only().ok();
                store.filter(|store| matches!(store.version(), Ok(Store::VERSION))).ok_or(error)
            }
            opened => opened,
        };
        Self::opened(project, store)
    }

    fn of(project: Project, absent: Absent) -> Result<Self, CommandError> {
        let place = store_place::of(&project)?;
        // Logs are always here.
        if absent == Absent::Create || place.file().is_none() {
            let dir = project.ralph_dir();
            project.make_dir().map_err(|e| {
                CommandError::environment(format_args!("cannot create {}: {e}", dir.display()))
                    .hint("check the permissions and the free space of the directory")
            })?;
        }
        make_private(&project);
        let store = place.open(absent, patience());
        Self::opened(project, store)
    }

    fn opened(project: Project, store: Result<Store, StoreError>) -> Result<Self, CommandError> {
        match store {
            Ok(store) => Ok(Self::new(project, store)),
            Err(error) => Err(not_opened(&project, error)),
        }
    }

    fn new(project: Project, store: Store) -> Self {
        // Also for commands that need no setting: they show what agents wrote, who may know these secrets.
        if let Ok(settings) = Settings::load(&project.config(), env::vars_os()) {
            crate::secrets::remember_settings(&settings);
        }
        Self { project, store }
    }

    /// Why this is not the plan that runs worked on, if somebody put another database in its place.
    pub fn replaced_plan(&self) -> Option<CommandError> {
        if !self.store.is_file() {
            return None;
        }
        let path = self.project.database();
        let copy = rescued_since(&path)?;
        let message = format!(
            "the database is not the one the last run used; Ralph saved that one as {}",
            copy.display()
        );
        let restore = restore_command(&copy, &path, now());
        Some(
            CommandError::environment(message)
                .hint(format_args!("restore it: {restore}"))
                .hint(format_args!("or keep the current plan: rm {}", shell_path(&copy))),
        )
    }

    pub fn settings(&self) -> Result<Settings, CommandError> {
        let mut settings = Settings::load(&self.project.config(), env::vars_os())?;
        self.apply_specs(&mut settings)?;
        Ok(settings)
    }

    /// Adds what the state file of an imported spec says. With several specs each speaks for its own tasks.
    pub fn apply_specs(&self, settings: &mut Settings) -> Result<(), CommandError> {
        if let [(tasks, state)] = &self.specs()?[..] {
            apply_state(settings, state, tasks);
        }
        Ok(())
    }

    /// The imported specs that have a state file, by the path of their tasks.
    pub fn specs(&self) -> Result<Vec<(String, SpecState)>, CommandError> {
        let mut specs = Vec::new();
        for source in self.store.sources()? {
            let path = self.project.root().join(&source.path);
            if source.format == Format::TasksMd.as_str()
                && let Ok(Some(state)) = import::state(&path)
            {
                specs.push((source.path, state));
            }
        }
        Ok(specs)
    }

    /// Records attempts whose process died, so that their tasks can be changed.
    pub fn forget_dead_claims(&mut self) -> Result<(), CommandError> {
        let settings = self.settings()?;
        let policy = crate::commands::run::policy(&settings);
        let (recovery, by_spec) = crate::commands::run::recovery_of(&settings, self)?;
        let crew = crate::commands::run::Crew::of(&settings).ok();
        let agents = crew.as_ref().map(|crew| crew.known()).unwrap_or_default();
        LostAttempts {
            fix_policy: FixPolicy {
                project: &self.project,
                policy: &policy,
                recovery,
                by_spec: &by_spec,
                real_paths: &RealPaths::default(),
            },
            store: &mut self.store,
            host: &ThisHost::new(),
            agents: &agents,
            breaker_threshold: settings.breaker.threshold.0,
            now: now(),
            random: &mut random,
            own_run: None,
            interrupt: Interrupt::default(),
        }
        .record(&mut |_| None)?;
        Ok(())
    }

    /// Brings STATE.md and AGENTS.md up to date after a person changed the plan. Gives a warning for each file that cannot be
    /// written; the next run writes it.
    pub fn refresh_pages(&mut self) -> Result<Vec<String>, CommandError> {
        let analysis = match self.store.breaker()?.state {
            BreakerState::Closed => None,
            BreakerState::Open | BreakerState::HalfOpen => {
                Some(crate::commands::breaker::latest_failures(self)?.lines())
            }
        };
        let run = self.present_run()?;
        let state = refresh_state(&self.store, &self.project, run.as_ref(), analysis, now())?;
        let mut warnings = Vec::new();
        if let Err(error) = state {
            warnings.push(format!("warning: cannot update STATE.md: {error}"));
        }
        if let Some(file) = crate::commands::run::agents_md(&self.settings()?)
            && let Err(error) = refresh_failures(&mut self.store, &self.project, &file)?
        {
            warnings.push(format!("warning: cannot update {file}: {error}"));
        }
        Ok(warnings)
    }

    pub fn run(&self, id: &str) -> Result<RunRow, CommandError> {
        let run = self.store.run(&RunId::from_stored(id.trim()))?;
        run.ok_or_else(|| {
            CommandError::usage(format_args!("unknown run `{id}`")).hint("run `ralph runs` to see all runs")
        })
    }

    /// The run under way, the latest of several; else the last one.
    pub fn present_run(&self) -> Result<Option<RunRow>, CommandError> {
        match self.store.open_runs()?.into_iter().rfind(is_active) {
            Some(run) => Ok(Some(run)),
            None => Ok(self.store.last_run()?),
        }
    }

    /// Whether the project has a gate for tasks that have none of their own. Settings that cannot be read have none.
    pub fn has_project_gate(&self) -> bool {
        self.settings()
            .is_ok_and(|settings| settings.gate.default.is_some() || settings.gate.always.is_some())
    }

    pub fn has_active_run(&self) -> Result<bool, CommandError> {
        Ok(self.store.open_runs()?.iter().any(is_active))
    }

    /// The tasks whose attempt a crash of Ralph cut short. The database has them as running until the next run finds out.
    pub fn interrupted_tasks(&self) -> Result<HashMap<TaskId, Timestamp>, StoreError> {
        interrupted_tasks(&self.store)
    }

    /// What people told a task's attempts, or those of all tasks, oldest first. Notes that only an attempt had which a crash of
    /// Ralph cut short wait for the next one.
    pub fn notes(&self, task: Option<&TaskId>) -> Result<Vec<Note>, StoreError> {
        let mut notes = match task {
            Some(task) => self.store.notes(task)?,
            None => self.store.all_notes()?,
        };
        if notes.iter().any(|note| note.state == NoteState::Shown) {
            let dead = dead_claims(&self.store)?;
            let is_cut_short = |note: &Note| {
                let own = dead.iter().find(|claim| claim.task_id == note.task_id);
                own.is_some_and(|claim| Some(claim.attempt.attempt_number) == note.attempt_number)
            };
            for note in notes.iter_mut().filter(|note| is_cut_short(note)) {
                note.state = NoteState::Queued;
            }
        }
        Ok(notes)
    }

    pub fn task(&self, name: &str) -> Result<Task, CommandError> {
        let mut task = self.store.task(name)?;
        self.correct_interrupted(std::slice::from_mut(&mut task))?;
        Ok(task)
    }

    /// All tasks, or those of one status, in plan order.
    pub fn tasks(&self, status: Option<Status>) -> Result<Vec<Task>, CommandError> {
        let mut tasks = self.store.tasks(None)?;
        self.correct_interrupted(&mut tasks)?;
        tasks.retain(|task| status.is_none_or(|status| task.status == status));
        Ok(tasks)
    }

    /// Tasks that a crash interrupted are pending for people, as the next run makes them.
    fn correct_interrupted(&self, tasks: &mut [Task]) -> Result<(), CommandError> {
        if tasks.iter().any(|task| task.status == Status::InProgress) {
            let interrupted = self.interrupted_tasks()?;
            for task in tasks.iter_mut().filter(|task| interrupted.contains_key(&task.id)) {
                task.status = Status::Pending;
            }
        }
        Ok(())
    }

    pub fn optional_task(&self, name: Option<&str>) -> Result<Option<Task>, CommandError> {
        name.map(|name| self.task(name)).transpose()
    }
}

fn interrupted_tasks(store: &Store) -> Result<HashMap<TaskId, Timestamp>, StoreError> {
    let dead = dead_claims(store)?.into_iter();
    Ok(dead.map(|claim| (claim.task_id, claim.heartbeat_at)).collect())
}

/// The claims of runs that died.
fn dead_claims(store: &Store) -> Result<Vec<Claim>, StoreError> {
    let runs = store.open_runs()?;
    let active: HashSet<&RunId> = runs.iter().filter(|run| is_active(run)).map(|run| &run.id).collect();
    let mut claims = store.claims()?;
    claims.retain(|claim| !active.contains(&claim.run_id));
    Ok(claims)
}

/// How many tasks there are of each status, and how many are ready. Tasks that a crash interrupted are pending and ready.
pub fn plan_counts(store: &Store) -> Result<(PlanCounts, u64), StoreError> {
    let interrupted = interrupted_tasks(store)?.len() as u64;
    let mut counts = store.counts()?;
    counts.in_progress = counts.in_progress.saturating_sub(interrupted);
    counts.pending += interrupted;
    Ok((counts, store.ready_count()? + interrupted))
}

/// The project around here, if it may be obeyed. Every command that reads a project finds it here.
pub fn find(dir: Option<&Path>) -> Result<Project, CommandError> {
    let here = start_dir(dir)?;
    let project = Project::find(&here).ok_or_else(|| no_project(&here))?;
    trust::check(&project)?;
    Ok(project)
}

/// A project and its settings, for commands that need no plan.
pub fn find_settings(dir: Option<&Path>) -> Result<(Project, Settings), CommandError> {
    let project = find(dir)?;
    let place = store_place::of(&project)?;
    match Workspace::open_to_read(dir) {
        Ok(workspace) => {
            let settings = workspace.settings()?;
            return Ok((project, settings));
        }
        // A server that cannot be reached is no reason to hide its settings, nor is a plan that does not exist yet.
        Err(error) if place.file().is_some_and(|file| file.exists()) => return Err(error),
        Err(_) => {}
    }
    let settings = Settings::load(&project.config(), env::vars_os())?;
    Ok((project, settings))
}

/// What is in Ralph's directory is the owner's alone, also where an older Ralph or a person made it.
fn make_private(project: &Project) {
    if project.ralph_dir().is_dir() {
        private::tighten(&project.ralph_dir());
        project.keep_out_of_git();
    }
}

/// A database that another process has locked is waited for; the user is told once.
fn patience() -> Patience {
    Patience {
        on_wait: |wait| {
            if wait.is_first {
                output::note(match wait.cause {
                    WaitCause::Lock => "waiting for the database: another process has locked it",
                    WaitCause::Connection => "waiting for the database: the connection is lost",
                });
            }
            // Someone who interrupts does not want to wait, but a short wait may save the record of an attempt.
            wait.waited < WAIT_AFTER_INTERRUPT || !interrupts::told_to_stop()
        },
        ..Patience::default()
    }
}

fn not_opened(project: &Project, error: StoreError) -> CommandError {
    let (StoreError::Missing { path } | StoreError::Damaged { path, .. }) = &error else {
        return error.into();
    };
    let restore = newest_copy(path).map(|copy| {
        let name = copy.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let made = copy.metadata().and_then(|meta| meta.modified()).ok();
        let made = made.and_then(|at| at.elapsed().ok()).map(|age| format!(", {}", format::ago(age)));
        let command = restore_command(&copy, path, now());
        format!("Ralph saved a copy ({name}{}); restore it: {command}", made.unwrap_or_default())
    });
    if let StoreError::Damaged { .. } = error {
        return match restore {
            Some(restore) => CommandError::environment(error).hint(restore),
            None => error.into(),
        };
    }
    let root = project.root().display();
    let what = if path.exists() { "is empty" } else { "does not exist" };
    let error =
        CommandError::no_plan(format_args!("no plan in {root}: the database .ralph/progress.db {what}"));
    error.hint(
        restore.unwrap_or_else(|| "start a plan with `ralph task add TITLE` or `ralph import PATH`".into()),
    )
}

/// Whether a run is under way, as far as can be told from here.
pub fn is_active(run: &RunRow) -> bool {
    run.ended_at.is_none() && !is_over(run, ThisHost::new().liveness(&run.owner), now())
}

/// What a spec's state file says of how it is to be run.
pub fn apply_state(settings: &mut Settings, state: &SpecState, tasks: &str) {
    let file = match tasks.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{STATE_JSON}"),
        None => STATE_JSON.to_owned(),
    };
    let count = |n: Option<usize>| n.map(|n| Count(u32::try_from(n).unwrap_or(u32::MAX)));
    let recovery = &mut settings.recovery;
    recovery.enabled.set_spec(state.recovery_mode, &file);
    let (per_task, depth) = (state.max_fix_tasks_per_original, state.max_fix_task_depth);
    recovery.max_fix_tasks_per_original.set_spec(count(per_task), &file);
    recovery.max_fix_task_depth.set_spec(count(depth), &file);
    let attempts = count(state.max_task_iterations);
    settings.run.max_attempts.set_spec(attempts, &file);
}

pub fn start_dir(dir: Option<&Path>) -> Result<PathBuf, CommandError> {
    let Some(dir) = dir else {
        return env::current_dir()
            .map_err(|e| CommandError::usage(format_args!("cannot open the working directory: {e}")));
    };
    let whole = dir
        .canonicalize()
        .map_err(|e| CommandError::usage(format_args!("cannot open {}: {e}", dir.display())))?;
    match whole.is_dir() {
        true => Ok(whole),
        false => Err(CommandError::usage(format_args!("{} is not a directory", dir.display()))),
    }
}

pub fn now() -> Timestamp {
    SystemClock.now()
}

pub fn ago(span: Duration) -> Timestamp {
    let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now().as_millis().saturating_sub(millis))
}

pub fn random() -> u64 {
    fastrand::u64(..)
}

pub fn no_project(here: &Path) -> CommandError {
    let message = format!("no Ralph project found in {} or any directory above it", here.display());
    CommandError::no_plan(message)
        .hint("run `ralph init` to create one here, or `ralph demo` to see an example")
}
