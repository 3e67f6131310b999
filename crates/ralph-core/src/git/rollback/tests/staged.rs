//! The index and the stash.

use super::*;

#[test]
fn what_was_only_staged_is_saved_too() {
    let repo = Repo::with_first_commit();
    let done = undone(&repo, &repo.open(), || {
        repo.write("a.txt", "staged only\n");
        repo.git(&["add", "a.txt"]);
        repo.write("a.txt", "last word\n");
    });
    let reference = done.reference.unwrap();
    assert_eq!(repo.git(&["show", &format!("{reference}:a.txt")]), "last word\n");
    assert_eq!(repo.git(&["show", &format!("{reference}^2:a.txt")]), "staged only\n");
}

#[test]
fn only_the_index_was_changed() {
    let repo = Repo::with_first_commit();
    repo.write("a.txt", "the user's\n");
    repo.write("notes.txt", "the user's\n");
    let git = repo.open();
    for act in [["add", "-A"], ["add", "-N"], ["rm", "--cached"]] {
        let done = undone(&repo, &git, || {
            let path = if act[0] == "rm" { "a.txt" } else { "." };
            repo.git(&[act[0], act[1], path]);
        });
        assert!(done.reference.is_some() && done.files.is_empty(), "{act:?}");
    }
}

#[test]
fn a_stash_can_be_taken_back() {
    let repo = Repo::with_first_commit();
    repo.write("b.txt", "1\n");
    repo.commit_all("b");
    repo.write("users.txt", "untracked\n");
    let git = repo.open();
    let (_, done) = undo(&git, RollbackMode::Stash, || {
        repo.write("a.txt", "two\n");
        repo.commit_all("by the agent, with the user's file");
        repo.remove("b.txt");
        repo.write("new.txt", "new\n");
    });
    let done = done.unwrap();
    assert!(done.reference.is_some() && done.stash.is_some());
    assert_eq!(repo.status(), ["?? users.txt"]);
    let list = repo.git(&["stash", "list"]);
    assert!(list.contains(MESSAGE), "{list}");
    repo.git(&["stash", "pop", "-q"]);
    assert_eq!(repo.read("a.txt"), "two\n");
    assert_eq!(repo.read("new.txt"), "new\n");
    assert!(!repo.path("b.txt").exists());
    assert_eq!(repo.read("users.txt"), "untracked\n");
}

#[test]
fn flags_in_the_index_come_back() {
    let repo = Repo::with_first_commit();
    for name in ["assumed.txt", "skipped.txt", "x.txt"] {
        repo.write(name, "1\n");
    }
    repo.commit_all("more");
    repo.git(&["update-index", "--assume-unchanged", "assumed.txt"]);
    repo.git(&["update-index", "--skip-worktree", "skipped.txt"]);
    repo.write("announced.txt", "x\n");
    repo.git(&["add", "-N", "announced.txt"]);
    repo.write("skipped.txt", "the user's own setting\n");
    let done = undone(&repo, &repo.open(), || {
        repo.git(&["update-index", "--no-assume-unchanged", "assumed.txt"]);
        repo.git(&["update-index", "--no-skip-worktree", "skipped.txt"]);
        repo.write("x.txt", "2\n");
        repo.git(&["add", "x.txt", "announced.txt"]);
    });
    assert_eq!(done.files, ["x.txt"]);
    assert_eq!(done.left, [left("skipped.txt", LeftBecause::Unwatched)]);
}
