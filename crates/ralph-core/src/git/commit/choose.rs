//! Which paths belong into a commit, decided over plain data.

use crate::git::file_state::{Content, FileState};
use crate::git::paths::{parents, shown};
use crate::git::{Left, LeftBecause, Snapshot};

/// What a commit takes and what it leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::git) struct Choice {
    /// Paths of the project, as they are in the work tree.
    pub(in crate::git) paths: Vec<Vec<u8>>,
    /// Paths that are to be tracked no longer; their files stay.
    pub(in crate::git) dropped: Vec<Vec<u8>>,
    pub(in crate::git) left_out: Vec<Left>,
}

/// Takes what changed since `before`, but for what was a person's already: dirty when the run began and still so before.
/// Neither is what took the place of such a file taken, or what is below its name now: with it the file would go.
pub(in crate::git) fn choose(run_start: &Snapshot, before: &Snapshot, now: &Snapshot) -> Choice {
    let mut choice = Choice::default();
    for (path, state) in &now.dirty {
        let known = before.dirty.get(path);
        let is_unchanged = known.is_some_and(|known| known.is_same_as(state));
        // Git's letters for a submodule may stay the same while it moves on: it is looked at again.
        if is_unchanged && state.submodule.is_none() {
            continue;
        }
        let is_persons =
            |path: &[u8]| before.dirty.contains_key(path) && run_start.dirty.contains_key(path);
        let why = if is_persons(path) && is_unchanged {
            None
        } else if is_persons(path)
            || parents(path).any(|dir| is_persons(bare(dir)))
            || below(before, path).any(|path| is_persons(path))
            || was_moved(path, state, run_start, before, now)
        {
            Some(LeftBecause::UncommittedBefore)
        } else if path.ends_with(b"/") {
            Some(LeftBecause::Repository)
        } else if state.is_dropped() {
            choice.dropped.push(path.clone());
            None
        } else {
            choice.paths.push(path.clone());
            // What is uncommitted inside a submodule cannot be taken along.
            let is_dirty = |letters: &Vec<u8>| letters.get(2..).is_some_and(|rest| rest != b"..");
            let inside = state.submodule.as_ref().is_some_and(is_dirty);
            inside.then_some(LeftBecause::Submodule)
        };
        if let Some(why) = why {
            choice.left_out.push(Left {
                what: shown(bare(path)),
                why,
            });
        }
    }
    choice
}

/// A directory without its slash.
fn bare(dir: &[u8]) -> &[u8] {
    dir.strip_suffix(b"/").unwrap_or(dir)
}

/// What was dirty below a path.
fn below<'s>(snapshot: &'s Snapshot, path: &[u8]) -> impl Iterator<Item = &'s Vec<u8>> {
    let dir = [path, b"/"].concat();
    let from = snapshot.dirty.range(dir.clone()..).map(|(path, _)| path);
    from.take_while(move |path| path.starts_with(&dir))
}

/// Whether a new path holds just what a person's uncommitted file did, which is gone: moved with its lines.
fn was_moved(
    path: &[u8],
    state: &FileState,
    run_start: &Snapshot,
    before: &Snapshot,
    now: &Snapshot,
) -> bool {
    let is_gone = |path: &Vec<u8>| {
        now.dirty
            .get(path)
            .is_none_or(|state| state.content == Content::Gone)
    };
    state.content != Content::Gone
        && !before.dirty.contains_key(path)
        && before.dirty.iter().any(|(other, old)| {
            old.content.is_same_as(&state.content)
                && run_start.dirty.contains_key(other)
                && is_gone(other)
        })
}
