//! Names every change of a gate during the run in the events, whether a person, a plan file or another process made it,
//! and every change that waits for a person.

use super::run::{EngineError, Run};
use crate::event::{EventKind, GateAuthor, TaskRef};
use crate::store::GateEdit;
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

    /// Tells of a gate that waits for a person to import the plan's file.
    pub(super) fn tell_waiting_gate(
        &mut self,
        path: &str,
        gate: &GateEdit,
    ) -> Result<(), EngineError> {
        let task = self.engine.store.task(gate.id.as_str())?;
        self.tell(EventKind::GateWaiting {
            task: TaskRef::from(&task),
            path: path.to_owned(),
            before: gate.before.as_deref().map(shown),
            after: gate.after.as_deref().map(shown),
        })
    }
}

fn shown(command: &str) -> String {
    code_line(command, COMMAND_CHARS)
}
