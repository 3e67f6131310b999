//! Logs at the end of a run: those that are too old or too many go.

use std::path::Path;
use std::time::{Duration, Instant};

use super::run::{EngineError, Run};
use crate::event::EventKind;
use crate::logs::{Limits, Protected, Pruned, plan, prune};
use crate::model::{RunId, Timestamp};
use crate::project::LOGS;
use crate::store::{LogStore, RunStore, StoreError};

/// How long looking and deleting may take at the end of a run; what is left over goes at the end of the next.
const PATIENCE: Duration = Duration::from_secs(1);
/// The same where somebody waits for the run to end.
const LITTLE_PATIENCE: Duration = Duration::from_millis(200);
/// Some are deleted however long it took to look, or there would never be fewer.
const AT_LEAST: Duration = Duration::from_millis(100);

/// Whether somebody waits for a run to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Haste {
    /// Nobody does.
    None,
    /// It was interrupted.
    Interrupted,
}

/// Why logs were not pruned.
#[derive(Debug, thiserror::Error)]
enum LogUpkeepError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The directory or one of its files cannot be read or deleted.
    #[error("{path}: {source}")]
    Io {
        /// The directory.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

/// The logs that must stay, as the database knows them. `own` is the run that asks: what it wrote is all told of.
pub fn protected_logs<S: LogStore + RunStore + ?Sized>(
    store: &S,
    own: Option<&RunId>,
) -> Result<Protected, StoreError> {
    let open = store.open_runs()?.into_iter().map(|run| run.id);
    let others: Vec<RunId> = open.filter(|run| Some(run) != own).collect();
    Ok(Protected::new(&store.needed_logs()?, others))
}

fn prune_now<S: LogStore + RunStore + ?Sized>(
    store: &S,
    logs: &Path,
    limits: &Limits,
    own: &RunId,
    (now, patience): (Timestamp, Duration),
) -> (Pruned, Option<LogUpkeepError>) {
    let dir = logs.to_owned();
    let broken = |source| LogUpkeepError::Io {
        path: dir.display().to_string(),
        source,
    };
    let started = Instant::now();
    let files = match protected_logs(store, Some(own)) {
        Ok(protected) => plan(&dir, &protected, limits, now).map_err(broken),
        Err(error) => Err(error.into()),
    };
    match files {
        Ok(files) => {
            let left = patience.saturating_sub(started.elapsed()).max(AT_LEAST);
            let (done, failed) = prune(&dir, &files, left);
            (done, failed.map(broken))
        }
        Err(error) => (Pruned::default(), Some(error)),
    }
}

impl Run<'_, '_> {
    /// Deletes logs as the settings want it and tells of it. What goes wrong is no reason for the run to have failed.
    pub(super) fn prune_logs(&mut self, haste: Haste) -> Result<(), EngineError> {
        let patience = match haste {
            Haste::None => PATIENCE,
            Haste::Interrupted => LITTLE_PATIENCE,
        };
        let limits = self.engine.settings.logs;
        if limits.is_endless() {
            return Ok(());
        }
        let logs = match self.ralph_dir() {
            Ok(dir) => dir.join(LOGS),
            Err(error) => {
                let message = format!("cannot delete old logs: .ralph: {error}");
                return self.tell(EventKind::Warning { message });
            }
        };
        let now = self.engine.clock.now();
        let (Pruned { files, bytes }, error) =
            prune_now(self.engine.store, &logs, &limits, &self.id, (now, patience));
        if files > 0 {
            self.tell(EventKind::LogsPruned { files, bytes })?;
        }
        if let Some(error) = error {
            let message = format!("cannot delete some old logs: {error}");
            self.tell(EventKind::Warning { message })?;
        }
        Ok(())
    }
}
