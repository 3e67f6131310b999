//! Names every change of a gate during the run in the events, whether a person, a plan file or another process made it.

use super::run::{EngineError, Run};
use crate::event::{EventKind, GateAuthor};
use crate::text::code_line;

/// How much of a command is shown.
const COMMAND_CHARS: usize = 200;

impl Run<'_, '_> {
    /// Tells of changes since the last look. An attempt under way is not touched by them: its gate is the one at its claim.
    pub(super) fn tell_gate_changes(&mut self, by: GateAuthor) -> Result<(), EngineError> {
        let told = self.gate_change_told;
        for change in self.engine.store.gate_changes(told)? {
            self.gate_change_told = change.id;
            self.tell(EventKind::GateChanged {
                task: change.task,
                before: change.before.as_deref().map(shown),
                after: change.after.as_deref().map(shown),
                by,
            })?;
        }
        Ok(())
    }
}

fn shown(command: &str) -> String {
    code_line(command, COMMAND_CHARS)
}
