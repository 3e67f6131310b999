//! What a person at another terminal asks of a run: to pause, to go on, to end after its attempt.

use std::time::Duration;

use super::run::{EngineError, Run, StopRun};
use crate::agent::Signal;
use crate::event::{EventKind, WaitingFor};
use crate::exit::RunExit;
use crate::store::RunRequest;

const STOPPED: &str = "stopped by `ralph stop`";
/// How often a paused run looks whether it may go on.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

impl Run<'_, '_> {
    /// Whether the run was asked to end.
    pub(super) fn asked_to_stop(&self) -> Result<Option<StopRun>, EngineError> {
        let asked = self.engine.store.asked_of(&self.id)?;
        let stop = || StopRun::new(RunExit::Aborted, STOPPED);
        Ok((asked == Some(RunRequest::Stop)).then(stop))
    }

    /// The end after a signal, which `ralph stop` sends too.
    pub(super) fn interrupted(&self, signal: Signal) -> Result<StopRun, EngineError> {
        let asked = self.engine.store.stop_was_sent(&self.id)?;
        let reason = match (self.engine.interrupt.hung_up(), asked) {
            (true, _) => "interrupted: the terminal was closed".to_owned(),
            (false, true) => STOPPED.to_owned(),
            (false, false) => match signal {
                Signal::Interrupt => "interrupted (Ctrl-C)".to_owned(),
                Signal::Terminate => "interrupted (SIGTERM)".to_owned(),
            },
        };
        Ok(StopRun::new(RunExit::Interrupted(signal), reason))
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
        self.write_state_as("paused; `ralph resume` continues", None)?;
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
