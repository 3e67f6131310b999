//! What one launch may write, read and reach: computed in one place, as plain data with real paths.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::environment;
use super::places::{
    Belongings, CACHES, CREDENTIALS, EXISTING_CACHES, GIT_EXECUTES, GIT_LEADS, MACHINE, PROJECT_SETTINGS,
    Place, SECRET_VARIABLES, START_UP, join,
};
use super::settings::{Limits, Network, SandboxSettings};
use crate::agent::{Agent, AgentKind};

/// Who is started.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    Agent(&'a Agent),
    /// A gate, or any other command that runs what an agent wrote.
    Gate,
}

/// What git keeps outside of a working tree's files, and what it would execute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitPlaces {
    pub top: PathBuf,
    pub git_dir: PathBuf,
    /// Git's directory of all working trees of the repository.
    pub shared_dir: PathBuf,
    /// The directories of submodules.
    pub modules: Vec<PathBuf>,
    /// Files and directories with programs that git would execute, and files with settings that say so.
    pub programs: Vec<PathBuf>,
}

/// What a policy is made of.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    pub settings: &'r SandboxSettings,
    pub subject: Subject<'r>,
    pub project_root: &'r Path,
    pub work_tree: &'r Path,
    pub git: Option<&'r GitPlaces>,
    pub home: Option<&'r Path>,
    pub environment: &'r [(String, OsString)],
    /// Ralph's own program.
    pub program: &'r Path,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Directory,
    /// A file, a socket or a device.
    File,
}

/// What is there on this machine.
pub trait Files {
    /// Where a path leads, if something is there.
    fn real(&self, path: &Path) -> Option<PathBuf>;
    fn kind(&self, path: &Path) -> Option<FileKind>;
    fn entries(&self, dir: &Path) -> Vec<PathBuf>;
    fn is_installed(&self, program: &str) -> bool;
}

/// The files of this machine.
#[derive(Debug, Default)]
pub struct ThisMachine {
    /// What was looked for, and whether it was found: nobody waits for that at every launch.
    installed: Mutex<HashMap<String, bool>>,
}

impl Files for ThisMachine {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        std::fs::canonicalize(path).ok()
    }

    fn kind(&self, path: &Path) -> Option<FileKind> {
        let meta = std::fs::symlink_metadata(path).ok()?;
        Some(if meta.is_dir() { FileKind::Directory } else { FileKind::File })
    }

    fn entries(&self, dir: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }

    fn is_installed(&self, program: &str) -> bool {
        let mut installed = self.installed.lock().unwrap_or_else(PoisonError::into_inner);
        *installed.entry(program.to_owned()).or_insert_with(|| {
            let search = crate::which::search_path();
            crate::which::find(program, Path::new("/"), search.as_ref()).is_some()
        })
    }
}

/// Where everybody may write; a confined process gets a directory of its own there.
pub(super) const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// What one launch may do. Paths are real ones, and everything but [`Self::make`] and [`Self::missing`] exists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    pub work_tree: PathBuf,
    pub writable: BTreeSet<PathBuf>,
    /// The same for a backend that can protect what is read-only in it.
    pub partly: BTreeSet<PathBuf>,
    /// What may not be written, in what may.
    pub read_only: BTreeSet<PathBuf>,
    /// What may not be read.
    pub hidden: BTreeSet<PathBuf>,
    /// What may be read in what may not.
    pub shown: BTreeSet<PathBuf>,
    /// What programs are found along, and what the project and the person have.
    pub used: BTreeSet<PathBuf>,
    /// What stays readable below the directories for temporary files.
    pub kept: BTreeSet<PathBuf>,
    /// Files of which the process writes a copy.
    pub copied: BTreeSet<PathBuf>,
    /// Directories that are made before the launch.
    pub make: BTreeSet<PathBuf>,
    /// What may not be written and is not there: what appears there is moved away after the process.
    pub missing: BTreeSet<PathBuf>,
    /// Links in places that may not be written, which can be replaced all the same.
    pub links: BTreeSet<PathBuf>,
    /// The variables it gets of Ralph's own.
    pub environment: Vec<(String, OsString)>,
    pub network: Network,
    pub limits: Limits,
}

impl Policy {
    pub fn new(request: &Request<'_>, files: &dyn Files) -> Self {
        let mut policy = Self { limits: request.settings.limits, ..Self::default() };
        let belongings = belongings(&request.subject);
        policy.work_tree = real(request.work_tree, files);
        policy.network = match request.subject {
            Subject::Agent(_) => request.settings.network.clone(),
            Subject::Gate => request.settings.gate_network.clone(),
        };
        policy.add_writable(request, &belongings, files);
        policy.add_git(request, files);
        policy.add_read_only(request, &belongings, files);
        policy.add_hidden(request, &belongings, files);
        policy.add_kept(request, files);
        policy.add_environment(request, &belongings);
        policy
    }

    /// Whether something may be written there, were nothing protected in it.
    pub fn is_below_writable(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.writable.contains(above) || self.partly.contains(above))
    }

    fn add_writable(&mut self, request: &Request<'_>, belongings: &[Belongings], files: &dyn Files) {
        self.writable.insert(self.work_tree.clone());
        if let Some(home) = request.home {
            let at = |place: &Place| place.at(home, request.environment);
            for cache in CACHES {
                let is_installed = files.is_installed(cache.tool);
                for place in cache.places {
                    self.may_write(&at(place), is_installed, files);
                }
            }
            for place in EXISTING_CACHES {
                self.may_write(&at(place), false, files);
            }
            for belongings in belongings {
                for place in belongings.state {
                    self.may_write(&at(place), belongings_are_of_one(request), files);
                }
                let copied = belongings.copied.iter().filter_map(|place| files.real(&at(place)));
                self.copied.extend(copied);
            }
        }
        for path in &request.settings.cache {
            self.may_write(&expand(path, request), true, files);
        }
    }

    fn may_write(&mut self, path: &Path, make: bool, files: &dyn Files) {
        let exists = files.real(path);
        if exists.is_none() && !make {
            return;
        }
        let path = exists.clone().unwrap_or_else(|| real(path, files));
        // Variables may say anything; a whole disk is no cache.
        if path.parent().is_none() {
            return;
        }
        if exists.is_none() {
            self.make.insert(path.clone());
        }
        self.writable.insert(path);
    }

    fn add_git(&mut self, request: &Request<'_>, files: &dyn Files) {
        let Some(git) = request.git else { return };
        // That of a submodule or a linked working tree is a file that leads to the directory.
        let entry = real(&git.top, files).join(".git");
        if files.kind(&entry) == Some(FileKind::File) {
            self.protect(&entry, files);
        }
        let (own, shared) = (real(&git.git_dir, files), real(&git.shared_dir, files));
        if own == shared {
            self.writable.insert(shared.clone());
            self.make_in(&shared, "hooks", files);
            for name in GIT_EXECUTES {
                self.protect(&shared.join(name), files);
            }
            for name in GIT_LEADS {
                self.protect(&shared.join(name), files);
            }
            // Those of workers. An agent may add the first one of its own.
            let worktrees = shared.join("worktrees");
            if files.kind(&worktrees).is_some() {
                self.protect(&worktrees, files);
            }
        } else {
            // A linked working tree: what a commit needs, and nothing that others are led by.
            self.make_in(&shared, "logs", files);
            for name in ["objects", "refs", "logs"] {
                self.writable.insert(shared.join(name));
            }
            self.writable.insert(own.clone());
            self.make_in(&shared, "hooks", files);
            self.partly.insert(shared.clone());
            for name in GIT_EXECUTES.iter().chain(GIT_LEADS).chain(&["worktrees"]) {
                self.protect(&shared.join(name), files);
            }
            // Those of the main working tree. Where there are none, a person may make them at any time.
            let others = ["HEAD", "index"].map(|name| shared.join(name));
            for path in others.iter().filter(|path| files.kind(path).is_some()) {
                self.protect(path, files);
            }
            for name in ["commondir", "gitdir", "config.worktree"] {
                self.protect(&own.join(name), files);
            }
            self.protect(&entry, files);
        }
        // A repository of its own in the project's directory would be taken for the project's.
        let (top, work) = (real(&git.top, files), self.work_tree.clone());
        for dir in work.ancestors().take_while(|dir| dir.starts_with(&top) && **dir != top) {
            self.protect(&dir.join(".git"), files);
        }
        for module in &git.modules {
            for name in GIT_EXECUTES.iter().chain(GIT_LEADS) {
                self.protect(&real(module, files).join(name), files);
            }
        }
        for program in &git.programs {
            self.protect(program, files);
        }
    }

    fn make_in(&mut self, dir: &Path, name: &str, files: &dyn Files) {
        let path = dir.join(name);
        if files.kind(&path).is_none() {
            self.make.insert(path);
        }
    }

    fn add_read_only(&mut self, request: &Request<'_>, belongings: &[Belongings], files: &dyn Files) {
        let root = real(request.project_root, files);
        for dir in BTreeSet::from([self.work_tree.clone(), root]) {
            for name in PROJECT_SETTINGS {
                self.protect(&dir.join(name), files);
            }
        }
        let Some(home) = request.home else { return };
        for belongings in belongings {
            for place in belongings.commands {
                self.protect(&place.at(home, request.environment), files);
            }
        }
        let home = real(home, files);
        if self.is_below_writable(&home) {
            for name in START_UP {
                self.protect(&home.join(name), files);
            }
        }
    }

    /// What may not be written. Where a link is in its place, that is what it leads to.
    fn protect(&mut self, path: &Path, files: &dyn Files) {
        let here = match (path.parent(), path.file_name()) {
            (Some(dir), Some(name)) => real(dir, files).join(name),
            _ => return,
        };
        if !self.is_below_writable(&here) {
            return;
        }
        let leads = files.real(&here);
        if leads.as_ref().is_some_and(|leads| *leads != here) {
            self.links.insert(here.clone());
        }
        match leads {
            Some(leads) if self.is_below_writable(&leads) => self.read_only.insert(leads),
            Some(_) => false,
            None if self.make.contains(&here) => self.read_only.insert(here),
            None => self.missing.insert(here),
        };
    }

    fn add_hidden(&mut self, request: &Request<'_>, belongings: &[Belongings], files: &dyn Files) {
        let mut hidden: Vec<PathBuf> = MACHINE.iter().map(PathBuf::from).collect();
        let variables =
            request.environment.iter().filter(|(name, _)| SECRET_VARIABLES.contains(&name.as_str()));
        hidden.extend(variables.filter_map(|(_, value)| environment::socket_path(value)));
        if let Some(home) = request.home {
            let needed = belongings.iter().flat_map(|one| one.needs);
            let is_set = |name: &str| request.environment.iter().any(|(set, _)| set == name);
            let needed: Vec<&str> = needed.filter(|(name, _)| is_set(name)).map(|(_, path)| *path).collect();
            let credentials = CREDENTIALS.iter().filter(|name| !needed.contains(name));
            hidden.extend(credentials.map(|name| home.join(name)));
            hidden.extend(other_logins(request, home));
            hidden.extend(other_homes(home, files));
        }
        let expanded = |paths: &[String]| paths.iter().flat_map(|path| expand_all(path, request)).collect();
        let denied: Vec<PathBuf> = expanded(&request.settings.deny_read);
        hidden.extend(denied);
        let allowed: Vec<PathBuf> = expanded(&request.settings.allow_read);
        let allowed: Vec<PathBuf> = allowed.iter().filter_map(|path| files.real(path)).collect();
        let in_use = self.in_use(request, files);
        for path in hidden.iter().filter_map(|path| files.real(path)) {
            let is_allowed = allowed.iter().any(|allowed| path.starts_with(allowed));
            let is_home_in_use = is_a_home(&path) && in_use.iter().any(|used| used.starts_with(&path));
            let holds_all = path.parent().is_none() || self.work_tree == path;
            if !is_allowed && !is_home_in_use && !holds_all {
                self.hidden.insert(path);
            }
        }
        let below_hidden = |path: &PathBuf| self.hidden.iter().any(|hidden| path.starts_with(hidden));
        self.shown.extend(allowed.into_iter().filter(below_hidden));
        // What was found to be writable and a person wants hidden is hidden.
        let hidden = &self.hidden;
        self.writable.retain(|path| !hidden.contains(path));
    }

    /// What programs are found along, and what they belong to.
    fn in_use(&self, request: &Request<'_>, files: &dyn Files) -> Vec<PathBuf> {
        let search = request.environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value);
        let folders = search.into_iter().flat_map(std::env::split_paths);
        let folders = folders.filter(|folder| folder.is_absolute());
        let more = [request.program, request.project_root, request.work_tree].map(Path::to_owned);
        folders.chain(more).filter_map(|path| files.real(&path)).collect()
    }

    /// What stays readable below the directories for temporary files, of which the process gets its own.
    fn add_kept(&mut self, request: &Request<'_>, files: &dyn Files) {
        let temporary: Vec<PathBuf> = TEMPORARY.iter().filter_map(|dir| files.real(Path::new(dir))).collect();
        let mut needed = self.in_use(request, files);
        needed.extend(request.home.and_then(|home| files.real(home)));
        needed.extend(
            request.git.iter().flat_map(|git| [&git.top, &git.shared_dir]).map(|dir| real(dir, files)),
        );
        self.used.extend(needed.iter().cloned());
        let is_masked = |path: &PathBuf| temporary.iter().any(|dir| path.starts_with(dir) && path != dir);
        let kept = needed.into_iter().filter(|path| is_masked(path) && !self.is_below_writable(path));
        let kept: Vec<PathBuf> = kept.collect();
        self.kept.extend(kept);
    }

    fn add_environment(&mut self, request: &Request<'_>, belongings: &[Belongings]) {
        let named = request.settings.env.iter().map(String::as_str);
        let more: Vec<&str> = named.chain(belongings.iter().flat_map(|one| one.variables).copied()).collect();
        self.environment = environment::allowed(request.environment, &more);
        self.environment.retain(|(name, _)| !matches!(name.as_str(), "TMPDIR" | "TMP" | "TEMP"));
    }
}

/// What belongs to the agent that is started. Of a command that cannot be told apart any agent may be behind it.
fn belongings(subject: &Subject<'_>) -> Vec<Belongings> {
    let Subject::Agent(agent) = subject else { return Vec::new() };
    kinds(agent).iter().filter_map(|kind| Some(kind.facts()?.belongings)).collect()
}

/// Whether it is known which agent is started: only then are its missing directories made.
fn belongings_are_of_one(request: &Request<'_>) -> bool {
    matches!(request.subject, Subject::Agent(agent) if kinds(agent).len() == 1)
}

/// The agents whose programs a launch of this one starts.
fn kinds(agent: &Agent) -> Vec<AgentKind> {
    if agent.output() != AgentKind::Command {
        return vec![agent.output()];
    }
    let all = AgentKind::ALL.into_iter().filter(|kind| *kind != AgentKind::Command);
    let is_named = |kind: &AgentKind| {
        let program = kind.facts().map_or("", |facts| facts.program);
        agent
            .setup()
            .command
            .iter()
            .any(|word| Path::new(word).file_name().is_some_and(|name| name == program))
    };
    let named: Vec<AgentKind> = all.clone().filter(is_named).collect();
    if named.is_empty() { all.collect() } else { named }
}

/// Where other agents than the one that is started keep their logins; for a gate, where all of them do.
fn other_logins(request: &Request<'_>, home: &Path) -> Vec<PathBuf> {
    let own = match request.subject {
        Subject::Agent(agent) => kinds(agent),
        Subject::Gate => Vec::new(),
    };
    let others = AgentKind::ALL.into_iter().filter(|kind| !own.contains(kind));
    let files = others.filter_map(AgentKind::facts).flat_map(|facts| facts.credential_files);
    let place = |file: &crate::agent::CredentialFile| Place::new(file.moved_by, file.usual, file.file);
    files.map(|file| place(file).at(home, request.environment)).collect()
}

/// The home directories of other people.
fn other_homes(home: &Path, files: &dyn Files) -> Vec<PathBuf> {
    let own = real(home, files);
    let mut homes: Vec<PathBuf> =
        ["/home", "/Users"].iter().flat_map(|dir| files.entries(Path::new(dir))).collect();
    homes.push("/root".into());
    homes.retain(|path| !own.starts_with(path) && !path.starts_with(&own));
    homes
}

fn is_a_home(path: &Path) -> bool {
    path == Path::new("/root")
        || path.parent().is_some_and(|dir| dir == Path::new("/home") || dir == Path::new("/Users"))
}

/// A path as people write it: `~/x`, absolute, or below the project's root.
fn expand(path: &str, request: &Request<'_>) -> PathBuf {
    match (path.strip_prefix('~'), request.home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            join(home, rest.trim_start_matches('/'))
        }
        _ => request.project_root.join(path),
    }
}

/// The same; one below the project's root is also below the working tree, where that is another.
fn expand_all(path: &str, request: &Request<'_>) -> BTreeSet<PathBuf> {
    let whole = expand(path, request);
    let inside = whole.strip_prefix(request.project_root).ok();
    let in_tree = inside.map(|inside| join(request.work_tree, &inside.to_string_lossy()));
    in_tree.into_iter().chain([whole]).collect()
}

/// Where a path leads; of one that is not there, where what exists of it leads.
fn real(path: &Path, files: &dyn Files) -> PathBuf {
    if let Some(real) = files.real(path) {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real(parent, files).join(name),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests;
