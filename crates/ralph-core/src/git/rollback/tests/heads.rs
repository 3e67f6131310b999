//! Commits, branches, work trees.

use std::fs;

use super::*;
use crate::git::testing::git_at;

#[test]
fn commits_are_undone_and_saved_with_what_came_after() {
    let repo = Repo::with_first_commit();
    repo.write("dirty.txt", "the user's\n");
    let git = repo.open().without(vec!["tasks.md".into()]);
    let before = State::of(repo.root());
    let head = repo.head();
    let (_, done) = undo(&git, RollbackMode::Reset, || {
        repo.write("a.txt", "two\n");
        repo.write("b.txt", "new\n");
        repo.commit_all("one, with the user's file too");
        repo.write("c.txt", "new\n");
        repo.write("dirty.txt", "the agent's\n");
        repo.commit_all("two");
        repo.write("b.txt", "not committed\n");
    });
    let done = done.unwrap();
    pretty_equal(&before, &State::of(repo.root()));
    assert_eq!((repo.head(), done.commits_undone), (head.clone(), 2));
    let reference = done.reference.clone().unwrap();
    let range = format!("{head}..{reference}");
    assert_eq!(repo.git(&["rev-list", "--count", &range]).trim(), "3");
    assert_eq!(saved(&repo, &done, "b.txt"), "not committed\n");
    assert_eq!(saved(&repo, &done, "dirty.txt"), "the agent's\n");
    assert!(repo.git(&["reflog"]).contains("ralph: roll back"));
    // Amended and taken away, the commit of before comes back.
    let done = undone(&repo, &git, || {
        repo.git(&["commit", "-q", "--amend", "-m", "rewritten"]);
    });
    assert_eq!((repo.head(), done.commits_undone), (head, 1));
}

#[test]
fn before_the_first_commit() {
    for dirt in ["", "staged", "untracked"] {
        let repo = Repo::new();
        if !dirt.is_empty() {
            repo.write("users.txt", "the user's\n");
        }
        if dirt == "staged" {
            repo.git(&["add", "users.txt"]);
        }
        let done = undone(&repo, &repo.open(), || {
            repo.write("users.txt", "the agent's\n");
            repo.write("b.txt", "x\n");
            repo.commit_all("first");
            repo.write("c.txt", "x\n");
        });
        assert_eq!(done.commits_undone, 1);
        assert_eq!(saved(&repo, &done, "users.txt"), "the agent's\n");
        assert_eq!(saved(&repo, &done, "c.txt"), "x\n");
        let (_, done) = undo(&repo.open(), RollbackMode::Stash, || {
            repo.write("c.txt", "y\n");
        });
        let done = done.unwrap();
        assert_eq!((done.stash, done.files), (None, vec!["c.txt".to_owned()]));
        let again = done.reference.unwrap();
        assert_eq!(again, "refs/ralph/rollback/1.3-2-again2");
    }
}

#[test]
fn a_branch_the_attempt_left_is_gone_back_to() {
    let repo = Repo::with_first_commit();
    repo.write("users.txt", "the user's\n");
    let done = undone(&repo, &repo.open(), || {
        repo.git(&["checkout", "-qb", "feature"]);
        repo.write("a.txt", "two\n");
        repo.commit_all("on another branch");
        repo.write("b.txt", "x\n");
    });
    assert_eq!(done.left, [left("feature", LeftBecause::Branch)]);
    assert_eq!(done.commits_undone, 0);
    assert_eq!(repo.git(&["show", "feature:a.txt"]), "two\n");
    assert_eq!(saved(&repo, &done, "b.txt"), "x\n");
    let done = undone(&repo, &repo.open(), || {
        repo.git(&["checkout", "-q", "--detach"]);
        repo.write("b.txt", "x\n");
        repo.commit_all("on none");
    });
    assert!(done.left.is_empty());
    repo.git(&["checkout", "-q", "--detach"]);
    undone(&repo, &repo.open(), || {
        repo.remove("users.txt");
        repo.git(&["checkout", "-q", "feature"]);
    });
}

#[test]
fn a_branch_that_moved_is_not_touched_and_everything_is_saved() {
    let repo = Repo::with_first_commit();
    repo.write("users.txt", "the user's\n");
    let git = repo.open();
    let (kept, done) = undo(&git, RollbackMode::Stash, || {
        repo.write("a.txt", "two\n");
        repo.git(&["commit", "-qam", "on main"]);
        repo.git(&["checkout", "-q", "--orphan", "feature"]);
        repo.write("users.txt", "the agent's\n");
    });
    let error = done.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("main, which has moved"), "{text}");
    assert!(text.contains("refs/ralph/rollback/1.3-2"), "{text}");
    assert!(text.contains(kept.reference().unwrap()), "{text}");
    assert_eq!(repo.read("users.txt"), "the agent's\n");
    assert_eq!(repo.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/feature");
    let GitError::RollbackRefused { reference, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(repo.git(&["show", &format!("{reference}:users.txt")]), "the agent's\n");
    let main = repo.git(&["rev-parse", "main"]);
    assert!(repo.git(&["log", "--format=%H", &reference]).contains(main.trim()));
    let before = kept.reference().unwrap();
    assert_eq!(repo.git(&["show", &format!("{before}:users.txt")]), "the user's\n");
    assert_eq!(repo.git(&["stash", "list"]), "");
}

#[test]
fn a_linked_work_tree_is_rolled_back_alone() {
    let repo = Repo::with_first_commit();
    repo.write("a.txt", "the main tree's\n");
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    let path = tree.display().to_string();
    repo.git(&["worktree", "add", "-q", "-b", "side", &path]);
    fs::write(tree.join("users.txt"), "the user's\n").unwrap();
    let git = Git::discover(&tree).unwrap();
    let (before, main) = (State::of(&tree), State::of(repo.root()));
    let (_, done) = undo(&git, RollbackMode::Stash, || {
        fs::write(tree.join("users.txt"), "the agent's\n").unwrap();
        fs::write(tree.join("a.txt"), "the agent's\n").unwrap();
        git_at(&tree, &["commit", "-qam", "x"]).unwrap();
    });
    assert_eq!(done.unwrap().commits_undone, 1);
    pretty_equal(&before, &State::of(&tree));
    pretty_equal(&main, &State::of(repo.root()));
    // The branch of the linked tree cannot be taken from where another has it now.
    let (_, done) = undo(&git, RollbackMode::Reset, || {
        git_at(&tree, &["checkout", "-qb", "new"]).unwrap();
        repo.git(&["stash", "-q"]);
        repo.git(&["checkout", "-q", "side"]);
        fs::write(tree.join("a.txt"), "again\n").unwrap();
    });
    let error = done.unwrap_err().to_string();
    assert!(error.contains("another worktree"), "{error}");
}

#[test]
fn an_unfinished_merge_is_not_rolled_back() {
    let repo = Repo::with_first_commit();
    repo.diverge();
    let git = repo.open();
    let (kept, done) = undo(&git, RollbackMode::Reset, || {
        assert!(repo.try_git(&["merge", "other"]).is_err());
    });
    git.let_go(&kept).unwrap();
    assert!(matches!(done, Err(GitError::Unfinished(_))));
    assert!(matches!(git.keep("x", None), Err(GitError::Unfinished(_))));
    repo.git(&["merge", "--abort"]);
    // A conflict without a merge is somebody's too, before as well as after.
    repo.write("a.txt", "stashed\n");
    repo.git(&["stash", "-q"]);
    repo.write("a.txt", "committed\n");
    repo.commit_all("committed");
    assert!(repo.try_git(&["stash", "pop"]).is_err());
    assert!(repo.status()[0].starts_with("UU"));
    undone(&repo, &git, || {
        repo.write("a.txt", "resolved\n");
        repo.git(&["add", "a.txt"]);
    });
}

#[test]
fn nothing_is_lost_to_a_thorough_clean_up() {
    let repo = Repo::with_first_commit();
    repo.write("users.txt", "the user's\n");
    repo.write("staged.txt", "staged\n");
    repo.git(&["add", "staged.txt"]);
    repo.write("staged.txt", "later\n");
    undone(&repo, &repo.open(), || {
        repo.git(&["commit", "-q", "--amend", "-m", "rewritten"]);
        repo.git(&["reset", "-q", "--hard"]);
        repo.git(&["clean", "-qfd"]);
        repo.git(&["reflog", "expire", "--expire=now", "--all"]);
        repo.git(&["gc", "-q", "--prune=now"]);
    });
}

#[test]
fn on_no_branch_commits_are_undone_too() {
    let repo = Repo::with_first_commit();
    repo.git(&["checkout", "-q", "--detach"]);
    let done = undone(&repo, &repo.open(), || {
        repo.write("a.txt", "two\n");
        repo.commit_all("by the agent");
    });
    assert_eq!(done.commits_undone, 1);
    assert_eq!(saved(&repo, &done, "a.txt"), "two\n");
}

#[test]
fn a_branch_that_is_gone_or_locked_stops_the_roll_back_before_it_begins() {
    let repo = Repo::with_first_commit();
    repo.hook("reference-transaction", "grep -q refs/heads/main && exit 1; exit 0");
    let git = repo.open();
    let (_, done) = undo(&git, RollbackMode::Reset, || {
        repo.remove(".git/hooks/reference-transaction");
        repo.write("a.txt", "two\n");
        repo.commit_all("by the agent");
        repo.hook("reference-transaction", "grep -q refs/heads/main && exit 1; exit 0");
        repo.write("a.txt", "three\n");
    });
    let error = done.unwrap_err();
    assert!(matches!(error, GitError::RollbackRefused { .. }), "{error}");
    assert_eq!(repo.read("a.txt"), "three\n");
    repo.remove(".git/hooks/reference-transaction");
    let (_, done) = undo(&git, RollbackMode::Reset, || {
        repo.git(&["checkout", "-qb", "other"]);
        repo.git(&["branch", "-qD", "main"]);
    });
    let error = done.unwrap_err().to_string();
    assert!(error.contains("deleted branch main"), "{error}");
}

#[test]
fn a_locked_index_stops_everything() {
    let repo = Repo::with_first_commit();
    let git = repo.open();
    let (_, done) = undo(&git, RollbackMode::Reset, || {
        repo.write("a.txt", "two\n");
        repo.write(".git/index.lock", "");
    });
    assert!(matches!(done, Err(GitError::Locked(_))));
    assert_eq!(repo.read("a.txt"), "two\n");
    assert!(repo.path(".git/index.lock").exists());
}

fn at(branch: Option<&str>, head: Option<&str>) -> Snapshot {
    Snapshot {
        head: head.map(str::to_owned),
        branch: branch.map(|name| format!("refs/heads/{name}")),
        ..Snapshot::default()
    }
}

#[test]
fn head_goes_back_only_where_nothing_can_be_lost() {
    let (main, unborn) = (at(Some("main"), Some("1")), at(Some("main"), None));
    let (other, detached) = (at(Some("other"), Some("2")), at(None, Some("1")));
    let moved = HeadMove::Move { from: Some("2".into()), to: Some("1".into()) };
    let back = HeadMove::Switch { branch: "refs/heads/main".into() };
    let off = HeadMove::Detach { to: "1".into() };
    for (before, now, tip, head) in [
        (&main, &main, None, HeadMove::Stay),
        (&main, &at(Some("main"), Some("2")), None, moved),
        (&main, &other, Some("1"), back.clone()),
        (&unborn, &other, None, back),
        (&detached, &other, None, off),
    ] {
        assert_eq!(HeadMove::find(before, now, tip, false), Ok(head));
    }
    for (tip, taken, says) in
        [(Some("3"), false, "has moved"), (None, false, "deleted"), (Some("1"), true, "another worktree")]
    {
        let why = HeadMove::find(&main, &other, tip, taken).unwrap_err();
        assert!(why.contains(says) && why.contains("main"), "{why}");
    }
}
