//! Errors as people see them: what went wrong, what to do next, and the exit code.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use ralph_core::agent::Signal;
use ralph_core::engine::{EngineError, PromptError};
use ralph_core::exit::RunExit;
use ralph_core::model::IdError;
#[cfg(feature = "postgres")]
use ralph_core::store::ServerFault;
use ralph_core::store::StoreError;
use ralph_core::text::shell_word;

use crate::output;

#[derive(Debug)]
pub struct CommandError {
    exit: RunExit,
    message: String,
    hints: Vec<String>,
}

pub fn print(message: &str, hints: &[String]) {
    let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    let cyan = Style::new().fg_color(Some(AnsiColor::Cyan.into()));
    output::note(format_args!("{red}error:{red:#} {message}"));
    for hint in hints {
        output::note(format_args!("{cyan} hint:{cyan:#} {hint}"));
    }
}

pub fn shell_path(path: &Path) -> String {
    shell_word(&path.display().to_string())
}

pub fn unwritten(error: &io::Error) -> CommandError {
    CommandError::environment(format_args!("cannot write the output: {error}"))
        .hint("check the free space and the output's destination")
}

pub type CommandResult = Result<ExitCode, CommandError>;

impl CommandError {
    pub fn message(&self) -> &str {
        &self.message
    }

    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    fn new(exit: RunExit, message: impl Display) -> Self {
        Self { exit, message: message.to_string(), hints: Vec::new() }
    }

    /// The user asked for something that cannot be.
    pub fn usage(message: impl Display) -> Self {
        Self::new(RunExit::Usage, message)
    }

    /// Something around Ralph is broken.
    pub fn environment(message: impl Display) -> Self {
        Self::new(RunExit::Error, message)
    }

    /// There is nothing to run.
    pub fn no_plan(message: impl Display) -> Self {
        Self::new(RunExit::NoPlan, message)
    }

    /// A limit was reached with work left.
    pub fn limit(message: impl Display) -> Self {
        Self::new(RunExit::Limit, message)
    }

    pub fn interrupted() -> Self {
        Self::new(RunExit::Interrupted(Signal::Interrupt), "interrupted")
    }

    pub fn cannot_write(path: &Path, error: &io::Error) -> Self {
        Self::environment(format_args!("cannot write {}: {error}", path.display()))
            .hint("check the permissions and the free space of the directory")
    }

    /// Makes a missing plan wrong usage: only `ralph run` tells them apart.
    pub fn outside_a_run(mut self) -> Self {
        if self.exit == RunExit::NoPlan {
            self.exit = RunExit::Usage;
        }
        self
    }

    pub fn hint(mut self, hint: impl Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    pub fn first_hint(&self) -> Option<String> {
        self.hints.first().cloned()
    }

    pub fn report(&self) -> ExitCode {
        print(&self.message, &self.hints);
        ExitCode::from(self.exit.code())
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        use StoreError as E;
        let exit = match &error {
            E::UnknownTask(_)
            | E::AmbiguousKey { .. }
            | E::DuplicateKey { .. }
            | E::Cycle(_)
            | E::Checkpoint { .. }
            | E::HasChildren { .. } => RunExit::Usage,
            E::InProgress { .. } | E::UnknownLearning(_) | E::LearningNotActive { .. } => RunExit::Usage,
            E::LearningIdTaken(_) | E::CannotUndo { .. } => RunExit::Usage,
            E::Missing { .. } => RunExit::NoPlan,
            _ => RunExit::Error,
        };
        let hint = match &error {
            E::UnknownTask(_) => "run `ralph task list` to see every task with its id and key",
            E::AmbiguousKey { choices, .. } => {
                &format!("name one of them, for example `{}`", choices.first().map_or("", String::as_str))
            }
            E::DuplicateKey { .. } => "choose another key",
            E::Cycle(_) => "each task depends on the next one in that list; remove one of these dependencies",
            E::Checkpoint { task } => &format!("when you have checked it: ralph task done {task}"),
            E::HasChildren { .. } => "add --recursive to delete the subtasks too",
            E::InProgress { .. } => "stop the run first with `ralph stop`, or wait until the attempt ends",
            E::NewerSchema { .. } => "install a newer version of Ralph; nothing was changed",
            E::Missing { .. } => "start a plan with `ralph task add TITLE` or `ralph import PATH`",
            E::Vanished { .. } | E::Overwritten { .. } => {
                "run `ralph status` to see whether a copy was saved and how to restore it"
            }
            E::Locked { path } => &format!(
                "find the process that holds the lock with `fuser {}`, stop it or wait, then retry",
                shell_path(path)
            ),
            E::DiskFull { .. } => {
                "free some disk space, then run `ralph run` again; it recovers an unfinished attempt"
            }
            E::NotWritable { .. } => "check the permissions and the free space of the directory",
            E::Damaged { .. } => {
                "move the damaged file away, then restore a backup; `.ralph/` may contain a copy from before an upgrade"
            }
            E::UnknownLearning(_) => "run `ralph learnings list --state all` to see every learning",
            E::LearningNotActive { id, .. } => {
                &format!("run `ralph learnings restore {id}` to make it active again")
            }
            E::CannotUndo { .. } => "run `ralph undo --list` to see what can be undone",
            E::LearningIdTaken(_) => "remove the id to import it as a new learning",
            E::NotEmpty { .. } => "name another file, or another schema: ralph config set store.schema NAME",
            #[cfg(feature = "postgres")]
            E::Server { fault, .. } => match server_hint(*fault) {
                Some(hint) => hint,
                None => return Self::environment(error),
            },
            E::ClaimMoved(_) | E::Engine { .. } => return Self::environment(error),
        };
        Self::new(exit, &error).hint(hint)
    }
}

/// What to do about what a server said.
#[cfg(feature = "postgres")]
fn server_hint(fault: ServerFault) -> Option<&'static str> {
    Some(match fault {
        ServerFault::Unreachable | ServerFault::Lost => {
            "check that the server runs and can be reached from here, then run the command again"
        }
        ServerFault::WrongPassword => {
            "give the right user in the URL, and its password in PGPASSWORD or in the file that PGPASSFILE names"
        }
        ServerFault::Certificate => {
            "add the authority that signed the server's certificate to those that this machine trusts, or name it in SSL_CERT_FILE"
        }
        ServerFault::MissingDatabase => "create the database first: createdb NAME",
        ServerFault::MissingProject => "set up the project on this server: ralph store init",
        ServerFault::OlderSchema => "migrate it once for all machines: ralph store migrate",
        ServerFault::Denied => "give the role the rights that docs/team.md lists",
        ServerFault::ReadOnly => "name the primary server: this one is a read-only standby",
        ServerFault::DiskFull => "free some disk space on the server, then run the command again",
        ServerFault::Locked => {
            "another process writes for a long time; wait until it is done, then try again"
        }
        ServerFault::Conflict | ServerFault::Other => return None,
    })
}

impl From<PromptError> for CommandError {
    fn from(error: PromptError) -> Self {
        match error {
            PromptError::Store(error) => error.into(),
            PromptError::Template(error) => {
                Self::usage(error).hint("fix the template, or delete it to use the built-in one")
            }
            PromptError::Unreadable { .. } => Self::environment(error),
        }
    }
}

impl From<EngineError> for CommandError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Prompt(error) => error.into(),
            EngineError::Git(error) => match error.remedy() {
                Some(remedy) => Self::environment(&error).hint(remedy),
                None => Self::environment(&error),
            },
            EngineError::Gate { .. } => {
                Self::environment(error).hint("fix the task's gate: ralph task edit ID --verify CMD")
            }
            EngineError::Sandbox(_) => Self::environment(error)
                .hint("check what it names: the space, the permissions; and those of the directory for temporary files"),
            EngineError::Log { .. } => {
                Self::environment(error).hint("check the permissions and the free space of .ralph/logs")
            }
        }
    }
}

impl From<IdError> for CommandError {
    fn from(error: IdError) -> Self {
        Self::usage(error)
    }
}
