//! What a person at another terminal asks of a run: to pause, to go on, to end after its attempt.

use std::time::Duration;

use super::run::{EngineError, Run, StopRun};
use crate::event::{EventKind, WaitingFor};
use crate::exit::RunExit;
use crate::store::RunRequest;

/// How often a paused run looks whether it may go on.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

impl Run<'_, '_> {
    /// Whether the run was asked to end.
    pub(super) fn asked_to_stop(&self) -> Result<Option<StopRun>, EngineError> {
        let asked = self.engine.store.asked_of(&self.id)?;
        Ok((asked == Some(RunRequest::Stop)).then(|| {
            let reason = "stopped by `ralph stop --after-attempt`";
            StopRun::new(RunExit::Aborted, reason)
        }))
    }

    /// Waits while the run is asked to pause.
    pub(super) fn mind_pause(&mut self) -> Result<Option<StopRun>, EngineError> {
        if self.engine.store.asked_of(&self.id)? != Some(RunRequest::Pause) {
            return Ok(None);
        }
        self.tell(EventKind::Waiting {
            waiting_for: WaitingFor::Resume,
            reason: "`ralph resume`".to_owned(),
            until: None,
        })?;
        self.write_state_as("paused; `ralph resume` goes on", None)?;
        // Somebody may edit files meanwhile.
        self.tree = None;
        while self.engine.store.asked_of(&self.id)? == Some(RunRequest::Pause) {
            if let Some(stop) = self.must_stop()? {
                return Ok(Some(stop));
            }
            self.beat();
            self.engine.clock.sleep(LOOK_AGAIN);
        }
        self.tell(EventKind::WaitOver)?;
        // It may have been asked for something else.
        self.must_stop()
    }
}
