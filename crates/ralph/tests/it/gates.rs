//! Gates: what they decide, for tasks and for parents, and what git sees.

use serde_json::json;

use crate::run::{DONE, outcomes, project};
use crate::support::Project;

#[test]
fn no_gate_takes_the_agents_word() {
    let project = project(DONE);
    project.add(&["A", "--verify", "false"]);
    project.ok(&["run", "--no-gate"]);
}

#[test]
fn sig_11_a_contradicted_done_is_not_believed_without_a_gate() {
    let project = project(&format!(
        "echo 'I could not complete the task.'; echo; {DONE}"
    ));
    project.add(&["A", "--key", "a"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(outcomes(&project)[0].0, "no_sigil");
    project.ok(&["task", "edit", "a", "--verify", "true"]);
    project.ok(&["run"]);
}

#[test]
fn git_tells_what_an_attempt_did() {
    let project = Project::with_git();
    project.agent(&format!(
        "case $RALPH_TASK_KEY in
           idle) ;;
           cheat) echo exit 0 > check.sh;;
           commit) echo x > x.txt; git add x.txt; git -c user.name=t -c user.email=t@localhost commit -qm x;;
         esac; {DONE}"
    ));
    project.write("check.sh", "exit 1\n");
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "start"]);
    project.add(&["Idle", "--key", "idle"]);
    project.add(&["Cheat", "--key", "cheat", "--verify", "sh check.sh"]);
    project.add(&["Commit", "--key", "commit"]);
    let output = project.ok(&["run"]);
    let attempts = project.history();
    assert_eq!(attempts[0]["files_changed"], json!([]));
    assert_eq!(attempts[0]["changed_nothing"], json!(true));
    assert!(
        output.stdout.contains("git saw no change"),
        "{}",
        output.stdout
    );
    assert_eq!(attempts[1]["gate_files_changed"], json!(["check.sh"]));
    assert_eq!(attempts[2]["files_changed"], json!(["x.txt"]));
    assert_ne!(attempts[2]["commit_before"], attempts[2]["commit_after"]);
    assert_eq!(attempts[2]["commit_before"].as_str().unwrap().len(), 40);
}

#[test]
fn gates_can_be_flaky_and_green_too_early() {
    let project = project(DONE);
    project.configure("[gate]\nretries = 2\nprecheck = true");
    project.add(&[
        "Flaky",
        "--key",
        "f",
        "--verify",
        "test -e n2 || { test -e n1 && touch n2; touch n1; false; }",
    ]);
    project.add(&["Green", "--key", "g", "--verify", "true"]);
    let output = project.ok(&["run"]);
    let attempts = project.history();
    assert_eq!(attempts[0]["gate_flaky"], json!(true));
    assert_eq!(attempts[0]["gate_green_before"], json!(false));
    assert_eq!(attempts[1]["gate_green_before"], json!(true));
    assert!(
        output.stdout.contains("passes before anything was done"),
        "{}",
        output.stdout
    );
}

#[test]
fn a_parents_own_gate_runs_after_its_children() {
    let project = project(&format!(
        "case $RALPH_TASK_KEY in p) echo fixed > state;; c) echo broken > state;; esac; {DONE}"
    ));
    project.add(&[
        "Parent",
        "--key",
        "p",
        "--verify",
        "grep -q fixed state || { echo 'error: state is broken'; false; }",
    ]);
    project.add(&["Child", "--key", "c", "--parent", "p"]);
    project.ok(&["run"]);
    let attempts = project.history();
    let brief: Vec<_> = attempts
        .iter()
        .map(|a| (a["key"].as_str().unwrap(), a["outcome"].as_str().unwrap()))
        .collect();
    assert_eq!(brief, [("c", "done"), ("p", "failed"), ("p", "done")]);
    assert!(
        project
            .read(".ralph/last-prompt")
            .contains("error: state is broken")
    );
    // A gate that passes makes the parent done without an attempt.
    project.add(&["Easy", "--key", "q", "--verify", "true"]);
    project.add(&["Part", "--key", "d", "--parent", "q"]);
    project.ok(&["run"]);
    assert_eq!(project.status_of("q"), "done");
    assert_eq!(project.history().len(), 4);
}

#[test]
fn exit_02_parents_gates_use_up_no_limit() {
    let project = project(DONE);
    for key in ["p", "q"] {
        project.add(&["Parent", "--key", key, "--verify", "false"]);
        let child = project.add(&["Child", "--parent", key]);
        project.ok(&["task", "done", &child]);
    }
    project.add(&["Other", "--key", "other", "--priority", "-1"]);
    project.ralph(&["run", "--limit", "1"]).expect_code(4);
    let by_agent = project
        .history()
        .iter()
        .filter(|a| a["agent"] == json!("script"))
        .count();
    assert_eq!(by_agent, 1);
}

#[test]
fn a_gate_that_cannot_be_started_is_nobodys_failure() {
    let project = project(DONE);
    let long = format!("true {}", "x".repeat(200_000));
    project.add(&["A", "--key", "a"]);
    project
        .database()
        .execute("UPDATE tasks SET verify = ?1", [&long])
        .unwrap();
    let output = project.ralph(&["run"]).expect_code(1);
    assert!(
        output.stderr.contains("gate could not be run"),
        "{}",
        output.stderr
    );
    assert_eq!(project.history()[0]["counted"], json!(false));
    assert_eq!(project.task("a")["attempts"], json!(0));
}

#[test]
fn a_parent_waits_for_its_own_dependencies_too() {
    let project = project(DONE);
    project.add(&["X", "--key", "x"]);
    project.add(&["P", "--key", "p", "--after", "x", "--verify", "true"]);
    project.add(&["Part", "--key", "part", "--parent", "p"]);
    project.add(&["After", "--key", "after", "--after", "p"]);
    project.ok(&["task", "fail", "x"]);
    project.ralph(&["run"]).expect_code(5);
    assert_eq!(project.status_of("part"), "done");
    assert_eq!(
        (project.status_of("p"), project.status_of("after")),
        ("pending".into(), "pending".into())
    );
    project.ok(&["task", "reset", "x"]);
    project.ok(&["run"]);
    assert_eq!(project.status_of("after"), "done");
}

#[test]
fn time_limits_of_zero_are_none() {
    let project = Project::new();
    project.agent("sleep 0.1; echo \"<task-done>$RALPH_TASK_ID</task-done>\"");
    project.set("run", "attempt_timeout = 0");
    project.set("gate", "timeout = 0");
    project.add(&["A", "--verify", "sleep 0.1"]);
    project.ok(&["run"]);
}
