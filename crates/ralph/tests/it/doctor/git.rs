//! Git: what would stop a run at its start is said before, and a run does stop there.

use std::fs;

use serde_json::Value;

use super::{findings, text};
use crate::run::DONE;
use crate::support::Project;

const COMMIT: &str = "commit = \"on-success\"";

/// A repository in order, with a task to do.
fn project(git: &str) -> Project {
    let project = Project::with_git();
    project.agent(DONE);
    if !git.is_empty() {
        project.set("git", git);
    }
    project.write("../home/.gitconfig", "[user]\nname = t\nemail = t@localhost\n");
    project.write("code.txt", "one\n");
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "start"]);
    project.add(&["A", "--key", "a"]);
    project
}

/// What doctor says of git that is not in order.
fn trouble(project: &Project) -> Vec<Value> {
    let report = project.ralph(&["doctor", "--json"]).json();
    let mut found = findings(&report, "git");
    found.retain(|one| one["level"] != "ok");
    found
}

/// Doctor says that a run would stop, and it does, before any attempt.
#[track_caller]
fn expect_both_stop(project: &Project, words: &str, fix: &str) {
    project.ralph(&["doctor"]).expect_code(1);
    let found = trouble(project);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["level"], "error");
    assert!(text(&found[0]["message"]).contains(words), "{found:?}");
    assert!(text(&found[0]["fix"]).contains(fix), "{found:?}");
    let run = project.ralph(&["run"]).expect_code(1);
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(said.contains(words) && said.contains(fix), "{said}");
    assert!(project.history().is_empty(), "an attempt was made");
    assert_eq!(project.status_of("a"), "pending");
}

/// Doctor has nothing to say, and a run works.
#[track_caller]
fn expect_both_work(project: &Project) {
    project.ok(&["doctor"]);
    assert!(trouble(project).is_empty());
    project.ok(&["run"]);
}

#[test]
fn doctor_sees_a_merge_that_nobody_finished() {
    for git in [COMMIT, "rollback = \"stash\"", "branch = \"work\""] {
        let project = project(git);
        let head = project.git(&["rev-parse", "HEAD"]);
        fs::write(project.path(".git/MERGE_HEAD"), head).unwrap();
        expect_both_stop(&project, "a merge is in progress", "git merge --abort");
        fs::remove_file(project.path(".git/MERGE_HEAD")).unwrap();
        expect_both_work(&project);
    }
    // Nobody minds where Ralph does nothing with git.
    let project = project("");
    let head = project.git(&["rev-parse", "HEAD"]);
    fs::write(project.path(".git/MERGE_HEAD"), head).unwrap();
    expect_both_work(&project);
}

#[test]
fn doctor_sees_a_name_that_no_branch_can_have() {
    for name in ["bad..name", "@", "-x", "HEAD"] {
        let project = project(&format!("branch = \"{name}\""));
        expect_both_stop(&project, "is not a valid branch name", ".ralph.toml");
        assert_eq!(project.git(&["branch", "--list"]), "* main\n");
    }
    expect_both_work(&project("branch = \"ralph/work\""));
}

#[test]
fn doctor_sees_that_nobody_could_sign_a_commit() {
    let mut stranger = project(COMMIT);
    // So that no host name makes up for it.
    stranger.write("../home/.gitconfig", "[user]\nuseConfigOnly = true\n");
    expect_both_stop(&stranger, "git has no author identity", "git config user.email");
    stranger.set_env("GIT_AUTHOR_NAME", "t");
    stranger.set_env("GIT_AUTHOR_EMAIL", "t@localhost");
    expect_both_stop(&stranger, "git has no author identity", "git config user.name");
    stranger.set_env("GIT_COMMITTER_NAME", "t");
    stranger.set_env("GIT_COMMITTER_EMAIL", "t@localhost");
    expect_both_work(&stranger);
    // What is rolled back Ralph signs itself.
    let project = project("rollback = \"stash\"");
    project.write("../home/.gitconfig", "[user]\nuseConfigOnly = true\n");
    expect_both_work(&project);
}

#[test]
fn doctor_sees_changes_that_a_run_refuses() {
    let refuse = "on_dirty = \"refuse\"";
    let project = project(&format!("{COMMIT}\n{refuse}"));
    project.write("AGENTS.md", "Ralph writes it too.\n");
    expect_both_work(&project);
    project.add(&["B", "--key", "b"]);
    project.write("code.txt", "mine\n");
    let found = trouble(&project);
    assert_eq!(found[0]["level"], "error", "{found:?}");
    assert_eq!(found[0]["message"], "the working tree has uncommitted changes: code.txt");
    assert!(text(&found[0]["fix"]).starts_with("commit or stash"));
    let run = project.ralph(&["run"]).expect_code(1);
    assert!(run.stderr.contains("uncommitted changes: code.txt"), "{}", run.stderr);
    // Without anything that could touch them they are welcome.
    let project = self::project(refuse);
    project.write("code.txt", "mine\n");
    expect_both_work(&project);
}

#[test]
fn what_attempts_left_is_no_reason_to_refuse() {
    let project = project(&format!("{COMMIT}\non_dirty = \"refuse\""));
    project.write(
        "agent.sh",
        &format!("cat > /dev/null; if [ -e half.txt ]; then {DONE}; fi; echo half > half.txt"),
    );
    project.git(&["commit", "-qam", "another agent"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(project.git(&["status", "--short"]), "?? AGENTS.md\n?? half.txt\n");
    expect_both_work(&project);
}

#[test]
fn doctor_warns_of_a_lock_on_the_index_and_a_run_does_too() {
    let project = project("rollback = \"stash\"");
    let lock = project.path(".git/index.lock");
    fs::write(&lock, "").unwrap();
    project.ok(&["doctor"]);
    let found = trouble(&project);
    assert_eq!(found[0]["level"], "warning", "{found:?}");
    let fix = text(&found[0]["fix"]);
    assert!(fix.contains("if no git process is running, remove it: rm /"), "{fix}");
    let run = project.ralph(&["run", "--once"]);
    assert!(run.stdout.contains("index is locked"), "{}", run.stdout);
    // A branch cannot be changed then.
    project.set("git", "branch = \"work\"");
    assert_eq!(trouble(&project)[0]["level"], "error");
    project.add(&["B", "--key", "b"]);
    project.ralph(&["run", "--once"]).expect_code(1);
    fs::remove_file(&lock).unwrap();
    expect_both_work(&project);
}
