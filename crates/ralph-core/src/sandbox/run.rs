//! The sandbox of a run: what was found to work, what is enforced by it, and the confinement of single launches.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::backend::{self, Backend, BackendKind, Means, Problem};
use super::denial::{Denial, Judge};
use super::policy::{GitPlaces, Policy, Request, Subject, ThisMachine};
use super::proxy::Proxy;
use super::settings::{Limits, Mode, Network, SandboxSettings};
use super::undo::{Forbidden, Kept, Links, undo};
use super::upstream::Upstream;
use super::work_dir::WorkDir;
use crate::agent::{AgentKind, Launch, SpawnError};
use crate::project::RALPH_DIR;
use crate::which;

/// Who runs Ralph, and how.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    pub home: Option<PathBuf>,
    pub environment: Vec<(String, OsString)>,
    /// Ralph's own program.
    pub program: PathBuf,
}

#[derive(Clone, Debug, Default)]
pub struct Sandbox {
    settings: SandboxSettings,
    surroundings: Surroundings,
    backend: Option<Arc<dyn Backend>>,
    problems: Vec<Problem>,
    machine: Arc<ThisMachine>,
    /// Made with the first launch.
    work_dir: Arc<Mutex<Option<Arc<WorkDir>>>>,
    /// For agents and for gates.
    proxies: [Arc<Mutex<Option<Arc<Proxy>>>>; 2],
}

/// What was enforced, as the attempt's record keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforced {
    /// None where nothing was.
    pub backend: Option<BackendKind>,
    pub mode: Mode,
    pub network: String,
    pub gate_network: String,
    pub limits: Limits,
    /// What the policy says and nothing enforced, each as a sentence.
    pub gaps: Vec<String>,
    /// Why no stronger backend is used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// What is recorded of an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxRecord {
    #[serde(flatten)]
    pub enforced: Enforced,
    /// What was refused, with what would allow it.
    #[serde(default)]
    pub denials: Vec<Denial>,
}

impl Sandbox {
    /// Finds out what works here, unless the settings turn it off. `wanted` names the backends that are tried.
    pub fn new(
        settings: SandboxSettings,
        surroundings: Surroundings,
        wanted: &[BackendKind],
        project_root: &Path,
    ) -> Self {
        let (backend, problems) = match settings.mode {
            Mode::Off => (None, Vec::new()),
            Mode::Auto | Mode::Required => backend::find(wanted, project_root),
        };
        Self { settings, surroundings, backend, problems, ..Self::default() }
    }

    pub fn mode(&self) -> Mode {
        self.settings.mode
    }

    pub fn backend(&self) -> Option<BackendKind> {
        self.backend.as_ref().map(|backend| backend.kind())
    }

    /// Why stronger backends are not used.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Whether attempts must work in a tree apart from Ralph's own files to be confined well.
    pub fn wants_isolation(&self) -> bool {
        self.backend.as_ref().is_some_and(|backend| !backend.protects_inside())
    }

    /// What is enforced in a run; `is_isolated`: whether attempts work in trees of their own.
    pub fn enforced(&self, is_isolated: bool) -> Enforced {
        let SandboxSettings { mode, network, gate_network, limits, deny_read, .. } = &self.settings;
        let mut gaps: Vec<String> = Vec::new();
        if let Some(backend) = &self.backend {
            for network in [network, gate_network] {
                // Of paths it only matters that there are any.
                let policy = Policy {
                    network: network.clone(),
                    limits: *limits,
                    hidden: deny_read.iter().map(PathBuf::from).collect(),
                    copied: self.copied(),
                    ..Policy::default()
                };
                let more = backend.gaps(&policy, is_isolated).into_iter();
                let new: Vec<String> = more.filter(|gap| !gaps.contains(gap)).collect();
                gaps.extend(new);
            }
        }
        Enforced {
            backend: self.backend(),
            mode: *mode,
            network: network.shown(),
            gate_network: gate_network.shown(),
            limits: *limits,
            gaps,
            problems: self.problems.clone(),
        }
    }

    /// Files of any agent that it would get a copy of.
    fn copied(&self) -> BTreeSet<PathBuf> {
        let Surroundings { home: Some(home), environment, .. } = &self.surroundings else {
            return BTreeSet::new();
        };
        let belongings = AgentKind::ALL.into_iter().filter_map(|kind| Some(kind.facts()?.belongings));
        let places = belongings.flat_map(|belongings| belongings.copied);
        places.map(|place| place.at(home, environment)).filter(|path| path.is_file()).collect()
    }

    /// Where the sandbox is required and something of it cannot be enforced: why, and what to do.
    pub fn refusal(&self, is_isolated: bool) -> Option<(String, String)> {
        if self.settings.mode != Mode::Required {
            return None;
        }
        let Some(backend) = self.backend() else {
            let why: Vec<&str> = self.problems.iter().map(|problem| problem.why.as_str()).collect();
            let why = format!("[sandbox] mode is required, and nothing can enforce it: {}", why.join("; "));
            let fix = self.problems.first().map_or("set mode = \"auto\"", |problem| problem.fix.as_str());
            return Some((why, fix.to_owned()));
        };
        let gaps = self.enforced(is_isolated).gaps;
        let gap = gaps.first()?;
        let fix = self.problems.first().map_or("set mode = \"auto\"", |problem| problem.fix.as_str());
        Some((
            format!("[sandbox] mode is required, and {backend} does not enforce all of it: {gap}"),
            fix.to_owned(),
        ))
    }

    /// What confines launches in a working tree; none where nothing does.
    pub fn confinement(
        &self,
        subject: Subject<'_>,
        project_root: &Path,
        work_tree: &Path,
        git: Option<&GitPlaces>,
    ) -> io::Result<Option<Confinement>> {
        let Some(backend) = &self.backend else { return Ok(None) };
        let Surroundings { home, environment, program } = &self.surroundings;
        let request = Request {
            settings: &self.settings,
            subject,
            project_root,
            work_tree,
            git,
            home: home.as_deref(),
            environment,
            program,
        };
        let policy = Policy::new(&request, self.machine.as_ref());
        let work_dir = self.work_dir()?;
        work_dir.prepare(&policy)?;
        let aside = project_root.join(RALPH_DIR);
        let aside = std::fs::canonicalize(&aside).unwrap_or(aside).join(MOVED);
        let proxy = self.proxy(subject, &policy.network, &work_dir)?;
        let (backend, program) = (Arc::clone(backend), program.clone());
        let (settings, home) = (self.settings.clone(), home.clone());
        let is_gate = matches!(subject, Subject::Gate);
        let kept = match backend.protects_inside() {
            true => Kept::default(),
            false => Kept::of(&policy),
        };
        let links = Links::of(&policy);
        let undone = Arc::default();
        Ok(Some(Confinement {
            backend,
            policy,
            work_dir,
            program,
            proxy,
            settings,
            home,
            is_gate,
            kept,
            links,
            aside,
            undone,
        }))
    }

    /// The proxy for a list of hosts, started once for agents and once for gates, where a box has no other way out.
    fn proxy(
        &self,
        subject: Subject<'_>,
        network: &Network,
        work_dir: &WorkDir,
    ) -> io::Result<Option<(PathBuf, Arc<Proxy>)>> {
        let Network::Hosts(hosts) = network else { return Ok(None) };
        if self.wants_isolation() {
            return Ok(None);
        }
        let [of_agents, of_gates] = &self.proxies;
        let (place, name) = match subject {
            Subject::Agent(_) => (of_agents, "agents"),
            Subject::Gate => (of_gates, "gates"),
        };
        let socket = work_dir.path().join(name);
        let mut started = place.lock().unwrap_or_else(PoisonError::into_inner);
        let proxy = match started.as_ref().filter(|_| socket.exists()) {
            Some(proxy) => Arc::clone(proxy),
            None => Arc::new(Proxy::start(&socket, hosts, Upstream::of(&self.surroundings.environment))?),
        };
        *started = Some(Arc::clone(&proxy));
        Ok(Some((socket, proxy)))
    }

    fn work_dir(&self) -> io::Result<Arc<WorkDir>> {
        let mut made = self.work_dir.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(dir) = made.as_ref().filter(|dir| dir.path().is_dir()) {
            return Ok(Arc::clone(dir));
        }
        let dir = Arc::new(WorkDir::make()?);
        *made = Some(Arc::clone(&dir));
        Ok(dir)
    }

    /// Removes the temporary files of the attempt before.
    pub fn clear_temporary_files(&self) {
        let made = self.work_dir.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(dir) = made.as_ref() {
            dir.clear();
        }
    }
}

/// Makes a launch, confined where something confines it. When it has ended, what it did where nothing may be written is undone.
pub fn run_confined<T>(
    confinement: Option<&Confinement>,
    launch: Launch,
    run: impl FnOnce(&Launch) -> Result<T, SpawnError>,
) -> Result<T, SpawnError> {
    let Some(confinement) = confinement else { return run(&launch) };
    let launch = confinement.confine(launch)?;
    let ended = run(&launch);
    confinement.undo_forbidden();
    ended
}

/// A policy and what enforces it.
#[derive(Clone, Debug)]
pub struct Confinement {
    backend: Arc<dyn Backend>,
    policy: Policy,
    work_dir: Arc<WorkDir>,
    program: PathBuf,
    /// Where a list of hosts is enforced, and its socket.
    proxy: Option<(PathBuf, Arc<Proxy>)>,
    settings: SandboxSettings,
    home: Option<PathBuf>,
    is_gate: bool,
    kept: Kept,
    links: Links,
    /// Where what a process made goes that it may not make.
    aside: PathBuf,
    undone: Arc<Mutex<Undone>>,
}

/// What was undone and not yet told.
#[derive(Debug, Default)]
pub struct Undone {
    pub forbidden: Vec<Forbidden>,
    /// Why something could not be undone.
    pub failed: Option<io::Error>,
}

/// The directory for what was moved away, below `.ralph`.
pub const MOVED: &str = "sandbox";

impl Confinement {
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    pub fn backend(&self) -> BackendKind {
        self.backend.kind()
    }

    /// The same launch, confined. A program that is not there is an error as it would be without confinement.
    pub fn confine(&self, launch: Launch) -> Result<Launch, SpawnError> {
        let search = launch.env.iter().chain(&self.policy.environment).find(|(name, _)| name == "PATH");
        let search = search.map(|(_, value)| value.clone());
        let Some(program) = which::find(&launch.program, &launch.cwd, search.as_ref()) else {
            let is_there = which::not_executable(&launch.program, &launch.cwd, search.as_ref()).is_some();
            let kind = if is_there { io::ErrorKind::PermissionDenied } else { io::ErrorKind::NotFound };
            return Err(SpawnError { program: launch.program, source: kind.into() });
        };
        let program = std::path::absolute(&program).unwrap_or(program);
        let launch = Launch { program: program.to_string_lossy().into_owned(), ..launch };
        let proxy = self.proxy.as_ref().map(|(socket, _)| socket.as_path());
        let (temporary, copies) = (self.work_dir.temporary(), self.work_dir.copies());
        let means = Means { program: &self.program, temporary: &temporary, copies: &copies, proxy };
        let name = launch.program.clone();
        let confined = self.backend.confine(&self.policy, launch, &means);
        confined.map_err(|source| SpawnError { program: name, source })
    }

    /// What was refused, by what the process printed and by the proxy.
    pub fn denials(&self, errors: &BTreeSet<String>) -> Vec<Denial> {
        let refused = self.proxy.as_ref().map(|(_, proxy)| proxy.take_refused()).unwrap_or_default();
        let judge = Judge {
            policy: &self.policy,
            cwd: &self.policy.work_tree,
            home: self.home.as_deref(),
            cache: &self.settings.cache,
            network: if self.is_gate { "gate_network" } else { "network" },
            could_write: &could_write,
        };
        judge.denials(errors, &refused)
    }

    /// Undoes what the process did where the policy lets nothing be written: moves away what appeared, and puts back what a
    /// backend cannot protect.
    fn undo_forbidden(&self) {
        let new = undo(&self.policy, &self.kept, &self.links, &self.aside);
        let mut undone = self.undone.lock().unwrap_or_else(PoisonError::into_inner);
        undone.forbidden.extend(new.forbidden);
        undone.failed = undone.failed.take().or(new.failed);
    }

    /// What was undone since this was last asked.
    pub fn take_undone(&self) -> Undone {
        std::mem::take(&mut self.undone.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whether this process could write there, which nothing confines: it could write what is there, or make it.
fn could_write(path: &Path) -> bool {
    use rustix::fs::{Access, access};
    let there = path.ancestors().find(|path| path.symlink_metadata().is_ok());
    there.is_some_and(|path| access(path, Access::WRITE_OK).is_ok())
}
