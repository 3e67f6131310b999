//! `ralph run --dry-run`.

use std::process::ExitCode;

use ralph_core::agent::Agent;
use ralph_core::decide::{covered, outlook};
use ralph_core::engine::{Prompter, RunSettings, Templates};
use ralph_core::model::{Status, TaskId};
use serde_json::json;

use super::Args;
use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::ui::format::model_choice;
use crate::workspace::Workspace;

/// What would be attempted, in order; nothing is changed.
pub(super) fn dry_run(
    workspace: &Workspace,
    settings: &RunSettings,
    agent: &dyn Agent,
    args: &Args,
) -> CommandResult {
    let json = args.json;
    if workspace.store.counts()?.total == 0 {
        return Err(CommandError::no_plan("there is no plan").hint("add a task: ralph task add TITLE"));
    }
    let most = settings.limit.unwrap_or(20) as usize;
    let prompter = Prompter {
        templates: &Templates::load(&workspace.project)?,
        project: &workspace.project,
        store: &workspace.store,
        agent,
        is_fallback: false,
        settings,
        now: crate::workspace::now(),
    };
    let mut rows = Vec::new();
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
        if !json {
            let (name, title) = (task.name(), &task.title);
            let attempt = metrics.total_attempts + 1;
            output::line(match &decision.ask_human {
                Some(reason) => format!("{name} {title}  needs you: {reason}"),
                None => {
                    let choice = model_choice(&choice.model, &choice.rationale);
                    format!("{name} {title}  attempt {attempt}, {choice}")
                }
            });
        }
        rows.push(json!({
            "task_id": task.id, "key": task.key, "title": task.title,
            "attempt": metrics.total_attempts + 1, "agent": agent.name(),
            "model": choice.model, "rationale": choice.rationale, "ask_human": decision.ask_human,
        }));
    }
    if json {
        output::json(&rows);
    } else if rows.is_empty() {
        let is_finished = outlook(&workspace.store.skeleton()?, &settings.scope).is_finished();
        output::line(match is_finished {
            true => "Every task is done.",
            false => "No task is ready; run `ralph status` to see what blocks them",
        });
    }
    Ok(ExitCode::SUCCESS)
}

/// What could be claimed now, blocked tasks that are named included: naming one is the go-ahead.
fn candidates(
    workspace: &Workspace,
    settings: &RunSettings,
    args: &Args,
    most: usize,
) -> Result<Vec<TaskId>, CommandError> {
    let mut ids = Vec::new();
    for name in &args.tasks {
        let task = workspace.task(name)?;
        if task.status == Status::Blocked {
            ids.push(task.id);
        }
    }
    let plan = workspace.store.skeleton()?;
    let interrupted = workspace.interrupted_tasks()?;
    let covered = covered(&plan, &settings.scope);
    let again = covered.into_iter().filter(|id| interrupted.contains(*id));
    ids.extend(again.cloned());
    ids.extend(workspace.store.ready(&settings.scope, most)?);
    ids.truncate(most);
    Ok(ids)
}
