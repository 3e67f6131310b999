//! Running the git program: always in the same environment, with a deadline, and so that it can be interrupted.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, kill_process_group};

use super::repository::Repository;
use super::{GitError, GitFault, RemoteFault};
use crate::agent::{self, Exit, Interrupt, LeftOvers, ProcessLimits, Signal, Stop, Stream, Watch};

/// How long git has to remove its locks after TERM.
const GRACE: Duration = Duration::from_secs(2);
/// How long before its deadline a call is probed for what it is waiting for.
const PROBE: Duration = Duration::from_millis(300);
/// How much of git's error output is kept.
const STDERR: usize = 64 * 1024;
/// A query may take this many times as long as the slowest one so far.
const TIMES_SLOWEST: u32 = 5;
/// A query gets a second more for each of these in the index.
const BYTES_PER_SECOND: u64 = 1024 * 1024;
/// How long a call may go on after the first signal to stop; the second one ends it at once.
const AFTER_SIGNAL: Duration = Duration::from_secs(3);

/// Settings of every call. A daemon that stays would be taken for something an agent left behind. In submodules git would be
/// started again, with the settings and filters that are there: it goes into none (see [`super::submodules`]).
const OWN_CONFIG: [&str; 3] =
    ["core.fsmonitor=false", "submodule.recurse=false", "diff.ignoreSubmodules=dirty"];

/// Where git looks for another index than the repository's.
pub(super) const INDEX_FILE: &str = "GIT_INDEX_FILE";

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

/// Who signs commits that only save work; these need no identity in git's configuration.
const RALPH: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "Ralph"),
    ("GIT_AUTHOR_EMAIL", "ralph@localhost"),
    ("GIT_COMMITTER_NAME", "Ralph"),
    ("GIT_COMMITTER_EMAIL", "ralph@localhost"),
];

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallKind {
    Query,
    Change,
    /// It is part of the one real commit: it may take this long, and runs hooks and filters as they are now.
    Commit(Duration),
    /// It talks to a remote. One that does not answer is no fault of the repository's.
    Remote,
}

/// What all calls in a repository share: limits, and the first fault, after which git is not called again.
#[derive(Debug, Default)]
pub(super) struct CallState {
    limits: GitLimits,
    /// The longest query so far, in milliseconds.
    slowest: AtomicU64,
    fault: OnceLock<GitFault>,
    /// A call was ended because Ralph is to stop: the next one gets no time of its own.
    interrupted: AtomicBool,
    /// How many are at something that no signal interrupts: a commit was made and the index is being updated.
    finishing: AtomicU32,
}

/// While this lives, calls of git are not interrupted.
pub(super) struct Finishing<'c>(&'c CallState);

impl Drop for Finishing<'_> {
    fn drop(&mut self) {
        self.0.finishing.fetch_sub(1, Ordering::Relaxed);
    }
}

impl CallState {
    pub(super) fn new(limits: GitLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    pub(super) fn limits(&self) -> GitLimits {
        self.limits.clone()
    }

    /// Whether git may be called at all.
    pub(super) fn check(&self) -> Result<(), GitError> {
        if let Some(fault) = self.fault.get() {
            return Err(fault.clone().into());
        }
        if self.interrupted.load(Ordering::Relaxed) && !self.is_finishing() {
            return Err(GitError::Interrupted);
        }
        Ok(())
    }

    /// Notes a fault: the first one stays.
    pub(super) fn fail(&self, fault: GitFault) -> GitError {
        self.fault.get_or_init(|| fault).clone().into()
    }

    pub(super) fn fault(&self) -> Option<GitFault> {
        self.fault.get().cloned()
    }

    /// Until the result is dropped no signal interrupts a call; deadlines still hold.
    pub(super) fn finish(&self) -> Finishing<'_> {
        self.finishing.fetch_add(1, Ordering::Relaxed);
        Finishing(self)
    }

    fn is_finishing(&self) -> bool {
        self.finishing.load(Ordering::Relaxed) > 0
    }

    fn slowest(&self) -> Duration {
        Duration::from_millis(self.slowest.load(Ordering::Relaxed))
    }

    fn deadline(&self, kind: CallKind, index_bytes: u64) -> Duration {
        match kind {
            CallKind::Query => query_deadline(self.limits.query, index_bytes, self.slowest()),
            CallKind::Change | CallKind::Remote => self.limits.change,
            CallKind::Commit(limit) => limit,
        }
    }
}

/// The deadline of a query: longer for a large index, and where one took long before.
fn query_deadline(least: Duration, index_bytes: u64, slowest: Duration) -> Duration {
    let for_index = Duration::from_secs(index_bytes / BYTES_PER_SECOND);
    (least + for_index).max(slowest * TIMES_SLOWEST)
}

/// One call of git, at the root of the working tree unless told otherwise.
pub(super) struct Call<'r> {
    repository: &'r Repository,
    kind: CallKind,
    dir: PathBuf,
    name: String,
    config: Vec<String>,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    input: Option<Vec<u8>>,
    ends_with_us: bool,
    /// Whether git itself finds out which repository it is in.
    discovers: bool,
}

#[derive(Debug)]
pub(super) struct Output {
    /// None if a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

impl Output {
    pub(super) fn success(&self) -> bool {
        self.code == Some(0)
    }

    /// The error of a call that did not do what it was made for.
    pub(super) fn refused(&self, command: &str) -> GitError {
        GitError::Refused {
            command: command.to_owned(),
            message: crate::text::one_line(&self.error_text(), 200),
        }
    }

    pub(super) fn error_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    fn succeeded(self, command: String) -> Result<Vec<u8>, GitError> {
        match self.success() {
            true => Ok(self.stdout),
            false => {
                Err(GitError::Refused { command, message: crate::text::one_line(&self.error_text(), 200) })
            }
        }
    }
}

impl<'r> Call<'r> {
    pub(super) fn new(repository: &'r Repository, kind: CallKind, args: &[&str]) -> Self {
        Self {
            repository,
            kind,
            dir: repository.top.clone(),
            name: crate::text::one_line(&args.join(" "), 120),
            config: OWN_CONFIG.map(str::to_owned).into(),
            args: args.iter().map(OsString::from).collect(),
            env: Vec::new(),
            input: None,
            ends_with_us: false,
            discovers: false,
        }
    }

    /// Has git find the repository by itself. No directory of the working tree is taken for one, whatever is in it.
    pub(super) fn discovering(mut self) -> Self {
        self.discovers = true;
        self.config("safe.bareRepository=explicit")
    }

    /// Should Ralph be killed, git is told to end at once: nobody must meet with what it does later.
    pub(super) fn ending_with_us(mut self) -> Self {
        self.ends_with_us = true;
        self
    }

    pub(super) fn in_dir(mut self, dir: &Path) -> Self {
        self.dir = dir.to_owned();
        self
    }

    /// A setting for this call alone: `key=value`.
    pub(super) fn config(mut self, setting: &str) -> Self {
        self.config.push(setting.to_owned());
        self
    }

    /// Agents may have written hooks: none is run.
    pub(super) fn without_hooks(self) -> Self {
        self.config("core.hooksPath=/dev/null")
    }

    pub(super) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(super) fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(OsString::from));
        self
    }

    pub(super) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    pub(super) fn index(mut self, index: &Path) -> Self {
        self.env.push((INDEX_FILE.into(), index.into()));
        self
    }

    /// A name such as `:(top)x` is only a name.
    pub(super) fn literal_paths(mut self) -> Self {
        self.env.push(("GIT_LITERAL_PATHSPECS".into(), "1".into()));
        self
    }

    pub(super) fn signed_by_ralph(mut self) -> Self {
        let variables = RALPH.map(|(name, value)| (name.into(), value.into()));
        self.env.extend(variables);
        self
    }

    pub(super) fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Some(bytes.into());
        self
    }

    pub(super) fn run(self) -> Result<Vec<u8>, GitError> {
        let name = self.name.clone();
        self.output()?.succeeded(name)
    }

    /// What it printed as one line of text, if it succeeded.
    pub(super) fn line(self) -> Result<String, GitError> {
        let out = self.run()?;
        Ok(String::from_utf8_lossy(&out).trim_end().to_owned())
    }

    pub(super) fn output(mut self) -> Result<Output, GitError> {
        self.guard()?;
        self.spawn(Stdio::piped())
    }

    /// The same without asking which programs git may run: for that question itself, which runs none.
    pub(super) fn run_unguarded(self) -> Result<Vec<u8>, GitError> {
        self.repository.check()?;
        let name = self.name.clone();
        self.spawn(Stdio::piped())?.succeeded(name)
    }

    /// Lets it write its output into a file.
    pub(super) fn write_to(mut self, file: File) -> Result<(), GitError> {
        self.guard()?;
        let name = self.name.clone();
        self.spawn(file.into())?.succeeded(name).map(drop)
    }

    /// Checks the repository's files, and turns off the programs that appeared since the run began.
    fn guard(&mut self) -> Result<(), GitError> {
        self.repository.check()?;
        self.env.extend(self.repository.overrides(self.kind)?);
        Ok(())
    }

    fn command(&mut self) -> Command {
        let mut command = Command::new(crate::which::git());
        for setting in &self.config {
            command.args(["-c", setting]);
        }
        command
            .args(&self.args)
            .current_dir(&self.dir)
            // Reading must never get in the way of an agent's own git.
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            // Ctrl-C is Ralph's to deal with.
            .process_group(0);
        // Filters that an agent defined run below git: they do not get Ralph's settings.
        for name in FOREIGN {
            command.env_remove(name);
        }
        for (name, _) in agent::own_settings() {
            command.env_remove(name);
        }
        if !self.discovers {
            command.envs(self.repository.variables());
        }
        command.envs(self.env.drain(..));
        if self.ends_with_us {
            agent::end_with_us(&mut command);
        }
        command
    }

    fn spawn(mut self, stdout: Stdio) -> Result<Output, GitError> {
        let stdin = match self.input.take() {
            None => Stdio::null(),
            Some(bytes) => held_in_memory(&bytes)?.into(),
        };
        let mut command = self.command();
        command.stdin(stdin).stdout(stdout).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let calls = &self.repository.calls;
        let deadline = calls.deadline(self.kind, self.repository.index_bytes());
        let started = Instant::now();
        let mut watch = CallWatch {
            calls,
            dir: &self.dir,
            probe_at: started.checked_add(deadline.saturating_sub(PROBE)),
            waiting_for: None,
            told_to_stop: None,
            stop: Interrupt::default(),
            group: None,
            stdout: Vec::new(),
            stderr: Vec::new(),
        };
        let limits = ProcessLimits { wall: deadline, idle: None, grace: GRACE };
        let stop = watch.stop.clone();
        let left_overs = LeftOvers::AreLeft;
        let ended = agent::run_to_end(&mut child, "", &limits, &stop, &mut watch, left_overs);
        let is_interrupted = match ended.stop {
            Stop::Interrupted => true,
            Stop::WallTimeout(_) | Stop::IdleTimeout(_) => false,
            Stop::Exited | Stop::Budget | Stop::UserNote | Stop::OverLimit(_) | Stop::GuardLost => {
                if self.kind == CallKind::Query {
                    let took = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
                    calls.slowest.fetch_max(took, Ordering::Relaxed);
                }
                return Ok(Output {
                    code: match ended.exit {
                        Exit::Code(code) => Some(code),
                        Exit::Signal(_) => None,
                    },
                    stdout: watch.stdout,
                    stderr: watch.stderr,
                });
            }
        };
        // What git had started is in its group and may have missed the first signal.
        if let Some(group) = watch.group {
            let _ = kill_process_group(group, rustix::process::Signal::KILL);
        }
        if is_interrupted {
            calls.interrupted.store(true, Ordering::Relaxed);
            return Err(GitError::Interrupted);
        }
        let waiting_for = watch.waiting_for.flatten();
        Err(match self.kind {
            CallKind::Commit(limit) => {
                GitError::CommitTimedOut { limit, output: waiting_for.unwrap_or_default() }
            }
            CallKind::Remote => {
                let why = format!("git {} timed out after {} s", self.name, deadline.as_secs());
                RemoteFault::Unreachable { why }.into()
            }
            CallKind::Query | CallKind::Change => {
                calls.fail(GitFault::TimedOut { command: self.name, after: deadline, waiting_for })
            }
        })
    }
}

/// Input comes from a file: with pipes at both ends each side could wait for the other. In memory it needs neither disk
/// space nor a directory for temporary files.
fn held_in_memory(bytes: &[u8]) -> std::io::Result<File> {
    #[cfg(target_os = "linux")]
    let mut file: File = rustix::fs::memfd_create("git-input", rustix::fs::MemfdFlags::CLOEXEC)?.into();
    #[cfg(not(target_os = "linux"))]
    let mut file: File = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

struct CallWatch<'c> {
    calls: &'c CallState,
    dir: &'c Path,
    /// When it is time to see what the call is waiting for: just before its deadline, while that can be seen.
    probe_at: Option<Instant>,
    waiting_for: Option<Option<String>>,
    /// When a signal to stop was first seen.
    told_to_stop: Option<Instant>,
    stop: Interrupt,
    group: Option<Pid>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Watch for CallWatch<'_> {
    fn started(&mut self, group: Pid) {
        self.group = Some(group);
    }

    fn output(&mut self, stream: Stream, chunk: &[u8]) {
        match stream {
            Stream::Out => self.stdout.extend_from_slice(chunk),
            Stream::Err if self.stderr.len() < STDERR => self.stderr.extend_from_slice(chunk),
            Stream::Err => {}
        }
    }

    fn tick(&mut self) {
        let interrupt = &self.calls.limits.interrupt;
        if interrupt.first().is_some() && !self.calls.is_finishing() {
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
            self.waiting_for = Some(waiting_for(group.as_raw_pid(), self.dir));
        }
    }
}

/// What git may be waiting for: another process of its group, or a pipe that it reads as a file.
fn waiting_for(group: i32, dir: &Path) -> Option<String> {
    if let Some(program) = super::repository::other_process_in(group) {
        return Some(format!("it was running `{program}`"));
    }
    let pipe = super::repository::special_rules_file(dir)?;
    let pipe = crate::text::one_line(&pipe.display().to_string(), 300);
    Some(format!("{pipe} is not a regular file"))
}

/// Paths as git reads them with `-z`.
pub(super) fn with_zeros<'p>(paths: impl IntoIterator<Item = &'p [u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    for path in paths {
        out.extend_from_slice(path);
        out.push(0);
    }
    out
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
