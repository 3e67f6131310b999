//! Plain lines, for pipes and files.

use ralph_core::event::{EventKind, Observer, RunEvent};

use super::lines;
use crate::output;

/// Prints a line per event worth one.
#[derive(Debug)]
pub struct Plain;

impl Observer for Plain {
    fn event(&mut self, event: &RunEvent) {
        match &event.kind {
            EventKind::RunStarted {
                agent,
                strategy,
                tasks,
                ..
            } => output::line(format_args!(
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
            } => output::line(format_args!(
                "▶ {} {}  attempt {attempt}, {} ({}){}",
                task.name(),
                task.title,
                choice.model,
                choice.rationale,
                lines::told(learnings.len(), ", ")
            )),
            _ => {
                if let Some(line) = lines::line(event) {
                    output::line(line);
                }
            }
        }
    }
}
