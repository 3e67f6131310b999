//! Plain lines, for pipes and files.

use ralph_core::event::{EventKind, Observer, RunEvent};

use super::{format, lines};
use crate::output;

/// Prints a line per event worth one.
#[derive(Debug)]
pub struct Plain;

impl Observer for Plain {
    fn event(&mut self, event: &RunEvent) {
        if let Some(line) = line(event) {
            output::line(line);
        }
    }
}

/// The line of an event, where nothing but lines can be shown.
pub fn line(event: &RunEvent) -> Option<String> {
    match &event.kind {
        EventKind::RunStarted { agent, strategy, tasks, .. } => {
            let total = format::counted(tasks.total, "task");
            let mut text = format!(
                "Run {}: {total}, {} done; agent {agent}, strategy {strategy}",
                event.run_id, tasks.done
            );
            if let Some(ungated) = lines::line(event) {
                text.push_str(&format!("\n{ungated}"));
            }
            Some(text)
        }
        EventKind::AttemptStarted { task, attempt, choice, learnings, .. } => Some(format!(
            "▶ {} {}  attempt {attempt}, {}{}",
            task.name(),
            task.title,
            format::model_choice(&choice.model, &choice.rationale),
            lines::learnings_shown(learnings.len(), ", ")
        )),
        _ => lines::line(event),
    }
}
