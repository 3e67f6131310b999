//! Random dirt of a person's, random work of an attempt: after a roll-back everything is as it was, and the reference
//! holds what was undone.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::call::Call;
use super::testing::{OnDisk, Repo, State};
use super::{Git, GitError, RollbackMode};

const PATHS: [&str; 10] = [
    "a", "b", "c.sh", "d", "d/x", "d/y/z", "e\nf", "-g", "h i/j", "k",
];

#[derive(Clone, Debug)]
enum Step {
    Write(usize, u8),
    Remove(usize),
    Link(usize, u8),
    Permit(usize, u32),
    Move(usize, usize),
    Git(Vec<&'static str>, Option<usize>),
}

fn path() -> impl Strategy<Value = usize> {
    0..PATHS.len()
}

/// What anybody does.
fn step() -> impl Strategy<Value = Step> {
    let git = prop_oneof![
        Just(vec!["add", "--"]),
        Just(vec!["add", "-N", "--"]),
        Just(vec!["rm", "-q", "--cached", "--"]),
        Just(vec!["reset", "-q", "--"]),
        Just(vec!["checkout", "-q", "--"]),
    ];
    prop_oneof![
        6 => (path(), 0..6_u8).prop_map(|(path, text)| Step::Write(path, text)),
        2 => path().prop_map(Step::Remove),
        1 => (path(), 0..3_u8).prop_map(|(path, to)| Step::Link(path, to)),
        1 => (path(), prop_oneof![Just(0o600), Just(0o644), Just(0o755), Just(0o700)])
            .prop_map(|(path, mode)| Step::Permit(path, mode)),
        1 => (path(), path()).prop_map(|(from, to)| Step::Move(from, to)),
        4 => (git, path()).prop_map(|(git, path)| Step::Git(git, Some(path))),
    ]
}

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

fn on_disk(repo: &Repo, index: usize) -> PathBuf {
    repo.path(PATHS[index])
}

/// Makes room for a file: whatever is there or above it goes.
fn make_room(repo: &Repo, path: &Path) {
    let mut above = path.parent().unwrap();
    while above != repo.root() {
        if fs::symlink_metadata(above).is_ok_and(|meta| !meta.is_dir()) {
            fs::remove_file(above).unwrap();
        }
        above = above.parent().unwrap();
    }
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file())
}

fn apply(repo: &Repo, step: &Step) {
    match step {
        Step::Write(path, text) => {
            let path = on_disk(repo, *path);
            // In place where there is a file, as an editor may do.
            if !is_file(&path) {
                make_room(repo, &path);
            }
            fs::write(path, format!("text {text}\n")).unwrap();
        }
        Step::Remove(path) => {
            let path = on_disk(repo, *path);
            if fs::symlink_metadata(&path).is_ok_and(|meta| !meta.is_dir()) {
                fs::remove_file(path).unwrap();
            }
        }
        Step::Link(path, to) => {
            let path = on_disk(repo, *path);
            make_room(repo, &path);
            symlink(["a", "d", "/nowhere"][usize::from(*to)], path).unwrap();
        }
        Step::Permit(path, mode) => {
            if is_file(&on_disk(repo, *path)) {
                repo.chmod(PATHS[*path], *mode);
            }
        }
        Step::Move(from, to) => {
            let (from, to) = (on_disk(repo, *from), on_disk(repo, *to));
            if is_file(&from) && !to.starts_with(&from) && !from.starts_with(&to) {
                make_room(repo, &to);
                fs::rename(from, to).unwrap();
            }
        }
        Step::Git(args, path) => {
            let call = Call::new(repo.root(), args);
            let call = match path {
                Some(path) => call.arg(PATHS[*path]),
                None => call,
            };
            // It may well say no.
            let _ = call.output().unwrap();
        }
    }
}

/// Everything the attempt had changed is in the reference as it was then.
fn holds(repo: &Repo, reference: &str, before: &State, attempt: &State) {
    let paths = before.files.keys().chain(attempt.files.keys());
    for path in paths.filter(|path| before.files.get(*path) != attempt.files.get(*path)) {
        let name = path.to_str().unwrap();
        let listed = repo.git(&[
            "ls-tree",
            "-z",
            reference,
            "--",
            &format!(":(literal){name}"),
        ]);
        let Some(now) = attempt.files.get(path) else {
            let is_gone = listed.is_empty() || listed.starts_with("040000");
            assert!(is_gone, "{name:?} {listed}");
            continue;
        };
        let shown = || {
            Call::new(repo.root(), &["cat-file", "blob"])
                .arg(format!("{reference}:{name}"))
                .run()
                .unwrap()
        };
        match now {
            OnDisk::File(mode, bytes) => {
                assert_eq!(&shown(), bytes, "{name:?}");
                let executable = mode & 0o100 != 0;
                assert_eq!(
                    listed.starts_with("100755"),
                    executable,
                    "{name:?} {listed}"
                );
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
    let kept = git.keep("p").unwrap();
    for step in work {
        apply(&repo, step);
    }
    let attempt = State::of(repo.root());
    let head = repo_head(&repo);
    match git.roll_back(&kept, mode, "p", "undone") {
        Ok(done) => {
            let after = State::of(repo.root());
            assert!(
                before == after,
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
                None => assert!(before == attempt, "{before:#?} {attempt:#?}"),
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
    let out = Call::new(repo.root(), &["rev-parse", "-q", "--verify", "HEAD"]).run();
    Some(String::from_utf8_lossy(&out.ok()?).trim().to_owned())
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
