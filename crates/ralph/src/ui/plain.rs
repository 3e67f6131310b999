//! Plain lines, for pipes and files.

use ralph_core::event::{EventKind, Observer, RunEvent};

use super::lines;
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
        EventKind::RunStarted {
            agent,
            strategy,
            tasks,
            ..
        } => Some(format!(
            "run {}: {} task(s), {} done; agent {agent}, strategy {strategy}",
            event.run_id,
            tasks.total,
            tasks.finished()
        )),
        EventKind::AttemptStarted {
            task,
            attempt,
            choice,
            learnings,
            ..
        } => Some(format!(
            "▶ {} {}  attempt {attempt}, {} ({}){}",
            task.name(),
            task.title,
            choice.model,
            choice.rationale,
            lines::told(learnings.len(), ", ")
        )),
        _ => lines::line(event),
    }
}
