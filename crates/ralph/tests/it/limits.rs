//! Usage limits that are remembered: seen, told, forgotten.

use crate::streams::{done, limit, project, speaker, tries};
use crate::support::{Project, eventually};

/// A task whose agent meets a limit of an hour once.
fn limited_once() -> Project {
    let script = format!("if [ -e met ]; then {}; else touch met; {}; fi", done(0.1), limit(3600));
    let project = project(&script, "");
    project.add(&["A"]);
    project
}

#[test]
fn a_remembered_limit_is_shown_and_can_be_forgotten() {
    let project = limited_once();
    let none = project.json(&["limits", "show", "--json"]);
    assert_eq!(none["limits"].as_array().unwrap().len(), 0);
    project.ralph(&["run", "--no-wait"]).expect_code(4);

    let limits = project.json(&["limits", "show", "--json"])["limits"].clone();
    assert_eq!(limits[0]["agent"], "main");
    assert_eq!(project.json(&["status", "--json"])["limits"], limits);
    let shown = project.ok(&["limits", "show"]).stdout;
    assert!(shown.starts_with("main hit its usage limit: resets "), "{shown}");
    let status = project.ok(&["status"]).stdout;
    assert!(status.contains("main hit its usage limit: resets "), "{status}");
    let doctor = project.ralph(&["doctor", "--json"]).json();
    let findings = doctor["findings"].as_array().unwrap();
    let told = findings.iter().any(|one| {
        let fix = one["fix"].as_str().unwrap_or_default();
        one["level"] == "warning" && fix.contains("ralph limits clear main")
    });
    assert!(told, "{doctor}");

    project.ralph(&["limits", "clear", "nobody"]).expect_code(2);
    let cleared = project.json(&["limits", "clear", "main", "--json"]);
    assert_eq!(cleared["cleared"][0], "main");
    let again = project.ok(&["limits", "clear"]).stdout;
    assert!(again.contains("nothing to clear"), "{again}");
    project.ok(&["run", "--no-wait"]);
    assert_eq!(tries(&project), ["main error rate_limit", "main done"]);
}

#[test]
fn a_run_that_waits_goes_on_when_the_limit_is_forgotten() {
    let project = limited_once();
    let mut run = project.start(&["run", "--quiet"]);
    eventually("it waits", || {
        let status = project.json(&["status", "--json"]);
        status["active"][0]["waiting"]["waiting_for"] == "limit"
    });
    project.ok(&["limits", "clear"]);
    assert!(run.wait().unwrap().success());
    assert_eq!(tries(&project), ["main error rate_limit", "main done"]);
}

#[test]
fn who_goes_on_in_whose_place_is_told_with_the_reason() {
    let project = project(&limit(3600), "fallback = [\"second\"]");
    speaker(&project, "second", &done(0.25));
    project.configure("[notify]\ncommand = 'cat >> told'\non = [\"limit\"]");
    project.add(&["A"]);
    let events = project.ok(&["run", "--json"]).json_lines();
    let of = |kind: &str| {
        let found = events.iter().find(|event| event["type"] == kind);
        found.cloned().unwrap_or_default()
    };
    assert_eq!(of("agent_changed")["reason"], "its usage limit");
    assert!(of("agent_changed")["limited_until"].is_string());
    let agents: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "attempt_finished")
        .map(|event| event["agent"].as_str().unwrap())
        .collect();
    assert_eq!(agents, ["main", "second"]);
    let told: serde_json::Value = serde_json::from_str(project.read("told").trim()).unwrap();
    assert_eq!(told["occasion"], "limit");
    let message = told["message"].as_str().unwrap();
    assert!(message.contains("switching to second"), "{message}");
}

#[test]
fn forgetting_the_limit_of_one_agent_leaves_that_of_another() {
    let project = project(&limit(3600), "fallback = [\"second\"]");
    let script = format!("if [ -e met ]; then {}; else touch met; {}; fi", done(0.1), limit(7200));
    speaker(&project, "second", &script);
    project.add(&["A"]);
    let mut run = project.start(&["run", "--quiet"]);
    eventually("it waits", || {
        let status = project.json(&["status", "--json"]);
        status["active"][0]["waiting"]["waiting_for"] == "limit"
    });
    project.ok(&["limits", "clear", "second"]);
    assert!(run.wait().unwrap().success());
    assert_eq!(tries(&project), ["main error rate_limit", "second error rate_limit", "second done"]);
    let limits = project.json(&["limits", "show", "--json"])["limits"].clone();
    assert_eq!(limits[0]["agent"], "main");
}
