//! The branch that the work of several workers lands on: which it is, where it begins, how it is moved, and what becomes of it
//! where a person is at work on it.

use std::path::Path;
use std::time::Duration;

use super::run_context::RunContext;
use super::run_end::{EngineError, Result, StopRun};
use super::work_tree::{WorkTree, some_of};
use crate::event::EventKind;
use crate::files::Lock;
use crate::git::{Followed, Git, GitError, GitLimits, Place, Weight};
use crate::store::StoreError;

/// Branches of earlier runs that are looked at.
const MOST_BRANCHES: u32 = 20;
/// How often a run looks whether another one has moved its branch.
const NAP: Duration = Duration::from_millis(3);
/// How long the start of a run waits for that.
const PATIENCE: Duration = Duration::from_secs(10);

/// What uncommitted changes mean for a run whose workers have trees of their own.
const NOT_SEEN: &str = "workers begin from the last commit and do not see them";

fn refuse_old_git(git: &Git, commit: &str) -> Result {
    if git.can_combine(commit)? {
        return Ok(());
    }
    let stop = StopRun::error("this git cannot combine commits without a checkout");
    Err(stop.with_hint("install git 2.38 or newer, or use `ralph run -j 1`").into())
}

fn checked_out_in(branch: &str, tree: &Path) -> String {
    format!("{branch} is checked out in {}", tree.display())
}

fn checked_out(branch: &str, why: &str) -> String {
    format!("{branch} is checked out, and {why}")
}

/// The supervisor's part.
impl WorkTree {
    /// The branch of the settings, unless a person is at work on it; else one of the run's own.
    pub(super) fn branch_to_land_on(&mut self, run: &mut RunContext<'_>) -> Result<String, EngineError> {
        if self.settings.remote.is_some() {
            return Ok(self.settings.shared_branch());
        }
        if let (Some(git), Some(named)) = (self.git.clone(), self.settings.branch.clone()) {
            // What a killed run left half way is no work of a person's.
            if Git::is_half_way(run.project.root())
                && let Some(_lock) = run.landing_lock_soon(&git)?
            {
                self.went_back = git.end_following()?;
            }
            self.not_followed = obstacle(run, &git, &named)?;
            if self.not_followed.is_none() {
                return Ok(named);
            }
        }
        Ok(own_branch(run))
    }

    /// Makes sure that workers can begin: what is in the way is told before any of them starts, and the branch is there.
    pub(super) fn open_for_workers(&mut self, run: &mut RunContext<'_>) -> Result {
        let Some(git) = self.git.clone() else {
            let stop = StopRun::error("several workers need a git repository, and this project is in none");
            return Err(stop.with_hint("git init, or `ralph run -j 1`").into());
        };
        let branch = run.store.run_branch(&run.id)?.unwrap_or_default();
        let mut wants = self.settings.wants();
        (wants.commits, wants.branch, wants.elsewhere) = (true, Some(branch.as_str()), true);
        for obstacle in git.obstacles(wants)? {
            let fix = obstacle.fix();
            match obstacle.weight() {
                Weight::Stops => {
                    let stop = StopRun::error(obstacle.to_string());
                    return Err(stop.with_hint(format!("{fix}; then `ralph run` again")).into());
                }
                Weight::Hinders => run.warn(format!("{obstacle}; {fix}"))?,
            }
        }
        if let Some(left) = self.went_back.take() {
            run.tell_went_back(&left)?;
        }
        if let Some(why) = self.not_followed.take() {
            run.warn(format!("{why}; this run lands on {branch}"))?;
        }
        if let Some(remote) = self.settings.remote.clone() {
            let tip = self.open_remote(run, &git, &remote, &branch)?;
            refuse_old_git(&git, &tip)?;
            let dirty = git.snapshot().map(|tree| tree.dirty()).unwrap_or_default();
            return self.check_dirty(run, &dirty, NOT_SEEN);
        }
        let Some(head) = git.head_commit()? else {
            let stop = StopRun::error("the repository has no commit that workers could begin from");
            return Err(stop.with_hint("commit the project's files, then `ralph run` again").into());
        };
        refuse_old_git(&git, &head)?;
        match git.tip(&branch)? {
            Some(tip) => self.bring_forward(run, &git, &branch, &tip)?,
            None => {
                let from = self.begin_from(run, &head)?;
                git.make_branch(&branch, &from)?;
                run.tell(EventKind::BranchChanged { branch })?;
            }
        }
        let dirty = git.snapshot().map(|tree| tree.dirty()).unwrap_or_default();
        self.check_dirty(run, &dirty, NOT_SEEN)
    }

    /// A branch that is there already gets what earlier runs landed and nobody merged, where that follows it. Else the run
    /// lands on a branch of its own that has both: tasks would begin without those that they depend on.
    fn bring_forward(&mut self, run: &mut RunContext<'_>, git: &Git, branch: &str, tip: &str) -> Result {
        let unmerged = self.unmerged(run, tip)?;
        let Some((first, newest)) = unmerged.first() else { return Ok(()) };
        let mut is_in_newest = git.is_in(tip, newest)?;
        for (_, other) in &unmerged {
            is_in_newest = is_in_newest && git.is_in(other, newest)?;
        }
        if is_in_newest && let Some(_lock) = run.landing_lock_soon(git)? {
            match self.move_branch(run, git, branch, tip, newest)?? {
                Followed::Moved => {
                    return run.warn(format!(
                        "{branch} did not have what an earlier run landed on {first}; now it does"
                    ));
                }
                // Whatever speaks against it now holds for landing, too.
                Followed::Overtaken | Followed::Hindered(_) => {}
            }
        }
        let from = self.begin_from(run, tip)?;
        let own = own_branch(run);
        run.move_to_branch(git, &own, &from)?;
        let names: Vec<String> = unmerged.into_iter().map(|(branch, _)| branch).collect();
        run.warn(format!(
            "{branch} does not have what earlier runs landed on {}, so this run lands on {own}, which has both",
            some_of(&names)
        ))
    }

    /// At the end: where the run's work is, if it is not in what is checked out. A branch of the run's own that holds nothing
    /// goes.
    pub(super) fn tell_unmerged(&self, run: &mut RunContext<'_>) -> Result {
        let Some(git) = &self.git else { return Ok(()) };
        let branch = run.store.run_branch(&run.id)?.unwrap_or_default();
        if let Some(remote) = &self.settings.remote {
            return tell_unmerged_of_remote(run, git, remote, &branch);
        }
        let (Some(tip), Some(head)) = (git.tip(&branch)?, git.head_commit()?) else { return Ok(()) };
        if git.is_in(&tip, &head)? {
            if branch == own_branch(run) && git.place_of(&branch)? == Place::Nobody {
                git.remove_branch(&branch, &tip)?;
            }
            return Ok(());
        }
        let commits = git.commits_between(&head, &tip)?;
        run.tell(EventKind::Unmerged { branch, commits, into: git.on_branch() })
    }

    /// Where a new branch begins: at what is checked out, with what earlier runs landed and nobody merged yet. Else tasks
    /// would begin without those that they depend on.
    fn begin_from(&self, run: &mut RunContext<'_>, head: &str) -> Result<String> {
        let Some(git) = &self.git else { return Ok(head.to_owned()) };
        let mut from = head.to_owned();
        for (branch, tip) in self.unmerged(run, head)? {
            if git.is_in(&tip, &from)? {
                continue;
            }
            if git.is_in(&from, &tip)? {
                from = tip;
                continue;
            }
            let message = format!("Merge {branch}");
            let Some(merged) = git.merged(&from, &tip, &message)? else {
                let stop = StopRun::error(format!(
                    "{branch}, where an earlier run landed its work, is not merged and conflicts with what is checked out"
                ));
                let hint = format!(
                    "git merge {branch}, or if you have its work already: git branch -D {branch}; then `ralph run` again"
                );
                return Err(stop.with_hint(hint).into());
            };
            from = merged;
        }
        if from != head {
            run.warn("work that earlier runs landed is not merged yet; this run continues from it")?;
        }
        Ok(from)
    }

    /// The branches that earlier runs landed on and whose work a commit does not have, newest first, with the commits they
    /// are at.
    fn unmerged(&self, run: &RunContext<'_>, head: &str) -> Result<Vec<(String, String)>> {
        let Some(git) = &self.git else { return Ok(Vec::new()) };
        let mut found: Vec<(String, String)> = Vec::new();
        for branch in run.store.landing_branches(&run.id, MOST_BRANCHES)? {
            if let Some(tip) = git.tip(&branch)?.filter(|tip| found.iter().all(|(_, known)| known != tip))
                && git.adds_to(&tip, head)?
            {
                found.push((branch, tip));
            }
        }
        Ok(found)
    }

    /// A run in a tree that does not have what earlier runs landed says so: tasks may depend on it.
    pub(super) fn warn_of_unmerged(&self, run: &mut RunContext<'_>) -> Result {
        let Some(git) = &self.git else { return Ok(()) };
        if run.store.landing_branches(&run.id, 1)?.is_empty() {
            return Ok(());
        }
        let Some(head) = git.head_commit()? else { return Ok(()) };
        if let Some((branch, tip)) = self.unmerged(run, &head)?.into_iter().next() {
            let commits = git.commits_between(&head, &tip)?;
            run.tell(EventKind::Unmerged { branch, commits, into: git.on_branch() })?;
        }
        Ok(())
    }
}

/// Moving the branch.
impl WorkTree {
    /// The project's own checkout, which is a person's.
    fn checkout(&mut self, run: &RunContext<'_>) -> Result<Git, GitError> {
        let known = if run.is_worker { &self.checkout } else { &self.git };
        if let Some(git) = known {
            return Ok(git.clone());
        }
        let limits = GitLimits { interrupt: run.interrupt.clone(), ..GitLimits::default() };
        let Some(git) = Git::open(run.project.root(), limits)? else {
            let message = "the project's git repository is gone".to_owned();
            return Err(GitError::Refused { command: "rev-parse".to_owned(), message });
        };
        git.watch_programs()?;
        let git = git.without(self.own_files.clone());
        self.checkout = Some(git.clone());
        Ok(git)
    }

    /// Moves a branch, and with it the project's checkout where that is on it and clean. For the holder of the landing lock.
    pub(super) fn move_branch(
        &mut self,
        run: &mut RunContext<'_>,
        git: &Git,
        branch: &str,
        old: &str,
        new: &str,
    ) -> Result<Result<Followed, GitError>> {
        let checkout = match self.checkout(run) {
            Ok(checkout) => checkout,
            Err(error) => return Ok(Err(error)),
        };
        if Git::is_half_way(run.project.root()) {
            match checkout.end_following() {
                Ok(None) => {}
                Ok(Some(left)) => run.tell_went_back(&left)?,
                Err(error) => return Ok(Err(error)),
            }
        }
        let used = in_use(run)?;
        let moved = || {
            Ok(match (checkout.place_of(branch)?, used) {
                (Place::Nobody, _) => match git.advance(branch, old, new)? {
                    true => Followed::Moved,
                    false => Followed::Overtaken,
                },
                (Place::Elsewhere(tree), _) => Followed::Hindered(checked_out_in(branch, &tree)),
                (Place::Here, Some(why)) => Followed::Hindered(checked_out(branch, &why)),
                (Place::Here, None) => match checkout.follow(branch, old, new)? {
                    Followed::Hindered(why) => Followed::Hindered(checked_out(branch, &why)),
                    moved => moved,
                },
            })
        };
        Ok(moved())
    }
}

fn tell_unmerged_of_remote(run: &mut RunContext<'_>, git: &Git, remote: &str, branch: &str) -> Result {
    let (Some(tip), Some(head)) = (git.last_seen(remote, branch)?, git.head_commit()?) else { return Ok(()) };
    if git.is_in(&tip, &head)? {
        return Ok(());
    }
    let commits = git.commits_between(&head, &tip)?;
    run.tell(EventKind::Unmerged { branch: format!("{remote}/{branch}"), commits, into: git.on_branch() })
}

/// Why a run cannot land on a branch now; none where it can.
fn obstacle(run: &RunContext<'_>, git: &Git, branch: &str) -> Result<Option<String>, EngineError> {
    Ok(match git.place_of(branch)? {
        Place::Nobody => None,
        Place::Elsewhere(tree) => Some(checked_out_in(branch, &tree)),
        Place::Here => match in_use(run)? {
            None => git.hindrance()?,
            used => used,
        }
        .map(|why| checked_out(branch, &why)),
    })
}

/// Whether a run works in the checkout itself: its attempts must not meet with changes of others.
fn in_use(run: &RunContext<'_>) -> Result<Option<String>, StoreError> {
    Ok(run.run_in_checkout()?.map(|other| format!("run {other} works in it")))
}

fn own_branch(run: &RunContext<'_>) -> String {
    format!("ralph/{}", run.id)
}

impl RunContext<'_> {
    /// Waits for the lock that is held while a branch is moved; none where the run is to end.
    pub(super) fn landing_lock(&mut self, git: &Git) -> Result<Option<Lock>, GitError> {
        loop {
            match git.landing_lock()? {
                None if self.interrupt.first().is_none() => {
                    self.beat();
                    self.clock.sleep(NAP);
                }
                lock => return Ok(lock),
            }
        }
    }

    /// The same at the start of a run, but not for as long as the gates of another one may take.
    fn landing_lock_soon(&mut self, git: &Git) -> Result<Option<Lock>, GitError> {
        let asked = self.clock.steady();
        loop {
            match git.landing_lock()? {
                None if self.interrupt.first().is_none()
                    && self.clock.steady().saturating_sub(asked) < PATIENCE =>
                {
                    self.clock.sleep(NAP);
                }
                lock => return Ok(lock),
            }
        }
    }

    /// A person is at work on the branch: from now on the run lands on one of its own.
    pub(super) fn leave_branch(&mut self, git: &Git, branch: &str, tip: &str, why: &str) -> Result {
        let own = own_branch(self);
        if branch == own {
            // It is that branch which is checked out.
            self.move_to_branch(git, &format!("{own}-{}", self.worker), tip)?;
        } else {
            self.move_to_branch(git, &own, tip)?;
        }
        let now = self.store.run_branch(&self.id)?.unwrap_or_default();
        self.warn(format!("{why}; this run lands on {now} from now on"))
    }

    fn move_to_branch(&mut self, git: &Git, name: &str, tip: &str) -> Result {
        if git.tip(name)?.is_none() {
            git.make_branch(name, tip)?;
        }
        Ok(self.store.set_run_branch(&self.id, name)?)
    }

    /// A run was killed while it brought the checkout forward.
    pub(super) fn tell_went_back(&mut self, left: &[String]) -> Result {
        let more = match left {
            [] => String::new(),
            left => format!("; left as you changed them: {}", some_of(left)),
        };
        self.warn(format!(
            "Ralph was killed while it was updating your checkout; the checkout is back at the previous commit{more}"
        ))
    }
}
