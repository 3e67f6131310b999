//! Which programs git may run by itself: filters, hooks, signing, and what fetches objects. Those that were there when the
//! run began are a person's and stay on. Those that appeared since may be an agent's: they are off in every call but the
//! one real commit, which gets less time where it runs one. After one held up a commit they are off in later commits too,
//! so that a filter that sleeps cannot hold up a run.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use super::call::CallKind;
use super::paths::{display_path, on_disk};
use super::repository::Repository;
use super::{GitError, GitFault, RemoteFault};
use crate::files::{Stamp, stamp};
use crate::text::{few, mask_secrets, one_line};

/// Submodules in deeper folders are not looked for.
const MODULE_DEPTH: u32 = 4;
const MOST_NAMED: usize = 5;
const FILTER_OFF: [(&str, &str); 4] = [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")];
/// Settings about signatures that git has a value for where nobody sets one.
const SIGNING_DEFAULTS: [(&str, &str); 3] =
    [("commit.gpgsign", "false"), ("gpg.format", "openpgp"), ("gpg.program", "gpg")];

/// What a hook's key begins with; no setting's does.
const HOOK: &[u8] = b"hook\0";
const ATTRIBUTES: &[u8] = b"attributes\0";

/// Settings, hooks and attributes, each with the file it is in and its value, for each time it is set. A hook's value is
/// how its file looks.
pub(super) type Settings = BTreeMap<Vec<u8>, Vec<(PathBuf, Vec<u8>)>>;
type Stamps = BTreeMap<PathBuf, Stamp>;
type Variables = Vec<(OsString, OsString)>;

/// What git would run, at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
struct Programs(Settings);

/// The programs of a repository since the run began; nothing is turned off before [`Repository::watch_programs`].
#[derive(Debug, Default)]
pub(super) struct ProgramWatch {
    start: Programs,
    now: Programs,
    /// As they were when changes were last reported.
    reported: Programs,
    /// Every file that could change any of this.
    stamps: Stamps,
    /// How often everything was read.
    reads: u64,
    /// The configuration of each submodule when the run began.
    modules: Stamps,
    overrides: Variables,
    /// A new program held up a commit: later commits run none of them either.
    distrusts_new: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProgramKind {
    /// It changes what is committed.
    Filter,
    /// It checks the commit, or acts on it.
    Hook,
    Signing,
}

/// A program that a commit runs and that was not there when the run began, or was another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewProgram {
    pub(super) kind: ProgramKind,
    /// Its name and the file that defines it.
    pub(super) name: String,
    /// What a person does to be rid of it.
    pub(super) fix: String,
}

impl Repository {
    /// Takes note of everything that is there now.
    pub(super) fn watch_programs(&self) -> Result<(), GitError> {
        let mut watch = ProgramWatch {
            modules: self.module_configs().into_iter().map(stamped).collect(),
            ..ProgramWatch::default()
        };
        watch.read(self)?;
        watch.start = watch.now.clone();
        watch.reported = watch.now.clone();
        *self.programs() = watch;
        Ok(())
    }

    pub(super) fn programs(&self) -> std::sync::MutexGuard<'_, ProgramWatch> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Variables that turn off what appeared since the run began. A commit runs all of it until one held it up.
    pub(super) fn overrides(&self, kind: CallKind) -> Result<Variables, GitError> {
        let mut programs = self.programs();
        if matches!(kind, CallKind::Commit(_)) && !programs.distrusts_new {
            return Ok(Vec::new());
        }
        programs.refresh(self)?;
        Ok(programs.overrides.clone())
    }

    /// An agent may not decide where the run's work is pushed to, as whom, and what runs meanwhile.
    pub(super) fn refuse_changed_remote(&self, remote: &str) -> Result<(), GitError> {
        let mut programs = self.programs();
        programs.refresh(self)?;
        let (start, now) = (&programs.start, &programs.now);
        let changed = now.changed_keys(start).chain(start.changed_keys(now));
        let keys: BTreeSet<String> = changed
            .filter(|key| decides_pushes(key, remote))
            .map(|key| one_line(&mask_secrets(&display_path(key)), 100))
            .collect();
        match keys.is_empty() {
            true => Ok(()),
            false => Err(RemoteFault::Changed { keys: keys.into_iter().collect() }.into()),
        }
    }

    /// What changed since this was last asked, each file with what is new in it.
    pub(super) fn program_changes(&self) -> Result<Vec<String>, GitError> {
        self.check()?;
        let mut programs = self.programs();
        programs.refresh(self)?;
        let changes = changes(&programs.reported, &programs.now, self);
        programs.reported = programs.now.clone();
        Ok(changes)
    }

    /// How often the configuration was read, now that it was if it changed.
    pub(super) fn config_reads(&self) -> Result<u64, GitError> {
        let mut programs = self.programs();
        programs.refresh(self)?;
        Ok(programs.reads)
    }

    /// Whether a person wants commits to be signed.
    pub(super) fn signs_commits(&self) -> Result<bool, GitError> {
        let programs = self.programs();
        if programs.reads > 0 {
            let values = programs.start.values(b"commit.gpgsign");
            // Without a value it is on, too.
            let is_on = |value: &&[u8]| {
                ["", "true", "yes", "on", "1"].iter().any(|on| value.eq_ignore_ascii_case(on.as_bytes()))
            };
            return Ok(values.last().is_some_and(is_on));
        }
        drop(programs);
        let call = self.query(&["config", "--type=bool", "--get", "commit.gpgSign"]);
        Ok(call.output()?.stdout.starts_with(b"true"))
    }

    pub(super) fn has_hooks(&self) -> bool {
        self.programs().now.0.keys().any(|key| key.starts_with(HOOK))
    }

    /// From now on commits run no program that appeared during the run.
    pub(super) fn distrust_new_programs(&self) {
        self.programs().distrusts_new = true;
    }

    /// The programs that a commit runs and that appeared or changed since the run began.
    pub(super) fn new_in_commits(&self) -> Result<Vec<NewProgram>, GitError> {
        let mut programs = self.programs();
        if programs.distrusts_new {
            return Ok(Vec::new());
        }
        programs.refresh(self)?;
        Ok(new_in_commits(&programs.start, &programs.now, self))
    }

    /// All settings as git reads them; fails where it cannot.
    pub(super) fn settings(&self) -> Result<Settings, GitError> {
        let settings = self.config_list(&[]);
        settings.map_err(|error| match error {
            // Every other call of git would fail as well.
            GitError::Refused { message, .. } => self.calls.fail(GitFault::Config(message)),
            error => error,
        })
    }

    /// The filters in the configuration of a submodule.
    fn module_filters(&self, file: &Path) -> Result<Settings, GitError> {
        let mut settings = match self.config_list(&[OsStr::new("--file"), file.as_os_str()]) {
            // Half a submodule, or one that git cannot read: git runs no filter of it either.
            Err(GitError::Refused { .. }) => Settings::new(),
            settings => settings?,
        };
        settings.retain(|key, _| filter_name(key).is_some());
        Ok(settings)
    }

    fn config_list(&self, options: &[&OsStr]) -> Result<Settings, GitError> {
        let mut call = self.query(&["config", "--list", "-z", "--show-origin"]);
        for option in options {
            call = call.arg(option);
        }
        let out = call.run_unguarded()?;
        let mut pieces = out.split(|b| *b == 0);
        let mut settings = Settings::new();
        while let (Some(origin), Some(setting)) = (pieces.next(), pieces.next()) {
            let file = match origin.strip_prefix(b"file:") {
                Some(file) => on_disk(&self.top, file),
                None => PathBuf::new(),
            };
            // The value follows a line's end.
            let mut parts = setting.splitn(2, |b| *b == b'\n').map(<[u8]>::to_vec);
            let key = parts.next().unwrap_or_default();
            let values = settings.entry(key).or_default();
            values.push((file, parts.next().unwrap_or_default()));
        }
        Ok(settings)
    }

    /// The configuration files of submodules, whose names may be paths.
    pub(super) fn module_configs(&self) -> Vec<PathBuf> {
        fn walk(dir: &Path, depth: u32, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.join("HEAD").exists() {
                    found.push(path.join("config"));
                } else if depth > 0 && path.is_dir() {
                    walk(&path, depth - 1, found);
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.shared_dir.join("modules"), MODULE_DEPTH, &mut found);
        found
    }

    /// A file as a person of the project knows it.
    fn display_file(&self, path: &Path) -> String {
        let inside = match path.strip_prefix(&self.shared_dir) {
            Ok(rest) => Path::new(".git").join(rest),
            Err(_) => path.strip_prefix(&self.top).unwrap_or(path).to_owned(),
        };
        let text = match inside.as_os_str() == OsStr::new("") {
            true => "the command line".to_owned(),
            false => inside.display().to_string(),
        };
        one_line(&text, 300)
    }
}

fn stamped(path: PathBuf) -> (PathBuf, Stamp) {
    let stamp = stamp(&path);
    (path, stamp)
}

impl ProgramWatch {
    pub(super) fn settings(&self) -> &Settings {
        &self.now.0
    }

    pub(super) fn config_files(&self) -> BTreeSet<PathBuf> {
        self.now.config_files()
    }

    /// Reads everything again if a file changed that it depends on.
    fn refresh(&mut self, repository: &Repository) -> Result<(), GitError> {
        let is_same = |(path, known): (&PathBuf, &Stamp)| stamp(path) == *known;
        if !self.stamps.iter().all(is_same) {
            self.read(repository)?;
            self.overrides = overrides(&self.start, &self.now);
        }
        Ok(())
    }

    fn read(&mut self, repository: &Repository) -> Result<(), GitError> {
        let shared = &repository.shared_dir;
        let attributes = shared.join("info/attributes");
        let mut files = personal_config_files();
        files.extend([
            shared.join("config"),
            repository.git_dir.join("config.worktree"),
            attributes.clone(),
            shared.join("modules"),
        ]);
        files.extend(self.start.config_files());
        // Before the settings: what changes meanwhile is seen the next time.
        let mut stamps: Stamps = files.into_iter().map(stamped).collect();
        let mut now = Programs(repository.settings()?);
        for file in now.config_files() {
            stamps.entry(file.clone()).or_insert_with(|| stamp(&file));
        }
        for (path, stamp) in repository.module_configs().into_iter().map(stamped) {
            if self.modules.get(&path) != Some(&stamp) {
                for (key, values) in repository.module_filters(&path)? {
                    now.0.entry(key).or_default().extend(values);
                }
            }
            stamps.insert(path, stamp);
        }
        let hooks_dir = match now.values(b"core.hookspath").last() {
            Some(path) => on_disk(&repository.top, path),
            None => shared.join("hooks"),
        };
        stamps.insert(hooks_dir.clone(), stamp(&hooks_dir));
        for hook in fs::read_dir(&hooks_dir).into_iter().flatten().flatten() {
            let name = hook.file_name();
            if !name.as_bytes().ends_with(b".sample") {
                let (path, stamp) = stamped(hook.path());
                stamps.insert(path.clone(), stamp);
                now.add_file([HOOK, name.as_bytes()].concat(), path, stamp);
            }
        }
        now.add_file(ATTRIBUTES.to_vec(), attributes.clone(), stamp(&attributes));
        self.stamps = stamps;
        self.now = now;
        self.reads += 1;
        Ok(())
    }
}

impl Programs {
    fn add_file(&mut self, key: Vec<u8>, path: PathBuf, stamp: Stamp) {
        if let Some(stamp) = stamp {
            let value = format!("{stamp:?}").into_bytes();
            self.0.insert(key, vec![(path, value)]);
        }
    }

    /// The files that settings come from and those they include, also where these are not there yet.
    fn config_files(&self) -> BTreeSet<PathBuf> {
        let mut files = BTreeSet::new();
        for (key, values) in &self.0 {
            let is_include =
                key == b"include.path" || key.starts_with(b"includeif.") && key.ends_with(b".path");
            for (origin, value) in values {
                files.insert(origin.clone());
                if is_include {
                    files.insert(match value.strip_prefix(b"~/") {
                        Some(rest) => {
                            let home = std::env::var_os("HOME").unwrap_or_default();
                            on_disk(Path::new(&home), rest)
                        }
                        None => on_disk(origin.parent().unwrap_or(Path::new("")), value),
                    });
                }
            }
        }
        // Settings of a command line are in no file.
        files.remove(Path::new(""));
        files
    }

    fn values(&self, key: &[u8]) -> Vec<&[u8]> {
        let all = self.0.get(key).into_iter().flatten();
        all.map(|(_, value)| value.as_slice()).collect()
    }

    /// What is not as it was. What was removed runs nothing.
    fn changed_keys<'k>(&'k self, start: &Self) -> impl Iterator<Item = &'k Vec<u8>> {
        let keys = self.0.keys();
        keys.filter(|key| start.values(key) != self.values(key))
    }

    fn has_filter(&self, name: &[u8]) -> bool {
        self.0.keys().any(|key| filter_name(key) == Some(name))
    }

    /// The file that has the last say about a key.
    fn file_of(&self, key: &[u8]) -> &Path {
        let files = self.0.get(key).into_iter().flatten();
        // Ralph's own options come last and are in no file.
        let mut files = files.rev().map(|(file, _)| file.as_path());
        let file = files.find(|file| !file.as_os_str().is_empty());
        file.unwrap_or(Path::new(""))
    }
}

/// Where git looks for a person's own settings; a file there may not exist yet.
fn personal_config_files() -> BTreeSet<PathBuf> {
    if let Some(file) = std::env::var_os("GIT_CONFIG_GLOBAL") {
        return BTreeSet::from([file.into()]);
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let more = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let more = more.or_else(|| Some(home.as_ref()?.join(".config")));
    let own = home.map(|home| home.join(".gitconfig"));
    let more = more.map(|more| more.join("git/config"));
    own.into_iter().chain(more).collect()
}

/// The name in `filter.NAME.clean` and the like.
fn filter_name(key: &[u8]) -> Option<&[u8]> {
    let rest = key.strip_prefix(b"filter.")?;
    let at = rest.iter().rposition(|b| *b == b'.')?;
    rest.get(..at)
}

fn is_about_signing(key: &[u8]) -> bool {
    key.starts_with(b"gpg.") || key == b"commit.gpgsign" || key == b"user.signingkey"
}

/// Whether a setting decides where a push goes, as whom, and which programs it runs.
fn decides_pushes(key: &[u8], remote: &str) -> bool {
    const SECTIONS: [&[u8]; 8] =
        [b"url.", b"credential.", b"http.", b"ssh.", b"protocol.", b"push.", b"fetch.", b"transfer."];
    const KEYS: [&[u8]; 4] =
        [b"core.sshcommand", b"core.gitproxy", b"core.askpass", b"core.alternaterefscommand"];
    let of_remote = key.strip_prefix(b"remote.").and_then(|rest| rest.strip_prefix(remote.as_bytes()));
    of_remote.is_some_and(|rest| rest.starts_with(b"."))
        || SECTIONS.iter().any(|section| key.starts_with(section))
        || KEYS.contains(&key)
}

fn kind_of(key: &[u8]) -> Option<ProgramKind> {
    let is_hook = key.starts_with(HOOK) || key == b"core.hookspath";
    match filter_name(key) {
        Some(_) => Some(ProgramKind::Filter),
        None if is_hook => Some(ProgramKind::Hook),
        None => is_about_signing(key).then_some(ProgramKind::Signing),
    }
}

/// What turns off everything that was not there when the run began, or was something else.
fn overrides(start: &Programs, now: &Programs) -> Variables {
    let mut settings: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    for key in now.changed_keys(start) {
        match kind_of(key) {
            Some(ProgramKind::Filter) => {
                let name = filter_name(key).unwrap_or_default();
                settings.extend(FILTER_OFF.map(|(variable, value)| {
                    let key = [b"filter.", name, b".", variable.as_bytes()].concat();
                    (key, value.as_bytes().to_vec())
                }));
            }
            Some(ProgramKind::Hook) => {
                settings.insert(b"core.hooksPath".to_vec(), b"/dev/null".to_vec());
            }
            Some(ProgramKind::Signing) => {
                let known = start.values(key).last().copied();
                let mut defaults = SIGNING_DEFAULTS.iter();
                let default = defaults.find(|(name, _)| name.as_bytes() == key);
                let before = known.or(default.map(|(_, value)| value.as_bytes()));
                settings.extend(before.map(|value| (key.clone(), value.to_vec())));
            }
            None => {}
        }
    }
    let mut variables = Variables::new();
    if now.changed_keys(start).next().is_some() {
        // How missing objects are fetched depends on many settings, and could run anything.
        variables.push(("GIT_NO_LAZY_FETCH".into(), "1".into()));
    }
    if settings.is_empty() {
        return variables;
    }
    // In variables a key can have any name, which it cannot behind `-c`.
    let known = std::env::var("GIT_CONFIG_COUNT");
    let first: usize = known.ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let count = first + settings.len();
    for (n, (key, value)) in (first..).zip(settings) {
        for (part, bytes) in [("KEY", key), ("VALUE", value)] {
            let name = format!("GIT_CONFIG_{part}_{n}");
            variables.push((name.into(), OsString::from_vec(bytes)));
        }
    }
    variables.push(("GIT_CONFIG_COUNT".into(), count.to_string().into()));
    variables
}

fn new_in_commits(start: &Programs, now: &Programs, repository: &Repository) -> Vec<NewProgram> {
    let mut programs: Vec<NewProgram> = Vec::new();
    let is_moved = start.values(b"core.hookspath") != now.values(b"core.hookspath");
    for key in now.changed_keys(start) {
        let file = repository.display_file(now.file_of(key));
        let Some(kind) = kind_of(key) else { continue };
        let program = match filter_name(key) {
            // All hooks of another directory are new.
            None if key.starts_with(HOOK) && is_moved => continue,
            None if key.starts_with(HOOK) => NewProgram {
                kind,
                name: format!("hook {file}"),
                fix: match start.0.contains_key(key) {
                    true => format!("restore {file}"),
                    false => format!("remove {file}"),
                },
            },
            filter => {
                let (name, was_there) = match filter {
                    Some(name) => {
                        let filter = format!("filter {}", display_path(name));
                        (filter, start.has_filter(name))
                    }
                    None if kind == ProgramKind::Hook => ("core.hooksPath".to_owned(), false),
                    None => (display_path(key), start.0.contains_key(key)),
                };
                let name = one_line(&name, 100);
                NewProgram {
                    kind,
                    fix: match was_there {
                        true => format!("restore {name} in {file}"),
                        false => format!("remove {name} from {file}"),
                    },
                    name: format!("{name} in {file}"),
                }
            }
        };
        // A filter has several settings.
        if !programs.contains(&program) {
            programs.push(program);
        }
    }
    programs.sort_by_key(|program| program.kind);
    programs
}

/// What to do about a commit that failed or did not end because of programs that appeared during the run; none where
/// they are not to blame, or where the next attempt can do something about it: a hook that rejects a commit is a check.
pub(super) fn fix_for_commit(error: &GitError, programs: &[NewProgram]) -> Option<String> {
    let has = |kind| programs.iter().any(|program| program.kind == kind);
    let blocks = match error {
        GitError::CommitTimedOut { .. } | GitError::CommitKilled { .. } => !programs.is_empty(),
        GitError::Refused { .. } => has(ProgramKind::Filter),
        GitError::CommitFailed { .. } => has(ProgramKind::Signing),
        _ => false,
    };
    let fixes: Vec<String> = programs.iter().map(|program| program.fix.clone()).collect();
    blocks.then(|| few(&fixes, MOST_NAMED))
}

/// What changed between two moments, for people. Only keys are named: values may hold anything.
fn changes(before: &Programs, now: &Programs, repository: &Repository) -> Vec<String> {
    let mut by_file: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let keys: BTreeSet<&Vec<u8>> = before.0.keys().chain(now.0.keys()).collect();
    for key in keys {
        if before.values(key) == now.values(key) {
            continue;
        }
        let is_there = now.0.contains_key(key);
        let file = if is_there { now } else { before }.file_of(key);
        let is_hook = key.starts_with(HOOK);
        let file = match file.parent() {
            Some(dir) if is_hook => repository.display_file(dir),
            _ => repository.display_file(file),
        };
        let names = by_file.entry(file).or_default();
        if key != ATTRIBUTES {
            let name = key.strip_prefix(HOOK).unwrap_or(key);
            names.push(one_line(&mask_secrets(&display_path(name)), 100));
        }
    }
    let lines = by_file.into_iter().map(|(file, names)| match names.as_slice() {
        [] => file,
        names => format!("{file}: {}", few(names, MOST_NAMED)),
    });
    lines.collect()
}

#[cfg(test)]
mod tests;
