//! One worker of a run that has several: the same loop as a run by itself, in a working tree of Ralph's own.

use super::run::Run;
use super::run_end::{EngineError, Halt, Result, StopRun};
use super::seat::WorkerEnd;

impl Run<'_> {
    /// Everything between the start and the end of a worker. Gives why it ends.
    pub(super) fn work_as_one_of_many(&mut self) -> Halt {
        let mut step = self.open_worker();
        loop {
            match step {
                Ok(()) => step = self.next(),
                Err(halt) => return halt,
            }
        }
    }

    fn open_worker(&mut self) -> Result {
        let run = &mut self.context;
        run.start_guard()?;
        self.tree.bring_to_tip(run)?;
        self.protection.open(run)
    }

    /// Ends a worker, whatever ended it. The run goes on without it.
    pub(super) fn end_worker(mut self, halt: Halt) -> Result<WorkerEnd, EngineError> {
        let run = &mut self.context;
        let _ = run.store.release_unbegun(&run.id, run.worker);
        let stop = match halt {
            Halt::Stop(stop) => stop,
            Halt::Error(error) => StopRun::error(error.to_string()),
        };
        // A database that is gone is saved by the supervisor, which has it open too.
        if run.store.check_in_place().is_ok() {
            run.store.remove_worker(&run.owner)?;
        }
        run.dismiss_guard();
        Ok(WorkerEnd::new(stop.exit, stop.reason, stop.hint))
    }
}
