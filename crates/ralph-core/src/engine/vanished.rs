//! A database that is deleted or replaced under a run: everything is recorded through the open handle, saved beside the old
//! place, and the run stops.

use super::run::{EngineError, Run, StopRun};
use crate::exit::RunExit;
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

    /// Saves a database whose record of this run is complete: the end of the run says where it is and how to put it back.
    pub(super) fn save_database(&mut self, stop: StopRun) -> StopRun {
        let now = self.engine.clock.now();
        if self.engine.project.ralph_dir().symlink_metadata().is_err() {
            // Where this fails, the store says why.
            let _ = self.engine.project.make_dir();
        }
        let (saved, hint) = match self.engine.store.rescue(now) {
            Ok(rescued) => {
                let saved = format!("Ralph saved its data in {}", rescued.path.display());
                (saved, format!("restore it: {}", rescued.restore))
            }
            Err(error) => (
                format!("Ralph could not save its data: {error}"),
                "restore .ralph/progress.db from a backup".to_owned(),
            ),
        };
        StopRun {
            exit: RunExit::Error,
            reason: format!("{}; {saved}", self.vanished()),
            hint: Some(hint),
            budget: stop.budget,
        }
    }
}
