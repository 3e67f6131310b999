//! Commands that an agent or a gate calls. Inside an attempt only reading commands work: an agent
//! reports through signals, which Ralph checks.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use ralph_core::host::{ThisHost, ancestors, is_inside, sees_processes};
use ralph_core::project::Project;
use ralph_core::store::StorePlace;

use crate::command_error::CommandError;
use crate::commands::{Command, breaker, config, learnings, limits, store, task, trust, worktrees};
use crate::store_place;
use crate::workspace::{set_read_only, start_dir};

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
        set_read_only();
        return Ok(());
    }
    Err(CommandError::usage("inside an attempt only read-only commands are allowed").hint(
        "print a signal instead: <task-done>ID</task-done>, <task-failed>ID</task-failed>, \
             TASK_MODIFICATION_REQUEST or <learning …>; Ralph reads it when the attempt ends",
    ))
}

/// Whether an ancestor of this process holds a claim in the project's database, or may hold one: an agent can hide `/proc`.
/// Where the database cannot be asked, the environment tells. What cannot be read here is told by the command itself.
fn called_inside(dir: Option<&Path>, command: &Command) -> bool {
    let Ok(here) = start_dir(dir) else { return false };
    let project = match command {
        // It makes a project of its own in a directory below another one.
        Command::Init(_) => Some(Project::at(&here)),
        _ => Project::find(&here),
    };
    let Some(project) = project else { return false };
    // The store of a project that is not trusted is not spoken to: the command itself refuses.
    if trust::refusal(&project).is_some() {
        return false;
    }
    match store_place::of(&project).map_err(drop).and_then(|place| holds_claim(&project, &place)) {
        Ok(true) => true,
        // An agent may name a store in which nobody works: the project's own tells, too, if there is one.
        Ok(false) if env::var_os(store_place::VARIABLE).is_some() => {
            store_place::of_settings(&project).is_ok_and(|own| holds_claim(&project, &own) == Ok(true))
        }
        Ok(false) => false,
        Err(()) => is_started_by_run(&project),
    }
}

/// Whether a claim in this store is held above this process. An error where the store cannot tell.
fn holds_claim(project: &Project, place: &StorePlace) -> Result<bool, ()> {
    if place.file().is_some_and(|path| !path.is_file()) {
        return Err(());
    }
    let at_work = place.open_read_only().and_then(|store| store.at_work()).map_err(drop)?;
    Ok(!at_work.claim_holders.is_empty()
        && (!sees_processes()
            || is_on_read_only_mount(&project.database())
            || is_inside(ancestors(&ThisHost::new()), &at_work)))
}

/// Whether the environment is that of what a run of this project starts.
fn is_started_by_run(project: &Project) -> bool {
    let is_this = |root: OsString| Path::new(&root).canonicalize().ok() == project.root().canonicalize().ok();
    env::var_os("RALPH_RUN_ID").is_some_and(|run| !run.is_empty())
        && env::var_os("RALPH_PROJECT").is_some_and(is_this)
}

/// In a sandbox of its own the ancestors of this process cannot be seen, but Ralph's own directory is mounted so that nobody
/// can write it: that is the mark of an attempt, which nothing in the sandbox can take away.
fn is_on_read_only_mount(database: &Path) -> bool {
    use rustix::fs::{Access, access};
    let dir = database.parent().unwrap_or(database);
    access(dir, Access::WRITE_OK) == Err(rustix::io::Errno::ROFS)
}

/// A command that is not listed changes something: nothing is allowed inside an attempt by oversight.
fn effect(command: &Command) -> Effect {
    use {config::Command as Config, learnings::Command as Learnings, task::Command as Task};
    match command {
        // Those before the last are what runs start for themselves.
        Command::Completions(_)
        | Command::Man(_)
        | Command::Fingerprint(_)
        | Command::DemoAgent(_)
        | Command::Guard(_)
        // It writes nothing wherever it is, and somebody waits for it at a prompt.
        | Command::Complete(_) => Effect::None,
        Command::Status(_)
        | Command::Runs(_)
        | Command::Workers(_)
        | Command::Ui(_)
        | Command::Diff(_)
        | Command::Analyze(_)
        | Command::Stats(_)
        | Command::Report(_)
        | Command::Replay(_)
        | Command::History(_)
        | Command::Context(_)
        | Command::Export(_)
        | Command::Doctor(_)
        | Command::Failures(_)
        | Command::Config(Config::Show { .. } | Config::Get { .. } | Config::Path(_))
        | Command::Breaker(breaker::Command::Show(_))
        | Command::Limits(limits::Command::Show(_))
        | Command::Store(store::Command::Check(_))
        | Command::Worktrees(worktrees::Command::List(_))
        | Command::Task(Task::List(_) | Task::Show { .. } | Task::Tree { .. })
        | Command::Task(Task::Deps(task::Deps::List { .. }))
        | Command::Learnings(Learnings::List(_) | Learnings::Show { .. })
        | Command::Learnings(Learnings::Search(_) | Learnings::Export(_)) => Effect::Reads,
        Command::Logs(args) if !args.prunes() => Effect::Reads,
        _ => Effect::Changes,
    }
}
