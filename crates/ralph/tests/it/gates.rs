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
    let project = project(&format!("echo 'I could not complete the task.'; echo; {DONE}"));
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
           idle) echo '<no-change-needed>it is idle</no-change-needed>';;
           cheat) echo exit 0 again > check.sh;;
           new) echo x > new.txt;;
           commit) echo x > x.txt; git add x.txt; git -c user.name=t -c user.email=t@localhost commit -qm x;;
         esac; {DONE}"
    ));
    project.write("check.sh", "exit 0\n");
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "start"]);
    project.add(&["Idle", "--key", "idle"]);
    project.add(&["Cheat", "--key", "cheat", "--verify", "sh check.sh"]);
    project.add(&["Commit", "--key", "commit"]);
    project.add(&["New", "--key", "new", "--verify", "test -f new.txt"]);
    let output = project.ok(&["run"]);
    let attempts = project.history();
    assert_eq!(attempts[0]["files_changed"], json!([]));
    assert_eq!(attempts[0]["changed_nothing"], json!(true));
    assert!(output.stdout.contains("no files changed"), "{}", output.stdout);
    assert_eq!(attempts[1]["gate_files_changed"], json!(["check.sh"]));
    assert_eq!(attempts[3]["gate_files_changed"], json!([]), "it was not there before");
    let dry = project.ok(&["run", "--dry-run"]).stdout;
    assert_eq!(dry, "Every task is done.\n");
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
    assert!(output.stdout.contains("already passes before any work"), "{}", output.stdout);
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
    let brief: Vec<_> =
        attempts.iter().map(|a| (a["key"].as_str().unwrap(), a["outcome"].as_str().unwrap())).collect();
    assert_eq!(brief, [("c", "done"), ("p", "failed"), ("p", "done")]);
    assert!(project.read(".ralph/last-prompt").contains("error: state is broken"));
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
    let by_agent = project.history().iter().filter(|a| a["agent"] == json!("script")).count();
    assert_eq!(by_agent, 1);
}

#[test]
fn a_gate_that_cannot_be_started_is_nobodys_failure() {
    let project = project(DONE);
    let long = format!("true {}", "x".repeat(200_000));
    project.add(&["A", "--key", "a"]);
    project.database().execute("UPDATE tasks SET verify = ?1", [&long]).unwrap();
    project.ralph(&["run"]).expect_code(5);
    let reason = project.task("a")["reason"].to_string();
    assert!(reason.contains("too long"), "{reason}");
    assert_eq!(project.history()[0]["counted"], json!(false));
    assert_eq!(project.task("a")["attempts"], json!(0));
}

#[test]
fn out_01_a_gate_whose_program_is_missing_blocks_its_task_and_counts_for_nothing() {
    let project = project(DONE);
    project.add(&["Add tests", "--key", "a", "--verify", "npm9 test"]);
    project.add(&["Lint", "--key", "b", "--verify", "npm9 run lint | tail -5"]);
    project.add(&["Write check.sh", "--key", "c", "--verify", "./check.sh"]);
    project.add(&["Fine", "--key", "d", "--verify", "npm9 || true"]);
    let elsewhere = "cd . && timeout 60 env X=1 npm9 test";
    project.add(&["Format", "--key", "e", "--verify", elsewhere]);
    let run = project.ralph(&["run", "--max-attempts", "2"]).expect_code(5);
    assert!(
        run.stdout.contains("the gates of a, b, e cannot run: `npm9` is not installed"),
        "{}",
        run.stdout
    );
    let attempts: Vec<_> = project
        .history()
        .iter()
        .map(|one| (one["key"].clone(), one["error_type"].clone(), one["counted"].clone()))
        .collect();
    let expected = [
        (json!("a"), json!("gate_broken"), json!(false)),
        // A script that the task is to write.
        (json!("c"), json!("test_failure"), json!(true)),
        (json!("c"), json!("test_failure"), json!(true)),
        (json!("d"), json!(null), json!(true)),
    ];
    assert_eq!(attempts, expected);
    assert_eq!(project.history()[0]["gate"], json!("broken"));
    // The other gates need the same program: no attempt is wasted on them.
    for key in ["a", "b", "e"] {
        let task = project.task(key);
        assert_eq!((&task["status"], &task["attempts"]), (&json!("blocked"), &json!(0)));
        let reason = task["reason"].as_str().unwrap().to_owned();
        let fix = format!(
            "install npm9, or change the gate (`ralph task edit {key} --verify CMD`), then `ralph run {key}`"
        );
        assert!(reason.contains("`npm9` is not installed") && reason.ends_with(&fix), "{reason}");
        let next = format!("next: ralph task edit {key} --verify CMD && ralph run {key}\n");
        assert!(run.stdout.contains(&next), "{}", run.stdout);
    }
    project.ok(&["task", "edit", "a", "--verify", "true"]);
    project.ok(&["run", "a"]);
    assert_eq!(project.status_of("a"), "done");
}

#[test]
fn out_01_a_gate_that_turns_out_to_be_broken_counts_for_nothing() {
    let project = project(DONE);
    project.add(&["Add tests", "--key", "a", "--verify", "bash gone.sh"]);
    project.write("plain.sh", "exit 0");
    project.add(&["Use plain.sh", "--key", "b", "--verify", "./plain.sh"]);
    // To install it is what the task is about.
    project.add(&["Install jq9", "--key", "c", "--verify", "command -v jq9"]);
    let run = project.ralph(&["run", "--max-attempts", "1"]).expect_code(5);
    let first = &project.history()[0];
    assert_eq!(
        (&first["error_type"], &first["gate"], &first["counted"]),
        (&json!("gate_broken"), &json!("broken"), &json!(false))
    );
    let reason = project.task("a")["reason"].to_string();
    assert!(reason.contains("`gone.sh` does not exist") && reason.contains("; add gone.sh, or"), "{reason}");
    for (at, key) in [(1, "b"), (2, "c")] {
        let one = &project.history()[at];
        assert_eq!((&one["key"], &one["error_type"]), (&json!(key), &json!("test_failure")));
    }
    assert!(!run.stdout.contains("next: ralph run a\n"), "{}", run.stdout);
}

#[test]
fn out_01_a_broken_gate_makes_no_fix_task_and_is_told_to_who_asks_for_it() {
    let project = project(DONE);
    project.add(&["Add tests", "--key", "1.1", "--verify", "npm9 test"]);
    project.ralph(&["run", "--recovery"]).expect_code(5);
    assert_eq!(project.json(&["task", "list", "--json"]).as_array().unwrap().len(), 1);
    let refused = project.ralph(&["task", "done", "1.1", "--verify"]).expect_code(1);
    assert!(
        refused.stderr.contains("cannot run: `npm9`") && refused.stderr.contains("hint: install npm9"),
        "{}",
        refused.stderr
    );
}

#[test]
fn out_01_a_parents_broken_gate_blocks_the_parent() {
    let project = project(DONE);
    project.add(&["Parent", "--key", "p", "--verify", "npm9 test"]);
    project.add(&["Child", "--key", "c", "--parent", "p"]);
    project.ralph(&["run"]).expect_code(5);
    assert_eq!(project.status_of("c"), "done");
    let parent = project.task("p");
    assert_eq!((&parent["status"], &parent["attempts"]), (&json!("blocked"), &json!(0)));
    let calls = project.history().len();
    project.ok(&["task", "edit", "p", "--verify", "true"]);
    // Its gate is asked again, not an agent.
    project.ok(&["run", "p"]);
    assert_eq!((project.status_of("p"), project.history().len()), ("done".into(), calls));
}

#[test]
fn a_judge_that_one_task_removes_and_another_replaces_is_put_back() {
    let project =
        project(&format!("case $RALPH_TASK_KEY in a) rm check.sh;; b) echo true > check.sh;; esac; {DONE}"));
    project.write("check.sh", "false\n");
    project.git(&["init", "-q"]);
    project.git(&["add", "check.sh"]);
    project.git(&["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "start"]);
    project.add(&["A", "--key", "a", "--verify", "true"]);
    project.add(&["B", "--key", "b", "--verify", "sh check.sh", "--after", "a"]);
    let run = project.ralph(&["run", "--max-attempts", "1"]).expect_code(5);
    let restored = "check.sh, which the gate of b executes, was removed during this run; Ralph put it back";
    assert!(run.stdout.contains(restored), "{}", run.stdout);
    assert!(run.stdout.contains("changed protected files, which were put back: check.sh"), "{}", run.stdout);
    assert_eq!(project.history()[1]["gate_files_changed"], json!(["check.sh"]));
    assert_eq!(project.read("check.sh"), "false\n");
}

#[test]
fn out_01_a_gate_with_a_pipe_fails_where_its_first_command_does() {
    let project = project(DONE);
    project.add(&["A", "--key", "a", "--verify", "(echo 'error: no'; exit 3) | tail -5"]);
    project.ralph(&["run", "--max-attempts", "1"]).expect_code(5);
    let attempt = &project.history()[0];
    assert_eq!(attempt["error_type"], json!("test_failure"));
    assert_eq!(attempt["gate_output"], json!("error: no"));
    let message = attempt["message"].as_str().unwrap();
    assert!(message.contains("code 3 at command 1 of 2"), "{message}");
}

/// Works, and forgets its signal in its first attempt.
const FORGETS: &str = "touch made; if [ -e again ]; then echo \"<task-done>$RALPH_TASK_ID</task-done>\"; \
                       else touch again; echo 'All is well.'; fi";

#[test]
fn out_03_a_gate_that_passes_without_a_signal_is_recorded_and_told() {
    let project = Project::with_git();
    project.agent(FORGETS);
    project.set("git", "rollback = \"reset\"");
    project.add(&["A", "--key", "a", "--verify", "test -e made"]);
    let run = project.ok(&["run"]);
    let first = &project.history()[0];
    assert_eq!(
        (&first["outcome"], &first["gate"], &first["counted"]),
        (&json!("no_sigil"), &json!("passed"), &json!(true))
    );
    assert!(run.stdout.contains("but the gate `test -e made` passed"), "{}", run.stdout);
    assert!(run.stdout.contains("ralph config set run.accept_green true"), "{}", run.stdout);
    // Passing work is not rolled back.
    assert_eq!(first["undone_ref"], json!(null));
    let prompt = project.read(".ralph/last-prompt");
    let (told, task) = (prompt.find("**The gate passed"), prompt.find("## Assigned Task"));
    assert!(told.is_some() && told < task, "{prompt}");
    assert_eq!(project.history()[1]["outcome"], json!("done"));
}

#[test]
fn out_03_a_gate_runs_after_a_crash_and_a_timeout_too() {
    for (end, error, told) in [
        ("echo 'error: no moon' >&2; exit 3", "crash", "error: no moon (the agent exited with code 3)"),
        ("sleep 60", "timeout", "timed out after 2 s"),
    ] {
        let project = project(&format!("touch made; {end}"));
        project.add(&["A", "--key", "a", "--verify", "test -e made"]);
        let run = project.ralph(&["run", "--max-attempts", "1", "--attempt-timeout", "2"]).expect_code(5);
        let first = &project.history()[0];
        assert_eq!(
            (&first["outcome"], &first["error_type"], &first["gate"]),
            (&json!("error"), &json!(error), &json!("passed"))
        );
        assert_eq!(first["message"], json!(format!("{told}; the gate passed")));
        let next = "next: ralph task done a --verify\n";
        let last = format!("Last failure: {told}; the gate passed\n");
        let complete = "The gate passed: if the work is complete, `ralph task done a --verify`\n";
        for words in [next, &last, complete] {
            assert!(run.stdout.contains(words), "{words}: {}", run.stdout);
        }
        let status = project.json(&["status", "--json"]);
        for task in [&status["open"][0], &status["last_run"]["blocked"][0]] {
            assert_eq!(task["next"], json!("ralph task done a --verify"));
        }
    }
}

#[test]
fn out_03_a_gate_that_fails_without_a_signal_is_what_the_next_attempt_sees() {
    let project = project("echo 'All is well.'");
    project.add(&["A", "--verify", "echo 'error: nothing here'; false"]);
    project.ralph(&["run", "--limit", "2"]).expect_code(4);
    let first = &project.history()[0];
    assert_eq!((&first["outcome"], &first["gate"]), (&json!("no_sigil"), &json!("failed")));
    let prompt = project.read(".ralph/last-prompt");
    assert!(prompt.contains("error: nothing here"), "{prompt}");
    assert!(!prompt.contains("**The gate passed"), "{prompt}");
}

#[test]
fn out_03_accept_green_counts_a_gate_that_became_green() {
    let project = project(FORGETS);
    project.set("run", "accept_green = true");
    project.add(&["A", "--key", "a", "--verify", "test -e made"]);
    project.add(&["B", "--key", "b", "--verify", "test -e made"]);
    project.ok(&["run", "a"]);
    let history = project.history();
    assert_eq!(history.len(), 1);
    assert_eq!(
        (&history[0]["outcome"], &history[0]["gate"], &history[0]["gate_green_before"]),
        (&json!("done"), &json!("passed"), &json!(false))
    );
    // A gate that was green before proves nothing.
    std::fs::remove_file(project.path("again")).unwrap();
    project.ralph(&["run", "b", "--limit", "1"]).expect_code(4);
    let last = project.history().pop().unwrap();
    assert_eq!(
        (&last["outcome"], &last["gate"], &last["gate_green_before"]),
        (&json!("no_sigil"), &json!("passed"), &json!(true))
    );
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
    assert_eq!((project.status_of("p"), project.status_of("after")), ("pending".into(), "pending".into()));
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
