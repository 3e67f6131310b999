//! Files of every kind come back.

use std::fs;
use std::os::unix::ffi::OsStrExt;

use super::*;

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
    let kept = git.keep("x", None).unwrap();
    assert_eq!(kept.reference(), Some("refs/ralph/kept/x"));
    git.let_go(&kept).unwrap();
    assert_eq!(references(&repo, "kept"), "");
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
        crate::git::testing::make_pipe(&repo.path("a.txt"));
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
    repo.write(".gitattributes", "* -text\n*.txt text\n*.loud filter=shout\n");
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
fn five_thousand_files_are_no_matter() {
    let repo = Repo::with_first_commit();
    for n in 0..2500 {
        repo.write(&format!("many/{}/file {n}", n % 50), "1\n");
    }
    repo.commit_all("many");
    for n in 0..500 {
        repo.write(&format!("users/{n}"), &n.to_string());
    }
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
}
