//! The run's guard: started with the run, lent to whatever starts an agent or a gate, replaced when it is gone.

use super::run::{EngineError, Run};
use crate::agent::Guard;
use crate::event::EventKind;

impl Run<'_, '_> {
    /// A run without a guard is still a run: what it leaves behind when it is killed is found by the next one.
    pub(super) fn start_guard(&mut self) -> Result<Option<Guard>, EngineError> {
        if self.engine.guard_command.is_empty() {
            return Ok(None);
        }
        match Guard::start(&self.engine.guard_command, &self.id) {
            Ok(guard) => Ok(Some(guard)),
            Err(error) => {
                let message = format!("cannot start the guard process: {error}");
                self.tell(EventKind::Warning { message })?;
                Ok(None)
            }
        }
    }

    /// The guard, to start something with. It goes back by [`Run::put_back`].
    pub(super) fn take_guard(&mut self) -> Result<Option<Guard>, EngineError> {
        match self.guard.take() {
            None => self.start_guard(),
            guard => self.replaced(guard),
        }
    }

    /// Takes the guard back, and says what became of it meanwhile.
    pub(super) fn put_back(&mut self, mut guard: Option<Guard>) -> Result<(), EngineError> {
        if guard.as_mut().is_some_and(Guard::was_stopped) {
            let message = "Ralph's guard process was suspended; Ralph resumed it".into();
            self.tell(EventKind::Warning { message })?;
        }
        self.guard = self.replaced(guard)?;
        Ok(())
    }

    /// The same guard, or a new one where it is gone.
    fn replaced(&mut self, mut guard: Option<Guard>) -> Result<Option<Guard>, EngineError> {
        if !guard.as_mut().is_some_and(Guard::is_lost) {
            return Ok(guard);
        }
        drop(guard);
        let message = "Ralph's guard process was killed; Ralph started a new one".into();
        self.tell(EventKind::Warning { message })?;
        self.start_guard()
    }
}
