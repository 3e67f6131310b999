//! Whose work is committed and whose is not.

use std::fs;

use super::*;

#[test]
fn exactly_what_the_attempt_changed_is_committed() {
    let repo = Repo::with_first_commit();
    repo.write("staged.txt", "1");
    repo.write("gone.txt", "1");
    repo.commit_all("more");
    repo.write("staged.txt", "2");
    repo.git(&["add", "staged.txt"]);
    repo.write("staged.txt", "3");
    repo.write("users.txt", "untracked");
    let git = repo.open().without(vec!["tasks.md".into()]);
    let outcome = after(&git, || {
        repo.write("a.txt", "two\n");
        repo.write("new dir/new.txt", "x");
        repo.remove("gone.txt");
        repo.write("tasks.md", "- [x] 1.3");
        repo.write(".ralph.toml", "");
        repo.write(".ralph/progress.db", "x");
    })
    .unwrap();
    let head = repo.head();
    assert_eq!(outcome.hash.as_ref(), Some(&head));
    assert_eq!(outcome.files, ["a.txt", "gone.txt", "new dir/new.txt"]);
    assert_eq!(repo.names_in("HEAD"), outcome.files);
    assert_eq!((outcome.left_out, outcome.warning), (vec![], None));
    assert!(outcome.by_hooks.is_empty());
    assert_eq!(repo.git(&["log", "-1", "--format=%B"]).trim(), "1.3: Do it");
    assert_eq!(repo.git(&["show", ":staged.txt"]), "2");
    assert_eq!(
        repo.status(),
        ["MM staged.txt", "?? .ralph.toml", "?? .ralph/progress.db", "?? tasks.md", "?? users.txt"]
    );
}

#[test]
fn a_file_that_was_uncommitted_before_is_left_out_and_named() {
    let repo = Repo::with_first_commit();
    repo.write("b.txt", "1");
    repo.commit_all("more");
    repo.write("a.txt", "staged by the user\n");
    repo.git(&["add", "a.txt"]);
    repo.write("a.txt", "not staged by the user\n");
    repo.write("notes.txt", "the user's\n");
    let outcome = after(&repo.open(), || {
        repo.write("a.txt", "not staged by the user\nthe agent's\n");
        repo.write("notes.txt", "the user's\nthe agent's\n");
        repo.write("b.txt", "2");
    })
    .unwrap();
    assert_eq!(outcome.files, ["b.txt"]);
    assert_eq!(
        outcome.left_out,
        [left("a.txt", LeftBecause::UncommittedBefore), left("notes.txt", LeftBecause::UncommittedBefore)]
    );
    assert_eq!(repo.git(&["show", ":a.txt"]), "staged by the user\n");
    assert!(repo.read("a.txt").ends_with("the agent's\n"));
    assert_eq!(repo.status(), ["MM a.txt", "?? notes.txt"]);
}

#[test]
fn the_users_file_is_left_out_under_its_new_name_too() {
    let repo = Repo::with_first_commit();
    repo.write("a.txt", "the user's\n");
    repo.write("notes.txt", "also the user's\n");
    let outcome = after(&repo.open(), || {
        repo.git(&["mv", "a.txt", "b.txt"]);
        fs::rename(repo.path("notes.txt"), repo.path("moved.txt")).unwrap();
    })
    .unwrap();
    assert_eq!(outcome.hash, None);
    let names: Vec<String> = outcome.left_out.iter().map(Left::to_string).collect();
    assert_eq!(
        names,
        [
            "a.txt (uncommitted before the run)",
            "b.txt (uncommitted before the run)",
            "moved.txt (uncommitted before the run)"
        ]
    );
}

#[test]
fn a_new_file_like_one_that_somebody_committed_meanwhile_is_the_attempts() {
    let repo = Repo::with_first_commit();
    repo.write("users.txt", "same\n");
    let outcome = after(&repo.open(), || {
        repo.commit_all("the user's");
        repo.write("new.txt", "same\n");
    })
    .unwrap();
    assert_eq!((outcome.files, outcome.left_out), (vec!["new.txt".to_owned()], vec![]));
}

#[test]
fn work_of_earlier_attempts_of_the_run_can_be_taken_along() {
    let repo = Repo::with_first_commit();
    let git = repo.open();
    let run_start = git.snapshot().unwrap();
    repo.write("first.txt", "from the first attempt");
    let second = git.snapshot().unwrap();
    repo.write("first.txt", "changed by the second");
    repo.write("other.txt", "x");
    let order = CommitOrder { run_start: &run_start, ..order(&second, "m") };
    let outcome = commit(&git, &order).unwrap();
    assert_eq!(outcome.files, ["first.txt", "other.txt"]);
    assert!(repo.status().is_empty());
}

#[test]
fn what_the_user_committed_meanwhile_is_no_longer_in_the_way() {
    let repo = Repo::with_first_commit();
    repo.write("a.txt", "the user's\n");
    let git = repo.open();
    let run_start = git.snapshot().unwrap();
    repo.commit_all("the user's");
    let before = git.snapshot().unwrap();
    repo.write("a.txt", "the agent's\n");
    let order = CommitOrder { run_start: &run_start, ..order(&before, "m") };
    assert_eq!(commit(&git, &order).unwrap().files, ["a.txt"]);
}

#[test]
fn nothing_changed_is_no_commit() {
    let repo = Repo::with_first_commit();
    repo.write("a.txt", "the user's\n");
    let head = repo.head();
    let outcome = after(&repo.open(), || repo.write(".ralph/x", "own")).unwrap();
    assert_eq!(outcome, CommitOutcome::default());
    let outcome = after(&repo.open(), || {
        repo.write("t.txt", "");
        repo.git(&["add", "t.txt"]);
        repo.remove("t.txt");
    })
    .unwrap();
    assert_eq!(outcome.hash, None);
    assert_eq!(repo.head(), head);
}

#[test]
fn only_the_rest_is_committed_where_the_agent_committed_itself() {
    let repo = Repo::with_first_commit();
    let outcome = after(&repo.open(), || {
        repo.write("a.txt", "two\n");
        repo.commit_all("by the agent");
        repo.write("b.txt", "x");
    })
    .unwrap();
    assert_eq!(outcome.files, ["b.txt"]);
    assert_eq!(repo.git(&["rev-list", "--count", "HEAD"]).trim(), "3");
    let head = repo.head();
    let outcome = after(&repo.open(), || {
        repo.write("c.txt", "x");
        repo.commit_all("all of it");
    });
    assert_eq!(outcome.unwrap().hash, None);
    assert_ne!(repo.head(), head);
}

#[test]
fn what_the_agent_staged_is_taken_as_it_is_in_the_tree() {
    let repo = Repo::with_first_commit();
    repo.write(".gitignore", "*.log\n");
    repo.commit_all("ignore");
    let outcome = after(&repo.open(), || {
        repo.write("a.txt", "staged\n");
        repo.write("forced.log", "x");
        repo.write("ignored.log", "x");
        repo.git(&["add", "-f", "a.txt", "forced.log"]);
        repo.write("a.txt", "last word\n");
    })
    .unwrap();
    assert_eq!(outcome.files, ["a.txt", "forced.log"]);
    assert_eq!(repo.git(&["show", "HEAD:a.txt"]), "last word\n");
    assert!(repo.status().is_empty());
    assert_eq!(repo.read("ignored.log"), "x");
}

#[test]
fn what_the_agent_stops_tracking_leaves_the_repository_and_not_the_disk() {
    let repo = Repo::with_first_commit();
    repo.write("local.cfg", "x\n");
    repo.write("b.txt", "x\n");
    repo.commit_all("too much");
    let outcome = after(&repo.open(), || {
        repo.git(&["rm", "-q", "--cached", "local.cfg", "b.txt"]);
        repo.write(".gitignore", "local.cfg\n");
    })
    .unwrap();
    assert_eq!(outcome.files, [".gitignore", "b.txt", "local.cfg"]);
    assert_eq!(repo.read("local.cfg"), "x\n");
    assert_eq!(repo.status(), ["?? b.txt"]);
}

#[test]
fn what_the_agent_staged_and_took_back_is_not_staged_any_longer() {
    let repo = Repo::with_first_commit();
    let outcome = after(&repo.open(), || {
        repo.write("old name.txt", "x\n");
        repo.write("a.txt", "tried\n");
        repo.git(&["add", "."]);
        std::fs::rename(repo.path("old name.txt"), repo.path("name.txt")).unwrap();
        repo.write("a.txt", "one\n");
    })
    .unwrap();
    assert_eq!(outcome.files, ["name.txt"]);
    assert!(repo.status().is_empty(), "{:?}", repo.status());
}

#[test]
fn a_commit_that_another_run_died_after_is_not_taken_out() {
    let repo = Repo::with_first_commit();
    let git = repo.open();
    let repository = git.repository().unwrap();
    let stale = std::fs::read(repo.path(".git/index")).unwrap();
    repo.write("theirs.txt", "x");
    let theirs = BTreeSet::from([b"theirs.txt".to_vec()]);
    repository.note_commit(Some(&repo.head()), &theirs, None).unwrap();
    let before = git.snapshot().unwrap().without(&[b"theirs.txt".to_vec()]);
    repo.commit_all("theirs");
    std::fs::write(repo.path(".git/index"), stale).unwrap();
    repo.write("ours.txt", "x");
    commit(&git, &order(&before, "ours")).unwrap();
    assert_eq!(repo.names_in("HEAD"), ["ours.txt"]);
    assert!(repo.status().is_empty());
}

#[test]
fn what_a_person_stages_after_the_snapshot_is_not_committed() {
    let repo = Repo::with_first_commit();
    let git = repo.open();
    let before = git.snapshot().unwrap();
    repo.write("b.txt", "the agent's\n");
    let now = git.snapshot().unwrap();
    repo.write("users.txt", "the user's\n");
    repo.git(&["add", "users.txt"]);
    let order = CommitOrder { now: Some(&now), ..order(&before, "m") };
    assert_eq!(commit(&git, &order).unwrap().files, ["b.txt"]);
    assert_eq!(repo.status(), ["A  users.txt"]);
}

#[test]
fn files_of_a_users_repository_are_left_out_though_its_git_directory_is_gone() {
    let repo = Repo::with_first_commit();
    repo.git(&["init", "-q", "nest"]);
    repo.write("nest/mine.txt", "the user's\n");
    let outcome = after(&repo.open(), || {
        fs::remove_dir_all(repo.path("nest/.git")).unwrap();
        repo.write("new.txt", "the agent's\n");
    })
    .unwrap();
    assert_eq!(outcome.files, ["new.txt"]);
    assert_eq!(outcome.left_out, [left("nest/mine.txt", LeftBecause::UncommittedBefore)]);
    assert_eq!(repo.status(), ["?? nest/mine.txt"]);
}
