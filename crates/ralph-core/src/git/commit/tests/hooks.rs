//! Hooks, and what else can say no.

use std::fs;

use super::*;

#[test]
fn every_hook_runs_and_sees_what_is_committed() {
    let repo = Repo::with_first_commit();
    let log = "\"$(git rev-parse --absolute-git-dir)/seen\"";
    repo.hook("pre-commit", &format!("echo pre $RALPH_TASK_ID $(git diff --cached --name-only) >> {log}"));
    repo.hook("prepare-commit-msg", "echo '# a remark' >> \"$1\"");
    repo.hook("commit-msg", &format!("echo msg $(head -1 \"$1\") >> {log}"));
    repo.hook("post-commit", &format!("echo post >> {log}; exit 1"));
    repo.write("users.txt", "x");
    repo.git(&["add", "users.txt"]);
    let outcome = after(&repo.open(), || repo.write("a.txt", "two\n")).unwrap();
    assert_eq!(outcome.files, ["a.txt"]);
    assert_eq!(repo.read(".git/seen"), "pre t-000001 a.txt\nmsg 1.3: Do it\npost\n");
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
    assert!(matches!(error, GitError::NoIdentity(_)), "{error}");
    let remedy = error.remedy().unwrap();
    assert!(remedy.contains("user.email"), "{remedy}");
    assert_eq!(repo.status(), [" M a.txt"]);
}

#[test]
fn a_hook_that_hangs_is_ended() {
    let repo = Repo::with_first_commit();
    repo.hook("pre-commit", "echo waiting; sleep 600");
    let git = repo.open();
    let before = git.snapshot().unwrap();
    repo.write("a.txt", "two\n");
    let mut order = order(&before, "m");
    order.timeout = Duration::from_secs(3);
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
    order.timeout = Duration::from_secs(3);
    let mut looks = 0;
    let outcome = git.commit(&order, &Interrupt::default(), &mut || looks += 1).unwrap();
    assert_eq!(outcome.hash, Some(repo.head()));
    assert!(outcome.warning.unwrap().contains("timed out after"));
    assert!(repo.status().is_empty());
    assert!(looks > 1);
}

#[test]
fn a_commit_of_somebody_elses_meanwhile_is_built_upon() {
    let repo = Repo::with_first_commit();
    repo.hook(
        "pre-commit",
        "unset GIT_INDEX_FILE; echo x > theirs.txt; git add theirs.txt; git commit -qnm theirs; exit 0",
    );
    after(&repo.open(), || repo.write("a.txt", "two\n")).unwrap();
    assert_eq!(repo.names_in("HEAD"), ["a.txt"]);
    assert_eq!(repo.names_in("HEAD~1"), ["theirs.txt"]);
    assert!(repo.status().is_empty());
}
