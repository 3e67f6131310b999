//! The project's own commands around runs and attempts.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::run::{DONE, project};
use crate::support::{PATIENCE, Project, eventually};

fn inputs(project: &Project, file: &str) -> Vec<Value> {
    let text = project.read(file);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
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
    let order: Vec<&str> = all.iter().map(|one| one["hook"].as_str().unwrap()).collect();
    assert_eq!(order, names);
    let types: Vec<&str> = all.iter().map(|one| one["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["run_started", "attempt_started", "attempt_finished", "run_finished"]);
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
    let why = "the before_run hook vetoed the run: exited with code 3: not tonight";
    assert!(run.stderr.contains(why), "{}", run.stderr);
    assert!(project.history().is_empty());
}

#[test]
fn a_hook_before_an_attempt_can_veto_it_and_leaves_no_attempt_and_no_claim() {
    let project = project(DONE);
    project.set("hooks", "before_attempt = \"! grep -q '\\\"key\\\":\\\"b\\\"'\"");
    project.add(&["A", "--key", "a"]);
    project.add(&["B", "--key", "b"]);
    project.ralph(&["run"]).expect_code(7);
    assert_eq!(project.history().len(), 1);
    assert_eq!(project.status_of("b"), "pending");
    // As a report only, it holds nothing up.
    project.set("hooks", "veto = false");
    let run = project.ok(&["run"]);
    assert!(run.stdout.contains("hook before_attempt exited with code 1"), "{}", run.stdout);
}

#[test]
fn a_failing_hook_afterwards_is_reported_and_changes_nothing() {
    let project = project(DONE);
    project.set("hooks", "after_attempt = \"exit 1\"\nafter_run = \"sleep 60\"\ntimeout = \"200ms\"");
    project.add(&["A"]);
    let run = project.ok(&["run"]);
    assert!(run.stdout.contains("hook after_attempt exited with code 1"), "{}", run.stdout);
    assert!(run.stdout.contains("hook after_run timed out after 200 ms"), "{}", run.stdout);
}

#[test]
fn a_time_limit_of_zero_is_none() {
    let project = project(DONE);
    project.set("hooks", "before_run = \"sleep 0.3\"\ntimeout = \"0\"");
    project.add(&["A"]);
    project.ok(&["run"]);
}

/// The hint alone would say nothing.
#[test]
fn a_failing_hook_is_told_with_the_last_lines_of_its_complaint() {
    let project = project(DONE);
    let ralph = env!("CARGO_BIN_EXE_ralph");
    project.set("hooks", &format!("before_run = \"'{ralph}' run\""));
    project.add(&["A"]);
    let run = project.ralph(&["run"]).expect_code(7);
    let why = "vetoed the run: exited with code 2: error: cannot start `ralph run` inside a hook of run r-";
    assert!(run.stderr.contains(why), "{}", run.stderr);
    assert!(run.stderr.contains(" / hint: "), "{}", run.stderr);
}

/// Starts a run with this hook after its attempt, and sends it a signal when the file `begun` is there. Returns the exit
/// code, and how long that took.
fn interrupted(project: &Project, hook: &str, signal: Signal) -> (Option<i32>, Duration) {
    project.set("hooks", &format!("after_attempt = \"{hook}\""));
    project.add(&["A", "--key", "a"]);
    let mut run = project.start(&["run"]);
    eventually("the hook begins", || project.path("begun").exists());
    let told = Instant::now();
    kill_process(Pid::from_child(&run), signal).unwrap();
    let code = run.wait().unwrap().code();
    (code, told.elapsed())
}

#[test]
fn a_hook_after_an_attempt_may_end_within_the_grace_period_when_the_run_is_told_to_stop() {
    let project = project(DONE);
    project.set("run", "grace = \"10min\"");
    let hook = "touch begun; sleep 1; touch ended";
    let (code, _) = interrupted(&project, hook, Signal::TERM);
    assert_eq!(code, Some(143));
    assert!(project.path("ended").exists());
    assert_eq!(project.status_of("a"), "done");
}

#[test]
fn a_hook_after_an_attempt_has_no_more_than_the_grace_period_then() {
    let project = project(DONE);
    project.set("run", "grace = \"500ms\"");
    let (code, took) = interrupted(&project, "touch begun; sleep 600", Signal::INT);
    assert_eq!(code, Some(130));
    assert!(took < PATIENCE, "{took:?}");
}

#[test]
fn stop_inside_a_hook_of_the_same_run_does_not_wait_for_its_end() {
    let project = project(DONE);
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let hook = format!("after_attempt = \"'{ralph}' stop > said; echo $? >> said\"");
    project.set("hooks", &hook);
    project.set("run", "grace = \"20s\"");
    project.add(&["A", "--key", "a"]);
    project.add(&["B", "--key", "b"]);
    project.ralph(&["run"]).expect_code(143);
    let said = project.read("said");
    assert!(said.ends_with(" stops when this hook ends\n0\n"), "{said}");
    assert_eq!((project.status_of("a"), project.status_of("b")), ("done".into(), "pending".into()));
}
