//! What a roll-back leaves alone.

use std::fs;

use super::*;

#[test]
fn ignored_files_and_ralphs_own_are_never_touched() {
    let repo = Repo::with_first_commit();
    repo.write(".gitignore", "*.log\ntarget/\n");
    repo.write("tasks.md", "- [ ] 1.3\n");
    repo.commit_all("more");
    repo.write("users.log", "the user's\n");
    repo.write("target/build", "the user's\n");
    let git = repo.open().without(vec!["tasks.md".into()]);
    let (_, done) = undo(&git, RollbackMode::Reset, || {
        repo.remove(".gitignore");
        repo.write("users.log", "built\n");
        repo.write("agents.log", "built\n");
        repo.write("target/more", "built\n");
        repo.write("new.txt", "x\n");
        repo.write("tasks.md", "- [x] 1.3\n");
        repo.write(".ralph/progress.db", "x");
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-qm", "everything"]);
    });
    let done = done.unwrap();
    assert_eq!(done.files, [".gitignore", "new.txt"]);
    assert_eq!(repo.read("users.log"), "built\n");
    assert_eq!(repo.read("agents.log"), "built\n");
    assert_eq!(repo.read("target/build"), "the user's\n");
    assert_eq!(repo.read("target/more"), "built\n");
    assert_eq!(repo.read("tasks.md"), "- [x] 1.3\n");
    assert_eq!(repo.status(), [" M tasks.md", "?? .ralph/progress.db"]);
}

#[test]
fn a_users_file_comes_back_though_it_is_ignored_now() {
    let repo = Repo::with_first_commit();
    repo.write("notes.txt", "the user's\n");
    undone(&repo, &repo.open(), || {
        repo.write(".gitignore", "notes.txt\n");
        repo.write("notes.txt", "the agent's\n");
    });
}

#[test]
fn what_the_attempt_itself_had_ignored_is_left_and_named() {
    let repo = Repo::with_first_commit();
    let git = repo.open();
    let (_, done) = undo(&git, RollbackMode::Reset, || {
        repo.write(".gitignore", "dist/\n*.log\n");
        repo.write("dist/built", "x");
        repo.write("x.log", "x");
    });
    let done = done.unwrap();
    assert_eq!(done.files, [".gitignore"]);
    assert_eq!(
        done.left,
        [left("dist/", LeftBecause::IgnoredMeanwhile), left("x.log", LeftBecause::IgnoredMeanwhile)]
    );
    assert_eq!(repo.status(), ["?? dist/built", "?? x.log"]);
}

#[test]
fn submodules_and_other_repositories_are_left_and_named() {
    let (repo, _library) = Repo::with_submodule();
    let git = repo.open();
    let (_, done) = undo(&git, RollbackMode::Reset, || {
        repo.write("sub/new.txt", "x");
        repo.git_in("sub", &["add", "."]);
        repo.git_in("sub", &["commit", "-qm", "inside"]);
        repo.git(&["init", "-q", "nested"]);
        repo.write("nested/file", "x");
        repo.write("a.txt", "two\n");
        repo.git(&["commit", "-qam", "with the submodule"]);
    });
    let done = done.unwrap();
    assert_eq!(done.files, ["a.txt"]);
    assert_eq!(done.left, [left("nested", LeftBecause::Repository), left("sub", LeftBecause::Submodule)]);
    assert_eq!(repo.status(), [" M sub", "?? nested/"]);
    assert_eq!(repo.read("nested/file"), "x");
    assert_eq!(repo.read("sub/new.txt"), "x");
    // Left from now on without a word, for they are as they were.
    assert!(undone(&repo, &git, || {}).left.is_empty());
    let before = State::of(repo.root());
    let (_, done) = undo(&git, RollbackMode::Reset, || {
        repo.git(&["rm", "-q", "--cached", "sub"]);
        repo.write("sub/a.txt", "dirty");
    });
    assert_eq!(done.unwrap().left, [left("sub", LeftBecause::Submodule)]);
    assert_ne!(before, State::of(repo.root()));
    assert_eq!(repo.read("sub/a.txt"), "dirty");
}

#[test]
fn a_users_repository_keeps_its_files_when_an_attempt_removes_its_git_directory() {
    let repo = Repo::with_first_commit();
    repo.git(&["init", "-q", "nest"]);
    repo.write("nest/mine.txt", "the user's\n");
    repo.write("nest/deep/mine.txt", "the user's\n");
    for stages in [false, true] {
        let git = repo.open();
        let kept = git.keep("1.3-2", None).unwrap();
        fs::rename(repo.path("nest/.git"), repo.path(".git/away")).unwrap();
        repo.write("nest/mine.txt", "the agent's\n");
        repo.write("new.txt", "the agent's\n");
        if stages {
            repo.git(&["add", "-A"]);
            repo.git(&["commit", "-qm", "everything"]);
        }
        let done = git.roll_back(&kept, RollbackMode::Stash, "1.3-2", MESSAGE).unwrap();
        assert_eq!(done.files, ["new.txt"]);
        assert_eq!(done.left, [left("nest", LeftBecause::Repository)]);
        assert_eq!(repo.read("nest/mine.txt"), "the agent's\n");
        assert_eq!(repo.read("nest/deep/mine.txt"), "the user's\n");
        fs::rename(repo.path(".git/away"), repo.path("nest/.git")).unwrap();
        assert_eq!(repo.status(), ["?? nest/"]);
    }
}

#[test]
fn a_project_below_the_root_leaves_the_rest_alone() {
    let repo = Repo::with_first_commit();
    repo.write("project/a.txt", "1\n");
    repo.write("outside.txt", "1\n");
    repo.write("other.txt", "1\n");
    repo.commit_all("more");
    repo.write("project/dirty.txt", "the user's\n");
    repo.write("outside.txt", "the user's\n");
    let git = repo.open_in("project");
    let head = repo.head();
    let (_, done) = undo(&git, RollbackMode::Reset, || {
        repo.write("project/a.txt", "2\n");
        repo.write("project/dirty.txt", "2\n");
        repo.write("a.txt", "the agent's\n");
        repo.git(&["commit", "-qm", "outside", "a.txt"]);
        repo.write("other.txt", "staged meanwhile\n");
        repo.write("new.txt", "staged meanwhile\n");
        repo.git(&["add", "other.txt", "new.txt"]);
    });
    let done = done.unwrap();
    assert_eq!(done.files, ["a.txt", "dirty.txt"]);
    assert_eq!(done.left, [left(":/a.txt", LeftBecause::OutsideProject)]);
    assert_eq!(repo.head(), head);
    assert_eq!(repo.read("project/dirty.txt"), "the user's\n");
    assert_eq!(
        repo.status(),
        [" M a.txt", "A  new.txt", "M  other.txt", " M outside.txt", "?? project/dirty.txt"]
    );
    let (_, done) = undo(&git, RollbackMode::Reset, || {
        repo.git(&["checkout", "-qb", "feature"]);
        repo.git(&["commit", "-qm", "outside", "outside.txt"]);
        repo.write("project/a.txt", "3\n");
    });
    let error = done.unwrap_err().to_string();
    assert!(error.contains("outside the project"), "{error}");
    assert_eq!(repo.read("project/a.txt"), "3\n");
}
