//! Every kind of file, repository and HEAD.

use std::fs;
use std::os::unix::ffi::OsStrExt;

use super::*;

#[test]
fn a_locked_index_and_an_unfinished_merge_are_said_so() {
    let repo = Repo::with_first_commit();
    repo.diverge();
    let git = repo.open();
    repo.write(".git/index.lock", "");
    let error = after(&git, || repo.write("b.txt", "x")).unwrap_err();
    assert!(matches!(&error, GitError::Locked(path) if path.ends_with("index.lock")));
    repo.remove(".git/index.lock");
    assert_eq!(git.unfinished().unwrap(), None);
    assert!(repo.try_git(&["merge", "other"]).is_err());
    assert_eq!(git.unfinished().unwrap(), Some(crate::git::Unfinished::Merge));
    let error = after(&git, || repo.write("b.txt", "y")).unwrap_err();
    assert!(error.to_string().starts_with("a merge is in progress"));
}

#[test]
fn detached_and_unborn_heads_take_commits() {
    let repo = Repo::new();
    repo.write("staged.txt", "the user's");
    repo.git(&["add", "staged.txt"]);
    let outcome = after(&repo.open(), || repo.write("a.txt", "one\n")).unwrap();
    assert_eq!(repo.names_in("HEAD"), ["a.txt"]);
    assert_eq!(outcome.files, ["a.txt"]);
    assert_eq!(repo.status(), ["A  staged.txt"]);
    let nothing = after(&Repo::new().open(), || {}).unwrap();
    assert_eq!(nothing.hash, None);
    repo.git(&["checkout", "-q", "--detach"]);
    let outcome = after(&repo.open(), || repo.write("a.txt", "two\n")).unwrap();
    assert_eq!(outcome.hash, Some(repo.head()));
    assert_ne!(repo.git(&["rev-parse", "main"]).trim(), repo.head());
}

#[test]
fn odd_names_are_only_names() {
    let repo = Repo::with_first_commit();
    repo.write("b.txt", "1");
    repo.commit_all("b");
    repo.write("b.txt", "the user's");
    let odd = ["*.txt", "-x", ":(top)b.txt", "new\nline", "quo\"te\\", "tab\t", " "];
    let bytes = std::ffi::OsStr::from_bytes(b"no utf-8 \xff");
    let outcome = after(&repo.open(), || {
        for name in odd {
            repo.write(name, name);
        }
        fs::write(repo.root().join(bytes), "x").unwrap();
    })
    .unwrap();
    assert_eq!(outcome.files.len(), odd.len() + 1);
    assert!(outcome.files.contains(&"new\u{fffd}line".to_owned()));
    assert_eq!(repo.status(), [" M b.txt"]);
}

#[test]
fn every_kind_of_change_is_committed() {
    let repo = Repo::with_first_commit();
    repo.write("script.sh", "echo\n");
    repo.write("moved.txt", "a long enough text to be found again\n");
    repo.write("dir/inside.txt", "1");
    repo.write("becomes a directory", "1");
    repo.commit_all("more");
    repo.write(".git/info/attributes", "");
    let outcome = after(&repo.open(), || {
        repo.chmod("script.sh", 0o755);
        fs::rename(repo.path("moved.txt"), repo.path("elsewhere.txt")).unwrap();
        fs::write(repo.path("binary"), [0, 159, 146, 150]).unwrap();
        std::os::unix::fs::symlink("a.txt", repo.path("link")).unwrap();
        repo.remove("dir/inside.txt");
        fs::remove_dir(repo.path("dir")).unwrap();
        std::os::unix::fs::symlink("/", repo.path("dir")).unwrap();
        repo.remove("becomes a directory");
        repo.write("becomes a directory/file", "1");
    })
    .unwrap();
    assert_eq!(outcome.files.len(), 9, "{:?}", outcome.files);
    assert!(repo.status().is_empty(), "{:?}", repo.status());
    let modes = repo.git(&["ls-tree", "HEAD", "script.sh", "link", "dir"]);
    let modes: Vec<&str> = modes.lines().map(|line| &line[..6]).collect();
    assert_eq!(modes, ["120000", "120000", "100755"]);
}

#[test]
fn line_endings_and_filters_are_gits_own() {
    let repo = Repo::with_first_commit();
    repo.git(&["config", "filter.shout.clean", "tr a-z A-Z"]);
    repo.git(&["config", "filter.shout.smudge", "tr A-Z a-z"]);
    repo.write(".gitattributes", "*.loud filter=shout -text\n");
    repo.commit_all("attributes");
    repo.git(&["config", "core.autocrlf", "true"]);
    repo.git(&["config", "core.safecrlf", "true"]);
    after(&repo.open(), || {
        repo.write("windows.txt", "a\r\nb\r\n");
        repo.write("x.loud", "quiet\n");
    })
    .unwrap();
    assert_eq!(repo.git(&["show", "HEAD:windows.txt"]), "a\nb\n");
    assert_eq!(repo.git(&["show", "HEAD:x.loud"]), "QUIET\n");
    assert!(repo.status().is_empty());
    assert_eq!(repo.read("windows.txt"), "a\r\nb\r\n");
    // Who wants git to refuse what it could not give back is obeyed.
    let error = after(&repo.open(), || repo.write("mixed.txt", "a\r\nb\n")).unwrap_err();
    assert!(error.to_string().contains("mixed.txt"), "{error}");
}

#[test]
fn submodules_are_committed_as_far_as_they_are_themselves() {
    let (repo, _library) = Repo::with_submodule();
    let git = repo.open();
    git.watch_programs().unwrap();
    let outcome = after(&git, || {
        repo.write("sub/new.txt", "x");
        repo.git_in("sub", &["add", "."]);
        repo.git_in("sub", &["commit", "-qm", "inside"]);
    })
    .unwrap();
    assert_eq!((outcome.files, outcome.left_out), (vec!["sub".into()], vec![]));
    let outcome = after(&git, || {
        repo.write("sub/a.txt", "dirty");
        repo.git(&["init", "-q", "nested"]);
        repo.write("nested/file", "x");
    })
    .unwrap();
    assert_eq!(outcome.hash, None);
    assert_eq!(
        outcome.left_out,
        [left("nested", LeftBecause::Repository), left("sub", LeftBecause::Submodule)]
    );
}

#[test]
fn a_project_below_the_root_commits_its_own_files() {
    let repo = Repo::with_first_commit();
    repo.write("sub/a.txt", "1");
    repo.write("outside.txt", "1");
    repo.commit_all("more");
    repo.write("outside.txt", "staged by the user");
    repo.git(&["add", "outside.txt"]);
    let git = repo.open_in("sub").without(vec!["tasks.md".into()]);
    let outcome = after(&git, || {
        repo.write("sub/a.txt", "2");
        repo.write("sub/deep/b.txt", "2");
        repo.write("sub/tasks.md", "2");
        repo.write("a.txt", "outside");
    })
    .unwrap();
    assert_eq!(outcome.files, ["a.txt", "deep/b.txt"]);
    assert_eq!(repo.names_in("HEAD"), ["sub/a.txt", "sub/deep/b.txt"]);
    assert_eq!(repo.status(), [" M a.txt", "M  outside.txt", "?? sub/tasks.md"]);
}

#[test]
fn a_linked_work_tree_commits_on_its_own_branch() {
    let repo = Repo::with_first_commit();
    let tree = tempfile::tempdir().unwrap();
    let path = tree.path().join("tree").display().to_string();
    repo.git(&["worktree", "add", "-q", "-b", "side", &path]);
    let git = Git::discover(&tree.path().join("tree")).unwrap();
    let outcome = after(&git, || {
        fs::write(tree.path().join("tree/b.txt"), "x").unwrap();
    })
    .unwrap();
    assert_eq!(outcome.hash.as_deref(), Some(repo.git(&["rev-parse", "side"]).trim()));
    assert!(repo.status().is_empty());
    assert!(git.snapshot().unwrap().dirty().is_empty());
}

#[test]
fn five_thousand_files_are_no_matter() {
    let repo = Repo::with_first_commit();
    let outcome = after(&repo.open(), || {
        for n in 0..5000 {
            repo.write(&format!("many/{}/file {n}", n % 50), &n.to_string());
        }
    })
    .unwrap();
    assert_eq!(outcome.files.len(), 5000);
    assert!(repo.status().is_empty());
}
