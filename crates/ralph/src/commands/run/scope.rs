//! Which tasks a run covers.

use std::collections::HashSet;
use std::process::ExitCode;

use ralph_core::decide::unmet_outside;
use ralph_core::exit::RunExit;
use ralph_core::model::{Status, TaskId};
use ralph_core::store::{Mark, Scope};

use super::Args;
use crate::command_error::{self, CommandError};
use crate::workspace::{Workspace, now};

/// Named tasks, and their dependencies if asked for.
pub(super) fn scope(workspace: &Workspace, args: &Args) -> Result<Scope, CommandError> {
    if args.tasks.is_empty() {
        return Ok(Scope::All);
    }
    let named = args.tasks.iter().map(|name| workspace.task(name)).collect::<Result<Vec<_>, _>>()?;
    let mut ids: Vec<TaskId> = named.iter().map(|task| task.id.clone()).collect();
    if args.with_deps {
        ids = with_dependencies(workspace, ids)?;
    }
    Ok(Scope::Below(ids))
}

/// Naming a blocked task is the go-ahead to try it again.
pub(super) fn give_go_ahead(workspace: &mut Workspace, args: &Args) -> Result<(), CommandError> {
    for name in &args.tasks {
        let task = workspace.task(name)?;
        if task.status == Status::Blocked {
            workspace.store.mark(&task.id, &Mark::Pending, now())?;
        }
    }
    Ok(())
}

/// Adds everything that tasks in scope wait for, near and far.
fn with_dependencies(workspace: &Workspace, ids: Vec<TaskId>) -> Result<Vec<TaskId>, CommandError> {
    let plan = workspace.store.skeleton()?;
    let mut all = ids;
    let mut seen: HashSet<TaskId> = all.iter().cloned().collect();
    loop {
        let missing: Vec<TaskId> = unmet_outside(&plan, &Scope::Below(all.clone()))
            .into_iter()
            .filter(|id| seen.insert(id.clone()))
            .collect();
        if missing.is_empty() {
            return Ok(all);
        }
        all.extend(missing);
    }
}

/// Dependencies outside the scope that are not finished: nothing that needs them can be run.
pub(super) fn unmet(workspace: &Workspace, scope: &Scope) -> Result<Option<ExitCode>, CommandError> {
    if *scope == Scope::All {
        return Ok(None);
    }
    let missing = unmet_outside(&workspace.store.skeleton()?, scope);
    if missing.is_empty() {
        return Ok(None);
    }
    let names = missing
        .iter()
        .map(|id| workspace.task(id.as_str()).map(|task| format!("{} ({})", task.name(), task.status)))
        .collect::<Result<Vec<_>, _>>()?;
    let message = format!("the named tasks depend on unfinished tasks: {}", names.join(", "));
    command_error::print(&message, &["add --with-deps to run them too".to_owned()]);
    Ok(Some(ExitCode::from(RunExit::NothingToRun.code())))
}
