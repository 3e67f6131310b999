use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::git::testing::Repo;
use crate::git::testing::state::State;

/// A repository on `main` at its first commit, and a commit on top of it that changes files in every way.
fn repo() -> (Repo, String, String) {
    let repo = Repo::new();
    for (path, text) in [
        ("kept.txt", "kept\n"),
        ("changed.txt", "old\n"),
        ("long.txt", &"old line\n".repeat(1000)),
        ("gone.txt", "gone\n"),
        ("deep/er/gone.txt", "gone\n"),
        ("run.sh", "run\n"),
        ("file-then-dir", "a file\n"),
        ("dir-then-file/a", "a\n"),
        (".gitignore", "ignored\n"),
    ] {
        repo.write(path, text);
    }
    symlink("old", repo.path("link")).unwrap();
    repo.commit_all("old");
    repo.write(".git/info/exclude", "/.ralph/\n");
    let old = repo.head();
    repo.git(&["checkout", "-q", "--detach"]);
    repo.write("changed.txt", "new\n");
    repo.write("long.txt", &"new line\n".repeat(1000));
    repo.remove("gone.txt");
    repo.remove("deep/er/gone.txt");
    repo.chmod("run.sh", 0o755);
    repo.remove("file-then-dir");
    repo.write("file-then-dir/b", "b\n");
    repo.remove("dir-then-file/a");
    std::fs::remove_dir(repo.path("dir-then-file")).unwrap();
    repo.write("dir-then-file", "a file\n");
    repo.write("added/deep.txt", "added\n");
    repo.remove("link");
    symlink("new", repo.path("link")).unwrap();
    repo.commit_all("new");
    let new = repo.head();
    repo.git(&["checkout", "-q", "main"]);
    (repo, old, new)
}

/// What a person sees of a repository, with what Ralph must not leave in git's directory.
fn seen(repo: &Repo) -> (State, Vec<String>) {
    let names = std::fs::read_dir(repo.path(".git")).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    let left = names.filter(|name| name.ends_with(".lock") || name.starts_with("ralph-follow"));
    let notes = repo.path(".ralph/follow").exists().then(|| ".ralph/follow".to_owned());
    (State::of(repo.root()), left.chain(notes).collect())
}

/// How far a run comes before it is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Locked,
    Looked,
    Written,
    Indexed,
    Moved,
}

const STEPS: [Step; 5] = [Step::Locked, Step::Looked, Step::Written, Step::Indexed, Step::Moved];

/// Follows up to a step and dies there.
fn follow_up_to(repo: &Repo, old: &str, new: &str, last: Step) {
    let git = repo.open();
    let repository = git.repository().unwrap();
    let note = Note { branch: "main".into(), old: old.into(), new: new.into() };
    let following = Following::begin(&git, repository, note).unwrap().unwrap();
    if last >= Step::Looked {
        assert!(following.is_where_it_was().unwrap());
        assert_eq!(following.hindrance().unwrap(), None);
    }
    if last >= Step::Written {
        assert_eq!(following.write_files().unwrap(), None);
    }
    if last >= Step::Indexed {
        following.install_index().unwrap();
    }
    if last >= Step::Moved {
        assert_eq!(following.move_branch().unwrap(), Followed::Moved);
    }
    std::mem::forget(following);
}

#[test]
fn a_clean_checkout_moves_with_its_branch() {
    let (repo, old, new) = repo();
    repo.write("notes.txt", "a person's, unknown to git\n");
    // Touched and not changed.
    repo.write("changed.txt", "old\n");
    let git = repo.open();
    assert_eq!(git.place_of("main").unwrap(), Place::Here);
    assert_eq!(git.hindrance().unwrap(), None);
    assert_eq!(git.follow("main", &old, &new).unwrap(), Followed::Moved);
    assert_eq!(
        (repo.head(), repo.git(&["symbolic-ref", "HEAD"]).as_str()),
        (new.clone(), "refs/heads/main\n")
    );
    assert_eq!(repo.status(), ["?? notes.txt"]);
    assert_eq!(
        (repo.read("changed.txt").as_str(), repo.read("dir-then-file").as_str()),
        ("new\n", "a file\n")
    );
    assert!(!repo.path("deep").exists() && repo.path("added/deep.txt").exists());
    assert_eq!(seen(&repo).1, Vec::<String>::new());
    // A person finds it in both logs.
    assert!(repo.git(&["reflog", "-1", "HEAD"]).contains("ralph: land"));
    // Somebody was quicker.
    assert_eq!(git.follow("main", &old, &new).unwrap(), Followed::Overtaken);
    assert_eq!(repo.status(), ["?? notes.txt"]);
}

#[test]
fn whatever_is_a_persons_keeps_the_checkout_where_it_is() {
    for (what, script, told) in [
        ("a change", "echo mine > kept.txt", "uncommitted changes: kept.txt"),
        ("a change of the same file", "echo mine > changed.txt", "uncommitted changes: changed.txt"),
        ("something staged", "echo mine > kept.txt; git add kept.txt; echo kept > kept.txt", "kept.txt"),
        ("a new file that is staged", "echo mine > mine.txt; git add mine.txt", "mine.txt"),
        ("a deleted file", "rm gone.txt", "gone.txt"),
        ("a file in the way", "mkdir added; echo mine > added/deep.txt", "in the way: added/deep.txt"),
        (
            "an ignored file in the way",
            "echo added/ >> .git/info/exclude; mkdir added; echo mine > added/deep.txt",
            "in the way: added/deep.txt",
        ),
        ("a file in the place of a directory", "echo mine > added", "in the way: added"),
        ("a link in the place of a directory", "ln -s /tmp added", "in the way: added"),
        ("a file beside one that goes", "echo mine > dir-then-file/mine", "in the way: dir-then-file/mine"),
        ("a repository in the way", "git init -q added; echo x > added/x", "in the way: added"),
        (
            "an unfinished merge",
            "git checkout -qb o; echo o > kept.txt; git commit -qam o; git checkout -q main; git merge -q --no-commit --no-ff o",
            "a merge is in progress",
        ),
        ("a bisection", "git bisect start", "a bisection is in progress"),
        ("an index that git holds", "touch .git/index.lock", "index is locked"),
    ] {
        let (repo, old, new) = repo();
        let done = std::process::Command::new("sh").args(["-ec", script]).current_dir(repo.root()).output();
        assert!(done.as_ref().unwrap().status.success(), "{what}: {done:?}");
        let before = seen(&repo);
        let Followed::Hindered(why) = repo.open().follow("main", &old, &new).unwrap() else {
            panic!("{what}: it followed")
        };
        assert!(why.contains(told), "{what}: {why}");
        assert_eq!(seen(&repo), before, "{what}");
    }
}

#[test]
fn ralphs_own_files_may_differ() {
    let (repo, old, new) = repo();
    repo.write("AGENTS.md", "notes\n");
    repo.git(&["add", "AGENTS.md"]);
    let git = repo.open().without(vec!["AGENTS.md".into()]);
    assert_eq!(git.follow("main", &old, &new).unwrap(), Followed::Moved);
    assert_eq!((repo.head(), repo.status()), (new, vec!["A  AGENTS.md".to_owned()]));
}

#[test]
fn a_submodule_that_changes_is_left_to_a_person() {
    let (repo, _library) = Repo::with_submodule();
    let old = repo.head();
    repo.git(&["checkout", "-q", "--detach"]);
    repo.git_in("sub", &["commit", "-q", "--allow-empty", "-m", "more"]);
    repo.commit_all("new");
    let new = repo.head();
    repo.git(&["checkout", "-q", "main"]);
    repo.git(&["submodule", "--quiet", "update"]);
    let git = repo.open();
    let Followed::Hindered(why) = git.follow("main", &old, &new).unwrap() else { panic!() };
    assert!(why.contains("the submodule sub changes"), "{why}");
}

#[test]
fn a_kill_at_any_step_leaves_the_checkout_as_before_or_after() {
    for last in STEPS {
        let (repo, old, new) = repo();
        repo.write("notes.txt", "mine\n");
        let mut before = seen(&repo);
        follow_up_to(&repo, &old, &new, last);
        assert!(Git::is_half_way(repo.root()), "{last:?}");
        let ended = repo.open().end_following().unwrap();
        let mut after = seen(&repo);
        assert_eq!(after.1, Vec::<String>::new(), "{last:?}");
        if last == Step::Moved {
            assert_eq!((ended, repo.head()), (None, new), "{last:?}");
            assert_eq!(repo.status(), ["?? notes.txt"], "{last:?}");
            assert_eq!(repo.read("changed.txt"), "new\n");
        } else {
            assert_eq!((ended, repo.head()), (Some(Vec::new()), old), "{last:?}");
            for state in [&mut before.0, &mut after.0] {
                state.forget_permissions(|_| true);
            }
            assert_eq!(after, before, "{last:?}");
        }
        assert!(!Git::is_half_way(repo.root()));
        assert_eq!(repo.open().end_following().unwrap(), None);
    }
}

#[test]
fn what_git_was_writing_when_it_was_killed_goes_back_and_edits_stay() {
    let (repo, old, new) = repo();
    let before = repo.git(&["ls-files", "-s"]);
    follow_up_to(&repo, &old, &new, Step::Looked);
    // Git has written some files, one of them in part, and has removed what it was to write next.
    repo.write("long.txt", &"new line\n".repeat(500));
    repo.remove("changed.txt");
    repo.remove("gone.txt");
    repo.write("added/deep.txt", "");
    // And somebody edits.
    repo.write("kept.txt", "mine\n");
    repo.write("run.sh", "mine\n");
    repo.write("file-then-dir", "mine\n");
    assert_eq!(repo.open().end_following().unwrap(), Some(vec!["file-then-dir".into(), "run.sh".into()]));
    assert_eq!(repo.status(), [" M file-then-dir", " M kept.txt", " M run.sh"]);
    assert_eq!((repo.read("run.sh").as_str(), repo.read("kept.txt").as_str()), ("mine\n", "mine\n"));
    assert!(!repo.path("added").exists());
    assert_eq!((repo.git(&["ls-files", "-s"]), repo.head()), (before, old));
}

#[test]
fn nothing_of_a_person_goes_where_directories_and_files_change_places() {
    let (repo, old, new) = repo();
    follow_up_to(&repo, &old, &new, Step::Written);
    // What git would have to remove to bring the old file back.
    repo.write("file-then-dir/mine.txt", "mine\n");
    repo.remove("dir-then-file");
    repo.write("dir-then-file", "mine\n");
    let left = repo.open().end_following().unwrap().unwrap();
    assert_eq!(left, ["dir-then-file", "dir-then-file/a", "file-then-dir"]);
    assert_eq!(repo.read("file-then-dir/mine.txt"), "mine\n");
    assert_eq!(repo.read("dir-then-file"), "mine\n");
    assert_eq!((repo.read("changed.txt").as_str(), repo.head()), ("old\n", old));
}

#[test]
fn git_refuses_what_a_person_begins_meanwhile() {
    let (repo, old, new) = repo();
    repo.git(&["branch", "other"]);
    follow_up_to(&repo, &old, &new, Step::Written);
    for args in [
        &["add", "kept.txt"][..],
        &["commit", "-q", "--allow-empty", "-m", "mine"],
        &["checkout", "-q", "other"],
        &["reset", "-q"],
        &["stash", "-q"],
        &["merge", "-q", &new],
        &["rebase", "-q", "other"],
    ] {
        let said = repo.try_git(args).unwrap_err();
        assert!(said.contains("index") || said.contains("unstaged"), "{args:?}: {said}");
    }
    assert_eq!((repo.open().end_following().unwrap(), repo.head()), (Some(Vec::new()), old));
    assert_eq!(repo.status(), Vec::<String>::new());
}

#[test]
fn a_branch_that_is_begun_meanwhile_does_not_get_the_files() {
    let (repo, old, new) = repo();
    let git = repo.open();
    // It needs no lock on the index.
    repo.hook("reference-transaction", "[ -e ../begun ] || [ \"$1\" != prepared ] || { touch ../begun; echo 'ref: refs/heads/feature' > .git/HEAD; }");
    repo.git(&["-c", "core.hooksPath=/dev/null", "branch", "feature"]);
    let begun = repo.path("../begun");
    let _ = std::fs::remove_file(&begun);
    assert_eq!(git.follow("main", &old, &new).unwrap(), Followed::Moved);
    let _ = std::fs::remove_file(&begun);
    assert_eq!(repo.git(&["rev-parse", "main"]).trim(), new);
    assert_eq!((repo.head(), repo.status()), (old, Vec::new()));
}

#[test]
fn a_lock_that_a_person_took_away_ends_it() {
    let (repo, old, new) = repo();
    follow_up_to(&repo, &old, &new, Step::Written);
    repo.remove(".git/index.lock");
    let files = repo.status();
    assert!(!files.is_empty());
    assert_eq!(repo.open().end_following().unwrap(), None);
    assert_eq!((repo.status(), repo.head()), (files, old));
    assert_eq!(seen(&repo).1, Vec::<String>::new());
    // A note that names no commits, and one that is half written.
    for text in ["{\"branch\":\"main\",\"old\":\"--output=x\",\"new\":\"-\"}", "{"] {
        repo.write(".ralph/follow/note", text);
        repo.write(".git/ralph-follow", "");
        std::fs::hard_link(repo.path(".git/ralph-follow"), repo.path(".git/index.lock")).unwrap();
        assert_eq!(repo.open().end_following().unwrap(), None);
        assert_eq!(seen(&repo).1, Vec::<String>::new());
    }
}

#[test]
fn a_note_in_gits_directory_is_nobodys_order() {
    let (repo, old, new) = repo();
    // A process that commits can write there.
    repo.write(".git/ralph-follow", &format!("{{\"branch\":\"main\",\"old\":\"{new}\",\"new\":\"{old}\"}}"));
    std::fs::hard_link(repo.path(".git/ralph-follow"), repo.path(".git/index.lock")).unwrap();
    assert!(!Git::is_half_way(repo.root()));
    assert_eq!(repo.open().end_following().unwrap(), None);
    assert_eq!((repo.read("changed.txt").as_str(), repo.head()), ("old\n", old.clone()));
    let Followed::Hindered(why) = repo.open().follow("main", &old, &new).unwrap() else { panic!() };
    assert!(why.contains("index is locked"), "{why}");
    // One of its own is out of the reach of others, and is gone afterwards.
    repo.remove(".git/index.lock");
    follow_up_to(&repo, &old, &new, Step::Locked);
    let mode = repo.path(".ralph/follow").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(repo.open().end_following().unwrap(), Some(Vec::new()));
    assert_eq!(seen(&repo).1, Vec::<String>::new());
}

#[test]
fn it_is_known_who_has_a_branch() {
    let repo = Repo::with_first_commit();
    let git = repo.open();
    let place = || git.place_of("main").unwrap();
    assert_eq!((place(), git.place_of("other").unwrap()), (Place::Here, Place::Nobody));
    repo.git(&["checkout", "-q", "--detach"]);
    assert_eq!(place(), Place::Nobody);
    std::fs::create_dir(repo.path(".git/rebase-merge")).unwrap();
    repo.write(".git/rebase-merge/head-name", "refs/heads/main\n");
    assert!(matches!(place(), Place::Elsewhere(_)));
    std::fs::remove_dir_all(repo.path(".git/rebase-merge")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    repo.git(&["worktree", "add", "-q", &tree.display().to_string(), "main"]);
    assert!(matches!(place(), Place::Elsewhere(_)));
    assert_eq!(Git::discover(&tree).unwrap().place_of("main").unwrap(), Place::Here);
}
