//! Undoing a failed attempt: saved first, then everything as it was before.

mod files;
mod heads;
mod keep;
mod look;
mod plan;
mod restore;
mod undone;

use std::collections::BTreeSet;

pub use keep::Kept;

use super::index::{Entries, Entry, Index};
use super::paths::{RepoPath, shown};
use super::places::Places;
use super::save;
use super::trees::differences;
use super::{Git, GitError, Left, LeftBecause};
use heads::{Way, short};
use look::Look;
use restore::{Restore, ignored};
use undone::Undone;

/// What git writes into its logs of references.
const REFLOG: &str = "ralph: roll back";

/// Where a person finds what was undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RollbackMode {
    /// Under a reference, and in `git stash list`.
    Stash,
    /// Under a reference.
    Reset,
}

/// An attempt undone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RolledBack {
    /// Where everything that was undone is; none if there was nothing.
    pub reference: Option<String>,
    /// The commit that `git stash list` shows, where it does.
    pub stash: Option<String>,
    /// The files that were brought back or removed.
    pub files: Vec<String>,
    /// How many commits the branch went back.
    pub commits_undone: u32,
    /// What the attempt changed and is still so.
    pub left: Vec<Left>,
}

/// Why a roll-back ended early, when its reference was there already.
enum Stopped {
    /// Before anything was touched.
    Refused(String),
    /// On the way.
    Incomplete(String),
}

impl From<GitError> for Stopped {
    fn from(error: GitError) -> Self {
        Self::Refused(error.to_string())
    }
}

impl Git {
    /// Brings the work tree, the index and HEAD back to what was kept. Everything undone is first saved in a commit under
    /// `refs/ralph/rollback/` and `name`, which errors name too. Untouched are ignored files, Ralph's own, submodules,
    /// other repositories, and everything outside the project; of other references only the branch moves back.
    ///
    /// What a person changed while the attempt ran cannot be told from the attempt's work and goes with it; it is in
    /// that commit. No other run may work in the same tree meanwhile. After an error what was kept stays kept.
    pub fn roll_back(
        &self,
        kept: &Kept,
        mode: RollbackMode,
        name: &str,
        message: &str,
    ) -> Result<RolledBack, GitError> {
        let places = self.settled_places()?;
        places.wait_for_index()?;
        let before = &kept.look;
        let now = self.look(&places)?;
        let committed = differences(&places, before.head.as_deref(), now.head.as_deref())?;
        let committed = committed.into_iter().map(|d| d.path).collect();
        let index = Index::copy_of(&places, kept.index.as_ref())?;
        let entries = index.entries()?;
        let plan = self.plan(&places, kept, &now, &committed, &entries)?;
        let undone = Undone {
            places: &places,
            kept,
            now: &now,
            plan: &plan,
            committed: &committed,
            entries: &entries,
        };
        let mut rolled_back = RolledBack::default();
        if undone.is_something() {
            let message = crate::text::mask_secrets(&crate::text::clean(message)).into_owned();
            let reference = save::reference(&places, "rollback", name, &undone.commit(&message)?)?;
            let kept = || kept.reference().map(str::to_owned);
            rolled_back = match self.go_back(&undone, &index, mode, &message) {
                Ok(rolled_back) => rolled_back,
                Err(Stopped::Refused(why)) => {
                    return Err(GitError::RollbackRefused {
                        why,
                        reference,
                        kept: kept(),
                    });
                }
                Err(Stopped::Incomplete(why)) => {
                    return Err(GitError::RollbackIncomplete {
                        why,
                        reference,
                        kept: kept(),
                    });
                }
            };
            rolled_back.reference = Some(reference);
        }
        rolled_back.left.extend(plan.left);
        // A reference too many harms nobody.
        let _ = self.let_go(kept);
        Ok(rolled_back)
    }

    /// Goes back, now that everything is saved.
    fn go_back(
        &self,
        undone: &Undone<'_>,
        index: &Index<'_>,
        mode: RollbackMode,
        message: &str,
    ) -> Result<RolledBack, Stopped> {
        let (places, before, now) = (undone.places, &undone.kept.look, undone.now);
        let way = heads::find(places, before, now)?
            .and_then(|way| self.stays_inside(way, undone.committed))
            .map_err(Stopped::Refused)?;
        let commits_undone = commits(places, &way)?;
        let stash = match mode {
            RollbackMode::Stash => undone.stash(&crate::text::one_line(message, 200))?,
            RollbackMode::Reset => None,
        };
        heads::go(places, &way, REFLOG)?;
        let spared = self.bring_back(undone, index)?;
        let mut left = Vec::new();
        if let (Way::Switch { .. } | Way::Detach { .. }, Some(branch)) = (&way, &now.branch) {
            left.push(Left {
                what: short(branch).to_owned(),
                why: LeftBecause::Branch,
            });
        }
        for path in hidden(places, before, now).unwrap_or_default() {
            if self.own_path(&path).is_some() {
                left.push(self.left(&path, LeftBecause::IgnoredMeanwhile));
            }
        }
        let files = undone.plan.undo.keys();
        Ok(RolledBack {
            files: files
                .filter(|path| !spared.contains(*path))
                .map(|path| self.display(path))
                .collect(),
            stash,
            commits_undone,
            left,
            reference: None,
        })
    }

    /// Files and the index; what the rules of before ignore is spared and given.
    fn bring_back(
        &self,
        undone: &Undone<'_>,
        index: &Index<'_>,
    ) -> Result<BTreeSet<RepoPath>, Stopped> {
        let (places, kept) = (undone.places, undone.kept);
        let mut restore = Restore {
            places,
            index,
            since: kept.since,
            faults: Vec::new(),
            spared: BTreeSet::new(),
        };
        if let Err(error) = restore.all(&undone.plan.undo) {
            restore.faults.push(error.to_string());
        }
        let outside = self.outside(places, undone.committed, undone.entries);
        let installed = outside.and_then(|outside| {
            index.set(outside.iter().map(|(path, entry)| (path, entry)))?;
            let is_one = kept.index.is_some() || !outside.is_empty();
            places.install_index(is_one.then(|| index.path()).as_deref())
        });
        if let Err(error) = installed {
            restore.faults.push(error.to_string());
        }
        match restore.faults.split_first() {
            None => Ok(restore.spared),
            Some((first, [])) => Err(Stopped::Incomplete(first.clone())),
            Some((first, more)) => Err(Stopped::Incomplete(format!(
                "{first} (and {} more)",
                more.len()
            ))),
        }
    }

    /// What others staged outside the project meanwhile stays staged.
    fn outside(
        &self,
        places: &Places,
        committed: &BTreeSet<RepoPath>,
        entries: &Entries,
    ) -> Result<Vec<(RepoPath, Entry)>, GitError> {
        let mut set = Vec::new();
        if self.prefix.is_empty() {
            return Ok(set);
        }
        let now = Index::copy_of(places, places.read_index()?.as_ref())?.entries()?;
        let paths: BTreeSet<&RepoPath> = entries.keys().chain(now.keys()).collect();
        for path in paths {
            let differs = now.get(path) != entries.get(path);
            if !differs || path.starts_with(&self.prefix) || committed.contains(path) {
                continue;
            }
            let known = entries.get(path).or_else(|| now.get(path));
            let like = known.and_then(|entries| entries.first());
            set.extend(like.map(|like| (path.clone(), Entry::none(&like.object))));
            let there = now.get(path).into_iter().flatten();
            set.extend(there.map(|entry| (path.clone(), entry.clone())));
        }
        Ok(set)
    }

    /// Another branch is only left where that changes nothing outside the project.
    fn stays_inside(&self, way: Way, committed: &BTreeSet<RepoPath>) -> Result<Way, String> {
        let outside = committed
            .iter()
            .find(|path| !path.starts_with(&self.prefix));
        match (&way, outside) {
            (Way::Switch { .. } | Way::Detach { .. }, Some(path)) => Err(format!(
                "the attempt switched branches, which changed {} outside the project",
                shown(path)
            )),
            _ => Ok(way),
        }
    }
}

/// What was ignored when the attempt ended, by rules that are gone now.
fn hidden(places: &Places, before: &Look, now: &Look) -> Result<Vec<RepoPath>, GitError> {
    let new: Vec<&RepoPath> = now.ignored.difference(&before.ignored).collect();
    let ignored = ignored(places, new.iter().map(|path| path.as_slice()))?;
    let hidden = new.into_iter().filter(|path| !ignored.contains(*path));
    Ok(hidden.cloned().collect())
}

/// How many commits the branch goes back.
fn commits(places: &Places, way: &Way) -> Result<u32, GitError> {
    let Way::Move {
        from: Some(from),
        to,
    } = way
    else {
        return Ok(0);
    };
    let call = places.call(&["rev-list", "--count", from]);
    let call = match to {
        Some(to) => call.arg(format!("^{to}")),
        None => call,
    };
    Ok(call.line()?.parse().unwrap_or(0))
}

#[cfg(test)]
mod tests;
