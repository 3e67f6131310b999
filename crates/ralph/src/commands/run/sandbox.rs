//! The sandbox of a run, from the settings and the person who runs it.

use std::env;
use std::path::{Path, PathBuf};

use ralph_core::engine::{CommitWhen, EngineError};
use ralph_core::git::Git;
use ralph_core::sandbox::{
    BackendKind, Confinement, Limits, Mode, Network, Sandbox, SandboxSettings, Subject, Surroundings, Undone,
};

use crate::command_error::CommandError;
use crate::output;
use crate::settings::{GateNetwork, Settings};

/// Names the only backend that is tried, or none: for tests of one of them, and of all else.
const WANTED: &str = "RALPH_SANDBOX_BACKEND";
const OFF: &str = "off";

pub fn sandbox_settings(settings: &Settings) -> SandboxSettings {
    let sandbox = &settings.sandbox;
    let GateNetwork(gate_network) = &*sandbox.gate_network;
    SandboxSettings {
        mode: *sandbox.mode,
        cache: sandbox.cache.value.clone(),
        deny_read: sandbox.deny_read.value.clone(),
        allow_read: sandbox.allow_read.value.clone(),
        env: sandbox.env.value.clone(),
        network: Network::clone(&sandbox.network.0),
        gate_network: gate_network.clone(),
        limits: Limits {
            processes: sandbox.max_processes.map(|count| count.0),
            memory: sandbox.max_memory.map(|size| size.0),
            file: sandbox.max_file.map(|size| size.0),
        },
    }
}

/// Finds out what can be enforced here.
pub fn sandbox(settings: &SandboxSettings, root: &Path) -> Sandbox {
    let environment = env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let surroundings = Surroundings {
        home: env::home_dir().filter(|home| home.is_absolute()),
        environment: environment.collect(),
        program: env::current_exe().unwrap_or_default(),
    };
    let wanted = env::var(WANTED).ok();
    let backends: Vec<BackendKind> = match &wanted {
        Some(name) => BackendKind::parse(name).into_iter().collect(),
        None => BackendKind::ALL.into(),
    };
    let mut settings = settings.clone();
    if settings.mode == Mode::Auto && wanted.as_deref() == Some(OFF) {
        settings.mode = Mode::Off;
    }
    Sandbox::new(settings, surroundings, &backends, root)
}

/// Whether attempts of a run get a tree of their own because the sandbox cannot protect what is in the work tree. Without
/// commits, or before the first one, there is none.
pub fn isolates(sandbox: &Sandbox, commit: CommitWhen, root: &Path) -> bool {
    let has_commits = || Git::discover(root).is_some_and(|git| git.head_commit().ok().flatten().is_some());
    sandbox.wants_isolation() && commit != CommitWhen::Never && has_commits()
}

/// Refuses where the sandbox is required and something of it cannot be enforced.
pub fn refuse_unconfined(sandbox: &Sandbox, is_isolated: bool) -> Result<(), CommandError> {
    match sandbox.refusal(is_isolated) {
        Some((why, fix)) => Err(CommandError::usage(why).hint(fix)),
        None => Ok(()),
    }
}

/// What confines gates that are run outside of a run.
pub struct GateBox {
    confinement: Option<Confinement>,
    root: PathBuf,
}

impl GateBox {
    pub fn of(settings: &SandboxSettings, root: &Path) -> Result<Self, CommandError> {
        let sandbox = sandbox(settings, root);
        refuse_unconfined(&sandbox, false)?;
        let git = Git::discover(root);
        if let Some(git) = &git {
            git.watch_programs().map_err(EngineError::from)?;
        }
        let places = git.as_ref().map(Git::places);
        let confinement = sandbox.confinement(Subject::Gate, root, root, places.as_ref());
        let confinement = confinement.map_err(|error| CommandError::from(EngineError::Sandbox(error)))?;
        Ok(Self { confinement, root: root.to_owned() })
    }

    pub fn confinement(&self) -> Option<&Confinement> {
        self.confinement.as_ref()
    }
}

impl Drop for GateBox {
    /// Tells what gates did where nothing may be written.
    fn drop(&mut self) {
        let Some(confinement) = &self.confinement else { return };
        let Undone { forbidden, failed } = confinement.take_undone();
        for forbidden in forbidden {
            output::note(format_args!("warning: {}", forbidden.told(&self.root)));
        }
        if let Some(error) = failed {
            output::note(format_args!("warning: cannot undo what a gate may not do: {error}"));
        }
    }
}
