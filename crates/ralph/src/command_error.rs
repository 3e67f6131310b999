//! Errors as people meet them: what went wrong, what to do next, and an exit code that means something.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use ralph_core::engine::{EngineError, PromptError};
use ralph_core::exit::RunExit;
use ralph_core::model::{IdError, UnknownStatus, UnknownStrategy};
use ralph_core::store::StoreError;
use ralph_core::text::shell_word;

use crate::output;

/// Why a command failed.
#[derive(Debug)]
pub struct CommandError {
    exit: RunExit,
    message: String,
    hints: Vec<String>,
}

/// Prints what went wrong and what to do next, on standard error.
pub fn print(message: &str, hints: &[String]) {
    let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    let cyan = Style::new().fg_color(Some(AnsiColor::Cyan.into()));
    output::note(format_args!("{red}error:{red:#} {message}"));
    for hint in hints {
        output::note(format_args!("{cyan} hint:{cyan:#} {hint}"));
    }
}

/// The end of a command that has written its output. A reader that left has what it wanted.
pub fn written(result: io::Result<()>) -> CommandResult {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(unwritten(&error)),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Standard output is not whole.
pub fn unwritten(error: &io::Error) -> CommandError {
    CommandError::environment(format_args!("the output cannot be written: {error}"))
        .hint("check free space, and where the output goes")
}

/// What commands return.
pub type CommandResult = Result<ExitCode, CommandError>;

impl CommandError {
    /// What went wrong, without hints.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do next.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// The user asked for something that cannot be.
    pub fn usage(message: impl Display) -> Self {
        Self {
            exit: RunExit::Usage,
            message: message.to_string(),
            hints: Vec::new(),
        }
    }

    /// Something around Ralph is broken.
    pub fn environment(message: impl Display) -> Self {
        Self {
            exit: RunExit::Error,
            message: message.to_string(),
            hints: Vec::new(),
        }
    }

    /// There is nothing to run.
    pub fn no_plan(message: impl Display) -> Self {
        Self {
            exit: RunExit::NoPlan,
            message: message.to_string(),
            hints: Vec::new(),
        }
    }

    /// Makes a missing plan wrong usage: only `ralph run` tells them apart.
    pub fn outside_a_run(mut self) -> Self {
        if self.exit == RunExit::NoPlan {
            self.exit = RunExit::Usage;
        }
        self
    }

    /// Adds what to do next.
    pub fn hint(mut self, hint: impl Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    /// Prints it and gives the exit code.
    pub fn report(&self) -> ExitCode {
        print(&self.message, &self.hints);
        ExitCode::from(self.exit.code())
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::UnknownTask(_) => {
                Self::usage(message).hint("`ralph task list` shows every task with its id and key")
            }
            StoreError::DuplicateKey { .. } => Self::usage(message).hint("choose another key"),
            StoreError::Cycle(_) => Self::usage(message)
                .hint("each task waits for the next one in that list; leave one of the links out"),
            StoreError::HasChildren { .. } => {
                Self::usage(message).hint("add --recursive to delete them too")
            }
            StoreError::InProgress { .. } => Self::usage(message)
                .hint("stop that run first (Ctrl-C in its terminal), or wait for the attempt to end"),
            StoreError::NewerSchema { .. } => {
                Self::environment(message).hint("install a newer Ralph; nothing was changed")
            }
            StoreError::Missing { .. } => Self::no_plan(message)
                .hint("`ralph task add TITLE` or `ralph import PATH` starts a plan"),
            StoreError::Vanished { .. } => Self::environment(message)
                .hint("`ralph status` says whether a copy of it was saved, and how to put it back"),
            StoreError::Locked { path } => Self::environment(message).hint(format_args!(
                "see who holds it with `fuser {}`; end that process or wait, then try again",
                shell_word(&path.display().to_string())
            )),
            StoreError::DiskFull { .. } => Self::environment(message)
                .hint("free some space, then `ralph run` again: an unfinished attempt is found by itself"),
            StoreError::NotWritable { .. } => {
                Self::environment(message).hint("check the directory's permissions and free space")
            }
            StoreError::Damaged { .. } => Self::environment(message)
                .hint("`.ralph/` may hold a copy from before a migration; move the damaged file away first"),
            StoreError::UnknownLearning(_) => {
                Self::usage(message).hint("`ralph learnings list --state all` shows every one")
            }
            StoreError::LearningNotActive { .. } => Self::usage(message)
                .hint("`ralph learnings restore` brings one back that is not in use"),
            StoreError::LearningIdTaken(_) => Self::usage(message)
                .hint("leave the id out to import it as a new one; nothing was imported"),
            StoreError::ClaimMoved(_) | StoreError::Engine { .. } => Self::environment(message),
        }
    }
}

impl From<PromptError> for CommandError {
    fn from(error: PromptError) -> Self {
        match error {
            PromptError::Store(error) => error.into(),
            PromptError::Template(error) => Self::usage(error)
                .hint("mend the template, or delete it to use the one that comes with Ralph"),
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
                Self::environment(error).hint("shorten or fix the task's verify command")
            }
            EngineError::Log { .. } => {
                Self::environment(error).hint("check free space and permissions of .ralph/logs")
            }
        }
    }
}

impl From<IdError> for CommandError {
    fn from(error: IdError) -> Self {
        Self::usage(error)
    }
}

impl From<UnknownStatus> for CommandError {
    fn from(error: UnknownStatus) -> Self {
        Self::usage(error)
    }
}

impl From<UnknownStrategy> for CommandError {
    fn from(error: UnknownStrategy) -> Self {
        Self::usage(error)
    }
}
