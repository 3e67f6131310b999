//! A database that is deleted or replaced under a run: everything is recorded through the open handle, saved beside the old
//! place, and the run stops.

use super::run::{EngineError, Run, StopRun, Summary};
use crate::exit::RunExit;
use crate::hooks::HookPoint;
use crate::store::StoreError;

impl Run<'_, '_> {
    /// Fails where the database is no longer the file that was opened: nobody would find what is recorded in it.
    pub(super) fn check_database(&self) -> Result<(), EngineError> {
        match self.engine.store.is_in_place() {
            true => Ok(()),
            false => Err(self.vanished().into()),
        }
    }

    fn vanished(&self) -> StoreError {
        StoreError::Vanished {
            path: self.engine.project.database(),
        }
    }

    /// Closes the run's record and saves the database. Nothing else that the end of a run does is worth a failure here.
    pub(super) fn end_vanished(mut self) -> Result<Summary, EngineError> {
        let stop = StopRun::new(RunExit::Error, self.vanished().to_string());
        let _ = self.engine.store.release_unbegun(&self.id);
        if let Ok(kind) = self.finished(&stop) {
            let event = self.event(kind);
            let _ = self.hook_after(HookPoint::AfterRun, &event);
            let event = self.event(event.kind);
            let _ = self.engine.store.end_run(&self.end(&stop), &event);
        }
        self.save_database(stop)
    }

    /// Saves a database whose record of this run is complete, and says where it is and how to put it back.
    pub(super) fn save_database(mut self, stop: StopRun) -> Result<Summary, EngineError> {
        let now = self.engine.clock.now();
        if self.engine.project.ralph_dir().symlink_metadata().is_err() {
            // Where this fails, the store says why.
            let _ = self.engine.project.make_dir();
        }
        let (saved, hint) = match self.engine.store.rescue(now) {
            Ok(rescued) => {
                let saved = format!("what was recorded is saved in {}", rescued.path.display());
                (saved, format!("put it back: {}", rescued.restore))
            }
            Err(error) => (
                format!("it could not be saved: {error}"),
                "bring back .ralph/progress.db from a backup".to_owned(),
            ),
        };
        let stop = StopRun {
            exit: RunExit::Error,
            reason: format!("{}; {saved}", self.vanished()),
            hint: Some(hint),
            budget: stop.budget,
        };
        if let Ok(kind) = self.finished(&stop) {
            self.show(kind);
        }
        if let Some(guard) = self.guard.take() {
            guard.dismiss();
        }
        Ok(Summary {
            run_id: Some(self.id),
            exit: stop.exit,
            reason: stop.reason,
            hint: stop.hint,
        })
    }
}
