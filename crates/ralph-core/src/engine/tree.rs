//! Git: the tree before and after an attempt.

use super::run::{EngineError, Run};
use crate::event::EventKind;
use crate::git::{Git, Snapshot};
use crate::model::GitRecord;

impl Run<'_, '_> {
    /// The tree before an attempt: as the last one left it, or a fresh look.
    pub(super) fn look_at_tree(&mut self) -> Result<Option<Snapshot>, EngineError> {
        if self.tree.is_none() {
            self.tree = self.snapshot()?;
        }
        Ok(self.tree.clone())
    }

    pub(super) fn look_at_changes(
        &mut self,
        before: Option<Snapshot>,
    ) -> Result<GitRecord, EngineError> {
        let after = self.snapshot()?;
        let record = match (&self.git, &before, &after) {
            (Some(git), Some(before), Some(after)) => git.changes(before, after),
            _ => return Ok(GitRecord::default()),
        };
        self.tree = after;
        match record {
            Ok(record) => Ok(record),
            Err(error) => {
                self.tell(EventKind::Warning {
                    message: error.to_string(),
                })?;
                Ok(GitRecord::default())
            }
        }
    }

    /// A look at git; a repository that cannot be read is worth a warning and not the run.
    fn snapshot(&mut self) -> Result<Option<Snapshot>, EngineError> {
        match self.git.as_ref().map(Git::snapshot) {
            None => Ok(None),
            Some(Ok(snapshot)) => Ok(Some(snapshot)),
            // The end of the run tells of it.
            Some(Err(_)) if self.git_fault().is_some() => Ok(None),
            Some(Err(error)) => {
                self.tell(EventKind::Warning {
                    message: error.to_string(),
                })?;
                Ok(None)
            }
        }
    }
}
