//! Running git: always the same surroundings, whoever started Ralph.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, kill_process_group};

use super::GitError;
use super::conduct::{CallKind, Conduct, GitFault, held_up_by};
use crate::agent::{self, Exit, Interrupt, LeftOvers, ProcessLimits, Signal, Stream, Watch};

/// How long git has to remove its locks after TERM.
const GRACE: Duration = Duration::from_secs(2);
/// More of what git complains of is not kept.
const STDERR: usize = 64 * 1024;

/// Where git looks for another index than the repository's.
pub(super) const INDEX_FILE: &str = "GIT_INDEX_FILE";

/// Set in git hooks and by people; they would point at another repository, or give paths another meaning.
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

/// Who signs commits that only keep things safe; these need no identity in the settings.
const KEEPER: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "Ralph"),
    ("GIT_AUTHOR_EMAIL", "ralph@localhost"),
    ("GIT_COMMITTER_NAME", "Ralph"),
    ("GIT_COMMITTER_EMAIL", "ralph@localhost"),
];

/// One call of git.
pub(super) struct Call {
    command: Command,
    conduct: Arc<Conduct>,
    dir: PathBuf,
    kind: CallKind,
    /// For messages.
    said: Vec<String>,
    input: Option<Vec<u8>>,
}

/// What git printed and how it ended.
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
}

impl Call {
    /// Git with these arguments in this directory. It only reads, unless [`Self::kind`] says otherwise.
    pub(super) fn new(dir: &Path, args: &[&str]) -> Self {
        let mut command = Command::new("git");
        command
            // A daemon that stays would be taken for something an agent left behind.
            .args(["-c", "core.fsmonitor=false"])
            .args(args)
            .current_dir(dir)
            // Looking must never stand in the way of an agent's own git.
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            // Ctrl-C is Ralph's to deal with.
            .process_group(0);
        for name in FOREIGN {
            command.env_remove(name);
        }
        // Filters that an agent defined run below git.
        for (name, _) in agent::own_settings() {
            command.env_remove(name);
        }
        Self {
            command,
            conduct: Arc::default(),
            dir: dir.to_owned(),
            kind: CallKind::Query,
            said: args.iter().map(|arg| (*arg).to_owned()).collect(),
            input: None,
        }
    }

    /// Under the rules of a repository.
    pub(super) fn under(mut self, conduct: &Arc<Conduct>) -> Self {
        self.conduct = Arc::clone(conduct);
        self
    }

    /// What the call does, which decides how long it may take and what it may run.
    pub(super) fn kind(mut self, kind: CallKind) -> Self {
        self.kind = kind;
        self
    }

    /// A further argument.
    pub(super) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Further arguments.
    pub(super) fn args(mut self, args: &[&str]) -> Self {
        self.command.args(args);
        self
    }

    /// What messages call it.
    pub(super) fn named(mut self, args: &[&str]) -> Self {
        self.said = args.iter().map(|arg| (*arg).to_owned()).collect();
        self
    }

    /// With another index than the repository's.
    pub(super) fn index(mut self, index: &Path) -> Self {
        self.command.env(INDEX_FILE, index);
        self
    }

    /// Signed by Ralph.
    pub(super) fn signed_by_ralph(mut self) -> Self {
        self.command.envs(KEEPER);
        self
    }

    /// What it reads.
    pub(super) fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = Some(bytes);
        self
    }

    /// What it printed, if it succeeded.
    pub(super) fn run(self) -> Result<Vec<u8>, GitError> {
        let said = self.said();
        succeeded(said, self.output()?)
    }

    /// What it printed as one line of text, if it succeeded.
    pub(super) fn line(self) -> Result<String, GitError> {
        let out = self.run()?;
        Ok(String::from_utf8_lossy(&out).trim_end().to_owned())
    }

    /// What it printed and how it ended.
    pub(super) fn output(mut self) -> Result<Output, GitError> {
        self.guard()?;
        let conduct = Arc::clone(&self.conduct);
        self.attend(&conduct, Stdio::piped())
    }

    /// The same without asking which programs git may run: for the question itself, which runs none.
    pub(super) fn run_unguarded(self, conduct: &Conduct) -> Result<Vec<u8>, GitError> {
        conduct.check()?;
        let said = self.said();
        succeeded(said, self.attend(conduct, Stdio::piped())?)
    }

    /// Lets it write its output into a file.
    pub(super) fn write_to(mut self, file: File) -> Result<(), GitError> {
        self.guard()?;
        let said = self.said();
        let conduct = Arc::clone(&self.conduct);
        succeeded(said, self.attend(&conduct, file.into())?).map(drop)
    }

    fn said(&self) -> String {
        crate::text::one_line(&self.said.join(" "), 120)
    }

    /// Checks the repository's files, and turns off the programs that appeared since the run began.
    fn guard(&mut self) -> Result<(), GitError> {
        self.conduct.check()?;
        let overrides = self.conduct.overrides(self.kind)?;
        self.command.envs(overrides.variables());
        Ok(())
    }

    /// Runs it to its end, or to the end of its time.
    fn attend(mut self, conduct: &Conduct, stdout: Stdio) -> Result<Output, GitError> {
        let stdin = match self.input.take() {
            None => Stdio::null(),
            Some(bytes) => held_in_memory(&bytes)?.into(),
        };
        self.command
            .stdin(stdin)
            .stdout(stdout)
            .stderr(Stdio::piped());
        let mut child = self.command.spawn()?;
        let mut watch = Attended::new(conduct, self.kind, &self.dir);
        let limits = ProcessLimits {
            wall: Duration::MAX,
            idle: None,
            grace: GRACE,
        };
        let stop = watch.stop.clone();
        let ended = agent::attend(
            &mut child,
            "",
            &limits,
            &stop,
            &mut watch,
            LeftOvers::AreLeft,
        );
        let Some(over) = watch.over.take() else {
            conduct.took(self.kind, watch.started.elapsed());
            return Ok(Output {
                code: match ended.exit {
                    Exit::Code(code) => Some(code),
                    Exit::Signal(_) => None,
                },
                stdout: watch.stdout,
                stderr: watch.stderr,
            });
        };
        // What git had started is in its group and may not have heard the first signal.
        if let Some(group) = watch.group {
            let _ = kill_process_group(group, rustix::process::Signal::KILL);
        }
        Err(match (over, self.kind) {
            (Over::Interrupted, _) => conduct.interrupt(),
            (Over::Expired { held_up_by, .. }, CallKind::Commit(limit)) => {
                GitError::CommitTimedOut {
                    limit,
                    output: held_up_by.unwrap_or_default(),
                }
            }
            (Over::Expired { after, held_up_by }, _) => conduct.fail(GitFault::TimedOut {
                command: self.said(),
                after,
                held_up_by,
            }),
        })
    }
}

fn succeeded(said: String, output: Output) -> Result<Vec<u8>, GitError> {
    if output.success() {
        return Ok(output.stdout);
    }
    Err(GitError::Refused {
        command: said,
        message: crate::text::one_line(&String::from_utf8_lossy(&output.stderr), 200),
    })
}

/// Input comes from a file: with pipes at both ends each side could wait for the other. In memory it needs neither room on
/// a disk nor a directory for temporary files.
fn held_in_memory(bytes: &[u8]) -> std::io::Result<File> {
    #[cfg(target_os = "linux")]
    let mut file: File =
        rustix::fs::memfd_create("git-input", rustix::fs::MemfdFlags::CLOEXEC)?.into();
    #[cfg(not(target_os = "linux"))]
    let mut file: File = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

/// Why a call was ended before its time.
enum Over {
    /// Ralph was told to stop.
    Interrupted,
    /// It took too long.
    Expired {
        after: Duration,
        held_up_by: Option<String>,
    },
}

/// A call under way.
struct Attended<'c> {
    conduct: &'c Conduct,
    dir: &'c Path,
    deadline: Duration,
    started: Instant,
    /// When a signal to stop was first seen.
    told_to_stop: Option<Instant>,
    /// Raised to end the call.
    stop: Interrupt,
    over: Option<Over>,
    group: Option<Pid>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl<'c> Attended<'c> {
    fn new(conduct: &'c Conduct, kind: CallKind, dir: &'c Path) -> Self {
        Self {
            conduct,
            dir,
            deadline: conduct.deadline(kind),
            started: Instant::now(),
            told_to_stop: None,
            stop: Interrupt::default(),
            over: None,
            group: None,
            stdout: Vec::new(),
            stderr: Vec::new(),
        }
    }

    fn end(&mut self, over: Over) {
        self.stop.raise(Signal::Terminate);
        self.over = Some(over);
    }
}

impl Watch for Attended<'_> {
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
        let interrupt = &self.conduct.limits.interrupt;
        let may_interrupt = !self.conduct.is_finishing();
        if may_interrupt && interrupt.at_once() && !self.stop.at_once() {
            // Twice, so that it is killed without a grace.
            self.stop.raise(Signal::Terminate);
            self.stop.raise(Signal::Terminate);
            self.over.get_or_insert(Over::Interrupted);
        }
        if self.over.is_some() {
            return;
        }
        if may_interrupt && interrupt.first().is_some() {
            let since = *self.told_to_stop.get_or_insert_with(Instant::now);
            if since.elapsed() >= self.conduct.patience() {
                return self.end(Over::Interrupted);
            }
        }
        if self.started.elapsed() >= self.deadline {
            let group = self.group.map(|group| group.as_raw_pid());
            let held_up_by = group.and_then(|group| held_up_by(group, self.dir));
            self.end(Over::Expired {
                after: self.deadline,
                held_up_by,
            });
        }
    }
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
