//! Which tasks a run covers, and `--dry-run`: which of them it would attempt.

use std::process::ExitCode;

use ralph_core::agent::Agent;
use ralph_core::decide::{covered, outlook, unmet_outside};
use ralph_core::engine::{RunSettings, Templates};
use ralph_core::exit::RunExit;
use ralph_core::model::{Status, Task, TaskId};
use ralph_core::store::{Mark, Scope};
use serde_json::json;

use super::Args;
use crate::command_error::{self, CommandError, CommandResult};
use crate::output;
use crate::ui::format::model_choice;
use crate::workspace::{Workspace, interrupted_tasks, now};

fn named_tasks(workspace: &Workspace, args: &Args) -> Result<Vec<Task>, CommandError> {
    args.tasks.iter().map(|name| workspace.task(name)).collect()
}

/// Named tasks, and their dependencies if asked for.
pub(super) fn scope(workspace: &Workspace, args: &Args) -> Result<Scope, CommandError> {
    if args.tasks.is_empty() {
        return Ok(Scope::All);
    }
    let named = named_tasks(workspace, args)?;
    let mut ids: Vec<TaskId> = named.into_iter().map(|task| task.id).collect();
    if args.with_deps {
        let plan = workspace.store.skeleton()?;
        loop {
            let mut missing = unmet_outside(&plan, &Scope::Below(ids.clone()));
            missing.retain(|id| !ids.contains(id));
            if missing.is_empty() {
                break;
            }
            ids.extend(missing);
        }
    }
    Ok(Scope::Below(ids))
}

/// Naming a blocked task is the go-ahead to try it again.
pub(super) fn give_go_ahead(workspace: &mut Workspace, args: &Args) -> Result<(), CommandError> {
    let named = named_tasks(workspace, args)?.into_iter();
    let blocked = named.filter(|task| task.status == Status::Blocked);
    let marks: Vec<_> = blocked.map(|task| (task.id, Mark::GoAhead)).collect();
    Ok(workspace.store.mark_all(&marks, now())?)
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

/// What would be attempted, in order; nothing is changed.
pub(super) fn dry_run(
    workspace: &Workspace,
    settings: &RunSettings,
    agent: &Agent,
    args: &Args,
) -> CommandResult {
    if workspace.store.counts()?.total == 0 {
        return Err(CommandError::no_plan("there is no plan").hint("add a task: ralph task add TITLE"));
    }
    let most = settings.limit.unwrap_or(20) as usize;
    let templates = Templates::load(&workspace.project)?;
    let prompter = super::prompter(workspace, &templates, agent, settings);
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    for id in candidates(workspace, settings, args, most)? {
        let task = workspace.task(id.as_str())?;
        let mut metrics = workspace.store.metrics(&id)?;
        if task.status == Status::Blocked {
            // As after the go-ahead.
            metrics.consecutive_failures = 0;
            metrics.next_model = None;
        }
        let decision = prompter.decision(&task, &metrics)?;
        let choice = &decision.choice;
        let (name, title, attempt) = (task.name(), &task.title, metrics.total_attempts + 1);
        lines.push(match &decision.ask_human {
            Some(reason) => format!("{name} {title}  needs you: {reason}"),
            None => {
                let choice = model_choice(&choice.model, &choice.rationale);
                format!("{name} {title}  attempt {attempt}, {choice}")
            }
        });
        rows.push(json!({
            "task_id": task.id, "key": task.key, "spec": task.spec, "title": task.title, "attempt": attempt, "agent": agent.name(),
            "model": choice.model, "rationale": choice.rationale, "block_reason": decision.ask_human, "ask_human": decision.ask_human,
        }));
    }
    if lines.is_empty() {
        let outlook = outlook(&workspace.store.skeleton()?, &settings.scope);
        let selected = if settings.scope == Scope::All { "" } else { "selected " };
        lines.push(match (outlook.is_finished(), outlook.skipped) {
            (true, 0) => format!("Every {selected}task is done."),
            (true, _) => format!("Every {selected}task is done or skipped."),
            (false, _) => "No task is ready; run `ralph status` to see what blocks them".to_owned(),
        });
    }
    output::print(args.json, &rows, || lines.iter().for_each(output::line))
}

/// What could be claimed now, blocked tasks that are named included: naming one is the go-ahead.
fn candidates(
    workspace: &Workspace,
    settings: &RunSettings,
    args: &Args,
    most: usize,
) -> Result<Vec<TaskId>, CommandError> {
    let named = named_tasks(workspace, args)?.into_iter();
    let blocked = named.filter(|task| task.status == Status::Blocked);
    let mut ids: Vec<TaskId> = blocked.map(|task| task.id).collect();
    let plan = workspace.store.skeleton()?;
    let interrupted = interrupted_tasks(&workspace.store)?;
    ids.extend(
        covered(&plan, &settings.scope).into_iter().filter(|id| interrupted.contains_key(*id)).cloned(),
    );
    ids.extend(workspace.store.ready(&settings.scope, most)?);
    ids.truncate(most);
    Ok(ids)
}
