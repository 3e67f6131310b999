//! Running git: always the same surroundings, whoever started Ralph.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use super::GitError;

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
    /// For messages.
    said: Vec<String>,
    input: Option<Vec<u8>>,
}

impl Call {
    /// Git with these arguments in this directory.
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
        Self {
            command,
            said: args.iter().map(|arg| (*arg).to_owned()).collect(),
            input: None,
        }
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
        let said = self.said.join(" ");
        let output = self.output()?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(GitError::Refused {
            command: crate::text::one_line(&said, 120),
            message: crate::text::one_line(&String::from_utf8_lossy(&output.stderr), 200),
        })
    }

    /// What it printed as one line of text, if it succeeded.
    pub(super) fn line(self) -> Result<String, GitError> {
        let out = self.run()?;
        Ok(String::from_utf8_lossy(&out).trim_end().to_owned())
    }

    /// What it printed and how it ended.
    pub(super) fn output(mut self) -> Result<Output, GitError> {
        self.prepare_input()?;
        Ok(self.command.output()?)
    }

    /// The process, its output in a pipe and what it says otherwise unheard.
    pub(super) fn spawn(mut self) -> Result<Child, GitError> {
        self.prepare_input()?;
        let child = self.command.stdout(Stdio::piped()).stderr(Stdio::null());
        Ok(child.spawn()?)
    }

    /// From a file: with pipes at both ends each side could wait for the other.
    fn prepare_input(&mut self) -> Result<(), GitError> {
        let stdin = match self.input.take() {
            None => Stdio::null(),
            Some(bytes) => {
                let mut file: File = tempfile::tempfile()?;
                file.write_all(&bytes)?;
                file.rewind()?;
                file.into()
            }
        };
        self.command.stdin(stdin);
        Ok(())
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
