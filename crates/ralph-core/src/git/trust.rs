//! Which programs git may run by itself: filters, hooks, signing, and what fetches objects. Those that were there when the
//! run began are a person's and stay on. Those that appeared since may be an agent's: they are off in every call but the
//! one real commit, which gets less time where it runs one. After one held up a commit they are off in later commits too,
//! so that a filter that sleeps cannot hold up a run.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{MutexGuard, PoisonError};

use super::call::CallKind;
use super::paths::{display_path, on_disk};
use super::repository::Repository;
use super::{Git, GitError, GitFault};
use crate::files::{Stamp, stamp};
use crate::text::{few, one_line};

/// Submodules in deeper folders are not looked for.
const MODULE_DEPTH: u32 = 4;
/// How many keys a message names.
const MOST_NAMED: usize = 5;
/// What turns a filter off.
const FILTER_OFF: [(&str, &str); 4] = [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")];
/// Settings about signatures that git has a value for where nobody sets one.
const SIGNING_DEFAULTS: [(&str, &str); 3] =
    [("commit.gpgsign", "false"), ("gpg.format", "openpgp"), ("gpg.program", "gpg")];

const HOOKS_PATH: &[u8] = b"core.hookspath";
/// What a hook's key begins with; no setting's does.
const HOOK: &[u8] = b"hook\0";
const ATTRIBUTES: &[u8] = b"attributes\0";

/// Settings, hooks and attributes, each with the file it is in and its value, for each time it is set. A hook's value is
/// how its file looks.
pub(super) type Settings = BTreeMap<Vec<u8>, Vec<(PathBuf, Vec<u8>)>>;
type Stamps = BTreeMap<PathBuf, Stamp>;

/// What git runs in a repository since the run began; nothing is turned off before [`Repository::watch_programs`].
#[derive(Debug, Default)]
pub(super) struct ProgramWatch {
    start: Settings,
    now: Settings,
    /// As they were when changes were last reported.
    reported: Settings,
    /// Every file that could change any of this.
    stamps: Stamps,
    /// The configuration of each submodule when the run began.
    modules: Stamps,
    /// A new program held up a commit: later commits run none of them either.
    distrusts_new: bool,
}

/// What kind of program git runs in a commit.
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

impl Git {
    /// Takes note of the programs that git runs by itself: those that appear later are off in every call but the one real
    /// commit.
    pub fn watch_programs(&self) -> Result<(), GitError> {
        let repository = &self.repository;
        let modules = repository.module_configs().into_iter().map(stamped).collect();
        let mut watch = ProgramWatch { modules, ..ProgramWatch::default() };
        watch.read(repository)?;
        watch.start = watch.now.clone();
        watch.reported = watch.now.clone();
        *repository.programs() = watch;
        Ok(())
    }

    /// What changed in git's configuration, hooks and attributes since this was last asked, each file with what is new in it.
    pub fn program_changes(&self) -> Result<Vec<String>, GitError> {
        self.repository.check()?;
        let mut programs = self.repository.present_programs()?;
        let changes = changes(&programs.reported, &programs.now, &self.repository);
        programs.reported = programs.now.clone();
        Ok(changes)
    }

    /// What a person has to do before a commit that failed like this can be made, because of programs that appeared during
    /// the run; and the names of all such programs. Where there is something to do, later commits run none of them.
    pub fn new_programs(&self, error: &GitError) -> (Vec<String>, Option<String>) {
        let programs = self.repository.new_in_commits().unwrap_or_default();
        let fix = fix_for_commit(error, &programs);
        if fix.is_some() {
            self.repository.programs().distrusts_new = true;
        }
        (programs.into_iter().map(|one| one.name).collect(), fix)
    }
}

impl Repository {
    fn programs(&self) -> MutexGuard<'_, ProgramWatch> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, read again if a file changed that they depend on.
    fn present_programs(&self) -> Result<MutexGuard<'_, ProgramWatch>, GitError> {
        let mut programs = self.programs();
        if !programs.stamps.iter().all(|(path, known)| stamp(path) == *known) {
            programs.read(self)?;
        }
        Ok(programs)
    }

    /// Settings that turn off what appeared since the run began; none where nothing changed. A commit runs all of it until
    /// one held it up.
    pub(super) fn overrides(&self, kind: CallKind) -> Result<Option<Vec<(OsString, OsString)>>, GitError> {
        if matches!(kind, CallKind::Commit(_)) && !self.programs().distrusts_new {
            return Ok(None);
        }
        let programs = self.present_programs()?;
        let is_changed = changed_keys(&programs.start, &programs.now).next().is_some();
        Ok(is_changed.then(|| overrides(&programs.start, &programs.now)))
    }

    /// The programs that a commit runs and that appeared or changed since the run began.
    pub(super) fn new_in_commits(&self) -> Result<Vec<NewProgram>, GitError> {
        if self.programs().distrusts_new {
            return Ok(Vec::new());
        }
        let programs = self.present_programs()?;
        Ok(new_in_commits(&programs.start, &programs.now, self))
    }

    /// All settings as git reads them; fails where it cannot.
    pub(super) fn settings(&self) -> Result<Settings, GitError> {
        self.config_list(&[]).map_err(|error| match error {
            // Every other call of git would fail as well.
            GitError::Refused { message, .. } => self.calls.fail(GitFault::Config(message)),
            error => error,
        })
    }

    fn config_list(&self, options: &[&OsStr]) -> Result<Settings, GitError> {
        let call = self.query(&["config", "--list", "-z", "--show-origin"]);
        let out = call.args(options).run_unguarded()?;
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
            settings.entry(key).or_default().push((file, parts.next().unwrap_or_default()));
        }
        Ok(settings)
    }

    /// The configuration files of submodules, whose names may be paths.
    fn module_configs(&self) -> Vec<PathBuf> {
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
        one_line(&inside.display().to_string(), 300)
    }
}

fn stamped(path: PathBuf) -> (PathBuf, Stamp) {
    let stamp = stamp(&path);
    (path, stamp)
}

impl ProgramWatch {
    fn read(&mut self, repository: &Repository) -> Result<(), GitError> {
        let shared = &repository.shared_dir;
        let attributes = shared.join("info/attributes");
        let mut files: BTreeSet<PathBuf> = self.stamps.keys().cloned().collect();
        files.extend(personal_config_files());
        files.extend([shared.join("config"), repository.git_dir.join("config.worktree")]);
        files.extend([attributes.clone(), shared.join("modules")]);
        // Before the settings: what changes meanwhile is seen the next time.
        let mut stamps: Stamps = files.into_iter().map(stamped).collect();
        let mut now = repository.settings()?;
        // Settings of a command line are in no file.
        let origins =
            now.values().flatten().map(|(file, _)| file).filter(|file| !file.as_os_str().is_empty());
        for file in origins {
            stamps.entry(file.clone()).or_insert_with_key(|file| stamp(file));
        }
        for (config, stamp) in repository.module_configs().into_iter().map(stamped) {
            if self.modules.get(&config) != Some(&stamp) {
                let settings = match repository.config_list(&["--file".as_ref(), config.as_os_str()]) {
                    // Half a submodule, or one that git cannot read: git runs no filter of it either.
                    Err(GitError::Refused { .. }) => Settings::new(),
                    settings => settings?,
                };
                for (key, values) in settings.into_iter().filter(|(key, _)| filter_name(key).is_some()) {
                    now.entry(key).or_default().extend(values);
                }
            }
            stamps.insert(config, stamp);
        }
        let hooks_dir = match now.get(HOOKS_PATH).and_then(|values| values.last()) {
            Some((_, path)) => on_disk(&repository.top, path),
            None => shared.join("hooks"),
        };
        stamps.extend([stamped(hooks_dir.clone())]);
        let hooks = fs::read_dir(&hooks_dir).into_iter().flatten().flatten();
        let hooks = hooks.map(|hook| ([HOOK, hook.file_name().as_bytes()].concat(), hook.path()));
        let hooks = hooks.filter(|(key, _)| !key.ends_with(b".sample"));
        for (key, path) in hooks.chain([(ATTRIBUTES.to_vec(), attributes)]) {
            let (path, stamp) = stamped(path);
            stamps.insert(path.clone(), stamp);
            if let Some(stamp) = stamp {
                now.insert(key, vec![(path, format!("{stamp:?}").into_bytes())]);
            }
        }
        (self.stamps, self.now) = (stamps, now);
        Ok(())
    }
}

/// What is there and not as it was. What was removed runs nothing.
fn changed_keys<'k>(before: &'k Settings, now: &'k Settings) -> impl Iterator<Item = &'k Vec<u8>> {
    now.keys().filter(|key| before.get(*key) != now.get(*key))
}

/// The file that has the last say about a key, as people know it.
fn file_of(settings: &Settings, key: &[u8], repository: &Repository) -> String {
    let mut files = settings.get(key).into_iter().flatten().rev().map(|(file, _)| file.as_path());
    // Ralph's own options come last and are in no file.
    let file = files.find(|file| !file.as_os_str().is_empty()).unwrap_or(Path::new(""));
    repository.display_file(file)
}

/// Where git looks for a person's own settings; a file there may not exist yet.
fn personal_config_files() -> impl Iterator<Item = PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let home = variable("HOME");
    let xdg = variable("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
    let files = [
        variable("GIT_CONFIG_GLOBAL"),
        home.map(|home| home.join(".gitconfig")),
        xdg.map(|xdg| xdg.join("git/config")),
    ];
    files.into_iter().flatten()
}

/// The name in `filter.NAME.clean` and the like.
fn filter_name(key: &[u8]) -> Option<&[u8]> {
    let rest = key.strip_prefix(b"filter.")?;
    let at = rest.iter().rposition(|b| *b == b'.')?;
    rest.get(..at)
}

/// The kind of program that a key has a say in.
fn kind_of(key: &[u8]) -> Option<ProgramKind> {
    if filter_name(key).is_some() {
        Some(ProgramKind::Filter)
    } else if key.starts_with(HOOK) || key == HOOKS_PATH {
        Some(ProgramKind::Hook)
    } else {
        let signs = key.starts_with(b"gpg.") || key == b"commit.gpgsign" || key == b"user.signingkey";
        signs.then_some(ProgramKind::Signing)
    }
}

/// What turns off everything that was not there when the run began, or was something else.
fn overrides(start: &Settings, now: &Settings) -> Vec<(OsString, OsString)> {
    let mut settings: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    for key in changed_keys(start, now) {
        match kind_of(key) {
            Some(ProgramKind::Filter) => {
                let name = filter_name(key).unwrap_or_default();
                settings.extend(FILTER_OFF.map(|(variable, value)| {
                    ([b"filter.", name, b".", variable.as_bytes()].concat(), value.into())
                }));
            }
            Some(ProgramKind::Hook) => {
                settings.insert(b"core.hooksPath".to_vec(), b"/dev/null".to_vec());
            }
            Some(ProgramKind::Signing) => {
                let known = start.get(key).and_then(|values| values.last()).map(|(_, value)| value.clone());
                let default = SIGNING_DEFAULTS.iter().find(|(name, _)| name.as_bytes() == key);
                let before = known.or(default.map(|(_, value)| (*value).into()));
                settings.extend(before.map(|value| (key.clone(), value)));
            }
            None => {}
        }
    }
    settings.into_iter().map(|(key, value)| (OsString::from_vec(key), OsString::from_vec(value))).collect()
}

fn new_in_commits(start: &Settings, now: &Settings, repository: &Repository) -> Vec<NewProgram> {
    let is_moved = start.get(HOOKS_PATH) != now.get(HOOKS_PATH);
    let has_filter = |name: &[u8]| start.keys().any(|key| filter_name(key) == Some(name));
    let mut programs: Vec<NewProgram> = Vec::new();
    for key in changed_keys(start, now) {
        let Some(kind) = kind_of(key) else {
            continue;
        };
        let file = file_of(now, key, repository);
        let program = if key.starts_with(HOOK) {
            // All hooks of another directory are new.
            if is_moved {
                continue;
            }
            let what_to_do = if start.contains_key(key) { "restore" } else { "remove" };
            NewProgram { kind, name: format!("hook {file}"), fix: format!("{what_to_do} {file}") }
        } else {
            let (name, was_there) = match filter_name(key) {
                Some(name) => (format!("filter {}", display_path(name)), has_filter(name)),
                None if kind == ProgramKind::Hook => ("core.hooksPath".to_owned(), false),
                None => (display_path(key), start.contains_key(key)),
            };
            let name = one_line(&name, 100);
            let fix = match was_there {
                true => format!("restore {name} in {file}"),
                false => format!("remove {name} from {file}"),
            };
            NewProgram { kind, name: format!("{name} in {file}"), fix }
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
fn fix_for_commit(error: &GitError, programs: &[NewProgram]) -> Option<String> {
    let has = |kind| programs.iter().any(|program| program.kind == kind);
    let blocks = match error {
        GitError::CommitTimedOut { .. } => !programs.is_empty(),
        GitError::Refused { .. } => has(ProgramKind::Filter),
        GitError::CommitFailed { .. } => has(ProgramKind::Signing),
        _ => false,
    };
    let fixes: Vec<String> = programs.iter().map(|program| program.fix.clone()).collect();
    blocks.then(|| few(&fixes, MOST_NAMED))
}

/// What changed between two moments, for people. Only keys are named: values may hold anything.
fn changes(before: &Settings, now: &Settings, repository: &Repository) -> Vec<String> {
    let mut by_file: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let removed = before.keys().filter(|key| !now.contains_key(*key));
    let keys: BTreeSet<&Vec<u8>> = changed_keys(before, now).chain(removed).collect();
    for key in keys {
        let settings = if now.contains_key(key) { now } else { before };
        let mut file = file_of(settings, key, repository);
        let mut name = key.as_slice();
        if let Some(hook) = key.strip_prefix(HOOK) {
            // Hooks are listed below their directory.
            file.truncate(file.rfind('/').unwrap_or(file.len()));
            name = hook;
        }
        let names = by_file.entry(file).or_default();
        if key != ATTRIBUTES {
            names.push(one_line(&display_path(name), 100));
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
