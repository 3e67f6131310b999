//! Agents that leave the branch or begin what they do not finish: brought back, so that no other task pays for it.

use super::judge::Judged;
use super::run::{EngineError, Run, StopRun};
use super::work_tree::{named, refused};
use crate::event::EventKind;
use crate::exit::RunExit;
use crate::git::{Git, Unfinished};

/// What came of going back to a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Returned {
    /// Nobody had left it.
    Stayed,
    /// HEAD is on it again, and so is what was committed elsewhere.
    Back,
    /// HEAD is on it again, but work was committed there.
    WithoutCommits { on: String },
    /// It cannot be.
    Astray(String),
}

impl StopRun {
    /// The work tree cannot be brought back to its branch: nothing more is put onto another.
    pub(super) fn astray(why: String) -> Self {
        let mut stop = Self::new(RunExit::Error, why);
        stop.hint = Some("switch back to that branch, then `ralph run` again".into());
        stop
    }
}

impl Run<'_, '_> {
    /// Git, where the settings let Ralph change anything in it and nobody else works in the tree.
    fn git_alone(&self) -> Result<Option<Git>, EngineError> {
        let settings = &self.engine.settings.git;
        if !settings.changes_anything() && settings.branch.is_none() || self.other_run()?.is_some()
        {
            return Ok(None);
        }
        Ok(self.git.clone())
    }

    /// The branch HEAD is on; none off every branch, or where git is left alone.
    pub(super) fn present_branch(&self) -> Option<String> {
        let settings = &self.engine.settings.git;
        let matters = settings.changes_anything() || settings.branch.is_some();
        self.git.as_ref().filter(|_| matters)?.on_branch()
    }

    /// Before an attempt: nothing is unfinished, and the run's own branch is worked on. Why the run ends, if that cannot be.
    pub(super) fn be_on_own_branch(&mut self) -> Result<Option<StopRun>, EngineError> {
        if let Some(unfinished) = self.unfinished()? {
            let reason = format!("{unfinished} is in progress in this working tree");
            let mut stop = StopRun::new(RunExit::Error, reason);
            stop.hint = Some("finish or abort it, then `ralph run` again".into());
            return Ok(Some(stop));
        }
        let own = self.engine.settings.git.branch.clone();
        match self.return_to(own.as_deref())? {
            Returned::Astray(why) => {
                let fault = self.git_fault();
                Ok(Some(fault.unwrap_or_else(|| StopRun::astray(why))))
            }
            Returned::Stayed | Returned::Back | Returned::WithoutCommits { .. } => Ok(None),
        }
    }

    /// What is unfinished in a tree where nobody else works.
    pub(super) fn unfinished(&self) -> Result<Option<Unfinished>, EngineError> {
        let git = self.git_alone()?;
        Ok(git.and_then(|git| git.unfinished().ok().flatten()))
    }

    /// Goes back to a branch that somebody left, with what is uncommitted and what was committed on top of it.
    pub(super) fn return_to(&mut self, branch: Option<&str>) -> Result<Returned, EngineError> {
        let present = self.git.as_ref().and_then(Git::branch);
        let Some(branch) = branch.filter(|branch| present.as_deref() != Some(branch)) else {
            return Ok(Returned::Stayed);
        };
        let Some(git) = self.git_alone()? else {
            return Ok(Returned::Stayed);
        };
        let present = present.unwrap_or_else(|| "no branch".to_owned());
        self.tree = None;
        let returned = match git.return_to(branch) {
            Ok(true) => Returned::Back,
            Ok(false) => Returned::WithoutCommits {
                on: present.clone(),
            },
            Err(error) => {
                let why = format!("the working tree is on {present} instead of {branch}: {error}");
                return Ok(Returned::Astray(why));
            }
        };
        let more = match &returned {
            Returned::WithoutCommits { on } => format!("; the new commits stay on {on}"),
            Returned::Stayed | Returned::Back | Returned::Astray(_) => String::new(),
        };
        let message = format!(
            "HEAD was moved from {branch} to {present}; Ralph switched back to {branch}{more}"
        );
        self.tell(EventKind::Warning { message })?;
        Ok(returned)
    }

    /// Where a run was killed while an agent was off its branch, the next one goes on where that one began.
    pub(super) fn return_after_a_kill(&mut self) -> Result<(), EngineError> {
        if self.engine.settings.git.branch.is_some() {
            return Ok(());
        }
        let looks = self.engine.store.first_looks()?;
        let branch = looks.into_iter().find_map(|look| look.branch);
        if let Returned::Astray(message) = self.return_to(branch.as_deref())? {
            self.tell(EventKind::Warning { message })?;
        }
        Ok(())
    }

    /// Where a run was killed between a commit and what comes after it, that is made up for.
    pub(super) fn finish_commit(&mut self) -> Result<(), EngineError> {
        let finished = self.git_alone()?.map(|git| git.finish_commit());
        if let Some(Err(error)) = finished {
            let message = error.to_string();
            self.tell(EventKind::Warning { message })?;
        }
        Ok(())
    }

    /// Why what an agent calls done is not: it is not where it belongs.
    pub(super) fn misplaced(
        &self,
        unfinished: Option<Unfinished>,
        returned: &Returned,
        branch: Option<&str>,
    ) -> Option<Judged> {
        if let (Returned::Astray(_), Some(error)) =
            (returned, self.git.as_ref().and_then(Git::fault))
        {
            return Some(Judged::NotCommitted {
                why: error.to_string(),
                remedy: error.remedy().unwrap_or_default(),
            });
        }
        let branch = branch.unwrap_or("its branch");
        let why = match (unfinished, returned) {
            (Some(unfinished), _) => {
                format!(
                    "{unfinished} is in progress in this working tree; finish or abort it first"
                )
            }
            (None, Returned::WithoutCommits { on }) => format!(
                "the work was committed on {on} instead of {branch}: move the commits to {branch} and stay on it"
            ),
            (None, Returned::Astray(why)) => format!("{why}; switch back to {branch}"),
            (None, Returned::Stayed | Returned::Back) => return None,
        };
        Some(Judged::Ran(refused(why)))
    }

    /// After an attempt: a merge or the like that it began and did not finish is ended. `name` is that of what is saved.
    pub(super) fn end_unfinished(&mut self, name: &str) -> Result<(), EngineError> {
        let Some(unfinished) = self.unfinished()? else {
            return Ok(());
        };
        let Some(git) = self.git.clone() else {
            return Ok(());
        };
        self.tree = None;
        let mut told = format!("the attempt left {unfinished} in progress; Ralph aborted it");
        if unfinished == Unfinished::Rebase {
            let message = format!("Left by {name} during a rebase");
            match git.save_work(name, &message) {
                Ok(Some(reference)) => {
                    told.push_str(&format!("; its files are saved at {reference}"))
                }
                Ok(None) => {}
                // Nothing is taken away that is not saved.
                Err(error) => {
                    let message = format!("{unfinished} is still in progress: {error}");
                    return self.tell(EventKind::Warning { message });
                }
            }
        }
        let message = match git.end_unfinished() {
            Ok(_) => told,
            Err(error) => format!("{unfinished} is in progress and Ralph cannot abort it: {error}"),
        };
        self.tell(EventKind::Warning { message })
    }

    /// At the start: what killed runs left in git's directory goes, and states they kept are named.
    pub(super) fn tidy_git(&mut self) -> Result<(), EngineError> {
        let Some(git) = self.git_alone()? else {
            return Ok(());
        };
        let now = self.engine.clock.now();
        let store = &*self.engine.store;
        // Work trees of one repository share its references: those of other projects are theirs.
        let is_ours = |name: &str| store.task(task_of(name)).is_ok();
        let message = match git.tidy(now, &is_ours) {
            Ok(states) if states.is_empty() => return Ok(()),
            Ok(states) => format!(
                "states saved before interrupted attempts: {}; `git show NAME:FILE` prints a file, `git \
                 update-ref -d NAME` deletes a state",
                named(&states)
            ),
            Err(error) => error.to_string(),
        };
        self.tell(EventKind::Warning { message })
    }
}

/// The task in the name of a kept state: `refs/ralph/kept/t-00beef-002`.
fn task_of(reference: &str) -> &str {
    let name = reference.rsplit('/').next().unwrap_or_default();
    let end = name.match_indices('-').nth(1).map(|(at, _)| at);
    name.get(..end.unwrap_or(name.len())).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_task_of_a_kept_state() {
        for name in ["t-00beef-002", "t-00beef-002-again2", "t-00beef"] {
            assert_eq!(task_of(&format!("refs/ralph/kept/{name}")), "t-00beef");
        }
    }
}
