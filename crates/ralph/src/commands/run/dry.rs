//! `ralph run --dry-run`.

use std::process::ExitCode;

use ralph_core::agent::Agent;
use ralph_core::engine::{Prompter, RunSettings, Templates};
use ralph_core::store::{HistoryStore, PlanStore, RunRates};
use serde_json::json;

use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::workspace::Workspace;

/// What would be attempted, in order; nothing is changed.
pub(super) fn dry_run(
    workspace: &Workspace,
    settings: &RunSettings,
    agent: &dyn Agent,
    json: bool,
) -> CommandResult {
    if workspace.store.counts()?.total == 0 {
        return Err(
            CommandError::no_plan("there is no plan").hint("`ralph task add TITLE` adds a task")
        );
    }
    let most = settings.limit.unwrap_or(20) as usize;
    let prompter = Prompter {
        templates: &Templates::load(&workspace.project)?,
        project: &workspace.project,
        store: &workspace.store,
        agent,
        settings,
        now: crate::workspace::now(),
    };
    let mut rows = Vec::new();
    for id in workspace.store.ready(&settings.scope, most)? {
        let task = workspace.task(id.as_str())?;
        let metrics = workspace.store.metrics(&id)?;
        let choice = prompter
            .prompt(&task, &metrics, 1, RunRates::default())?
            .choice;
        if !json {
            output::line(format_args!(
                "{} {}  attempt {}, {} ({})",
                task.name(),
                task.title,
                metrics.total_attempts + 1,
                choice.model,
                choice.rationale
            ));
        }
        rows.push(json!({
            "task_id": task.id, "key": task.key, "title": task.title,
            "attempt": metrics.total_attempts + 1, "agent": agent.name(),
            "model": choice.model, "rationale": choice.rationale,
        }));
    }
    if json {
        output::json(&rows);
    } else if rows.is_empty() {
        output::line("nothing can be run now; `ralph status` says who waits for whom");
    }
    Ok(ExitCode::SUCCESS)
}
