//! Programs that git runs by itself: filters, hooks, and what fetches objects. Those that were there when the run began
//! are a person's and stay on. Those that appeared since may be an agent's: they are off in every call but the one real
//! commit, which gets less time where it runs one. After one held up a commit they are off in the later commits too, so
//! that a filter that sleeps cannot hold up a run.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::GitError;
use super::call::Call;
use super::conduct::{Conduct, GitFault};
use super::paths::{on_disk, shown};
use super::regular::{FileStamp, Repository, stamp};

/// Submodules in deeper folders are not looked for.
const MODULE_DEPTH: u32 = 4;
/// No more keys than this are named in a message.
const MOST_NAMED: usize = 5;

/// A setting by its full key: the file it is in and its value, for each time it is set.
type Settings = BTreeMap<Vec<u8>, Vec<(PathBuf, Vec<u8>)>>;

/// What git would run, at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
struct Known {
    settings: Settings,
    /// Filters in the configuration of submodules that changed since the run began.
    module_filters: BTreeSet<Vec<u8>>,
    hooks_dir: PathBuf,
    hooks: BTreeMap<OsString, FileStamp>,
    attributes: Option<FileStamp>,
}

/// The programs of a repository, from the start of a run on.
#[derive(Debug)]
pub(super) struct Programs {
    repository: Repository,
    start: Known,
    now: Known,
    /// As it was when changes were last asked for.
    told: Known,
    /// How every file looked that could change any of this.
    stamps: BTreeMap<PathBuf, Option<FileStamp>>,
    /// How the configuration of each submodule looked when the run began.
    modules: BTreeMap<PathBuf, Option<FileStamp>>,
    overrides: Overrides,
}

/// What a call of git turns off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Overrides {
    settings: Vec<(OsString, OsString)>,
    /// Objects that are missing are not fetched: that could run anything.
    no_fetch: bool,
}

impl Overrides {
    /// The variables that say so to git. In variables a key can have any name, which it cannot behind `-c`.
    pub(super) fn variables(&self) -> Vec<(OsString, OsString)> {
        let mut variables = Vec::new();
        if self.no_fetch {
            variables.push(("GIT_NO_LAZY_FETCH".into(), "1".into()));
        }
        if self.settings.is_empty() {
            return variables;
        }
        let known = std::env::var("GIT_CONFIG_COUNT");
        let first: usize = known.ok().and_then(|n| n.parse().ok()).unwrap_or(0);
        for (n, (key, value)) in (first..).zip(&self.settings) {
            variables.push((format!("GIT_CONFIG_KEY_{n}").into(), key.clone()));
            variables.push((format!("GIT_CONFIG_VALUE_{n}").into(), value.clone()));
        }
        let count = first + self.settings.len();
        variables.push(("GIT_CONFIG_COUNT".into(), count.to_string().into()));
        variables
    }
}

impl Programs {
    /// Takes note of everything that is there now.
    pub(super) fn at_start(conduct: &Conduct, repository: &Repository) -> Result<Self, GitError> {
        let modules = modules(repository);
        let modules = modules.into_iter().map(|path| {
            let stamp = stamp(&path);
            (path, stamp)
        });
        let mut programs = Self {
            repository: repository.clone(),
            start: Known::default(),
            now: Known::default(),
            told: Known::default(),
            stamps: BTreeMap::new(),
            modules: modules.collect(),
            overrides: Overrides::default(),
        };
        let known = programs.look(conduct)?;
        programs.start = known.clone();
        programs.told = known.clone();
        programs.now = known;
        Ok(programs)
    }

    /// What has to be turned off now. Costs a few looks at files where nothing changed.
    pub(super) fn overrides(&mut self, conduct: &Conduct) -> Result<Overrides, GitError> {
        let is_same = |(path, known): (&PathBuf, &Option<FileStamp>)| stamp(path) == *known;
        if !self.stamps.iter().all(is_same) {
            self.now = self.look(conduct)?;
            self.overrides = overrides(&self.start, &self.now);
        }
        Ok(self.overrides.clone())
    }

    /// What changed since this was last asked, each file with what is new in it.
    pub(super) fn changes(&mut self, conduct: &Conduct) -> Result<Vec<String>, GitError> {
        self.overrides(conduct)?;
        let changes = changes(&self.told, &self.now, &self.repository);
        self.told = self.now.clone();
        Ok(changes)
    }

    /// The programs that a commit runs and that appeared or changed since the run began.
    pub(super) fn new_in_commits(
        &mut self,
        conduct: &Conduct,
    ) -> Result<Vec<NewProgram>, GitError> {
        self.overrides(conduct)?;
        Ok(new_in_commits(&self.start, &self.now, &self.repository))
    }

    /// Looks at everything anew.
    fn look(&mut self, conduct: &Conduct) -> Result<Known, GitError> {
        let repository = self.repository.clone();
        let (top, shared) = (&repository.top, &repository.shared);
        // Before the look: what changes meanwhile is seen the next time.
        let mut files: BTreeSet<PathBuf> = global_files().into_iter().collect();
        files.extend([
            shared.join("config"),
            repository.git_dir.join("config.worktree"),
            shared.join("info/attributes"),
            shared.join("modules"),
        ]);
        files.extend(self.start.origins());
        let mut stamps = stamps(files);
        let settings = list(conduct, top)?;
        let mut known = Known {
            settings,
            attributes: stamp(&shared.join("info/attributes")),
            ..Known::default()
        };
        for origin in known.origins().into_iter().chain(known.includes()) {
            stamps
                .entry(origin.clone())
                .or_insert_with(|| stamp(&origin));
        }
        for path in modules(&repository) {
            let present = stamp(&path);
            if self.modules.get(&path) != Some(&present) {
                known
                    .module_filters
                    .extend(module_filters(conduct, top, &path)?);
            }
            stamps.insert(path, present);
        }
        known.hooks_dir = match known.settings.get(b"core.hookspath".as_slice()) {
            Some(values) => {
                let last = values.last().map(|(_, value)| value.as_slice());
                on_disk(top, last.unwrap_or_default())
            }
            None => shared.join("hooks"),
        };
        stamps.insert(known.hooks_dir.clone(), stamp(&known.hooks_dir));
        for entry in fs::read_dir(&known.hooks_dir)
            .into_iter()
            .flatten()
            .flatten()
        {
            let is_sample = entry.file_name().as_bytes().ends_with(b".sample");
            if let Some(present) = stamp(&entry.path()).filter(|_| !is_sample) {
                stamps.insert(entry.path(), Some(present));
                known.hooks.insert(entry.file_name(), present);
            }
        }
        self.stamps = stamps;
        Ok(known)
    }
}

impl Known {
    /// The files that settings come from.
    fn origins(&self) -> BTreeSet<PathBuf> {
        let all = self.settings.values().flatten();
        let files = all.map(|(origin, _)| origin.clone());
        files
            .filter(|origin| !origin.as_os_str().is_empty())
            .collect()
    }
}

impl Known {
    /// The files that settings include, also those that are not there yet.
    fn includes(&self) -> BTreeSet<PathBuf> {
        let is_include = |key: &[u8]| {
            key == b"include.path" || key.starts_with(b"includeif.") && key.ends_with(b".path")
        };
        let included = self.settings.iter().filter(|(key, _)| is_include(key));
        let values = included.flat_map(|(_, values)| values);
        values
            .map(|(origin, value)| match value.strip_prefix(b"~/") {
                Some(rest) => {
                    let home = std::env::var_os("HOME").unwrap_or_default();
                    on_disk(Path::new(&home), rest)
                }
                None => on_disk(origin.parent().unwrap_or(Path::new("")), value),
            })
            .collect()
    }
}

fn stamps(files: BTreeSet<PathBuf>) -> BTreeMap<PathBuf, Option<FileStamp>> {
    files
        .into_iter()
        .map(|path| {
            let stamp = stamp(&path);
            (path, stamp)
        })
        .collect()
}

/// Where git looks for a person's own settings; a file there may not exist yet.
fn global_files() -> Vec<PathBuf> {
    if let Some(file) = std::env::var_os("GIT_CONFIG_GLOBAL") {
        return vec![file.into()];
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let more = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let more = more.or_else(|| Some(home.as_ref()?.join(".config")));
    let own = home.map(|home| home.join(".gitconfig"));
    let more = more.map(|more| more.join("git/config"));
    own.into_iter().chain(more).collect()
}

/// The configuration files of submodules, whose names may be paths.
fn modules(repository: &Repository) -> Vec<PathBuf> {
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
    walk(&repository.shared.join("modules"), MODULE_DEPTH, &mut found);
    found
}

/// Fails where git cannot read its configuration.
pub(super) fn check_config(conduct: &Conduct, dir: &Path) -> Result<(), GitError> {
    list(conduct, dir).map(drop)
}

/// All settings as git reads them.
fn list(conduct: &Conduct, top: &Path) -> Result<Settings, GitError> {
    let words = ["config", "--list", "-z", "--show-origin"];
    let out = match Call::new(top, &words).run_unguarded(conduct) {
        // Every other call of git would fail as well.
        Err(GitError::Refused { message, .. }) => {
            return Err(conduct.fail(GitFault::Config(message)));
        }
        out => out?,
    };
    let mut pieces = out.split(|b| *b == 0);
    let mut settings = Settings::new();
    while let (Some(origin), Some(setting)) = (pieces.next(), pieces.next()) {
        let file = origin.strip_prefix(b"file:").unwrap_or_default();
        let (key, value) = split_at_line_end(setting);
        let file = match file {
            b"" => PathBuf::new(),
            file => on_disk(top, file),
        };
        let values = settings.entry(key.to_owned()).or_default();
        values.push((file, value.to_owned()));
    }
    Ok(settings)
}

/// The names of the filters in one file.
fn module_filters(
    conduct: &Conduct,
    top: &Path,
    file: &Path,
) -> Result<BTreeSet<Vec<u8>>, GitError> {
    let call = Call::new(top, &["config", "--list", "-z", "--file"]).arg(file);
    let out = match call.run_unguarded(conduct) {
        // Half a submodule, or what git cannot read: git runs no filter of it either.
        Err(GitError::Refused { .. }) => return Ok(BTreeSet::new()),
        out => out?,
    };
    let keys = out.split(|b| *b == 0).map(|one| split_at_line_end(one).0);
    Ok(keys.filter_map(filter_name).map(<[u8]>::to_vec).collect())
}

fn split_at_line_end(setting: &[u8]) -> (&[u8], &[u8]) {
    match setting.iter().position(|b| *b == b'\n') {
        Some(at) => (
            setting.get(..at).unwrap_or_default(),
            setting.get(at + 1..).unwrap_or_default(),
        ),
        None => (setting, b""),
    }
}

/// The name in `filter.NAME.clean` and the like.
fn filter_name(key: &[u8]) -> Option<&[u8]> {
    let rest = key.strip_prefix(b"filter.")?;
    let at = rest.iter().rposition(|b| *b == b'.')?;
    rest.get(..at)
}

/// Whether a setting has a say in how objects are fetched that are missing here.
fn is_about_fetching(key: &[u8]) -> bool {
    let prefixes: [&[u8]; 6] = [
        b"remote.",
        b"url.",
        b"extensions.",
        b"credential.",
        b"protocol.",
        b"http.",
    ];
    let keys: [&[u8]; 3] = [b"core.sshcommand", b"core.gitproxy", b"core.askpass"];
    prefixes.iter().any(|prefix| key.starts_with(prefix)) || keys.contains(&key)
}

/// The names of filters that appeared or changed, those of submodules included.
fn new_filters(start: &Known, now: &Known) -> BTreeSet<Vec<u8>> {
    let mut filters = now.module_filters.clone();
    filters.retain(|name| {
        let is_of = |key: &Vec<u8>| filter_name(key) == Some(name.as_slice());
        !start.settings.keys().any(is_of)
    });
    let changed = changed_keys(start, now);
    let names = changed.into_iter().filter_map(filter_name);
    filters.extend(names.map(<[u8]>::to_vec));
    filters
}

/// Settings that are not as they were when the run began. Those that were removed run nothing.
fn changed_keys<'k>(start: &Known, now: &'k Known) -> Vec<&'k [u8]> {
    let differs = |key: &&Vec<u8>| values(start, key) != values(now, key);
    let changed = now.settings.keys().filter(differs);
    changed.map(Vec::as_slice).collect()
}

/// What a call has to turn off that was not there when the run began, or was something else.
fn overrides(start: &Known, now: &Known) -> Overrides {
    let mut settings = Vec::new();
    for name in new_filters(start, now) {
        for (variable, value) in [
            ("clean", ""),
            ("smudge", ""),
            ("process", ""),
            ("required", "false"),
        ] {
            let key = [b"filter.", name.as_slice(), b".", variable.as_bytes()].concat();
            settings.push((OsString::from_vec(key), OsString::from(value)));
        }
    }
    if (&start.hooks_dir, &start.hooks) != (&now.hooks_dir, &now.hooks) {
        settings.push(("core.hooksPath".into(), "/dev/null".into()));
    }
    for key in changed_keys(start, now) {
        if let Some(value) = signing_before(start, key) {
            let key = OsString::from_vec(key.to_vec());
            settings.push((key, OsString::from_vec(value)));
        }
    }
    Overrides {
        settings,
        no_fetch: changed_keys(start, now).into_iter().any(is_about_fetching),
    }
}

/// What kind of program git runs in a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProgramKind {
    /// It changes what is committed.
    Filter,
    /// It checks the commit, or acts on it.
    Hook,
    /// It signs the commit.
    Signing,
}

/// A program that a commit runs and that was not there when the run began, or was another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewProgram {
    pub(super) kind: ProgramKind,
    /// Its name and the file that defines it.
    pub(super) name: String,
    /// What a person does to be rid of it.
    pub(super) fix: String,
}

fn new_in_commits(start: &Known, now: &Known, repository: &Repository) -> Vec<NewProgram> {
    let defined_in = |key: &[u8]| {
        let files = now.settings.get(key).into_iter().flatten();
        let file = files.rev().map(|(file, _)| file.as_path()).next();
        place(repository, file.unwrap_or(Path::new("")))
    };
    let mut programs = Vec::new();
    for filter in new_filters(start, now) {
        let name = crate::text::one_line(&shown(&filter), 100);
        let is_of = |key: &&Vec<u8>| filter_name(key) == Some(filter.as_slice());
        let file = match now.settings.keys().find(is_of) {
            Some(key) => defined_in(key),
            None => "the configuration of a submodule".to_owned(),
        };
        let fix = match start.settings.keys().any(|key| is_of(&key)) {
            true => format!("restore filter {name} in {file}"),
            false => format!("remove filter {name} from {file}"),
        };
        programs.push(NewProgram {
            kind: ProgramKind::Filter,
            name: format!("filter {name} in {file}"),
            fix,
        });
    }
    if start.hooks_dir != now.hooks_dir {
        let file = defined_in(b"core.hookspath");
        programs.push(NewProgram {
            kind: ProgramKind::Hook,
            name: format!("core.hooksPath in {file}"),
            fix: format!("remove core.hooksPath from {file}"),
        });
    } else {
        for (hook, stamp) in &now.hooks {
            let known = start.hooks.get(hook);
            if known == Some(stamp) {
                continue;
            }
            let file = place(repository, &now.hooks_dir.join(hook));
            programs.push(NewProgram {
                kind: ProgramKind::Hook,
                name: format!("hook {file}"),
                fix: match known {
                    Some(_) => format!("restore {file}"),
                    None => format!("remove {file}"),
                },
            });
        }
    }
    for key in changed_keys(start, now) {
        if !is_about_signing(key) {
            continue;
        }
        let name = crate::text::one_line(&shown(key), 100);
        let file = defined_in(key);
        let fix = match start.settings.contains_key(key) {
            true => format!("restore {name} in {file}"),
            false => format!("remove {name} from {file}"),
        };
        programs.push(NewProgram {
            kind: ProgramKind::Signing,
            name: format!("{name} in {file}"),
            fix,
        });
    }
    programs
}

fn is_about_signing(key: &[u8]) -> bool {
    key.starts_with(b"gpg.") || key == b"commit.gpgsign" || key == b"user.signingkey"
}

/// A setting about signatures as it was when the run began, or as git has it where nobody sets it.
fn signing_before(start: &Known, key: &[u8]) -> Option<Vec<u8>> {
    if !is_about_signing(key) {
        return None;
    }
    let known = values(start, key).last().map(|value| value.to_vec());
    known.or(match key {
        b"commit.gpgsign" => Some(b"false".to_vec()),
        b"gpg.format" => Some(b"openpgp".to_vec()),
        b"gpg.program" => Some(b"gpg".to_vec()),
        _ => None,
    })
}

/// What to do about a commit that failed or did not end because of programs that appeared during the run; none where
/// they are not to blame, or where the next attempt can do something about it: a hook that refuses a commit is a check.
pub(super) fn held_up_commit(error: &GitError, programs: &[NewProgram]) -> Option<String> {
    let has = |kind| programs.iter().any(|program| program.kind == kind);
    let blocks = match error {
        GitError::CommitTimedOut { .. } => !programs.is_empty(),
        GitError::Refused { .. } => has(ProgramKind::Filter),
        GitError::CommitFailed { .. } => has(ProgramKind::Signing),
        _ => false,
    };
    let fixes: Vec<String> = programs.iter().map(|program| program.fix.clone()).collect();
    blocks.then(|| crate::text::few(&fixes, MOST_NAMED))
}

/// The values of a setting, wherever they are set.
fn values<'k>(known: &'k Known, key: &[u8]) -> Vec<&'k [u8]> {
    let all = known.settings.get(key).into_iter().flatten();
    all.map(|(_, value)| value.as_slice()).collect()
}

/// What changed between two moments, for people. Only keys are named: values may hold anything.
fn changes(before: &Known, now: &Known, repository: &Repository) -> Vec<String> {
    let mut by_file: BTreeMap<&Path, Vec<String>> = BTreeMap::new();
    let keys: BTreeSet<&Vec<u8>> = before.settings.keys().chain(now.settings.keys()).collect();
    for key in keys {
        if values(before, key) == values(now, key) {
            continue;
        }
        let known = now.settings.get(key).or_else(|| before.settings.get(key));
        let files = known.into_iter().flatten().map(|(file, _)| file.as_path());
        // Ralph's own options come last and are in no file.
        let file = files.rev().find(|file| !file.as_os_str().is_empty());
        let file = file.unwrap_or(Path::new(""));
        let key = crate::text::mask_secrets(&shown(key)).into_owned();
        by_file
            .entry(file)
            .or_default()
            .push(crate::text::one_line(&key, 100));
    }
    let mut told: Vec<String> = by_file
        .into_iter()
        .map(|(file, keys)| {
            let keys = crate::text::few(&keys, MOST_NAMED);
            format!("{}: {keys}", place(repository, file))
        })
        .collect();
    let new_filters = now.module_filters.difference(&before.module_filters);
    let new_filters: Vec<String> = new_filters.map(|name| shown(name)).collect();
    if !new_filters.is_empty() {
        let names = crate::text::few(&new_filters, MOST_NAMED);
        told.push(format!(
            "filters of submodules: {}",
            crate::text::one_line(&names, 300)
        ));
    }
    let names: BTreeSet<&OsString> = before.hooks.keys().chain(now.hooks.keys()).collect();
    let differs = |name: &&&OsString| before.hooks.get(**name) != now.hooks.get(**name);
    let hooks: Vec<String> = names
        .iter()
        .filter(differs)
        .map(|name| crate::text::one_line(&shown(name.as_bytes()), 100))
        .collect();
    if !hooks.is_empty() {
        let names = crate::text::few(&hooks, MOST_NAMED);
        told.push(format!("{}: {names}", place(repository, &now.hooks_dir)));
    }
    if before.attributes != now.attributes {
        told.push(place(
            repository,
            &repository.shared.join("info/attributes"),
        ));
    }
    told
}

/// A path as a person of the project knows it.
fn place(repository: &Repository, path: &Path) -> String {
    let inside = match path.strip_prefix(&repository.shared) {
        Ok(rest) => Path::new(".git").join(rest),
        Err(_) => path
            .strip_prefix(&repository.top)
            .unwrap_or(path)
            .to_owned(),
    };
    let text = match inside.as_os_str() == OsStr::new("") {
        true => "the command line".to_owned(),
        false => inside.display().to_string(),
    };
    crate::text::one_line(&text, 300)
}

#[cfg(test)]
mod tests;
