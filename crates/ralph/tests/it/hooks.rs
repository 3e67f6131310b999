//! The project's own commands around runs and attempts.

use serde_json::Value;

use crate::run::{DONE, project};
use crate::support::Project;

fn inputs(project: &Project, file: &str) -> Vec<Value> {
    let text = project.read(file);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn hooks_get_the_event_as_json_and_run_in_order() {
    let project = project(DONE);
    let hook = |name: &str| format!("{name} = \"tee -a all.jsonl > {name}.json\"");
    let names = ["before_run", "before_attempt", "after_attempt", "after_run"];
    let hooks: Vec<String> = names.iter().map(|name| hook(name)).collect();
    project.set("hooks", &hooks.join("\n"));
    project.add(&["A", "--key", "a"]);
    project.ok(&["run"]);
    let all = inputs(&project, "all.jsonl");
    let order: Vec<&str> = all
        .iter()
        .map(|one| one["hook"].as_str().unwrap())
        .collect();
    assert_eq!(order, names);
    let types: Vec<&str> = all
        .iter()
        .map(|one| one["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        types,
        [
            "run_started",
            "attempt_started",
            "attempt_finished",
            "run_finished"
        ]
    );
    assert_eq!(all[1]["key"], "a");
    assert_eq!(all[2]["outcome"], "done");
    assert_eq!(all[3]["exit_code"], 0);
    assert!(all.iter().all(|one| one["run_id"] == all[0]["run_id"]));
}

#[test]
fn a_hook_before_a_run_can_veto_it() {
    let project = project(DONE);
    project.set("hooks", "before_run = \"echo not tonight >&2; exit 3\"");
    project.add(&["A"]);
    let run = project.ralph(&["run"]).expect_code(7);
    let why = "the hook before_run vetoed: exited with code 3: not tonight";
    assert!(run.stderr.contains(why), "{}", run.stderr);
    assert!(project.history().is_empty());
}

#[test]
fn a_hook_before_an_attempt_can_veto_it_and_leaves_no_try_and_no_claim() {
    let project = project(DONE);
    project.set(
        "hooks",
        "before_attempt = \"! grep -q '\\\"key\\\":\\\"b\\\"'\"",
    );
    project.add(&["A", "--key", "a"]);
    project.add(&["B", "--key", "b"]);
    project.ralph(&["run"]).expect_code(7);
    assert_eq!(project.history().len(), 1);
    assert_eq!(project.status_of("b"), "pending");
    // As a report only, it holds nothing up.
    project.set("hooks", "veto = false");
    let run = project.ok(&["run"]);
    assert!(
        run.stdout
            .contains("the hook before_attempt exited with code 1"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_failing_hook_afterwards_is_reported_and_changes_nothing() {
    let project = project(DONE);
    project.set(
        "hooks",
        "after_attempt = \"exit 1\"\nafter_run = \"sleep 60\"\ntimeout = \"200ms\"",
    );
    project.add(&["A"]);
    let run = project.ok(&["run"]);
    assert!(
        run.stdout
            .contains("the hook after_attempt exited with code 1"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout
            .contains("the hook after_run took longer than 200ms"),
        "{}",
        run.stdout
    );
}
