//! A project as commands need it: found, its settings read, its database open.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::clock::{Clock, SystemClock};
use ralph_core::engine::Recovery;
use ralph_core::host::{Host, ThisHost, is_over};
use ralph_core::import::{self, STATE_JSON};
use ralph_core::model::{Task, Timestamp};
use ralph_core::plan_files::Format;
use ralph_core::project::Project;
use ralph_core::spec::state_json::SpecState;
use ralph_core::store::{PlanStore, RunRow, RunStore, SourceStore, SqliteStore, StoreError};

use crate::command_error::CommandError;
use crate::settings::{Settings, Value};

/// Everything in `.ralph/` is the machine's own, except what people write for agents.
pub const GITIGNORE: &str = "# Ralph's own files: the plan's database and the raw logs of attempts.\n\
    *\n!.gitignore\n!specs/\n!specs/**\n!templates/\n!templates/**\n";

/// An open project.
pub struct Workspace {
    /// Where things are.
    pub project: Project,
    /// Its database.
    pub store: SqliteStore,
}

impl Workspace {
    /// Finds the project from here upwards and opens its database.
    pub fn open(dir: Option<&Path>) -> Result<Self, CommandError> {
        let here = start_dir(dir)?;
        let project = Project::find(&here).ok_or_else(|| no_project(&here))?;
        Self::of(project)
    }

    /// The same for a command that only looks. What may not be written, or has no room to be, can still be read: nothing is
    /// brought to the present schema then, and what dead runs left stays.
    pub fn look(dir: Option<&Path>) -> Result<Self, CommandError> {
        let here = start_dir(dir)?;
        let project = Project::find(&here).ok_or_else(|| no_project(&here))?;
        let path = project.database();
        if !path.is_file() {
            return Self::of(project);
        }
        keep_out_of_git(&project);
        match SqliteStore::open(&path) {
            Ok(store) => Ok(Self { project, store }),
            Err(error @ (StoreError::NotWritable { .. } | StoreError::DiskFull { .. })) => {
                let store = SqliteStore::open_to_look(&path)
                    .ok()
                    .filter(|store| matches!(store.version(), Ok(SqliteStore::VERSION)));
                match store {
                    Some(store) => Ok(Self { project, store }),
                    None => Err(error.into()),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a project that is known.
    pub fn of(project: Project) -> Result<Self, CommandError> {
        let dir = project.ralph_dir();
        std::fs::create_dir_all(&dir).map_err(|e| {
            CommandError::environment(format_args!("{} cannot be made: {e}", dir.display()))
                .hint("check the directory's permissions and free space")
        })?;
        keep_out_of_git(&project);
        let store = SqliteStore::open(&project.database())?;
        Ok(Self { project, store })
    }

    /// The settings in force, flags not included.
    pub fn settings(&self) -> Result<Settings, CommandError> {
        let mut settings = Settings::load(&self.project.config(), env::vars_os())?;
        let specs = self.specs()?;
        // With several specs each speaks for its own tasks.
        if let [(tasks, state)] = &specs[..] {
            apply_state(&mut settings, state, tasks);
        }
        Ok(settings)
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

    /// Records tries whose process died, so that their tasks can be changed.
    pub fn forget_dead_claims(&mut self) -> Result<(), CommandError> {
        let settings = self.settings()?;
        let policy = crate::commands::run::policy(&settings);
        let crew = crate::commands::run::Crew::of(&settings).ok();
        let agents = crew.as_ref().map(|crew| crew.known()).unwrap_or_default();
        Recovery {
            project: &self.project,
            store: &mut self.store,
            host: &ThisHost::new(),
            agents: &agents,
            policy: &policy,
            breaker_threshold: settings.count("breaker", "threshold").unwrap_or(5),
            now: now(),
            random: &mut random,
            own_run: None,
        }
        .run(&mut |_| None)?;
        Ok(())
    }

    /// The run under way, the latest of several; else the last one.
    pub fn present_run(&self) -> Result<Option<RunRow>, CommandError> {
        let active = self.store.open_runs()?.into_iter().rfind(is_active);
        match active {
            Some(run) => Ok(Some(run)),
            None => Ok(self.store.last_run()?),
        }
    }

    /// Whether any run is under way.
    pub fn has_active_run(&self) -> Result<bool, CommandError> {
        Ok(self.store.open_runs()?.iter().any(is_active))
    }

    /// The task with this id or key.
    pub fn task(&self, name: &str) -> Result<Task, CommandError> {
        Ok(self.store.task(name)?)
    }
}

/// Logs are raw and private: they must not get into git, whoever made the directory. Where it cannot be written, nothing
/// else can either, and opening the database says so better.
fn keep_out_of_git(project: &Project) {
    let ignore = project.ralph_dir().join(".gitignore");
    if !ignore.exists() && std::fs::write(&ignore, GITIGNORE).is_err() {
        // Half of one would stay as it is.
        let _ = std::fs::remove_file(&ignore);
    }
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
    if let Some(on) = state.recovery_mode {
        settings.set_spec("recovery", "enabled", Value::Flag(on), &file);
    }
    for (section, name, number) in [
        (
            "recovery",
            "max_fix_tasks_per_original",
            state.max_fix_tasks_per_original,
        ),
        ("recovery", "max_fix_task_depth", state.max_fix_task_depth),
        ("run", "max_attempts", state.max_task_iterations),
    ] {
        if let Some(number) = number {
            settings.set_spec(section, name, Value::Count(number as u64), &file);
        }
    }
}

/// The directory the command works in.
pub fn start_dir(dir: Option<&Path>) -> Result<PathBuf, CommandError> {
    let Some(dir) = dir else {
        return env::current_dir().map_err(|e| {
            CommandError::usage(format_args!("the directory cannot be entered: {e}"))
        });
    };
    let whole = dir.canonicalize().map_err(|e| {
        CommandError::usage(format_args!("{} cannot be entered: {e}", dir.display()))
    })?;
    match whole.is_dir() {
        true => Ok(whole),
        false => Err(CommandError::usage(format_args!(
            "{} is not a directory",
            dir.display()
        ))),
    }
}

/// Now.
pub fn now() -> Timestamp {
    SystemClock.now()
}

/// The time so long ago.
pub fn ago(span: Duration) -> Timestamp {
    let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now().as_millis().saturating_sub(millis))
}

/// Fresh random bits.
pub fn random() -> u64 {
    fastrand::u64(..)
}

/// There is none here.
pub fn no_project(here: &Path) -> CommandError {
    let message = format!(
        "there is no Ralph project in {} or above it",
        here.display()
    );
    CommandError::no_plan(message)
        .hint("`ralph init` makes one here; `ralph demo` shows what happens then")
}
