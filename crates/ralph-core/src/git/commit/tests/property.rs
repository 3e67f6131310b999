//! Random dirt of a person's, random work of an attempt: the commit takes all of the work and nothing of the dirt.

use proptest::prelude::*;

use super::*;
use crate::git::testing::state::State;
use crate::git::testing::steps::{Step, apply, step};

/// What an index or a tree has for paths, as git lists it.
fn listed(repo: &Repo, args: &[&str], paths: &[&Vec<u8>]) -> Vec<String> {
    let names = paths.iter().map(|path| String::from_utf8_lossy(path));
    let mut args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    args.extend(names.map(|name| format!(":(literal){name}")));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let out = repo.git(&args);
    out.split('\0').map(str::to_owned).collect()
}

fn check(dirt: &[Step], work: &[Step], committed: usize) {
    let repo = Repo::new();
    for index in 0..committed {
        apply(&repo, &Step::Write(index, 9));
    }
    repo.write("always", "x\n");
    repo.commit_all("first");
    for step in dirt {
        apply(&repo, step);
    }
    let git = repo.open();
    let before = git.snapshot().unwrap();
    let users: Vec<&Vec<u8>> = before.dirty.keys().collect();
    for step in work {
        apply(&repo, step);
    }
    let head = repo.head();
    let staged = |repo: &Repo| match users.is_empty() {
        true => Vec::new(),
        false => listed(repo, &["ls-files", "-s", "-z", "--"], &users),
    };
    let (state, now, index) = (State::of(repo.root()), git.snapshot().unwrap(), staged(&repo));
    let outcome = commit(&git, &order(&before, "m")).unwrap();
    let after = State::of(repo.root());
    assert_eq!(outcome.warning, None);
    assert!(state.files == after.files, "{state:#?} {after:#?}");
    assert_eq!(index, staged(&repo), "the user's index");
    let left: Vec<&str> = outcome.left_out.iter().map(|left| left.what.as_str()).collect();
    let still = git.snapshot().unwrap();
    // What is no longer to be tracked is still there.
    let tracked = now.dirty.iter().filter(|(_, state)| !state.is_dropped());
    for (path, _) in tracked {
        let name = crate::git::paths::display_path(path);
        let is_clean = !still.dirty.contains_key(path);
        let is_users = users.contains(&path) || left.contains(&name.as_str());
        assert_eq!(is_clean, !is_users, "{name:?} {outcome:?}");
    }
    match &outcome.hash {
        None => assert_eq!(repo.head(), head),
        Some(hash) => {
            let names = repo.names_in(hash);
            assert!(!names.is_empty());
            let is_users = |name: &String| users.iter().any(|path| name.as_bytes() == *path);
            assert!(!names.iter().any(is_users), "{names:?} {before:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(24)
    ))]

    #[test]
    fn a_commit_takes_the_work_and_leaves_the_dirt(
        dirt in proptest::collection::vec(step(), 0..8),
        work in proptest::collection::vec(step(), 0..8),
        committed in 0..6_usize,
    ) {
        check(&dirt, &work, committed);
    }
}
