//! Which paths belong into a commit, decided over plain data.

use super::paths::shown;
use super::snapshot::{Content, FileState, Snapshot};
use super::{Left, LeftBecause};

/// What a commit takes and what it leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    /// Paths of the project.
    pub(super) paths: Vec<Vec<u8>>,
    pub(super) left_out: Vec<Left>,
}

/// Takes what changed since `before`, but for what was a person's already: dirty when the run began and still so before.
pub(super) fn choose(run_start: &Snapshot, before: &Snapshot, now: &Snapshot) -> Choice {
    let mut choice = Choice::default();
    for (path, state) in &now.dirty {
        let known = before.dirty.get(path);
        // Git's letters for a submodule may stay the same while it moves on: it is looked at again.
        if known == Some(state) && state.submodule.is_none() {
            continue;
        }
        let is_persons = known.is_some() && run_start.dirty.contains_key(path);
        let why = if is_persons && known == Some(state) {
            None
        } else if is_persons || was_moved(path, state, run_start, before, now) {
            Some(LeftBecause::UncommittedBefore)
        } else if path.ends_with(b"/") {
            Some(LeftBecause::Repository)
        } else {
            choice.paths.push(path.clone());
            // What is uncommitted inside a submodule cannot be taken along.
            let is_dirty = |letters: &Vec<u8>| letters.get(2..).is_some_and(|rest| rest != b"..");
            let inside = state.submodule.as_ref().is_some_and(is_dirty);
            inside.then_some(LeftBecause::Submodule)
        };
        if let Some(why) = why {
            let path = path.strip_suffix(b"/").unwrap_or(path);
            choice.left_out.push(Left {
                what: shown(path),
                why,
            });
        }
    }
    choice
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
            old.content == state.content && run_start.dirty.contains_key(other) && is_gone(other)
        })
}
