use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use super::*;
use crate::git::call::Call;
use crate::git::testing::{Repo, State};

const MESSAGE: &str = "1.3: the second attempt failed";

/// Rolls an attempt back that does this.
fn undo(git: &Git, mode: RollbackMode, act: impl FnOnce()) -> (Kept, Result<RolledBack, GitError>) {
    let kept = git.keep("1.3-2").unwrap();
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
    Left {
        what: what.into(),
        why,
    }
}

#[test]
fn what_was_uncommitted_is_as_it_was_and_the_attempt_is_saved() {
    let repo = Repo::with_first_commit();
    for name in ["s.txt", "gone.txt", "clean.txt", "script.sh"] {
        repo.write(name, "1\n");
    }
    repo.write(".gitignore", "*.log\n");
    repo.commit_all("more");
    repo.write("s.txt", "staged\n");
    repo.git(&["add", "s.txt"]);
    repo.write("s.txt", "not staged\n");
    repo.remove("gone.txt");
    repo.write("new.txt", "staged as new\n");
    repo.git(&["add", "new.txt"]);
    repo.write("notes.txt", "untracked\n");
    repo.chmod("notes.txt", 0o600);
    std::os::unix::fs::symlink("nowhere", repo.path("link")).unwrap();
    repo.write("users.log", "ignored\n");
    let done = undone(&repo, &repo.open(), || {
        repo.write("a.txt", "two\n");
        repo.write("s.txt", "agent\n");
        repo.git(&["add", "-A"]);
        repo.write("gone.txt", "back again\n");
        repo.remove("new.txt");
        repo.write("notes.txt", "agent\n");
        repo.chmod("notes.txt", 0o644);
        repo.remove("link");
        repo.write("link", "no link\n");
        repo.chmod("script.sh", 0o755);
        repo.remove("clean.txt");
        repo.write("made/by/the agent.txt", "x\n");
    });
    assert_eq!(
        done.files,
        [
            "a.txt",
            "clean.txt",
            "gone.txt",
            "link",
            "made/by/the agent.txt",
            "new.txt",
            "notes.txt",
            "s.txt",
            "script.sh"
        ]
    );
    assert_eq!(done.reference.as_deref(), Some("refs/ralph/rollback/1.3-2"));
    assert_eq!((done.commits_undone, &done.stash), (0, &None));
    assert!(done.left.is_empty());
    assert!(!repo.path("made").exists());
    for (path, text) in [
        ("a.txt", "two\n"),
        ("s.txt", "agent\n"),
        ("gone.txt", "back again\n"),
        ("notes.txt", "agent\n"),
        ("link", "no link\n"),
        ("made/by/the agent.txt", "x\n"),
    ] {
        assert_eq!(saved(&repo, &done, path), text);
    }
    let reference = done.reference.as_deref().unwrap();
    let names = repo.git(&["ls-tree", "-r", "--name-only", reference]);
    assert!(!names.contains("clean.txt") && !names.contains("new.txt"));
    let log = repo.git(&["log", "-1", "--format=%s|%an|%P", reference]);
    assert!(log.starts_with(&format!("{MESSAGE}|Ralph|{}", repo.head())));
}

#[test]
fn a_clean_tree_and_an_attempt_without_work() {
    let repo = Repo::with_first_commit();
    let git = repo.open();
    let done = undone(&repo, &git, || {});
    assert_eq!(done, RolledBack::default());
    assert_eq!(references(&repo, "rollback"), "");
    repo.write("notes.txt", "x");
    let done = undone(&repo, &git, || {
        repo.git(&["status"]);
    });
    assert_eq!(done.reference, None);
    let kept = git.keep("x").unwrap();
    assert_eq!(kept.reference(), Some("refs/ralph/kept/x"));
    git.let_go(&kept).unwrap();
    assert_eq!(references(&repo, "kept"), "");
}

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
fn what_was_only_staged_is_saved_too() {
    let repo = Repo::with_first_commit();
    let done = undone(&repo, &repo.open(), || {
        repo.write("a.txt", "staged only\n");
        repo.git(&["add", "a.txt"]);
        repo.write("a.txt", "last word\n");
    });
    let reference = done.reference.unwrap();
    assert_eq!(
        repo.git(&["show", &format!("{reference}:a.txt")]),
        "last word\n"
    );
    assert_eq!(
        repo.git(&["show", &format!("{reference}^2:a.txt")]),
        "staged only\n"
    );
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
        [
            left("dist/", LeftBecause::IgnoredMeanwhile),
            left("x.log", LeftBecause::IgnoredMeanwhile)
        ]
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
    assert_eq!(
        done.left,
        [
            left("nested", LeftBecause::Repository),
            left("sub", LeftBecause::Submodule)
        ]
    );
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
fn every_kind_of_change_is_undone() {
    let repo = Repo::with_first_commit();
    repo.write("dir/inside.txt", "1\n");
    repo.write("dir/dirty.txt", "1\n");
    repo.write("becomes a directory", "1\n");
    repo.write("moved.txt", "a long enough text to be found again\n");
    repo.write("secret.txt", "1\n");
    fs::write(repo.path("binary"), [0, 159, 146, 150]).unwrap();
    std::os::unix::fs::symlink("a.txt", repo.path("link")).unwrap();
    repo.commit_all("more");
    repo.chmod("secret.txt", 0o600);
    repo.write("dir/dirty.txt", "the user's\n");
    repo.write("users directory", "the user's file\n");
    let bytes = std::ffi::OsStr::from_bytes(b"no utf-8 \xff");
    fs::write(repo.root().join(bytes), "the user's\n").unwrap();
    repo.write("new\nline \"\\", "the user's\n");
    fs::create_dir(repo.path("empty")).unwrap();
    let done = undone(&repo, &repo.open(), || {
        repo.git(&["mv", "moved.txt", "elsewhere.txt"]);
        fs::remove_dir_all(repo.path("dir")).unwrap();
        std::os::unix::fs::symlink("/", repo.path("dir")).unwrap();
        repo.remove("becomes a directory");
        repo.write("becomes a directory/deep/file", "1\n");
        repo.remove("users directory");
        repo.write("users directory/file", "1\n");
        fs::write(repo.path("binary"), [1, 159, 146, 150]).unwrap();
        repo.remove("link");
        repo.write("link", "no longer\n");
        repo.write("secret.txt", "2\n");
        fs::write(repo.root().join(bytes), "the agent's\n").unwrap();
        repo.write("new\nline \"\\", "the agent's\n");
        repo.write("new\nfile", "x\n");
        repo.write("empty/file", "x\n");
        repo.remove("a.txt");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            repo.path("a.txt"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o644),
            0,
        )
        .unwrap();
    });
    assert!(repo.path("empty").is_dir());
    assert_eq!(saved(&repo, &done, "dir"), "/");
    assert_eq!(saved(&repo, &done, "new\nfile"), "x\n");
}

#[test]
fn line_endings_and_filters_do_not_change_a_byte_of_the_users() {
    let repo = Repo::with_first_commit();
    repo.git(&["config", "filter.shout.clean", "tr a-z A-Z"]);
    repo.git(&["config", "filter.shout.smudge", "tr A-Z a-z"]);
    repo.write(
        ".gitattributes",
        "* -text\n*.txt text\n*.loud filter=shout\n",
    );
    repo.write("x.loud", "quiet\n");
    repo.write("y.loud", "quiet\n");
    repo.write("mixed.txt", "1\n");
    repo.commit_all("attributes");
    repo.git(&["config", "core.autocrlf", "true"]);
    repo.git(&["config", "core.safecrlf", "true"]);
    repo.write("mixed.txt", "a\r\nb\nc\r\n");
    repo.write("windows.txt", "a\r\nb\nc\r\n");
    repo.write("x.loud", "MiXeD\n");
    let done = undone(&repo, &repo.open(), || {
        repo.write("mixed.txt", "agent\r\nmixed\n");
        repo.write("windows.txt", "agent\n");
        repo.write("x.loud", "agent\n");
        repo.write("y.loud", "agent\n");
        repo.write(".gitattributes", "* -text\n");
    });
    assert_eq!(saved(&repo, &done, "windows.txt"), "agent\n");
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
    assert_eq!(
        repo.git(&["symbolic-ref", "HEAD"]).trim(),
        "refs/heads/feature"
    );
    let GitError::RollbackRefused { reference, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(
        repo.git(&["show", &format!("{reference}:users.txt")]),
        "the agent's\n"
    );
    let main = repo.git(&["rev-parse", "main"]);
    assert!(
        repo.git(&["log", "--format=%H", &reference])
            .contains(main.trim())
    );
    let before = kept.reference().unwrap();
    assert_eq!(
        repo.git(&["show", &format!("{before}:users.txt")]),
        "the user's\n"
    );
    assert_eq!(repo.git(&["stash", "list"]), "");
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
        [
            " M a.txt",
            "A  new.txt",
            "M  other.txt",
            " M outside.txt",
            "?? project/dirty.txt"
        ]
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
        Call::new(&tree, &["commit", "-qam", "x"]).run().unwrap();
    });
    assert_eq!(done.unwrap().commits_undone, 1);
    pretty_equal(&before, &State::of(&tree));
    pretty_equal(&main, &State::of(repo.root()));
    // The branch of the linked tree cannot be taken from where another has it now.
    let (_, done) = undo(&git, RollbackMode::Reset, || {
        Call::new(&tree, &["checkout", "-qb", "new"]).run().unwrap();
        repo.git(&["stash", "-q"]);
        repo.git(&["checkout", "-q", "side"]);
        fs::write(tree.join("a.txt"), "again\n").unwrap();
    });
    let error = done.unwrap_err().to_string();
    assert!(error.contains("another work tree"), "{error}");
}

#[test]
fn an_unfinished_merge_is_not_rolled_back() {
    let repo = Repo::with_first_commit();
    repo.git(&["checkout", "-qb", "other"]);
    repo.write("a.txt", "theirs\n");
    repo.commit_all("theirs");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("a.txt", "ours\n");
    repo.commit_all("ours");
    let git = repo.open();
    let (kept, done) = undo(&git, RollbackMode::Reset, || {
        assert!(Call::new(repo.root(), &["merge", "other"]).run().is_err());
    });
    git.let_go(&kept).unwrap();
    assert!(matches!(done, Err(GitError::Unfinished(_))));
    assert!(matches!(git.keep("x"), Err(GitError::Unfinished(_))));
    repo.git(&["merge", "--abort"]);
    // A conflict without a merge is somebody's too, before as well as after.
    repo.write("a.txt", "stashed\n");
    repo.git(&["stash", "-q"]);
    repo.write("a.txt", "committed\n");
    repo.commit_all("committed");
    assert!(Call::new(repo.root(), &["stash", "pop"]).run().is_err());
    assert!(repo.status()[0].starts_with("UU"));
    undone(&repo, &git, || {
        repo.write("a.txt", "resolved\n");
        repo.git(&["add", "a.txt"]);
    });
}

#[test]
fn what_is_in_the_way_is_not_removed_and_the_reference_is_named() {
    let repo = Repo::with_first_commit();
    repo.write(".gitignore", "*.log\n");
    repo.commit_all("ignore");
    repo.write("users.txt", "the user's\n");
    let git = repo.open();
    let (_, done) = undo(&git, RollbackMode::Reset, || {
        repo.remove("users.txt");
        repo.write("users.txt/ignored.log", "not ours to remove\n");
        repo.write("a.txt", "two\n");
    });
    let error = done.unwrap_err();
    assert!(matches!(&error, GitError::RollbackIncomplete { .. }));
    let text = error.to_string();
    assert!(text.contains("users.txt is in the way"), "{text}");
    assert!(text.contains("refs/ralph/rollback/1.3-2"), "{text}");
    assert_eq!(repo.read("users.txt/ignored.log"), "not ours to remove\n");
    assert_eq!(repo.read("a.txt"), "one\n");
    let kept = references(&repo, "kept");
    let at = format!("{}:users.txt", kept.trim());
    assert_eq!(repo.git(&["show", &at]), "the user's\n");
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
fn flags_in_the_index_and_a_split_one_come_back() {
    let repo = Repo::with_first_commit();
    for name in ["assumed.txt", "skipped.txt", "x.txt"] {
        repo.write(name, "1\n");
    }
    repo.commit_all("more");
    repo.git(&["config", "splitIndex.sharedIndexExpire", "now"]);
    repo.git(&["update-index", "--assume-unchanged", "assumed.txt"]);
    repo.git(&["update-index", "--skip-worktree", "skipped.txt"]);
    repo.write("announced.txt", "x\n");
    repo.git(&["add", "-N", "announced.txt"]);
    repo.write("skipped.txt", "the user's own setting\n");
    repo.git(&["update-index", "--split-index"]);
    let done = undone(&repo, &repo.open(), || {
        repo.git(&["update-index", "--no-assume-unchanged", "assumed.txt"]);
        repo.git(&["update-index", "--no-skip-worktree", "skipped.txt"]);
        repo.write("x.txt", "2\n");
        repo.git(&["add", "x.txt", "announced.txt"]);
        repo.git(&["update-index", "--no-split-index"]);
        repo.git(&["update-index", "--split-index"]);
    });
    assert_eq!(done.files, ["x.txt"]);
    assert_eq!(done.left, [left("skipped.txt", LeftBecause::Unwatched)]);
}

#[test]
fn five_thousand_files_are_no_matter() {
    let repo = Repo::with_first_commit();
    for n in 0..2500 {
        repo.write(&format!("many/{}/file {n}", n % 50), "1\n");
    }
    repo.commit_all("many");
    for n in 0..500 {
        repo.write(&format!("users/{n}"), &n.to_string());
    }
    let started = Instant::now();
    let done = undone(&repo, &repo.open(), || {
        for n in 0..2500 {
            repo.write(&format!("many/{}/file {n}", n % 50), "2\n");
            repo.write(&format!("new/{}/file {n}", n % 50), "2\n");
        }
        for n in 0..500 {
            repo.write(&format!("users/{n}"), "2\n");
        }
    });
    assert_eq!(done.files.len(), 5500);
    assert!(!repo.path("new").exists());
    assert!(started.elapsed() < Duration::from_secs(60));
}
