//! Commands that an agent or a gate calls. Inside an attempt only reading commands work: an agent
//! reports through signals, which Ralph checks.

use std::path::Path;

use ralph_core::host::{ThisHost, ancestors, is_inside};
use ralph_core::project::Project;
use ralph_core::store::{SafetyStore, SqliteStore};

use crate::cli::Command;
use crate::command_error::CommandError;
use crate::commands::{breaker, config, failures, learnings, limits, task};
use crate::workspace::{only_read, start_dir};

/// What a command does to a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// It has nothing to do with a project.
    None,
    Reads,
    Changes,
}

/// Refuses what may not be done inside an attempt of the project. Commands that are allowed there open its database without
/// writing anything.
pub fn check(dir: Option<&Path>, command: &Command) -> Result<(), CommandError> {
    let effect = effect(command);
    if effect == Effect::None || !called_inside(dir, command) {
        return Ok(());
    }
    if effect == Effect::Reads {
        only_read();
        return Ok(());
    }
    Err(CommandError::usage(
        "this command is not allowed inside an attempt: only commands that read are",
    )
    .hint(
        "print a signal instead: <task-done>ID</task-done>, <task-failed>ID</task-failed>, \
             TASK_MODIFICATION_REQUEST or <learning …>; Ralph reads it when the attempt ends",
    ))
}

/// Whether an ancestor of this process holds a claim in the project's database. What cannot be read here is told by the
/// command itself.
fn called_inside(dir: Option<&Path>, command: &Command) -> bool {
    let Ok(here) = start_dir(dir) else {
        return false;
    };
    let project = match command {
        // It makes a project of its own in a directory below another one.
        Command::Init(_) => Some(Project::at(&here)),
        _ => Project::find(&here),
    };
    let database = project.map(|project| project.database());
    let Some(database) = database.filter(|path| path.is_file()) else {
        return false;
    };
    let at_work = SqliteStore::open_to_look(&database).and_then(|store| store.at_work());
    at_work.is_ok_and(|at_work| {
        !at_work.claim_holders.is_empty() && is_inside(ancestors(&ThisHost::new()), &at_work)
    })
}

/// Every command decides here.
fn effect(command: &Command) -> Effect {
    match command {
        Command::Completions(_) | Command::Man(_) | Command::Fingerprint(_) => Effect::None,
        // What runs start for themselves.
        Command::DemoAgent(_) | Command::Guard(_) => Effect::None,
        Command::Status(_)
        | Command::Analyze(_)
        | Command::Stats(_)
        | Command::Replay(_)
        | Command::History(_)
        | Command::Context(_)
        | Command::Export(_)
        | Command::Doctor(_)
        | Command::Complete(_)
        | Command::Failures(failures::Command::List(_) | failures::Command::Show(_))
        | Command::Config(
            config::Command::Show(_) | config::Command::Get(_) | config::Command::Path(_),
        )
        | Command::Breaker(breaker::Command::Show(_))
        | Command::Limits(limits::Command::Show(_)) => Effect::Reads,
        Command::Logs(args) if !args.prunes() => Effect::Reads,
        Command::Task(command) => match command {
            task::Command::List(_) | task::Command::Show(_) | task::Command::Tree(_) => {
                Effect::Reads
            }
            task::Command::Deps(task::deps::Command::List { .. }) => Effect::Reads,
            task::Command::Add(_)
            | task::Command::Edit(_)
            | task::Command::Done(_)
            | task::Command::Fail(_)
            | task::Command::Reset(_)
            | task::Command::Skip(_)
            | task::Command::Delete(_)
            | task::Command::Deps(task::deps::Command::Add(_) | task::deps::Command::Rm(_)) => {
                Effect::Changes
            }
        },
        Command::Learnings(command) => match command {
            learnings::Command::List(_)
            | learnings::Command::Show(_)
            | learnings::Command::Search(_)
            | learnings::Command::Export(_) => Effect::Reads,
            learnings::Command::Add(_)
            | learnings::Command::Edit(_)
            | learnings::Command::Pin(_)
            | learnings::Command::Prune(_)
            | learnings::Command::Restore(_)
            | learnings::Command::Merge(_)
            | learnings::Command::Import(_) => Effect::Changes,
        },
        Command::Init(_)
        | Command::Demo(_)
        | Command::Import(_)
        | Command::Run(_)
        | Command::Stop(_)
        | Command::Pause(_)
        | Command::Resume(_)
        | Command::Logs(_)
        | Command::Notify(_)
        | Command::Trust(_)
        | Command::Config(config::Command::Set(_) | config::Command::Unset(_))
        | Command::Breaker(breaker::Command::Reset(_))
        | Command::Limits(limits::Command::Clear(_)) => Effect::Changes,
    }
}
