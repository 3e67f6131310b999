use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::time::Instant;

use super::*;
use crate::git::LeftBecause;
use crate::git::call::Call;
use crate::git::testing::Repo;

fn order<'a>(before: &'a Snapshot, message: &'a str) -> CommitOrder<'a> {
    CommitOrder {
        run_start: before,
        before,
        message,
        env: vec![("RALPH_TASK_ID".into(), "t-000001".into())],
        timeout: Duration::from_secs(60),
        grace: Duration::from_millis(200),
    }
}

fn commit(git: &Git, order: &CommitOrder<'_>) -> Result<CommitOutcome, GitError> {
    git.commit(order, &Interrupt::default(), &mut || {})
}

/// What comes of an attempt that does this.
fn after(git: &Git, act: impl FnOnce()) -> Result<CommitOutcome, GitError> {
    let before = git.snapshot().unwrap();
    act();
    commit(git, &order(&before, "1.3: Do it"))
}

fn left(what: &str, why: LeftBecause) -> Left {
    Left {
        what: what.into(),
        why,
    }
}

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
        [
            "MM staged.txt",
            "?? .ralph.toml",
            "?? .ralph/progress.db",
            "?? tasks.md",
            "?? users.txt"
        ]
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
        [
            left("a.txt", LeftBecause::UncommittedBefore),
            left("notes.txt", LeftBecause::UncommittedBefore)
        ]
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
fn work_of_earlier_attempts_of_the_run_can_be_taken_along() {
    let repo = Repo::with_first_commit();
    let git = repo.open();
    let run_start = git.snapshot().unwrap();
    repo.write("first.txt", "from the first attempt");
    let second = git.snapshot().unwrap();
    repo.write("first.txt", "changed by the second");
    repo.write("other.txt", "x");
    let order = CommitOrder {
        run_start: &run_start,
        ..order(&second, "m")
    };
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
    let order = CommitOrder {
        run_start: &run_start,
        ..order(&before, "m")
    };
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
fn every_hook_runs_and_sees_what_is_committed() {
    let repo = Repo::with_first_commit();
    let log = "\"$(git rev-parse --absolute-git-dir)/seen\"";
    repo.hook(
        "pre-commit",
        &format!("echo pre $RALPH_TASK_ID $(git diff --cached --name-only) >> {log}"),
    );
    repo.hook("prepare-commit-msg", "echo '# a remark' >> \"$1\"");
    repo.hook(
        "commit-msg",
        &format!("echo msg $(head -1 \"$1\") >> {log}"),
    );
    repo.hook("post-commit", &format!("echo post >> {log}; exit 1"));
    repo.write("users.txt", "x");
    repo.git(&["add", "users.txt"]);
    let outcome = after(&repo.open(), || repo.write("a.txt", "two\n")).unwrap();
    assert_eq!(outcome.files, ["a.txt"]);
    assert_eq!(
        repo.read(".git/seen"),
        "pre t-000001 a.txt\nmsg 1.3: Do it\npost\n"
    );
    assert_eq!(repo.status(), ["A  users.txt"]);
}

#[test]
fn a_hook_that_says_no_is_an_error_and_changes_nothing() {
    for hook in ["pre-commit", "commit-msg"] {
        let repo = Repo::with_first_commit();
        repo.write("staged.txt", "x");
        repo.git(&["add", "staged.txt"]);
        repo.hook(
            hook,
            "echo checking; echo password=hunter2secret; yes line | head -20000; \
             echo 'a.txt: wrong' >&2; exit 1",
        );
        let (head, index) = (repo.head(), fs::read(repo.path(".git/index")).unwrap());
        let error = after(&repo.open(), || repo.write("a.txt", hook)).unwrap_err();
        let output = error.output().unwrap();
        assert_eq!(error.to_string(), "the commit failed: a.txt: wrong");
        assert!(output.starts_with("checking") && output.len() < 3 * OUTPUT);
        assert!(!output.contains("hunter2secret"));
        assert_eq!(repo.head(), head);
        assert_eq!(fs::read(repo.path(".git/index")).unwrap(), index);
        assert_eq!(repo.read("a.txt"), hook);
        assert_eq!(repo.status(), [" M a.txt", "A  staged.txt"]);
        assert!(repo.scratch().is_empty());
    }
}

#[test]
fn what_a_hook_changes_and_adds_is_in_the_commit() {
    let repo = Repo::with_first_commit();
    repo.write("generated.txt", "old");
    repo.write("untouched.txt", "old");
    repo.commit_all("more");
    repo.hook(
        "pre-commit",
        "echo formatted > a.txt; echo new > generated.txt; git add a.txt generated.txt; echo later > untouched.txt",
    );
    let outcome = after(&repo.open(), || repo.write("a.txt", "two\n")).unwrap();
    assert_eq!(outcome.files, ["a.txt", "generated.txt"]);
    assert_eq!(outcome.by_hooks, ["generated.txt"]);
    assert_eq!(repo.git(&["show", "HEAD:a.txt"]), "formatted\n");
    assert_eq!(repo.status(), [" M untouched.txt"]);
}

#[test]
fn a_hook_that_adds_everything_does_not_unstage_the_users_work() {
    let repo = Repo::with_first_commit();
    repo.write("s.txt", "1");
    repo.commit_all("s");
    repo.write("s.txt", "staged");
    repo.git(&["add", "s.txt"]);
    repo.write("s.txt", "later");
    repo.hook("pre-commit", "git add -A");
    let outcome = after(&repo.open(), || repo.write("a.txt", "two\n")).unwrap();
    assert_eq!(outcome.by_hooks, ["s.txt"]);
    assert_eq!(repo.git(&["show", ":s.txt"]), "staged");
    assert_eq!(repo.read("s.txt"), "later");
}

#[test]
fn without_an_identity_git_says_what_is_missing() {
    let repo = Repo::with_first_commit();
    for (key, value) in [("user.useConfigOnly", "true"), ("user.name", "")] {
        repo.git(&["config", key, value]);
    }
    repo.git(&["config", "--unset", "user.email"]);
    let git = repo.open();
    let before = git.snapshot().unwrap();
    repo.write("a.txt", "two\n");
    let nobody = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"];
    let mut order = order(&before, "m");
    order.env = nobody.map(|name| (name.into(), "/dev/null".into())).into();
    let error = commit(&git, &order).unwrap_err();
    assert!(matches!(error, GitError::CommitFailed { .. }), "{error}");
    assert!(error.output().unwrap().contains("user.email"), "{error:?}");
    assert_eq!(repo.status(), [" M a.txt"]);
}

#[test]
fn a_locked_index_and_an_unfinished_merge_are_said_so() {
    let repo = Repo::with_first_commit();
    repo.git(&["checkout", "-qb", "other"]);
    repo.write("a.txt", "theirs\n");
    repo.commit_all("theirs");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("a.txt", "ours\n");
    repo.commit_all("ours");
    let git = repo.open();
    repo.write(".git/index.lock", "");
    let error = after(&git, || repo.write("b.txt", "x")).unwrap_err();
    assert!(matches!(&error, GitError::Locked(path) if path.ends_with("index.lock")));
    repo.remove(".git/index.lock");
    assert_eq!(git.unfinished().unwrap(), None);
    assert!(Call::new(repo.root(), &["merge", "other"]).run().is_err());
    assert_eq!(
        git.unfinished().unwrap(),
        Some(crate::git::Unfinished::Merge)
    );
    let error = after(&git, || repo.write("b.txt", "y")).unwrap_err();
    assert!(error.to_string().starts_with("a merge is unfinished"));
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
    let odd = [
        "*.txt",
        "-x",
        ":(top)b.txt",
        "new\nline",
        "quo\"te\\",
        "tab\t",
        " ",
    ];
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
    let outcome = after(&repo.open(), || {
        repo.write("sub/new.txt", "x");
        repo.git_in("sub", &["add", "."]);
        repo.git_in("sub", &["commit", "-qm", "inside"]);
    })
    .unwrap();
    assert_eq!(
        (outcome.files, outcome.left_out),
        (vec!["sub".into()], vec![])
    );
    let outcome = after(&repo.open(), || {
        repo.write("sub/a.txt", "dirty");
        repo.git(&["init", "-q", "nested"]);
        repo.write("nested/file", "x");
    })
    .unwrap();
    assert_eq!(outcome.hash, None);
    assert_eq!(
        outcome.left_out,
        [
            left("nested", LeftBecause::Repository),
            left("sub", LeftBecause::Submodule)
        ]
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
    assert_eq!(
        repo.status(),
        [" M a.txt", "M  outside.txt", "?? sub/tasks.md"]
    );
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
    assert_eq!(
        outcome.hash.as_deref(),
        Some(repo.git(&["rev-parse", "side"]).trim())
    );
    assert!(repo.status().is_empty());
    assert!(git.snapshot().unwrap().dirty().is_empty());
}

#[test]
fn five_thousand_files_are_no_matter() {
    let repo = Repo::with_first_commit();
    let started = Instant::now();
    let outcome = after(&repo.open(), || {
        for n in 0..5000 {
            repo.write(&format!("many/{}/file {n}", n % 50), &n.to_string());
        }
    })
    .unwrap();
    assert_eq!(outcome.files.len(), 5000);
    assert!(repo.status().is_empty());
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_hook_that_hangs_is_ended() {
    let repo = Repo::with_first_commit();
    repo.hook("pre-commit", "echo waiting; sleep 600");
    let git = repo.open();
    let before = git.snapshot().unwrap();
    repo.write("a.txt", "two\n");
    let mut order = order(&before, "m");
    order.timeout = Duration::from_millis(300);
    let error = commit(&git, &order).unwrap_err();
    assert!(matches!(&error, GitError::CommitTimedOut { output, .. } if output == "waiting"));
    let interrupt = Interrupt::default();
    interrupt.raise(agent::Signal::Interrupt);
    order.timeout = Duration::from_secs(60);
    let error = git.commit(&order, &interrupt, &mut || {}).unwrap_err();
    assert!(matches!(error, GitError::Interrupted));
    assert_eq!(repo.status(), [" M a.txt"]);
}

#[test]
fn a_hook_that_hangs_after_the_commit_does_not_undo_it() {
    let repo = Repo::with_first_commit();
    repo.hook("post-commit", "sleep 600");
    let git = repo.open();
    let before = git.snapshot().unwrap();
    repo.write("a.txt", "two\n");
    let mut order = order(&before, "m");
    order.timeout = Duration::from_millis(500);
    let mut looks = 0;
    let outcome = git
        .commit(&order, &Interrupt::default(), &mut || looks += 1)
        .unwrap();
    assert_eq!(outcome.hash, Some(repo.head()));
    assert!(outcome.warning.unwrap().contains("longer than"));
    assert!(repo.status().is_empty());
    assert!(looks > 1);
}
