//! Commits in real repositories.

mod hooks;
mod kinds;
mod property;
mod whose;

use super::*;
use crate::git::LeftBecause;
use crate::git::testing::Repo;

fn order<'a>(before: &'a Snapshot, message: &'a str) -> CommitOrder<'a> {
    CommitOrder {
        run_start: before,
        before,
        now: None,
        message,
        env: vec![("RALPH_TASK_ID".into(), "t-000001".into())],
        timeout: Duration::from_secs(60),
        grace: Duration::from_millis(200),
        confinement: None,
    }
}

fn commit(git: &Git, order: &CommitOrder<'_>) -> Result<CommitOutcome, GitError> {
    git.commit(order, &Interrupt::default(), &mut || {})
}

/// What comes of an attempt that does this.
fn after(git: &Git, act: impl FnOnce()) -> Result<CommitOutcome, GitError> {
    let before = git.snapshot().unwrap();
    act();
    commit(git, &order(&before, "1.3: Do it"))
}

fn left(what: &str, why: LeftBecause) -> Left {
    Left { what: what.into(), why }
}
