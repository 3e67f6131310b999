//! Running the git program: always in the same environment, with a deadline, and so that it can be interrupted.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, kill_process_group};

use super::repository::{RULES, Repository, is_special};
use super::{GitError, GitFault};
use crate::agent::{
    self, BoundedText, Exit, Interrupt, LeftOvers, ProcessLimits, Signal, Stop, Stream, Watch,
};
use crate::text::{mask_secrets, one_line};

/// How long git has to remove its locks after TERM.
const GRACE: Duration = Duration::from_secs(2);
/// How long before its deadline a call is probed for what it is waiting for.
const PROBE: Duration = Duration::from_millis(300);
/// How much of what git and hooks print for people is kept, of its beginning and of its end.
pub(super) const PRINTED: usize = 8 * 1024;
/// A query may take this many times as long as the slowest one so far.
const TIMES_SLOWEST: u32 = 5;
/// A query gets a second more for each of these in the index.
const BYTES_PER_SECOND: u64 = 1024 * 1024;
/// How long a call may go on after the first signal to stop; the second one ends it at once.
const AFTER_SIGNAL: Duration = Duration::from_secs(3);
/// How many entries of the working tree are searched for the cause of a timeout.
const MOST_ENTRIES: usize = 50_000;

/// Where git looks for another index than the repository's.
const INDEX_FILE: &str = "GIT_INDEX_FILE";

/// Variables that are set in git hooks and by people; they would point git at another repository, or change the meaning
/// of paths.
pub(super) const FOREIGN: [&str; 12] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    INDEX_FILE,
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];

/// Settings of every call. Daemons and maintenance in the background would be taken for something an agent left behind.
const SETTINGS: [(&str, &str); 3] =
    [("core.fsmonitor", "false"), ("gc.auto", "0"), ("maintenance.auto", "false")];

/// Who signs commits that only save work; these need no identity in git's configuration.
const RALPH: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "Ralph"),
    ("GIT_AUTHOR_EMAIL", "ralph@localhost"),
    ("GIT_COMMITTER_NAME", "Ralph"),
    ("GIT_COMMITTER_EMAIL", "ralph@localhost"),
];

/// How long git may take.
#[derive(Clone, Debug)]
pub struct GitLimits {
    /// A call that only reads. Repositories with a large index, and those where a call took long before, get more.
    pub query: Duration,
    /// A call that writes an index, objects, references or files; it may run the filters of the repository.
    pub change: Duration,
    pub interrupt: Interrupt,
}

impl Default for GitLimits {
    fn default() -> Self {
        Self {
            query: Duration::from_secs(10),
            change: Duration::from_secs(600),
            interrupt: Interrupt::default(),
        }
    }
}

/// What a call does, which decides how long it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallKind {
    /// It only reads.
    Query,
    Change,
    /// It is part of the one real commit: it may take this long, and runs hooks and filters as they are now.
    Commit(Duration),
}

/// What all calls in a repository share: limits, and the first fault, after which git is not called again.
#[derive(Debug, Default)]
pub(super) struct CallState {
    pub(super) limits: GitLimits,
    /// The longest query so far, in milliseconds.
    pub(super) slowest: AtomicU64,
    pub(super) fault: OnceLock<GitFault>,
    /// A call was ended because Ralph is to stop: the next one gets no time of its own.
    pub(super) interrupted: AtomicBool,
    /// A commit was made and the index is being updated, which no signal interrupts; deadlines still hold.
    pub(super) finishing: AtomicBool,
}

impl CallState {
    /// Whether git may be called at all.
    pub(super) fn check(&self) -> Result<(), GitError> {
        if let Some(fault) = self.fault.get() {
            return Err(fault.clone().into());
        }
        if self.interrupted.load(Ordering::Relaxed) && !self.finishing.load(Ordering::Relaxed) {
            return Err(GitError::Interrupted);
        }
        Ok(())
    }

    /// Notes a fault: the first one stays.
    pub(super) fn fail(&self, fault: GitFault) -> GitError {
        self.fault.get_or_init(|| fault).clone().into()
    }

    fn slowest(&self) -> Duration {
        Duration::from_millis(self.slowest.load(Ordering::Relaxed))
    }
}

/// The deadline of a query: longer for a large index, and where one took long before.
fn query_deadline(least: Duration, index_bytes: u64, slowest: Duration) -> Duration {
    let for_index = Duration::from_secs(index_bytes / BYTES_PER_SECOND);
    (least + for_index).max(slowest * TIMES_SLOWEST)
}

/// One call of git, at the root of the working tree unless told otherwise.
pub(super) struct Call<'c> {
    repository: &'c Repository,
    kind: CallKind,
    dir: PathBuf,
    /// How messages name the call.
    name: String,
    args: Vec<OsString>,
    settings: Vec<(OsString, OsString)>,
    env: Vec<(OsString, OsString)>,
    input: Vec<u8>,
    /// Called many times a second. Who looks on that closely gets everything git prints as one text.
    on_tick: Option<&'c mut dyn FnMut()>,
}

/// What git printed and how it ended.
#[derive(Debug)]
pub(super) struct Output {
    command: String,
    pub(super) exit: Exit,
    pub(super) stdout: Vec<u8>,
    /// What it printed for people, without secrets.
    pub(super) stderr: String,
}

impl Output {
    pub(super) fn success(&self) -> bool {
        self.exit == Exit::Code(0)
    }

    pub(super) fn refused(self) -> GitError {
        GitError::Refused { command: self.command, message: one_line(&self.stderr, 200) }
    }

    fn succeeded(self) -> Result<Vec<u8>, GitError> {
        match self.success() {
            true => Ok(self.stdout),
            false => Err(self.refused()),
        }
    }
}

impl<'c> Call<'c> {
    pub(super) fn new(repository: &'c Repository, kind: CallKind, args: &[&str]) -> Self {
        Self {
            repository,
            kind,
            dir: repository.top.clone(),
            name: one_line(&args.join(" "), 120),
            args: args.iter().map(OsString::from).collect(),
            settings: SETTINGS.map(|(key, value)| (key.into(), value.into())).into(),
            env: Vec::new(),
            input: Vec::new(),
            on_tick: None,
        }
    }

    pub(super) fn in_dir(mut self, dir: &Path) -> Self {
        self.dir = dir.to_owned();
        self
    }

    pub(super) fn setting(mut self, key: &str, value: &str) -> Self {
        self.settings.push((key.into(), value.into()));
        self
    }

    /// Agents may have written hooks: none is run.
    pub(super) fn without_hooks(self) -> Self {
        self.setting("core.hooksPath", "/dev/null")
    }

    pub(super) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(super) fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    pub(super) fn index(self, index: PathBuf) -> Self {
        self.env(INDEX_FILE, index)
    }

    pub(super) fn signed_by_ralph(mut self) -> Self {
        self.env.extend(RALPH.map(|(name, value)| (name.into(), value.into())));
        self
    }

    pub(super) fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// With another limit than the other calls of a commit.
    pub(super) fn within(mut self, limit: Duration) -> Self {
        self.kind = CallKind::Commit(limit);
        self
    }

    pub(super) fn on_tick(mut self, on_tick: &'c mut dyn FnMut()) -> Self {
        self.on_tick = Some(on_tick);
        self
    }

    /// What it printed, if it succeeded.
    pub(super) fn run(self) -> Result<Vec<u8>, GitError> {
        self.output()?.succeeded()
    }

    /// What it printed as one line of text, if it succeeded.
    pub(super) fn line(self) -> Result<String, GitError> {
        let out = self.run()?;
        Ok(String::from_utf8_lossy(&out).trim_end().to_owned())
    }

    /// The paths that it printed with `-z`, if it succeeded.
    pub(super) fn paths<C: FromIterator<Vec<u8>>>(self) -> Result<C, GitError> {
        let out = self.run()?;
        Ok(zero_separated(&out).map(<[u8]>::to_vec).collect())
    }

    pub(super) fn output(self) -> Result<Output, GitError> {
        self.guarded()?.spawn(Stdio::piped())
    }

    /// The same without asking which programs git may run: for that question itself, which runs none.
    pub(super) fn run_unguarded(self) -> Result<Vec<u8>, GitError> {
        self.repository.check()?;
        self.spawn(Stdio::piped())?.succeeded()
    }

    /// Lets it write its output into a file.
    pub(super) fn write_to(self, file: File) -> Result<(), GitError> {
        self.guarded()?.spawn(file.into())?.succeeded().map(drop)
    }

    /// Checks the repository's files, and turns off the programs that appeared since the run began.
    fn guarded(mut self) -> Result<Self, GitError> {
        self.repository.check()?;
        if let Some(overrides) = self.repository.overrides(self.kind)? {
            self.settings.extend(overrides);
            // How missing objects are fetched depends on many settings, and could run anything.
            self.env.push(("GIT_NO_LAZY_FETCH".into(), "1".into()));
        }
        Ok(self)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(crate::which::git());
        command
            .args(&self.args)
            .current_dir(&self.dir)
            // Without a terminal, a program that asks for a passphrase fails at once.
            .env("GIT_TERMINAL_PROMPT", "0")
            .env_remove("GPG_TTY")
            // Ctrl-C is Ralph's to deal with.
            .process_group(0);
        if self.on_tick.is_none() {
            // Reading must never get in the way of an agent's own git.
            command.env("GIT_OPTIONAL_LOCKS", "0").env("LC_ALL", "C");
        }
        // Filters that an agent defined run below git: they do not get Ralph's settings.
        let settings = agent::own_settings().map(|(name, _)| name);
        for name in settings.chain(FOREIGN.map(str::to_owned)) {
            command.env_remove(name);
        }
        // In variables a key can have any name, which it cannot behind `-c`.
        let known = std::env::var("GIT_CONFIG_COUNT");
        let first: usize = known.ok().and_then(|n| n.parse().ok()).unwrap_or(0);
        command.env("GIT_CONFIG_COUNT", (first + self.settings.len()).to_string());
        for (n, (key, value)) in (first..).zip(&self.settings) {
            command.env(format!("GIT_CONFIG_KEY_{n}"), key).env(format!("GIT_CONFIG_VALUE_{n}"), value);
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs it to its end, or to the end of its time.
    fn spawn(self, stdout: Stdio) -> Result<Output, GitError> {
        let stdin = if self.input.is_empty() { Stdio::null() } else { Stdio::piped() };
        let mut child = self.command().stdin(stdin).stdout(stdout).stderr(Stdio::piped()).spawn()?;
        let calls = &self.repository.calls;
        let deadline = match self.kind {
            CallKind::Query => {
                query_deadline(calls.limits.query, self.repository.index_bytes(), calls.slowest())
            }
            CallKind::Change => calls.limits.change,
            CallKind::Commit(limit) => limit,
        };
        let started = Instant::now();
        // Hooks may leave servers behind.
        let left_overs = if self.on_tick.is_some() { LeftOvers::AreEnded } else { LeftOvers::AreLeft };
        let mut watch = CallWatch {
            calls,
            dir: self.dir,
            probe_at: started.checked_add(deadline.saturating_sub(PROBE)),
            waiting_for: None,
            told_to_stop: None,
            stop: Interrupt::default(),
            group: None,
            on_tick: self.on_tick,
            stdout: Vec::new(),
            printed: BoundedText::new(PRINTED, PRINTED),
        };
        let limits = ProcessLimits { wall: deadline, idle: None, grace: GRACE };
        let stop = watch.stop.clone();
        let ended = agent::run_to_end(&mut child, &self.input, &limits, &stop, &mut watch, left_overs);
        if left_overs == LeftOvers::AreEnded {
            agent::end_left_overs(GRACE, &calls.limits.interrupt, None);
        }
        let stderr = mask_secrets(watch.printed.into_text().trim()).into_owned();
        let is_interrupted = match ended.stop {
            Stop::Interrupted => true,
            Stop::WallTimeout(_) | Stop::IdleTimeout(_) => false,
            Stop::Exited | Stop::Budget | Stop::GuardLost => {
                if self.kind == CallKind::Query {
                    let took = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
                    calls.slowest.fetch_max(took, Ordering::Relaxed);
                }
                return Ok(Output { command: self.name, exit: ended.exit, stdout: watch.stdout, stderr });
            }
        };
        // What git had started is in its group and may have missed the first signal.
        if let Some(group) = watch.group {
            let _ = kill_process_group(group, rustix::process::Signal::KILL);
        }
        let waiting_for = watch.waiting_for.flatten();
        Err(match self.kind {
            CallKind::Commit(_) if is_interrupted => GitError::Interrupted,
            CallKind::Commit(limit) => {
                let output = Some(stderr).filter(|text| !text.is_empty()).or(waiting_for);
                GitError::CommitTimedOut { limit, output: output.unwrap_or_default() }
            }
            CallKind::Query | CallKind::Change if is_interrupted => {
                calls.interrupted.store(true, Ordering::Relaxed);
                GitError::Interrupted
            }
            CallKind::Query | CallKind::Change => {
                calls.fail(GitFault::TimedOut { command: self.name, after: deadline, waiting_for })
            }
        })
    }
}

struct CallWatch<'c> {
    calls: &'c CallState,
    dir: PathBuf,
    /// When it is time to see what the call is waiting for: just before its deadline, while that can be seen.
    probe_at: Option<Instant>,
    waiting_for: Option<Option<String>>,
    /// When a signal to stop was first seen.
    told_to_stop: Option<Instant>,
    /// Raised to end the call.
    stop: Interrupt,
    group: Option<Pid>,
    on_tick: Option<&'c mut dyn FnMut()>,
    stdout: Vec<u8>,
    printed: BoundedText,
}

impl Watch for CallWatch<'_> {
    fn started(&mut self, group: Pid) {
        self.group = Some(group);
    }

    fn output(&mut self, stream: Stream, chunk: &[u8]) {
        match stream {
            Stream::Out if self.on_tick.is_none() => self.stdout.extend_from_slice(chunk),
            Stream::Out | Stream::Err => self.printed.push(chunk),
        }
    }

    fn tick(&mut self) {
        if let Some(on_tick) = &mut self.on_tick {
            on_tick();
        }
        let interrupt = &self.calls.limits.interrupt;
        if interrupt.first().is_some() && !self.calls.finishing.load(Ordering::Relaxed) {
            let since = *self.told_to_stop.get_or_insert_with(Instant::now);
            let is_over = since.elapsed() >= AFTER_SIGNAL.max(self.calls.slowest() * 2);
            if interrupt.at_once() && !self.stop.at_once() {
                // Twice, so that it is killed without a grace period.
                self.stop.raise(Signal::Terminate);
                self.stop.raise(Signal::Terminate);
            } else if is_over && self.stop.first().is_none() {
                self.stop.raise(Signal::Terminate);
            }
        }
        let is_time = self.probe_at.is_some_and(|at| Instant::now() >= at);
        if let Some(group) = self.group.filter(|_| is_time && self.waiting_for.is_none()) {
            self.waiting_for = Some(waiting_for(group.as_raw_pid(), &self.dir));
        }
    }
}

/// What git may be waiting for: another process of its group, or a pipe that it reads as a file.
fn waiting_for(group: i32, dir: &Path) -> Option<String> {
    if let Some(program) = crate::host::other_process_in(group) {
        let line = one_line(&program, 120);
        return Some(format!("it was running `{line}`"));
    }
    let pipe = special_rules_file(dir)?;
    let pipe = one_line(&pipe.display().to_string(), 300);
    Some(format!("{pipe} is not a regular file"))
}

/// A pipe or the like in the place of a file with rules, anywhere in the working tree.
fn special_rules_file(top: &Path) -> Option<PathBuf> {
    let mut dirs = vec![top.to_owned()];
    let mut seen = 0;
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).ok()?.flatten() {
            seen += 1;
            if seen > MOST_ENTRIES {
                return None;
            }
            let (path, name) = (entry.path(), entry.file_name());
            if RULES.iter().any(|rules| name == *rules) && is_special(&path) {
                return Some(path);
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && name != ".git" {
                dirs.push(path);
            }
        }
    }
    None
}

/// Paths as git reads them with `-z`.
pub(super) fn with_zeros<'p>(paths: impl IntoIterator<Item = &'p Vec<u8>>) -> Vec<u8> {
    paths.into_iter().flat_map(|path| [path.as_slice(), b"\0"].concat()).collect()
}

/// The pieces of an output that `-z` separates.
pub(super) fn zero_separated(out: &[u8]) -> impl Iterator<Item = &[u8]> {
    out.split(|b| *b == 0).filter(|piece| !piece.is_empty())
}
#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_ordinary_repository_has_ten_seconds_and_a_slow_one_more() {
        let least = GitLimits::default().query;
        let seconds = |index, slowest| query_deadline(least, index, Duration::from_secs(slowest)).as_secs();
        assert_eq!(seconds(100_000, 0), 10);
        assert_eq!(seconds(100_000, 1), 10);
        assert_eq!(seconds(0, 7), 35);
        assert_eq!(seconds(30 * 1024 * 1024, 0), 40);
    }

    #[test]
    fn the_first_fault_stays() {
        let calls = CallState::default();
        assert!(calls.check().is_ok());
        let first = calls.fail(GitFault::NotRegular("/a".into()));
        let second = calls.fail(GitFault::NotRegular("/b".into()));
        assert_eq!(first.to_string(), second.to_string());
        assert!(calls.check().is_err());
    }

    proptest! {
        #[test]
        fn no_deadline_is_shorter_than_the_setting(index: u32, slowest in 0..100_000_u64, least in 1..100_u64) {
            let least = Duration::from_secs(least);
            let slowest = Duration::from_millis(slowest);
            prop_assert!(query_deadline(least, index.into(), slowest) >= least);
        }
    }
}
