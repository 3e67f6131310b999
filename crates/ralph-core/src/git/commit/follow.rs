//! The repository's index after a commit that was made with another one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::git::index::{Entry, Index, index_info};
use crate::git::paths::RepoPath;
use crate::git::places::Places;
use crate::git::trees::{Difference, differences};
use crate::git::{Git, GitError, Snapshot};

/// How long somebody else's lock on the index is waited for.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);
const NAP: Duration = Duration::from_millis(50);

/// A commit that was made.
pub(super) struct Made<'m> {
    pub(super) places: &'m Places,
    /// The index it was made with.
    pub(super) index: &'m Index<'m>,
    /// HEAD before.
    pub(super) old: Option<&'m str>,
    /// HEAD now.
    pub(super) new: &'m str,
    /// What was meant to be in it.
    pub(super) paths: &'m BTreeSet<RepoPath>,
    /// What was a person's when the run began.
    pub(super) run_start: &'m Snapshot,
}

/// Brings the repository's index to the new HEAD where a person has staged nothing. What is in the commit, and what went
/// wrong: it is made, and nothing here takes it back.
pub(super) fn follow(git: &Git, made: &Made<'_>) -> (Vec<RepoPath>, Option<String>) {
    let fault = |error: GitError| {
        format!(
            "git's index was not updated after the commit ({error}); update it with `git reset`"
        )
    };
    match differences(made.places, made.old, Some(made.new)) {
        Ok(committed) => {
            let fault = update(git, made, &committed).err().map(fault);
            let paths = committed.into_iter().map(|difference| difference.path);
            (paths.collect(), fault)
        }
        Err(error) => (made.paths.iter().cloned().collect(), Some(fault(error))),
    }
}

fn update(git: &Git, made: &Made<'_>, committed: &[Difference]) -> Result<(), GitError> {
    let staged = staged(made.places, made.old)?;
    let is_persons = |path: &RepoPath| match path.strip_prefix(git.prefix.as_slice()) {
        Some(inside) => made.run_start.dirty.contains_key(inside) || git.own_path(path).is_none(),
        None => true,
    };
    let mut entries: BTreeMap<&RepoPath, Entry> = committed
        .iter()
        .filter(|difference| !(staged.contains(&difference.path) && is_persons(&difference.path)))
        .map(|difference| (&difference.path, difference.to.clone()))
        .collect();
    // What the attempt had staged and then taken back: the index is to forget it too.
    let stale = staged.iter().filter(|path| made.paths.contains(*path));
    let stale: Vec<&RepoPath> = stale.filter(|path| !entries.contains_key(path)).collect();
    if !stale.is_empty() {
        let known = made.index.entries()?;
        for path in stale {
            let entry = known.get(path).and_then(|entries| entries.first()).cloned();
            entries.insert(path, entry.unwrap_or_else(|| Entry::none(made.new)));
        }
    }
    let list = index_info(entries.iter().map(|(path, entry)| (*path, entry)));
    let asked = Instant::now();
    loop {
        let call = made.places.change(&["update-index", "-z", "--index-info"]);
        match call.input(list.clone()).run() {
            Ok(_) => break,
            Err(GitError::Refused { .. }) if asked.elapsed() < LOCK_PATIENCE => {
                std::thread::sleep(NAP);
            }
            Err(error) => return Err(error),
        }
    }
    // So that git need not look into the files again; it says no where others are changed.
    let refresh = made.places.change(&["update-index", "-q", "--refresh"]);
    let _ = refresh.output();
    Ok(())
}

/// Paths whose entry in the repository's index is another than HEAD's was.
fn staged(places: &Places, head: Option<&str>) -> Result<BTreeSet<RepoPath>, GitError> {
    let call = match head {
        Some(head) => places.call(&[
            "diff-index",
            "--cached",
            "--name-only",
            "--no-renames",
            "-z",
            head,
        ]),
        None => places.call(&["ls-files", "--cached", "-z"]),
    };
    let out = call.run()?;
    let paths = out.split(|b| *b == 0).filter(|path| !path.is_empty());
    Ok(paths.map(<[u8]>::to_vec).collect())
}
