//! The repository's index after a commit that was made with another one.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::git::index::index_info;
use crate::git::paths::RepoPath;
use crate::git::places::Places;
use crate::git::trees::{Difference, differences};
use crate::git::{Git, GitError, Snapshot};

/// How long somebody else's lock on the index is waited for.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);
const NAP: Duration = Duration::from_millis(50);

/// Brings the repository's index to the new HEAD where a person has staged nothing. What is in the commits, and what went
/// wrong: they are made, and nothing here takes them back.
pub(super) fn follow(
    git: &Git,
    places: &Places,
    old: Option<&str>,
    new: &str,
    run_start: &Snapshot,
) -> Result<(Vec<RepoPath>, Option<String>), GitError> {
    let committed = differences(places, old, Some(new))?;
    let fault = match update(git, places, old, &committed, run_start) {
        Ok(()) => None,
        Err(error) => Some(format!(
            "the index does not know of the commit yet ({error}); `git reset` brings it up to date"
        )),
    };
    let paths = committed.into_iter().map(|difference| difference.path);
    Ok((paths.collect(), fault))
}

fn update(
    git: &Git,
    places: &Places,
    old: Option<&str>,
    committed: &[Difference],
    run_start: &Snapshot,
) -> Result<(), GitError> {
    let staged = staged(places, old)?;
    let is_persons = |path: &RepoPath| match path.strip_prefix(git.prefix.as_slice()) {
        Some(inside) => run_start.dirty.contains_key(inside) || git.own_path(path).is_none(),
        None => true,
    };
    let free = committed
        .iter()
        .filter(|difference| !(staged.contains(&difference.path) && is_persons(&difference.path)))
        .map(|difference| (&difference.path, &difference.to));
    let list = index_info(free);
    let asked = Instant::now();
    loop {
        let call = places.call(&["update-index", "-z", "--index-info"]);
        match call.input(list.clone()).run() {
            Ok(_) => break,
            Err(error) if asked.elapsed() >= LOCK_PATIENCE => return Err(error),
            Err(_) => std::thread::sleep(NAP),
        }
    }
    // So that git need not look into the files again; it says no where others are changed.
    let _ = places.call(&["update-index", "-q", "--refresh"]).output();
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
