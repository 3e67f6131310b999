//! Random dirt of a person's, random work of an attempt: after a roll-back everything is as it was, and the reference
//! holds what was undone.

use std::os::unix::ffi::OsStrExt;

use proptest::prelude::*;

use super::*;
use crate::git::testing::state::OnDisk;
use crate::git::testing::steps::{Step, apply, step};

/// What only an attempt does here.
fn attempt_step() -> impl Strategy<Value = Step> {
    let git = prop_oneof![
        Just(vec!["add", "-A"]),
        Just(vec!["commit", "-qm", "x"]),
        Just(vec!["commit", "-qam", "x"]),
        Just(vec!["commit", "-q", "--amend", "-m", "y"]),
        Just(vec!["stash", "push", "-q", "-u"]),
        Just(vec!["stash", "pop", "-q"]),
        Just(vec!["reset", "-q", "--hard"]),
        Just(vec!["reset", "-q", "--hard", "HEAD~1"]),
        Just(vec!["clean", "-qfd"]),
        Just(vec!["checkout", "-q", "-b", "feature"]),
        Just(vec!["checkout", "-q", "--detach"]),
        Just(vec!["checkout", "-q", "-f", "main"]),
        Just(vec!["rm", "-rqf", "d"]),
    ];
    prop_oneof![4 => step(), 2 => git.prop_map(|git| Step::Git(git, None))]
}

/// Everything the attempt had changed is in the reference as it was then.
fn holds(repo: &Repo, reference: &str, before: &State, attempt: &State) {
    let paths = before.files.keys().chain(attempt.files.keys());
    for path in paths.filter(|path| before.files.get(*path) != attempt.files.get(*path)) {
        let name = path.to_str().unwrap();
        let listed = repo.git(&["ls-tree", "-z", reference, "--", &format!(":(literal){name}")]);
        let Some(now) = attempt.files.get(path) else {
            let is_gone = listed.is_empty() || listed.starts_with("040000");
            assert!(is_gone, "{name:?} {listed}");
            continue;
        };
        let shown = || {
            let blob = format!("{reference}:{name}");
            repo.git(&["cat-file", "blob", &blob]).into_bytes()
        };
        match now {
            OnDisk::File(mode, bytes) => {
                assert_eq!(&shown(), bytes, "{name:?}");
                let executable = mode & 0o100 != 0;
                assert_eq!(listed.starts_with("100755"), executable, "{name:?} {listed}");
            }
            OnDisk::Link(target) => {
                assert_eq!(shown(), target.as_os_str().as_encoded_bytes());
                assert!(listed.starts_with("120000"));
            }
        }
    }
}

fn check(dirt: &[Step], work: &[Step], mode: RollbackMode, committed: usize) {
    let repo = Repo::new();
    for index in 0..committed {
        apply(&repo, &Step::Write(index, 9));
    }
    repo.write(".gitignore", "ignored\n");
    if committed > 0 {
        repo.commit_all("first");
        repo.write("second", "x\n");
        repo.commit_all("second");
    }
    repo.write("ignored", "the user's\n");
    for step in dirt {
        apply(&repo, step);
    }
    let git = Git::discover(repo.root()).unwrap();
    let before = State::of(repo.root());
    let kept = git.keep("p", None).unwrap();
    for step in work {
        apply(&repo, step);
    }
    // An ignored file that an attempt removes is beyond us.
    repo.write("ignored", "the user's\n");
    let attempt = State::of(repo.root());
    let head = repo_head(&repo);
    // Of clean files git itself knows no more than whether they can be executed.
    let known = |state: &State| {
        let mut state = state.clone();
        state.forget_permissions(|path| !kept.files.contains_key(path.as_os_str().as_bytes()));
        state
    };
    match git.roll_back(&kept, mode, "p", "undone") {
        Ok(done) => {
            let after = State::of(repo.root());
            assert!(
                known(&before) == known(&after),
                "before {before:#?}\nattempt {attempt:#?}\nafter {after:#?}"
            );
            match &done.reference {
                Some(reference) => {
                    holds(&repo, reference, &before, &attempt);
                    if let Some(head) = head {
                        let log = repo.git(&["rev-list", reference]);
                        assert!(log.contains(&head));
                    }
                }
                None => assert!(known(&before) == known(&attempt)),
            }
        }
        Err(GitError::RollbackRefused { reference, why, .. }) => {
            assert!(why.contains("moved") || why.contains("deleted"), "{why}");
            assert!(attempt == State::of(repo.root()));
            holds(&repo, &reference, &before, &attempt);
        }
        Err(error) => panic!("{error}"),
    }
    assert!(repo.scratch().is_empty());
}

fn repo_head(repo: &Repo) -> Option<String> {
    let out = repo.try_git(&["rev-parse", "-q", "--verify", "HEAD"]).ok()?;
    Some(out.trim().to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(24)
    ))]

    #[test]
    fn a_roll_back_brings_everything_back(
        dirt in proptest::collection::vec(step(), 0..10),
        work in proptest::collection::vec(attempt_step(), 0..14),
        mode in prop_oneof![Just(RollbackMode::Stash), Just(RollbackMode::Reset)],
        committed in 0..6_usize,
    ) {
        check(&dirt, &work, mode, committed);
    }
}
