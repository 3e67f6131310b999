//! Agents that leave the branch or begin what they do not finish: brought back, so that no other task pays for it.

use super::commits::refused;
use super::run_context::RunContext;
use super::run_end::{Result, StopRun};
use super::work_tree::{WorkTree, some_of};
use std::time::SystemTime;

use crate::evidence::CommitFailure;
use crate::git::{Git, Unfinished};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Returned {
    Stayed,
    /// HEAD is on it again, and so is what was committed elsewhere.
    Back,
    /// HEAD is on it again, but work was committed there.
    WithoutCommits {
        on: String,
    },
    Astray(String),
}

impl WorkTree {
    /// Git, where the settings let Ralph change anything in it and nobody else works in the tree.
    fn git_alone(&self, run: &RunContext<'_>) -> Result<Option<&Git>> {
        if !self.settings.uses_branches() || run.other_run()?.is_some() {
            Ok(None)
        } else {
            Ok(self.git.as_ref())
        }
    }

    /// The branch HEAD is on; none off every branch, or where git is left alone.
    pub(super) fn present_branch(&self) -> Option<String> {
        let matters = self.settings.uses_branches();
        self.git.as_ref().filter(|_| matters)?.on_branch()
    }

    /// Before an attempt: nothing is unfinished, and the run's own branch is worked on. Stops the run if that cannot be.
    pub(super) fn go_to_own_branch(&mut self, run: &mut RunContext<'_>) -> Result {
        if let Some(unfinished) = self.unfinished(run)? {
            let stop = StopRun::error(format!("{unfinished} is in progress in this working tree"));
            return Err(stop.with_hint("finish or abort it, then `ralph run` again").into());
        }
        let own = self.settings.branch.clone();
        let returned = self.return_to(run, own.as_deref())?;
        self.stop_if_astray(returned)
    }

    /// Stops the run where the tree cannot be brought back to its branch: nothing more is put onto another.
    pub(super) fn stop_if_astray(&self, returned: Returned) -> Result {
        let Returned::Astray(why) = returned else { return Ok(()) };
        self.check_fault()?;
        Err(StopRun::error(why).with_hint("switch back to that branch, then `ralph run` again").into())
    }

    /// What is unfinished in a tree where nobody else works.
    pub(super) fn unfinished(&self, run: &RunContext<'_>) -> Result<Option<Unfinished>> {
        let git = self.git_alone(run)?;
        Ok(git.and_then(|git| git.unfinished().ok().flatten()))
    }

    /// Goes back to a branch that somebody left, with what is uncommitted and what was committed on top of it.
    pub(super) fn return_to(&mut self, run: &mut RunContext<'_>, branch: Option<&str>) -> Result<Returned> {
        let present = self.branch();
        let Some(branch) = branch.filter(|branch| present.as_deref() != Some(branch)) else {
            return Ok(Returned::Stayed);
        };
        let Some(git) = self.git_alone(run)? else { return Ok(Returned::Stayed) };
        let present = present.unwrap_or_else(|| "no branch".to_owned());
        let returned = git.return_to(branch);
        self.latest = None;
        let (returned, more) = match returned {
            Ok(true) => (Returned::Back, String::new()),
            Ok(false) => {
                let more = format!("; the new commits stay on {present}");
                let on = present.clone();
                (Returned::WithoutCommits { on }, more)
            }
            Err(error) => {
                let why = format!("the working tree is on {present} instead of {branch}: {error}");
                return Ok(Returned::Astray(why));
            }
        };
        run.warn(format!(
            "The attempt moved HEAD from {branch} to {present}; Ralph switched back to {branch}{more}"
        ))?;
        Ok(returned)
    }

    /// Where a run was killed while an agent was off its branch, the next one goes on where that one began.
    pub(super) fn return_after_a_kill(&mut self, run: &mut RunContext<'_>) -> Result {
        if self.settings.branch.is_some() {
            return Ok(());
        }
        let branch = run.store.tree_snapshots()?.into_iter().find_map(|before| before.branch);
        match self.return_to(run, branch.as_deref())? {
            Returned::Astray(why) => run.warn(why),
            Returned::Stayed | Returned::Back | Returned::WithoutCommits { .. } => Ok(()),
        }
    }

    /// Where a run was killed between a commit and what comes after it, that is made up for.
    pub(super) fn finish_commit(&self, run: &mut RunContext<'_>) -> Result {
        match self.git_alone(run)?.map(|git| git.finish_commit()) {
            Some(Err(error)) => run.warn(error.to_string()),
            Some(Ok(_)) | None => Ok(()),
        }
    }

    /// Why what an agent calls done is not: it is not where it belongs.
    pub(super) fn misplaced(
        &self,
        unfinished: Option<Unfinished>,
        returned: &Returned,
        branch: Option<&str>,
    ) -> Option<CommitFailure> {
        if let (Returned::Astray(_), Some(error)) = (returned, self.git.as_ref().and_then(Git::fault)) {
            return Some(CommitFailure::GitFault {
                why: error.to_string(),
                remedy: error.remedy().unwrap_or_default(),
            });
        }
        let branch = branch.unwrap_or("its branch");
        let why = match (unfinished, returned) {
            (Some(unfinished), _) => {
                format!("{unfinished} is in progress in this working tree; finish or abort it first")
            }
            (None, Returned::WithoutCommits { on }) => format!(
                "the agent committed on {on} instead of {branch}: move the commits to {branch} and stay on it"
            ),
            (None, Returned::Astray(why)) => format!("{why}; switch back to {branch}"),
            (None, Returned::Stayed | Returned::Back) => return None,
        };
        Some(refused(why, None))
    }

    /// After an attempt: a merge or the like that it began and did not finish is ended. `name` is that of what is saved.
    pub(super) fn end_unfinished(&mut self, run: &mut RunContext<'_>, name: &str) -> Result {
        let (Some(unfinished), Some(git)) = (self.unfinished(run)?, &self.git) else { return Ok(()) };
        self.latest = None;
        let mut told = format!("the attempt left {unfinished} in progress; Ralph aborted it");
        if unfinished == Unfinished::Rebase {
            match git.save_work(name, &format!("Left by {name} during a rebase")) {
                Ok(Some(reference)) => told.push_str(&format!("; its files are saved at {reference}")),
                Ok(None) => {}
                // Nothing is taken away that is not saved.
                Err(error) => {
                    return run.warn(format!("{unfinished} is still in progress: {error}"));
                }
            }
        }
        run.warn(match git.end_unfinished() {
            Ok(_) => told,
            Err(error) => format!("{unfinished} is in progress and Ralph cannot abort it: {error}"),
        })
    }

    /// At the start: what killed runs left in git's directory goes, and states they kept are named.
    pub(super) fn tidy(&self, run: &mut RunContext<'_>) -> Result {
        let Some(git) = self.git_alone(run)? else { return Ok(()) };
        let store = &*run.store;
        // Work trees of one repository share its references: those of other projects are theirs.
        let is_ours = |name: &str| store.task(task_of(name)).is_ok();
        // As the file system tells the time, not as a team's database does.
        let message = match git.tidy(SystemTime::now().into(), &is_ours) {
            Ok(states) if states.is_empty() => return Ok(()),
            Ok(states) => format!(
                "Ralph saved the working tree before interrupted attempts: {}; `git show NAME:FILE` prints a file, `git \
                 update-ref -d NAME` deletes a state",
                some_of(&states)
            ),
            Err(error) => error.to_string(),
        };
        run.warn(message)
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
