//! Programs that appear while a run is under way.

use std::time::Duration;

use super::*;
use crate::agent::Interrupt;
use crate::git::testing::Repo;
use crate::git::{CommitOrder, Git, GitLimits, Snapshot};

/// A sleeping program holds git up until the deadline, and the fault stays with the repository.
const SLEEP: &str = "sleep 1000";

/// Long enough for any call that is not held up, on any machine.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_secs(5);

fn watched(repo: &Repo) -> Git {
    watched_for(repo, LONG)
}

fn watched_for(repo: &Repo, query: Duration) -> Git {
    let limits = GitLimits { query, change: LONG, interrupt: Interrupt::default() };
    let git = Git::open(repo.root(), limits).unwrap().unwrap();
    git.watch_programs().unwrap();
    git
}

fn commit(git: &Git, before: &Snapshot, timeout: Duration) -> Result<Option<String>, GitError> {
    let order = CommitOrder {
        run_start: before,
        before,
        now: None,
        message: "made",
        env: Vec::new(),
        timeout,
        grace: Duration::from_secs(1),
        confinement: None,
    };
    let outcome = git.commit(&order, &Interrupt::default(), &mut || {})?;
    Ok(outcome.hash)
}

#[test]
fn a_filter_that_appears_and_sleeps_holds_nothing_up() {
    let repo = Repo::with_first_commit();
    let git = watched(&repo);
    repo.git(&["config", "filter.slow.clean", SLEEP]);
    repo.git(&["config", "filter.slow.smudge", SLEEP]);
    repo.git(&["config", "filter.a=b.process", SLEEP]);
    repo.git(&["config", "filter.a=b.required", "true"]);
    repo.write(".git/info/attributes", "a.txt filter=slow\nb.txt filter=a=b\n");
    repo.write("a.txt", "two\n");
    repo.write("b.txt", "two\n");
    let kept = git.keep("t", None).unwrap();
    assert_eq!(git.snapshot().unwrap().dirty(), ["a.txt", "b.txt"]);
    repo.write("a.txt", "three\n");
    git.roll_back(&kept, crate::git::RollbackMode::Reset, "t", "t").unwrap();
    assert_eq!(repo.read("a.txt"), "two\n");
    assert!(git.fault().is_none());
    let changes = git.program_changes().unwrap().join("; ");
    for part in [".git/config: filter.a=b.process", "filter.slow.clean", ".git/info/attributes"] {
        assert!(changes.contains(part), "{changes}");
    }
    assert!(!changes.contains(SLEEP), "{changes}");
    assert!(git.program_changes().unwrap().is_empty());
}

#[test]
fn a_filter_in_the_real_commit_runs_and_has_its_time() {
    let repo = Repo::with_first_commit();
    let git = watched(&repo);
    let before = git.snapshot().unwrap();
    repo.write(".gitattributes", "*.txt filter=new\n");
    repo.git(&["config", "filter.new.clean", "tr a-z A-Z"]);
    repo.write("b.txt", "loud\n");
    commit(&git, &before, LONG).unwrap().unwrap();
    assert_eq!(repo.git(&["show", "HEAD:b.txt"]), "LOUD\n");
    repo.git(&["config", "filter.new.clean", SLEEP]);
    let before = git.snapshot().unwrap();
    repo.write("c.txt", "never\n");
    let error = commit(&git, &before, SHORT).unwrap_err();
    assert!(matches!(error, GitError::CommitTimedOut { .. }), "{error}");
    assert!(error.remedy().is_none());
    // The night goes on.
    assert!(git.fault().is_none() && git.snapshot().is_ok());
}

#[test]
fn what_was_defined_before_the_run_stays_on() {
    let repo = Repo::with_first_commit();
    repo.git(&["config", "filter.known.clean", "tr a-z A-Z"]);
    repo.write(".git/info/attributes", "b.txt filter=known\n");
    let git = watched(&repo);
    repo.write("b.txt", "loud\n");
    let saved = git.save_work("t", "t").unwrap().unwrap();
    assert_eq!(repo.git(&["show", &format!("{saved}:b.txt")]), "LOUD\n");
    // Until somebody changes it.
    repo.git(&["config", "filter.known.clean", SLEEP]);
    repo.write("b.txt", "quiet\n");
    let saved = git.save_work("t", "t").unwrap().unwrap();
    assert_eq!(repo.git(&["show", &format!("{saved}:b.txt")]), "quiet\n");
    repo.git(&["config", "filter.known.clean", "tr a-z A-Z"]);
    let saved = git.save_work("t", "t").unwrap().unwrap();
    assert_eq!(repo.git(&["show", &format!("{saved}:b.txt")]), "QUIET\n");
}

#[test]
fn a_known_filter_that_sleeps_is_named_when_its_time_is_up() {
    let repo = Repo::with_first_commit();
    repo.git(&["config", "filter.slow.clean", SLEEP]);
    repo.write(".git/info/attributes", "a.txt filter=slow\n");
    let git = watched_for(&repo, SHORT);
    // Of the same size, so that git has to look into it.
    repo.write("a.txt", "two\n");
    let error = git.snapshot().unwrap_err();
    assert!(matches!(error, GitError::Fault(GitFault::TimedOut { .. })), "{error}");
    let said = error.to_string();
    assert!(said.contains("git status") && said.contains(SLEEP), "{said}");
    assert!(error.remedy().is_some());
    // No call waits again.
    let again = git.keep("t", None).unwrap_err().to_string();
    assert_eq!(again, git.fault().unwrap().to_string());
}

#[test]
fn hooks_a_file_system_monitor_and_an_external_diff_that_appear_are_not_run() {
    for hook in ["reference-transaction", "post-checkout", "post-index-change"] {
        let repo = Repo::with_first_commit();
        repo.git(&["branch", "other"]);
        let git = watched(&repo);
        repo.hook(hook, &format!("touch ran; {SLEEP}"));
        repo.hook("monitor", &format!("touch ran; {SLEEP}"));
        repo.git(&["config", "core.fsmonitor", ".git/hooks/monitor"]);
        repo.git(&["config", "diff.external", ".git/hooks/monitor"]);
        repo.write("b.txt", "x");
        let kept = git.keep("t", None).unwrap();
        let before = git.snapshot().unwrap();
        git.work_on("other").unwrap();
        git.changes(&before, &git.snapshot().unwrap()).unwrap();
        git.let_go(&kept).unwrap();
        assert!(!repo.path("ran").exists(), "{hook}");
        let changes = git.program_changes().unwrap().join("; ");
        assert!(
            changes.contains(&format!(".git/hooks: {hook}, monitor"))
                || changes.contains(&format!(".git/hooks: monitor, {hook}")),
            "{changes}"
        );
        repo.remove(&format!(".git/hooks/{hook}"));
    }
}

#[test]
fn a_directory_for_hooks_that_appears_is_not_used() {
    let repo = Repo::with_first_commit();
    let git = watched(&repo);
    repo.write("own/reference-transaction", "#!/bin/sh\ntouch ran\n");
    repo.chmod("own/reference-transaction", 0o755);
    repo.git(&["config", "core.hooksPath", "own"]);
    git.keep("t", None).unwrap();
    assert!(!repo.path("ran").exists());
}

#[test]
fn a_filter_in_a_submodule_is_off_too() {
    let (repo, _library) = Repo::with_submodule();
    let git = watched(&repo);
    let file = repo.git_in("sub", &["ls-files"]);
    let file = file.lines().next().unwrap();
    repo.git_in("sub", &["config", "filter.slow.clean", SLEEP]);
    repo.write("sub/.gitattributes", "* filter=slow\n");
    let text = repo.read(&format!("sub/{file}"));
    repo.write(&format!("sub/{file}"), &text.to_uppercase());
    assert!(git.snapshot().is_ok(), "{:?}", git.fault());
}

#[test]
fn an_included_file_that_changes_is_seen() {
    let repo = Repo::with_first_commit();
    repo.write("more.config", "[user]\n\tname = x\n");
    repo.git(&["config", "include.path", "../more.config"]);
    let git = watched(&repo);
    repo.write("more.config", &format!("[filter \"slow\"]\n\tclean = {SLEEP}\n"));
    repo.write(".git/info/attributes", "a.txt filter=slow\n");
    repo.write("a.txt", "two\n");
    assert!(git.snapshot().is_ok(), "{:?}", git.fault());
    let changes = git.program_changes().unwrap().join("; ");
    assert!(changes.contains("more.config: filter.slow.clean"), "{changes}");
}

#[test]
fn a_commit_has_less_time_only_where_it_runs_something_new() {
    let repo = Repo::with_first_commit();
    let git = watched(&repo);
    repo.git(&["config", "alias.st", "status"]);
    assert!(git.repository.new_in_commits().unwrap().is_empty());
    repo.git(&["config", "filter.slow.clean", SLEEP]);
    repo.write(".git/hooks/pre-commit", "#!/bin/sh\n");
    repo.git(&["config", "gpg.program", "false"]);
    let programs = git.repository.new_in_commits().unwrap();
    let kinds: Vec<ProgramKind> = programs.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [ProgramKind::Filter, ProgramKind::Hook, ProgramKind::Signing]);
    let timed_out = GitError::CommitTimedOut { limit: SHORT, output: String::new() };
    let failed = GitError::CommitFailed { message: String::new(), output: String::new() };
    let refused = GitError::Refused { command: String::new(), message: String::new() };
    let [filter, hook, signing] = [0, 1, 2].map(|at| vec![programs[at].clone()]);
    for (error, programs, blocks) in [
        (&timed_out, &vec![], false),
        (&timed_out, &filter, true),
        (&timed_out, &hook, true),
        (&timed_out, &signing, true),
        (&refused, &filter, true),
        (&refused, &hook, false),
        (&failed, &filter, false),
        (&failed, &hook, false),
        (&failed, &signing, true),
        (&GitError::Interrupted, &filter, false),
    ] {
        let fix = fix_for_commit(error, programs);
        assert_eq!(fix.is_some(), blocks, "{error}: {programs:?}");
    }
}
