//! Roll-backs in real repositories.

mod alone;
mod files;
mod heads;
mod property;
mod staged;

use super::*;
use crate::git::testing::Repo;
use crate::git::testing::state::State;

const MESSAGE: &str = "1.3: the second attempt failed";

/// Rolls an attempt back that does this.
fn undo(git: &Git, mode: RollbackMode, act: impl FnOnce()) -> (Kept, Result<RolledBack, GitError>) {
    let kept = git.keep("1.3-2", None).unwrap();
    act();
    let done = git.roll_back(&kept, mode, "1.3-2", MESSAGE);
    (kept, done)
}

/// The same, and sees that everything is as it was.
fn undone(repo: &Repo, git: &Git, act: impl FnOnce()) -> RolledBack {
    let before = State::of(repo.root());
    let (_, done) = undo(git, RollbackMode::Reset, act);
    let done = done.unwrap();
    pretty_equal(&before, &State::of(repo.root()));
    assert!(repo.scratch().is_empty());
    assert_eq!(references(repo, "kept"), "");
    done
}

fn pretty_equal(before: &State, after: &State) {
    assert!(before == after, "before: {before:#?}\nafter: {after:#?}");
}

fn references(repo: &Repo, kind: &str) -> String {
    let pattern = format!("refs/ralph/{kind}/");
    repo.git(&["for-each-ref", "--format=%(refname)", &pattern])
}

/// What the reference holds at a path.
fn saved(repo: &Repo, done: &RolledBack, path: &str) -> String {
    let at = format!("{}:{path}", done.reference.as_ref().unwrap());
    repo.git(&["show", &at])
}

fn left(what: &str, why: LeftBecause) -> Left {
    Left { what: what.into(), why }
}
