//! Following a task: its attempt as it grows, then the next one, until the run ends.

use std::process::ExitCode;
use std::time::Duration;

use ralph_core::model::Task;

use super::Args;
use super::attempt::{Shown, no_attempt};
use super::target::{self, Standing, Target, Wanted};
use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::workspace::{Workspace, now};

/// How often a log is looked at.
pub const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Shows a task's attempts as they are made.
pub fn task(workspace: &Workspace, task: &Task, wanted: &Wanted, args: &Args) -> CommandResult {
    let Some(mut target) = first(workspace, task, wanted)? else {
        return Err(no_attempt(workspace, task, wanted));
    };
    loop {
        let Some(over) = show(workspace, task, &target, args)? else {
            return Ok(ExitCode::SUCCESS);
        };
        if wanted.is_one() {
            return Ok(ExitCode::SUCCESS);
        }
        match next(workspace, task, wanted, over)? {
            Some(next) => target = next,
            None => return Ok(ExitCode::SUCCESS),
        }
        if !args.raw {
            output::line("");
        }
    }
}

/// The attempt to begin with; one is waited for while a run is under way.
fn first(workspace: &Workspace, task: &Task, wanted: &Wanted) -> Result<Option<Target>, CommandError> {
    loop {
        let active = wanted.may_come(workspace)?;
        let found = target::find(workspace, task, wanted)?;
        if found.is_some() || !active || output::wait_unless_closed(LOOK_AGAIN) {
            return Ok(found);
        }
    }
}

/// Shows an attempt to its end; its number as a try. `None` if nobody looks on any more.
fn show(
    workspace: &Workspace,
    task: &Task,
    target: &Target,
    args: &Args,
) -> Result<Option<u32>, CommandError> {
    let mut shown = match Shown::open(workspace, task, target, args) {
        Ok(shown) => shown,
        // The log of one that is over may be gone; others are to come.
        Err(error) if is_over(target) && workspace.has_active_run()? => {
            output::note(error.message());
            return Ok(Some(target.try_number));
        }
        Err(error) => return Err(error),
    };
    // What is there already came at some time before.
    while shown.more(None)? && !output::is_closed() {}
    if is_over(target) {
        shown.end(&target.standing);
        return Ok((!output::is_closed()).then_some(target.try_number));
    }
    loop {
        let stands = target::again(workspace, task, target.try_number)?;
        // Looked at first: what was written until then is read to its end.
        while shown.more(Some(now()))? && !output::is_closed() {}
        match stands.map(|target| target.standing) {
            Some(Standing::UnderWay) => {}
            Some(over) => {
                shown.end(&over);
                return Ok(Some(target.try_number));
            }
            // Its task was deleted, or the attempt given back.
            None => return Ok(Some(target.try_number)),
        }
        if output::wait_unless_closed(LOOK_AGAIN) {
            return Ok(None);
        }
    }
}

fn is_over(target: &Target) -> bool {
    match target.standing {
        Standing::UnderWay => false,
        Standing::Lost | Standing::Ended(_) => true,
    }
}

/// The next attempt, once it begins. `None` when the run has ended.
fn next(
    workspace: &Workspace,
    task: &Task,
    wanted: &Wanted,
    try_number: u32,
) -> Result<Option<Target>, CommandError> {
    loop {
        // Looked at first: an attempt that was begun until then is found.
        let active = wanted.may_come(workspace)?;
        let found = target::after(workspace, task, wanted, try_number)?;
        if found.is_some() || !active || output::wait_unless_closed(LOOK_AGAIN) {
            return Ok(found);
        }
    }
}
