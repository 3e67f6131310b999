//! Agents that leave the branch or begin what they do not finish: brought back, so that no other task pays for it.

use super::run::{EngineError, Run, StopRun};
use crate::event::EventKind;
use crate::exit::RunExit;
use crate::git::Afterwards;

impl StopRun {
    /// The work tree cannot be brought back to its branch: nothing more is put onto another.
    pub(super) fn astray(why: String) -> Self {
        let mut stop = Self::new(RunExit::Error, why);
        stop.hint = Some("bring the work tree back to it, then `ralph run` again".into());
        stop
    }
}

impl Run<'_, '_> {
    /// The branch HEAD is on; none off every branch, or where git is left alone.
    pub(super) fn present_branch(&self) -> Option<String> {
        let settings = &self.engine.settings.git;
        let matters = settings.changes_anything() || settings.branch.is_some();
        self.git.as_ref().filter(|_| matters)?.on_branch()
    }

    /// Before an attempt: the run's own branch is the one that is worked on. Why the run ends, if that cannot be.
    pub(super) fn be_on_own_branch(&mut self) -> Result<Option<StopRun>, EngineError> {
        let own = self.engine.settings.git.branch.clone();
        let Some(why) = self.return_to(own.as_deref())? else {
            return Ok(None);
        };
        let mut stop = StopRun::new(RunExit::Error, why);
        let branch = own.unwrap_or_default();
        stop.hint = Some(format!(
            "bring the work tree back to {branch}, then `ralph run` again"
        ));
        Ok(Some(stop))
    }

    /// Goes back to a branch that somebody left, with what is uncommitted. Why that cannot be, if it cannot.
    pub(super) fn return_to(
        &mut self,
        branch: Option<&str>,
    ) -> Result<Option<String>, EngineError> {
        let (Some(branch), Some(git)) = (branch, self.git.clone()) else {
            return Ok(None);
        };
        let present = git.branch();
        if present.as_deref() == Some(branch) {
            return Ok(None);
        }
        let present = present.unwrap_or_else(|| "no branch".to_owned());
        self.tree = None;
        match git.work_on(branch) {
            Ok(_) => {
                let message = format!(
                    "HEAD had been moved from {branch} to {present}; it is back on {branch}"
                );
                self.tell(EventKind::Warning { message })?;
                Ok(None)
            }
            Err(error) => Ok(Some(format!(
                "the work tree is on {present} instead of {branch}: {error}"
            ))),
        }
    }

    /// At the start: what killed runs left in git's directory goes, and states they kept are named.
    pub(super) fn tidy_git(&mut self) -> Result<(), EngineError> {
        let git = self.git.clone();
        let Some(git) = git.filter(|_| self.engine.settings.git.changes_anything()) else {
            return Ok(());
        };
        if self.other_run()?.is_some() {
            return Ok(());
        }
        let now = self.engine.clock.now();
        let message = match git.tidy(now).and_then(|()| git.kept_states()) {
            Ok(states) if states.is_empty() => return Ok(()),
            Ok(states) => {
                let names = states
                    .iter()
                    .map(|(name, _)| name.clone())
                    .collect::<Vec<_>>();
                format!(
                    "kept from before attempts that Ralph did not see end: {}; `git show NAME:FILE` gives a file back, \
                     `git update-ref -d NAME` forgets one",
                    super::work_tree::named(&names)
                )
            }
            Err(error) => error.to_string(),
        };
        self.tell(EventKind::Warning { message })
    }

    /// After an attempt: a merge or the like that it began and did not finish is ended.
    pub(super) fn end_unfinished(&mut self, files: Afterwards) -> Result<(), EngineError> {
        let git = self.git.clone();
        let Some(git) = git.filter(|_| self.engine.settings.git.changes_anything()) else {
            return Ok(());
        };
        let message = match git.end_unfinished(files) {
            Ok(None) => return Ok(()),
            Ok(Some(unfinished)) => {
                format!("the attempt left {unfinished} unfinished; Ralph has ended it")
            }
            Err(error) => error.to_string(),
        };
        self.tree = None;
        self.tell(EventKind::Warning { message })
    }
}
