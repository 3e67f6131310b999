//! How a plan looks before it is accepted.

use ralph_core::plan::DraftTask;
use ralph_core::plan::review::{Finding, Severity};
use ralph_core::text::one_line;
use serde_json::json;

use super::session::Made;
use crate::command_error::CommandError;
use crate::ui::format::counted;
use crate::workspace::Workspace;

/// The plan as a tree with its gates.
pub(super) fn shown(made: &Made, estimate: &str) -> String {
    let mut text = String::new();
    let mut phase = None;
    for task in &made.draft.tasks {
        if task.phase != phase {
            phase.clone_from(&task.phase);
            if let Some(phase) = &phase {
                text.push_str(&format!("Phase {phase}\n"));
            }
        }
        let indent = if task.parent.is_some() { "    " } else { "  " };
        text.push_str(&format!("{indent}{} {}\n", task.name, one_line(&task.title, 100)));
        if let Some(gate) = &task.verify {
            text.push_str(&format!("{indent}    gate: {}\n", one_line(gate, 100)));
        }
        if !task.files.is_empty() {
            text.push_str(&format!("{indent}    files: {}\n", one_line(&task.files.join(", "), 100)));
        }
    }
    text.push_str(&told(&made.findings));
    text.push_str(&format!("{}, {estimate}\n", counted(made.draft.tasks.len() as u64, "task")));
    text
}

pub(super) fn told(findings: &[Finding]) -> String {
    let lines = findings.iter().map(|finding| {
        let mark = match finding.severity {
            Severity::Error => '✗',
            Severity::Warning => '!',
        };
        format!("{mark} {}\n", line_of(finding))
    });
    lines.collect()
}

pub(super) fn line_of(finding: &Finding) -> String {
    match &finding.task {
        Some(task) => format!("{task}: {}", finding.text),
        None if finding.line > 0 => format!("line {}: {}", finding.line, finding.text),
        None => finding.text.clone(),
    }
}

/// What working through so many tasks may take, by what the project's history says.
pub(super) fn estimate(workspace: &Workspace, tasks: usize) -> Result<String, CommandError> {
    let totals = workspace.store.totals()?;
    let done = workspace.store.counts()?.done;
    if totals.attempts == 0 || done == 0 {
        return Ok("no estimate yet (no attempts so far)".to_owned());
    }
    let per_task = totals.attempts as f64 / done as f64;
    let attempts = (per_task * tasks as f64).ceil();
    let cost = totals.cost.known_usd() / totals.attempts as f64 * attempts;
    Ok(format!(
        "about {attempts} attempts and ${cost:.2} (as {} on {} so far)",
        counted(totals.attempts, "attempt"),
        counted(done, "done task")
    ))
}

pub(super) fn task_json(task: &DraftTask) -> serde_json::Value {
    json!({
        "key": task.name, "title": task.title, "phase": task.phase, "depends_on": task.after, "verify": task.verify,
        "files": task.files,
    })
}
